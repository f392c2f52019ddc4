#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/model/onnx_builder.h"
#include "tests/testing/peak_memory.h"
#include "tests/testing/refusal.h"

// Files of very many tiny parts, which grow a hundredfold when parsed. Each is refused in one
// sentence, without taking more than 1 GiB of memory.

namespace cacheinf {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kFileBytes = 60 << 20;
constexpr int64_t kMostMebibytes = 1024;

// Field numbers of the ONNX messages.
constexpr int kModelGraph = 7;
constexpr int kGraphNode = 1;
constexpr int kGraphInitializer = 5;
constexpr int kGraphInput = 11;
constexpr int kNodeInput = 1;
constexpr int kNodeAttribute = 5;
constexpr int kAttributeInts = 8;
constexpr int kAttributeGraph = 6;
constexpr int kTensorDims = 1;
constexpr int kTensorInt64Data = 7;
constexpr int kTensorStringData = 6;
constexpr int kUnknown = 15;

std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

// The first bytes of a field that holds a message, a string, or packed numbers.
std::string Head(int number, size_t length) {
  return Varint(static_cast<uint64_t>(number) << 3 | 2) + Varint(length);
}

std::string Field(int number, const std::string& content) {
  return Head(number, content.size()) + content;
}

std::string NumberField(int number, uint64_t value) {
  return Varint(static_cast<uint64_t>(number) << 3) + Varint(value);
}

std::string Repeat(const std::string& bytes, int64_t length) {
  std::string repeated;
  repeated.reserve(static_cast<size_t>(length) + bytes.size());
  while (static_cast<int64_t>(repeated.size()) < length) repeated += bytes;
  return repeated;
}

struct Outcome {
  std::string sentence;  // the refusal; "" if there is none
  int64_t mebibytes = 0;
};

Outcome Try(const std::string& bytes) {
  const int64_t before = PeakMebibytes();
  const std::string sentence = RefusalOf([&] { ImportOnnxBytes(bytes, "hostile.onnx"); });
  return {sentence, PeakMebibytes() - before};
}

// The sentence and the memory of importing the bytes, in a child process, so that only its peak
// counts.
Outcome TryInChild(const std::string& bytes) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  const pid_t child = fork();
  if (child == 0) {
    const Outcome outcome = Try(bytes);
    const std::string text = std::to_string(outcome.mebibytes) + " " + outcome.sentence;
    const bool is_written =
        write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    _exit(is_written ? 0 : 1);
  }
  close(ends[1]);
  std::string text(4096, '\0');
  const ssize_t size = read(ends[0], text.data(), text.size());
  close(ends[0]);
  text.resize(size < 0 ? 0 : static_cast<size_t>(size));
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the import died";
  return {text.substr(text.find(' ') + 1), std::atoll(text.c_str())};
}

void ExpectRefusal(const std::string& bytes) {
  const Outcome outcome = TryInChild(bytes);
  EXPECT_THAT(outcome.sentence, HasSubstr("hostile.onnx: its parts are so many"));
  EXPECT_EQ(outcome.sentence.find('\n'), std::string::npos);
  EXPECT_LT(outcome.mebibytes, kMostMebibytes);
}

std::string InGraph(const std::string& fields) { return Field(kModelGraph, fields); }
std::string InNode(const std::string& fields) { return InGraph(Field(kGraphNode, fields)); }
std::string InAttribute(const std::string& fields) { return InNode(Field(kNodeAttribute, fields)); }
std::string InTensor(const std::string& fields) {
  return InGraph(Field(kGraphInitializer, fields));
}

TEST(OnnxMemoryTest, ManyEmptyMessagesAreRefused) {
  ExpectRefusal(Repeat(Field(kModelGraph, ""), kFileBytes));
  ExpectRefusal(InGraph(Repeat(Field(kGraphNode, ""), kFileBytes)));
  ExpectRefusal(InGraph(Repeat(Field(kGraphInitializer, ""), kFileBytes)));
  ExpectRefusal(InGraph(Repeat(Field(kGraphInput, ""), kFileBytes)));
  ExpectRefusal(InNode(Repeat(Field(kNodeAttribute, ""), kFileBytes)));
  const std::string nested = Field(kNodeAttribute, Field(kAttributeGraph, Field(kGraphNode, "")));
  ExpectRefusal(InNode(Repeat(nested, kFileBytes)));
}

TEST(OnnxMemoryTest, ManyEmptyStringsAreRefused) {
  ExpectRefusal(InNode(Repeat(Field(kNodeInput, ""), kFileBytes)));
  ExpectRefusal(InTensor(Repeat(Field(kTensorStringData, ""), kFileBytes)));
}

TEST(OnnxMemoryTest, ManySmallNumbersAreRefused) {
  ExpectRefusal(InTensor(Field(kTensorInt64Data, std::string(kFileBytes, '\1'))));
  ExpectRefusal(InTensor(Repeat(NumberField(kTensorDims, 1), kFileBytes)));
  ExpectRefusal(InAttribute(Repeat(NumberField(kAttributeInts, 1), kFileBytes)));
}

TEST(OnnxMemoryTest, ManyUnknownFieldsAreRefused) {
  ExpectRefusal(Repeat(NumberField(kUnknown, 1), kFileBytes));
  ExpectRefusal(InGraph(Repeat(Field(kGraphNode, NumberField(kUnknown, 1)), kFileBytes)));
  ExpectRefusal(Repeat(Field(kUnknown, ""), kFileBytes));
}

TEST(OnnxMemoryTest, MessagesThatEndTooLateOrNestTooDeepAreDamage) {
  const std::string damaged = "hostile.onnx: is not an ONNX model, or is damaged";
  std::string cut = InGraph(Field(kGraphNode, std::string(100, '\0')));
  cut.resize(cut.size() - 1);
  EXPECT_EQ(TryInChild(cut).sentence, damaged);
  // Deep enough to overflow the stack of a parser that followed.
  std::string backwards;
  for (int depth = 0; depth < 50'000; ++depth) {
    for (int number : {kAttributeGraph, kNodeAttribute, kGraphNode}) {
      const std::string head = Head(number, backwards.size());
      backwards.append(head.rbegin(), head.rend());
    }
  }
  EXPECT_EQ(TryInChild(InGraph({backwards.rbegin(), backwards.rend()})).sentence, damaged);
  const std::string group = {kUnknown << 3 | 3, kUnknown << 3 | 4};
  EXPECT_EQ(TryInChild(group).sentence, damaged);
}

// The bound leaves room for models far larger than any in use, and holds for them, too.
TEST(OnnxMemoryTest, AsManyNodesAsAreAllowedStayWithinTheBound) {
  constexpr int kNodes = 50'000;
  OnnxModel model = OneInput({1});
  for (int i = 0; i < kNodes; ++i) {
    model.Node("Relu", {i == 0 ? "x" : "v" + std::to_string(i)},
               {i == kNodes - 1 ? "y" : "v" + std::to_string(i + 1)});
  }
  const Outcome outcome = TryInChild(model.Bytes());
  EXPECT_EQ(outcome.sentence, "");
  EXPECT_LT(outcome.mebibytes, kMostMebibytes);
}

}  // namespace
}  // namespace cacheinf

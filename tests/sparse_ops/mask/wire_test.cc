#include "sparse_ops/mask/wire.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/sparse_ops/mask/samples.h"
#include "tests/sparse_ops/mask/wire_seeds.h"

namespace cacheinf {
namespace {

constexpr size_t kHeaderBytes = 16;
constexpr size_t kManyWords = 1 << 16;

// Returns "" if the bytes could be read.
std::string Decode(const std::string& bytes, MaskView mask) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  const char* error = DecodeMask(data, bytes.size(), mask);
  return error == nullptr ? "" : error;
}

std::string Decode(const std::string& bytes, Mask* mask, size_t max_words = kManyWords) {
  // Copied to memory of their own, so that a sanitizer sees any read past the end.
  const std::vector<uint8_t> exact(bytes.begin(), bytes.end());
  const char* error = DecodeMask(exact.data(), exact.size(), max_words, mask);
  return error == nullptr ? "" : error;
}

// A header of a mask of 3 × 70 pixels with that payload.
std::string Message(char form, const std::string& payload) {
  std::string bytes = {'M', 1, form, 0, 3, 0, 0, 0, 70, 0, 0, 0, 0, 0, 0, 0};
  bytes[12] = static_cast<char>(payload.size());
  return bytes + payload;
}

TEST(MaskWireTest, EveryMaskComesBack) {
  MaskSampler random(20264);
  std::vector<int> forms(5);
  for (int round = 0; round < 1000; ++round) {
    const int height = random.Between(1, 20);
    const Mask mask = random.Draw(height, random.Width());
    const ConstMaskView view = mask;
    const std::string bytes = Encoded(mask);
    ASSERT_LE(bytes.size(), MaxEncodedMaskBytes(view.height, view.width));
    Mask decoded;
    ASSERT_EQ(Decode(bytes, &decoded), "") << "seed " << random.seed();
    ASSERT_TRUE(SameMask(mask, decoded)) << "seed " << random.seed();
    SetAll(decoded);
    ASSERT_EQ(Decode(bytes, decoded.view()), "") << "seed " << random.seed();
    ASSERT_TRUE(SameMask(mask, decoded)) << "seed " << random.seed();
    ASSERT_EQ(Encoded(decoded), bytes) << "seed " << random.seed();
    ++forms[static_cast<size_t>(bytes[2])];
  }
  for (const int count : forms) EXPECT_GT(count, 0);
}

TEST(MaskWireTest, TheBytesOfSmallMasksAreThese) {
  Mask mask(3, 70);
  EXPECT_EQ(Encoded(mask), Message(0, ""));
  SetAll(mask);
  EXPECT_EQ(Encoded(mask), Message(1, ""));
  mask.view().Clear(2, 69);
  EXPECT_EQ(Encoded(mask), Message(2, std::string("\x00\xd1\x01", 3)));
  ClearAll(mask);
  SetRectangle({0, 2}, {5, 9}, mask);
  EXPECT_EQ(Encoded(mask), Message(2, "\x05\x04\x42\x04"));
  SetRectangle({0, 3}, {5, 9}, mask);
  EXPECT_EQ(Encoded(mask), Message(3, "\x05\x04"));
  Mask noise(2, 9);
  for (const int x : {0, 2, 4, 6, 8}) noise.view().Set(0, x);
  for (const int x : {1, 2, 5, 8}) noise.view().Set(1, x);
  EXPECT_EQ(Encoded(noise), std::string("M\1\4\0\2\0\0\0\x9\0\0\0\4\0\0\0\x55\1\x26\1", 20));
}

TEST(MaskWireTest, OfEquallySmallFormsTheFirstIsTaken) {
  // One row has no row above: its edges are its runs.
  Mask mask(1, 70);
  SetRectangle({0, 1}, {5, 9}, mask);
  EXPECT_EQ(Encoded(mask)[2], 2);
  // Four runs of eight numbers, or eight bytes of bits.
  Mask bits(1, 64);
  for (const int x : {1, 10, 20, 30}) bits.view().Set(0, x);
  EXPECT_EQ(Encoded(bits)[2], 2);
}

TEST(MaskWireTest, RectanglesTakeAFewBytesEach) {
  Mask mask(480, 640);
  for (int i = 0; i < 8; ++i) {
    SetRectangle({i * 50, i * 50 + 40}, {i * 70, i * 70 + 64}, mask);
  }
  EXPECT_LT(Encoded(mask).size(), kHeaderBytes + size_t{8 * 2 * 4});
}

TEST(MaskWireTest, EveryOtherLengthIsRefused) {
  for (const std::string& seed : MaskSeeds()) {
    for (size_t size = 0; size < seed.size(); ++size) {
      Mask mask;
      EXPECT_NE(Decode(seed.substr(0, size), &mask), "") << size;
    }
    Mask mask;
    EXPECT_EQ(Decode(seed + '\0', &mask), "Bytes follow the mask's end.");
    EXPECT_EQ(Decode(seed + seed, &mask), "Bytes follow the mask's end.");
  }
}

TEST(MaskWireTest, MalformedHeadersAreRefused) {
  const std::string good = Message(1, "");
  Mask mask;
  ASSERT_EQ(Decode(good, &mask), "");
  const auto damaged = [&](size_t at, char byte) {
    std::string bytes = good;
    bytes[at] = byte;
    return bytes;
  };
  EXPECT_EQ(Decode(damaged(0, 'm'), &mask), "The bytes are not those of a mask.");
  EXPECT_EQ(Decode(damaged(1, 2), &mask),
            "The mask is of a version that this program does not know.");
  EXPECT_EQ(Decode(damaged(2, 5), &mask), "The mask is of a form that this program does not know.");
  EXPECT_EQ(Decode(damaged(3, 1), &mask), "The mask's header has a byte that must be 0.");
  EXPECT_EQ(Decode(damaged(4, 0), &mask), "The mask has no pixels.");
  EXPECT_EQ(Decode(damaged(8, 0), &mask), "The mask has no pixels.");
  EXPECT_EQ(Decode(damaged(7, '\xff'), &mask), "The mask has too many pixels.");
  EXPECT_EQ(Decode(damaged(11, '\x7f'), &mask), "The mask has too many pixels.");
  EXPECT_EQ(Decode(damaged(12, 1), &mask), "The mask's end is cut off.");
  EXPECT_EQ(Decode(damaged(15, '\xff'), &mask), "The mask's end is cut off.");
}

TEST(MaskWireTest, MasksLargerThanAllowedAreRefusedBeforeTheyTakeMemory) {
  Mask mask;
  EXPECT_EQ(Decode(Message(1, ""), &mask, 6), "");
  EXPECT_EQ(Decode(Message(1, ""), &mask, 5), "The mask is larger than allowed.");
  std::string tall = Message(1, "");
  tall.replace(4, 8, std::string("\xff\xff\xff\x7f\1\0\0\0", 8));
  EXPECT_EQ(Decode(tall, &mask), "The mask is larger than allowed.");
  std::string wide = Message(1, "");
  wide.replace(4, 8, std::string("\1\0\0\0\xff\xff\xff\x7f", 8));
  EXPECT_EQ(Decode(wide, &mask), "The mask is larger than allowed.");
}

TEST(MaskWireTest, AMaskOfAnotherSizeIsRefused) {
  Mask taller(4, 70);
  Mask wider(3, 71);
  EXPECT_EQ(Decode(Message(1, ""), taller.view()), "The mask has not the size that it must have.");
  EXPECT_EQ(Decode(Message(1, ""), wider.view()), "The mask has not the size that it must have.");
}

TEST(MaskWireTest, MalformedPayloadsAreRefusedAndLeaveTheMaskAsItWas) {
  const std::string wrong_size = "The mask's payload has not the size that its form has.";
  const std::string wrong_runs = "The mask's runs are malformed.";
  const std::string bits(27, '\0');
  std::string past_the_width = bits;
  past_the_width[17] = 0x40;
  const struct {
    std::string bytes;
    std::string error;
  } cases[] = {
      {Message(0, std::string(1, '\0')), wrong_size},
      {Message(1, "\1"), wrong_size},
      {Message(2, ""), wrong_size},
      {Message(3, ""), wrong_size},
      {Message(2, "\5"), wrong_runs},                          // no run after the gap
      {Message(2, std::string("\5\0", 2)), wrong_runs},        // a run of no pixels
      {Message(2, std::string("\5\1\0\1", 4)), wrong_runs},    // two runs that touch
      {Message(2, "\x85"), wrong_runs},                        // a number without its end
      {Message(2, std::string("\x85\x00\1", 3)), wrong_runs},  // a number longer than need be
      {Message(2, "\x80\x80\x80\x80\x80\x01"), wrong_runs},    // a number of too many digits
      {Message(2, "\xd2\1\1"), wrong_runs},                    // begins behind the last pixel
      {Message(2, "\xd1\1\2"), wrong_runs},                    // ends behind the last pixel
      {Message(2, "\5\xff\xff\xff\xff\x7f"), wrong_runs},      // ends far behind it
      {Message(3, "\xd1\1\2"), wrong_runs},
      {Message(4, bits + '\0'), wrong_size},
      {Message(4, bits.substr(1)), wrong_size},
      {Message(4, past_the_width), "The mask has bits past its width."},
  };
  for (const auto& [bytes, error] : cases) {
    MaskSampler random(7);
    const Mask before = random.Draw(3, 70);
    Mask after = before;
    EXPECT_EQ(Decode(bytes, after.view()), error);
    EXPECT_TRUE(SameMask(before, after)) << error;
    EXPECT_EQ(Decode(bytes, &after), error);
    EXPECT_TRUE(SameMask(before, after)) << error;
  }
  // Messages close to these cases are good.
  Mask mask;
  EXPECT_EQ(Decode(Message(2, "\xd1\1\1"), &mask), "");
  EXPECT_EQ(CountActive(mask), 1);
  EXPECT_EQ(Decode(Message(4, bits), &mask), "");
  EXPECT_TRUE(IsEmpty(mask));
}

}  // namespace
}  // namespace cacheinf

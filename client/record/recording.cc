#include "client/record/recording.h"

#include <fmt/core.h>

#include <cstddef>
#include <cstring>
#include <opencv2/imgcodecs.hpp>
#include <sstream>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "client/record/decision_text.h"
#include "common/answer/outputs.h"
#include "common/base/error.h"
#include "common/base/file.h"
#include "common/base/json_fields.h"
#include "common/base/npy.h"
#include "common/exec/decision_fields.h"
#include "common/source/opencv_picture.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

constexpr int kVersion = 5;
constexpr uint64_t kLargestFile = uint64_t{1} << 30;
constexpr uint64_t kHashBasis = 0xcbf29ce484222325;
constexpr uint64_t kHashPrime = 0x100000001b3;

template <typename Word>
uint64_t Hash(const Word* words, size_t count, uint64_t hash = kHashBasis) {
  static_assert(std::is_unsigned_v<Word>);
  for (size_t i = 0; i < count; ++i) hash = (hash ^ words[i]) * kHashPrime;
  return hash;
}

std::string FileName(const FrameRecord& record, std::string_view extension) {
  return fmt::format("{:06}.{}", record.frame, extension);
}

void WriteFrame(const RecordedFrame& kept, const fs::path& folder) {
  const Frame& frame = kept.frame;
  if (frame.picture.empty()) {
    const std::span<const float> values(frame.tensor.data(),
                                        static_cast<size_t>(frame.tensor.count()));
    WriteNpy(folder / "frames" / FileName(kept.record, "npy"), frame.tensor.shape(), values);
  } else {
    WritePng(folder / "frames" / FileName(kept.record, "png"), ImageOf(frame.picture));
  }
}

}  // namespace

CACHEINF_FIELDS(NamedScheme, layer, scheme)

// All but the configuration and the frames.
template <MaybeConst<Recording> T, typename Visit>
void VisitFields(T& recording, Visit& visit) {
  visit.Constant("version", kVersion);
  visit("reason", recording.reason);
  visit("detail", recording.detail);
  if constexpr (!Visit::kReads) visit("frames", recording.frames.size());
  visit("build", recording.build);
  visit.Hex("model_hash", recording.model_hash);
  visit("schemes", recording.schemes);
}

template <MaybeConst<FrameRecord> T, typename Visit>
void VisitFields(T& record, Visit& visit) {
  visit("frame", record.frame, kNotNegative);
  auto stamp_ns = record.stamp.count();
  visit("stamp_ns", stamp_ns);
  visit("name", record.name);
  visit("forget", record.verdict.forget);
  visit("level", record.verdict.level);
  visit("slow", record.verdict.is_slow);
  if constexpr (!Visit::kReads) visit("latency_ms", record.latency_ms);
  const auto visit_decision = [&](const char* key, auto& decision) {
    if (!visit.Has(key, decision.has_value())) return;
    if constexpr (Visit::kReads) decision.emplace();
    visit(key, *decision);
  };
  visit_decision("decision", record.decision);
  visit_decision("refresh", record.refresh);
  const auto visit_error = [&] {
    if (!visit.Has("error", !record.error.empty())) return;
    visit("error", record.error);
    visit.Check(!record.error.empty(), "error", "a text that is not empty");
    visit("failed_step", record.failed_step);
  };
  // The error says whether there are outputs.
  if constexpr (Visit::kReads) visit_error();
  if (record.has_outputs()) {
    visit.Hex("outputs", record.outputs);
    if constexpr (!Visit::kReads) visit("answer", FieldsJson::parse(record.answer));
  }
  if constexpr (!Visit::kReads) visit_error();
  if constexpr (Visit::kReads) record.stamp = std::chrono::nanoseconds(stamp_ns);
}

namespace {

void WriteFiles(const Recording& recording, const fs::path& folder) {
  fs::create_directories(folder / "frames");
  RobotConfig config = recording.config;
  WriteFile(folder / "config.json", WriteJson(config.Fields()));
  std::string lines;
  for (const auto& frame : recording.frames) {
    WriteFrame(*frame, folder);
    lines += TextOf(WriteFields(frame->record)) + "\n";
  }
  WriteFile(folder / "frames.jsonl", lines);
  WriteFile(folder / "recording.json", TextOf(WriteFields(recording), 2) + "\n");
}

}  // namespace

uint64_t HashOfOutputs(const FrameOutputs& outputs) {
  OutputNumbers all;
  ReadOutputs(outputs, all);
  uint64_t hash = kHashBasis;
  for (const std::vector<float>& numbers : all) {
    std::vector<uint32_t> words(numbers.size());
    std::memcpy(words.data(), numbers.data(), numbers.size() * sizeof(float));
    hash = Hash(words.data(), words.size(), hash);
  }
  return hash;
}

uint64_t HashOfFile(const fs::path& path) {
  const MappedFile file = MapFile(path);
  return Hash(reinterpret_cast<const unsigned char*>(file.data.get()), file.size);
}

void WriteRecording(const Recording& recording, const fs::path& folder) {
  const fs::path unfinished = folder.string() + ".unfinished";
  std::error_code ignored;
  try {
    fs::remove_all(unfinished);  // left by an interrupted run
    WriteFiles(recording, unfinished);
    fs::rename(unfinished, folder);
  } catch (const fs::filesystem_error& error) {
    fs::remove_all(unfinished, ignored);
    throw InputError(fmt::format("{}: {}", folder.string(), error.code().message()));
  } catch (const std::exception&) {
    fs::remove_all(unfinished, ignored);
    throw;
  }
}

Recording ReadRecording(const fs::path& folder) {
  if (!fs::is_directory(folder)) {
    throw InputError(fmt::format("{}: no such folder", folder.string()));
  }
  const std::string about_name = (folder / "recording.json").string();
  auto recording =
      ReadFields<Recording>(JsonReader(ReadFile(about_name, kLargestFile), about_name));
  recording.config = LoadRobotConfig(folder / "config.json");
  const std::string lines_name = (folder / "frames.jsonl").string();
  std::istringstream lines(ReadFile(lines_name, kLargestFile));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string name = fmt::format("{}, line {}", lines_name, ++number);
    auto frame = std::make_shared<RecordedFrame>();
    frame->record = ReadFields<FrameRecord>(JsonReader(line, name));
    const std::optional<FrameDecision>& decision = frame->record.decision;
    if (number == 1 && decision && decision->base != -1) {
      throw InputError(name + ": a recording must begin with a frame that needs none before it");
    }
    recording.frames.push_back(std::move(frame));
  }
  if (recording.frames.empty()) throw InputError(lines_name + ": no frame in it");
  return recording;
}

Frame ReadRecordedFrame(const fs::path& folder, const FrameRecord& record) {
  Frame frame;
  frame.index = record.frame;
  frame.stamp = record.stamp;
  frame.name = record.name;
  const fs::path tensor = folder / "frames" / FileName(record, "npy");
  if (fs::exists(tensor)) {
    NpyArray array = ReadNpy(tensor);
    auto* values = std::get_if<std::vector<float>>(&array.values);
    if (values == nullptr || values->empty()) {
      throw InputError(fmt::format("{}: not a float32 array with numbers in it", tensor.string()));
    }
    frame.tensor = Tensor(array.shape, std::move(*values));
    return frame;
  }
  frame.picture =
      ReadPictureFile(folder / "frames" / FileName(record, "png"), cv::IMREAD_UNCHANGED);
  return frame;
}

}  // namespace cacheinf

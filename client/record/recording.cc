#include "client/record/recording.h"

#include <fmt/core.h>

#include <cstddef>
#include <cstring>
#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>
#include <sstream>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "common/answer/outputs.h"
#include "common/base/checked_json.h"
#include "common/base/error.h"
#include "common/base/file.h"
#include "common/base/npy.h"
#include "common/exec/decision_text.h"
#include "common/source/opencv_picture.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

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

std::string Hex(uint64_t number) { return fmt::format("{:016x}", number); }

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
    WritePng(folder / "frames" / FileName(kept.record, "png"), ImageOf(frame.picture),
             /*compression=*/1);
  }
}

std::string LineOf(const FrameRecord& record) {
  Json json = {{"frame", record.frame},
               {"stamp_ns", record.stamp.count()},
               {"name", record.name},
               {"forget", record.verdict.forget},
               {"level", NameOf(record.verdict.level)},
               {"slow", record.verdict.is_slow},
               {"latency_ms", record.latency_ms}};
  if (record.decision) json["decision"] = Json::parse(ToText(*record.decision));
  if (record.refresh) json["refresh"] = Json::parse(ToText(*record.refresh));
  if (record.has_outputs()) {
    json["outputs"] = Hex(record.outputs);
    json["answer"] = Json::parse(record.answer);
  }
  if (!record.error.empty()) {
    json["error"] = record.error;
    json["failed_step"] = NameOf(record.failed_step);
  }
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

Json JsonOf(const NamedSchemes& schemes) {
  Json json = Json::array();
  for (const NamedScheme& named : schemes) {
    json.push_back({{"layer", named.layer}, {"scheme", NameOf(named.scheme)}});
  }
  return json;
}

void WriteFiles(const Recording& recording, const fs::path& folder) {
  fs::create_directories(folder / "frames");
  RobotConfig config = recording.config;
  WriteFile(folder / "config.json", WriteJson(config.Fields()));
  std::string lines;
  for (const auto& frame : recording.frames) {
    WriteFrame(*frame, folder);
    lines += LineOf(frame->record);
  }
  WriteFile(folder / "frames.jsonl", lines);
  const Json about = {{"version", kVersion},
                      {"reason", recording.reason},
                      {"detail", recording.detail},
                      {"frames", recording.frames.size()},
                      {"build", recording.build},
                      {"model_hash", Hex(recording.model_hash)},
                      {"schemes", JsonOf(recording.schemes)}};
  WriteFile(folder / "recording.json",
            about.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n");
}

NamedSchemes ReadSchemes(const CheckedJson& about) {
  NamedSchemes schemes;
  for (const CheckedJson& reader : about.Objects("schemes")) {
    schemes.push_back({reader.Text("layer"), reader.Choice<Scheme>("scheme")});
  }
  return schemes;
}

std::optional<FrameDecision> DecisionOf(const CheckedJson& reader, const char* key) {
  if (!reader.Has(key)) return std::nullopt;
  const CheckedJson decision = reader.Object(key);
  return ReadFrameDecision(decision.json().dump(), decision.name());
}

FrameRecord ParseLine(const std::string& line, const std::string& name) {
  const CheckedJson reader(line, name);
  FrameRecord record;
  record.frame = reader.Integer("frame", 0);
  record.stamp = std::chrono::nanoseconds(reader.Integer("stamp_ns"));
  record.name = reader.Text("name");
  record.verdict.forget = reader.Bool("forget");
  record.verdict.level = reader.Choice<SafetyLevel>("level");
  record.verdict.is_slow = reader.Bool("slow");
  record.decision = DecisionOf(reader, "decision");
  record.refresh = DecisionOf(reader, "refresh");
  if (reader.Has("error")) {
    record.error = reader.Text("error");
    if (record.error.empty()) reader.Refuse("error", "a text that is not empty");
    record.failed_step = reader.Choice<FrameStep>("failed_step");
  }
  if (!record.has_outputs()) return record;
  record.outputs = reader.Hex("outputs");
  return record;
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
  const CheckedJson about(ReadFile(about_name, kLargestFile), about_name);
  if (about.Integer("version") != kVersion) {
    about.Refuse("version", std::to_string(kVersion));
  }
  Recording recording;
  recording.reason = about.Text("reason");
  recording.detail = about.Text("detail");
  recording.build = about.Text("build");
  recording.model_hash = about.Hex("model_hash");
  recording.schemes = ReadSchemes(about);
  recording.config = LoadRobotConfig(folder / "config.json");
  const std::string lines_name = (folder / "frames.jsonl").string();
  std::istringstream lines(ReadFile(lines_name, kLargestFile));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string name = fmt::format("{}, line {}", lines_name, ++number);
    auto frame = std::make_shared<RecordedFrame>();
    frame->record = ParseLine(line, name);
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

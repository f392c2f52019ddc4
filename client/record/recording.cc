#include "client/record/recording.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>
#include <sstream>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "client/answer/outputs.h"
#include "common/base/error.h"
#include "common/base/file.h"
#include "common/base/npy.h"
#include "common/source/opencv_picture.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kVersion = 2;
constexpr Scheme kSchemes[] = {Scheme::kDirect, Scheme::kWinograd, Scheme::kBf16};
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

void WriteBytes(const fs::path& path, const void* bytes, size_t count) {
  std::ofstream file(path, std::ios::binary);
  file.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(count));
  file.close();
  if (!file) throw InputError(fmt::format("{}: cannot be written", path.string()));
}

void WriteText(const fs::path& path, const std::string& text) {
  WriteBytes(path, text.data(), text.size());
}

void WritePng(const fs::path& path, const cv::Mat& image, const std::vector<int>& options) {
  std::vector<uint8_t> bytes;
  if (!cv::imencode(".png", image, bytes, options)) {
    throw InputError(fmt::format("{}: cannot be made a PNG file", path.string()));
  }
  WriteBytes(path, bytes.data(), bytes.size());
}

// OpenCV takes no pixels that it might not write to, and writes to none of these.
cv::Mat ImageOf(const Picture& picture) {
  return cv::Mat(picture.height, picture.width, CV_8UC(picture.channels),
                 const_cast<uint8_t*>(picture.pixels.get()),
                 static_cast<size_t>(picture.row_stride));
}

cv::Mat ImageOf(ConstMaskView mask) {
  cv::Mat image(mask.height, mask.width, CV_8UC1);
  for (int y = 0; y < mask.height; ++y) {
    for (int x = 0; x < mask.width; ++x) image.at<uint8_t>(y, x) = mask.Test(y, x) ? 255 : 0;
  }
  return image;
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
    WritePng(folder / "frames" / FileName(kept.record, "png"), ImageOf(frame.picture),
             {cv::IMWRITE_PNG_COMPRESSION, 1});
  }
  if (!kept.active) return;
  WritePng(folder / "masks" / FileName(kept.record, "png"),
           ImageOf(static_cast<ConstMaskView>(*kept.active)), {cv::IMWRITE_PNG_BILEVEL, 1});
}

std::string LineOf(const FrameRecord& record) {
  Json json = {{"frame", record.frame},         {"stamp_ns", record.stamp.count()},
               {"name", record.name},           {"fresh", record.is_fresh},
               {"level", NameOf(record.level)}, {"latency_ms", record.latency_ms}};
  if (record.has_outputs()) {
    json["outputs"] = Hex(record.outputs);
    if (record.active) json["active"] = Hex(*record.active);
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
  for (const char* inner : {"frames", "masks"}) fs::create_directories(folder / inner);
  RobotConfig config = recording.config;
  WriteText(folder / "config.json", WriteJson(config.Fields()));
  std::string lines;
  for (const auto& frame : recording.frames) {
    WriteFrame(*frame, folder);
    lines += LineOf(frame->record);
  }
  WriteText(folder / "frames.jsonl", lines);
  const Json about = {{"version", kVersion},
                      {"reason", recording.reason},
                      {"detail", recording.detail},
                      {"frames", recording.frames.size()},
                      {"build", recording.build},
                      {"model_hash", Hex(recording.model_hash)},
                      {"schemes", JsonOf(recording.schemes)}};
  WriteText(folder / "recording.json",
            about.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n");
}

// Reads what a file or a line says, naming it where it says something else.
class Reader {
 public:
  Reader(const std::string& text, std::string name)
      : Reader(Json::parse(text, nullptr, /*allow_exceptions=*/false), std::move(name)) {}

  Reader(Json json, std::string name) : name_(std::move(name)), json_(std::move(json)) {
    if (!json_.is_object()) throw InputError(name_ + ": not a JSON object");
  }

  bool Has(const char* key) const { return json_.contains(key); }

  std::string Text(const char* key) const {
    if (!Has(key) || !json_[key].is_string()) Refuse(key, "a text");
    return json_[key].get<std::string>();
  }

  int64_t Integer(const char* key) const {
    if (!Has(key) || !json_[key].is_number_integer()) Refuse(key, "an integer");
    return json_[key].get<int64_t>();
  }

  bool Bool(const char* key) const {
    if (!Has(key) || !json_[key].is_boolean()) Refuse(key, "true or false");
    return json_[key].get<bool>();
  }

  uint64_t Hex(const char* key) const {
    const bool is_text = Has(key) && json_[key].is_string();
    const std::string text = is_text ? json_[key].get<std::string>() : "";
    const bool is_hex =
        text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!is_hex) Refuse(key, "16 hexadecimal digits");
    return std::stoull(text, nullptr, 16);
  }

  std::vector<Reader> Objects(const char* key) const {
    if (!Has(key) || !json_[key].is_array()) Refuse(key, "a list");
    std::vector<Reader> readers;
    for (const Json& json : json_[key]) {
      readers.emplace_back(json, fmt::format("{}: {}", name_, key));
    }
    return readers;
  }

  [[noreturn]] void Refuse(const char* key, std::string_view what) const {
    throw InputError(fmt::format("{}: {} must be {}", name_, key, what));
  }

 private:
  std::string name_;
  Json json_;
};

SafetyLevel LevelOf(const Reader& reader) {
  const std::string name = reader.Text("level");
  for (int i = 0; i < kSafetyLevelCount; ++i) {
    const auto level = static_cast<SafetyLevel>(i);
    if (name == NameOf(level)) return level;
  }
  reader.Refuse("level", "one of the guard's levels");
}

FrameStep StepOf(const Reader& reader) {
  const std::string name = reader.Text("failed_step");
  for (int i = 0; i < kFrameStepCount; ++i) {
    const auto step = static_cast<FrameStep>(i);
    if (name == NameOf(step)) return step;
  }
  reader.Refuse("failed_step", "one of the steps of a frame");
}

NamedSchemes ReadSchemes(const Reader& about) {
  NamedSchemes schemes;
  for (const Reader& reader : about.Objects("schemes")) {
    const std::string name = reader.Text("scheme");
    const auto* const known =
        std::find_if(std::begin(kSchemes), std::end(kSchemes),
                     [&name](Scheme scheme) { return name == NameOf(scheme); });
    if (known == std::end(kSchemes)) reader.Refuse("scheme", "direct, winograd or bf16");
    schemes.push_back({reader.Text("layer"), *known});
  }
  return schemes;
}

FrameRecord ParseLine(const std::string& line, const std::string& name) {
  const Reader reader(line, name);
  FrameRecord record;
  record.frame = reader.Integer("frame");
  if (record.frame < 0) reader.Refuse("frame", "at least 0");
  record.stamp = std::chrono::nanoseconds(reader.Integer("stamp_ns"));
  record.name = reader.Text("name");
  record.is_fresh = reader.Bool("fresh");
  record.level = LevelOf(reader);
  if (reader.Has("error")) {
    record.error = reader.Text("error");
    if (record.error.empty()) reader.Refuse("error", "a text with something in it");
    record.failed_step = StepOf(reader);
  }
  if (!record.has_outputs()) return record;
  record.outputs = reader.Hex("outputs");
  if (reader.Has("active")) record.active = reader.Hex("active");
  return record;
}

Picture ReadPng(const fs::path& path) {
  QuietOpenCv();
  const std::string bytes = ReadFile(path, kLargestFile);
  cv::Mat image;
  try {
    image = cv::imdecode(std::vector<uint8_t>(bytes.begin(), bytes.end()), cv::IMREAD_UNCHANGED);
  } catch (const cv::Exception&) {
    image.release();
  }
  if (image.empty()) throw InputError(path.string() + ": not a readable picture");
  return PictureFrom(image);
}

}  // namespace

const char* NameOf(FrameStep step) {
  switch (step) {
    case FrameStep::kAnswer:
      return "answer";
    case FrameStep::kPublish:
      return "publish";
    case FrameStep::kCheck:
      return "check";
    case FrameStep::kGuard:
      return "guard";
    case FrameStep::kRefresh:
      return "refresh";
  }
  return "";
}

uint64_t HashOfOutputs(const Executor& executor) {
  std::vector<std::vector<float>> outputs;
  ReadOutputs(executor, outputs);
  uint64_t hash = kHashBasis;
  for (const std::vector<float>& numbers : outputs) {
    std::vector<uint32_t> words(numbers.size());
    std::memcpy(words.data(), numbers.data(), numbers.size() * sizeof(float));
    hash = Hash(words.data(), words.size(), hash);
  }
  return hash;
}

uint64_t HashOf(ConstMaskView mask) { return Hash(mask.words, mask.word_count()); }

uint64_t HashOfFile(const fs::path& path) {
  const MappedFile file = MapFile(path);
  return Hash(reinterpret_cast<const unsigned char*>(file.data.get()), file.size);
}

void WriteRecording(const Recording& recording, const fs::path& folder) {
  const fs::path unfinished = folder.string() + ".unfinished";
  std::error_code ignored;
  try {
    fs::remove_all(unfinished);  // of a run that was cut off
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
  const Reader about(ReadFile(about_name, kLargestFile), about_name);
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
    if (number == 1 && !frame->record.is_fresh) {
      throw InputError(name + ": a recording begins with a fresh frame");
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
  frame.picture = ReadPng(folder / "frames" / FileName(record, "png"));
  return frame;
}

}  // namespace cacheinf

#include "profiler/obtain_profile.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "common/answer/agreement.h"
#include "common/answer/outputs.h"
#include "common/base/build_id.h"
#include "common/base/error.h"
#include "common/base/failure.h"
#include "common/base/file.h"
#include "common/base/json_fields.h"
#include "common/base/log.h"
#include "common/exec/compiled_model.h"
#include "common/model/graph/pack.h"
#include "common/model/graph/schemes.h"
#include "common/pair/server_connection.h"
#include "common/reuse/settings.h"
#include "common/source/folder_source.h"
#include "profiler/clip_agreement.h"
#include "profiler/fitted_clip.h"
#include "profiler/machine.h"
#include "profiler/measure.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

constexpr double kShareToJudge = 0.33;  // of the seconds, agreement
constexpr const char* kSeconds = "seconds";

std::vector<int> WinogradLayersOf(const Graph& graph) {
  std::vector<int> layers;
  for (size_t id = 0; id < graph.operators.size(); ++id) {
    const auto* const conv = graph.operators[id].As<op::Conv>();
    if (conv == nullptr || conv->scheme != Scheme::kWinograd) continue;
    layers.push_back(static_cast<int>(id));
  }
  return layers;
}

// The outputs of convolutions on which no other convolution depends. Later operators (an argmax,
// say) would hide how much these differ.
std::vector<ValueId> LastConvolutions(const Graph& graph) {
  std::vector<bool> is_read(graph.values.size());  // by a convolution, at last
  std::vector<ValueId> last;
  for (size_t id = graph.operators.size(); id-- > 0;) {
    const Operator& op = graph.operators[id];
    const bool is_conv = op.As<op::Conv>() != nullptr;
    const bool reaches = std::ranges::any_of(op.outputs, [&](ValueId out) { return is_read[out]; });
    if (is_conv && !reaches) last.push_back(op.outputs.front());
    if (!is_conv && !reaches) continue;
    for (const ValueId input : op.inputs) is_read[input] = true;
  }
  return last;
}

// Profile::winograd_difference.
std::optional<double> WinogradDifference(const ProfileRequest& request, const FittedClip& clip) {
  if (WinogradLayersOf(*request.graph).empty()) return 0;
  Graph by_winograd = *request.graph;
  by_winograd.outputs = LastConvolutions(by_winograd);
  Graph direct = by_winograd;
  SetSchemes(direct, Schemes(direct.operators.size(), Scheme::kDirect));
  FrameDecision whole;
  whole.kind = FrameDecision::Kind::kWhole;
  const auto answered = [&](Graph graph) {
    ModelState state(std::make_shared<const CompiledModel>(
        std::make_shared<const Graph>(std::move(graph)), request.make_backend()));
    state.Apply(whole, clip.picture(0), {});
    OutputNumbers outputs;
    ReadOutputs(state, outputs);
    return outputs;
  };
  RelativeError error;
  error.Add(answered(std::move(by_winograd)), answered(std::move(direct)));
  return error.frames_without() == 0 ? std::optional(error.mean()) : std::nullopt;
}

// Everything that shares and times depend on, except for the machine.
std::string SettingsText(const ProfileRequest& request) {
  SharedSettings settings = request.settings;
  auto json = nlohmann::ordered_json::parse(WriteJson(settings.Fields()));
  json.erase("slice_codec");  // a profile's own field
  // Then both sides have the same schemes.
  if (settings.cache.policy == CacheConfig::Policy::kExact) {
    json["winograd_layers"] = WinogradLayersOf(*request.graph);
  }
  return json.dump();
}

std::string Digest(const std::string& text) {
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

// Tells a clip's files apart by their names, sizes and time stamps; empty if it has none.
std::string FilesOf(const std::string& clip) {
  std::error_code error;
  std::vector<std::string> files;
  const auto add = [&](const fs::path& file) {
    const fs::file_time_type written = fs::last_write_time(file, error);
    files.push_back(fmt::format("{} {} {}", file.filename().string(), fs::file_size(file, error),
                                written.time_since_epoch().count()));
  };
  if (fs::is_regular_file(clip, error)) add(clip);
  for (const fs::directory_entry& entry : fs::directory_iterator(clip, error)) {
    if (IsPictureFile(entry.path())) add(entry.path());
  }
  std::ranges::sort(files);
  return files.empty() ? "" : Digest(fmt::format("{}", fmt::join(files, "\n")));
}

std::string SampledText(const ProfileRequest& request) {
  std::vector<std::string> files;
  for (const std::string& clip : request.clips) files.push_back(FilesOf(clip));
  return TextOf(nlohmann::json{{"clips", request.clips},
                               {"codecs", request.codecs},
                               {"files", files},
                               {"frames", request.frames},
                               {kSeconds, request.seconds}});
}

struct Sampled {
  std::string what;
  double seconds = 0;  // 0: unknown
};

// Profile::sampled may be any text: of another version, or imported.
Sampled SampledOf(const Profile& profile) {
  FieldsJson json = FieldsJson::parse(profile.sampled, nullptr, /*allow_exceptions=*/false);
  const bool has_seconds =
      json.is_object() && json.contains(kSeconds) && json[kSeconds].is_number();
  if (!has_seconds) return {profile.sampled};
  const auto seconds = json[kSeconds].get<double>();
  json.erase(kSeconds);
  return {TextOf(json), seconds};
}

// Everything that makes two measurements different, except for how long they took.
std::string KeyOf(const Profile& profile) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {}", NameOf(profile.side), profile.model_checksum,
                     profile.settings, SampledOf(profile).what, profile.machine_fingerprint,
                     profile.build, profile.backend, profile.threads, NameOf(profile.slice_codec),
                     fmt::join(profile.winograd_layers, ","));
}

// Returns the file's profile if it has the same heading, and was measured for as long at least.
std::optional<Profile> Known(const fs::path& file, const Profile& heading) {
  std::error_code error;
  if (!fs::exists(file, error)) return std::nullopt;
  try {
    Profile profile = LoadProfile(file);
    const double seconds = SampledOf(profile).seconds;
    const double asked_s = SampledOf(heading).seconds;
    if (KeyOf(profile) != KeyOf(heading)) {
      LogInfo(file.string() + " is a profile of something else; measuring again");
    } else if (seconds < asked_s) {
      LogInfo(fmt::format("{} was measured for {} seconds, not {}; measuring again", file.string(),
                          seconds, asked_s));
    } else {
      return profile;
    }
  } catch (const InputError& error) {
    LogWarning(error.what());
  }
  return std::nullopt;
}

// Returns false if they already are, or are unknown.
bool SetWatts(const std::vector<double>& watts, Profile* profile) {
  if (watts.empty()) return false;
  const std::array before = {profile->computing_watts, profile->sending_watts,
                             profile->waiting_watts};
  profile->computing_watts = watts[0];
  profile->sending_watts = watts[1];
  profile->waiting_watts = watts[2];
  return !std::ranges::equal(before, watts);
}

}  // namespace

std::vector<std::string> DefaultPictureCodecs() {
  return {"raw",     "png",     "jpeg:85",      "blocks:90",   "video",
          "jpeg:95", "jpeg:70", "video:crf=18", "video:crf=28"};
}

std::vector<std::string> LosslessPictureCodecs() { return {"raw", "png", "blocks:raw"}; }

Profile Heading(const ProfileRequest& request) {
  const Machine machine = DescribeMachine();
  const MappedFile pack = PackForServers(*request.graph);
  Profile profile;
  profile.side = request.side;
  profile.model = request.graph->name;
  profile.model_checksum = PackChecksum({pack.data.get(), pack.size});
  profile.settings = SettingsText(request);
  profile.sampled = SampledText(request);
  profile.machine =
      fmt::format("{}, {} of {} cores", machine.cpu, request.threads, machine.logical_cores);
  profile.machine_fingerprint = Fingerprint(machine);
  profile.build = BuildId();
  profile.backend = request.backend;
  profile.threads = request.threads;
  profile.slice_codec = request.settings.slice_codec;
  profile.winograd_layers = WinogradLayersOf(*request.graph);
  return profile;
}

std::string NameOf(const ProfileRequest& request) { return Digest(KeyOf(Heading(request))); }

std::optional<Profile> KnownProfile(const ProfileRequest& request, const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error)) return std::nullopt;
  return Known(file, Heading(request));
}

ObtainedProfile ObtainProfile(const ProfileRequest& request, const fs::path& file,
                              bool measure_again, const Clock& clock,
                              const std::function<bool(double done, double left_s)>& on_progress) {
  CheckCarriesRows(request.settings.slice_codec, *request.graph);
  const Profile heading = Heading(request);
  if (!measure_again) {
    if (std::optional<Profile> known = Known(file, heading)) {
      const bool is_in_file = !SetWatts(request.watts, &*known);
      return {*std::move(known), true, is_in_file};
    }
  }
  Measurement measurement;
  measurement.heading = heading;
  measurement.settings = request.settings;
  measurement.codecs = request.codecs;
  measurement.read_answer = request.read_answer;
  const bool is_generated = request.clips.empty();
  for (const std::string& source : is_generated ? GeneratedClips(request.frames) : request.clips) {
    measurement.clips.push_back(ReadClip(source, *request.graph, request.frames, clock));
  }
  const bool judges = request.decoder && request.side == Side::kRobot &&
                      std::ranges::any_of(measurement.clips, ShowsAgreement);
  const double to_judge_s = judges ? kShareToJudge * request.seconds : 0.0;
  measurement.seconds = request.seconds - to_judge_s;
  bool is_ended = false;
  const auto go_on = [&](double done_s, double left_s) {
    is_ended = is_ended || !on_progress(done_s / request.seconds, left_s);
    return !is_ended;
  };
  measurement.on_progress = [&](double done, double left_s) {
    return go_on(done * measurement.seconds, left_s + to_judge_s);
  };
  Profile profile = Measure(request.graph, request.make_backend(), measurement, clock);
  if (judges && !is_ended) {
    JudgeOnClips(
        std::make_shared<const CompiledModel>(request.graph, request.make_backend()),
        request.settings, *request.decoder, measurement.clips, to_judge_s, clock,
        [&](double left_s) { return go_on(request.seconds - left_s, left_s); }, &profile);
  }
  if (is_ended) throw Stopped("stopped: no profile is written");
  profile.winograd_difference = WinogradDifference(request, measurement.clips.front());
  SetWatts(request.watts, &profile);
  if (is_generated) {
    profile.assumptions.emplace_back("motion is that of generated scenes, not of a clip");
  }
  return {std::move(profile), false, false};
}

}  // namespace cacheinf

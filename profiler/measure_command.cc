#include "profiler/measure_command.h"

#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "common/base/build_id.h"
#include "common/base/error.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/status_line.h"
#include "common/config/configured_model.h"
#include "common/model/graph/pack.h"
#include "common/pair/server_connection.h"
#include "profiler/fitted_clip.h"
#include "profiler/machine.h"
#include "profiler/measure.h"
#include "profiler/scheme_choice.h"

namespace cacheinf {
namespace {

// All that shares and times depend on, but for the machine.
std::string SettingsText(RobotConfig config, const Graph& graph) {
  nlohmann::ordered_json json = {
      {"cache", nlohmann::ordered_json::parse(WriteJson(config.cache.Fields()))},
      {"tracker", NameOf(config.tracker.kind)},
      {"threshold", config.tracker.change.threshold},
      {"scheme", NameOf(config.scheme)}};
  int winograd = 0;
  for (const NamedScheme& scheme : SchemesOf(graph)) winograd += scheme.scheme == Scheme::kWinograd;
  json["winograd_layers"] = winograd;
  return json.dump();
}

// What a profile is of, still without anything measured.
Profile Heading(const MeasureCommand& command, const Graph& graph, int threads) {
  const Machine machine = DescribeMachine();
  const MappedFile pack = PackForServers(graph);
  Profile profile;
  profile.side = command.side;
  profile.model = graph.name;
  profile.model_checksum = PackChecksum({pack.data.get(), pack.size});
  profile.settings = SettingsText(command.config, graph);
  profile.machine = fmt::format("{}, {} of {} cores", machine.cpu, threads, machine.logical_cores);
  profile.machine_fingerprint = Fingerprint(machine);
  profile.build = BuildId();
  profile.backend = NameOf(command.config.backend);
  profile.threads = threads;
  profile.slice_codec = command.config.server.slice_codec;
  return profile;
}

bool AreOfTheSame(const Profile& a, const Profile& b) {
  const auto of = [](const Profile& profile) {
    return std::tie(profile.side, profile.model_checksum, profile.settings,
                    profile.machine_fingerprint, profile.build, profile.backend, profile.threads,
                    profile.slice_codec);
  };
  return of(a) == of(b);
}

// What the file holds, if that is a profile of the same.
std::optional<Profile> Known(const MeasureCommand& command, const Profile& heading) {
  if (command.measure_again || !std::filesystem::exists(command.out)) return std::nullopt;
  try {
    Profile profile = LoadProfile(command.out);
    if (AreOfTheSame(profile, heading)) return profile;
    LogInfo(command.out.string() + " is a profile of something else, and measured again");
  } catch (const InputError& error) {
    LogWarning(error.what());
  }
  return std::nullopt;
}

std::vector<FittedClip> ClipsOf(const MeasureCommand& command, const Graph& graph,
                                const Clock& clock) {
  std::vector<FittedClip> clips;
  const bool is_generated = command.clips.empty();
  for (const std::string& source : is_generated ? GeneratedClips(command.frames) : command.clips) {
    clips.push_back(ReadClip(source, graph, command.frames, clock));
  }
  return clips;
}

void TakeWatts(const std::vector<double>& watts, Profile* profile) {
  if (watts.empty()) return;
  profile->computing_watts = watts[0];
  profile->sending_watts = watts[1];
  profile->waiting_watts = watts[2];
}

void TakeHeading(const Profile& heading, Profile* profile) {
  profile->model = heading.model;
  profile->model_checksum = heading.model_checksum;
  profile->settings = heading.settings;
  profile->machine = heading.machine;
  profile->machine_fingerprint = heading.machine_fingerprint;
  profile->build = heading.build;
  profile->backend = heading.backend;
  profile->threads = heading.threads;
}

double DenseMs(const Profile& profile) {
  double sum = 0;
  for (const ProfiledOperator& op : profile.operators) sum += op.dense_ms;
  return sum;
}

// Of a frame of which so much changed.
double ChangedMs(const Profile& profile, double changed) {
  double sum = 0;
  for (const ProfiledOperator& op : profile.operators) sum += op.ms.At(op.active.At(changed));
  return sum;
}

}  // namespace

std::vector<std::string> DefaultPictureCodecs() {
  return {"raw", "png", "jpeg:85", "blocks:90", "video"};
}

std::string SummaryOf(const Profile& profile) {
  std::string text = fmt::format(
      "{} on {}: {} operators, {:.2f} ms with nothing kept; {:.2f} ms if nothing changed, {:.2f} "
      "if 10 % did, {:.2f} if all did\n",
      profile.model, profile.machine, profile.operators.size(), DenseMs(profile),
      ChangedMs(profile, 0.0), ChangedMs(profile, 0.1), ChangedMs(profile, 1.0));
  text += fmt::format("fitting {:.2f} ms, deciding {:.2f} ms, reading the answer {:.2f} ms\n",
                      profile.fit_ms, profile.decide_ms.At(0.1), profile.read_ms);
  for (const ProfiledCodec& codec : profile.codecs) {
    text += fmt::format("{}: {:.0f} bytes if 10 % changed, {:.0f} if all did; {:.2f} + {:.2f} ms\n",
                        codec.codec, codec.bytes.At(0.1), codec.bytes.At(1.0), codec.encode_ms,
                        codec.decode_ms);
  }
  for (const std::string& assumption : profile.assumptions) text += "assumed: " + assumption + "\n";
  return text;
}

std::string RunMeasureCommand(const MeasureCommand& command, const Clock& clock,
                              const std::atomic<bool>& stop) {
  const RobotConfig& config = command.config;
  Graph loaded = LoadGraph(config, /*has_tensors=*/false);
  const int threads = config.threads == 0 ? CoresToUse(DescribeMachine()) : config.threads;
  ChooseSchemes(config.scheme, threads, clock, stop, loaded);
  const auto graph = std::make_shared<const Graph>(std::move(loaded));
  const Profile heading = Heading(command, *graph, threads);
  if (const std::optional<Profile> known = Known(command, heading)) {
    return fmt::format(
               "{} holds: model, settings, machine and build are those that it was "
               "measured of\n",
               command.out.string()) +
           SummaryOf(*known);
  }

  Measurement measurement;
  measurement.side = command.side;
  measurement.settings = Resolve(config.cache, config.tracker.change);
  measurement.tracker = config.tracker;
  measurement.slice_codec = heading.slice_codec;
  measurement.codecs = command.codecs;
  measurement.seconds = command.seconds;
  measurement.clips = ClipsOf(command, *graph, clock);
  StatusLine status(clock);
  measurement.on_progress = [&](double done, double left_s) {
    status.Show(
        [&] { return fmt::format("measured {:.0f} %, about {:.0f} s left", 100 * done, left_s); });
    return !stop;
  };
  Profile profile = Measure(graph, MakeBackend(config, threads), measurement, clock);
  if (stop) throw InputError("stopped: no profile is written");
  TakeHeading(heading, &profile);
  TakeWatts(command.watts, &profile);
  if (command.clips.empty()) {
    profile.assumptions.emplace_back("motion is that of generated scenes, not of a clip");
  }
  WriteFile(command.out, ToJsonText(profile));
  return SummaryOf(profile) +
         fmt::format(
             "held-out frames: operators' times predicted within {:.1f} % (median) and "
             "{:.1f} % (95 of 100); of changed frames, from what changed of the picture "
             "alone, {:.1f} % and {:.1f} %\n",
             100 * profile.median_error, 100 * profile.p95_error, 100 * profile.active_median_error,
             100 * profile.active_p95_error);
}

}  // namespace cacheinf

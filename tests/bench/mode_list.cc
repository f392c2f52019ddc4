#include "tests/bench/mode_list.h"

#include <fmt/core.h>

#include "common/model/graph/graph.h"

namespace cacheinf {
namespace {

using ServerMode = ServerLinkConfig::ServerMode;

// The fixed modes' codecs have short names.
constexpr const char* kUsualJpeg = "jpeg:85";

Mode RemoteMode(const Subject& subject, const std::string& codec, ServerMode server_mode) {
  const std::string short_name = codec == kUsualJpeg ? "jpeg" : codec;
  Mode mode = {.name = fmt::format("remote-{}/{}", short_name, NameOf(server_mode)),
               .config = subject.config,
               .needs_server = true};
  mode.config.mode = RobotConfig::Mode::kRemote;
  ServerLinkConfig& server = mode.config.server;
  server.codec = codec;
  server.server_mode = server_mode;
  server.slice_codec = SliceCodec::kZstd;
  mode.plan =
      Plan{.kind = Plan::Kind::kRemote, .keeps = server_mode == ServerMode::kCache, .codec = codec};
  return mode;
}

}  // namespace

Mode CacheInfMode(const Subject& subject, double deadline_ms) {
  Mode mode = {
      .name = "cacheinf", .config = subject.config, .needs_server = true, .may_go_without = true};
  mode.config.mode = RobotConfig::Mode::kCacheinf;
  mode.config.deadline_ms = deadline_ms;
  if (subject.small_profile) mode.config.smaller_models = {subject.Smaller()};
  if (deadline_ms > 0) mode.name += fmt::format("@{:g}", deadline_ms);
  return mode;
}

std::vector<Mode> ModesOf(const Subject& subject) {
  std::vector<Mode> modes;
  const auto add = [&](const std::string& name, RobotConfig::Mode mode) -> Mode& {
    modes.push_back({.name = name, .config = subject.config});
    modes.back().config.mode = mode;
    modes.back().needs_server = modes.back().config.UsesServer();
    return modes.back();
  };
  add("local", RobotConfig::Mode::kDense).plan = Plan{.keeps = false};
  add("cache", RobotConfig::Mode::kCache).plan = Plan();
  add("every-k", RobotConfig::Mode::kDense).every = subject.every;
  for (const char* const codec : {"raw", kUsualJpeg, "video"}) {
    for (const ServerMode server_mode : {ServerMode::kDense, ServerMode::kCache}) {
      modes.push_back(RemoteMode(subject, codec, server_mode));
    }
  }
  ServerLinkConfig& split = add("split", RobotConfig::Mode::kSplit).config.server;
  split.cuts = {subject.model->cut};
  split.slice_codec = SliceCodec::kFp16Zstd;
  if (subject.plain_video) {
    Mode& plain = add("plain-video", RobotConfig::Mode::kDense);
    plain.needs_server = plain.is_plain_video = true;
  }
  if (subject.small) {
    modes.push_back({.name = "small-local", .config = subject.small_config, .is_small = true});
  }
  if (!subject.planning.empty()) {
    modes.push_back(CacheInfMode(subject, 0));
    for (const double deadline_ms : kDeadlinesMs) {
      modes.push_back(CacheInfMode(subject, deadline_ms));
    }
  }
  return modes;
}

std::optional<Mode> ModeOf(const Subject& subject, const Plan& plan) {
  if (plan.kind == Plan::Kind::kRemote) {
    return RemoteMode(subject, plan.codec, plan.keeps ? ServerMode::kCache : ServerMode::kDense);
  }
  if (!plan.model.empty()) {
    Mode small = {.name = plan.keeps ? "small-cache" : "small-local",
                  .config = subject.small_config,
                  .plan = plan,
                  .is_small = true};
    small.config.mode = plan.keeps ? RobotConfig::Mode::kCache : RobotConfig::Mode::kDense;
    return small;
  }
  Mode mode = {.name = plan.keeps ? "cache" : "local", .config = subject.config, .plan = plan};
  mode.config.mode = plan.keeps ? RobotConfig::Mode::kCache : RobotConfig::Mode::kDense;
  if (plan.kind == Plan::Kind::kLocal || plan.cuts.empty()) return mode;
  if (!plan.keeps) return std::nullopt;
  mode.name = ToText(plan);
  mode.needs_server = true;
  mode.config.mode = RobotConfig::Mode::kSplit;
  const Graph& graph = subject.compiled->graph();
  for (const Cut& cut : plan.cuts) {
    const ValueId value =
        cut.after < 0 ? graph.inputs.front() : graph.operators[cut.after].outputs.front();
    const std::string& name = graph.value(value).name;
    mode.config.server.cuts.push_back(
        fmt::format("{}:{:.3f}", name.empty() ? graph.operators[cut.after].name : name,
                    cut.robot_thousandths / 1000.0));
  }
  return mode;
}

}  // namespace cacheinf

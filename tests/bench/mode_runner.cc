#include "tests/bench/mode_runner.h"

#include <fmt/core.h>

#include <atomic>
#include <chrono>

#include "client/live_robot.h"
#include "client/robot_setup.h"
#include "common/base/clock.h"
#include "tests/rivals/plain_video.h"

namespace cacheinf {
namespace {

constexpr std::chrono::seconds kMostOfACell(90);

}  // namespace

std::string LinkText(double mbit) { return fmt::format("{:g}mbit,3ms", mbit); }

std::vector<FrameCost> ModeRunner::Measure(const Subject& subject, const Mode& mode) {
  const Limit limit(ServerFor(mode), kMostOfACell);
  const auto contender = MakeContender(subject, mode, 1);
  return MeasureFrames(*contender, subject.frames, mode.needs_server);
}

LiveAnswers ModeRunner::RunLive(const Subject& subject, const Mode& mode, double slowdown,
                                const std::function<bool()>& stop, const CellLength& length) {
  const Limit limit(ServerFor(mode), kMostOfACell);
  if (mode.config.deadline_ms > 0) {
    RobotConfig config = ConfigOf(subject, mode, slowdown);
    config.guard.is_on = true;
    const SteadyClock clock;
    const std::atomic<bool> never = false;
    RobotModels models(LoadNetwork(config, /*has_tensors=*/false), config, /*has_tensors=*/false,
                       /*first_frame=*/{}, clock, never);
    return RunOnTime(models, config, SmallerOf(subject, mode, slowdown), subject.frames, stop,
                     length);
  }
  const auto contender = MakeContender(subject, mode, slowdown);
  return cacheinf::RunLive(*contender, subject.frames, mode.needs_server && !mode.may_go_without,
                           stop, length);
}

const BenchServer* ModeRunner::ServerFor(const Mode& mode) {
  if (mode.config.UsesServer() && !(server_ && server_->is_running())) {
    server_ = std::make_unique<BenchServer>(place_.name_server, place_.models, place_.cores.server,
                                            link_);
  }
  return server_.get();
}

std::vector<KnownSmaller> ModeRunner::SmallerOf(const Subject& subject, const Mode& mode,
                                                double slowdown) {
  if (mode.config.smaller_models.empty()) return {};
  return {{{subject.SmallerName(), subject.small},
           SlowedDown(*subject.small_profile, slowdown),
           subject.small_judged}};
}

RobotConfig ModeRunner::ConfigOf(const Subject& subject, const Mode& mode, double slowdown) const {
  RobotConfig config = mode.config;
  config.server.emulate = fmt::format("{:g}x", slowdown);
  if (mode.needs_server) config.server.address = server_->address();
  if (config.mode == RobotConfig::Mode::kCacheinf) {
    config.server.schedule = subject.planning.at(slowdown)->file();
  }
  if (mode.needs_server && !link_.empty()) config.server.emulate += "," + link_;
  return config;
}

std::unique_ptr<Contender> ModeRunner::MakeContender(const Subject& subject, const Mode& mode,
                                                     double slowdown) const {
  if (!mode.is_plain_video) {
    return MakeRobotContender(mode.is_small ? subject.small : subject.compiled,
                              ConfigOf(subject, mode, slowdown), mode.every,
                              SmallerOf(subject, mode, slowdown));
  }
  PlainVideoOptions options;
  options.slowdown = slowdown;
  options.robot_core = place_.cores.robot;
  if (!link_.empty()) options.link = ParseLinkShape(link_);
  const Picture& picture = subject.frames.front().picture;
  return MakePlainVideoContender(
      *subject.plain_video, options,
      PictureFit(subject.compiled->graph().picture, picture.width, picture.height));
}

}  // namespace cacheinf

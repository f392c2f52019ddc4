#include "tests/bench/mode_runner.h"

#include <fmt/core.h>

#include <chrono>

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
  const auto contender = MakeContender(subject, mode, slowdown);
  LiveAnswers live;
  live.answers = cacheinf::RunLive(*contender, subject.frames,
                                   mode.needs_server && !mode.may_go_without, stop, length);
  live.why = contender->why();
  return live;
}

const BenchServer* ModeRunner::ServerFor(const Mode& mode) {
  if (mode.config.UsesServer() && !(server_ && server_->is_running())) {
    server_ = std::make_unique<BenchServer>(place_.name_server, place_.models, place_.cores.server,
                                            link_);
  }
  return server_.get();
}

std::unique_ptr<Contender> ModeRunner::MakeContender(const Subject& subject, const Mode& mode,
                                                     double slowdown) const {
  RobotConfig config = mode.config;
  config.server.emulate = fmt::format("{:g}x", slowdown);
  const std::string link = mode.needs_server ? link_ : "";
  if (mode.is_plain_video) {
    PlainVideoOptions options;
    options.slowdown = slowdown;
    options.robot_core = place_.cores.robot;
    if (!link.empty()) options.link = ParseLinkShape(link);
    const Picture& picture = subject.frames.front().picture;
    return MakePlainVideoContender(
        *subject.plain_video, options,
        PictureFit(subject.compiled->graph().picture, picture.width, picture.height));
  }
  if (mode.needs_server) config.server.address = server_->name();
  if (config.mode == RobotConfig::Mode::kCacheinf) {
    config.server.schedule = subject.planning.at(slowdown)->file();
  }
  if (!link.empty()) config.server.emulate += "," + link;
  return MakeRobotContender(mode.is_small ? subject.small : subject.compiled, config, mode.every);
}

}  // namespace cacheinf

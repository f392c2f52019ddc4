#include "client/robot_setup.h"

#include <fmt/core.h>

#include <filesystem>
#include <utility>

#include "common/answer/answers.h"
#include "common/answer/best_scores.h"
#include "common/answer/seen_picture.h"
#include "common/base/cache_folder.h"
#include "common/base/log.h"
#include "common/base/status_line.h"
#include "common/link/emulated_link.h"
#include "profiler/machine.h"
#include "profiler/obtain_profile.h"
#include "profiler/rough_profile.h"

namespace cacheinf {
namespace {

constexpr double kSecondsToMeasure = 20;

}  // namespace

int ThreadsToUse(const RobotConfig& config) {
  return config.threads == 0 ? CoresToUse(DescribeMachine()) : config.threads;
}

std::unique_ptr<Backend> MakeBackend(const RobotConfig& config) {
  return MakeBackend(config, ThreadsToUse(config));
}

std::shared_ptr<const CompiledModel> Compile(Graph graph, const RobotConfig& config) {
  return std::make_shared<const CompiledModel>(std::make_shared<const Graph>(std::move(graph)),
                                               MakeBackend(config));
}

std::function<void(const ModelState& state)> AnswerReading(const Graph& graph,
                                                           const RobotConfig& config) {
  const auto reader = std::make_shared<AnswerReader>(graph, config.model_config.decoder);
  return [reader](const ModelState& state) { (void)reader->Read(state, {}); };
}

bool NeedsProfile(const RobotConfig& config) {
  return config.mode == RobotConfig::Mode::kCacheinf && config.server.schedule.empty();
}

Profile ProfileFor(const std::shared_ptr<const CompiledModel>& model, const RobotConfig& config,
                   bool may_measure, const Clock& clock, const std::atomic<bool>& stop,
                   const std::function<void()>& meanwhile) {
  ProfileRequest request;
  request.graph = {model, &model->graph()};
  request.threads = ThreadsToUse(config);
  request.make_backend = [&config] { return MakeBackend(config); };
  request.backend = NameOf(config.backend);
  request.cache = config.cache;
  request.tracker = config.tracker;
  request.slice_codec = config.server.slice_codec;
  request.most_scores = ScoresRead(model->graph(), config);
  // An exact robot follows no plan with another codec.
  if (config.cache.policy == CacheConfig::Policy::kExact) request.codecs = LosslessPictureCodecs();
  request.seconds = kSecondsToMeasure;
  request.read_answer = AnswerReading(model->graph(), config);
  const std::filesystem::path file =
      CacheFolder() / "profiles" / (NameOf(request) + ".profile.json");
  const double slowdown = ParseEmulation(config.server.emulate).slowdown;
  if (!may_measure && !KnownProfile(request, file)) {
    return SlowedDown(RoughProfile(request, clock), slowdown);
  }
  StatusLine status(clock);
  const ObtainedProfile obtained =
      ObtainProfile(request, file, false, clock, [&](double done, double left_s) {
        status.Show([&] {
          return fmt::format(
              "measures the model on this machine, once: {:.0f} %, about {:.0f} s left", 100 * done,
              left_s);
        });
        meanwhile();
        return !stop;
      });
  if (!obtained.was_known) LogInfo("the model's profile is " + file.string());
  return SlowedDown(obtained.profile, slowdown);
}

}  // namespace cacheinf

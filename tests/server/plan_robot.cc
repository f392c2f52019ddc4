#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "client/frame_executor.h"
#include "common/backend/host/cpu_backend.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/program.h"
#include "tests/testing/clip.h"
#include "tests/testing/networks.h"
#include "tests/testing/outputs.h"
#include "tests/testing/run_graph.h"

// A robot that changes its plan every few frames: alone, pictures in either codec to a server that
// keeps results or not, rows shared at some cuts. The answer to every frame must have the bits of a
// dense run. Between frames it keeps its results warm; that work may stay open over changes of
// plan.
//
//   plan_robot NETWORK

namespace cacheinf {
namespace {

using std::chrono::milliseconds;

constexpr int kPlans = 150;

// Steady but for leaps.
class LeapingClock final : public Clock {
 public:
  std::chrono::nanoseconds Now() const override { return steady_.Now() + leapt_; }
  void Leap(std::chrono::nanoseconds by) { leapt_ += by; }

 private:
  SteadyClock steady_;
  std::chrono::nanoseconds leapt_{};
};

class PlanRobot {
 public:
  PlanRobot(const std::shared_ptr<const CompiledModel>& model, const RobotConfig& config,
            const Clock& link_clock)
      : graph_(model->graph()),
        executor_(model, config, clock_, link_clock),
        dense_(model),
        clip_(kHeight, kWidth, /*step=*/0, 7) {
    executor_.SetPlaceOfFrames(kAll);
    for (const Operator& op : graph_.operators) {
      may_cut_.push_back(executor_.state().is_kept(op.outputs[0]));
    }
  }

  // A frame that the server computes leaves alone the results kept from earlier frames.
  void KeepWhatIsKept() {
    MeetServer();
    const Plan local = {.kind = Plan::Kind::kLocal, .keeps = true, .codec = "", .cuts = {}};
    const Plan remote = {.kind = Plan::Kind::kRemote, .keeps = false, .codec = "raw", .cuts = {}};
    const std::vector<uint8_t> first = Pixels();
    executor_.Follow(local);
    Answer(local, View(first));
    executor_.Follow(remote);
    for (int i = 0; served_[remote.kind] == 0; ++i) {
      if (i == 500) throw Failure(remote, "the server never takes part");
      std::this_thread::sleep_for(milliseconds(2));
      Answer(remote, View(first));
    }
    const std::vector<uint8_t> second = Pixels();
    if (Answer(remote, View(second)).kind != remote.kind) throw Failure(remote, "is not followed");
    executor_.Follow(local);
    const double share = Answer(local, View(first)).work->share;
    if (share > 0) throw Failure(local, "computes " + std::to_string(share) + " of it again");
  }

  void FollowPlans() {
    for (int i = 0; i < kPlans; ++i) {
      const Plan plan = RandomPlan();
      executor_.Follow(plan);
      const auto before = served_[plan.kind];
      for (int frame = 0; frame < 2 + i % 3; ++frame) Answer(plan);
      // The first frames after a change may find the server preparing.
      for (int more = 0; plan.kind != Plan::Kind::kLocal && served_[plan.kind] == before; ++more) {
        if (more == 500) throw Failure(plan, "the server never takes part");
        std::this_thread::sleep_for(milliseconds(2));
        Answer(plan);
      }
    }
    if (standby_steps_ == 0) throw std::runtime_error("nothing is ever kept warm");
  }

  void Print() const {
    for (const auto& [kind, frames] : served_) {
      std::cout << NameOf(kind) << ": " << frames << " frames\n";
    }
    std::cout << standby_steps_ << " steps of standby\n";
  }

 private:
  static constexpr Rectangle kAll = {{0, kHeight}, {0, kWidth}};

  Plan RandomPlan() {
    Plan plan;
    plan.kind = static_cast<Plan::Kind>(random_() % 3);
    plan.keeps = random_() % 3 != 0;
    if (plan.kind == Plan::Kind::kRemote) {
      const std::vector<std::string> codecs = {"raw", "png", "blocks:raw"};
      plan.codec = codecs[random_() % codecs.size()];
    }
    if (plan.kind != Plan::Kind::kSplit) return plan;
    for (int after = -1; after < static_cast<int>(graph_.operators.size()); ++after) {
      if ((after >= 0 && !may_cut_[after]) || random_() % graph_.operators.size() >= 3) continue;
      plan.cuts.push_back({after, static_cast<int>(random_() % 5) * 250});
    }
    if (plan.cuts.empty()) plan.cuts.push_back({-1, 0});
    return plan;
  }

  void Answer(const Plan& plan) {
    const PictureView picture = NextPicture();
    Answer(plan, picture);
    if (random_() % 2 == 0 && executor_.BeginRefresh(picture, {})) {
      TakeSteps();
      executor_.CommitRefresh();
    }
    StandByForAWhile();
  }

  void MeetServer() {
    while (!executor_.MeetServer()) std::this_thread::sleep_for(milliseconds(1));
  }

  void TakeSteps() {
    while (!executor_.Step()) continue;
  }

  // Makes it likely that a standby decision is open when the next frame or plan comes.
  void StandByForAWhile() {
    clock_.Leap(milliseconds(random_() % 1000));
    const auto steps = random_() % static_cast<uint32_t>(2 * executor_.state().stage_count());
    for (uint32_t i = 0; i < steps && executor_.StandBy(); ++i) ++standby_steps_;
  }

  const Execution& Answer(const Plan& plan, const PictureView& picture) {
    MeetServer();
    const FittedFrame frame = {.index = ++index_, .picture = picture, .place = kAll, .tensor = {}};
    executor_.Decide(frame, {}, SplitRobot::kNever);
    executor_.Begin();
    TakeSteps();
    const Execution& execution = executor_.Commit();
    if (execution.kind != Plan::Kind::kLocal && execution.kind != plan.kind) {
      throw Failure(plan, std::string("was executed by plan ") + NameOf(execution.kind));
    }
    ++served_[execution.kind];
    const std::string difference =
        FirstDifference(DenseOutputs(dense_, picture), OutputsOf(executor_.outputs()));
    if (!difference.empty()) throw Failure(plan, difference);
    return execution;
  }

  // A new picture, or one of the last few again, so that pixels change that had not changed for a
  // while.
  PictureView NextPicture() {
    if (random_() % 2 == 0 || shown_.empty()) {
      shown_.push_back(Pixels());
      if (shown_.size() > 4) shown_.pop_front();
    } else {
      std::rotate(shown_.begin(), shown_.begin() + random_() % shown_.size(), shown_.end());
    }
    current_ = shown_.back();
    return View(current_);
  }

  std::vector<uint8_t> Pixels() {
    clip_.Next();
    const PictureView next = clip_.picture();
    return {next.pixels, next.pixels + next.byte_count()};
  }

  static PictureView View(const std::vector<uint8_t>& pixels) {
    return {pixels.data(), kWidth, kHeight, 3};
  }

  std::runtime_error Failure(const Plan& plan, const std::string& what) const {
    return std::runtime_error("frame " + std::to_string(index_) + ", plan " + ToText(plan) + ": " +
                              what);
  }

  const Graph& graph_;
  LeapingClock clock_;
  FrameExecutor executor_;
  std::vector<bool> may_cut_;  // by operator
  ModelState dense_;
  Clip clip_;
  std::deque<std::vector<uint8_t>> shown_;  // the last one at the end
  std::vector<uint8_t> current_;            // overwritten by the next one
  std::mt19937 random_{3};
  int64_t index_ = -1;
  std::map<Plan::Kind, int> served_;
  int standby_steps_ = 0;
};

int Run(const std::vector<std::string>& words) {
  RobotConfig config;
  config.mode = RobotConfig::Mode::kCacheinf;
  config.server.address = "mpi";
  config.server.wait_s = 10;
  config.cache.policy = CacheConfig::Policy::kExact;
  const auto is_named = [&](const Network& network) {
    return words.size() == 1 && words[0] == network.name;
  };
  const auto& networks = TenNetworks();
  const auto network = std::find_if(networks.begin(), networks.end(), is_named);
  if (network == networks.end()) throw InputError("plan_robot NETWORK");
  const auto model = std::make_shared<const CompiledModel>(MakeNetwork(*network, kHeight, kWidth),
                                                           std::make_unique<CpuBackend>());
  const SteadyClock clock;
  PlanRobot robot(model, config, clock);
  robot.KeepWhatIsKept();
  robot.FollowPlans();
  robot.Print();
  return 0;
}

}  // namespace
}  // namespace cacheinf

int main(int argc, char** argv) {
  return cacheinf::RunProgram(
      "plan_robot", [&] { return cacheinf::Run(std::vector<std::string>(argv + 1, argv + argc)); });
}

#ifndef CACHEINF_TESTS_EXEC_ON_CHANGING_FRAMES_H_
#define CACHEINF_TESTS_EXEC_ON_CHANGING_FRAMES_H_

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "common/exec/model_state.h"
#include "tests/exec/changing_frames.h"
#include "tests/exec/on_backends.h"
#include "tests/testing/inside_state.h"
#include "tests/testing/run_graph.h"

namespace cacheinf {

// Tests over random graphs whose inputs change in part from frame to frame.
class OnChangingFrames : public OnBackends {
 protected:
  // Seeds random_ for each graph.
  template <typename OptionsOf, typename Check>
  void ForEachGraph(uint32_t graphs, OptionsOf options_of, Check check) {
    OnBackends::ForEachGraph(graphs, options_of, [&] {
      random_.seed(seed_);
      check();
    });
  }

  void RunFirst(ModelState& state) {
    PoisonWhatIsNotKept(state, kNan);
    SetInputs(state, inputs_);
    state.Run();
  }

  // Draws the next frame's inputs. Returns masks of what changed.
  ChangedMasks NextInputs() {
    const std::vector<Tensor> next = NextFrame(inputs_, random_);
    ChangedMasks changed(inputs_, next);
    inputs_ = next;
    return changed;
  }

  // The same for a camera that moves.
  ChangedMasks ScrollInputs(const Shift& shift) {
    std::vector<Mask> entered(inputs_.size());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      inputs_[i] = Scrolled(inputs_[i], shift, random_, entered[i]);
    }
    return ChangedMasks(std::move(entered));
  }

  ChangedWork RunChanged(ModelState& state, const ChangedMasks& changed, const ChangePolicy& policy,
                         ConstMaskView refresh = {}, float poison = kNan) {
    PoisonWhatIsNotKept(state, poison);
    SetInputs(state, inputs_);
    return InsideState::RunChanged(state, changed.views(), policy, OverPicture(graph_, refresh));
  }

  // Keeps every value, with or without sharing memory, or some.
  StateOptions RandomOptions(bool moves = false) {
    switch (random_() % 3) {
      case 0:
        return {{}, Keep::kAll, moves};
      case 1:
        if (!moves) return {{}, Keep::kAllApart};
        [[fallthrough]];
      default:
        return {RandomValues(graph_, random_), Keep::kChosen, moves};
    }
  }

  // Runs what changes in the next frame.
  ChangedWork Step(ModelState& state, const ChangePolicy& policy) {
    return RunChanged(state, NextInputs(), policy);
  }

  void ExpectDenseBits(const ModelState& state) {
    const auto expected = Expected();
    for (const Operator& op : graph_.operators) {
      for (const ValueId output : op.outputs) {
        if (!state.is_kept(output)) continue;
        ASSERT_EQ(FirstDifference(expected[output], Numbers(state, output)), "")
            << KindName(op) << " '" << op.name << "'";
      }
    }
  }

  void ExpectSameOutputs(const ModelState& a, const ModelState& b) {
    ASSERT_EQ(FirstDifference(Outputs(a), Outputs(b)), "");
  }

  void ExpectSameKept(const ModelState& a, const ModelState& b) {
    ExpectSameOutputs(a, b);  // also waits for the devices
    for (const Operator& op : graph_.operators) {
      for (const ValueId output : op.outputs) {
        if (!a.is_kept(output)) continue;
        ASSERT_EQ(FirstDifference(Numbers(a, output), Numbers(b, output)), "")
            << KindName(op) << " '" << op.name << "'";
      }
    }
  }

  std::mt19937 random_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_EXEC_ON_CHANGING_FRAMES_H_

#include "common/exec/scroll.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "tests/exec/on_changing_frames.h"
#include "tests/testing/inside_state.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/run_graph.h"

// Stored maps that move along with the picture.

namespace cacheinf {
namespace {

constexpr uint32_t kScrolledGraphs = 60;

RandomGraphOptions ScrolledGraph(uint32_t seed) {
  RandomGraphOptions options;
  options.operator_count = 3 + static_cast<int>(seed % 10);
  options.only_local = seed % 3 != 0;
  return options;
}

// A picture after the camera has moved, with new numbers at the borders. `entered` gets these
// pixels.
Tensor Moved(const Tensor& picture, const Shift& shift, std::mt19937& random, Mask& entered) {
  const Shape& shape = picture.shape();
  if (shape.size() != 4) {
    entered = Mask(1, 1);
    return picture;
  }
  const int64_t height = shape[2];
  const int64_t width = shape[3];
  entered = Mask(static_cast<int>(height), static_cast<int>(width));
  const Tensor fresh = RandomTensor(shape, random);
  std::vector<float> numbers(fresh.data(), fresh.data() + fresh.count());
  for (int64_t i = 0; i < picture.count(); ++i) {
    const int64_t y = i / width % height;
    const int64_t x = i % width;
    const int64_t from_y = y + shift.rows;
    const int64_t from_x = x + shift.columns;
    if (from_y >= 0 && from_y < height && from_x >= 0 && from_x < width) {
      numbers[static_cast<size_t>(i)] = picture.data()[i + shift.rows * width + shift.columns];
    } else {
      entered.view().Set(static_cast<int>(y), static_cast<int>(x));
    }
  }
  return Tensor(shape, std::move(numbers));
}

class ScrollTest : public OnChangingFrames {
 protected:
  // Moves the camera, and runs what that changed.
  ChangedWork Step(ModelState& state, const Shift& shift) {
    std::vector<Mask> entered(inputs_.size());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      inputs_[i] = Moved(inputs_[i], shift, random_, entered[i]);
    }
    std::vector<ConstMaskView> views;
    for (const Mask& mask : entered) views.emplace_back(mask.view());
    PoisonWhatIsNotKept(state, kNan);
    InsideState::Scroll(state, shift);
    SetInputs(state, inputs_);
    return InsideState::RunChanged(state, views, {});
  }

  template <typename OptionsOf>
  void CheckShifts(OptionsOf options_of) {
    int whole_shifts = 0;
    int sparse = 0;
    ForEachGraph(kScrolledGraphs, ScrolledGraph, [&] {
      const auto state = MakeState(options_of());
      RunFirst(*state);
      const int step = ShiftStep(graph_, 8);
      for (int frame = 0; frame < 5; ++frame) {
        // Sometimes not by whole strides.
        const int unit = frame == 4 || step == 0 ? 1 : step;
        whole_shifts += unit == step;
        const Shift shift = {unit * (static_cast<int>(random_() % 3) - 1),
                             unit * (static_cast<int>(random_() % 3) - 1)};
        const ChangedWork work = Step(*state, shift);
        sparse += work.done < work.of_all;
        SCOPED_TRACE(testing::Message()
                     << "frame " << frame << ", shift " << shift.rows << ", " << shift.columns);
        ExpectDenseBits(*state);
      }
    });
    EXPECT_GT(whole_shifts, graphs_) << "too few graphs could be shifted";
    EXPECT_GT(sparse, graphs_) << "too little was ever kept";
  }
};

INSTANTIATE_TEST_SUITE_P(On, ScrollTest, TwoBackends(), BackendName);

TEST_P(ScrollTest, AfterAnyShiftEveryValueHasTheBitsOfADenseRun) {
  CheckShifts([] { return StateOptions{{}, Keep::kAll}; });
}

TEST_P(ScrollTest, AfterAnyShiftEveryKeptValueHasTheBitsOfADenseRun) {
  CheckShifts([this] { return StateOptions{RandomValues(graph_, random_), Keep::kChosen}; });
}

TEST(ShiftMapsTest, AStillPictureKeepsEverything) {
  for (uint32_t seed = 0; seed < kScrolledGraphs; ++seed) {
    const Graph graph = RandomGraph(seed, ScrolledGraph(seed));
    const std::vector<ShiftedMap> maps = ShiftMaps(graph, {});
    for (ValueId id = 0; id < static_cast<ValueId>(maps.size()); ++id) {
      if (!maps[id].is_known) continue;
      EXPECT_TRUE(maps[id].shift.is_zero());
      EXPECT_EQ(maps[id].kept_rows.size(), graph.value(id).shape[2]);
      EXPECT_EQ(maps[id].kept_columns.size(), graph.value(id).shape[3]);
    }
  }
}

}  // namespace
}  // namespace cacheinf

#ifndef CACHEINF_TESTS_EXEC_CHANGING_FRAMES_H_
#define CACHEINF_TESTS_EXEC_CHANGING_FRAMES_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "common/exec/model_state.h"
#include "common/exec/scroll.h"
#include "common/model/graph/graph.h"
#include "sparse_ops/mask/mask.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/run_graph.h"

// Frames that change in part, masks that say where, and executors that keep some values.

namespace cacheinf {

// The pixels of each graph input that differ between two frames.
class ChangedMasks {
 public:
  ChangedMasks(const std::vector<Tensor>& before, const std::vector<Tensor>& after) {
    for (size_t i = 0; i < before.size(); ++i) {
      masks_.push_back(Compare(before[i], after[i]));
    }
    SetViews();
  }
  explicit ChangedMasks(std::vector<Mask> masks) : masks_(std::move(masks)) { SetViews(); }

  const std::vector<ConstMaskView>& views() const { return views_; }

 private:
  static Mask Compare(const Tensor& before, const Tensor& after) {
    const Shape& shape = before.shape();
    if (shape.size() != 4) {
      Mask mask(1, 1);
      if (!std::equal(before.data(), before.data() + before.count(), after.data())) SetAll(mask);
      return mask;
    }
    Mask mask(static_cast<int>(shape[2]), static_cast<int>(shape[3]));
    const MaskView view = mask;
    for (int64_t i = 0; i < before.count(); ++i) {
      if (before.data()[i] == after.data()[i]) continue;
      view.Set(static_cast<int>(i / shape[3] % shape[2]), static_cast<int>(i % shape[3]));
    }
    return mask;
  }

  void SetViews() {
    for (const Mask& mask : masks_) views_.emplace_back(mask.view());
  }

  std::vector<Mask> masks_;
  std::vector<ConstMaskView> views_;
};

// Makes the next frame: most of each map unchanged, some pixels new.
inline std::vector<Tensor> NextFrame(const std::vector<Tensor>& inputs, std::mt19937& random) {
  std::vector<Tensor> next;
  for (const Tensor& input : inputs) {
    std::vector<float> numbers(input.data(), input.data() + input.count());
    const Shape& shape = input.shape();
    if (random() % 4 != 0) {
      const int64_t pixels = shape.size() == 4 ? shape[2] * shape[3] : 1;
      const int64_t changed = 1 + static_cast<int64_t>(random() % 3);
      for (int64_t n = 0; n < changed; ++n) {
        const int64_t pixel = static_cast<int64_t>(random()) % pixels;
        for (int64_t i = pixel; i < input.count(); i += pixels) {
          numbers[static_cast<size_t>(i)] += std::uniform_real_distribution<float>(-1, 1)(random);
        }
      }
    }
    next.emplace_back(shape, std::move(numbers));
  }
  return next;
}

// A picture after the camera has moved, with new numbers at the borders. `entered` gets these
// pixels.
inline Tensor Scrolled(const Tensor& picture, const Shift& shift, std::mt19937& random,
                       Mask& entered) {
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

// Takes each value with the same probability, which differs from set to set.
inline std::vector<ValueId> RandomValues(const Graph& graph, std::mt19937& random) {
  const uint32_t of_ten = static_cast<uint32_t>(random()) % 8;
  std::vector<ValueId> values;
  for (const Operator& op : graph.operators) {
    for (const ValueId output : op.outputs) {
      if (static_cast<uint32_t>(random()) % 10 < of_ten) values.push_back(output);
    }
  }
  return values;
}

// What lies over the mask's pixels in the first map among the inputs; no pixels without either.
inline Mask OverPicture(const Graph& graph, ConstMaskView mask) {
  for (const ValueId input : graph.inputs) {
    if (mask.words == nullptr || !graph.value(input).is_map()) continue;
    Mask picture(HeightOf(graph.value(input)), WidthOf(graph.value(input)));
    Rescale(mask, picture);
    return picture;
  }
  return {};
}

// Overwrites numbers on which no frame may rely.
inline void PoisonWhatIsNotKept(const ModelState& state, float poison) {
  for (const Operator& op : state.graph().operators) {
    for (const ValueId output : op.outputs) {
      if (!state.is_kept(output)) Fill(state, output, poison);
    }
  }
}

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_EXEC_CHANGING_FRAMES_H_

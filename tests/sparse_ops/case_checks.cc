#include "tests/sparse_ops/case_checks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "sparse_ops/mask/mask.h"
#include "sparse_ops/reference/change.h"
#include "tests/sparse_ops/active_set.h"
#include "tests/sparse_ops/case_memory.h"
#include "tests/sparse_ops/rounding_error.h"

namespace cacheinf {
namespace {

// [0, rows) cut into random pieces, in random order.
std::vector<Range> RandomCuts(int rows, std::mt19937& random) {
  std::vector<Range> cuts;
  for (int begin = 0; begin < rows;) {
    const int end = begin + 1 + static_cast<int>(random() % static_cast<unsigned>(rows - begin));
    cuts.push_back({begin, end});
    begin = end;
  }
  std::shuffle(cuts.begin(), cuts.end(), random);
  return cuts;
}

template <typename T>
bool SameBits(T a, T b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

// Says at how many indices are_same(i) is false, and what stands at the first of them.
template <typename T, typename AreSame>
std::string DescribeDifference(const std::vector<T>& actual, const std::vector<T>& expected,
                               const AreSame& are_same) {
  if (actual.size() != expected.size()) return "sizes differ";
  size_t count = 0;
  size_t first = 0;
  for (size_t i = actual.size(); i-- > 0;) {
    if (are_same(i)) continue;
    ++count;
    first = i;
  }
  if (count == 0) return "";
  char text[160];
  std::snprintf(text, sizeof(text), "%zu of %zu differ, the first at %zu: %.17g instead of %.17g",
                count, actual.size(), first, static_cast<double>(actual[first]),
                static_cast<double>(expected[first]));
  return text;
}

template <typename T>
std::string DifferenceOfBits(const std::vector<T>& actual, const std::vector<T>& expected) {
  return DescribeDifference(actual, expected,
                            [&](size_t i) { return SameBits(actual[i], expected[i]); });
}

// Whether the family's bits are its own, and only close to the reference's.
bool HasOwnBits(const PreparedCase& prepared) {
  return prepared.memory->winograd || prepared.memory->rounded;
}

// Compares two dense runs.
std::string DifferenceBeyondRounding(const PreparedCase& actual, const PreparedCase& expected,
                                     double conv_rounding) {
  if (!HasOwnBits(actual)) return Difference(actual, expected);
  std::vector<double> bounds;
  if (actual.memory->winograd) {
    // Errors of rounding stay far below those of a wrong weight, tap or epilogue.
    constexpr double kMostOfTheRange = 2e-5;
    double range = 0;
    for (const float number : expected.output()) {
      if (number != CaseMemory::kMark) range = std::max(range, std::fabs(double{number}));
    }
    bounds.assign(expected.output().size(), kMostOfTheRange * range);
  } else {
    bounds = RoundingErrorBounds(*actual.memory->rounded, actual.output(), conv_rounding);
  }
  return DescribeDifference(actual.output(), expected.output(), [&](size_t i) {
    return std::isinf(bounds[i]) ||
           std::fabs(double{actual.output()[i]} - double{expected.output()[i]}) <= bounds[i];
  });
}

std::vector<PixelRun> RunsOf(Range rows, int columns) {
  std::vector<PixelRun> runs;
  for (int y = rows.begin; y < rows.end; ++y) runs.push_back({y, 0, columns});
  return runs;
}

// A copy of what calls may write.
struct Written {
  std::vector<float> output;
  Mask out_of_view;

  explicit Written(const PreparedCase& prepared)
      : output(prepared.output()), out_of_view(prepared.memory->out_of_view) {}

  // Restores the case as it was prepared.
  void PutBack(const PreparedCase& prepared) const {
    prepared.memory->output = output;
    Copy(out_of_view, prepared.memory->out_of_view);
  }

  // Takes these pixels from a dense run.
  void TakePixels(const PreparedCase& dense, const std::vector<PixelRun>& runs) {
    const TensorView& map = dense.map();
    const ConstMaskView dense_out_of_view = dense.memory->out_of_view;
    for (const PixelRun& run : runs) {
      for (int64_t n = 0; n < map.dims[0]; ++n) {
        for (int x = run.begin; x < run.end; ++x) {
          for (int64_t c = 0; c < map.dims[1]; ++c) {
            const float* number = map.data + n * map.strides[0] + c * map.strides[1] +
                                  run.row * map.strides[2] + x * map.strides[3];
            output[static_cast<size_t>(number - dense.output().data())] = *number;
          }
        }
      }
      for (int x = run.begin; x < run.end && dense_out_of_view.words != nullptr; ++x) {
        if (dense_out_of_view.Test(run.row, x)) out_of_view.view().Set(run.row, x);
      }
    }
  }
};

std::string Difference(const Written& actual, const Written& expected) {
  const std::string difference = DifferenceOfBits(actual.output, expected.output);
  if (!difference.empty()) return difference;
  if (AreEqual(actual.out_of_view, expected.out_of_view)) return "";
  return "other pixels are out of view";
}

Range RandomRows(Range all, std::mt19937& random) {
  const int begin = static_cast<int>(random() % static_cast<unsigned>(all.end));
  return {begin, begin + 1 + static_cast<int>(random() % static_cast<unsigned>(all.end - begin))};
}

float Uniform(float low, float high, std::mt19937& random) {
  return std::uniform_real_distribution<float>(low, high)(random);
}

// The map of `prepared` in a copy of its output's memory.
TensorView MapIn(std::vector<float>& copy, const PreparedCase& prepared) {
  TensorView map = prepared.map();
  map.data = copy.data() + (map.data - prepared.output().data());
  return map;
}

// The output of `fresh`, with some pixels off by more or less.
std::vector<float> Blurred(const PreparedCase& fresh, std::mt19937& random) {
  std::vector<float> result = fresh.output();
  const ImageView map = AsImage(MapIn(result, fresh));
  for (int y = 0; y < map.height; ++y) {
    for (int x = 0; x < map.width; ++x) {
      const float error = random() % 3 == 0 ? 0.0f : Uniform(0.0f, 1.0f, random);
      for (int c = 0; c < map.channels; ++c) {
        map.Pixel(0, y, x)[c] += Uniform(-error, error, random);
      }
    }
  }
  return result;
}

std::string Located(const std::string& difference, const std::string& where) {
  return difference.empty() ? "" : where + ": " + difference;
}

std::string RowsText(Range rows) {
  return "rows " + std::to_string(rows.begin) + " to " + std::to_string(rows.end);
}

std::string CheckReferenceBits(const OperatorCase& c, const PreparedCase& reference,
                               const OperatorFamily& family, unsigned seed, std::mt19937& random) {
  const PreparedCase actual = c.Prepare(family);
  if (!actual.run) return "";
  const std::string where = c.name + " of " + family.name + ", seed " + std::to_string(seed);
  const Written before(actual);
  actual.run(actual.rows(), nullptr);
  std::string wrong = Located(DifferenceBeyondRounding(actual, reference, family.conv_rounding),
                              where + ", as a whole");
  if (!wrong.empty()) return wrong;
  const PreparedCase own = HasOwnBits(actual) ? c.Prepare(family) : PreparedCase();
  if (own.run) own.run(own.rows(), nullptr);
  const PreparedCase& dense = own.run ? own : reference;

  before.PutBack(actual);
  Written expected = before;
  for (const Range rows : RandomCuts(dense.rows().end, random)) {
    actual.run(rows, nullptr);
    if (dense.map().rank == 4) {
      expected.TakePixels(dense, RunsOf(rows, dense.columns()));
    } else {
      expected = Written(dense);
    }
    wrong = Located(Difference(Written(actual), expected), where + ", " + RowsText(rows));
    if (!wrong.empty()) return wrong;
  }
  if (dense.map().rank != 4 || family.takes_only_rows) return "";
  for (const ActiveSet::Shape shape : ActiveSet::kShapes) {
    const Range rows = random() % 2 == 0 ? dense.rows() : RandomRows(dense.rows(), random);
    const ActiveSet active(shape, dense.rows().end, dense.columns(), rows, random);
    before.PutBack(actual);
    expected = before;
    expected.TakePixels(dense, active.runs());
    actual.run(active.pixels(), nullptr);
    wrong = Located(
        Difference(Written(actual), expected),
        where + ", " + std::to_string(active.count()) + " active pixels in " + RowsText(rows));
    if (!wrong.empty()) return wrong;
  }
  return "";
}

std::string CheckChanges(const OperatorCase& c, const OperatorFamily& family, unsigned seed,
                         std::mt19937& random) {
  const CaseOptions options = {/*has_one_image=*/true, /*is_perturbed=*/true};
  const PreparedCase fresh = c.Prepare(family, options);
  if (fresh.map().rank != 4 || !fresh.memory->takes_change_test || !fresh.run) return "";
  const PreparedCase before = c.Prepare(family, {/*has_one_image=*/true, false});
  const PreparedCase tested = c.Prepare(family, options);
  before.run(before.rows(), nullptr);
  fresh.run(fresh.rows(), nullptr);
  std::vector<float> inverse_spread(static_cast<size_t>(before.map().dims[1]));
  for (float& number : inverse_spread) number = Uniform(0.5f, 2.0f, random);

  for (const ActiveSet::Shape shape : ActiveSet::kShapes) {
    const ActiveSet active(shape, before.rows().end, before.columns(), before.rows(), random);
    for (const auto& [threshold, stores_all] :
         {std::pair(0.0f, false), std::pair(0.5f, false), std::pair(0.5f, true)}) {
      std::vector<float>& stored = tested.memory->output;
      stored = threshold == 0.0f ? before.output() : Blurred(fresh, random);
      std::vector<float> expected = stored;
      std::vector<uint8_t> changed(static_cast<size_t>(active.count()), 2);
      std::vector<uint8_t> expected_changed = changed;
      ChangeTest test = {threshold, inverse_spread.data(), expected_changed.data(), stores_all};
      reference::StorePixels(AsImage(fresh.map()), AsImage(MapIn(expected, fresh)), active.pixels(),
                             &test);

      test.changed = changed.data();
      tested.run(active.pixels(), &test);
      const std::string where = c.name + " of " + family.name + ", threshold " +
                                std::to_string(threshold) + (stores_all ? ", storing all" : "") +
                                ", seed " + std::to_string(seed);
      if (changed != expected_changed) return where + ": other pixels changed";
      std::string wrong = Located(DifferenceOfBits(tested.output(), expected), where);
      if (!wrong.empty()) return wrong;
      if (threshold != 0.0f) continue;
      tested.run(active.pixels(), &test);
      if (std::count(changed.begin(), changed.end(), 0) != active.count()) {
        return where + ": the same again is a change";
      }
      wrong = Located(DifferenceOfBits(tested.output(), expected), where + ", once more");
      if (!wrong.empty()) return wrong;
    }
  }
  return "";
}

}  // namespace

std::string Difference(const std::vector<float>& actual, const std::vector<float>& expected) {
  return DifferenceOfBits(actual, expected);
}

std::string Difference(const PreparedCase& actual, const PreparedCase& expected) {
  return Difference(Written(actual), Written(expected));
}

std::pair<std::vector<float>, std::vector<float>> AnyOperands(unsigned seed) {
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  std::vector<float> a;
  std::vector<float> b;
  for (int i = 0; i < 20'011; ++i) {
    a.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
    b.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
    if (random() % 2 == 0) b.back() = static_cast<float>(random() % 17) / 2 - 4;
  }
  return {std::move(a), std::move(b)};
}

Families OnlyFamily(const OperatorFamily& family) {
  return [family](const CheckFamily& check) { check(family); };
}

std::string CheckReferenceBits(const std::vector<OperatorCase>& cases, const Families& families,
                               unsigned seed) {
  std::mt19937 random(seed);
  std::string wrong;
  for (const OperatorCase& c : cases) {
    const PreparedCase reference = c.Prepare(ReferenceFamily());
    reference.run(reference.rows(), nullptr);
    families([&](const OperatorFamily& family) {
      if (wrong.empty()) wrong = CheckReferenceBits(c, reference, family, seed, random);
    });
    if (!wrong.empty()) break;
  }
  return wrong;
}

std::string CheckChanges(const std::vector<OperatorCase>& cases, const Families& families,
                         unsigned seed) {
  std::mt19937 random(seed);
  std::string wrong;
  for (const OperatorCase& c : cases) {
    families([&](const OperatorFamily& family) {
      if (wrong.empty()) wrong = CheckChanges(c, family, seed, random);
    });
    if (!wrong.empty()) break;
  }
  return wrong;
}

}  // namespace cacheinf

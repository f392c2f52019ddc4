#include "tests/sparse_ops/case_checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "sparse_ops/reference/change.h"
#include "tests/sparse_ops/active_set.h"
#include "tests/sparse_ops/case_memory.h"

namespace cacheinf {
namespace {

// [0, rows) in random pieces, in random order.
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

uint32_t BitsOf(float number) {
  uint32_t bits;
  std::memcpy(&bits, &number, sizeof(bits));
  return bits;
}

bool SameBits(float a, float b) {
  return BitsOf(a) == BitsOf(b) || (std::isnan(a) && std::isnan(b));
}

// What a dense run of `dense` wrote to the active pixels of `before`, and the rest of `before`.
std::vector<float> OnlyActive(const PreparedCase& dense, const std::vector<float>& before,
                              const ActiveSet& active) {
  const TensorView& map = dense.map();
  std::vector<float> result = before;
  for (const PixelRun& run : active.runs()) {
    for (int64_t n = 0; n < map.dims[0]; ++n) {
      for (int x = run.begin; x < run.end; ++x) {
        for (int64_t c = 0; c < map.dims[1]; ++c) {
          const float* number = map.data + n * map.strides[0] + c * map.strides[1] +
                                run.row * map.strides[2] + x * map.strides[3];
          result[static_cast<size_t>(number - dense.output().data())] = *number;
        }
      }
    }
  }
  return result;
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

// The output of `fresh` with pixels that are more or less off, or not at all.
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

}  // namespace

std::string Difference(const std::vector<float>& actual, const std::vector<float>& expected) {
  if (actual.size() != expected.size()) return "sizes differ";
  size_t count = 0;
  size_t first = 0;
  for (size_t i = actual.size(); i-- > 0;) {
    if (SameBits(actual[i], expected[i])) continue;
    ++count;
    first = i;
  }
  if (count == 0) return "";
  char text[160];
  std::snprintf(text, sizeof(text), "%zu of %zu differ, the first at %zu: %.9g instead of %.9g",
                count, actual.size(), first, static_cast<double>(actual[first]),
                static_cast<double>(expected[first]));
  return text;
}

void ExpectReferenceBits(const std::vector<OperatorCase>& cases, const OperatorFamily& family,
                         unsigned seed) {
  std::mt19937 random(seed);
  const OperatorFamily reference_family = ReferenceFamily();
  for (const OperatorCase& c : cases) {
    const PreparedCase expected = c.Prepare(reference_family);
    const PreparedCase whole = c.Prepare(family);
    if (!whole.run) continue;
    expected.run(expected.rows(), nullptr);
    whole.run(expected.rows(), nullptr);
    EXPECT_EQ(Difference(whole.output(), expected.output()), "")
        << c.name << " of " << family.name << " as a whole";

    const PreparedCase cut = c.Prepare(family);
    const PreparedCase expected_cut = c.Prepare(reference_family);
    for (const Range rows : RandomCuts(expected.rows().end, random)) {
      cut.run(rows, nullptr);
      expected_cut.run(rows, nullptr);
      ASSERT_EQ(Difference(cut.output(), expected_cut.output()), "")
          << c.name << " of " << family.name << " in rows " << rows.begin << " to " << rows.end
          << ", seed " << seed;
    }
    EXPECT_EQ(Difference(cut.output(), expected.output()), "")
        << c.name << " of " << family.name << " in cuts, seed " << seed;
  }
}

void ExpectOnlyActivePixels(const std::vector<OperatorCase>& cases, const OperatorFamily& family,
                            unsigned seed) {
  std::mt19937 random(seed);
  const OperatorFamily reference_family = ReferenceFamily();
  for (const OperatorCase& c : cases) {
    const PreparedCase dense = c.Prepare(reference_family);
    if (dense.map().rank != 4 || !c.Prepare(family).run) continue;
    dense.run(dense.rows(), nullptr);
    for (const ActiveSet::Shape shape : ActiveSet::kShapes) {
      const Range rows = random() % 2 == 0 ? dense.rows() : RandomRows(dense.rows(), random);
      const ActiveSet active(shape, dense.rows().end, dense.columns(), rows, random);
      const PreparedCase sparse = c.Prepare(family);
      const std::vector<float> before = sparse.output();
      sparse.run(active.pixels(), nullptr);
      ASSERT_EQ(Difference(sparse.output(), OnlyActive(dense, before, active)), "")
          << c.name << " of " << family.name << ", " << active.count() << " active pixels in rows "
          << rows.begin << " to " << rows.end << ", seed " << seed;
    }
  }
}

void ExpectChangesAsTheReference(const std::vector<OperatorCase>& cases,
                                 const OperatorFamily& family, unsigned seed) {
  std::mt19937 random(seed);
  for (const OperatorCase& c : cases) {
    const PreparedCase before = c.Prepare(family, {/*has_one_image=*/true, false});
    const PreparedCase fresh = c.Prepare(family, {/*has_one_image=*/true, /*is_perturbed=*/true});
    if (before.map().rank != 4 || before.memory->is_in_place || !before.run) continue;
    before.run(before.rows(), nullptr);
    fresh.run(fresh.rows(), nullptr);
    std::vector<float> inverse_spread(static_cast<size_t>(before.map().dims[1]));
    for (float& number : inverse_spread) number = Uniform(0.5f, 2.0f, random);

    for (const ActiveSet::Shape shape : ActiveSet::kShapes) {
      const ActiveSet active(shape, before.rows().end, before.columns(), before.rows(), random);
      for (const float threshold : {0.0f, 0.5f}) {
        const PreparedCase tested = c.Prepare(family, {true, /*is_perturbed=*/true});
        std::vector<float>& stored = tested.memory->output;
        stored = threshold == 0.0f ? before.output() : Blurred(fresh, random);
        std::vector<float> expected = stored;
        std::vector<uint8_t> changed(static_cast<size_t>(active.count()), 2);
        std::vector<uint8_t> expected_changed = changed;
        ChangeTest test = {threshold, inverse_spread.data(), expected_changed.data()};
        reference::StorePixels(AsImage(fresh.map()), AsImage(MapIn(expected, fresh)),
                               active.pixels(), &test);

        test.changed = changed.data();
        tested.run(active.pixels(), &test);
        const std::string where = c.name + " of " + family.name + ", threshold " +
                                  std::to_string(threshold) + ", seed " + std::to_string(seed);
        ASSERT_EQ(changed, expected_changed) << where;
        ASSERT_EQ(Difference(tested.output(), expected), "") << where;
        if (threshold != 0.0f) continue;
        tested.run(active.pixels(), &test);
        ASSERT_EQ(std::count(changed.begin(), changed.end(), 0), active.count()) << where;
        ASSERT_EQ(Difference(tested.output(), expected), "") << where;
      }
    }
  }
}

}  // namespace cacheinf

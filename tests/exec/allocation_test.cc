#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "common/backend/host/cpu_backend.h"
#include "common/exec/spreads.h"
#include "tests/exec/changing_frames.h"
#include "tests/testing/inside_state.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/run_graph.h"

// Counts this program's allocations. Does not under sanitizers, whose heap must not be replaced.
namespace {
std::atomic<long> allocations{0};
}  // namespace

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsCounting = false;
#else
constexpr bool kIsCounting = true;

// operator new and aligned allocation end up here, whichever library calls them.
extern "C" {
void* __libc_malloc(size_t size);                      // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(size_t count, size_t size);        // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void* memory, size_t size);       // NOLINT(bugprone-reserved-identifier)
void* __libc_memalign(size_t alignment, size_t size);  // NOLINT(bugprone-reserved-identifier)

void* malloc(size_t size) noexcept {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(size_t nmemb, size_t size) noexcept {
  ++allocations;
  return __libc_calloc(nmemb, size);
}
void* realloc(void* ptr, size_t size) noexcept {
  ++allocations;
  return __libc_realloc(ptr, size);
}
void* aligned_alloc(size_t alignment, size_t size) noexcept {
  ++allocations;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memptr, size_t alignment, size_t size) noexcept {
  ++allocations;
  *memptr = __libc_memalign(alignment, size);
  return *memptr == nullptr ? 12 : 0;  // ENOMEM
}
}
#endif

namespace cacheinf {
namespace {

// Runs on the reference, or on one to three threads.
std::unique_ptr<ModelState> MakeOnBackendOf(uint32_t seed, const Graph& graph,
                                            const StateOptions& options = {}) {
  if (seed % 2 == 0) return MakeReferenceState(graph, options);
  const CpuBackendOptions cpu = {static_cast<int>(1 + seed % 3)};
  return MakeState(graph, std::make_unique<CpuBackend>(cpu), options);
}

TEST(AllocationTest, TheCounterCounts) {
  if (!kIsCounting) GTEST_SKIP() << "the sanitizer's heap cannot be counted";
  const long before = allocations;
  void* volatile taken = ::operator new(100);
  ::operator delete(taken);
  taken = std::malloc(100);
  std::free(taken);
  taken = std::aligned_alloc(64, 128);
  std::free(taken);
  EXPECT_EQ(allocations - before, 3);
}

TEST(AllocationTest, AFrameTakesNothingFromTheHeap) {
  if (!kIsCounting) GTEST_SKIP() << "the sanitizer's heap cannot be counted";
  for (uint32_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Graph graph = RandomGraph(seed);
    const std::vector<Tensor> inputs = RandomInputs(graph, seed);
    const auto state = MakeOnBackendOf(seed, graph);
    const RowsOfOperators rows = AllRows(graph);
    std::vector<Tensor> outputs;
    std::vector<TensorView> views;
    for (ValueId id : graph.outputs) {
      std::mt19937 random(seed);
      outputs.push_back(RandomTensor(graph.value(id).shape, random));
      const ConstTensorView view = outputs.back().view();
      views.push_back({const_cast<float*>(view.data), view.rank, view.dims, view.strides});
    }
    const long before = allocations;
    for (int frame = 0; frame < 3; ++frame) {
      for (size_t i = 0; i < inputs.size(); ++i) state->SetInput(i, inputs[i].view());
      state->Run();
      state->Run(rows);
      for (size_t i = 0; i < views.size(); ++i) state->GetOutput(i, views[i]);
    }
    EXPECT_EQ(allocations - before, 0);
  }
}

TEST(AllocationTest, AFrameThatChangedOrMovedTakesNothingFromTheHeap) {
  if (!kIsCounting) GTEST_SKIP() << "the sanitizer's heap cannot be counted";
  for (uint32_t seed = 0; seed < 180; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Graph graph = RandomGraph(seed);
    std::mt19937 random(seed);
    const bool moves = seed >= 120;
    const StateOptions options = {RandomValues(graph, random),
                                  seed % 3 == 0 ? Keep::kAll : Keep::kChosen, moves};
    const auto state = MakeOnBackendOf(seed, graph, options);
    std::vector<Tensor> inputs = RandomInputs(graph, seed);
    SetInputs(*state, inputs);
    state->Run();
    ChangePolicy policy = {.threshold = 0.1f};
    policy.spreads = std::make_shared<const InverseSpreads>(MeasureSpreads(*state));
    Mask refresh(4, 4);
    SetRectangle({0, 2}, {0, 4}, refresh);
    Homography motion;
    motion.m[0][2] = 1.25;
    motion.m[1][0] = 0.05;
    for (int frame = 0; frame < 7; ++frame) {
      policy.kind = static_cast<ChangePolicy::Kind>(frame % 3);
      policy.stem_depth = frame % 2;
      const std::vector<Tensor> next = NextFrame(inputs, random);
      const ChangedMasks changed(inputs, next);
      inputs = next;
      const long before = allocations;
      if (moves) InsideState::Move(*state, motion);
      SetInputs(*state, inputs);
      InsideState::RunChanged(*state, changed.views(), policy, std::as_const(refresh));
      if (moves) InsideState::Settle(*state);
      // In the first frame debug builds make room for their checks.
      if (frame > 0) {
        EXPECT_EQ(allocations - before, 0);
      }
    }
  }
}

}  // namespace
}  // namespace cacheinf

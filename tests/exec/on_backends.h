#ifndef CACHEINF_TESTS_EXEC_ON_BACKENDS_H_
#define CACHEINF_TESTS_EXEC_ON_BACKENDS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "common/backend/device/cuda_backend.h"
#include "common/backend/host/cpu_backend.h"
#include "common/backend/host/reference_backend.h"
#include "common/exec/model_state.h"
#include "sparse_ops/cpu/targets.h"
#include "tests/testing/by_winograd.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/run_graph.h"
// Must follow the choice of targets.
#include "hwy/highway.h"

// Tests that hold on every backend, over random graphs.

namespace cacheinf {

// The reference, or our own kernels on some number of threads.
struct BackendChoice {
  const char* name;
  int cpu_threads;                  // 0: the reference
  Scheme scheme = Scheme::kDirect;  // of every convolution that it applies to
  // Uses kernels without vectors, because address sanitizers do not see masked vector accesses.
  bool is_scalar = false;
  bool is_emulated = false;  // kernels for GPUs, on the stand-in
};
inline void PrintTo(const BackendChoice& choice, std::ostream* stream) { *stream << choice.name; }

inline constexpr BackendChoice kReference = {"reference", 0};
inline constexpr BackendChoice kCudaEmulated = {"cuda_emulated", 0, Scheme::kDirect, false, true};
inline constexpr BackendChoice kWinogradCudaEmulated = {"winograd_cuda_emulated", 0,
                                                        Scheme::kWinograd, false, true};
constexpr uint32_t kMostGraphsEmulated = 6;
constexpr uint32_t kMostGraphsShuffled = 12;

inline auto EveryBackend() {
  return testing::Values(kReference, BackendChoice{"cpu", 1}, BackendChoice{"cpu_3_threads", 3},
                         BackendChoice{"cpu_scalar", 1, Scheme::kDirect, true},
                         BackendChoice{"winograd_scalar", 1, Scheme::kWinograd, true},
                         BackendChoice{"winograd", 1, Scheme::kWinograd},
                         BackendChoice{"winograd_3_threads", 3, Scheme::kWinograd}, kCudaEmulated,
                         kWinogradCudaEmulated);
}

// For tests of the executor rather than of kernels: our own kernels, some of which compute whole
// tiles, and a device whose masks the host cannot read.
inline auto FewBackends() {
  return testing::Values(kReference, BackendChoice{"winograd_3_threads", 3, Scheme::kWinograd},
                         kCudaEmulated);
}

inline std::string BackendName(const testing::TestParamInfo<BackendChoice>& info) {
  return info.param.name;
}

// Random graphs; two in three have local operators only.
inline RandomGraphOptions MostlyLocal(uint32_t seed) {
  RandomGraphOptions options;
  options.operator_count = 4 + static_cast<int>(seed % 14);
  options.only_local = seed % 3 != 0;
  return options;
}

class OnBackends : public testing::TestWithParam<BackendChoice> {
 protected:
  void SetUp() override {
    if (GetParam().is_scalar) hwy::SetSupportedTargetsForTest(HWY_SCALAR);
  }
  void TearDown() override {
    if (GetParam().is_scalar) hwy::SetSupportedTargetsForTest(0);
  }

  // Calls `check` with seed_, graph_ and inputs_ set, until one fails. `options_of` says what a
  // seed's graph is made of.
  template <typename OptionsOf, typename Check>
  void ForEachGraph(uint32_t graphs, OptionsOf options_of, Check check) {
    const bool winograd = GetParam().scheme == Scheme::kWinograd;
    if (GetParam().is_emulated) {
      graphs = std::min(graphs, Shuffled() == 0 ? kMostGraphsEmulated : kMostGraphsShuffled);
    }
    graphs_ = static_cast<int>(graphs);
    for (seed_ = 0; seed_ < graphs && !HasFailure(); ++seed_) {
      SCOPED_TRACE(testing::Message() << "seed " << seed_);
      RandomGraphOptions options = options_of(seed_);
      options.mostly_plain_threes = winograd;
      graph_ = RandomGraph(seed_, options);
      inputs_ = RandomInputs(graph_, seed_);
      if (winograd) SetSchemes(graph_, WinogradWhereItApplies(graph_));
      check();
    }
  }

  // Shuffled tests (--gtest_shuffle, with --gtest_repeat) get new seeds each time; 0: not shuffled.
  static uint32_t Shuffled() {
    return static_cast<uint32_t>(testing::UnitTest::GetInstance()->random_seed());
  }

  std::unique_ptr<Backend> MakeBackend() const {
    const int threads = GetParam().cpu_threads;
    if (GetParam().is_emulated) {
      return MakeEmulatedCudaBackend(seed_ + 1 + 100 * Shuffled());
    }
    if (threads == 0) return std::make_unique<ReferenceBackend>();
    return std::make_unique<CpuBackend>(CpuBackendOptions{threads});
  }

  std::unique_ptr<ModelState> MakeState(const StateOptions& options = {}) const {
    return cacheinf::MakeState(graph_, MakeBackend(), options);
  }

  // All values, evaluated operator by operator: by the reference, or for a scheme that it lacks by
  // one thread of the CPU backend. So any number of threads must give the same bits.
  std::vector<std::vector<float>> Expected() const {
    if (GetParam().scheme != Scheme::kWinograd) return EvaluateDirectly(graph_, inputs_);
    CpuBackend backend;
    return EvaluateDirectly(graph_, inputs_, backend);
  }

  int graphs_ = 0;  // in this test
  uint32_t seed_ = 0;
  Graph graph_;
  std::vector<Tensor> inputs_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_EXEC_ON_BACKENDS_H_

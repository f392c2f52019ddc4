#include <gtest/gtest.h>

#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "common/exec/cpu_backend.h"
#include "common/exec/reference_backend.h"
#include "common/exec/shadow.h"
#include "common/model/graph/geometry.h"
#include "tests/exec/by_winograd.h"
#include "tests/sparse_ops/active_set.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/run_graph.h"

// What backends do with active pixels and change tests, for every local operator of the model.

namespace cacheinf {
namespace {

constexpr uint32_t kSeed = 20260501;

// A local operator's output in its own memory, and the backend that fills it.
class OperatorOnBackend {
 public:
  OperatorOnBackend(std::unique_ptr<HostBackend> backend, const ModelState& operands,
                    const Operator& op)
      : backend_(std::move(backend)),
        handle_(backend_->Prepare(operands.graph(), op)),
        scratch_(backend_->ScratchFloats(handle_)),
        memory_(ShadowFloats(operands.graph(), op)),
        output_(ShadowOf(operands.view(op.outputs[0]), memory_.data())) {
    const Graph& graph = operands.graph();
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      inputs_.push_back(IsParameter(op, i) ? graph.value(op.inputs[i]).constant.view()
                                           : ConstTensorView(operands.view(op.inputs[i])));
    }
  }

  void Run(const ActivePixels& pixels, const ChangeTest* test) {
    backend_->RunKernel(handle_, inputs_, {&output_, 1}, pixels, test, scratch_.data());
  }

  std::vector<float>& memory() { return memory_; }
  const TensorView& output() const { return output_; }
  int height() const { return static_cast<int>(output_.dims[2]); }
  int width() const { return static_cast<int>(output_.dims[3]); }

 private:
  std::unique_ptr<HostBackend> backend_;
  int handle_;
  std::vector<float> scratch_;
  std::vector<float> memory_;
  TensorView output_;
  std::vector<ConstTensorView> inputs_;
};

using MakeBackend = std::unique_ptr<HostBackend> (*)();

struct PixelsBackend {
  const char* name;
  MakeBackend make;
  Scheme scheme = Scheme::kDirect;  // of every convolution that it applies to
};
void PrintTo(const PixelsBackend& choice, std::ostream* stream) { *stream << choice.name; }

class ActivePixelsTest : public testing::TestWithParam<PixelsBackend> {
 protected:
  void SetUp() override { std::cout << "seed " << kSeed << "\n"; }

  // Calls check(fresh, tested) with the same operator twice. The first output holds the operator's
  // values, the second holds others, some of them equal.
  template <typename Check>
  void ForEachLocalOperator(const Check& check) {
    int count = 0;
    for (Graph& graph : OneOperatorGraphs(kSeed, 150)) {
      if (GetParam().scheme == Scheme::kWinograd) SetSchemes(graph, WinogradWhereItApplies(graph));
      const Operator& op = graph.operators[0];
      if (!IsLocal(graph, op)) continue;
      SCOPED_TRACE(KindName(op));
      StateOptions options;
      options.keep = Keep::kAllApart;
      const auto operands = MakeReferenceState(graph, options);
      SetInputs(*operands, RandomInputs(graph, kSeed));
      OperatorOnBackend fresh(GetParam().make(), *operands, op);
      OperatorOnBackend tested(GetParam().make(), *operands, op);
      fresh.Run(Range{0, fresh.height()}, nullptr);
      tested.memory() = fresh.memory();
      for (float& number : tested.memory()) {
        if (random_() % 8 == 0) number += 1.0f;
      }
      check(fresh, tested);
      if (HasFatalFailure()) return;
      ++count;
    }
    EXPECT_GT(count, 50);
  }

  ActiveSet RandomSet(const OperatorOnBackend& op) {
    return {ActiveSet::kShapes[random_() % std::size(ActiveSet::kShapes)],
            op.height(),
            op.width(),
            {0, op.height()},
            random_};
  }

  std::mt19937 random_{kSeed};
};

TEST_P(ActivePixelsTest, AreComputedAndNothingElseIsWritten) {
  ForEachLocalOperator([&](OperatorOnBackend& fresh, OperatorOnBackend& tested) {
    const ActiveSet active = RandomSet(tested);
    std::vector<float> expected = tested.memory();
    reference::StorePixels(AsImage(fresh.output()),
                           AsImage(ShadowOf(tested.output(), expected.data())), active.pixels(),
                           nullptr);
    tested.Run(active.pixels(), nullptr);
    ASSERT_EQ(FirstDifference(expected, tested.memory()), "");
  });
}

TEST_P(ActivePixelsTest, AreWrittenIfChangedWithAChangeTest) {
  ForEachLocalOperator([&](OperatorOnBackend& fresh, OperatorOnBackend& tested) {
    if (tested.output().dims[0] != 1) return;
    const ActiveSet active = RandomSet(tested);
    const std::vector<float> inverse_spread(static_cast<size_t>(tested.output().dims[1]), 1.0f);
    for (const float threshold : {0.3f, 0.0f}) {
      std::vector<uint8_t> expected_changed(static_cast<size_t>(active.count()), 2);
      std::vector<uint8_t> changed = expected_changed;
      const ChangeTest expected_test = {threshold, inverse_spread.data(), expected_changed.data()};
      const ChangeTest test = {threshold, inverse_spread.data(), changed.data()};
      std::vector<float> expected = tested.memory();
      reference::StorePixels(AsImage(fresh.output()),
                             AsImage(ShadowOf(tested.output(), expected.data())), active.pixels(),
                             &expected_test);
      tested.Run(active.pixels(), &test);
      ASSERT_EQ(FirstDifference(expected, tested.memory()), "");
      ASSERT_EQ(changed, expected_changed) << "threshold " << threshold;
    }
  });
}

template <int threads>
std::unique_ptr<HostBackend> MakeCpuBackend() {
  return std::make_unique<CpuBackend>(CpuBackendOptions{threads, /*libtorch_scheme=*/false});
}

std::unique_ptr<HostBackend> MakeLibTorchBackend() {
  return std::make_unique<CpuBackend>(CpuBackendOptions{1, /*libtorch_scheme=*/true});
}

std::unique_ptr<HostBackend> MakeReferenceBackend() { return std::make_unique<ReferenceBackend>(); }

INSTANTIATE_TEST_SUITE_P(
    Backends, ActivePixelsTest,
    testing::Values(PixelsBackend{"reference", MakeReferenceBackend},
                    PixelsBackend{"cpu_1_thread", MakeCpuBackend<1>},
                    PixelsBackend{"cpu_3_threads", MakeCpuBackend<3>},
                    PixelsBackend{"winograd_1_thread", MakeCpuBackend<1>, Scheme::kWinograd},
                    PixelsBackend{"winograd_3_threads", MakeCpuBackend<3>, Scheme::kWinograd},
                    PixelsBackend{"libtorch", MakeLibTorchBackend}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace cacheinf

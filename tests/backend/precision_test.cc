#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "common/backend/device/cuda_backend.h"
#include "common/backend/host/cpu_backend.h"
#include "common/config/configured_model.h"
#include "common/exec/frame_decision.h"
#include "common/exec/model_state.h"
#include "sparse_ops/cuda/emulated/device.h"
#include "tests/model/model_builder.h"
#include "tests/testing/clip.h"
#include "tests/testing/networks.h"
#include "tests/testing/refusal.h"
#include "tests/testing/run_graph.h"

// Whole networks with convolutions of lower precision, on the stand-in for a GPU. A dense run is
// near the reference, and any other way to the same frame gives its bits.

namespace cacheinf {
namespace {

// Values of ConvOptions::small_tiles_up_to.
enum Tiles : int { kByCount = -1, kLarge = 0, kSmall = std::numeric_limits<int>::max() };

struct PrecisionChoice {
  const char* name;
  cuda::Precision precision;
  double least_error;  // of a dense run, over the largest output
  double most_error;
  int compute_major = 8;
};
constexpr PrecisionChoice kPrecisions[] = {
    {"tf32", cuda::Precision::kTf32, 1e-6, 2e-3},
    {"fp16", cuda::Precision::kHalf, 1e-6, 2e-3},
    {"bf16", cuda::Precision::kBfloat16, 1e-5, 1.6e-2},
};

// Wide and narrow convolutions, whose tiles differ, with a residual, a stride, dilation, small
// groups, which stay exact, and a transposed one.
Graph BuildAllForms(int height, int width) {
  ModelBuilder net;
  const auto relu = [&](ValueId x) { return net.Apply(Function::Kind::kRelu, x); };
  const ValueId picture = net.Input({1, 3, height, width}, "picture");
  const ValueId half = relu(net.Conv(picture, 8, 3, 2, 1, 1, true));
  const ValueId deep = relu(net.Conv(half, 40, 3, 2, 1));
  const ValueId depthwise = net.Conv(deep, 40, 3, 1, 1, 40);
  const ValueId sum = relu(net.Add(net.Conv(depthwise, 40, 1), deep));
  const ValueId wide = relu(net.Conv(sum, 72, 1));
  const ValueId up = net.TransposedConv(wide, 8, 4, 2, 1);
  return net.Finish({net.Add(up, half), wide});
}

class PrecisionTest : public testing::TestWithParam<PrecisionChoice> {
 protected:
  std::shared_ptr<const CompiledModel> Model(Tiles tiles, unsigned seed) const {
    cuda::EmulatedDevice::Options options;
    options.seed = seed;
    options.compute_major = GetParam().compute_major;
    return Model(MakeEmulatedCudaBackend(std::make_shared<cuda::EmulatedDevice>(options),
                                         {GetParam().precision, tiles}));
  }
  std::shared_ptr<const CompiledModel> Model(std::unique_ptr<Backend> backend) const {
    return std::make_shared<const CompiledModel>(graph_, std::move(backend));
  }

  static std::vector<std::vector<float>> DenseOutputs(
      const std::shared_ptr<const CompiledModel>& model, const Clip& clip) {
    ModelState state(model);
    state.SetPicture(clip.picture());
    state.Run();
    return Outputs(state);
  }

  static void ExpectOutputs(const ModelState& state,
                            const std::vector<std::vector<float>>& expected) {
    EXPECT_EQ(FirstDifference(expected, Outputs(state)), "");
  }

  const std::shared_ptr<const Graph> graph_ =
      MakeNetwork({"all forms", BuildAllForms}, kHeight, kWidth);
  Clip clip_{kHeight, kWidth, 0, 11};
};

std::vector<PrecisionChoice> PrecisionsBy(int compute_major) {
  std::vector<PrecisionChoice> choices(std::begin(kPrecisions), std::end(kPrecisions));
  for (PrecisionChoice& choice : choices) choice.compute_major = compute_major;
  return choices;
}
std::string PrecisionName(const testing::TestParamInfo<PrecisionChoice>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(ByWarps, PrecisionTest, testing::ValuesIn(PrecisionsBy(8)), PrecisionName);
INSTANTIATE_TEST_SUITE_P(ByWarpgroups, PrecisionTest, testing::ValuesIn(PrecisionsBy(9)),
                         PrecisionName);

TEST_P(PrecisionTest, ADenseRunIsNearTheReferenceAndRounded) {
  const auto expected = DenseOutputs(Model(std::make_unique<CpuBackend>()), clip_);
  const auto actual = DenseOutputs(Model(Tiles::kByCount, 1), clip_);
  for (size_t i = 0; i < expected.size(); ++i) {
    double largest = 0;
    double error = 0;
    for (size_t j = 0; j < expected[i].size(); ++j) {
      largest = std::max(largest, std::fabs(double{expected[i][j]}));
      error = std::max(error, std::fabs(double{actual[i][j]} - double{expected[i][j]}));
    }
    EXPECT_LE(error / largest, GetParam().most_error) << "output " << i;
    EXPECT_GE(error / largest, GetParam().least_error) << "output " << i;
  }
}

TEST_P(PrecisionTest, ChangedFramesHaveTheBitsOfADenseRunWithOtherTiles) {
  const auto large = Model(Tiles::kLarge, 2);
  ModelState small(Model(Tiles::kSmall, 3), {{}, Keep::kAll});
  ModelState by_count(Model(Tiles::kByCount, 4), {{}, Keep::kAll});
  for (int i = 0; i < 4; ++i) {
    SCOPED_TRACE(testing::Message() << "frame " << i);
    const FrameDecision& decision = i == 0 ? clip_.Whole() : clip_.ChangeSquare(6);
    const auto expected = DenseOutputs(large, clip_);
    for (ModelState* state : {&small, &by_count}) {
      const ChangedWork work = state->Apply(decision, clip_.picture(), {});
      if (i > 0) {
        EXPECT_LT(work.share(), 0.9) << "it was computed whole";
      }
      ExpectOutputs(*state, expected);
    }
  }
}

TEST(PrecisionNamesTest, ABackendHasTheNameThatTheConfigurationHasForIt) {
  using Kind = RobotConfig::Backend;
  for (const Kind kind :
       {Kind::kCpu, Kind::kReference, Kind::kCudaEmulated, Kind::kCudaEmulatedTf32,
        Kind::kCudaEmulatedFp16, Kind::kCudaEmulatedBf16}) {
    EXPECT_EQ(MakeBackend(kind, CpuBackendOptions())->Name(), NameOf(kind));
  }
}

TEST(PrecisionNamesTest, OnlyExactBackendsOfOurOwnHaveOneArithmetic) {
  const std::string exact = CpuBackend().Arithmetic();
  EXPECT_EQ(MakeEmulatedCudaBackend()->Arithmetic(), exact);
  std::vector<std::string> all = {exact};
  for (const PrecisionChoice& choice : kPrecisions) {
    all.push_back(MakeEmulatedCudaBackend(1, {choice.precision})->Arithmetic());
    cuda::EmulatedDevice::Options newer;
    newer.compute_major = 9;
    all.push_back(
        MakeEmulatedCudaBackend(std::make_shared<cuda::EmulatedDevice>(newer), {choice.precision})
            ->Arithmetic());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::unique(all.begin(), all.end()), all.end()) << testing::PrintToString(all);
}

TEST(PrecisionNamesTest, ADeviceWithoutThePrecisionRefusesItInOneSentence) {
  cuda::EmulatedDevice::Options older;
  older.compute_major = 7;
  const auto device = std::make_shared<cuda::EmulatedDevice>(older);
  EXPECT_NO_THROW(MakeEmulatedCudaBackend(device));
  for (const PrecisionChoice& choice : kPrecisions) {
    EXPECT_EQ(RefusalOf([&] { (void)MakeEmulatedCudaBackend(device, {choice.precision}); }),
              std::string("backend \"cuda-emulated-") + choice.name +
                  "\" cannot be used: it needs compute capability 8.0, and emulated has compute "
                  "capability 7.0");
  }
}

}  // namespace
}  // namespace cacheinf

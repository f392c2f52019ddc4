// Random small networks as TorchScript: our importer, passes and kernels against LibTorch.

#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <random>
#include <sstream>

#include "tests/testing/torch_module.h"
#include "tests/torch/script_file.h"

namespace cacheinf::testing {
namespace {

constexpr double kLargestError = 1e-4;  // of the output's range

// Writes the source of a network, statement by statement, while it keeps track of the shapes.
class RandomNetwork {
 public:
  explicit RandomNetwork(uint64_t seed) : random_(seed), seed_(seed) {
    maps_.push_back({"x", Pick(1, 8), Pick(6, 20), Pick(6, 20)});
    input_ = {1, maps_[0].channels, maps_[0].height, maps_[0].width};
    const int operators = Pick(3, 14);
    for (int i = 0; i < operators; ++i) AddOperator();
    source_ << "  return " << maps_.back().name << "\n";
  }

  std::string source() const { return "def forward(self, x):\n" + source_.str(); }
  const Shape& input() const { return input_; }
  const std::vector<std::pair<std::string, at::Tensor>>& weights() const { return weights_; }

 private:
  struct Map {
    std::string name;
    int channels, height, width;
  };

  int Pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool Coin() { return Pick(0, 1) == 1; }

  std::string AddWeights(const std::vector<int64_t>& shape, double scale, double shift = 0.0) {
    const std::string name = "w" + std::to_string(weights_.size());
    const at::Tensor numbers = RandomWeights(shape, seed_ * 1000 + weights_.size());
    weights_.emplace_back(name, numbers * scale + shift);
    return "self." + name;
  }

  // A map that later operators may read; recent ones more often.
  const Map& AnyMap() {
    const auto count = static_cast<int>(maps_.size());
    return maps_[std::max(Pick(0, count - 1), Pick(0, count - 1))];
  }

  void Define(const std::string& expression, int channels, int height, int width) {
    Map map{"v" + std::to_string(maps_.size()), channels, height, width};
    source_ << "  " << map.name << " = " << expression << "\n";
    maps_.push_back(map);
  }

  void AddOperator() {
    using Method = void (RandomNetwork::*)(const Map&);
    static constexpr Method kMethods[] = {
        &RandomNetwork::AddConv,     &RandomNetwork::AddConv,       &RandomNetwork::AddConv,
        &RandomNetwork::AddNorm,     &RandomNetwork::AddFunction,   &RandomNetwork::AddFunction,
        &RandomNetwork::AddSum,      &RandomNetwork::AddConcat,     &RandomNetwork::AddPool,
        &RandomNetwork::AddResize,   &RandomNetwork::AddTransposed, &RandomNetwork::AddGate,
        &RandomNetwork::AddShuffle,  &RandomNetwork::AddSlice,      &RandomNetwork::AddPad,
        &RandomNetwork::AddPointwise};
    const Map map = AnyMap();
    (this->*kMethods[Pick(0, static_cast<int>(std::size(kMethods)) - 1)])(map);
  }

  void AddConv(const Map& in) {
    const int groups = Coin() ? 1 : (in.channels % 2 == 0 && Coin() ? 2 : in.channels);
    const int out = groups * Pick(1, groups > 2 ? 2 : 6);
    const int kernel_h = 2 * Pick(0, 2) + 1;
    const int kernel_w = Pick(1, 4);
    const int stride = Pick(1, 2);
    const int dilation = Pick(1, 2);
    const int pad = Pick(0, 3);
    const int extent_h = (kernel_h - 1) * dilation + 1;
    const int extent_w = (kernel_w - 1) * dilation + 1;
    if (in.height + 2 * pad < extent_h || in.width + 2 * pad < extent_w) return;
    const int fan_in = in.channels / groups * kernel_h * kernel_w;
    std::ostringstream call;
    call << "torch.conv2d(" << in.name << ", "
         << AddWeights({out, in.channels / groups, kernel_h, kernel_w}, 1.0 / std::sqrt(fan_in))
         << ", " << (Coin() ? AddWeights({out}, 0.3) : "None") << ", [" << stride << "], [" << pad
         << "], [" << dilation << "], " << groups << ")";
    Define(call.str(), out, (in.height + 2 * pad - extent_h) / stride + 1,
           (in.width + 2 * pad - extent_w) / stride + 1);
    if (Coin()) AddNorm(Map(maps_.back()));
    if (Coin()) AddFunction(Map(maps_.back()));
  }

  void AddTransposed(const Map& in) {
    if (in.height > 24 || in.width > 24) return;
    const int out = Pick(1, 5);
    const int kernel = Pick(2, 4);
    const int stride = Pick(1, 2);
    const int pad = Pick(0, 1);
    std::ostringstream call;
    call << "torch.conv_transpose2d(" << in.name << ", "
         << AddWeights({in.channels, out, kernel, kernel}, 1.0 / std::sqrt(in.channels * 4.0))
         << ", " << (Coin() ? AddWeights({out}, 0.3) : "None") << ", [" << stride << "], [" << pad
         << "], [0], 1, [1])";
    Define(call.str(), out, (in.height - 1) * stride - 2 * pad + kernel,
           (in.width - 1) * stride - 2 * pad + kernel);
  }

  void AddNorm(const Map& in) {
    const std::string scale = AddWeights({in.channels}, 0.2, 1.0);
    const std::string shift = AddWeights({in.channels}, 0.2);
    std::ostringstream call;
    switch (Pick(0, 3)) {
      case 0:
        call << "torch.group_norm(" << in.name << ", " << (in.channels % 2 == 0 ? 2 : 1) << ", "
             << scale << ", " << shift << ", 1e-3)";
        break;
      case 1:
        call << "torch.layer_norm(" << in.name << ".permute([0, 2, 3, 1]), [" << in.channels
             << "], " << scale << ", " << shift << ", 1e-3).permute([0, 3, 1, 2])";
        break;
      default:
        call << "torch.batch_norm(" << in.name << ", " << scale << ", " << shift << ", "
             << AddWeights({in.channels}, 0.2) << ", " << AddWeights({in.channels}, 0.1, 1.0)
             << ", False, 0.1, 1e-3, False)";
    }
    Define(call.str(), in.channels, in.height, in.width);
  }

  void AddFunction(const Map& in) {
    static constexpr const char* kFunctions[] = {
        "torch.relu(%)",
        "torch.silu(%)",
        "% * torch.sigmoid(%)",
        "torch.gelu(%)",
        "0.5 * % * (1.0 + torch.erf(% / 1.4142135623730951))",
        "torch.hardswish(%)",
        "% * torch.clamp(% + 3.0, 0.0, 6.0) / 6.0",
        "torch.leaky_relu(%, 0.1)",
        "torch.sigmoid(%)",
        "torch.tanh(%)",
        "torch.mish(%)",
        "torch.relu6(%)",
        "torch.sqrt(torch.abs(%) + 0.5)",
        "torch.softmax(%, 1)",
    };
    std::string expression = kFunctions[Pick(0, static_cast<int>(std::size(kFunctions)) - 1)];
    for (size_t at = expression.find('%'); at != std::string::npos; at = expression.find('%')) {
      expression.replace(at, 1, in.name);
    }
    Define(expression, in.channels, in.height, in.width);
  }

  void AddSum(const Map& in) {
    for (const Map& other : maps_) {
      const bool fits = other.name != in.name && other.channels == in.channels &&
                        other.height == in.height && other.width == in.width;
      if (!fits) continue;
      Define(in.name + (Coin() ? " + " : " * ") + other.name, in.channels, in.height, in.width);
      return;
    }
    Define(in.name + " * 0.5 + " + AddWeights({1, in.channels, 1, 1}, 1.0), in.channels, in.height,
           in.width);
  }

  void AddConcat(const Map& in) {
    for (const Map& other : maps_) {
      if (other.height != in.height || other.width != in.width) continue;
      if (other.channels + in.channels > 24) continue;
      Define("torch.cat([" + other.name + ", " + in.name + "], 1)", other.channels + in.channels,
             in.height, in.width);
      return;
    }
  }

  void AddPool(const Map& in) {
    const int kernel = Pick(2, 3);
    const int stride = Pick(1, 2);
    const int pad = Pick(0, 1);
    const bool ceil_mode = Coin();
    if (in.height < kernel || in.width < kernel) return;
    const auto out = [&](int size) {
      const int room = size + 2 * pad - kernel;
      int count = room / stride + 1;
      if (ceil_mode && room % stride != 0 && count * stride < size + pad) ++count;
      return count;
    };
    std::ostringstream call;
    const char* ceil = ceil_mode ? "True" : "False";
    if (Coin()) {
      call << "torch.max_pool2d(" << in.name << ", [" << kernel << "], [" << stride << "], [" << pad
           << "], [1], " << ceil << ")";
    } else {
      call << "torch.avg_pool2d(" << in.name << ", [" << kernel << "], [" << stride << "], [" << pad
           << "], " << ceil << ", " << (Coin() ? "True" : "False") << ")";
    }
    Define(call.str(), in.channels, out(in.height), out(in.width));
  }

  void AddResize(const Map& in) {
    const int height = Pick(3, 28);
    const int width = Pick(3, 28);
    static constexpr std::pair<const char*, const char*> kForms[] = {
        {"torch.upsample_nearest2d(", ")"},
        {"torch.upsample_bilinear2d(", ", False)"},
        {"torch.upsample_bilinear2d(", ", True)"}};
    const auto& [begin, end] = kForms[Pick(0, 2)];
    std::ostringstream call;
    call << begin << in.name << ", [" << height << ", " << width << "]" << end;
    Define(call.str(), in.channels, height, width);
  }

  void AddGate(const Map& in) {
    const std::string weights =
        AddWeights({in.channels, in.channels, 1, 1}, 1.0 / std::sqrt(in.channels));
    Define(in.name + " * torch.sigmoid(torch.conv2d(torch.mean(" + in.name + ", [2, 3], True), " +
               weights + ", None, [1], [0], [1], 1))",
           in.channels, in.height, in.width);
  }

  void AddShuffle(const Map& in) {
    if (in.channels % 4 == 0 && in.height <= 20 && in.width <= 20) {
      Define("torch.pixel_shuffle(" + in.name + ", 2)", in.channels / 4, in.height * 2,
             in.width * 2);
    } else if (in.height % 2 == 0 && in.width % 2 == 0 && in.channels <= 6) {
      Define("torch.pixel_unshuffle(" + in.name + ", 2)", in.channels * 4, in.height / 2,
             in.width / 2);
    }
  }

  void AddSlice(const Map& in) {
    if (in.height < 4 || in.width < 4) return;
    Define(in.name + "[:, :, 1:-1, ::2]", in.channels, in.height - 2, (in.width + 1) / 2);
  }

  void AddPad(const Map& in) {
    static constexpr const char* kModes[] = {"constant", "reflect", "replicate"};
    const std::string mode = kModes[Pick(0, 2)];
    if (in.height < 3 || in.width < 3) return;
    Define("torch.pad(" + in.name + ", [1, 2, 0, 1], \"" + mode + "\")", in.channels, in.height + 1,
           in.width + 3);
  }

  void AddPointwise(const Map& in) {
    const int out = Pick(1, 8);
    Define("torch.linear(" + in.name + ".permute([0, 2, 3, 1]), " +
               AddWeights({out, in.channels}, 1.0 / std::sqrt(in.channels)) + ", " +
               AddWeights({out}, 0.3) + ").permute([0, 3, 1, 2])",
           out, in.height, in.width);
  }

  std::mt19937_64 random_;
  uint64_t seed_;
  std::vector<Map> maps_;
  Shape input_;
  std::ostringstream source_;
  std::vector<std::pair<std::string, at::Tensor>> weights_;
};

TEST(TorchScriptRandom, NetworksAgreeWithLibTorch) {
  const char* count_text = std::getenv("CACHEINF_RANDOM_NETWORKS");
  const int count = count_text ? std::atoi(count_text) : 100;
  double worst = 0.0;
  for (int seed = 1; seed <= count; ++seed) {
    const RandomNetwork network(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", input " + ToString(network.input()) + "\n" +
                 network.source());
    const ScriptFile file(network.source(), network.weights());
    const std::vector<Tensor> inputs = {RandomTensor(network.input(), seed)};
    const std::vector<Tensor> expected = TorchModule(file.path()).Run(inputs);
    const OwnRun own = RunOwn(file.path(), inputs);
    ASSERT_EQ(own.outputs.size(), expected.size());
    const double error = RelativeError(expected[0], own.outputs[0]);
    ASSERT_LE(error, kLargestError);
    worst = std::max(worst, error);
  }
  std::printf("%d random networks: largest relative error %.2g\n", count, worst);
}

}  // namespace
}  // namespace cacheinf::testing

// Times cuDNN's convolutions, through LibTorch, in the precision of ours. Reads what
// `cacheinf-gpu-check convs` prints for some precisions and networks, one after another; writes a
// table of convolutions and one of whole frames. cuDNN's convolutions have a bias, but no
// activation, and channels-last maps.

#include <ATen/cuda/CUDAGraph.h>
#include <ATen/ops/_convolution.h>
#include <ATen/ops/rand.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/cuda.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Conv {
  std::string name;
  std::string input;  // 1x3x384x640
  int64_t outputs = 0;
  std::vector<int64_t> kernel = {0, 0};  // rows, columns
  std::vector<int64_t> stride = {0, 0};
  std::vector<int64_t> padding = {0, 0};
  std::vector<int64_t> dilation = {0, 0};
  int64_t groups = 1;
  double own_ms = 0.0;

  std::vector<int64_t> input_dims() const {
    std::vector<int64_t> dims;
    std::istringstream text(input);
    for (std::string dim; std::getline(text, dim, 'x');) dims.push_back(std::stoll(dim));
    return dims;
  }
};

// A network in one precision.
struct Network {
  std::string precision;  // exact, tf32, fp16
  std::string name;
  double frame_ms = 0.0;  // our dense frame, all included
  double device_megabytes = 0.0;
  std::vector<Conv> convs;
};

std::istream& operator>>(std::istream& in, Conv& conv) {
  in >> conv.name >> conv.input >> conv.outputs;
  for (auto* const pair : {&conv.kernel, &conv.stride, &conv.padding, &conv.dilation}) {
    in >> pair->at(0) >> pair->at(1);
  }
  return in >> conv.groups >> conv.own_ms;
}

std::vector<Network> ReadNetworks(std::istream& in) {
  std::vector<Network> networks;
  for (std::string kind; in >> kind;) {
    if (kind == "frame") {
      Network& network = networks.emplace_back();
      in >> network.precision >> network.name >> network.frame_ms >> network.device_megabytes;
    } else {
      in >> networks.at(networks.size() - 1).convs.emplace_back();
    }
  }
  return networks;
}

class Call {
 public:
  Call(const Conv& conv, const std::string& precision)
      : conv_(conv), allow_tf32_(precision == "tf32") {
    const auto options =
        at::TensorOptions().device(at::kCUDA).dtype(precision == "fp16" ? at::kHalf : at::kFloat);
    const std::vector<int64_t> dims = conv.input_dims();
    input_ = at::rand(dims, options).contiguous(at::MemoryFormat::ChannelsLast);
    weights_ =
        at::rand({conv.outputs, dims[1] / conv.groups, conv.kernel[0], conv.kernel[1]}, options)
            .contiguous(at::MemoryFormat::ChannelsLast);
    bias_ = at::rand({conv.outputs}, options);
  }

  void Run() const {
    at::_convolution(input_, weights_, bias_, conv_.stride, conv_.padding, conv_.dilation,
                     /*transposed=*/false, {0, 0}, conv_.groups, /*benchmark=*/true,
                     /*deterministic=*/false, /*cudnn_enabled=*/true, allow_tf32_);
  }

 private:
  Conv conv_;
  bool allow_tf32_;
  at::Tensor input_;
  at::Tensor weights_;
  at::Tensor bias_;
};

constexpr int kFewRuns = 5;
constexpr int kMoreRuns = 30;

// The time of one run, without the fixed cost of timing many.
template <typename Run>
double Milliseconds(const Run& run) {
  const auto time = [&](int runs) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < runs; ++i) run();
    torch::cuda::synchronize();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
        .count();
  };
  time(kFewRuns);  // lets cuDNN choose algorithms
  const double few_ms = time(kFewRuns);
  return std::max(0.0, time(kFewRuns + kMoreRuns) - few_ms) / kMoreRuns;
}

// The time of all calls, one after another, as one CUDA graph.
double GraphMilliseconds(const std::vector<Call>& calls) {
  // The default stream cannot be captured. A stream guard would need a CUDA runtime to link with.
  const c10::cuda::CUDAStream before = c10::cuda::getCurrentCUDAStream();
  c10::cuda::setCurrentCUDAStream(c10::cuda::getStreamFromPool());
  const auto run_all = [&] {
    for (const Call& call : calls) call.Run();
  };
  for (int i = 0; i < kFewRuns; ++i) run_all();
  torch::cuda::synchronize();
  at::cuda::CUDAGraph graph;
  graph.capture_begin();
  run_all();
  graph.capture_end();
  const double ms = Milliseconds([&] { graph.replay(); });
  c10::cuda::setCurrentCUDAStream(before);
  return ms;
}

// What a whole frame is compared by.
struct Frame {
  const Network* network;
  double graph_ms;
};

Frame Compare(const Network& network) {
  std::map<std::string, double> known_ms;  // by shape, so that equal ones are timed once
  std::vector<Call> calls;
  double own_ms = 0.0;
  double cudnn_ms = 0.0;
  for (const Conv& conv : network.convs) {
    const Call& call = calls.emplace_back(conv, network.precision);
    std::ostringstream key;
    key << conv.input << ' ' << conv.outputs << ' ' << conv.groups;
    for (const auto* const pair : {&conv.kernel, &conv.stride, &conv.padding, &conv.dilation}) {
      key << ' ' << pair->at(0) << ' ' << pair->at(1);
    }
    auto known = known_ms.find(key.str());
    if (known == known_ms.end()) {
      known = known_ms.emplace(key.str(), Milliseconds([&] { call.Run(); })).first;
    }
    std::printf("| %s | %s | %s | %.4f | %.4f | %.2f |\n", network.name.c_str(),
                network.precision.c_str(), conv.name.c_str(), conv.own_ms, known->second,
                conv.own_ms / known->second);
    own_ms += conv.own_ms;
    cudnn_ms += known->second;
  }
  std::printf("| %s | %s | all | %.4f | %.4f | %.2f |\n", network.name.c_str(),
              network.precision.c_str(), own_ms, cudnn_ms, own_ms / cudnn_ms);
  std::fflush(stdout);
  return {&network, GraphMilliseconds(calls)};
}

void PrintFrames(const std::vector<Frame>& frames) {
  std::puts(
      "\nWhole dense frames. Ours have all operators, the picture's way to the GPU and the "
      "answer's "
      "back. The graphs of cuDNN have the convolutions alone, without transposed ones and those of "
      "uneven padding, which favours cuDNN.\n\n"
      "| network | precision | our frame ms | our device memory MB | cuDNN's convolutions as one "
      "graph ms | ours/cuDNN |\n|---|---|---|---|---|---|");
  for (const Frame& frame : frames) {
    std::printf("| %s | %s | %.3f | %.1f | %.3f | %.2f |\n", frame.network->name.c_str(),
                frame.network->precision.c_str(), frame.network->frame_ms,
                frame.network->device_megabytes, frame.graph_ms,
                frame.network->frame_ms / frame.graph_ms);
  }
}

}  // namespace

int main() {
  if (!torch::cuda::is_available() || !torch::cuda::cudnn_is_available()) {
    std::fputs("cacheinf-gpu-cudnn: this LibTorch has no cuDNN, or no GPU\n", stderr);
    return 2;
  }
  try {
    const std::vector<Network> networks = ReadNetworks(std::cin);
    std::puts("| network | precision | operator | ours ms | cuDNN ms | ours/cuDNN |");
    std::puts("|---|---|---|---|---|---|");
    std::vector<Frame> frames;
    for (const Network& network : networks) frames.push_back(Compare(network));
    PrintFrames(frames);
    std::fflush(stdout);
    // LibTorch's destructors may free what another C++ library has allocated, and abort.
    std::_Exit(0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cacheinf-gpu-cudnn: %s\n", error.what());
    return 1;
  }
}

// Times convolutions by cuDNN, through LibTorch: reads what `cacheinf-gpu-check convs` prints and
// writes a table of both. With bias, without activation; inputs lie channels-last.

#include <ATen/ops/_convolution.h>
#include <ATen/ops/rand.h>
#include <torch/cuda.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Conv {
  std::string network;
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

std::istream& operator>>(std::istream& in, Conv& conv) {
  in >> conv.network >> conv.name >> conv.input >> conv.outputs;
  for (auto* const pair : {&conv.kernel, &conv.stride, &conv.padding, &conv.dilation}) {
    in >> pair->at(0) >> pair->at(1);
  }
  return in >> conv.groups >> conv.own_ms;
}

double Milliseconds(const Conv& conv, bool allow_tf32) {
  const auto options = at::TensorOptions().device(at::kCUDA);
  const std::vector<int64_t> dims = conv.input_dims();
  const at::Tensor input = at::rand(dims, options).contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor weights =
      at::rand({conv.outputs, dims[1] / conv.groups, conv.kernel[0], conv.kernel[1]}, options)
          .contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor bias = at::rand({conv.outputs}, options);
  const auto time = [&](int runs) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < runs; ++i) {
      at::_convolution(input, weights, bias, conv.stride, conv.padding, conv.dilation,
                       /*transposed=*/false, {0, 0}, conv.groups, /*benchmark=*/true,
                       /*deterministic=*/false, /*cudnn_enabled=*/true, allow_tf32);
    }
    torch::cuda::synchronize();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
        .count();
  };
  time(5);  // which chooses an algorithm
  constexpr int kFew = 5;
  constexpr int kMore = 30;
  const double few_ms = time(kFew);
  return std::max(0.0, time(kFew + kMore) - few_ms) / kMore;
}

}  // namespace

int main() {
  if (!torch::cuda::is_available() || !torch::cuda::cudnn_is_available()) {
    std::fputs("cacheinf-gpu-cudnn: this LibTorch has no cuDNN, or no GPU\n", stderr);
    return 2;
  }
  try {
    std::puts("| network | operator | ours ms | cuDNN FP32 ms | ours/cuDNN | cuDNN TF32 ms |");
    std::puts("|---|---|---|---|---|---|");
    double own_ms = 0.0;
    double cudnn_ms = 0.0;
    for (Conv conv; std::cin >> conv;) {
      const double exact_ms = Milliseconds(conv, false);
      std::printf("| %s | %s | %.4f | %.4f | %.2f | %.4f |\n", conv.network.c_str(),
                  conv.name.c_str(), conv.own_ms, exact_ms, conv.own_ms / exact_ms,
                  Milliseconds(conv, true));
      own_ms += conv.own_ms;
      cudnn_ms += exact_ms;
    }
    std::printf("| all | | %.4f | %.4f | %.2f | |\n", own_ms, cudnn_ms, own_ms / cudnn_ms);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cacheinf-gpu-cudnn: %s\n", error.what());
    return 1;
  }
  return 0;
}

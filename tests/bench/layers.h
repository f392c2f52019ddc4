#ifndef CACHEINF_TESTS_BENCH_LAYERS_H_
#define CACHEINF_TESTS_BENCH_LAYERS_H_

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "sparse_ops/mask/propagation.h"
#include "sparse_ops/ops.h"

namespace cacheinf {

// A convolution of a well-known network on pictures of 480x640.
struct Layer {
  const char* name;
  int in;
  int out;
  int kernel;
  int stride;
  int pad;
  int groups;
  int height;  // of the input
  int width;
  const char* activation;  // "none", "relu", "relu6", "silu", "hardswish", "gelu"
  bool in_sample;          // measured without --full

  int out_height() const { return (height + 2 * pad - kernel) / stride + 1; }
  int out_width() const { return (width + 2 * pad - kernel) / stride + 1; }
};

// Every shape that takes time in VGG19, ResNet101, RegNetX-16GF, ConvNeXt-base, YOLOv5 (n and l6),
// MobileNetV2 and MobileNetV3-large.
std::span<const Layer> KnownLayers();

ConvSpec SpecOf(const Layer& layer);
MaskPropagation PropagationThrough(const Layer& layer);
Function ActivationOf(const Layer& layer);

// As it is written for workers (rivals/peers/peers.py).
nlohmann::json ToJson(const Layer& layer);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_LAYERS_H_

#include "tests/bench/layers.h"

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace cacheinf {
namespace {

// Name, channels in and out, kernel, stride, padding, groups, height, width, activation, in sample.
// A shape that several networks share stands with the first. clang-format off
constexpr std::array kLayers = std::to_array<Layer>({
    {"vgg19.conv1_1", 3, 64, 3, 1, 1, 1, 480, 640, "relu", false},
    {"vgg19.conv1_2", 64, 64, 3, 1, 1, 1, 480, 640, "relu", false},
    {"vgg19.conv2_1", 64, 128, 3, 1, 1, 1, 240, 320, "relu", false},
    {"vgg19.conv2_2", 128, 128, 3, 1, 1, 1, 240, 320, "relu", true},
    {"vgg19.conv3_1", 128, 256, 3, 1, 1, 1, 120, 160, "relu", true},
    {"vgg19.conv3_2", 256, 256, 3, 1, 1, 1, 120, 160, "relu", false},
    {"vgg19.conv4_1", 256, 512, 3, 1, 1, 1, 60, 80, "relu", false},
    {"vgg19.conv4_2", 512, 512, 3, 1, 1, 1, 60, 80, "relu", true},
    {"vgg19.conv5_1", 512, 512, 3, 1, 1, 1, 30, 40, "relu", true},
    {"resnet101.stem", 3, 64, 7, 2, 3, 1, 480, 640, "relu", true},
    {"resnet101.layer1.1x1_first", 64, 64, 1, 1, 0, 1, 120, 160, "relu", false},
    {"resnet101.layer1.1x1_down", 64, 256, 1, 1, 0, 1, 120, 160, "none", false},
    {"resnet101.layer1.1x1_in", 256, 64, 1, 1, 0, 1, 120, 160, "relu", false},
    {"resnet101.layer1.3x3", 64, 64, 3, 1, 1, 1, 120, 160, "relu", true},
    {"resnet101.layer1.1x1_out", 64, 256, 1, 1, 0, 1, 120, 160, "relu", false},
    {"resnet101.layer2.1x1_first", 256, 128, 1, 1, 0, 1, 120, 160, "relu", true},
    {"resnet101.layer2.3x3_s2", 128, 128, 3, 2, 1, 1, 120, 160, "relu", true},
    {"resnet101.layer2.1x1_down", 256, 512, 1, 2, 0, 1, 120, 160, "none", true},
    {"resnet101.layer2.1x1_in", 512, 128, 1, 1, 0, 1, 60, 80, "relu", true},
    {"resnet101.layer2.3x3", 128, 128, 3, 1, 1, 1, 60, 80, "relu", true},
    {"resnet101.layer2.1x1_out", 128, 512, 1, 1, 0, 1, 60, 80, "relu", true},
    {"resnet101.layer3.1x1_first", 512, 256, 1, 1, 0, 1, 60, 80, "relu", true},
    {"resnet101.layer3.3x3_s2", 256, 256, 3, 2, 1, 1, 60, 80, "relu", true},
    {"resnet101.layer3.1x1_down", 512, 1024, 1, 2, 0, 1, 60, 80, "none", true},
    {"resnet101.layer3.1x1_in", 1024, 256, 1, 1, 0, 1, 30, 40, "relu", true},
    {"resnet101.layer3.3x3", 256, 256, 3, 1, 1, 1, 30, 40, "relu", true},
    {"resnet101.layer3.1x1_out", 256, 1024, 1, 1, 0, 1, 30, 40, "relu", true},
    {"resnet101.layer4.1x1_first", 1024, 512, 1, 1, 0, 1, 30, 40, "relu", false},
    {"resnet101.layer4.3x3_s2", 512, 512, 3, 2, 1, 1, 30, 40, "relu", true},
    {"resnet101.layer4.1x1_down", 1024, 2048, 1, 2, 0, 1, 30, 40, "none", false},
    {"resnet101.layer4.1x1_in", 2048, 512, 1, 1, 0, 1, 15, 20, "relu", false},
    {"resnet101.layer4.3x3", 512, 512, 3, 1, 1, 1, 15, 20, "relu", true},
    {"resnet101.layer4.1x1_out", 512, 2048, 1, 1, 0, 1, 15, 20, "relu", false},
    {"regnet_x.stem", 3, 32, 3, 2, 1, 1, 480, 640, "relu", true},
    {"regnet_x.stage1.1x1_first", 32, 256, 1, 1, 0, 1, 240, 320, "relu", false},
    {"regnet_x.stage1.3x3_s2", 256, 256, 3, 2, 1, 2, 240, 320, "relu", false},
    {"regnet_x.stage1.1x1_down", 32, 256, 1, 2, 0, 1, 240, 320, "none", false},
    {"regnet_x.stage1.1x1", 256, 256, 1, 1, 0, 1, 120, 160, "relu", false},
    {"regnet_x.stage1.3x3", 256, 256, 3, 1, 1, 2, 120, 160, "relu", false},
    {"regnet_x.stage2.1x1_first", 256, 512, 1, 1, 0, 1, 120, 160, "relu", false},
    {"regnet_x.stage2.3x3_s2", 512, 512, 3, 2, 1, 4, 120, 160, "relu", false},
    {"regnet_x.stage2.1x1", 512, 512, 1, 1, 0, 1, 60, 80, "relu", true},
    {"regnet_x.stage2.3x3", 512, 512, 3, 1, 1, 4, 60, 80, "relu", true},
    {"regnet_x.stage3.1x1_first", 512, 896, 1, 1, 0, 1, 60, 80, "relu", false},
    {"regnet_x.stage3.3x3_s2", 896, 896, 3, 2, 1, 7, 60, 80, "relu", false},
    {"regnet_x.stage3.1x1_down", 512, 896, 1, 2, 0, 1, 60, 80, "none", false},
    {"regnet_x.stage3.1x1", 896, 896, 1, 1, 0, 1, 30, 40, "relu", true},
    {"regnet_x.stage3.3x3", 896, 896, 3, 1, 1, 7, 30, 40, "relu", true},
    {"regnet_x.stage4.1x1_first", 896, 2048, 1, 1, 0, 1, 30, 40, "relu", false},
    {"regnet_x.stage4.3x3_s2", 2048, 2048, 3, 2, 1, 16, 30, 40, "relu", false},
    {"regnet_x.stage4.1x1_down", 896, 2048, 1, 2, 0, 1, 30, 40, "none", false},
    {"regnet_x.stage4.1x1", 2048, 2048, 1, 1, 0, 1, 15, 20, "relu", true},
    {"regnet_x.stage4.3x3", 2048, 2048, 3, 1, 1, 16, 15, 20, "relu", true},
    {"convnext.stem", 3, 128, 4, 4, 0, 1, 480, 640, "none", true},
    {"convnext.stage1.7x7", 128, 128, 7, 1, 3, 128, 120, 160, "none", true},
    {"convnext.stage1.1x1_in", 128, 512, 1, 1, 0, 1, 120, 160, "gelu", false},
    {"convnext.stage1.1x1_out", 512, 128, 1, 1, 0, 1, 120, 160, "none", false},
    {"convnext.stage1.down", 128, 256, 2, 2, 0, 1, 120, 160, "none", false},
    {"convnext.stage2.7x7", 256, 256, 7, 1, 3, 256, 60, 80, "none", true},
    {"convnext.stage2.1x1_in", 256, 1024, 1, 1, 0, 1, 60, 80, "gelu", true},
    {"convnext.stage2.1x1_out", 1024, 256, 1, 1, 0, 1, 60, 80, "none", true},
    {"convnext.stage2.down", 256, 512, 2, 2, 0, 1, 60, 80, "none", true},
    {"convnext.stage3.7x7", 512, 512, 7, 1, 3, 512, 30, 40, "none", true},
    {"convnext.stage3.1x1_in", 512, 2048, 1, 1, 0, 1, 30, 40, "gelu", true},
    {"convnext.stage3.1x1_out", 2048, 512, 1, 1, 0, 1, 30, 40, "none", true},
    {"convnext.stage3.down", 512, 1024, 2, 2, 0, 1, 30, 40, "none", true},
    {"convnext.stage4.7x7", 1024, 1024, 7, 1, 3, 1024, 15, 20, "none", true},
    {"convnext.stage4.1x1_in", 1024, 4096, 1, 1, 0, 1, 15, 20, "gelu", false},
    {"convnext.stage4.1x1_out", 4096, 1024, 1, 1, 0, 1, 15, 20, "none", false},
    {"yolov5n.stem", 3, 16, 6, 2, 2, 1, 480, 640, "silu", true},
    {"yolov5n.down_1", 16, 32, 3, 2, 1, 1, 240, 320, "silu", true},
    {"yolov5n.c3_1.1x1_in", 32, 16, 1, 1, 0, 1, 120, 160, "silu", false},
    {"yolov5n.c3_1.1x1", 16, 16, 1, 1, 0, 1, 120, 160, "silu", true},
    {"yolov5n.c3_1.3x3", 16, 16, 3, 1, 1, 1, 120, 160, "silu", true},
    {"yolov5n.c3_1.1x1_out", 32, 32, 1, 1, 0, 1, 120, 160, "silu", false},
    {"yolov5n.down_2", 32, 64, 3, 2, 1, 1, 120, 160, "silu", true},
    {"yolov5n.c3_2.1x1_in", 64, 32, 1, 1, 0, 1, 60, 80, "silu", false},
    {"yolov5n.c3_2.1x1", 32, 32, 1, 1, 0, 1, 60, 80, "silu", true},
    {"yolov5n.c3_2.3x3", 32, 32, 3, 1, 1, 1, 60, 80, "silu", true},
    {"yolov5n.c3_2.1x1_out", 64, 64, 1, 1, 0, 1, 60, 80, "silu", false},
    {"yolov5n.down_3", 64, 128, 3, 2, 1, 1, 60, 80, "silu", true},
    {"yolov5n.c3_3.1x1_in", 128, 64, 1, 1, 0, 1, 30, 40, "silu", false},
    {"yolov5n.c3_3.1x1", 64, 64, 1, 1, 0, 1, 30, 40, "silu", true},
    {"yolov5n.c3_3.3x3", 64, 64, 3, 1, 1, 1, 30, 40, "silu", true},
    {"yolov5n.c3_3.1x1_out", 128, 128, 1, 1, 0, 1, 30, 40, "silu", false},
    {"yolov5n.down_4", 128, 256, 3, 2, 1, 1, 30, 40, "silu", true},
    {"yolov5n.c3_4.1x1_in", 256, 128, 1, 1, 0, 1, 15, 20, "silu", false},
    {"yolov5n.c3_4.1x1", 128, 128, 1, 1, 0, 1, 15, 20, "silu", true},
    {"yolov5n.c3_4.3x3", 128, 128, 3, 1, 1, 1, 15, 20, "silu", true},
    {"yolov5n.c3_4.1x1_out", 256, 256, 1, 1, 0, 1, 15, 20, "silu", false},
    {"yolov5n.head_p3", 64, 255, 1, 1, 0, 1, 60, 80, "none", true},
    {"yolov5n.head_p4", 128, 255, 1, 1, 0, 1, 30, 40, "none", true},
    {"yolov5n.head_p5", 256, 255, 1, 1, 0, 1, 15, 20, "none", true},
    {"yolov5l6.stem", 3, 64, 6, 2, 2, 1, 480, 640, "silu", true},
    {"yolov5l6.down_1", 64, 128, 3, 2, 1, 1, 240, 320, "silu", false},
    {"yolov5l6.c3_1.1x1_in", 128, 64, 1, 1, 0, 1, 120, 160, "silu", false},
    {"yolov5l6.c3_1.1x1", 64, 64, 1, 1, 0, 1, 120, 160, "silu", true},
    {"yolov5l6.c3_1.3x3", 64, 64, 3, 1, 1, 1, 120, 160, "silu", true},
    {"yolov5l6.c3_1.1x1_out", 128, 128, 1, 1, 0, 1, 120, 160, "silu", false},
    {"yolov5l6.down_2", 128, 256, 3, 2, 1, 1, 120, 160, "silu", false},
    {"yolov5l6.c3_2.1x1_in", 256, 128, 1, 1, 0, 1, 60, 80, "silu", false},
    {"yolov5l6.c3_2.1x1", 128, 128, 1, 1, 0, 1, 60, 80, "silu", true},
    {"yolov5l6.c3_2.3x3", 128, 128, 3, 1, 1, 1, 60, 80, "silu", true},
    {"yolov5l6.c3_2.1x1_out", 256, 256, 1, 1, 0, 1, 60, 80, "silu", false},
    {"yolov5l6.down_3", 256, 512, 3, 2, 1, 1, 60, 80, "silu", true},
    {"yolov5l6.c3_3.1x1_in", 512, 256, 1, 1, 0, 1, 30, 40, "silu", false},
    {"yolov5l6.c3_3.1x1", 256, 256, 1, 1, 0, 1, 30, 40, "silu", true},
    {"yolov5l6.c3_3.3x3", 256, 256, 3, 1, 1, 1, 30, 40, "silu", true},
    {"yolov5l6.c3_3.1x1_out", 512, 512, 1, 1, 0, 1, 30, 40, "silu", false},
    {"yolov5l6.down_4", 512, 768, 3, 2, 1, 1, 30, 40, "silu", false},
    {"yolov5l6.c3_4.1x1_in", 768, 384, 1, 1, 0, 1, 15, 20, "silu", false},
    {"yolov5l6.c3_4.1x1", 384, 384, 1, 1, 0, 1, 15, 20, "silu", true},
    {"yolov5l6.c3_4.3x3", 384, 384, 3, 1, 1, 1, 15, 20, "silu", true},
    {"yolov5l6.c3_4.1x1_out", 768, 768, 1, 1, 0, 1, 15, 20, "silu", false},
    {"yolov5l6.down_5", 768, 1024, 3, 2, 1, 1, 15, 20, "silu", false},
    {"yolov5l6.c3_5.1x1_in", 1024, 512, 1, 1, 0, 1, 8, 10, "silu", false},
    {"yolov5l6.c3_5.1x1", 512, 512, 1, 1, 0, 1, 8, 10, "silu", true},
    {"yolov5l6.c3_5.3x3", 512, 512, 3, 1, 1, 1, 8, 10, "silu", true},
    {"yolov5l6.c3_5.1x1_out", 1024, 1024, 1, 1, 0, 1, 8, 10, "silu", false},
    {"yolov5l6.head_p3", 256, 255, 1, 1, 0, 1, 60, 80, "none", false},
    {"yolov5l6.head_p4", 512, 255, 1, 1, 0, 1, 30, 40, "none", false},
    {"yolov5l6.head_p5", 768, 255, 1, 1, 0, 1, 15, 20, "none", false},
    {"mobilenet_v2.stem", 3, 32, 3, 2, 1, 1, 480, 640, "relu6", true},
    {"mobilenet_v2.block1.depthwise", 32, 32, 3, 1, 1, 32, 240, 320, "relu6", true},
    {"mobilenet_v2.block1.project", 32, 16, 1, 1, 0, 1, 240, 320, "none", true},
    {"mobilenet_v2.block2.expand", 16, 96, 1, 1, 0, 1, 240, 320, "relu6", true},
    {"mobilenet_v2.block2.depthwise_s2", 96, 96, 3, 2, 1, 96, 240, 320, "relu6", true},
    {"mobilenet_v2.block2.project", 96, 24, 1, 1, 0, 1, 120, 160, "none", true},
    {"mobilenet_v2.block3.expand", 24, 144, 1, 1, 0, 1, 120, 160, "relu6", true},
    {"mobilenet_v2.block3.depthwise", 144, 144, 3, 1, 1, 144, 120, 160, "relu6", true},
    {"mobilenet_v2.block4.project", 144, 32, 1, 1, 0, 1, 60, 80, "none", true},
    {"mobilenet_v2.block4.expand", 32, 192, 1, 1, 0, 1, 60, 80, "relu6", true},
    {"mobilenet_v2.block4.depthwise", 192, 192, 3, 1, 1, 192, 60, 80, "relu6", true},
    {"mobilenet_v2.block8.expand", 64, 384, 1, 1, 0, 1, 30, 40, "relu6", true},
    {"mobilenet_v2.block8.depthwise", 384, 384, 3, 1, 1, 384, 30, 40, "relu6", true},
    {"mobilenet_v2.block8.project", 384, 64, 1, 1, 0, 1, 30, 40, "none", true},
    {"mobilenet_v2.block9.expand", 96, 576, 1, 1, 0, 1, 30, 40, "relu6", true},
    {"mobilenet_v2.block9.depthwise", 576, 576, 3, 1, 1, 576, 30, 40, "relu6", true},
    {"mobilenet_v2.block15.depthwise", 960, 960, 3, 1, 1, 960, 15, 20, "relu6", true},
    {"mobilenet_v2.block15.expand", 160, 960, 1, 1, 0, 1, 15, 20, "relu6", true},
    {"mobilenet_v2.last", 320, 1280, 1, 1, 0, 1, 15, 20, "relu6", true},
    {"mobilenet_v3.stem", 3, 16, 3, 2, 1, 1, 480, 640, "hardswish", true},
    {"mobilenet_v3.block1.depthwise", 16, 16, 3, 1, 1, 16, 240, 320, "relu", true},
    {"mobilenet_v3.block2.expand", 16, 64, 1, 1, 0, 1, 240, 320, "relu", true},
    {"mobilenet_v3.block2.depthwise_s2", 64, 64, 3, 2, 1, 64, 240, 320, "relu", true},
    {"mobilenet_v3.block3.expand", 24, 72, 1, 1, 0, 1, 120, 160, "relu", true},
    {"mobilenet_v3.block3.depthwise", 72, 72, 3, 1, 1, 72, 120, 160, "relu", true},
    {"mobilenet_v3.block4.depthwise_s2", 72, 72, 5, 2, 2, 72, 120, 160, "relu", true},
    {"mobilenet_v3.block5.expand", 40, 120, 1, 1, 0, 1, 60, 80, "relu", true},
    {"mobilenet_v3.block6.depthwise", 120, 120, 5, 1, 2, 120, 60, 80, "relu", true},
    {"mobilenet_v3.block8.expand", 80, 200, 1, 1, 0, 1, 30, 40, "hardswish", true},
    {"mobilenet_v3.block8.depthwise", 200, 200, 3, 1, 1, 200, 30, 40, "hardswish", true},
    {"mobilenet_v3.block12.expand", 112, 672, 1, 1, 0, 1, 30, 40, "hardswish", true},
    {"mobilenet_v3.block12.depthwise", 672, 672, 3, 1, 1, 672, 30, 40, "hardswish", true},
    {"mobilenet_v3.block14.expand", 160, 960, 1, 1, 0, 1, 15, 20, "hardswish", true},
    {"mobilenet_v3.block14.depthwise", 960, 960, 5, 1, 2, 960, 15, 20, "hardswish", true},
});
// clang-format on

}  // namespace

std::span<const Layer> KnownLayers() { return kLayers; }

ConvSpec SpecOf(const Layer& layer) {
  ConvSpec spec;
  spec.rows = {.kernel = layer.kernel,
               .stride = layer.stride,
               .pad_begin = layer.pad,
               .pad_end = layer.pad,
               .dilation = 1};
  spec.columns = spec.rows;
  spec.groups = layer.groups;
  return spec;
}

MaskPropagation PropagationThrough(const Layer& layer) {
  const ConvSpec spec = SpecOf(layer);
  return {AxisWindow::Sliding(layer.height, layer.out_height(), spec.rows),
          AxisWindow::Sliding(layer.width, layer.out_width(), spec.columns)};
}

Function ActivationOf(const Layer& layer) {
  static const std::map<std::string, Function> kFunctions = {
      {"none", {}},
      {"relu", {Function::Kind::kRelu}},
      {"relu6", {Function::Kind::kClip, 0.0f, 6.0f}},
      {"silu", {Function::Kind::kSilu}},
      {"hardswish", {Function::Kind::kHardSwish}},
      {"gelu", {Function::Kind::kGelu}},
  };
  return kFunctions.at(layer.activation);
}

nlohmann::json ToJson(const Layer& layer) {
  return {{"in", layer.in},         {"out", layer.out},
          {"kernel", layer.kernel}, {"stride", layer.stride},
          {"pad", layer.pad},       {"dilation", 1},
          {"groups", layer.groups}, {"height", layer.height},
          {"width", layer.width},   {"activation", layer.activation}};
}

}  // namespace cacheinf

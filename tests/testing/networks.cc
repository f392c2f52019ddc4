#include "tests/testing/networks.h"

#include <cmath>
#include <utility>

#include "common/model/graph/decode.h"
#include "common/model/passes/passes.h"
#include "tests/model/model_builder.h"

namespace cacheinf {
namespace {

using Kind = Function::Kind;

// Adds the steps that networks are made of. Windows of stride 1 keep the map's size.
class NetworkBuilder : public ModelBuilder {
 public:
  NetworkBuilder(int height, int width) : picture_(Input({1, 3, height, width}, "picture")) {}

  ValueId picture() const { return picture_; }
  int64_t channels(ValueId x) const { return shape(x)[1]; }

  struct Window {
    int kernel = 3;
    int stride = 1;
    int dilation = 1;
    int groups = 1;
  };

  // A convolution without bias or activation, whose weights keep the spread of numbers.
  ValueId Filter(ValueId x, int64_t out, const Window& window) {
    op::Conv conv;
    const int pad = window.dilation * (window.kernel - 1) / 2;
    conv.spec.rows = conv.spec.columns = {window.kernel, window.stride, pad, pad, window.dilation};
    conv.spec.groups = window.groups;
    const int64_t in = channels(x) / window.groups;
    const float bound = std::sqrt(6.0f / static_cast<float>(in * window.kernel * window.kernel));
    return Op(conv, {x, Random({out, in, window.kernel, window.kernel}, -bound, bound)});
  }

  ValueId ConvBn(ValueId x, int64_t out, const Window& window, Kind kind = Kind::kRelu) {
    const ValueId normed = BatchNorm(Filter(x, out, window));
    return kind == Kind::kIdentity ? normed : Activate(kind, normed);
  }

  ValueId Activate(Kind kind, ValueId x) {
    return kind == Kind::kHardSigmoid ? Apply(kind, x, 1.0f / 6, 0.5f) : Apply(kind, x);
  }

  ValueId Pool(PoolSpec::Kind kind, ValueId x, int kernel, int stride, int pad = 0,
               bool ceil_mode = false) {
    op::Pool pool;
    pool.spec.kind = kind;
    pool.spec.rows = pool.spec.columns = {kernel, stride, pad, pad, 1};
    pool.spec.ceil_mode = ceil_mode;
    return Op(pool, {x});
  }
  ValueId MaxPool(ValueId x, int kernel = 2, int stride = 2, int pad = 0, bool ceil_mode = false) {
    return Pool(PoolSpec::Kind::kMax, x, kernel, stride, pad, ceil_mode);
  }

  ValueId Concat(std::vector<ValueId> parts) { return Op(op::Concat{1}, std::move(parts)); }

  ValueId Enlarge(ValueId x, int times, ResizeSpec::Kind kind) {
    op::Resize resize;
    resize.spec.kind = kind;
    resize.spec.coordinates = kind == ResizeSpec::Kind::kNearest
                                  ? ResizeSpec::Coordinates::kAsymmetric
                                  : ResizeSpec::Coordinates::kHalfPixel;
    resize.spec.out_height = times * static_cast<int>(shape(x)[2]);
    resize.spec.out_width = times * static_cast<int>(shape(x)[3]);
    return Op(resize, {x});
  }

  // Weights each channel by a function of the whole map.
  ValueId Gate(ValueId x, Kind inner, Kind outer) {
    const ValueId squeezed = ConvBn(Mean(x, {2, 3}), channels(x) / 4, {.kernel = 1}, inner);
    return Multiply(x, Activate(outer, Filter(squeezed, channels(x), {.kernel = 1})));
  }

  ValueId Classify(ValueId x, int64_t classes) {
    return Linear(Reshape(Mean(x, {2, 3}), {1, channels(x)}), classes);
  }

 private:
  ValueId picture_;
};

Graph Vgg(int height, int width) {
  NetworkBuilder net(height, width);
  ValueId x = net.picture();
  for (const int channels : {8, 16, 24}) {
    x = net.ConvBn(x, channels, {});
    x = net.MaxPool(net.ConvBn(x, channels, {}));
  }
  const ValueId row = net.Reshape(x, {1, ElementCount(net.shape(x))});
  return net.Finish({net.Linear(net.Activate(Kind::kRelu, net.Linear(row, 16)), 10)});
}

Graph ResNet(int height, int width) {
  NetworkBuilder net(height, width);
  ValueId x = net.MaxPool(net.ConvBn(net.picture(), 8, {.kernel = 7, .stride = 2}), 3, 2, 1);
  for (const int channels : {8, 16, 24}) {
    const int stride = channels == 8 ? 1 : 2;
    const ValueId first = net.ConvBn(x, channels, {.stride = stride});
    const ValueId second = net.ConvBn(first, channels, {}, Kind::kIdentity);
    const ValueId way_round =
        stride == 1 ? x : net.ConvBn(x, channels, {.kernel = 1, .stride = stride}, Kind::kIdentity);
    x = net.Activate(Kind::kRelu, net.Add(second, way_round));
  }
  return net.Finish({x, net.Classify(x, 10)});
}

Graph DenseNet(int height, int width) {
  NetworkBuilder net(height, width);
  ValueId x = net.ConvBn(net.picture(), 8, {.stride = 2});
  for (int block = 0; block < 2; ++block) {
    for (int layer = 0; layer < 3; ++layer) {
      const ValueId narrow = net.Filter(net.Activate(Kind::kRelu, net.BatchNorm(x)), 16, {1});
      x = net.Concat({x, net.Filter(net.Activate(Kind::kRelu, net.BatchNorm(narrow)), 8, {})});
    }
    x = net.Pool(PoolSpec::Kind::kAverage, net.ConvBn(x, net.channels(x) / 2, {1}), 2, 2);
  }
  return net.Finish({x});
}

Graph MobileNet(int height, int width) {
  NetworkBuilder net(height, width);
  ValueId x = net.ConvBn(net.picture(), 8, {.stride = 2}, Kind::kHardSwish);
  for (const int channels : {16, 24, 24}) {
    const int stride = channels == net.channels(x) ? 1 : 2;
    const int groups = static_cast<int>(net.channels(x));
    const ValueId deep = net.ConvBn(x, groups, {.stride = stride, .groups = groups});
    const ValueId wide = net.ConvBn(deep, channels, {.kernel = 1}, Kind::kHardSwish);
    x = stride == 1 ? net.Add(x, net.Gate(wide, Kind::kRelu, Kind::kHardSigmoid)) : wide;
  }
  return net.Finish({x, net.Classify(x, 10)});
}

Graph EfficientNet(int height, int width) {
  NetworkBuilder net(height, width);
  ValueId x = net.ConvBn(net.picture(), 8, {.stride = 2}, Kind::kSilu);
  for (const int channels : {8, 16, 16}) {
    const int stride = channels == net.channels(x) ? 1 : 2;
    const int inner = 4 * static_cast<int>(net.channels(x));
    ValueId wide = net.ConvBn(x, inner, {.kernel = 1}, Kind::kSilu);
    wide = net.ConvBn(wide, inner, {.kernel = 5, .stride = stride, .groups = inner}, Kind::kSilu);
    if (channels == 16) wide = net.Gate(wide, Kind::kSilu, Kind::kSigmoid);
    const ValueId narrow = net.ConvBn(wide, channels, {.kernel = 1}, Kind::kIdentity);
    x = stride == 1 ? net.Add(x, narrow) : narrow;
  }
  return net.Finish({x, net.Classify(x, 10)});
}

Graph Yolo(int height, int width) {
  NetworkBuilder net(height, width);
  const auto block = [&net](ValueId x, int channels) {  // split, work on one half, join
    const ValueId half = net.ConvBn(x, channels / 2, {.kernel = 1}, Kind::kSilu);
    const ValueId other = net.ConvBn(x, channels / 2, {.kernel = 1}, Kind::kSilu);
    const ValueId worked = net.Add(half, net.ConvBn(half, channels / 2, {}, Kind::kSilu));
    return net.ConvBn(net.Concat({worked, other}), channels, {.kernel = 1}, Kind::kSilu);
  };
  const auto down = [&net](ValueId x, int channels) {
    return net.ConvBn(x, channels, {.stride = 2}, Kind::kSilu);
  };
  const auto up = [&net](ValueId x) { return net.Enlarge(x, 2, ResizeSpec::Kind::kNearest); };
  const ValueId stem = net.ConvBn(net.picture(), 8, {.kernel = 6, .stride = 2}, Kind::kSilu);
  const ValueId eighth = block(down(down(net.MaxPool(stem, 3, 1, 1), 8), 16), 16);
  const ValueId sixteenth = block(down(eighth, 16), 16);
  ValueId last = net.ConvBn(down(sixteenth, 24), 12, {.kernel = 1}, Kind::kSilu);
  const ValueId pooled = net.MaxPool(last, 5, 1, 2);
  last = net.ConvBn(net.Concat({last, pooled, net.MaxPool(pooled, 5, 1, 2)}), 16, {.kernel = 1});
  const ValueId middle = block(net.Concat({up(last), sixteenth}), 16);
  const ValueId fine = block(net.Concat({up(middle), eighth}), 16);
  const ValueId middle_again = block(net.Concat({down(fine, 16), middle}), 16);
  const ValueId last_again = block(net.Concat({down(middle_again, 16), last}), 16);
  return net.Finish({net.Filter(fine, 18, {.kernel = 1}), net.Filter(middle_again, 18, {1}),
                     net.Filter(last_again, 18, {.kernel = 1})});
}

Graph ConvNeXt(int height, int width) {
  NetworkBuilder net(height, width);
  const auto norm = [&net](ValueId x) {
    const int64_t channels = net.channels(x);
    return net.Op(op::LayerNorm{1, 1, 1e-6f, true},
                  {x, net.Random({channels}, 0.5f, 1.5f), net.Random({channels})});
  };
  ValueId x = norm(net.Conv(net.picture(), 12, 4, 4));
  for (int i = 0; i < 2; ++i) {
    const int channels = static_cast<int>(net.channels(x));
    const ValueId seen = norm(net.Filter(x, channels, {.kernel = 7, .groups = channels}));
    const ValueId wide = net.Activate(Kind::kGelu, net.Filter(seen, 4 * channels, {.kernel = 1}));
    const ValueId scale = net.Random({1, channels, 1, 1}, 0.1f, 0.3f);
    x = net.Add(x, net.Multiply(net.Filter(wide, channels, {.kernel = 1}), scale));
    if (i == 0) x = net.Conv(norm(x), 16, 2, 2);
  }
  return net.Finish({x});
}

Graph UNet(int height, int width) {
  NetworkBuilder net(height, width);
  const ValueId whole = net.ConvBn(net.picture(), 8, {});
  const ValueId half = net.ConvBn(net.MaxPool(whole), 12, {});
  ValueId x = net.ConvBn(net.MaxPool(half), 16, {});
  x = net.ConvBn(net.Concat({net.TransposedConv(x, 12, 4, 2, 1), half}), 12, {});
  x = net.Enlarge(x, 2, ResizeSpec::Kind::kLinear);
  const ValueId scores = net.Filter(net.ConvBn(net.Concat({x, whole}), 8, {}), 5, {.kernel = 1});
  return net.Finish({scores, net.Op(op::ArgMax{}, {scores})});
}

Graph DilatedNet(int height, int width) {
  NetworkBuilder net(height, width);
  ValueId x = net.ConvBn(net.ConvBn(net.picture(), 8, {.stride = 2}), 16, {.stride = 2});
  // Each branch sees further than the one before, and is added to it.
  const ValueId narrow = net.Filter(x, 4, {.kernel = 1});
  std::vector<ValueId> branches = {net.Filter(narrow, 4, {})};
  for (const int dilation : {2, 4, 8}) {
    const ValueId branch = net.Filter(narrow, 4, {.dilation = dilation});
    branches.push_back(net.Add(branch, branches.back()));
  }
  x = net.Activate(Kind::kRelu, net.Add(x, net.BatchNorm(net.Concat(branches))));
  const ValueId scores = net.Filter(net.ConvBn(x, 8, {.dilation = 2}), 5, {.kernel = 1});
  return net.Finish({net.Enlarge(scores, 4, ResizeSpec::Kind::kLinear)});
}

Graph SqueezeNet(int height, int width) {
  NetworkBuilder net(height, width);
  const auto fire = [&net](ValueId x, int channels) {
    const ValueId squeezed = net.ConvBn(x, channels / 4, {.kernel = 1});
    return net.Concat({net.ConvBn(squeezed, channels / 2, {.kernel = 1}),
                       net.ConvBn(squeezed, channels / 2, {})});
  };
  ValueId x = net.MaxPool(net.ConvBn(net.picture(), 8, {.stride = 2}), 3, 2, 0, true);
  x = net.MaxPool(fire(fire(x, 16), 16), 3, 2, 0, true);
  const ValueId scores = net.ConvBn(fire(x, 24), 10, {.kernel = 1});
  return net.Finish({scores, net.Op(op::Softmax{}, {net.Mean(scores, {2, 3})})});
}

}  // namespace

const std::vector<Network>& TenNetworks() {
  static const std::vector<Network> kNetworks = {
      {"yolo", &Yolo},
      {"mobilenet", &MobileNet},
      {"vgg", &Vgg},
      {"resnet", &ResNet},
      {"densenet", &DenseNet},
      {"efficientnet", &EfficientNet},
      {"convnext", &ConvNeXt},
      {"unet", &UNet},
      {"dilated", &DilatedNet},
      {"squeezenet", &SqueezeNet},
  };
  return kNetworks;
}

std::shared_ptr<const Graph> MakeNetwork(const Network& network, int height, int width) {
  Graph graph = network.build(height, width);
  graph.name = network.name;
  PrependPicture(graph, PictureSpec(), {.mean = {127.5}, .divisor = {64.0}});
  Optimise(graph);
  graph.Validate();
  return std::make_shared<const Graph>(std::move(graph));
}

}  // namespace cacheinf

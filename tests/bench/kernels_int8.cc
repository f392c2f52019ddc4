#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hwy/targets.h"
#include "sparse_ops/cpu/aligned_floats.h"
#include "sparse_ops/cpu/conv.h"
#include "sparse_ops/cpu/quant_conv.h"
#include "sparse_ops/cpu/thread_pool.h"
#include "sparse_ops/eight_bits.h"
#include "sparse_ops/function.h"
#include "sparse_ops/mask/lists.h"
#include "tests/bench/bench.h"
#include "tests/bench/layers.h"
#include "tests/bench/mask_shapes.h"
#include "tests/bench/worker.h"
#include "tests/testing/places.h"

// Layers in 8 bits on some of their pixels, beside all of them, and beside our own kernels for
// floats on all.

namespace cacheinf {
namespace {

using nlohmann::ordered_json;

constexpr std::array kAllShares = {0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9};
constexpr std::array kSampleShares = {0.02, 0.1, 0.3, 0.5};

// Which kernels are taken.
struct Target {
  const char* name;
  bool is_avx2;  // without instructions for bytes
};
constexpr std::array kTargets = {Target{"best", false}, Target{"AVX2, 16 bits", true}};

// Fixed random bits, or numbers near 0.
std::vector<float> RandomWords(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> words(count);
  for (float& word : words) {
    const uint32_t bits = random();
    std::memcpy(&word, &bits, sizeof(bits));
  }
  return words;
}

std::vector<float> RandomNumbers(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-0.1f, 0.1f);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = uniform(random);
  return numbers;
}

// A channels-last map in memory of its own.
class Map {
 public:
  Map(int height, int width, int channels, const std::vector<float>& from)
      : numbers_(from.size()), view_{numbers_.data(),
                                     1,
                                     height,
                                     width,
                                     channels,
                                     int64_t{height} * width * channels,
                                     int64_t{width} * channels,
                                     channels} {
    std::memcpy(numbers_.data(), from.data(), from.size() * sizeof(float));
  }
  const ImageView& view() const { return view_; }

 private:
  cpu::AlignedFloats numbers_;
  ImageView view_;
};

Map RandomMap(int height, int width, int channels, uint32_t seed, bool is_words) {
  const size_t count = static_cast<size_t>(height) * width * channels;
  return {height, width, channels,
          is_words ? RandomWords(count, seed) : RandomNumbers(count, seed)};
}

// As a quantised network has the layer: sums are rounded, functions are tables.
class Int8Layer {
 public:
  Int8Layer(const Layer& layer, const Target& target, int threads)
      : layer_(layer),
        pool_(threads),
        input_(RandomMap(layer.height, layer.width, WordCount(layer.in), 1, true)),
        output_(RandomMap(layer.out_height(), layer.out_width(), WordCount(layer.out), 2, true)),
        propagation_(PropagationThrough(layer)),
        active_(layer.out_height(), layer.out_width()),
        runs_(RunList::MaxRuns(layer.out_height(), layer.out_width())) {
    const int group_words = WordCount(layer.in / layer.groups);
    weights_ =
        RandomWords(static_cast<size_t>(layer.out) * group_words * layer.kernel * layer.kernel, 3);
    scales_.assign(static_cast<size_t>(layer.out), 1e-4f);
    bias_.assign(static_cast<size_t>(layer.out), 100);
    args_.spec = SpecOf(layer);
    args_.in_channels = layer.in;
    args_.out_channels = layer.out;
    args_.input_steps = {0.02f, 120, false};
    args_.input = input_.view();
    args_.weights = weights_.data();
    args_.bias = bias_.data();
    args_.scales = scales_.data();
    args_.rounds_sums = true;
    args_.sum_steps = args_.steps = {0.05f, 120, false};
    const Function function = ActivationOf(layer);
    if (function.kind == Function::Kind::kRelu || function.kind == Function::Kind::kClip) {
      args_.low = args_.steps.zero_point;
    } else if (function.kind != Function::Kind::kIdentity) {
      for (int byte = 0; byte < 256; ++byte) {
        table_.push_back(ToSteps(Apply(function, FromSteps(byte, args_.sum_steps)), args_.steps));
      }
      args_.table = table_.data();
      args_.table_steps = args_.steps;
    }
    args_.output = output_.view();
    cpu::QuantFamily family = cpu::ChooseQuantFamily();
    if (target.is_avx2) family.ways = {family.ways.back()};
    if (cpu::QuantConv::Takes(args_)) conv_ = std::make_unique<cpu::QuantConv>(args_, family);
  }

  bool is_taken() const { return conv_ != nullptr; }
  void RunWhole() { conv_->Run(args_, Range{0, layer_.out_height()}, nullptr, pool_); }

  // Includes what a frame needs before: what can change, and its lists.
  void RunActive(ConstMaskView changed) {
    propagation_.GrowThrough(changed, active_);
    runs_.Assign(active_, {0, layer_.out_height()});
    conv_->Run(args_, runs_.pixels(), nullptr, pool_);
  }

 private:
  const Layer& layer_;
  ThreadPool pool_;
  Map input_;
  Map output_;
  MaskPropagation propagation_;
  Mask active_;
  RunList runs_;
  std::vector<float> weights_;
  std::vector<float> scales_;
  std::vector<int> bias_;
  std::vector<int> table_;
  QuantConvArgs args_;
  std::unique_ptr<cpu::QuantConv> conv_;
};

class FloatLayer {
 public:
  FloatLayer(const Layer& layer, int threads)
      : layer_(layer),
        pool_(threads),
        input_(RandomMap(layer.height, layer.width, layer.in, 1, false)),
        output_(RandomMap(layer.out_height(), layer.out_width(), layer.out, 2, false)) {
    const std::vector<float> weights = RandomNumbers(
        static_cast<size_t>(layer.out) * (layer.in / layer.groups) * layer.kernel * layer.kernel,
        3);
    const std::vector<float> bias = RandomNumbers(static_cast<size_t>(layer.out), 4);
    ConvArgs args;
    args.spec = SpecOf(layer);
    args.input = input_.view();
    args.weights = weights.data();
    args.bias = bias.data();
    args.activation.function = ActivationOf(layer);
    args.output = output_.view();
    conv_ = std::make_unique<cpu::Conv>(args);
    scratch_ = cpu::AlignedFloats(conv_->ScratchFloats(threads));
  }

  void RunWhole() {
    conv_->Run(input_.view(), {}, output_.view(), Range{0, layer_.out_height()}, nullptr, pool_,
               scratch_.data());
  }

 private:
  const Layer& layer_;
  ThreadPool pool_;
  Map input_;
  Map output_;
  std::unique_ptr<cpu::Conv> conv_;
  cpu::AlignedFloats scratch_;
};

struct Cell {
  std::string mask;
  LayerMask pixels;
};

std::vector<Cell> CellsOf(const Layer& layer, const MaskShapes& shapes, bool full) {
  std::vector<Cell> cells;
  const std::span<const double> shares =
      full ? std::span<const double>(kAllShares) : std::span<const double>(kSampleShares);
  for (const std::string& kind : shapes.kinds()) {
    if (kind == "8 blobs" && !full) continue;
    for (const double share : shares) {
      std::optional<LayerMask> pixels = shapes.Find(kind, share, layer);
      if (pixels) cells.push_back({kind, *std::move(pixels)});
    }
  }
  return cells;
}

void MeasureLayer(const Layer& layer, const Target& target, int threads, const MaskShapes& shapes,
                  const BenchOptions& options, BenchReport* report) {
  Int8Layer own(layer, target, threads);
  if (!own.is_taken()) return report->AddNote(std::string(layer.name) + " has no kernel");
  FloatLayer floats(layer, threads);
  const std::vector<Cell> cells = CellsOf(layer, shapes, options.full);
  std::vector<Turn> turns = {OwnTurn([&] { floats.RunWhole(); }), OwnTurn([&] { own.RunWhole(); })};
  for (const Cell& cell : cells) {
    turns.push_back(OwnTurn([&own, &cell] { own.RunActive(cell.pixels.input); }));
  }
  const Timing timing = TimeTurns(turns, options.timing);
  report->AddNoise(timing);
  const double fp32_ms = timing.contenders[0].Median();
  const double dense_ms = timing.contenders[1].Median();
  const auto add = [&](const std::string& mask, double share, const Samples& samples) {
    report->AddRow({{"layer", layer.name},
                    {"threads", threads},
                    {"kernels", target.name},
                    {"mask", mask},
                    {"share", share},
                    {"median_ms", samples.Median()},
                    {"p90_ms", samples.Quantile(0.9)},
                    {"dense_ms", dense_ms},
                    {"fp32_ms", fp32_ms}});
  };
  add("all", 1.0, timing.contenders[1]);
  for (size_t i = 0; i < cells.size(); ++i) {
    add(cells[i].mask, cells[i].pixels.share, timing.contenders[i + 2]);
  }
}

void AddRatios(const std::string& what, const std::vector<double>& ratios, BenchReport* report) {
  if (ratios.empty()) return;
  const auto kept = std::count_if(ratios.begin(), ratios.end(), [](double r) { return r <= 1.0; });
  const Samples samples{ratios};
  std::array<char, 200> line;
  std::snprintf(line.data(), line.size(),
                "%s: in %ld of %zu cells; time over bound %.2f in the "
                "median, %.2f at most",
                what.c_str(), static_cast<long>(kept), ratios.size(), samples.Median(),
                samples.Quantile(1.0));
  report->AddNote(line.data());
}

void Judge(const std::vector<ordered_json>& rows, BenchReport* report) {
  for (const Target& target : kTargets) {
    std::vector<double> sparse;
    std::vector<double> over_floats;
    for (const ordered_json& row : rows) {
      if (row.at("kernels") != target.name) continue;
      const double share = row.at("share");
      const double ms = row.at("median_ms");
      if (row.at("mask") == "all") {
        over_floats.push_back(ms / row.at("fp32_ms").get<double>());
      } else if (share >= 0.1) {
        sparse.push_back(ms / ((1.15 * share + 0.01) * row.at("dense_ms").get<double>()));
      }
    }
    const std::string of = std::string(", ") + target.name;
    AddRatios("sparse <= (1.15 share + 0.01) dense, 10 % and more" + of, sparse, report);
    AddRatios("faster than our own fp32, everything active" + of, over_floats, report);
  }
}

// The kernels for a target, until it ends.
class OnTarget {
 public:
  explicit OnTarget(const Target& target) {
    if (target.is_avx2) hwy::SetSupportedTargetsForTest(HWY_AVX2);
  }
  ~OnTarget() { hwy::SetSupportedTargetsForTest(0); }
  OnTarget(const OnTarget&) = delete;
  OnTarget& operator=(const OnTarget&) = delete;
};

bool IsChosen(const Layer& layer, const BenchOptions& options) {
  if (options.layers.empty()) return layer.in_sample || options.full;
  return std::any_of(options.layers.begin(), options.layers.end(), [&](const std::string& word) {
    return std::string(layer.name).starts_with(word);
  });
}

}  // namespace

void BenchInt8Kernels(const BenchOptions& options, BenchReport* report) {
  BenchOptions chosen = options;
  chosen.timing.min_time_ms = options.timing.min_time_ms / 3.0;
  chosen.timing.turn_ms = 1.0;
  chosen.timing.min_rounds = 7;
  chosen.timing.warm_up_rounds = 1;
  const MaskShapes shapes(SharedData("video"));
  const std::vector<int> threads = options.threads.empty() ? std::vector<int>{1} : options.threads;
  const bool has_avx2 = (hwy::SupportedTargets() & HWY_AVX2) != 0;
  for (const int count : threads) {
    PinToCores(count);
    for (const Target& target : kTargets) {
      if (target.is_avx2 && !has_avx2) continue;
      const OnTarget on_target(target);
      for (const Layer& layer : KnownLayers()) {
        if (!IsChosen(layer, options)) continue;
        std::cerr << layer.name << ", " << target.name << ", " << count
                  << (count == 1 ? " thread\n" : " threads\n");
        MeasureLayer(layer, target, count, shapes, chosen, report);
      }
    }
  }
  Judge(report->rows(), report);
}

}  // namespace cacheinf

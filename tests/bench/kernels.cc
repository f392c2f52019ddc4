#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "sparse_ops/cpu/aligned_floats.h"
#include "sparse_ops/cpu/conv.h"
#include "sparse_ops/cpu/thread_pool.h"
#include "sparse_ops/cpu/winograd.h"
#include "sparse_ops/mask/lists.h"
#include "sparse_ops/winograd.h"
#include "tests/bench/bench.h"
#include "tests/bench/layers.h"
#include "tests/bench/mask_shapes.h"
#include "tests/bench/worker.h"
#include "tests/testing/places.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::array kAllShares = {0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9};
constexpr std::array kSampleShares = {0.01, 0.05, 0.1, 0.3, 0.5, 0.9};

// A channels-last map of fixed random numbers, in its own memory.
class Map {
 public:
  Map(int height, int width, int channels, uint32_t seed)
      : numbers_(static_cast<size_t>(height) * width * channels),
        view_{numbers_.data(),
              1,
              height,
              width,
              channels,
              int64_t{height} * width * channels,
              int64_t{width} * channels,
              channels} {
    Fill(numbers_.data(), static_cast<size_t>(view_.batch_stride), seed);
  }

  static void Fill(float* numbers, size_t count, uint32_t seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-0.1f, 0.1f);
    for (size_t i = 0; i < count; ++i) numbers[i] = uniform(random);
  }

  const ImageView& view() const { return view_; }

 private:
  cpu::AlignedFloats numbers_;
  ImageView view_;
};

// A layer with its input, its output, and our kernels ready for it.
class OwnLayer {
 public:
  OwnLayer(const Layer& layer, int threads)
      : layer_(layer),
        spec_(SpecOf(layer)),
        pool_(threads),
        input_(layer.height, layer.width, layer.in, 1),
        output_(layer.out_height(), layer.out_width(), layer.out, 2),
        propagation_(PropagationThrough(layer)),
        active_(layer.out_height(), layer.out_width()),
        runs_(RunList::MaxRuns(layer.out_height(), layer.out_width())) {
    const size_t weight_count =
        static_cast<size_t>(layer.out) * (layer.in / layer.groups) * layer.kernel * layer.kernel;
    std::vector<float> weights(weight_count);
    std::vector<float> bias(static_cast<size_t>(layer.out));
    Map::Fill(weights.data(), weights.size(), 3);
    Map::Fill(bias.data(), bias.size(), 4);
    ConvArgs args;
    args.spec = spec_;
    args.input = input_.view();
    args.weights = weights.data();
    args.bias = bias.data();
    args.activation.function = ActivationOf(layer);
    args.output = output_.view();
    direct_ = std::make_unique<cpu::Conv>(args);
    size_t scratch = direct_->ScratchFloats(threads);
    // Each channel alone is a matrix product of one row, which Winograd is not made for.
    const bool is_depthwise = layer.groups == layer.in;
    if (CanBeWinograd(spec_) && !is_depthwise) {
      winograd_ = std::make_unique<cpu::Winograd>(args);
      scratch = std::max(scratch, winograd_->ScratchFloats(output_.view(), threads));
    }
    scratch_ = cpu::AlignedFloats(scratch);
  }

  std::vector<std::string> Schemes() const {
    if (winograd_ == nullptr) return {"direct"};
    return {"direct", "winograd"};
  }

  void RunWhole(const std::string& scheme) { Run(scheme, Range{0, layer_.out_height()}); }

  // Includes what a frame needs before: what can change, and its lists.
  void RunActive(const std::string& scheme, ConstMaskView changed) {
    propagation_.GrowThrough(changed, active_);
    runs_.Assign(active_, {0, layer_.out_height()});
    Run(scheme, runs_.pixels());
  }

 private:
  void Run(const std::string& scheme, const ActivePixels& pixels) {
    const ConstImageView no_residual;
    const ChangeTest* const no_test = nullptr;
    if (scheme == "winograd") {
      winograd_->Run(input_.view(), no_residual, output_.view(), pixels, no_test, pool_,
                     scratch_.data());
    } else {
      direct_->Run(input_.view(), no_residual, output_.view(), pixels, no_test, pool_,
                   scratch_.data());
    }
  }

  const Layer& layer_;
  ConvSpec spec_;
  ThreadPool pool_;
  Map input_;
  Map output_;
  MaskPropagation propagation_;
  Mask active_;
  RunList runs_;
  std::unique_ptr<cpu::Conv> direct_;
  std::unique_ptr<cpu::Winograd> winograd_;  // null: it cannot run the layer
  cpu::AlignedFloats scratch_;
};

// One row of the result: our kernel on one mask.
struct Cell {
  std::string mask;
  LayerMask pixels;
  std::string scheme;
};

std::vector<Cell> CellsOf(const Layer& layer, const OwnLayer& own, const MaskShapes& shapes,
                          bool full) {
  std::vector<Cell> cells;
  LayerMask all{Mask(layer.height, layer.width), 1.0};
  SetAll(all.input);
  for (const std::string& scheme : own.Schemes()) cells.push_back({"all", all, scheme});
  const std::span<const double> shares =
      full ? std::span<const double>(kAllShares) : std::span<const double>(kSampleShares);
  for (const std::string& kind : shapes.kinds()) {
    if (kind == "8 blobs" && !full) continue;
    for (const double share : shares) {
      const std::optional<LayerMask> pixels = shapes.Find(kind, share, layer);
      if (!pixels) continue;  // the map is too small for the mask, or there is no such frame
      for (const std::string& scheme : own.Schemes()) cells.push_back({kind, *pixels, scheme});
    }
  }
  return cells;
}

// The processes with other engines, which stay from layer to layer.
struct Peers {
  std::unique_ptr<Worker> onednn;
  std::unique_ptr<Worker> mnn;   // none without scripts/bench
  std::unique_ptr<Worker> sige;  // only where a build of it is given

  Peers(int threads, const BenchOptions& options) {
    const std::string count = std::to_string(threads);
    onednn = Start({EngineWorker(), "onednn-layer", "--threads", count});
    const std::string peers = (SourceFolder() / "tests/rivals/peers/").string();
    if (!options.peers_python.empty()) {
      mnn = Start({options.peers_python.string(), peers + "peers.py", "mnn-layer", "--threads",
                   count, "--cache", options.cache.string()});
    }
    if (!options.sige.empty()) {
      sige = Start({options.sige_python.string(), peers + "sige_layer.py", "--sige",
                    options.sige.string(), "--threads", count});
    }
  }

  static std::unique_ptr<Worker> Start(const std::vector<std::string>& command) {
    auto worker = std::make_unique<Worker>(command);
    worker->FirstAnswer();
    worker->WaitUntilIdle();
    return worker;
  }
};

// Whether a peer takes the layer; if not, a note says why.
bool Takes(Worker* worker, const char* name, const Layer& layer, BenchReport* report) {
  if (worker == nullptr) return false;
  try {
    worker->Ask("layer " + ToJson(layer).dump());
    worker->WaitUntilIdle();
    return true;
  } catch (const std::runtime_error& error) {
    report->AddNote(std::string(name) + " is not measured on " + layer.name + ": " + error.what());
    return false;
  }
}

// Medians, in the order in which turns were added.
class Contest {
 public:
  size_t Add(Turn turn) {
    turns_.push_back(std::move(turn));
    return turns_.size() - 1;
  }
  void Run(const TimingOptions& options) { timing_ = TimeTurns(turns_, options); }

  double Median(size_t turn) const { return timing_.contenders[turn].Median(); }
  const Timing& timing() const { return timing_; }

 private:
  std::vector<Turn> turns_;
  Timing timing_;
};

std::string MaskFile(const TemporaryFolder& folder, size_t index, const LayerMask& mask) {
  const fs::path path = folder.path() / ("mask" + std::to_string(index));
  std::ofstream file(path, std::ios::binary);
  const ConstMaskView view = mask.input;
  for (int y = 0; y < view.height; ++y) {
    for (int x = 0; x < view.width; ++x) file.put(view.Test(y, x) ? 1 : 0);
  }
  return path.string();
}

void MeasureLayer(const Layer& layer, int threads, const MaskShapes& shapes, Peers& peers,
                  const BenchOptions& options, BenchReport* report) {
  OwnLayer own(layer, threads);
  const std::vector<Cell> cells = CellsOf(layer, own, shapes, options.full);

  Contest contest;
  std::optional<size_t> onednn;
  std::optional<size_t> mnn;
  if (Takes(peers.onednn.get(), "onednn", layer, report)) {
    onednn = contest.Add([&](int count) { return peers.onednn->Time(count); });
  }
  if (Takes(peers.mnn.get(), "mnn", layer, report)) {
    mnn = contest.Add([&](int count) { return peers.mnn->Time(count); });
  }
  std::vector<size_t> whole;
  for (const std::string& scheme : own.Schemes()) {
    whole.push_back(contest.Add(OwnTurn([&own, scheme] { own.RunWhole(scheme); })));
  }
  std::vector<size_t> of_cell;
  for (const Cell& cell : cells) {
    of_cell.push_back(
        contest.Add(OwnTurn([&own, &cell] { own.RunActive(cell.scheme, cell.pixels.input); })));
  }
  // SIGE takes one mask at a time, named before each of its turns.
  const TemporaryFolder folder;
  std::map<std::string, size_t> sige;  // by name of the mask's file
  std::vector<std::string> sige_mask(cells.size());
  if (Takes(peers.sige.get(), "sige", layer, report)) {
    for (size_t i = 0; i < cells.size(); ++i) {
      if (cells[i].scheme != "direct") continue;
      const std::string file = MaskFile(folder, i, cells[i].pixels);
      sige_mask[i] = file;
      sige[file] = contest.Add([&peers, file](int count) {
        peers.sige->Ask("mask " + file);
        return peers.sige->Time(count);
      });
    }
  }

  contest.Run(options.timing);
  report->AddNoise(contest.timing());
  double dense_ms = contest.Median(whole.front());
  for (const size_t turn : whole) dense_ms = std::min(dense_ms, contest.Median(turn));
  for (size_t i = 0; i < cells.size(); ++i) {
    ordered_json row = {{"layer", layer.name},       {"threads", threads},
                        {"mask", cells[i].mask},     {"share", cells[i].pixels.share},
                        {"scheme", cells[i].scheme}, {"median_ms", contest.Median(of_cell[i])},
                        {"onednn_ms", nullptr},      {"mnn_ms", nullptr},
                        {"dense_ms", dense_ms}};
    if (onednn) row["onednn_ms"] = contest.Median(*onednn);
    if (mnn) row["mnn_ms"] = contest.Median(*mnn);
    if (peers.sige != nullptr) {
      row["sige_ms"] = nullptr;
      if (!sige_mask[i].empty()) row["sige_ms"] = contest.Median(sige.at(sige_mask[i]));
    }
    report->AddRow(std::move(row));
  }
}

// ---------------------------------------------------------------------------------------------
// What the rows say.

double Number(const ordered_json& row, const char* key) {
  return row.at(key).is_null() ? NAN : row.at(key).get<double>();
}

// One line per layer, number of threads and scheme: times with everything active, then our time
// over oneDNN's at each share, for the worst mask.
void SumUp(const std::vector<ordered_json>& rows, BenchReport* report) {
  constexpr std::array kColumns = {0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9};
  std::map<std::string, size_t> lines;
  std::vector<ordered_json> table;
  for (const ordered_json& row : rows) {
    const std::string key = row.at("layer").get<std::string>() + row.at("threads").dump() +
                            row.at("scheme").get<std::string>();
    if (!lines.contains(key)) {
      lines[key] = table.size();
      ordered_json line = {{"layer", row.at("layer")},   {"threads", row.at("threads")},
                           {"scheme", row.at("scheme")}, {"onednn_ms", row.at("onednn_ms")},
                           {"mnn_ms", row.at("mnn_ms")}, {"100 %", nullptr}};
      for (const double share : kColumns) {
        line[std::to_string(std::lround(share * 100)) + " %"] = nullptr;
      }
      table.push_back(std::move(line));
    }
    ordered_json& line = table[lines[key]];
    const double ratio = Number(row, "median_ms") / Number(row, "onednn_ms");
    const double share = Number(row, "share");
    std::string column = "100 %";
    double distance = std::abs(share - 1.0);
    for (const double nominal : kColumns) {
      if (std::abs(share - nominal) >= distance) continue;
      distance = std::abs(share - nominal);
      column = std::to_string(std::lround(nominal * 100)) + " %";
    }
    if (line[column].is_null() || line[column].get<double>() < ratio) line[column] = ratio;
  }
  for (ordered_json& line : table) report->AddTableRow(std::move(line));
}

// How far rows are from a bound, worst first: a row's excess is its time over the bound.
void AddVerdict(const std::string& what, const std::vector<ordered_json>& rows,
                const std::function<std::optional<double>(const ordered_json&)>& bound_ms,
                BenchReport* report) {
  constexpr size_t kShown = 6;
  std::vector<std::pair<double, const ordered_json*>> excess;
  size_t missed = 0;
  for (const ordered_json& row : rows) {
    const std::optional<double> bound = bound_ms(row);
    if (!bound || std::isnan(*bound)) continue;
    excess.emplace_back(Number(row, "median_ms") / *bound, &row);
    if (excess.back().first > 1.0) ++missed;
  }
  std::sort(excess.begin(), excess.end(),
            [](const auto& a, const auto& b) { return a.first > b.first; });
  report->AddNote(what + ": " + std::to_string(excess.size() - missed) + " of " +
                  std::to_string(excess.size()) + " cells; the worst, as time over bound:");
  for (size_t i = 0; i < std::min(kShown, excess.size()); ++i) {
    const ordered_json& row = *excess[i].second;
    std::array<char, 200> line;
    std::snprintf(line.data(), line.size(), "  %.2f  %s, %d threads, %s, %.1f %%, %s: %.3f ms",
                  excess[i].first, row.at("layer").get<std::string>().c_str(),
                  row.at("threads").get<int>(), row.at("mask").get<std::string>().c_str(),
                  Number(row, "share") * 100.0, row.at("scheme").get<std::string>().c_str(),
                  Number(row, "median_ms"));
    report->AddNote(line.data());
  }
}

void Judge(const std::vector<ordered_json>& rows, BenchReport* report) {
  std::map<std::string, const Layer*> layers;
  for (const Layer& layer : KnownLayers()) layers[layer.name] = &layer;
  const auto layer_of = [&](const ordered_json& row) -> const Layer& {
    return *layers.at(row.at("layer").get<std::string>());
  };
  using Bound = std::optional<double>;
  AddVerdict(
      "direct <= (share + 0.04) oneDNN, 32 channels or more", rows,
      [&](const ordered_json& row) -> Bound {
        const Layer& layer = layer_of(row);
        if (row.at("scheme") != "direct" || std::min(layer.in, layer.out) < 32) return {};
        return (Number(row, "share") + 0.04) * Number(row, "onednn_ms");
      },
      report);
  AddVerdict(
      "winograd <= 0.55 oneDNN, everything active, 28x28 and 32 channels or more", rows,
      [&](const ordered_json& row) -> Bound {
        const Layer& layer = layer_of(row);
        const bool counts = row.at("scheme") == "winograd" && row.at("mask") == "all" &&
                            layer.groups == 1 && std::min(layer.in, layer.out) >= 32 &&
                            std::min(layer.height, layer.width) >= 28;
        if (!counts) return {};
        return 0.55 * Number(row, "onednn_ms");
      },
      report);
  // A plan would choose the best scheme of each layer.
  std::map<std::string, ordered_json> best;
  for (const ordered_json& row : rows) {
    if (row.at("mask") != "all") continue;
    const std::string key = row.at("layer").get<std::string>() + row.at("threads").dump();
    if (!best.contains(key) || Number(row, "median_ms") < Number(best[key], "median_ms")) {
      best[key] = row;
    }
  }
  std::vector<ordered_json> best_rows;
  for (const auto& [key, row] : best) best_rows.push_back(row);
  AddVerdict(
      "never slower than 1.05 oneDNN with everything active", best_rows,
      [&](const ordered_json& row) -> Bound { return 1.05 * Number(row, "onednn_ms"); }, report);
  AddVerdict(
      "faster than MNN with everything active", best_rows,
      [&](const ordered_json& row) -> Bound { return Number(row, "mnn_ms"); }, report);
}

// SIGE's time over ours, by share: the geometric mean over layers and masks.
void CompareWithSige(const std::vector<ordered_json>& rows, BenchReport* report) {
  struct Sum {
    double logarithms = 0.0;
    int count = 0;
  };
  std::map<std::pair<int, int>, Sum> sums;  // by threads and the share in per cent
  for (const ordered_json& row : rows) {
    const double sige_ms = row.contains("sige_ms") ? Number(row, "sige_ms") : NAN;
    if (std::isnan(sige_ms)) continue;
    const int threads = row.at("threads").get<int>();
    Sum& sum = sums[{threads, static_cast<int>(std::lround(Number(row, "share") * 100.0))}];
    sum.logarithms += std::log(sige_ms / Number(row, "median_ms"));
    ++sum.count;
  }
  for (const auto& [key, sum] : sums) {
    std::array<char, 100> line;
    std::snprintf(line.data(), line.size(), "SIGE over ours, %d threads, %d %%: %.2f (%d cells)",
                  key.first, key.second, std::exp(sum.logarithms / sum.count), sum.count);
    report->AddNote(line.data());
  }
}

bool IsChosen(const Layer& layer, const BenchOptions& options) {
  if (options.layers.empty()) return layer.in_sample || options.full;
  const std::string name = layer.name;
  return std::any_of(options.layers.begin(), options.layers.end(),
                     [&](const std::string& beginning) { return name.starts_with(beginning); });
}

void CheckLayers(const std::vector<std::string>& beginnings) {
  for (const std::string& beginning : beginnings) {
    const bool is_known = std::any_of(
        KnownLayers().begin(), KnownLayers().end(),
        [&](const Layer& layer) { return std::string(layer.name).starts_with(beginning); });
    if (!is_known) throw InputError("--layer: there is no layer whose name begins " + beginning);
  }
}

void CheckSige(const fs::path& folder) {
  if (!folder.empty() && !fs::is_directory(folder / "sige")) {
    throw InputError("--sige: " + folder.string() + " holds no package named sige");
  }
}

}  // namespace

void BenchKernels(const BenchOptions& options, BenchReport* report) {
  if (options.precision == "int8") return BenchInt8Kernels(options, report);
  CheckLayers(options.layers);
  CheckSige(options.sige);
  BenchOptions chosen = options;
  // There are hundreds of contests with dozens of cells each.
  chosen.timing.min_time_ms = options.timing.min_time_ms / 2.0;
  chosen.timing.turn_ms = 1.0;
  chosen.timing.min_rounds = 7;
  chosen.timing.warm_up_rounds = 1;
  const MaskShapes shapes(SharedData("video"));
  if (shapes.kinds().back() != "video") {
    report->AddNote("No masks of real videos: ../shared/data/video is not here.");
  }
  if (options.peers_python.empty()) report->AddNote("MNN is measured through scripts/bench alone.");
  const std::vector<int> threads =
      options.threads.empty() ? std::vector<int>{1, 2} : options.threads;
  for (const int count : threads) {
    PinToCores(count);
    Peers peers(count, options);
    for (const Layer& layer : KnownLayers()) {
      if (!IsChosen(layer, options)) continue;
      std::cerr << layer.name << ", " << count << (count == 1 ? " thread\n" : " threads\n");
      MeasureLayer(layer, count, shapes, peers, chosen, report);
    }
  }
  const std::vector<ordered_json> rows = report->rows();
  SumUp(rows, report);
  Judge(rows, report);
  CompareWithSige(rows, report);
}

}  // namespace cacheinf

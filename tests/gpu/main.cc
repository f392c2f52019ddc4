// Checks and times the kernels for GPUs where there is little but a compiler, on a GPU or on the
// stand-in. scripts/gpu-check runs it.

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/model/graph/pack.h"
#include "sparse_ops/cuda/conv_kernels.h"
#include "sparse_ops/cuda/winograd_kernels.h"
#include "tests/gpu/networks.h"
#include "tests/gpu/place.h"
#include "tests/gpu/timing.h"
#include "tests/sparse_ops/case_checks.h"

namespace cacheinf {
namespace {

constexpr const char* kHelp = R"(cacheinf-gpu-check COMMAND [OPTION...] [MODEL...]

  device     says what the kernels run on
  cases      every case of the table of operators against the reference, bit for bit; in a lower
             precision those of convolutions, within what rounding explains, and any rows and pixels
             against the bits of a dense run
  large      one case a kind of operator, of the sizes of networks, bit for bit
  networks   whole and changed frames of small random networks, and of MODELs, likewise; in a lower
             precision against a dense run with other tiles
  frames     times whole frames of MODELs, and such of which a share changes
  operators  times every operator of MODELs
  convs      prints what a whole frame of MODELs and their convolutions take, for
             cacheinf-gpu-cudnn
  kernels    prints threads and shared memory of a block of the kernels of convolutions
  pack FILE  writes a small random network

  --gpu          fail where there is no GPU; else the stand-in takes its place
  --stand-in     on the stand-in, whatever there is
  --precision P  of convolutions: exact, tf32, fp16, bf16 (default: exact)
  --seed N       of the stand-in's order of threads, and of random networks (default: 1)
  --part I/N     of cases and random networks only each N-th, from the I-th (from 1) on
  --seconds S    for each row of frames, and for whole frames of convs (default: 2)

MODELs are CacheInf's own files (cacheinf-profile pack). Exit code 1: something has other bits.
)";

struct Options {
  std::string command;
  bool needs_gpu = false;
  Place place;
  uint32_t part = 0;
  uint32_t parts = 1;
  double seconds = 2.0;
  std::vector<std::string> files;
};

template <typename T>
T Number(std::string_view option, std::string_view text, T least) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !(number >= least)) {
    throw InputError(std::string(option) + " cannot be '" + std::string(text) + "'");
  }
  return number;
}

// In the order of cuda::Precision.
constexpr std::array<const char*, 4> kPrecisions = {"exact", "tf32", "fp16", "bf16"};

cuda::Precision PrecisionOf(std::string_view word) {
  const auto* const found = std::find(kPrecisions.begin(), kPrecisions.end(), word);
  if (found == kPrecisions.end()) {
    throw InputError("--precision cannot be '" + std::string(word) + "'");
  }
  return static_cast<cuda::Precision>(found - kPrecisions.begin());
}

const char* NameOf(cuda::Precision precision) {
  return kPrecisions[static_cast<size_t>(precision)];
}

Options Parse(std::span<char*> arguments) {
  Options options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    const auto value = [&]() -> std::string_view {
      if (i + 1 == arguments.size()) throw InputError(std::string(argument) + " needs a value");
      return arguments[++i];
    };
    if (argument == "--gpu") {
      options.needs_gpu = true;
    } else if (argument == "--stand-in") {
      options.place.is_stand_in = true;
    } else if (argument == "--seed") {
      options.place.seed = Number<unsigned>(argument, value(), 0);
    } else if (argument == "--precision") {
      options.place.precision = PrecisionOf(value());
    } else if (argument == "--seconds") {
      options.seconds = Number<double>(argument, value(), 0.0);
    } else if (argument == "--part") {
      const std::string_view text = value();
      const size_t slash = text.find('/');
      if (slash == text.npos) throw InputError("--part wants I/N, not '" + std::string(text) + "'");
      options.parts = Number<uint32_t>("N of --part", text.substr(slash + 1), 1);
      options.part = Number<uint32_t>("I of --part", text.substr(0, slash), 1) - 1;
      if (options.part >= options.parts) throw InputError("I of --part cannot be above N");
    } else if (argument.starts_with("-")) {
      throw InputError("unknown option " + std::string(argument));
    } else if (options.command.empty()) {
      options.command = argument;
    } else {
      options.files.emplace_back(argument);
    }
  }
  if (options.command.empty()) throw InputError("which command? --help names them");
  return options;
}

class Progress {
 public:
  // Prints a line. Returns the exit code so far.
  int Note(const std::string& what, const std::string& wrong) {
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    std::printf("%-4s %6.1f s  %s%s%s\n", wrong.empty() ? "ok" : "BAD", seconds, what.c_str(),
                wrong.empty() ? "" : ": ", wrong.c_str());
    std::fflush(stdout);
    begin_ = std::chrono::steady_clock::now();
    if (!wrong.empty()) exit_code_ = 1;
    return exit_code_;
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  int exit_code_ = 0;
};

std::vector<OperatorCase> Part(const std::vector<OperatorCase>& cases, const Options& options) {
  std::vector<OperatorCase> part;
  for (size_t i = options.part; i < cases.size(); i += options.parts) part.push_back(cases[i]);
  return part;
}

// All cases for the exact precision; for others those whose bits depend on it.
std::vector<OperatorCase> CasesFor(cuda::Precision precision) {
  std::vector<OperatorCase> cases = OperatorCases();
  if (precision != cuda::Precision::kExact) {
    std::erase_if(cases, [](const OperatorCase& c) { return !c.name.starts_with("conv_"); });
  }
  return cases;
}

int CheckCases(const Options& options) {
  Progress progress;
  int exit_code = 0;
  options.place.WithFamily([&](const OperatorFamily& family) {
    const Families families = OnlyFamily(family);
    const std::vector<OperatorCase> small = Part(CasesFor(options.place.precision), options);
    const std::string count = std::to_string(small.size()) + " cases";
    progress.Note(count + " in any rows and at any pixels",
                  CheckReferenceBits(small, families, 20261301 + options.place.seed));
    exit_code = progress.Note(count + " with a change test",
                              CheckChanges(small, families, 20261401 + options.place.seed));
  });
  return exit_code;
}

int CheckLargeCases(const Options& options) {
  if (options.place.is_stand_in) throw InputError("large: the stand-in would take too long");
  if (options.place.precision != cuda::Precision::kExact) throw InputError("large: only exact");
  Progress progress;
  int exit_code = 0;
  options.place.WithFamily([&](const OperatorFamily& family) {
    const std::vector<OperatorCase> large = Part(TimedCases(), options);
    exit_code = progress.Note(std::to_string(large.size()) + " cases of the sizes of networks",
                              CheckReferenceBits(large, OnlyFamily(family), 20261501));
  });
  return exit_code;
}

int CheckNetworks(const Options& options) {
  constexpr uint32_t kNetworks = 24;
  Progress progress;
  int exit_code = 0;
  int count = 0;
  std::string wrong;
  for (uint32_t seed = options.part; seed < kNetworks && wrong.empty(); seed += options.parts) {
    ++count;
    wrong = CheckNetwork(PackedNetwork(seed), options.place, 4, seed);
    if (!wrong.empty()) wrong = "network " + std::to_string(seed) + ", " + wrong;
  }
  exit_code = progress.Note(std::to_string(count) + " random networks", wrong);
  for (const std::string& file : options.files) {
    exit_code = progress.Note(file, CheckNetwork(ReadPack(file), options.place, 1, 1));
  }
  return exit_code;
}

std::string NameOf(const std::string& file) { return std::filesystem::path(file).stem().string(); }

int TimeAllFrames(const Options& options) {
  std::printf(
      "| network | precision | changed | policy | ms | p95 | multiply-adds | frames |\n"
      "|---|---|---|---|---|---|---|---|\n");
  for (const std::string& file : options.files) {
    for (const FrameTime& row : TimeFrames(ReadPack(file), options.place, options.seconds)) {
      std::printf("| %s | %s | %g %% | %s | %.3f | %.3f | %.1f %% | %d |\n", NameOf(file).c_str(),
                  NameOf(options.place.precision), 100 * row.active, row.policy.c_str(),
                  row.median_ms, row.p95_ms, 100 * row.work, row.frames);
      std::fflush(stdout);
    }
  }
  return 0;
}

std::string ShapeText(const Shape& shape) {
  std::string text;
  for (const int64_t dim : shape) text += (text.empty() ? "" : "x") + std::to_string(dim);
  return text;
}

int TimeAllOperators(const Options& options) {
  std::printf("| network | operator | kind | output | ms | GFLOP/s |\n|---|---|---|---|---|---|\n");
  for (const std::string& file : options.files) {
    const Graph graph = ReadPack(file);
    double sum_ms = 0.0;
    for (const OperatorTime& row : TimeOperators(graph, options.place)) {
      sum_ms += row.ms;
      std::printf("| %s | %s | %s | %s | %.4f | %.0f |\n", NameOf(file).c_str(),
                  row.op->name.c_str(), KindName(*row.op).c_str(),
                  ShapeText(graph.value(row.op->outputs[0]).shape).c_str(), row.ms,
                  row.ms > 0.0 ? 2e-6 * static_cast<double>(row.multiply_adds) / row.ms : 0.0);
    }
    std::printf("| %s | all | | | %.4f | |\n", NameOf(file).c_str(), sum_ms);
  }
  return 0;
}

// Prints for each network: "frame", precision, name, ms of a whole frame, megabytes of device
// memory. Then for each of its convolutions: "conv", operator, the input's dims, output channels,
// kernel, stride, padding and dilation of rows and columns, groups, ms.
int PrintConvs(const Options& options) {
  for (const std::string& file : options.files) {
    const Graph graph = ReadPack(file);
    const DenseTime dense = TimeDenseFrames(graph, options.place, options.seconds);
    std::printf("frame %s %s %.5f %.1f\n", NameOf(options.place.precision), NameOf(file).c_str(),
                dense.frame.median_ms, static_cast<double>(dense.device_bytes) / 1e6);
    for (const OperatorTime& row : TimeOperators(graph, options.place)) {
      const auto* conv = row.op->As<op::Conv>();
      const Shape& in = graph.value(row.op->inputs[0]).shape;
      if (conv == nullptr || conv->spec.transposed) continue;
      const WindowAxis& rows = conv->spec.rows;
      const WindowAxis& columns = conv->spec.columns;
      if (rows.pad_begin != rows.pad_end || columns.pad_begin != columns.pad_end) continue;
      std::printf("conv %s %s %s %d %d %d %d %d %d %d %d %d %.5f\n", row.op->name.c_str(),
                  ShapeText(in).c_str(),
                  std::to_string(graph.value(row.op->outputs[0]).shape[1]).c_str(), rows.kernel,
                  columns.kernel, rows.stride, columns.stride, rows.pad_begin, columns.pad_begin,
                  rows.dilation, columns.dilation, conv->spec.groups, row.ms);
    }
  }
  return 0;
}

// Prints: name, its form in names of compiled kernels, threads of a block, bytes of shared memory,
// the least compute capability.
void PrintKernel(const char* name, const char* mangled, int threads, size_t shared_bytes,
                 int least_capability) {
  std::printf("convolution, %s\t%s\t%d\t%zu\t%d\n", name, mangled, threads, shared_bytes,
              least_capability);
}
template <class Gemm>
void PrintGemm(const std::string& name, const std::string& mangled, int least_capability) {
  PrintKernel(name.c_str(), mangled.c_str(), Gemm::kThreads, Gemm::SharedBytes(), least_capability);
}
template <cuda::Precision kPrecision>
void PrintMatrixGemms(const std::string& name) {
  const std::string number = std::to_string(static_cast<int>(kPrecision));
  const std::string warp = "PrecisionE" + number + "ELi1ELi2ELi";
  const std::string epilogue = "EEENS3_ILS4_" + number + "ELi";
  using Warps = cuda::ConvGemms<kPrecision>;
  PrintGemm<typename Warps::Wide>(name + ", wide", warp + "8" + epilogue + "2E", 80);
  PrintGemm<typename Warps::Middle>(name + ", middle", warp + "8" + epilogue + "4E", 80);
  PrintGemm<typename Warps::Narrow>(name + ", narrow", warp + "4E", 80);
  const std::string group = "WarpgroupTileILNS0_9PrecisionE" + number + "ELi2ELi";
  using Groups = cuda::WarpgroupGemms<kPrecision>;
  PrintGemm<typename Groups::Middle>(name + " by warpgroups, wide and middle", group + "8E", 90);
  PrintGemm<typename Groups::Narrow>(name + " by warpgroups, narrow", group + "4E", 90);
}

int PrintKernels() {
  using Exact = cuda::ConvGemms<cuda::Precision::kExact>;
  PrintGemm<Exact::Wide>("exact, wide", "FmaTileILi8ELi8EEENS3_ILi2E", 75);
  PrintGemm<Exact::Middle>("exact, middle", "FmaTileILi8ELi8EEENS3_ILi1E", 75);
  PrintGemm<Exact::Narrow>("exact, narrow", "FmaTileILi8ELi4E", 75);
  PrintMatrixGemms<cuda::Precision::kTf32>("TF32");
  PrintMatrixGemms<cuda::Precision::kHalf>("FP16");
  PrintMatrixGemms<cuda::Precision::kBfloat16>("BF16");
  PrintKernel("Winograd, inputs", "TransformWinogradInput", cuda::TransformWinogradInput::kThreads,
              0, 75);
  PrintKernel("Winograd, outputs", "TransformWinogradOutput",
              cuda::TransformWinogradOutput::kThreads, 0, 75);
  PrintKernel("depthwise", "ConvDirectILb1E", cuda::ConvDirect<true>::kThreads, 0, 75);
  PrintKernel("small groups", "ConvDirectILb0E", cuda::ConvDirect<false>::kThreads, 0, 75);
  return 0;
}

int Run(Options options) {
  if (options.command == "pack") {
    if (options.files.size() != 1) throw InputError("pack: into which file?");
    WritePack(PackedNetwork(options.place.seed), options.files[0]);
    return 0;
  }
  if (options.command == "kernels") return PrintKernels();
  const std::string why_no_gpu = options.place.is_stand_in ? "" : WhyNoGpu();
  if (!why_no_gpu.empty()) {
    if (options.needs_gpu) throw InputError("there is no GPU here: " + why_no_gpu);
    std::fprintf(stderr, "there is no GPU here: %s\n", why_no_gpu.c_str());
    options.place.is_stand_in = true;
  }
  std::fprintf(stderr, "on %s\n", options.place.Describe().c_str());
  const std::string& command = options.command;
  if (command == "device") return 0;
  if (command == "cases") return CheckCases(options);
  if (command == "large") return CheckLargeCases(options);
  if (command == "networks") return CheckNetworks(options);
  if (options.files.empty()) throw InputError(command + ": which models?");
  if (command == "frames") return TimeAllFrames(options);
  if (command == "operators") return TimeAllOperators(options);
  if (command == "convs") return PrintConvs(options);
  throw InputError("unknown command " + command);
}

}  // namespace
}  // namespace cacheinf

int main(int count, char** arguments) {
  const std::span<char*> own(arguments + 1, static_cast<size_t>(count - 1));
  for (const std::string_view argument : own) {
    if (argument != "--help" && argument != "-h") continue;
    std::fputs(cacheinf::kHelp, stdout);
    return 0;
  }
  try {
    return cacheinf::Run(cacheinf::Parse(own));
  } catch (const cacheinf::InputError& error) {
    std::fprintf(stderr, "cacheinf-gpu-check: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cacheinf-gpu-check: %s\n", error.what());
    return 1;
  }
}

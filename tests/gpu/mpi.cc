// Shows whether MPI carries a GPU's memory, and what that would save. Two ranks exchange buffers
// through pinned host memory, and straight from one device's memory to the other's. Without GPUs,
// the stand-in takes their place. scripts/gpu-check mpi runs it.

#include <mpi.h>
// Must follow mpi.h.
#include <mpi-ext.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/link/mpi_library.h"
#include "sparse_ops/cuda/arena.h"
#include "sparse_ops/cuda/emulated/device.h"
#include "sparse_ops/cuda/real/device.h"
#include "tests/gpu/place.h"

namespace cacheinf {
namespace {

using std::chrono::steady_clock;

constexpr const char* kHelp = R"(mpirun -n 2 cacheinf-gpu-mpi [OPTION...]

  --gpu       fail where there is no GPU; else the stand-in takes its place
  --stand-in  on the stand-in, whatever there is

Exit code 1: bytes did not arrive as they were.
)";

constexpr size_t kLargest = size_t{4} << 20;
constexpr std::array<size_t, 8> kSizes = {1, 64, 1000, 4096, 65536, 262144, 1 << 20, kLargest};
constexpr int kRounds = 30;
constexpr int kTag = 1;
constexpr unsigned char kNothing = 0xa5;

enum class Way : uint8_t { kPinned, kDevice };

struct Options {
  bool needs_gpu = false;
  Place place;
};

// What `rank` sends in `round`.
std::vector<unsigned char> Pattern(int rank, int round, size_t bytes) {
  std::mt19937 random(static_cast<unsigned>(2 * round + rank));
  std::vector<unsigned char> pattern(bytes);
  for (unsigned char& byte : pattern) byte = static_cast<unsigned char>(random());
  return pattern;
}

// Exchanges buffers with the other rank. Allocates all memory once.
template <class Device>
class Exchange {
 public:
  Exchange(Device& device, int rank)
      : device_(device),
        arena_(device),
        stream_(device.MakeStream()),
        rank_(rank),
        source_(arena_, kLargest),
        own_(arena_, kLargest),
        others_(arena_, kLargest),
        pinned_(static_cast<unsigned char*>(device.AllocateHost(kLargest))) {}
  ~Exchange() { device_.FreeHost(pinned_); }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Milliseconds there and back: from asking the device to make the bytes to send, until the device
  // can use those that arrived. Throws if these are not what the other rank sent.
  double RoundTrip(Way way, int round, size_t bytes) {
    const std::vector<unsigned char> pattern = Pattern(rank_, round, bytes);
    device_.CopyToDevice(stream_, source_.data(), pattern.data(), bytes);
    for (const auto* buffer : {&own_, &others_}) {
      device_.Fill(stream_, buffer->data(), kNothing, bytes);
    }
    device_.Synchronize(stream_);
    MPI_Barrier(MPI_COMM_WORLD);
    const auto begin = steady_clock::now();
    device_.CopyOnDevice(stream_, own_.data(), source_.data(), bytes);
    if (rank_ == 0) Send(way, bytes);
    Receive(way, bytes);
    if (rank_ == 1) Send(way, bytes);
    const std::chrono::duration<double, std::milli> time = steady_clock::now() - begin;
    CheckArrived(way, round, bytes);
    return time.count();
  }

 private:
  void Send(Way way, size_t bytes) {
    const void* from = pinned_;
    if (way == Way::kDevice) {
      from = device_.Reach(own_.data(), bytes);
    } else {
      device_.CopyToHost(stream_, pinned_, own_.data(), bytes);
    }
    // MPI does not wait for streams.
    device_.Synchronize(stream_);
    MPI_Send(from, static_cast<int>(bytes), MPI_BYTE, 1 - rank_, kTag, MPI_COMM_WORLD);
  }

  void Receive(Way way, size_t bytes) {
    void* const to = way == Way::kDevice ? device_.Reach(others_.data(), bytes) : pinned_;
    MPI_Recv(to, static_cast<int>(bytes), MPI_BYTE, 1 - rank_, kTag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    if (way == Way::kDevice) return;
    device_.CopyToDevice(stream_, others_.data(), pinned_, bytes);
    device_.Synchronize(stream_);
  }

  void CheckArrived(Way way, int round, size_t bytes) {
    std::vector<unsigned char> arrived(bytes);
    device_.CopyToHost(stream_, arrived.data(), others_.data(), bytes);
    device_.Synchronize(stream_);
    const std::vector<unsigned char> sent = Pattern(1 - rank_, round, bytes);
    const auto [differs, _] = std::mismatch(arrived.begin(), arrived.end(), sent.begin());
    if (differs == arrived.end()) return;
    throw std::runtime_error("of " + std::to_string(bytes) + " bytes that came " +
                             (way == Way::kDevice ? "from device memory" : "through the host") +
                             " number " + std::to_string(differs - arrived.begin()) +
                             " is not what was sent");
  }

  Device& device_;
  cuda::Arena<Device> arena_;
  typename Device::Stream stream_;
  const int rank_;
  cuda::Buffer<cuda::Arena<Device>, unsigned char> source_;
  cuda::Buffer<cuda::Arena<Device>, unsigned char> own_;
  cuda::Buffer<cuda::Arena<Device>, unsigned char> others_;
  unsigned char* const pinned_;
};

// The median and the value that one in twenty exceeds.
std::string TimeText(std::vector<double> ms) {
  std::sort(ms.begin(), ms.end());
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%.4f, %.4f", ms[ms.size() / 2],
                ms[(ms.size() * 95 - 1) / 100]);
  return text.data();
}

template <class Device>
void ExchangeAll(Device& device, int rank, bool takes_device) {
  Exchange<Device> exchange(device, rank);
  if (rank == 0) {
    std::puts("| bytes | there and back through pinned memory: median, p95 ms | straight |");
    std::puts("|---:|---:|---:|");
  }
  for (const size_t bytes : kSizes) {
    std::vector<std::string> texts;
    for (const Way way : {Way::kPinned, Way::kDevice}) {
      if (way == Way::kDevice && !takes_device) continue;
      std::vector<double> ms;
      for (int round = 0; round < kRounds; ++round) {
        ms.push_back(exchange.RoundTrip(way, round, bytes));
      }
      texts.push_back(TimeText(std::move(ms)));
    }
    if (texts.size() == 1) texts.emplace_back("-");
    if (rank == 0) std::printf("| %zu | %s | %s |\n", bytes, texts[0].c_str(), texts[1].c_str());
  }
}

bool IsCudaAware() {
#if defined(MPIX_CUDA_AWARE_SUPPORT) && MPIX_CUDA_AWARE_SUPPORT
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

std::string Conclusion(bool is_stand_in, bool takes_device) {
  if (is_stand_in) {
    return "Every byte arrived, both ways. The memory was the stand-in's, which any MPI can send: "
           "of a GPU neither the times nor this say anything.";
  }
  if (takes_device) return "Every byte arrived, straight from a GPU's memory as well.";
  return "Every byte arrived through pinned memory. Nothing was sent straight from a GPU's: this "
         "MPI "
         "is not CUDA-aware (scripts/setup --cuda-mpi builds one that is).";
}

template <class Device>
void RunOn(Device& device, const Options& options, const std::string& why_no_gpu, int rank) {
  MPI_Init(nullptr, nullptr);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 2) throw InputError("two ranks exchange: mpirun -n 2 cacheinf-gpu-mpi");
  const bool is_stand_in = options.place.is_stand_in;
  const bool takes_device = is_stand_in || IsCudaAware();
  if (rank == 0) {
    if (!why_no_gpu.empty()) std::printf("There is no GPU here: %s.\n", why_no_gpu.c_str());
    std::printf("On %s. MPI is %s.\n\n", options.place.Describe().c_str(),
                QueryMpi().Describe().c_str());
  }
  ExchangeAll(device, rank, takes_device);
  if (rank == 0) std::printf("\n%s\n", Conclusion(is_stand_in, takes_device).c_str());
  MPI_Finalize();
}

void Run(Options options) {
  const char* const local_rank = std::getenv("OMPI_COMM_WORLD_LOCAL_RANK");
  if (local_rank == nullptr) throw InputError("mpirun starts it: mpirun -n 2 cacheinf-gpu-mpi");
  const int rank = std::atoi(local_rank);
  const std::string why_no_gpu = options.place.is_stand_in ? "" : WhyNoGpu();
  if (!why_no_gpu.empty()) {
    if (options.needs_gpu) throw InputError("there is no GPU here: " + why_no_gpu);
    options.place.is_stand_in = true;
  }
  // Choose the device before MPI starts, which asks for one.
  if (options.place.is_stand_in) {
    cuda::EmulatedDevice device;
    return RunOn(device, options, why_no_gpu, rank);
  }
#ifdef CACHEINF_HAS_CUDA
  cuda::RealDevice device(rank % cuda::RealDevice::Count());
  RunOn(device, options, why_no_gpu, rank);
#endif
}

Options Parse(std::span<char*> arguments) {
  Options options;
  for (const std::string_view argument : arguments) {
    if (argument == "--gpu") {
      options.needs_gpu = true;
    } else if (argument == "--stand-in") {
      options.place.is_stand_in = true;
    } else {
      throw InputError("unknown option " + std::string(argument));
    }
  }
  return options;
}

// Ends both ranks, so that the other does not wait forever.
int Fail(const std::exception& error, int exit_code) {
  std::fflush(stdout);
  std::fprintf(stderr, "cacheinf-gpu-mpi: %s\n", error.what());
  int is_started = 0;
  MPI_Initialized(&is_started);
  if (is_started != 0) MPI_Abort(MPI_COMM_WORLD, exit_code);
  return exit_code;
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
    cacheinf::Run(cacheinf::Parse(own));
    return 0;
  } catch (const cacheinf::InputError& error) {
    return cacheinf::Fail(error, 2);
  } catch (const std::exception& error) {
    return cacheinf::Fail(error, 1);
  }
}

#include "profiler/machine.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "common/base/json_fields.h"
#include "sparse_ops/cpu/simd_targets.h"

namespace cacheinf {

template <MaybeConst<CudaDevice> T, typename Visit>
void VisitFields(T& device, Visit& visit) {
  visit("name", device.name);
  visit("compute_capability", std::vector{device.compute_major, device.compute_minor});
  visit("multiprocessors", device.multiprocessors);
  visit("memory_bytes", device.memory_bytes);
}
CACHEINF_FIELDS(CudaReport, built_in, runtime_version, driver_version, devices)
CACHEINF_FIELDS(MpiLibrary, version, cuda_aware)
CACHEINF_FIELDS(Machine::CpuCache, level, kind, bytes)
CACHEINF_FIELDS(Machine, cpu, logical_cores, usable_cores, cpu_quota, caches, simd_targets,
                memory_bytes, os, kernel, cacheinf, compiler, build_type, libtorch, opencv, mpi,
                cuda)

namespace {

namespace fs = std::filesystem;

constexpr double kMebi = 1024.0 * 1024.0;

std::string FirstLine(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Returns the text after `separator` in the first line that starts with `key`.
std::string ValueInFile(const fs::path& path, std::string_view key, char separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const size_t at = line.find(separator);
    if (at == std::string::npos) continue;
    const size_t begin = line.find_first_not_of(" \t\"", at + 1);
    if (begin == std::string::npos) return "";
    return line.substr(begin, line.find_last_not_of(" \t\"") + 1 - begin);
  }
  return "";
}

std::string CpuName() {
  const std::string x86 = ValueInFile("/proc/cpuinfo", "model name", ':');
  if (!x86.empty()) return x86;
  // ARM boards give their name here, ended by a zero byte.
  std::string board = FirstLine("/proc/device-tree/model");
  board.resize(std::min(board.size(), board.find('\0')));
  return board.empty() ? "unknown" : board;
}

// "48K" or "2M" as sysfs writes it.
int64_t ParseCacheSize(const std::string& text) {
  std::istringstream stream(text);
  int64_t count = 0;
  char unit = ' ';
  stream >> count >> unit;
  if (unit == 'K') count <<= 10;
  if (unit == 'M') count <<= 20;
  return count;
}

std::vector<Machine::CpuCache> CpuCaches() {
  std::vector<Machine::CpuCache> caches;
  for (int index = 0;; ++index) {
    const fs::path folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
    if (!fs::exists(folder / "size")) return caches;
    Machine::CpuCache cache;
    std::istringstream(FirstLine(folder / "level")) >> cache.level;
    cache.kind = FirstLine(folder / "type");
    std::transform(cache.kind.begin(), cache.kind.end(), cache.kind.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    cache.bytes = ParseCacheSize(FirstLine(folder / "size"));
    caches.push_back(cache);
  }
}

int UsableCores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return 0;
  return CPU_COUNT(&cores);
}

double CpuQuota() {
  // Version 2 of control groups: "200000 100000" or "max 100000".
  std::istringstream both(FirstLine("/sys/fs/cgroup/cpu.max"));
  double quota = 0.0;
  double period = 0.0;
  if (both >> quota >> period && period > 0.0) return quota / period;
  std::istringstream(FirstLine("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")) >> quota;
  std::istringstream(FirstLine("/sys/fs/cgroup/cpu/cpu.cfs_period_us")) >> period;
  return quota > 0.0 && period > 0.0 ? quota / period : 0.0;
}

std::string CudaVersion(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

std::string Join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : " ") + part;
  return text;
}

std::string CachesText(const std::vector<Machine::CpuCache>& caches) {
  std::ostringstream text;
  for (const Machine::CpuCache& cache : caches) {
    if (text.tellp() > 0) text << ", ";
    text << "L" << cache.level << " " << cache.kind << " " << cache.bytes / 1024 << " KiB";
  }
  return text.str();
}

std::string CudaText(const CudaReport& cuda) {
  std::ostringstream text;
  if (!cuda.built_in) return "not in this build";
  text << "runtime " << CudaVersion(cuda.runtime_version) << ", driver "
       << (cuda.driver_version == 0 ? "none" : CudaVersion(cuda.driver_version));
  if (!cuda.why_no_device.empty()) text << ", no device: " << cuda.why_no_device;
  for (const CudaDevice& device : cuda.devices) {
    text << "\n             " << device.name << ", compute capability " << device.compute_major
         << "." << device.compute_minor << ", " << device.multiprocessors << " multiprocessors, "
         << static_cast<int64_t>(static_cast<double>(device.memory_bytes) / kMebi) << " MiB";
  }
  return text.str();
}

}  // namespace

Machine DescribeMachine() {
  Machine machine;
  machine.cpu = CpuName();
  machine.logical_cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  machine.usable_cores = UsableCores();
  machine.cpu_quota = CpuQuota();
  machine.caches = CpuCaches();
  machine.simd_targets = SimdTargets();
  machine.memory_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE);
  machine.os = ValueInFile("/etc/os-release", "PRETTY_NAME", '=');
  utsname kernel;
  if (uname(&kernel) == 0) {
    machine.kernel = std::string(kernel.sysname) + " " + kernel.release + " " + kernel.machine;
  }
  machine.cacheinf = CACHEINF_VERSION;
  machine.compiler = CACHEINF_COMPILER;
  machine.build_type = CACHEINF_BUILD_TYPE;
  machine.libtorch = CACHEINF_LIBTORCH_VERSION;
  machine.opencv = CACHEINF_OPENCV_VERSION;
  static const MpiLibrary mpi = QueryMpi();  // by a program, which takes a while
  machine.mpi = mpi;
  machine.cuda = QueryCuda();
  return machine;
}

std::string ToText(const Machine& machine) {
  std::ostringstream text;
  text << "cpu          " << machine.cpu << "\n";
  text << "cores        " << machine.usable_cores << " usable of " << machine.logical_cores;
  if (machine.cpu_quota > 0.0) text << ", limited to the time of " << machine.cpu_quota;
  text << "\n";
  text << "caches       " << CachesText(machine.caches) << "\n";
  text << "simd         " << Join(machine.simd_targets) << "\n";
  text << "memory       " << static_cast<int64_t>(static_cast<double>(machine.memory_bytes) / kMebi)
       << " MiB\n";
  text << "system       " << machine.os << ", " << machine.kernel << "\n";
  text << "cacheinf     " << machine.cacheinf << ", " << machine.build_type << ", "
       << machine.compiler << "\n";
  text << "libtorch     " << machine.libtorch << "\n";
  text << "opencv       " << machine.opencv << "\n";
  text << "mpi          " << machine.mpi.Describe() << "\n";
  text << "cuda         " << CudaText(machine.cuda) << "\n";
  text << "fingerprint  " << Fingerprint(machine) << "\n";
  return text.str();
}

nlohmann::json ToJson(const Machine& machine) {
  FieldsJson json = WriteFields(machine);
  json["fingerprint"] = Fingerprint(machine);
  return json;
}

std::string Fingerprint(const Machine& machine) {
  std::ostringstream facts;
  facts << machine.cpu << '|' << machine.usable_cores << '|' << machine.cpu_quota << '|'
        << CachesText(machine.caches) << '|' << Join(machine.simd_targets) << '|'
        << machine.memory_bytes << '|' << machine.cacheinf << '|' << machine.compiler << '|'
        << machine.build_type << '|' << machine.libtorch << '|' << CudaText(machine.cuda);
  // FNV-1a, whose result does not depend on the standard library.
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : facts.str()) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(16, '0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = kDigits[hash >> (60 - 4 * i) & 15];
  return text;
}

int CoresToUse(const Machine& machine) {
  int cores = std::max(1, machine.usable_cores);
  if (machine.cpu_quota > 0) {
    cores = std::clamp(static_cast<int>(std::ceil(machine.cpu_quota)), 1, cores);
  }
  return cores;
}

}  // namespace cacheinf

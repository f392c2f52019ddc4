#include "profiler/machine.h"

#include <fmt/core.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "common/base/json_fields.h"
#include "sparse_ops/cpu/simd_targets.h"

namespace cacheinf {

void VisitFields(MaybeConst<Machine> auto& machine, auto& visit) {
  VisitEach<
      "cpu logical_cores usable_cores cpu_quota caches simd_targets memory_bytes os kernel "
      "cacheinf compiler build_type libtorch opencv">(
      visit, machine.cpu, machine.logical_cores, machine.usable_cores, machine.cpu_quota,
      machine.caches, machine.simd_targets, machine.memory_bytes, machine.os, machine.kernel,
      machine.cacheinf_version, machine.compiler, machine.build_type, machine.libtorch_version,
      machine.opencv_version);
}

namespace {

namespace fs = std::filesystem;

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

std::vector<std::string> CpuCaches() {
  std::vector<std::string> caches;
  for (int index = 0;; ++index) {
    const fs::path folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
    if (!fs::exists(folder / "size")) return caches;
    caches.push_back(fmt::format("L{} {} {}", FirstLine(folder / "level"),
                                 FirstLine(folder / "type"), FirstLine(folder / "size")));
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

nlohmann::json CudaJson(const CudaReport& cuda) {
  if (!cuda.built_in) return "not in this build";
  nlohmann::json devices = nlohmann::json::array();
  for (const CudaDevice& device : cuda.devices) {
    devices.push_back({{"name", device.name},
                       {"compute_capability", {device.compute_major, device.compute_minor}},
                       {"multiprocessors", device.multiprocessors},
                       {"memory_bytes", device.memory_bytes}});
  }
  nlohmann::json json = {
      {"runtime", CudaVersion(cuda.runtime_version)},
      {"driver", cuda.driver_version == 0 ? "none" : CudaVersion(cuda.driver_version)},
      {"devices", devices}};
  if (!cuda.why_no_device.empty()) json["no_device"] = cuda.why_no_device;
  return json;
}

// All but the fingerprint.
nlohmann::json FactsOf(const Machine& machine) {
  FieldsJson json = WriteFields(machine);
  json["mpi"] = machine.mpi.Describe();
  json["cuda"] = CudaJson(machine.cuda);
  return json;
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
  machine.cacheinf_version = CACHEINF_VERSION;
  machine.compiler = CACHEINF_COMPILER;
  machine.build_type = CACHEINF_BUILD_TYPE;
  machine.libtorch_version = CACHEINF_LIBTORCH_VERSION;
  machine.opencv_version = CACHEINF_OPENCV_VERSION;
  machine.mpi = QueryMpi();
  machine.cuda = QueryCuda();
  return machine;
}

std::string ToText(const Machine& machine) {
  std::string text;
  const nlohmann::json facts = ToJson(machine);
  for (const auto& [key, fact] : facts.items()) {
    text +=
        fmt::format("{:<14}{}\n", key, fact.is_string() ? fact.get<std::string>() : TextOf(fact));
  }
  return text;
}

nlohmann::json ToJson(const Machine& machine) {
  nlohmann::json json = FactsOf(machine);
  json["fingerprint"] = Fingerprint(machine);
  return json;
}

std::string Fingerprint(const Machine& machine) {
  nlohmann::json facts = FactsOf(machine);
  for (const char* const of_no_effect : {"os", "kernel", "mpi"}) facts.erase(of_no_effect);
  const std::string text = TextOf(facts);
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

int CoresToUse(const Machine& machine) {
  int cores = std::max(1, machine.usable_cores);
  if (machine.cpu_quota > 0) {
    cores = std::clamp(static_cast<int>(std::ceil(machine.cpu_quota)), 1, cores);
  }
  return cores;
}

}  // namespace cacheinf

#include "tests/house/include_rules.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>
#include <string_view>

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

const std::map<std::string, std::set<std::string>, std::less<>> kMayInclude = {
    {"sparse_ops", {"sparse_ops"}},
    {"common", {"common", "sparse_ops"}},
    {"profiler", {"profiler", "common", "sparse_ops"}},
    {"scheduler", {"scheduler", "common", "sparse_ops"}},
    {"client", {"client", "profiler", "scheduler", "common", "sparse_ops"}},
    {"server", {"server", "profiler", "scheduler", "common", "sparse_ops"}},
};

// Which rooms a room may include; it may include what these may include as well. A room is a
// folder's files without the rooms inside it, or one file, named without its ending, that stands
// lower or higher than the rest of its folder.
const std::map<std::string, std::vector<std::string>, std::less<>> kRooms = {
    {"sparse_ops", {}},
    {"sparse_ops/mask", {"sparse_ops"}},
    {"sparse_ops/warp", {"sparse_ops/mask"}},
    {"sparse_ops/reference", {"sparse_ops/warp"}},
    {"sparse_ops/cpu", {"sparse_ops/reference"}},
    {"sparse_ops/cuda/device", {"sparse_ops"}},
    {"sparse_ops/cuda/recording", {"sparse_ops/cuda/device"}},
    {"sparse_ops/cuda/numbers", {"sparse_ops"}},
    {"sparse_ops/cuda/emulated", {"sparse_ops/cuda/recording", "sparse_ops/cuda/numbers"}},
    {"sparse_ops/cuda/real", {"sparse_ops/cuda/recording", "sparse_ops/cuda/numbers"}},
    {"sparse_ops/cuda",
     {"sparse_ops/reference", "sparse_ops/cuda/emulated", "sparse_ops/cuda/real"}},

    {"common/base", {}},
    {"common/codec", {"common/base"}},
    {"common/model/graph", {"common/base"}},
    {"common/model/picture", {"common/model/graph"}},
    {"common/model/onnx", {"common/model/graph"}},
    {"common/model/torchscript", {"common/model/graph"}},
    {"common/backend", {"common/model/torchscript"}},
    {"common/backend/host", {"common/backend"}},
    {"common/backend/device", {"common/backend"}},
    {"common/exec", {"common/backend"}},
    {"common/model/passes", {"common/backend/host"}},
    {"common/model", {"common/model/onnx", "common/model/torchscript", "common/model/passes"}},
    {"common/model/heads", {"common/model/graph"}},
    {"common/config/tracker_config", {"common/base"}},
    {"common/config", {"common/config/tracker_config", "common/model/heads", "common/codec"}},
    {"common/config/configured_model",
     {"common/config", "common/model", "common/backend/host", "common/backend/device"}},
    {"common/source", {"common/config", "common/model/picture"}},
    {"common/plan", {"common/exec", "common/codec"}},
    {"common/answer", {"common/config", "common/model/picture", "common/exec"}},
    {"common/answer/head_trial", {"common/answer", "common/config/configured_model"}},
    {"common/answer/overlay", {"common/answer", "common/source"}},
    {"common/tracker", {"common/config/tracker_config"}},
    {"common/answer/moved_answer", {"common/answer", "common/tracker"}},
    {"common/reuse", {"common/tracker", "common/config", "common/exec"}},
    {"common/canvas", {"common/reuse"}},
    {"common/guard", {"common/reuse", "common/answer", "common/plan"}},
    {"common/link", {"common/base"}},
    {"common/pair", {"common/canvas", "common/answer", "common/plan", "common/link"}},

    {"client/answer", {}},
    {"client", {"client/answer"}},  // the door
    {"client/ros", {"client"}},
    {"client/ros/ros2", {"client/ros"}},
    {"client/ros/ros1", {"client/ros"}},
    {"client/python", {"client"}},
    {"client/record", {"client"}},
    {"client/calibrate", {"client"}},
    {"client/run", {"client/record", "client/calibrate"}},
};

bool IsSource(const fs::path& path) {
  static const std::set<std::string> kExtensions = {".cc", ".h", ".cu", ".cuh", ".inc"};
  return kExtensions.contains(path.extension().string());
}

bool IsLibTorch(const std::string& included) {
  for (const std::string_view prefix : {"torch/", "ATen/", "c10/", "caffe2/"}) {
    if (included.starts_with(prefix)) return true;
  }
  return false;
}

// Whether sparse_ops may include this with angle brackets. Headers of the standard and C library
// have no folder (or sys/); those of Highway and CUDA are known by name.
bool IsKnownToSparseOps(const std::string& included) {
  for (const std::string_view prefix :
       {"hwy/", "sys/", "sanitizer/", "cuda", "cooperative_groups", "mma.h"}) {
    if (included.starts_with(prefix)) return true;
  }
  return included.find('/') == std::string::npos;
}

struct Include {
  int line = 0;
  bool quoted = false;
  std::string path;
};

std::vector<Include> IncludesOf(const fs::path& file) {
  static const std::regex kPattern(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::vector<Include> includes;
  std::ifstream stream(file);
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    std::smatch match;
    if (std::regex_search(line, match, kPattern)) {
      includes.push_back({number, match[1] == "\"", match[2]});
    }
  }
  return includes;
}

// Files, by their paths from the root, and what each includes.
using Sources = std::map<std::string, std::vector<Include>>;

Sources SourcesOf(const fs::path& root) {
  Sources sources;
  for (const auto& [folder, allowed] : kMayInclude) {
    if (!fs::exists(root / folder)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file() || !IsSource(entry.path())) continue;
      sources[fs::relative(entry.path(), root).generic_string()] = IncludesOf(entry.path());
    }
  }
  return sources;
}

// Headers of common that bring LibTorch to whoever includes them.
std::set<std::string> TorchHeaders(const Sources& sources) {
  std::set<std::string> headers;
  for (const auto& [file, includes] : sources) {
    if (!file.starts_with("common/") || !file.ends_with(".h")) continue;
    for (const Include& include : includes) {
      if (IsLibTorch(include.path)) headers.insert(file);
    }
  }
  return headers;
}

// The room that a file lies in; empty if it lies in none.
std::string RoomOf(const std::string& file) {
  const std::string without_ending = file.substr(0, file.rfind('.'));
  if (kRooms.contains(without_ending)) return without_ending;
  const std::string folder = file.substr(0, file.rfind('/'));
  return kRooms.contains(folder) ? folder : "";
}

bool MayKnow(const std::string& room, const std::string& other) {
  if (room == other) return true;
  const std::vector<std::string>& below = kRooms.at(room);
  return std::any_of(below.begin(), below.end(),
                     [&](const std::string& lower) { return MayKnow(lower, other); });
}

bool HasRooms(const std::string& folder) {
  return folder == "sparse_ops" || folder == "common" || folder == "client";
}

// For an include within a folder.
std::string WhatIsWrongBetweenRooms(const std::string& file, const std::string& included) {
  const std::string room = RoomOf(file);
  const std::string other = RoomOf(included);
  if (room.empty()) return file + " lies in no room";
  if (other.empty()) return included + " lies in no room";
  return MayKnow(room, other) ? "" : room + " must not know " + other;
}

// Empty if the include keeps the rules, else what is wrong with it. `with_torch`: the files that
// may see LibTorch.
std::string WhatIsWrong(const std::string& file, const Include& include,
                        const std::set<std::string>& with_torch,
                        const std::set<std::string>& torch_headers) {
  const std::string folder = file.substr(0, file.find('/'));
  if (IsLibTorch(include.path) || torch_headers.contains(include.path)) {
    return with_torch.contains(file) ? "" : "only the files compiled with LibTorch may";
  }
  // Highway asks for quotes.
  if (!include.quoted || include.path.starts_with("hwy/")) {
    return folder == "sparse_ops" && !IsKnownToSparseOps(include.path)
               ? "sparse_ops knows no other library"
               : "";
  }
  const std::string target = include.path.substr(0, include.path.find('/'));
  if (!kMayInclude.contains(target)) return "includes are written from the root";
  if (target == folder && HasRooms(folder)) return WhatIsWrongBetweenRooms(file, include.path);
  return kMayInclude.at(folder).contains(target) ? "" : folder + " must not know " + target;
}

}  // namespace

std::vector<std::string> IncludeViolations(const fs::path& root,
                                           const std::set<std::string>& torch_sources,
                                           int* checked) {
  const Sources sources = SourcesOf(root);
  const std::set<std::string> torch_headers = TorchHeaders(sources);
  std::set<std::string> with_torch = torch_sources;
  with_torch.insert(torch_headers.begin(), torch_headers.end());

  *checked = static_cast<int>(sources.size());
  std::vector<std::string> violations;
  for (const auto& [file, includes] : sources) {
    for (const Include& include : includes) {
      const std::string wrong = WhatIsWrong(file, include, with_torch, torch_headers);
      if (wrong.empty()) continue;
      violations.push_back(file + ":" + std::to_string(include.line) + " includes " + include.path +
                           ": " + wrong);
    }
  }
  return violations;
}

std::set<std::string> TorchSources(const fs::path& root) {
  std::ifstream stream(root / "common" / "CMakeLists.txt");
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  static const std::regex kList(R"(set\(torch_sources\s+([^)]*)\))");
  std::set<std::string> sources;
  std::smatch match;
  if (!std::regex_search(text, match, kList)) return sources;
  std::istringstream names(match[1].str());
  for (std::string name; names >> name;) sources.insert("common/" + name);
  return sources;
}

}  // namespace cacheinf

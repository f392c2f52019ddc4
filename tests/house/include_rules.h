#ifndef CACHEINF_TESTS_HOUSE_INCLUDE_RULES_H_
#define CACHEINF_TESTS_HOUSE_INCLUDE_RULES_H_

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace cacheinf {

// Checks in every source and header below `root` which folder includes which:
//   client, server -> profiler, scheduler -> common -> sparse_ops; a program, which is a file
//   named main.cc, stands above all of them;
//   within sparse_ops, common and client rooms include each other in the direction of one table,
//   and every file lies in a room;
//   sparse_ops includes nothing but itself, Highway, CUDA and the standard library;
//   only `torch_sources` (paths from `root`), and headers of common that only they include,
//   include LibTorch;
//   every include is written from the root, never relative to the file.
// Returns a sentence for each include that breaks a rule, and counts the files in `*checked`.
std::vector<std::string> IncludeViolations(const std::filesystem::path& root,
                                           const std::set<std::string>& torch_sources,
                                           int* checked);

// The files that common/CMakeLists.txt compiles with LibTorch, as paths from `root`.
std::set<std::string> TorchSources(const std::filesystem::path& root);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_HOUSE_INCLUDE_RULES_H_

#ifndef CACHEINF_PROFILER_INSPECT_H_
#define CACHEINF_PROFILER_INSPECT_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/exec/cache_choice.h"
#include "common/model/graph/geometry.h"
#include "common/model/graph/graph.h"
#include "common/model/graph/notes.h"

namespace cacheinf {

// One operator and its cost.
struct OperatorReport {
  OpId id = kNone;
  std::string name;
  std::string kind;
  std::string fused;  // its epilogue: "silu", "add", "add+relu" …
  bool is_local = false;
  std::vector<OpId> reads;       // the operators whose results it reads
  Shape shape;                   // of its first output
  std::optional<Window> window;  // from its first map, if it is local
  int groups = 1;                // of a convolution
  bool is_depthwise = false;     // a convolution with a group for every channel of its input
  int64_t parameters = 0;        // numbers in its constant inputs
  int64_t multiply_adds = 0;     // of convolutions and matrix products
  int64_t operations = 0;        // two per multiply-add, and all others
  int64_t bytes = 0;             // of its results
  std::string why_float;         // where it works beside 8-bit numbers, but with floats (WhyFloat)
};

// Which maps to keep from frame to frame under a memory limit.
struct BudgetReport {
  size_t budget_bytes = 0;
  CacheChoice choice;
};

struct ModelReport {
  std::string name;
  std::vector<Value> inputs;
  std::vector<Value> outputs;
  ModelNotes notes;
  std::vector<OperatorReport> operators;
  int64_t parameters = 0;  // a constant that several operators read counts once
  int64_t multiply_adds = 0;
  int64_t operations = 0;
  int64_t bytes = 0;
  int local_operators = 0;
  size_t values = 0;                  // without constants
  CacheMemory memory;                 // for activations, with nothing and everything kept
  std::vector<BudgetReport> budgets;  // and in between
};

// Chooses the maps to keep for every budget, in bytes. REQUIRES: a validated graph.
ModelReport Inspect(const Graph& graph, std::span<const size_t> budgets = {});

// Returns a line per input and output, a line of what the file says about the model if it says
// anything, a line per operator, a line of totals, and the memory that keeping maps takes.
std::string ToText(const ModelReport& report);

nlohmann::json ToJson(const ModelReport& report);

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_INSPECT_H_

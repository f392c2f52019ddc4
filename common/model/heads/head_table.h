#ifndef CACHEINF_COMMON_MODEL_HEADS_HEAD_TABLE_H_
#define CACHEINF_COMMON_MODEL_HEADS_HEAD_TABLE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/model/heads/head_outputs.h"
#include "common/model/heads/heads.h"

// The table of heads, in parts by what their outputs hold. A new head is a row in one of them and
// its functions.

namespace cacheinf {

// The numbers of one frame's outputs, in the order of the graph's.
using HeadNumbers = std::span<const std::vector<float>>;

struct HeadFinding {
  std::string contradiction;  // empty: none
  bool has_evidence = true;   // there was something to find: a box that is rather sure, say
};

struct HeadEntry {
  HeadRow row;
  // Why the shapes cannot be of this kind; empty if they can.
  std::string (*why_not)(const Outputs&);
  // Appends the decoder. REQUIRES: the shapes fit.
  void (*append)(Graph&, const Outputs&);
  // Judges numbers. REQUIRES: the shapes fit; none is NaN.
  HeadFinding (*judge)(const Outputs&, HeadNumbers);
  bool is_normalised = false;  // boxes are usually shares of the picture
};

std::span<const HeadEntry> AnchorHeads();
std::span<const HeadEntry> GridHeads();
std::span<const HeadEntry> DistributionHeads();
std::span<const HeadEntry> PickedHeads();
std::span<const HeadEntry> PeakHeads();
std::span<const HeadEntry> PlainHeads();

const HeadEntry& EntryOf(HeadKind kind);

// The kinds that the shapes allow, except kAuto and kRaw; those with usual outputs most like these
// come first.
std::vector<HeadKind> KindsThatFit(const Graph& graph, const HeadSpec& spec);

// Reasons that rows share.
std::string WhyNoRows(const Outputs& outputs, int64_t least, bool one_output = true);
std::string WhyNoGrid(const Outputs& outputs);  // REQUIRES: rows
std::string WhyNotSoMany(const Outputs& outputs, int64_t classes);

// The first output as boxes × numbers. REQUIRES: rows.
ValueId RowsOf(Graph& graph, const Outputs& outputs);

// Makes the suppressed boxes of `rows` the graph's only output.
void SetBoxes(Graph& graph, const HeadSpec& spec, ValueId rows, bool has_objectness, int extras);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_HEADS_HEAD_TABLE_H_

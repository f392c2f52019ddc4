#ifndef CACHEINF_SPARSE_OPS_MASK_AXIS_MAP_H_
#define CACHEINF_SPARSE_OPS_MASK_AXIS_MAP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sparse_ops/views.h"
#include "sparse_ops/window.h"

namespace cacheinf {

// One axis of an operator seen from one side: which indices of the other side each index depends
// on. Forward, an output index depends on the input indices that it reads; backward, an input index
// depends on the output indices that read it.
class AxisMap {
 public:
  enum class Direction : uint8_t { kForward, kBackward };

  // Indices with the same sources.
  struct Group {
    Range indices;
    const Range* sources = nullptr;  // ascending
    int source_count = 0;
  };

  // REQUIRES: sizes of at least 1.
  AxisMap(const AxisWindow& window, Direction direction);

  int from_size() const { return from_size_; }
  int size() const { return size_; }

  // Whether every index depends only on the index with the same number.
  bool is_identity() const { return is_identity_; }

  // All indices, in order, in as few groups as possible.
  int group_count() const { return static_cast<int>(groups_.size()); }
  Group group(int index) const { return View(groups_[static_cast<size_t>(index)]); }

  // Sets the bits of row `to` (bits.h), one per index, that have a source set in row `from`; clears
  // the others. The rows must not overlap.
  void Apply(const uint64_t* from, uint64_t* to, uint64_t* scratch) const;
  int scratch_words() const { return spread_words_ + window_words_; }

 private:
  struct StoredGroup {
    Range indices;
    int first_source = 0;
    int source_count = 0;
  };

  // The sources of index x are all i with i spread = x pick + first + k step for some k < count.
  struct Stencil {
    int spread = 1;
    int pick = 1;
    int64_t first = 0;
    int count = 0;
    int step = 1;
  };

  // The sources of one index, as ranges that do not touch, ascending.
  using Sources = std::vector<Range>;

  static std::vector<Sources> ListSources(const AxisWindow& window, Direction direction);
  static Stencil StencilOf(const AxisWindow& window, Direction direction,
                           const std::vector<Sources>& sources);
  static Stencil FitStencil(int from_size, const std::vector<Sources>& sources);
  static Stencil Trimmed(Stencil stencil, int from_size, int size);
  static Sources SourcesOf(const Stencil& stencil, int index, int from_size);

  void GroupIndices(const std::vector<Sources>& sources);
  void FindExceptions(const std::vector<Sources>& sources);

  Group View(const StoredGroup& group) const {
    return {group.indices, ranges_.data() + group.first_source, group.source_count};
  }

  int from_size_;
  int size_;
  bool is_identity_ = false;
  std::vector<Range> ranges_;
  std::vector<StoredGroup> groups_;
  Stencil stencil_;
  std::vector<StoredGroup> exceptions_;  // indices that the stencil gets wrong
  int spread_words_ = 0;
  int window_words_ = 0;
};

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_MASK_AXIS_MAP_H_

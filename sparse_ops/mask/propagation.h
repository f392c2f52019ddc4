#ifndef CACHEINF_SPARSE_OPS_MASK_PROPAGATION_H_
#define CACHEINF_SPARSE_OPS_MASK_PROPAGATION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sparse_ops/mask/axis_map.h"
#include "sparse_ops/views.h"
#include "sparse_ops/window.h"

namespace cacheinf {

// How masks travel between the output of an operator and one of its inputs. Made once per operator;
// serves any number of frames, one at a time, without allocating.
//
// Output pixel (y, x) reads input pixel (i, j) if rows.Reads(y, i) and columns.Reads(x, j). Both
// directions are exact for windows of every kind. Sliding and transposed windows go word by word,
// and so does resizing if one size is a multiple of the other; other windows look up the sources of
// every column.
class MaskPropagation {
 public:
  // REQUIRES: sizes of at least 1.
  MaskPropagation(const AxisWindow& rows, const AxisWindow& columns);

  // Forward, what can change: the output pixels that read an active input pixel.
  // REQUIRES: sizes as the windows have them; the masks do not overlap.
  void GrowThrough(ConstMaskView in, MaskView out) { Propagate(forward_, in, out); }

  // Backward, what is needed: the input pixels that an active output pixel reads.
  // REQUIRES: as above.
  void NeededThrough(ConstMaskView out, MaskView in) { Propagate(backward_, out, in); }

 private:
  struct Way {
    AxisMap rows;
    AxisMap columns;
    // Whether all rows go through `columns` before they are merged, or after.
    bool columns_first;

    Way(const AxisWindow& row_window, const AxisWindow& column_window,
        AxisMap::Direction direction);
    size_t scratch_words() const;
  };

  void Propagate(const Way& way, ConstMaskView from, MaskView to);
  void UniteRowsThenMap(const Way& way, ConstMaskView from, MaskView to);
  void MapRowsThenUnite(const Way& way, ConstMaskView from, MaskView to);

  Way forward_;
  Way backward_;
  std::vector<uint64_t> scratch_;
};

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_MASK_PROPAGATION_H_

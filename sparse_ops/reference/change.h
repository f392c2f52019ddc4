#ifndef CACHEINF_SPARSE_OPS_REFERENCE_CHANGE_H_
#define CACHEINF_SPARSE_OPS_REFERENCE_CHANGE_H_

#include "sparse_ops/active_pixels.h"

namespace cacheinf::reference {

// Whether a pixel's new value is a change of the stored one, as ChangeTest defines it.
bool IsChange(const ChangeTest& test, int channels, const float* fresh, const float* stored);

// Copies the active pixels of `fresh`, a map as large as `stored`, to their places in `stored`: all
// of them or, with a change test (it may be null), those that changed.
void StorePixels(const ConstImageView& fresh, const ImageView& stored, const ActivePixels& pixels,
                 const ChangeTest* test);

}  // namespace cacheinf::reference

#endif  // CACHEINF_SPARSE_OPS_REFERENCE_CHANGE_H_

#ifndef CACHEINF_COMMON_SOURCE_INTERRUPTIBLE_SOURCE_H_
#define CACHEINF_COMMON_SOURCE_INTERRUPTIBLE_SOURCE_H_

#include <functional>
#include <memory>

#include "common/source/frame_source.h"

namespace cacheinf {

// Opens a source, however long that takes: a silent camera, stream or pipe keeps nobody from
// ending. Returns what `open` returns or, if that source may block, a wrapper; its Next returns
// nothing soon after `is_over` is true. Null if `is_over` is true and there is no source yet.
// Rethrows what `open` throws. Both functions are called on several threads. A read that still
// waits then is left alone, on a thread that ends with the program: everything that `open` and the
// source refer to must last as long.
std::unique_ptr<FrameSource> OpenInterruptibly(std::function<std::unique_ptr<FrameSource>()> open,
                                               std::function<bool()> is_over);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_SOURCE_INTERRUPTIBLE_SOURCE_H_

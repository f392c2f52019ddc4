#ifndef CACHEINF_COMMON_SOURCE_INTERRUPTIBLE_SOURCE_H_
#define CACHEINF_COMMON_SOURCE_INTERRUPTIBLE_SOURCE_H_

#include <functional>
#include <memory>

#include "common/source/frame_source.h"

namespace cacheinf {

// Opens a source, which may take as long as it likes: a camera, stream or pipe that says nothing
// keeps nobody from ending. Returns what `open` does, or, if that may block, another in its place
// whose Next returns nothing soon after `is_over` is true; null if that is true and there is no
// source yet. Rethrows what `open` throws. Both functions are called on several threads. Whatever
// still waits for a frame then is left alone, on a thread that ends with the program: what `open`
// and the source refer to must last as long.
std::unique_ptr<FrameSource> OpenInterruptibly(std::function<std::unique_ptr<FrameSource>()> open,
                                               std::function<bool()> is_over);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_SOURCE_INTERRUPTIBLE_SOURCE_H_

#ifndef CACHEINF_COMMON_PAIR_REMOTE_PICTURE_H_
#define CACHEINF_COMMON_PAIR_REMOTE_PICTURE_H_

#include "common/codec/picture_codec.h"
#include "common/model/graph/graph.h"
#include "sparse_ops/mask/mask.h"

// What both sides of mode remote derive from a model.

namespace cacheinf {

// Throws InputError if the model takes no picture.
PictureFormat PictureFormatOf(const Graph& graph);

// All pixels of a value, as slices count them: a value that is not a map has one.
Mask AllPixelsOf(const Value& value);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_REMOTE_PICTURE_H_

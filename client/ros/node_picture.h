#ifndef CACHEINF_CLIENT_ROS_NODE_PICTURE_H_
#define CACHEINF_CLIENT_ROS_NODE_PICTURE_H_

#include <cstdint>

#include "client/ros/robot_node.h"
#include "common/model/picture.h"

namespace cacheinf {

// The most pixels that an image of a node may have.
inline constexpr int64_t kMostNodePixels = int64_t{1} << 26;

// Copies an image's pixels, as grey where they are grey, else as blue, green, red. Throws
// InputError, in one sentence, for an encoding that is not known, sizes that do not fit the bytes,
// and a damaged file; nothing of a promised size is allocated before it is known to be in bounds.
Picture PictureOf(const NodeImage& image);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_ROS_NODE_PICTURE_H_

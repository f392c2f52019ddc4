#ifndef CACHEINF_COMMON_MODEL_GRAPH_NOTES_H_
#define CACHEINF_COMMON_MODEL_GRAPH_NOTES_H_

#include <string>
#include <vector>

namespace cacheinf {

// What a model's file says about itself. Empty where it says nothing.
struct ModelNotes {
  std::string task;
  std::vector<std::string> class_names;
  int stride = 0;
  std::vector<int> image_size;      // height, width
  std::vector<int> keypoint_shape;  // keypoints, numbers of each
  bool has_suppression = false;
  std::string description;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_GRAPH_NOTES_H_

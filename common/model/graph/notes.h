#ifndef CACHEINF_COMMON_MODEL_GRAPH_NOTES_H_
#define CACHEINF_COMMON_MODEL_GRAPH_NOTES_H_

#include <string>
#include <vector>

namespace cacheinf {

// What a model's file says about the model, beside the graph. It has not been checked against the
// graph. Fields are empty, 0 or false where the file says nothing.
struct ModelNotes {
  std::string task;                      // in the exporter's words: "detect", "pose", …
  std::vector<std::string> class_names;  // name i is that of class i
  int stride = 0;                        // the largest of the network, in pixels
  std::vector<int> image_size;           // height and width that the model was exported for
  std::vector<int> keypoint_shape;       // keypoints per object, numbers per keypoint
  bool has_byte_picture = false;         // the first input holds a picture's levels, 0 to 255
  bool has_suppression = false;          // the outputs are final boxes: nothing is left to suppress
  std::string description;

  bool operator==(const ModelNotes&) const = default;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_GRAPH_NOTES_H_

#ifndef CACHEINF_COMMON_CONFIG_MODEL_CONFIG_H_
#define CACHEINF_COMMON_CONFIG_MODEL_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/config/fields.h"
#include "common/model/graph/graph.h"
#include "common/model/graph/words.h"

// What a model file in a foreign format does not say: how a camera's picture becomes its input, and
// what its output means. A native model file carries both.

namespace cacheinf {

// The picture's numbers are (pixel - mean) / divisor, pixel in 0..255, in the order of `channels`.
// Nothing, or an empty list, stands for the network's usual value (ChoosePreprocess).
struct PreprocessConfig {
  std::optional<PictureSpec::Fit> fit;
  int border = 114;
  std::optional<PictureSpec::Resize> resize;
  int resize_to = 0;  // crop: the frame's shorter side before its middle is cut out; 0: no margin
  std::optional<PictureSpec::Channels> channels;
  std::vector<double> mean;  // one for all channels, or one each
  std::vector<double> divisor;

  FieldTable Fields();
};

struct DecoderConfig {
  using Kind = HeadKind;
  enum class Coordinates : uint8_t { kUsual, kPixels, kShares };
  Kind kind = Kind::kAuto;
  std::vector<std::string> class_names;  // or the keypoints'
  std::string class_names_file;          // holds them, one a line; empty: there is none
  int most = 0;                          // classes, boxes, points; 0: the usual number
  bool softmax = true;                   // classification: the outputs are not shares yet
  bool enlarge = false;                  // segmentation: to the size of the model's picture
  Coordinates coordinates = Coordinates::kUsual;
  std::vector<int> strides;     // boxes: of each output, in input pixels
  std::vector<double> anchors;  // boxes: width, height, …, as many for each output
  double score_threshold = 0.25;
  double overlap_threshold = 0.45;

  int most_classes() const { return most > 0 ? most : 5; }
  int most_boxes() const { return most > 0 ? most : 100; }
  int most_points() const { return most > 0 ? most : 500; }

  // The configured names or those of the file. Throws InputError if it cannot be read.
  std::vector<std::string> ReadClassNames() const;

  FieldTable Fields();
};

constexpr Words<3> WordsOf(DecoderConfig::Coordinates) { return {"usual", "pixels", "shares"}; }

struct ModelConfig {
  PreprocessConfig preprocess;
  DecoderConfig decoder;

  // Throws InputError that names the key and starts with `name` if the values do not fit together.
  void Check(std::string_view name) const;
};

// "1x3x384x640" and so on. Throws InputError, starting with `name`, for anything else.
Shape ParseShape(std::string_view text, std::string_view name);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CONFIG_MODEL_CONFIG_H_

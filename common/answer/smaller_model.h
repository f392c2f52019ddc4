#ifndef CACHEINF_COMMON_ANSWER_SMALLER_MODEL_H_
#define CACHEINF_COMMON_ANSWER_SMALLER_MODEL_H_

#include <memory>
#include <string>
#include <vector>

#include "common/answer/answers.h"
#include "common/answer/outputs.h"
#include "common/answer/seen_picture.h"
#include "common/config/model_config.h"
#include "common/exec/compiled_model.h"
#include "common/model/picture.h"

namespace cacheinf {

// A model that may answer in place of a robot's first one.
struct SmallerModel {
  std::string name;  // as plans call it
  std::shared_ptr<const CompiledModel> model;
};
using SmallerModels = std::vector<SmallerModel>;

// Turns a map over one fit's picture into a map over another's, for frames of the same size: each
// pixel has the class of what lies in its middle. Beside the frame it is the class at the frame's
// edge.
ClassMap Refitted(const ClassMap& map, const PictureFit& from, const PictureFit& to, int width,
                  int height);

// Reads a smaller model's answers as the first model gives them: the same kind, the same classes,
// maps of the same size.
class SmallerModelReader {
 public:
  // Throws InputError, which says what to do, if its answers cannot stand for the first model's.
  // `config` is for both.
  SmallerModelReader(const SmallerModel& smaller, const Graph& first, const DecoderConfig& config);

  // `seen.fit` and `first_fit` fit the same frame to either picture. REQUIRES: a fit.
  AnswerContent Read(const FrameOutputs& outputs, const SeenPicture& seen,
                     const PictureFit& first_fit);

 private:
  AnswerReader reader_;
  const Shape first_output_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_ANSWER_SMALLER_MODEL_H_

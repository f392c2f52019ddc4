#ifndef CACHEINF_TESTS_ANSWER_GIVEN_OUTPUTS_H_
#define CACHEINF_TESTS_ANSWER_GIVEN_OUTPUTS_H_

#include <string>
#include <vector>

#include "common/answer/answers.h"
#include "common/answer/seen_picture.h"
#include "common/config/model_setup.h"
#include "common/model/graph/graph.h"
#include "tests/answer/planted_things.h"

// Answers read from outputs that a test writes, and the two things that it writes into them.

namespace cacheinf {

inline constexpr int kSide = 128;  // of the picture: 256 + 64 + 16 cells
inline constexpr int kHeadClasses = 5;

// A thing at a place that the grids' cells know.
using Thing = PlantedThing;
inline const std::vector<Thing> kThings = {{37.5, 50.25, 30, 20, 3, 0.875f},
                                           {90, 91, 41, 60, 1, 0.75f}};

struct HeadOutput {
  Shape shape;
  std::vector<float> numbers;
  std::string name = "output0";
  Function::Kind function = Function::Kind::kIdentity;  // of the numbers
};

// A network whose outputs are given as further inputs, and do not depend on its picture.
Graph NetworkOf(const std::vector<HeadOutput>& outputs);

AnswerContent Read(const std::vector<HeadOutput>& outputs, const DecoderConfig& config,
                   const ModelNotes& notes = {}, const SeenPicture& seen = {});
// A reader that has read so many frames of the same outputs.
AnswerReader ReaderOf(const std::vector<HeadOutput>& outputs, const DecoderConfig& config,
                      int frames, const ModelNotes& notes = {}, const SeenPicture& seen = {});
std::vector<Detection> BoxesOf(const std::vector<HeadOutput>& outputs, const DecoderConfig& config,
                               const ModelNotes& notes = {});

DecoderConfig Decoder(HeadKind kind);

void ExpectThings(const std::vector<Detection>& boxes, double tolerance = 1e-3);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_ANSWER_GIVEN_OUTPUTS_H_

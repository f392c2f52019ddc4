#include "tests/answer/given_outputs.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <variant>

#include "common/model/heads/heads.h"
#include "tests/testing/run_graph.h"

namespace cacheinf {

Graph NetworkOf(const std::vector<HeadOutput>& outputs) {
  Graph graph;
  graph.name = "network";
  graph.AddInput("image", {1, 3, kSide, kSide});
  for (const HeadOutput& output : outputs) {
    const ValueId input = graph.AddInput(output.name + ".given", output.shape);
    graph.outputs.push_back(
        graph.Add(output.name, op::Activation{Function{output.function}}, {input}, {output.name})
            .front());
  }
  return graph;
}

namespace {

std::unique_ptr<ModelState> RunOf(const std::vector<HeadOutput>& outputs,
                                  const DecoderConfig& config, const ModelNotes& notes) {
  Graph graph = NetworkOf(outputs);
  graph.notes = notes;
  AddDecoder(graph, config);
  graph.Validate();
  auto state = MakeReferenceState(graph);
  std::vector<Tensor> inputs = {
      Tensor({1, 3, kSide, kSide}, std::vector<float>(3 * kSide * kSide))};
  for (const HeadOutput& output : outputs) inputs.emplace_back(output.shape, output.numbers);
  SetInputs(*state, inputs);
  state->Run();
  return state;
}

}  // namespace

AnswerContent Read(const std::vector<HeadOutput>& outputs, const DecoderConfig& config,
                   const ModelNotes& notes, const SeenPicture& seen) {
  const auto state = RunOf(outputs, config, notes);
  return AnswerReader(state->graph(), config).Read(*state, seen);
}

AnswerReader ReaderOf(const std::vector<HeadOutput>& outputs, const DecoderConfig& config,
                      int frames, const ModelNotes& notes, const SeenPicture& seen) {
  const auto state = RunOf(outputs, config, notes);
  AnswerReader reader(state->graph(), config);
  for (int frame = 0; frame < frames; ++frame) reader.Read(*state, seen);
  return reader;
}

std::vector<Detection> BoxesOf(const std::vector<HeadOutput>& outputs, const DecoderConfig& config,
                               const ModelNotes& notes) {
  return std::get<Detections>(Read(outputs, config, notes)).boxes;
}

DecoderConfig Decoder(HeadKind kind) {
  DecoderConfig config;
  config.kind = kind;
  return config;
}

void ExpectThings(const std::vector<Detection>& boxes, double tolerance) {
  ASSERT_EQ(boxes.size(), kThings.size());
  for (size_t i = 0; i < boxes.size(); ++i) {
    const Thing& thing = kThings[i];
    EXPECT_EQ(boxes[i].label.index, thing.label);
    EXPECT_NEAR(boxes[i].label.score, thing.score, 1e-5);
    EXPECT_NEAR(boxes[i].left, thing.x - thing.width / 2, tolerance);
    EXPECT_NEAR(boxes[i].top, thing.y - thing.height / 2, tolerance);
    EXPECT_NEAR(boxes[i].right, thing.x + thing.width / 2, tolerance);
    EXPECT_NEAR(boxes[i].bottom, thing.y + thing.height / 2, tolerance);
  }
}

}  // namespace cacheinf

#ifndef CACHEINF_TESTS_REUSE_DEMO_NETWORK_H_
#define CACHEINF_TESTS_REUSE_DEMO_NETWORK_H_

#include <memory>
#include <utility>

#include "common/model/graph/decode.h"
#include "common/model/load.h"
#include "common/model/passes/passes.h"
#include "tests/testing/places.h"

namespace cacheinf {

// The demo's network for colour pictures of this size.
inline std::shared_ptr<const Graph> MakeDemoNetwork(
    int height, int width, const Normalisation& normalisation = Normalisation()) {
  LoadOptions options;
  options.input_shapes = {{1, 3, height, width}};
  Graph graph = LoadModel(SourceFolder() / "configs/models/demo_segmentation.onnx", options);
  PrependPicture(graph, PictureSpec(), normalisation);
  Optimise(graph);
  graph.Validate();
  return std::make_shared<const Graph>(std::move(graph));
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_REUSE_DEMO_NETWORK_H_

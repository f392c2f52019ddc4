#include "common/model/passes/passes.h"

#include <initializer_list>

namespace cacheinf {
namespace {

using Pass = bool (*)(Graph&);

bool RunEach(Graph& graph, std::initializer_list<Pass> passes) {
  bool changed = false;
  for (Pass pass : passes) changed = pass(graph) || changed;
  return changed;
}

// What exporters write out is recognised, and all that computes nothing goes.
bool Recognise(Graph& graph) {
  return RunEach(graph, {pass::FoldConstants, pass::DropIdentities, pass::MergeLayouts,
                         pass::MergeCommon, pass::RecogniseNorms, pass::RecogniseActivations,
                         pass::RecogniseShuffles, pass::SimplifyPools});
}

// Everything moves into the convolutions and linear operators. Affines go before activations and
// sums: behind a fused activation nothing folds any more.
bool Concentrate(Graph& graph) {
  return RunEach(graph, {pass::MatMulToLinear, pass::SinkPermutes, pass::MergePads,
                         pass::FoldAffines, pass::Fuse});
}

}  // namespace

void Optimise(Graph& graph) {
  pass::RemoveDead(graph);
  do {
    while (Recognise(graph)) {
    }
  } while (Concentrate(graph));
  pass::NestConcats(graph);
  pass::ZeroVanishing(graph);
}

}  // namespace cacheinf

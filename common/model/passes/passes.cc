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

// Recognises what exporters write out, and removes all that computes nothing.
bool Recognise(Graph& graph) {
  return RunEach(graph, {pass::FoldConstants, pass::DropIdentities, pass::MergeLayouts,
                         pass::MergeCommon, pass::RecogniseNorms, pass::RecogniseActivations,
                         pass::RecogniseShuffles, pass::SimplifyPools});
}

// Moves everything into convolutions and linear operators. Affines move before activations and
// sums, because nothing folds past a fused activation.
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
  pass::ToEightBits(graph);
  pass::KeepHeadsInBytes(graph);
  pass::TakeLevels(graph);
  pass::ZeroVanishing(graph);
}

}  // namespace cacheinf

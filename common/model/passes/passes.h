#ifndef CACHEINF_COMMON_MODEL_PASSES_PASSES_H_
#define CACHEINF_COMMON_MODEL_PASSES_PASSES_H_

#include <string>

#include "common/model/graph/graph.h"

// Rewrites of a graph that keep its values up to rounding. Graph inputs and outputs keep their
// names, order and, as numbers, their shapes. Every pass takes a validated graph, leaves a valid
// one without dead operators or values, and returns whether it changed anything.

namespace cacheinf {

// Runs all passes below until none changes anything, and then the last five. Recognition comes
// first and to its own fixpoint, because folding and fusing would hide the patterns it looks for.
void Optimise(Graph& graph);

namespace pass {

// Clean-up.
bool RemoveDead(Graph& graph);      // operators and constants that no output depends on
bool FoldConstants(Graph& graph);   // cheap operators on constants alone
bool MergeCommon(Graph& graph);     // operators that compute the same as another
bool DropIdentities(Graph& graph);  // operators that change nothing
bool MergeLayouts(Graph& graph);  // reshapes of reshapes, permutes of permutes, slices of slices …

// Recognition of what exporters write in small steps.
bool RecogniseActivations(Graph& graph);  // SiLU, HardSwish, HardSigmoid, GELU (both), Mish
bool RecogniseNorms(Graph& graph);        // layer, instance and group norm
bool RecogniseShuffles(Graph& graph);     // pixel shuffle and its inverse, channel shuffle
bool SimplifyPools(Graph& graph);  // pools of the whole map; adaptive pools whose sizes divide

// Towards convolutions.
bool MatMulToLinear(Graph& graph);  // matrix products with a constant matrix
bool SinkPermutes(Graph& graph);    // channels-last linear, norm, activation → 1×1 conv & co.
bool MergePads(Graph& graph);       // explicit padding into the convolution or pool that follows
bool FoldAffines(Graph& graph);     // batch norm, bias and scales into the weights beside them
bool Fuse(Graph& graph);            // activations and residual sums into the operator before

// Towards concatenation without copies (layout.h). A concatenation that begins with all parts of an
// earlier one reads that one instead, so that a whole dense block grows in one buffer.
bool NestConcats(Graph& graph);

// Towards even speed. Zeroes weights that are too small to matter but slow processors down.
bool ZeroVanishing(Graph& graph);

// Towards 8 bits. Turns what lies between values that a quantiser rounds into operators on 8-bit
// maps; operators without such a form stay float (WhyFloat). Sums of 8-bit numbers are exact, so
// results differ from the float graph's by the rounding of floats, which can be a step; no other
// pass does that.
bool ToEightBits(Graph& graph);

// Lets a suppression read 8-bit heads, and their convolutions give them.
bool KeepHeadsInBytes(Graph& graph);

// If a picture is rounded before anything else reads it, makes it an 8-bit map (Graph::levels).
bool TakeLevels(Graph& graph);

}  // namespace pass

// Why an operator that works beside 8-bit numbers computes with floats, in words that follow its
// name; empty if it does not work beside any, or computes with them.
std::string WhyFloat(const Graph& graph, const Operator& op);
}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_PASSES_PASSES_H_

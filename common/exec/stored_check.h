#ifndef CACHEINF_COMMON_EXEC_STORED_CHECK_H_
#define CACHEINF_COMMON_EXEC_STORED_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "common/exec/backend.h"
#include "common/exec/change_policy.h"
#include "common/exec/frame_masks.h"
#include "common/exec/layout.h"
#include "common/exec/model_state.h"
#include "common/model/graph/graph.h"
#include "sparse_ops/views.h"

namespace cacheinf {

// What the stored pixels of a state must hold, as its frames promise it
// (ModelState::CheckStored): which pixels can be checked, and whether a pixel that was computed
// again is as it must be.
class StoredCheck {
 public:
  StoredCheck(const Graph& graph, const Layout& layout, PixelSets& sets);  // these outlive it

  // A run of everything: all pixels hold what was computed.
  void AllComputed();

  // A frame with this policy begins. `stores_small_changes`: some pixels are stored without those
  // behind them being told.
  void Begin(const ChangePolicy& policy, bool stores_small_changes);

  // Stored pixels were moved: what no operator computes again is promised nothing until everything
  // runs.
  void Move();

  // The parts of a concatenation came from the peer, when those that read them may have run. Under
  // kFixed nothing makes up for that, and nothing is promised of this frame.
  void ReceiveParts();

  // Nothing is promised until the next frame is committed.
  void Suspend();
  void Commit();

  // A random pixel that is worth computing again, if the one that chance hits is.
  std::optional<StoredPixel> Choose(std::mt19937& random, const FrameMasks& masks);

  // This pixel alone, valid until the next call.
  PixelSet Alone(const StoredPixel& pixel);

  // To be called before Choose. Only the first call allocates.
  void MakeRoom(Backend& backend);

  // Room for the pixels of a map, beside what is stored.
  TensorView Shadow(const TensorView& stored) const;

  // Of the pixel that was chosen last.
  bool AreAlike(const StoredPixel& pixel, const TensorView& stored, const TensorView& again,
                Backend& backend);

 private:
  // A kept map that a local operator computes.
  struct Candidate {
    ValueId map;
    bool reads_input;  // a graph input, it or what is computed for it
    PixelSet alone;
  };

  bool IsWithinThreshold(ValueId map) const;

  const Graph& graph_;
  PixelSets& sets_;
  std::vector<Candidate> candidates_;
  size_t largest_map_ = 0;    // floats
  size_t largest_pixel_ = 0;  // of all images

  ChangePolicy policy_;
  bool has_policy_ = false;      // some frame since the last run of everything had one
  bool covers_inactive_ = true;  // all had the same
  bool is_committed_ = false;
  bool has_promise_ = true;  // the frame
  const Candidate* chosen_ = nullptr;
  bool is_chosen_active_ = false;  // the last frame changed it

  Backend::Memory shadow_;
  std::vector<uint64_t> words_;
  std::vector<float> stored_numbers_;
  std::vector<float> numbers_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_STORED_CHECK_H_

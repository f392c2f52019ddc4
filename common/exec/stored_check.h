#ifndef CACHEINF_COMMON_EXEC_STORED_CHECK_H_
#define CACHEINF_COMMON_EXEC_STORED_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "common/backend/backend.h"
#include "common/exec/change_policy.h"
#include "common/exec/frame_masks.h"
#include "common/exec/layout.h"
#include "common/exec/model_state.h"
#include "common/model/graph/graph.h"
#include "sparse_ops/views.h"

namespace cacheinf {

// Knows what a state's frames promise of its stored pixels (ModelState::CheckStored): which can be
// checked, and whether a recomputed one is as it must be.
class StoredCheck {
 public:
  StoredCheck(const Graph& graph, const Layout& layout, PixelSets& sets);  // must outlive it

  // Everything was run: all pixels hold what was computed.
  void AllComputed();

  // A frame with this policy begins. `stores_small_changes`: some pixels are stored without telling
  // their readers.
  void Begin(const ChangePolicy& policy, bool stores_small_changes);

  // Stored pixels were moved: until everything runs, nothing is promised of those not recomputed.
  void Move();

  // Parts of a concatenation came from the peer after their readers may have run. Under kFixed
  // nothing makes up for that, so nothing is promised of this frame.
  void ReceiveParts();

  // Nothing is promised until the next frame is committed.
  void Suspend();
  void Commit();

  // A random pixel, or nothing if that one is not worth recomputing.
  std::optional<StoredPixel> Choose(std::mt19937& random, const FrameMasks& masks);

  // This pixel alone, valid until the next call.
  PixelSet Alone(const StoredPixel& pixel);

  // Call it before Choose. Only the first call allocates.
  void MakeRoom(Backend& backend);

  // Room to recompute the pixels of a map.
  TensorView Shadow(const TensorView& stored) const;

  // Whether the pixel that was chosen last came out again as promised.
  bool AreAlike(const StoredPixel& pixel, const TensorView& stored, const TensorView& again,
                Backend& backend);

 private:
  // A kept map that a local operator computes.
  struct Candidate {
    ValueId map;
    bool reads_input;  // a graph input, or what prepares one
    PixelSet alone;
  };

  bool IsWithinThreshold(ValueId map) const;

  const Graph& graph_;
  PixelSets& sets_;
  std::vector<Candidate> candidates_;
  size_t largest_map_ = 0;    // floats
  size_t largest_pixel_ = 0;  // of all images

  ChangePolicy policy_;
  bool has_policy_ = false;      // some frame since everything ran had one
  bool covers_inactive_ = true;  // promises hold for pixels that no frame computed, too
  bool is_committed_ = false;
  bool has_promise_ = true;  // of the frame
  const Candidate* chosen_ = nullptr;
  bool is_chosen_active_ = false;  // the last frame changed it

  Backend::Memory shadow_;
  std::vector<uint64_t> words_;
  std::vector<float> stored_numbers_;
  std::vector<float> numbers_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_STORED_CHECK_H_

#ifndef CACHEINF_COMMON_EXEC_MODEL_STATE_H_
#define CACHEINF_COMMON_EXEC_MODEL_STATE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/base/picture_view.h"
#include "common/exec/change_policy.h"
#include "common/exec/changed_work.h"
#include "common/exec/compiled_model.h"
#include "common/exec/frame_rows.h"
#include "common/exec/layout.h"
#include "common/exec/scroll.h"
#include "common/model/graph/geometry.h"
#include "common/model/graph/graph.h"
#include "sparse_ops/views.h"

namespace cacheinf {

struct FrameDecision;

struct StateOptions {
  // Values whose memory is given to no other value, so that they keep their numbers from frame to
  // frame. Graph inputs and outputs always are. (What is concatenated in such a value may still be
  // computed where it stands there.) With kChosen these are the values that are cached, with some
  // that must be (layout.h).
  std::vector<ValueId> persistent;
  Keep keep = Keep::kListed;
  // Whether Move may be called. The kept maps over the picture are then held twice.
  // REQUIRES: values that are kept.
  bool moves = false;
  // Whether there is a peer that computes some rows. REQUIRES: values that are kept, and not moves.
  bool trades = false;
};

struct MemoryReport {
  size_t arena_bytes = 0;        // what the state allocated for activations
  size_t no_cache_bytes = 0;     // what it would have allocated if it kept nothing between frames
  size_t cache_all_bytes = 0;    // and if it kept everything
  size_t activation_bytes = 0;   // the sum of all activations, each in a buffer of its own
  size_t persistent_bytes = 0;   // the part of the arena that is never shared
  size_t lower_bound_bytes = 0;  // no arena with these buffers and lifetimes is smaller
  size_t constant_bytes = 0;     // copies of the constants that operators work on, beside the arena
  size_t scratch_bytes = 0;
};

// A pixel of a kept map.
struct StoredPixel {
  ValueId map = kNone;
  int row = 0;
  int column = 0;
};

// One frame's way through a model: the arena with the kept values, and what is known of them. The
// constructor lays everything out; after it, only LibTorch's operators allocate.
//
// Exact mode: with a backend that keeps the promise of backend.h, a value's bits depend on the
// graph inputs alone: not on the threads, the rows of a call, the layout in memory, the frames
// before, or the side that computed it. So Run(rows) gives the bits of Run() in these rows.
// (Foreign operators, run by LibTorch, are outside the promise.)
class ModelState {
 public:
  explicit ModelState(std::shared_ptr<const CompiledModel> model, const StateOptions& options = {});
  ~ModelState();
  ModelState(ModelState&&) noexcept;
  ModelState& operator=(ModelState&&) noexcept;

  // ------------------------------------------------------------------------------------------
  // Frames, as they are decided. For a graph whose one input is a picture, of whose size the
  // decision's masks are. REQUIRES: a state that keeps values (not kListed), and moves them if the
  // decision does.

  // Brings the stored values to what is decided, and returns the work; that of a whole frame is not
  // counted. `seen` is what the network sees; a refresh ignores it. If this throws, the
  // next decision makes up for it. Allocates nothing after the first frame.
  ChangedWork Apply(const FrameDecision& decision, const PictureView& seen,
                    const ChangePolicy& policy);

  // The same in steps, between which rows can be packed and unpacked: BeginFrame, a Step for every
  // stage (Layout::stages; the first one is 0), and Commit or Abandon. In a whole frame under
  // kExact what comes out with the bits of the base, if there is one, is no change; else all of it
  // is. With `rows`, which outlive the frame, a stage computes these rows of its root; what they
  // read of kept values, or received ones, must be fresh. A side that does not hold the frame
  // ignores `seen`. What was not computed is stale, as it is where an exception or Abandon ends the
  // frame. Throws InputError if the policy cannot be split. REQUIRES: with rows a state that
  // trades.
  void BeginFrame(const FrameDecision& decision, const PictureView& seen,
                  const ChangePolicy& policy, const FrameRows* rows = nullptr);
  size_t stage_count() const;
  size_t next_stage() const;
  void Step();            // REQUIRES: a frame that began, and a stage left
  ChangedWork Commit();   // REQUIRES: none left
  ChangedWork Abandon();  // what is left is stale; also to end early with an answer
  ChangedWork Finish();   // every Step that is left, and Commit

  // Begins to compute here what is stale, of the same inputs: the rest of a frame after Abandon.
  void BeginRest(const ChangePolicy& policy);

  // ------------------------------------------------------------------------------------------
  // What frames are made of.

  // Copies a graph input in. Throws std::invalid_argument if the dims are not those of that input.
  void SetInput(size_t index, const ConstTensorView& host);

  // The one input, as the numbers 0 to 255. REQUIRES: a picture of the graph's size.
  void SetPicture(const PictureView& picture);

  void Run();

  // Only these rows of each operator; what they need must be there (see RowsNeeded). Of an operator
  // that is not local, all rows if any.
  // REQUIRES: as many ranges as operators, each within the operator's rows.
  void Run(const RowPlan& rows);

  // Brings every value to what the graph inputs give now, computing only what a change can have
  // reached. `changed` has one mask per graph input, with every pixel that differs from the last
  // Run or RunChanged; the mask of an input that is not a map has one pixel. With kExact the
  // values then have the bits of Run. `forced` shows pixels of the picture, at any resolution, that
  // every map over them computes and stores, however little they change, but later maps do not
  // treat so little as a change; it may have no words. With its first pixel, maps that show no
  // picture (gates, say) do so too. Under kChange and kFixed without a stem, inputs may differ
  // elsewhere by what is no change to the caller: what is computed reads them as they are. Returns
  // what was computed. After an exception the next RunChanged makes up for what this one missed,
  // given what changed since.
  //
  // Where values are chosen, those that are not kept are computed wherever a kept one that changes
  // or may change needs them, halo included, from what is kept before them. All that is said of
  // stored values holds for the kept ones; the others have no numbers between frames.
  // REQUIRES: a state that keeps values. Allocates nothing.
  ChangedWork RunChanged(std::span<const ConstMaskView> changed, const ChangePolicy& policy,
                         ConstMaskView forced = {});

  // Everything is stale: the next frame computes it all, whatever changed.
  void Forget();

  // ------------------------------------------------------------------------------------------
  // Trading, with a peer: the other side's state of the same model, with the same options. Between
  // the steps of a frame, after the stage that computes the value; graph inputs before the first.

  // Appends the rows' unsent pixels to `bytes` (slice.h). REQUIRES: a kept value, whose rows are
  // fresh here.
  void Pack(ValueId value, Range rows, std::vector<uint8_t>* bytes);

  // Takes what the peer packed. Nothing received is trusted: returns null, or one sentence on what
  // is wrong with it, in which case nothing has changed. The value and rows must be those expected.
  const char* Unpack(ValueId value, Range rows, std::span<const uint8_t> bytes);

  // The peer has committed the frame too, so that it need not be sent again what was packed.
  void ConfirmSent();
  // The peer has not.
  void ForgetSent();
  // The peer holds nothing now.
  void LosePeer();

  // The camera has moved by whole strides: all stored maps move along, and what they do not hold
  // then is computed by the next RunChanged. That needs to be told only which pixels of the inputs
  // differ from the shifted ones. Where this graph's maps cannot be shifted so far, all is
  // computed. REQUIRES: a state that keeps values.
  void Scroll(const Shift& picture);

  // The camera has moved, and pixel p of the frame to come lies at stored_from_frame(p) in the last
  // one: all stored maps move along, by interpolation (Eq. 6 of the paper). The next RunChanged
  // computes what they did not show, fetches what its operators read and what the graph outputs
  // lack, and leaves the rest to Settle. Of the inputs, which are to be set as a whole, it needs to
  // be told only which pixels are not what the moved ones would be; those that were out of view
  // are. The identity means nothing. What is not computed is from here on what the policies promise
  // of moved maps: nothing, until all is computed. REQUIRES: a state made for it, and that
  // RunChanged or Run comes next.
  void Move(const Homography& stored_from_frame);

  // Idle time: fetches what the last frame left, so that the next one need not wait for it. Until
  // then, after a frame with a Move, values other than graph outputs hold only what was computed
  // and what that needed. Returns whether there was anything to do.
  bool Settle();

  // Recomputes `samples` stored pixels, chosen by the seed, from what is stored before them.
  // Returns the first that breaks the last RunChanged's promise: the same bits, or under
  // kChange, if all frames since Run had the same policy, a value within the threshold of it. (Not
  // looked at are pixels that no frame promises anything about: of kFixed, and of kChange once
  // something was refreshed, those that the last frame did not compute, and those that are
  // computed from a graph input, of which a caller may have left out small changes.) Nothing is
  // found after a frame that ended in an exception. Debug builds do this for some pixels at the end
  // of each RunChanged, and throw std::logic_error. REQUIRES: a state that keeps values, and
  // inputs as the last RunChanged saw them.
  std::optional<StoredPixel> CheckStored(int samples, uint32_t seed);

  // The pixels of a kept map that the last RunChanged changed, valid until the next call.
  ConstMaskView changed(ValueId map) const;

  // Whether the row was computed here or received in the last frame. REQUIRES: a kept value.
  bool holds(ValueId value, int row) const;

  // Its pixels that do not hold what the last frame gives, valid until the next call.
  // REQUIRES: a kept value that an operator computes, or with a peer a graph input.
  ConstMaskView stale(ValueId value) const;

  // Whether a value's numbers stay from frame to frame.
  bool is_kept(ValueId value) const;

  // Copies a graph output out. Throws std::invalid_argument if the dims are not those of that
  // output.
  void GetOutput(size_t index, const TensorView& host) const;

  // Where a value lies, in the backend's memory. Its numbers are there from the time that its
  // producer has run until its last reader has; if it is persistent, until its producer runs again.
  // REQUIRES: the value is not a constant.
  TensorView view(ValueId value) const;

  Backend& backend() const;
  const Graph& graph() const;
  const Layout& layout() const;
  const MemoryReport& memory() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_MODEL_STATE_H_

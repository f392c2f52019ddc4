#ifndef CACHEINF_COMMON_EXEC_MODEL_STATE_H_
#define CACHEINF_COMMON_EXEC_MODEL_STATE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/base/fields.h"
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
  // Values to keep: they share memory with no other value, so that their numbers last from frame to
  // frame. (Parts of a concatenation may still be computed in place in it.) Graph inputs and
  // outputs are always kept, and with kChosen some others that must be (layout.h).
  std::vector<ValueId> chosen;
  Keep keep = Keep::kListed;
  // Whether decisions may move stored maps. Those over the picture are then held twice. REQUIRES:
  // keep is not kListed.
  bool moves = false;
  // Whether a peer computes some rows. REQUIRES: keep is not kListed, and moves is false.
  bool trades = false;
};

struct MemoryReport {
  size_t arena_bytes = 0;        // what the state allocated for activations
  size_t second_bytes = 0;       // of these, second places of maps that move with the camera
  size_t no_cache_bytes = 0;     // what it would allocate if it kept nothing between frames
  size_t cache_all_bytes = 0;    // and if it kept everything
  size_t activation_bytes = 0;   // the sum of all activations, each in a buffer of its own
  size_t persistent_bytes = 0;   // of values that are kept
  size_t lower_bound_bytes = 0;  // no arena with these buffers and lifetimes is smaller
  size_t constant_bytes = 0;     // copies of constants that operators work on; not in arena_bytes
  size_t scratch_bytes = 0;
};
CACHEINF_FIELDS(MemoryReport, arena_bytes, second_bytes, no_cache_bytes, cache_all_bytes,
                activation_bytes, persistent_bytes, lower_bound_bytes, constant_bytes,
                scratch_bytes)

// A pixel of a kept map.
struct StoredPixel {
  ValueId map = kNone;
  int row = 0;
  int column = 0;
};

// Takes one frame at a time through a model. Holds the arena with the kept values, and knows which
// of their pixels are stale. The constructor lays everything out; after it, only LibTorch's
// operators allocate.
//
// Exact mode: with a backend that keeps the promise of backend.h, a value's bits depend only on the
// graph inputs: not on threads, the rows of a call, memory layout, earlier frames, or the side that
// computed it. So Run(rows) gives the bits of Run() in these rows. (Foreign operators, run by
// LibTorch, are outside the promise.)
class ModelState {
 public:
  explicit ModelState(std::shared_ptr<const CompiledModel> model, const StateOptions& options = {});
  ~ModelState();
  ModelState(ModelState&&) noexcept;
  ModelState& operator=(ModelState&&) noexcept;

  // ------------------------------------------------------------------------------------------
  // Executes decisions. Throws InputError if a mask is not of the picture's size. REQUIRES: a graph
  // whose only input is a picture, and a state that keeps values (not kListed), made with `moves`
  // if the decision moves them.

  // Executes the decision on the stored values. Returns what was computed; whole frames are not
  // counted. `seen` is what the network sees; a refresh ignores it. After a frame that moved the
  // stored maps, values other than graph outputs hold only what was computed and what that needed;
  // the next refresh brings the rest, even one that forces nothing. If this throws, the next
  // decision makes up for it. Allocates nothing after the first frame.
  ChangedWork Apply(const FrameDecision& decision, const PictureView& seen,
                    const ChangePolicy& policy);

  // The same in steps, so that between two of them the caller can look at clock and link, turn to
  // another state, or pack and unpack rows: follow with a Step while stages are left
  // (Layout::stages, from 0), then Commit or Abandon. A whole frame is a dense run; but if a peer
  // holds the base or `rows` are given, its results are compared under kExact, and pixels that come
  // out with the base's bits have not changed. With `rows`, which must outlive the frame, each
  // stage computes only these rows of its root; the kept or received values that they read must be
  // fresh. A side that does not hold the frame ignores `seen`. What is not computed becomes stale,
  // also if an exception or Abandon ends the frame; if that was a dense run, everything becomes
  // stale. Throws InputError if `rows` is given and the policy cannot be split. REQUIRES: with
  // `rows`, a state that trades.
  void BeginFrame(const FrameDecision& decision, const PictureView& seen,
                  const ChangePolicy& policy, const FrameRows* rows = nullptr);
  size_t stage_count() const;
  size_t next_stage() const;
  // Computes a stage or, in a dense run, all that are left if the backend only notes them
  // (Backend::RunsLater). REQUIRES: a frame has begun, and a stage is left.
  void Step();
  ChangedWork Commit();   // REQUIRES: no stage is left
  ChangedWork Abandon();  // what is left becomes stale; may follow an early answer

  // Begins a frame that computes what is stale from the same inputs, such as the rest after
  // Abandon.
  void BeginRest(const ChangePolicy& policy);

  // ------------------------------------------------------------------------------------------
  // Computes everything, or the same rows of everything, whatever was stored.

  // Copies a graph input in; for a picture that is an 8-bit map, `host` holds its levels. Throws
  // std::invalid_argument if its dims are not those of that input, and InputError if what should be
  // levels is not.
  void SetInput(size_t index, const ConstTensorView& host);

  // Sets the only input, as numbers 0 to 255. REQUIRES: a picture of the graph's size.
  void SetPicture(const PictureView& picture);

  // Takes a Step for every stage, as above. Run takes them all.
  void BeginDense();
  void Run();

  // Runs only these rows of each operator; what they need must be there (see RowsNeeded). An
  // operator that is not local runs whole, if any of its rows are asked for. REQUIRES: one range
  // per operator, within its rows.
  void Run(const RowsOfOperators& rows);

  // Makes everything stale: the next frame computes it all, whatever changed.
  void Forget();

  // ------------------------------------------------------------------------------------------
  // Trades with a peer: the other side's state of the same model, with the same options, which
  // trade. Call these between the steps of a frame, after the stage that computes the value; for
  // graph inputs, before the first step.

  // Appends the rows' unsent pixels to `bytes` (slice.h). REQUIRES: a kept value whose rows are
  // fresh here.
  void Pack(ValueId value, Range rows, std::vector<uint8_t>* bytes);

  // Begins the same, if the backend can go on meanwhile; else does nothing and returns null. Take
  // the next step, then call what this returned: it begins that step's work on the device, waits
  // for the slice and appends it.
  using Packing = std::function<void(std::vector<uint8_t>* bytes)>;
  Packing BeginPack(ValueId value, Range rows);

  // Takes what the peer packed. Trusts nothing received, and refuses other values or rows than
  // these. Returns null, or one sentence on what is wrong, in which case nothing has changed.
  const char* Unpack(ValueId value, Range rows, std::span<const uint8_t> bytes);

  // The peer has committed the frame too: what was packed need not be sent again.
  void ConfirmSent();
  // The peer has not committed it.
  void ForgetSent();
  // The peer holds nothing now.
  void LosePeer();

  // ------------------------------------------------------------------------------------------
  // What is stored.

  // The pixels of a kept map that the last frame changed, valid until the next call.
  ConstMaskView changed(ValueId map) const;

  // Whether a value's numbers stay from frame to frame.
  bool is_kept(ValueId value) const;

  // Copies a graph output out. Throws std::invalid_argument if `host` has other dims.
  void GetOutput(size_t index, const TensorView& host) const;

  // Where a value lies in the backend's memory. Its numbers are there once its producer has run,
  // until its last reader has or, if it is kept, until its producer runs again. REQUIRES: the
  // value is not a constant.
  TensorView view(ValueId value) const;

  Backend& backend() const;
  const Graph& graph() const;
  const Layout& layout() const;
  const MemoryReport& memory() const;

 private:
  ChangedWork Finish();       // takes the Steps left, then Commit
  friend struct InsideState;  // of the tests

  // Parts of Apply, for graphs with any inputs. Brings every value to what the graph inputs give
  // now, computing only what a change can have reached. Returns what was computed. Under kExact the
  // values then have the bits of Run. After an exception the next RunChanged makes up for what this
  // one missed, given what changed since. Allocates nothing. REQUIRES: a state that keeps values.
  //
  // `changed` has one mask per graph input, with every pixel that differs from the last Run or
  // RunChanged; the mask of an input that is not a map has one pixel. Under kChange and kFixed
  // without a stem, inputs may differ elsewhere by what the caller calls no change: what is
  // computed reads them as they are.
  //
  // `forced` (no words: none) marks pixels of the picture that every map over it computes and
  // stores, however little they change; later maps do not treat so little as a change. If its first
  // pixel is set, values that show no picture (gates, say) do so too.
  //
  // With kChosen, values that are not kept are computed from the kept ones before them, halo
  // included, wherever a kept value that changes or may change needs them. What is said of stored
  // values holds for kept ones; the others have no numbers between frames.
  ChangedWork RunChanged(std::span<const ConstMaskView> changed, const ChangePolicy& policy,
                         ConstMaskView forced = {});

  // Shifts all stored maps, for a camera that moved by whole strides. The next RunChanged computes
  // what they do not hold then; tell it only which input pixels differ from the shifted ones. Where
  // maps of this graph cannot be shifted that far, all is computed. REQUIRES: a state that keeps
  // values.
  void Scroll(const Shift& picture);

  // Moves all stored maps by interpolation (Eq. 6 of the paper), for a camera that moved: pixel p
  // of the next frame lies at stored_from_frame(p) in the last one. The identity does nothing. The
  // next RunChanged computes what the maps did not show, fetches what its operators read and what
  // the graph outputs lack, and leaves the rest to Settle. Set the inputs as a whole; tell it only
  // which pixels are not what the moved ones would be, those that were out of view included. From
  // now on policies promise nothing about what is not computed, until everything is. REQUIRES: a
  // state made with `moves`, and that RunChanged or Run comes next.
  void Move(const Homography& stored_from_frame);

  // Fetches what the last frame left. Returns whether there was anything to do.
  bool Settle();

  // Recomputes `samples` stored pixels, chosen by the seed, from what is stored before them.
  // Returns the first that breaks the last RunChanged's promise: the same bits or, under kChange if
  // all frames since Run had the same policy, a value within the threshold. Skips pixels that no
  // frame promises anything about: under kFixed, and under kChange once something was refreshed,
  // those that the last frame did not compute, and those computed from a graph input, whose small
  // changes a caller may have left out. Finds nothing after a frame that ended in an exception.
  // Debug builds check some pixels at the end of each RunChanged, and throw std::logic_error.
  // REQUIRES: a state that keeps values, and inputs as the last RunChanged saw them.
  std::optional<StoredPixel> CheckStored(int samples, uint32_t seed);

  // Whether the row was computed here or received in the last frame. REQUIRES: a kept value.
  bool Holds(ValueId value, int row) const;

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_MODEL_STATE_H_

#ifndef CACHEINF_COMMON_EXEC_PEER_ROWS_H_
#define CACHEINF_COMMON_EXEC_PEER_ROWS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "common/backend/pixel_sets.h"
#include "common/exec/layout.h"
#include "common/exec/scroll.h"
#include "common/model/graph/graph.h"

namespace cacheinf {

// What a side with a peer knows of its stored values: what it did with each row, and which pixels
// the peer lacks. Knows only kept values that an operator computes, and graph inputs; REQUIRES such
// a value unless a function says otherwise. Only Shift allocates.
class PeerRows {
 public:
  enum Row : uint8_t { kUnknown, kReceived, kComputed };

  // All must outlive this.
  PeerRows(const Graph& graph, const Layout& layout, PixelSets& sets);

  // What this side did with rows: in the current frame …
  void BeginFrame();
  void SetRows(ValueId value, Range rows, Row what);
  Row row(ValueId value, int y) const { return RowAt(of_values_[value].rows, y); }
  // … and in the last one. kComputed for any other value.
  Row last_row(ValueId value, int y) const;
  // Nothing was done with these rows in the current frame: they are what they were in the last.
  void KeepLastRows(ValueId value, Range rows);

  // The current frame is the last one now.
  void Commit();

  // `what` was done with all rows in the last frame. The peer holds nothing.
  void MarkAll(Row what);

  // Which pixels the peer lacks. At first, and once it is lost, it lacks all.
  bool lacks_all() const { return lacks_all_; }
  void LosePeer() { lacks_all_ = true; }
  // This side has written these pixels of these rows.
  void Write(ValueId value, PixelSet written, Range rows);
  // Adds what the peer lacks of a value, parts of a concatenation included.
  void AddUnsent(ValueId value, PixelSet unsent);
  // These rows are on their way.
  void Send(ValueId value, Range rows);
  // The peer has committed what was sent since the last call; or it counts as never sent.
  void ConfirmSent();
  void ForgetSent();
  // The peer has these pixels, for they came from it.
  void Arrive(ValueId value, PixelSet arrived);

  // The stored map was shifted. `scratch`: a set of its size, which is overwritten.
  void Shift(ValueId value, const ShiftedMap& map, PixelSet scratch);

  // Which values' pixels are written where this one lies, and all that lie in it.
  std::span<const ValueId> writers(ValueId value) const { return of_values_[value].writers; }
  std::span<const ValueId> parts(ValueId value) const { return of_values_[value].parts; }

 private:
  struct OfValue {
    PixelSet unsent;  // once something was traded
    PixelSet sent;    // since both sides last committed a frame
    std::vector<uint8_t> rows;
    std::vector<uint8_t> last_rows;
    std::vector<ValueId> writers;
    std::vector<ValueId> parts;
  };

  static Row RowAt(const std::vector<uint8_t>& rows, int y) {
    return static_cast<Row>(rows[static_cast<size_t>(y)]);
  }
  void AddWriters(ValueId value, const Layout& layout, OfValue& made) const;
  void BeginTrading();

  const Graph& graph_;
  PixelSets& sets_;
  std::vector<OfValue> of_values_;
  bool lacks_all_ = true;  // whatever `unsent` says
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_PEER_ROWS_H_

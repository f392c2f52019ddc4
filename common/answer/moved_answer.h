#ifndef CACHEINF_COMMON_ANSWER_MOVED_ANSWER_H_
#define CACHEINF_COMMON_ANSWER_MOVED_ANSWER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "common/answer/answers.h"
#include "common/base/picture_view.h"
#include "common/model/picture.h"
#include "common/tracker/part_flow.h"

namespace cacheinf {

// The last computed answer as it must look in newer pictures, for when their own is late; also
// finds which boxes of successive answers are the same thing.
//
// A box moves, and grows or shrinks, as the points inside it do (part_flow.h), and with it its
// keypoints, corners and mask; the mask moves by whole pixels, so it keeps its old outline.
// Keypoints without boxes move as what is around each does. Scores stay. All else is repeated:
// classes, embeddings, raw outputs, and maps of classes, which would need a motion for every pixel.
// What leaves the frame is clipped to it, and left out once little of it is left.
//
// Points are followed over the frames between, as far as MoveTo saw them: a long way in one step is
// found less often, and a thing's looks change (scripts/bench moved). They are followed in a grey
// copy of the whole frame, shrunk until no side is longer than 320.
class MovedAnswer {
 public:
  // Gives the boxes their ids and keeps a copy of the answer with its frame; if that is empty, the
  // answer is only repeated. A box takes the id of the box of its class that overlaps it most,
  // greedily, by at least .3, among boxes of the last answer, as it was or as it was moved last,
  // and things unseen for a few answers. Other boxes get new ids. Costs a small grey copy of the
  // frame.
  void Keep(AnswerContent& content, const Picture& frame);

  // Forgets the answer and its things, for example when frames change size. No id is given twice.
  void Forget();

  bool has_answer() const { return content_.has_value(); }
  const AnswerContent& answer() const { return *content_; }  // REQUIRES: has_answer()

  // Whether such answers move, rather than being repeated.
  static bool Moves(const AnswerContent& content);

  // The kept answer as it must look in this frame; a frame of another size moves nothing. REQUIRES:
  // has_answer().
  AnswerContent MoveTo(const Picture& frame);

 private:
  struct Thing {
    Detection seen;          // without parts
    Detection moved;         // the same, where it was moved last
    int answers_unseen = 0;  // one after the other
  };

  void GiveIds(Detections& detections);
  PictureView Small(const Picture& frame);
  template <typename Part>
  void NoteMotions(const std::vector<Part>& parts, const Picture& frame);
  void NotePlace(const Detection& box);

  std::optional<AnswerContent> content_;
  bool has_frame_ = false;  // from which parts can be followed
  std::optional<PictureFit> small_fit_;
  std::vector<uint8_t> small_;       // the last frame
  std::vector<PartMotion> motions_;  // of its boxes or points since, in the frame's pixels
  PartFlow flow_;
  std::vector<Thing> things_;
  int64_t last_id_ = 0;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_ANSWER_MOVED_ANSWER_H_

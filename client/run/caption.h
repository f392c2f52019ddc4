#ifndef CACHEINF_CLIENT_RUN_CAPTION_H_
#define CACHEINF_CLIENT_RUN_CAPTION_H_

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "client/answer/answer.h"
#include "common/answer/answers.h"
#include "common/model/picture.h"

// What an overlay says besides the answer itself.

namespace cacheinf {

// A few words below a frame. With a colour (blue, green, red) they are a legend's.
struct CaptionEntry {
  std::string text;
  std::optional<std::array<uint8_t, 3>> colour = {};

  bool operator==(const CaptionEntry&) const = default;
};

// Which frame it is, who computed it, how long that took, what the guard says; then the legend: the
// classes of a map, largest first, and the lines. `mode` is the robot's; `is_outlined` says whether
// OutlineRecomputed was called.
std::vector<CaptionEntry> CaptionOf(const Answer& answer, const std::string& mode,
                                    const AnswerReader& reader, bool is_outlined);

// Draws a line where rows of the robot meet rows of a server. REQUIRES: the frame's size.
Picture DrawBoundaries(const Picture& drawn, const PictureFit& fit, const ServerPart& server);

// Adds a strip below the picture for the entries. Its height depends on the picture's width alone;
// entries without room are left out. The result's height is even.
Picture AddCaption(const Picture& drawn, const std::vector<CaptionEntry>& entries);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_RUN_CAPTION_H_

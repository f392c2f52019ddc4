#ifndef CACHEINF_COMMON_LINK_EMULATED_LINK_H_
#define CACHEINF_COMMON_LINK_EMULATED_LINK_H_

#include <memory>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/link/delay_line.h"
#include "common/link/link.h"

namespace cacheinf {

// How a program, together with a peer on the same machine, is made one in the field.
struct Emulation {
  double slowdown = 1;            // all its work takes so many times as long
  std::optional<LinkShape> link;  // what leaves it goes as over this
};

// Reads "5x", a link as ParseLinkShape does, or both, "5x,93mbit,3ms"; of "" nothing is emulated.
// Throws InputError.
Emulation ParseEmulation(const std::string& text);

// A link that is as slow as the shape says in what leaves this side; the peer does the same for the
// other direction. Packets move on whenever the link is used, and not past where its caller looks
// less often. REQUIRES: the clock outlives it.
std::unique_ptr<Link> EmulateLink(std::unique_ptr<Link> link, const LinkShape& shape,
                                  const Clock& clock);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_EMULATED_LINK_H_

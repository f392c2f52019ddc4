#ifndef CACHEINF_COMMON_LINK_EMULATED_LINK_H_
#define CACHEINF_COMMON_LINK_EMULATED_LINK_H_

#include <memory>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/link/delay_line.h"
#include "common/link/link.h"

namespace cacheinf {

// Makes a program, and its peer on the same machine, behave as in the field.
struct Emulation {
  double slowdown = 1;            // all its work takes this many times as long
  std::optional<LinkShape> link;  // limits what leaves the program
};

// Parses "5x", a link as ParseLinkShape, or both, "5x,93mbit,3ms"; "" emulates nothing. Throws
// InputError.
Emulation ParseEmulation(const std::string& text);

// Returns a link that slows down what leaves this side as `shape` says; the peer does the same for
// the other direction. Packets advance only while the link is used, so a caller that looks rarely
// gets them late. REQUIRES: the clock outlives the link.
std::unique_ptr<Link> EmulateLink(std::unique_ptr<Link> link, const LinkShape& shape,
                                  const Clock& clock);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_EMULATED_LINK_H_

#ifndef CACHEINF_COMMON_LINK_EMULATED_LINK_H_
#define CACHEINF_COMMON_LINK_EMULATED_LINK_H_

#include <memory>

#include "common/base/clock.h"
#include "common/link/delay_line.h"
#include "common/link/link.h"

namespace cacheinf {

// A link that is as slow as the shape says in what leaves this side; the peer does the same for the
// other direction. Packets move on whenever the link is used, and not past where its caller looks
// less often. REQUIRES: the clock outlives it.
std::unique_ptr<Link> EmulateLink(std::unique_ptr<Link> link, const LinkShape& shape,
                                  const Clock& clock);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_EMULATED_LINK_H_

#ifndef CACHEINF_COMMON_EXEC_DECISION_TEXT_H_
#define CACHEINF_COMMON_EXEC_DECISION_TEXT_H_

#include <string>

#include "common/exec/frame_decision.h"

namespace cacheinf {

// Returns what is wrong between a decision's fields, such as "base must be ...", or null.
const char* FaultOf(const FrameDecision& decision);

// Returns the decision as one line of JSON; equal decisions give equal text. Masks are the
// hexadecimal digits of their bytes (sparse_ops/mask/wire.h), or "" without pixels.
std::string ToText(const FrameDecision& decision);

// Trusts nothing: throws InputError, one sentence that begins with `name`, for anything that ToText
// would not have written.
FrameDecision ReadFrameDecision(const std::string& text, const std::string& name);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_DECISION_TEXT_H_

#ifndef CACHEINF_COMMON_EXEC_DECISION_TEXT_H_
#define CACHEINF_COMMON_EXEC_DECISION_TEXT_H_

#include <string>

#include "common/exec/frame_decision.h"

namespace cacheinf {

// What does not hold between a decision's fields, as "base must be ..."; null if all does.
const char* FaultOf(const FrameDecision& decision);

// A decision as one line of JSON; equal decisions make equal text. Masks are the hexadecimal digits
// of their bytes (sparse_ops/mask/wire.h), or "" without pixels.
std::string ToText(const FrameDecision& decision);

// Trusts nothing: throws InputError, in one sentence that begins with `name`, for anything that
// ToText would not have written.
FrameDecision ReadFrameDecision(const std::string& text, const std::string& name);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_DECISION_TEXT_H_

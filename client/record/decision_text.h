#ifndef CACHEINF_CLIENT_RECORD_DECISION_TEXT_H_
#define CACHEINF_CLIENT_RECORD_DECISION_TEXT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "common/exec/frame_decision.h"

namespace cacheinf {

class JsonReader;

// Masks as the hexadecimal digits of their bytes (sparse_ops/mask/wire.h), "" without pixels.
void to_json(nlohmann::ordered_json& json, const Mask& mask);
void ReadField(const JsonReader& json, const char* key, Mask& mask);

// Returns the decision as one line of JSON; equal decisions give equal text.
std::string ToText(const FrameDecision& decision);

// Trusts nothing: throws InputError, one sentence that begins with `name`, for anything that ToText
// would not have written.
FrameDecision ReadFrameDecision(const std::string& text, const std::string& name);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_RECORD_DECISION_TEXT_H_

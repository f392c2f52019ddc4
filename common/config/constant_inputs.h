#ifndef CACHEINF_COMMON_CONFIG_CONSTANT_INPUTS_H_
#define CACHEINF_COMMON_CONFIG_CONSTANT_INPUTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "common/model/graph/load_options.h"

namespace cacheinf {

// Reads "im_shape=640,640" or "orig_target_sizes=sizes.npy". A text without a name goes on with the
// list of the one before: so does a command line that splits at commas. Throws InputError, starting
// with `name`, for anything else and for a file that is no array.
ConstantInputs ReadConstantInputs(const std::vector<std::string>& texts, std::string_view name);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CONFIG_CONSTANT_INPUTS_H_

#ifndef CACHEINF_COMMON_EXEC_EXECUTOR_H_
#define CACHEINF_COMMON_EXEC_EXECUTOR_H_

#include "common/exec/model_state.h"

namespace cacheinf {

using Executor = ModelState;
using ExecutorOptions = StateOptions;

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_EXECUTOR_H_

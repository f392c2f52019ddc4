#ifndef CACHEINF_COMMON_CONFIG_CONFIGURED_MODEL_H_
#define CACHEINF_COMMON_CONFIG_CONFIGURED_MODEL_H_

#include <memory>

#include "common/config/robot_config.h"
#include "common/exec/backend.h"
#include "common/exec/cpu_backend.h"
#include "common/model/graph/graph.h"

namespace cacheinf {

// The configuration's model from its file, with picture and decoder, ready to run. `has_tensors`:
// frames are tensors. Throws InputError if it cannot be read, or does not fit the configuration.
Graph LoadGraph(const RobotConfig& config, bool has_tensors);

// The configuration's, with so many threads whatever that says. Throws InputError if this machine
// or build has it not.
std::unique_ptr<Backend> MakeBackend(const RobotConfig& config, int threads);
// Those of the kernels of ours for CPUs are made as `cpu` says.
std::unique_ptr<Backend> MakeBackend(RobotConfig::Backend kind, const CpuBackendOptions& cpu);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CONFIG_CONFIGURED_MODEL_H_

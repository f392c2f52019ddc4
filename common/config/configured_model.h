#ifndef CACHEINF_COMMON_CONFIG_CONFIGURED_MODEL_H_
#define CACHEINF_COMMON_CONFIG_CONFIGURED_MODEL_H_

#include <memory>
#include <string>

#include "common/backend/backend.h"
#include "common/backend/host/cpu_backend.h"
#include "common/config/robot_config.h"
#include "common/model/graph/graph.h"

namespace cacheinf {

// Loads the configuration's model as its file has it. `has_tensors`: frames are tensors, else the
// network takes one picture. Throws InputError if it cannot be read or has more than one input.
Graph LoadNetwork(const RobotConfig& config, bool has_tensors);

// Adds picture and decoder, so that the network is ready to run. If the configuration dumps
// outputs, the network's own outputs follow the decoder's. Throws InputError if the network does
// not fit the configuration.
Graph CompleteNetwork(Graph graph, const RobotConfig& config, bool has_tensors);

inline Graph LoadGraph(const RobotConfig& config, bool has_tensors) {
  return CompleteNetwork(LoadNetwork(config, has_tensors), config, has_tensors);
}

// Loads another network for the same frames, in place of `first`: the one that a quantised network
// was made of, say. Also throws InputError unless it sees the same pictures and has outputs of the
// same shapes.
Graph LoadInPlaceOf(const Graph& first, const std::string& model, const RobotConfig& config,
                    bool has_tensors);

// Makes the configuration's backend with `threads` threads, whatever the configuration says. Throws
// InputError if this machine or build lacks it.
std::unique_ptr<Backend> MakeBackend(const RobotConfig& config, int threads);
// `cpu` applies to backends with our own CPU kernels.
std::unique_ptr<Backend> MakeBackend(RobotConfig::Backend kind, const CpuBackendOptions& cpu);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CONFIG_CONFIGURED_MODEL_H_

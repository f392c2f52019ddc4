#include "client/answer/output_paths.h"

#include <string>
#include <vector>

#include "common/base/output_files.h"
#include "common/link/address.h"

namespace cacheinf {

void CheckOutputPaths(const RobotConfig& config) {
  const OutputConfig& output = config.output;
  const std::string answers_file = output.answers_on_stdout() ? "" : output.answers;
  std::vector<NamedPath> inputs = config.PathsRead();
  const std::string& server = config.server.address;
  const bool is_mpi = server == "mpi" || server.starts_with("mpi:");
  if (is_mpi && config.server.name_server.empty()) {
    inputs.push_back({"--name-server", DefaultNameServerFile()});
  }
  CheckOverwriting(inputs, {{"--answers", answers_file},
                            {"--dump-outputs", output.dump_outputs},
                            {"--overlay", output.overlay},
                            {"--picture", output.picture},
                            {"--record", config.record.folder},
                            {"--summary", output.summary}});
  CheckWritable({{"--answers", answers_file},
                 {"--overlay", output.overlay},
                 {"--picture", output.picture},
                 {"--summary", output.summary}});
  CheckFolder({"--record", config.record.folder});
  CheckExtension({"--overlay", output.overlay}, ".mp4");
  CheckExtension({"--picture", output.picture}, ".png");
}

}  // namespace cacheinf

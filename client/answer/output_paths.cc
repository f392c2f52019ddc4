#include "client/answer/output_paths.h"

#include <string>
#include <vector>

#include "common/base/output_files.h"

namespace cacheinf {

void CheckOutputPaths(const RobotConfig& config) {
  const OutputConfig& output = config.output;
  const std::string answers_file = output.answers_on_stdout() ? "" : output.answers;
  std::vector<NamedPath> inputs = {{"--source", config.source},
                                   {"--model", config.model},
                                   {"--class-names", config.model_config.decoder.class_names_file}};
  for (const std::string& smaller : config.smaller_models) {
    inputs.push_back({"--smaller-model", config.WithSmallerModel(smaller).model});
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

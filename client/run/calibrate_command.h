#ifndef CACHEINF_CLIENT_RUN_CALIBRATE_COMMAND_H_
#define CACHEINF_CLIENT_RUN_CALIBRATE_COMMAND_H_

#include <CLI/CLI.hpp>
#include <string>

#include "client/calibrate/calibrate.h"
#include "common/config/config_options.h"

namespace cacheinf {

// The command `calibrate` of a command line.
class CalibrateCommand {
 public:
  // This must outlive the app's parsing.
  void AddTo(CLI::App& app);

  bool is_asked_for() const { return command_->parsed(); }

  // Calibrates, prints the result and returns the exit code: 1 if the agreement was not reached.
  // Throws InputError.
  int Run();

 private:
  CLI::App* command_ = nullptr;
  ConfigOptions config_;
  std::string clip_;
  CalibrationOptions options_;
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_RUN_CALIBRATE_COMMAND_H_

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client/calibrate.h"
#include "client/config_options.h"
#include "common/base/clock.h"
#include "common/base/command_line.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/program.h"
#include "common/config/model_config.h"
#include "common/model/load.h"
#include "profiler/inspect.h"
#include "profiler/machine.h"
#include "profiler/pack_command.h"
#include "profiler/scenes_command.h"

// The offline tool: looks into models, packs them, describes the machine, and finds settings for a
// robot.

namespace {

struct ModelOptions {
  std::filesystem::path model;
  std::vector<std::string> shapes;
  bool no_optimise = false;

  void AddTo(CLI::App& command) {
    command.add_option("MODEL", model, "ONNX, TorchScript or native model file")->required();
    command.add_option("--shape", shapes, "shape of an input, as 1x3x384x640; once an input");
    command.add_flag("--no-optimise", no_optimise, "leave the graph as the file has it");
  }

  cacheinf::LoadOptions Load() const {
    cacheinf::LoadOptions load;
    for (const std::string& shape : shapes) {
      load.input_shapes.push_back(cacheinf::ParseShape(shape, "--shape"));
    }
    load.optimise = !no_optimise;
    return load;
  }
};

// Names in a model's file may hold bytes that are not UTF-8, which JSON must be.
std::string JsonText(const nlohmann::json& json) {
  return json.dump(2, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace) + "\n";
}

void WriteText(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  if (!file) throw cacheinf::InputError("cannot write '" + path.string() + "'");
}

struct InspectOptions {
  ModelOptions model;
  std::filesystem::path json;
  std::filesystem::path dot;
  std::vector<double> budgets_mb;

  void AddTo(CLI::App& app) {
    CLI::App* command = app.add_subcommand("inspect", "Print a model's operators and their costs.");
    model.AddTo(*command);
    command->add_option("--json", json, "write the table as JSON too");
    command->add_option("--dot", dot, "write the graph for Graphviz too");
    command
        ->add_option("--budget-mb", budgets_mb,
                     "choose the maps to keep between frames in so many MB of activations")
        ->check(CLI::Range(0.0, 1e6));
    command->callback([this] { Run(); });
  }

  void Run() const {
    const cacheinf::Graph graph = cacheinf::LoadModel(model.model, model.Load());
    std::vector<size_t> budgets;
    for (const double mb : budgets_mb) budgets.push_back(static_cast<size_t>(mb * 1e6));
    const cacheinf::ModelReport report = cacheinf::Inspect(graph, budgets);
    if (!json.empty()) WriteText(json, JsonText(cacheinf::ToJson(report, graph)));
    if (!dot.empty()) WriteText(dot, cacheinf::ToDot(report, graph));
    std::cout << cacheinf::ToText(report);
  }
};

struct PackOptions {
  ModelOptions model;
  std::filesystem::path out;
  std::filesystem::path config;

  void AddTo(CLI::App& app) {
    CLI::App* command = app.add_subcommand("pack", "Write a model as a native model file.");
    model.AddTo(*command);
    command->add_option("-o,--out", out, "the native model file")->required();
    command->add_option("--config", config,
                        "a robot's configuration with the model's preprocessing and decoder");
    command->callback([this] {
      std::cout << cacheinf::RunPackCommand({model.model, out, model.Load(), config});
    });
  }
};

struct ScenesOptions {
  cacheinf::ScenesCommand scenes;

  void AddTo(CLI::App& app) {
    CLI::App* command =
        app.add_subcommand("scenes", "Write generated frames with their ground truth.");
    const std::map<std::string, cacheinf::CameraMotion> motions = {
        {"still", cacheinf::CameraMotion::kStill},
        {"handheld", cacheinf::CameraMotion::kHandheld},
        {"travel", cacheinf::CameraMotion::kTravel}};
    command->add_option("--out", scenes.out_folder, "the folder for the arrays")->required();
    command->add_option("--seed", scenes.scene.seed, "of the first clip");
    command->add_option("--clips", scenes.clips, "how many clips");
    command->add_option("--frames", scenes.frames, "frames of a clip");
    command->add_option("--frame-step", scenes.frame_step, "between the frames that are written");
    command->add_option("--width", scenes.scene.width, "in pixels");
    command->add_option("--height", scenes.scene.height, "in pixels");
    command->add_option("--shapes", scenes.scene.shapes, "in and around the picture");
    command->add_option("--moving-share", scenes.scene.moving_share, "of the shapes");
    const auto set_camera = [this, motions](const std::string& name) {
      scenes.scene.camera = motions.at(name);
    };
    command->add_option_function<std::string>("--camera", set_camera, "how the camera moves")
        ->check(CLI::IsMember(motions));
    command->add_option("--illumination", scenes.scene.illumination,
                        "amplitude of the changing light, 0 to 1");
    command->add_option("--noise", scenes.scene.noise, "standard deviation, in 8-bit levels");
    command->callback([this] { cacheinf::RunScenesCommand(scenes); });
  }
};

struct MachineOptions {
  std::filesystem::path json;

  void AddTo(CLI::App& app) {
    CLI::App* command =
        app.add_subcommand("machine", "Describe what a measurement on this machine depends on.");
    command->add_option("--json", json, "write it as JSON too");
    command->callback([this] {
      const cacheinf::Machine machine = cacheinf::DescribeMachine();
      std::cout << cacheinf::ToText(machine);
      if (!json.empty()) WriteText(json, JsonText(cacheinf::ToJson(machine)));
    });
  }
};

struct CalibrateOptions {
  cacheinf::ConfigOptions config;
  std::string clip;
  cacheinf::CalibrationOptions calibration;
  int exit_code = 0;

  void AddTo(CLI::App& app) {
    CLI::App* command = app.add_subcommand(
        "calibrate",
        "Find the settings of mode \"cache\" that agree with dense answers on a clip for least.");
    config.AddTo(*command,
                 {"--model", "--shape", "--threads", "--backend", "--scheme", "--log-level"});
    command->add_option("--source", clip,
                        "the clip: a video, a folder of pictures, generated[:…]; in place of the "
                        "configuration's source, which stays what it is");
    command->add_option("--agreement", calibration.agreement,
                        "to reach with dense answers: F1 of boxes, mIoU of maps, PCK, top-1, or 1 "
                        "minus the relative error");
    const std::map<std::string, cacheinf::CalibrationOptions::By> by = {
        {"work", cacheinf::CalibrationOptions::By::kWork},
        {"latency", cacheinf::CalibrationOptions::By::kLatency}};
    const auto set_by = [this, by](const std::string& name) { calibration.by = by.at(name); };
    command->add_option_function<std::string>("--by", set_by, "what shall be least")
        ->check(CLI::IsMember(by));
    command->add_option("--skip", calibration.skip, "frames of the clip, before the first used");
    command->add_option("--frames", calibration.frames, "at most so many are used");
    CLI::Option* budget = command->add_option("--budget", calibration.budget_s, "seconds");
    command
        ->add_option(
            "--trials", calibration.trials,
            "end after so many trials, with the same result every time, instead of by time")
        ->excludes(budget);
    command->add_option("--out", calibration.out,
                        "the configuration found (default: MODEL.calibrated.json beside --config, "
                        "or beside the model)");
    command->add_option("--frontier", calibration.frontier, "cost against agreement as CSV");
    command->add_option("--picture", calibration.picture, "the same as a PNG picture");
    command->callback([this] { Run(); });
  }

  void Run() {
    const cacheinf::RobotConfig effective = config.Effective();
    calibration.config_file = config.file();
    cacheinf::SetLogLevel(effective.log_level);
    const cacheinf::SteadyClock clock;
    const std::string source = clip.empty() ? effective.source : clip;
    const cacheinf::CalibrationResult result =
        cacheinf::Calibrate(effective, source, calibration, clock, cacheinf::StopOnSignals());
    std::cout << result.text;
    exit_code = result.is_reached ? 0 : 1;
  }
};

int Main(int argc, char** argv) {
  CLI::App app("Looks into models, packs them, describes the machine, and finds settings.",
               "cacheinf-profile");
  app.set_version_flag("--version", "cacheinf-profile " CACHEINF_VERSION);
  app.require_subcommand(1);
  InspectOptions inspect;
  PackOptions pack;
  ScenesOptions scenes;
  MachineOptions machine;
  CalibrateOptions calibrate;
  inspect.AddTo(app);
  pack.AddTo(app);
  scenes.AddTo(app);
  machine.AddTo(app);
  calibrate.AddTo(app);
  try {
    cacheinf::ParseCommandLine(app, argc, argv);
    return calibrate.exit_code;
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return cacheinf::RunProgram("cacheinf-profile", [&] { return Main(argc, argv); });
}

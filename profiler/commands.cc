#include "profiler/commands.h"

#include <filesystem>
#include <iostream>
#include <string>
#include <tuple>
#include <vector>

#include "common/base/clock.h"
#include "common/base/command_line.h"
#include "common/base/error.h"
#include "common/base/file.h"
#include "common/base/json_fields.h"
#include "common/base/log.h"
#include "common/base/program.h"
#include "common/config/config_options.h"
#include "common/config/constant_inputs.h"
#include "common/config/model_config.h"
#include "common/model/load.h"
#include "profiler/check_command.h"
#include "profiler/fitted_clip.h"
#include "profiler/frames_command.h"
#include "profiler/inspect.h"
#include "profiler/link_command.h"
#include "profiler/machine.h"
#include "profiler/measure_command.h"
#include "profiler/pack_command.h"
#include "profiler/scenes_command.h"

namespace cacheinf {
namespace {

struct ModelOptions {
  std::filesystem::path model;
  std::vector<std::string> shapes;
  std::vector<std::string> inputs;
  bool no_optimise = false;

  void AddTo(CLI::App& command) {
    command.add_option("MODEL", model, "ONNX, TorchScript or native model file")->required();
    command.add_option("--shape", shapes, "shape of an input, such as 1x3x384x640; once per input");
    command.add_option("--input", inputs,
                       "an input that is the same for all frames: NAME=NUMBERS or NAME=FILE.npy");
    command.add_flag("--no-optimise", no_optimise, "leave the graph as it is in the file");
  }

  LoadOptions Load() const {
    LoadOptions load;
    for (const std::string& shape : shapes) {
      load.input_shapes.push_back(ParseShape(shape, "--shape"));
    }
    load.constants = ReadConstantInputs(inputs, "--input");
    load.optimise = !no_optimise;
    return load;
  }
};

struct InspectOptions {
  ModelOptions model;
  std::filesystem::path json;
  std::vector<double> budgets_mb;

  void AddTo(CLI::App& app) {
    CLI::App* command =
        app.add_subcommand("inspect", "Print a model's inputs, outputs, operators and costs.");
    model.AddTo(*command);
    command->add_option("--json", json, "also write the table as JSON");
    command
        ->add_option("--budget-mb", budgets_mb,
                     "choose the maps to keep between frames within this many MB of activations")
        ->check(FiniteRange(0.0, 1e6));
    command->callback([this] { Run(); });
  }

  void Run() const {
    const Graph graph = LoadModel(model.model, model.Load());
    std::vector<size_t> budgets;
    for (const double mb : budgets_mb) budgets.push_back(static_cast<size_t>(mb * 1e6));
    const ModelReport report = Inspect(graph, budgets);
    if (!json.empty()) WriteFile(json, TextOf(ToJson(report), 2) + "\n");
    std::cout << ToText(report);
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
      std::cout << RunPackCommand({model.model, out, model.Load(), config});
    });
  }
};

struct CheckOptions {
  ConfigOptions config;
  std::string model;
  std::filesystem::path picture;

  void AddTo(CLI::App& app) {
    CLI::App* command = app.add_subcommand(
        "check",
        "Read a model and one frame as a robot would: what goes in, what comes out, what "
        "the decoder makes of it, and what would be refused (exit code 2).");
    command->add_option("MODEL", model, "ONNX, TorchScript or native model file");
    command->add_option("--picture", picture,
                        "the first frame with its answer, a PNG (default: MODEL.check.png)");
    config.AddTo(*command, RobotConfig().Fields(),
                 {"--model", "--shape", "--input", "--source", "--class-names", "--threads",
                  "--backend", "--log-level"});
    command->callback([this] { Run(); });
  }

  void Run() {
    RobotConfig effective = EffectiveConfig(config);
    if (!model.empty()) effective.model = model;
    SetLogLevel(effective.log_level);
    bool contradicts = false;
    std::cout << RunCheckCommand(effective, picture, &contradicts) << std::flush;
    if (contradicts)
      throw InputError(effective.model, ": a robot refuses this model, as said above");
  }
};

struct FramesOptions {
  ConfigOptions config;
  std::string model;
  FramesCommand frames;

  void AddTo(CLI::App& app) {
    CLI::App* command = app.add_subcommand(
        "frames",
        "Write frames from all over a source, as pictures, and what the network gets of each, as "
        "an array: to calibrate or to judge it elsewhere.");
    command->add_option("MODEL", model, "ONNX or TorchScript file");
    command->add_option("--out", frames.out_folder, "the folder for frames/ and inputs/")
        ->required();
    command->add_option("--frames", frames.count, "the most frames")->check(CLI::Range(1, 10000));
    config.AddTo(*command, RobotConfig().Fields(),
                 {"--model", "--shape", "--input", "--source", "--log-level"});
    command->callback([this] { Run(); });
  }

  void Run() {
    frames.config = EffectiveConfig(config);
    if (!model.empty()) frames.config.model = model;
    SetLogLevel(frames.config.log_level);
    std::cout << RunFramesCommand(frames);
  }
};

struct ScenesOptions {
  ScenesCommand scenes;

  void AddTo(CLI::App& app) {
    CLI::App* command =
        app.add_subcommand("scenes", "Write generated frames with their ground truth.");
    command->add_option("--out", scenes.out_folder, "the folder for the arrays")->required();
    command->add_option("--seed", scenes.scene.seed, "seed of the first clip");
    command->add_option("--clips", scenes.clips, "how many clips");
    command->add_option("--frames", scenes.frames, "frames per clip");
    command->add_option("--frame-step", scenes.frame_step,
                        "frames from one written frame to the next");
    command->add_option("--width", scenes.scene.width, "in pixels");
    command->add_option("--height", scenes.scene.height, "in pixels");
    command->add_option("--shapes", scenes.scene.shapes,
                        "number of shapes, in and around the picture");
    command->add_option("--moving-share", scenes.scene.moving_share,
                        "share of the shapes that move");
    AddWord(*command, "--camera", scenes.scene.camera, "how the camera moves");
    command->add_option("--illumination", scenes.scene.illumination,
                        "amplitude of the changing light, 0 to 1");
    command->add_option("--noise", scenes.scene.noise, "standard deviation, in 8-bit levels");
    command->callback([this] { RunScenesCommand(scenes); });
  }
};

struct MachineOptions {
  std::filesystem::path json;

  void AddTo(CLI::App& app) {
    CLI::App* command =
        app.add_subcommand("machine", "Describe what a measurement on this machine depends on.");
    command->add_option("--json", json, "also write it as JSON");
    command->callback([this] {
      const Machine machine = DescribeMachine();
      std::cout << ToText(machine);
      if (!json.empty()) WriteFile(json, TextOf(ToJson(machine), 2) + "\n");
    });
  }
};

struct MeasureOptions {
  ConfigOptions config;
  MeasureCommand measure;
  bool is_quick = false;

  void AddTo(CLI::App& app) {
    CLI::App* command = app.add_subcommand(
        "measure", "Measure what a model costs on this machine, for planners (takes minutes).");
    config.AddTo(*command, RobotConfig().Fields(),
                 {"--model", "--shape", "--threads", "--backend", "--scheme", "--slice-codec",
                  "--log-level"});
    AddWord(*command, "--side", measure.request.side, "which side this machine is")->required();
    command->add_option("--clip", measure.request.clips,
                        "frames to measure on: a video, a folder of pictures, generated[:…]; may "
                        "be repeated (default: generated motion)");
    command->add_option("--frames", measure.request.frames, "the most frames of each clip")
        ->check(CLI::Range(kLeastClipFrames, 100000));
    command->add_option("--codec", measure.request.codecs,
                        "codec for pictures, as in mode remote; may be repeated");
    CLI::Option* const seconds =
        command->add_option("--seconds", measure.request.seconds, "seconds that it may take")
            ->check(FiniteRange(1.0, 86400.0));
    command->add_flag("--quick", is_quick, "15 seconds instead of 60")->excludes(seconds);
    command
        ->add_option("--watts", measure.request.watts,
                     "power of the machine: computing, sending, waiting")
        ->expected(3)
        ->check(FiniteRange(0.0, 1e6));
    command->add_option("-o,--out", measure.out, "file for the profile")->required();
    command->add_flag("--force", measure.measure_again,
                      "measure again, even if the file already holds this profile");
    command->callback([this] { Run(); });
  }

  void Run() {
    constexpr double kQuickSeconds = 15;
    measure.config = EffectiveConfig(config);
    measure.config_file = config.file();
    SetLogLevel(measure.config.log_level);
    if (is_quick) measure.request.seconds = kQuickSeconds;
    const SteadyClock clock;
    std::cout << RunMeasureCommand(measure, clock, StopOnSignals());
  }
};

struct LinkOptions {
  LinkCommand link;

  void AddTo(CLI::App& app) {
    CLI::App* command =
        app.add_subcommand("link", "Measure the link to a server, by message size.");
    command
        ->add_option("--server", link.server,
                     "tcp://HOST:PORT, mpi or mpi:NAME, as the server's --listen")
        ->required();
    command->add_option("--name-server", link.name_server, "the name server's file");
    command->add_option("--interface", link.interface, "the only one to use, with mpi:NAME");
    command->add_option("--robot-key", link.robot_key, "a listed robot's secret key, for tcp://");
    command->add_option("--server-key", link.server_key, "the server's public key, for tcp://");
    command->add_option("--emulate", link.emulate,
                        "emulate a narrow link from here to the server, such as 20mbit,3ms");
    command->add_option("--server-wait", link.wait_s, "seconds to wait for the server")
        ->check(FiniteRange(0.0, 86400.0));
    command->add_option("--rounds", link.rounds, "rounds per size; the median counts")
        ->check(CLI::Range(3, 10000));
    command->add_option("-o,--out", link.out, "also write it as JSON");
    command->callback([this] {
      const SteadyClock clock;
      std::cout << RunLinkCommand(link, clock, StopOnSignals());
    });
  }
};

}  // namespace

void AddProfilerCommands(CLI::App& app) {
  // Callbacks use them until the program ends.
  static auto& commands =
      *new std::tuple<InspectOptions, CheckOptions, PackOptions, FramesOptions, ScenesOptions,
                      MachineOptions, MeasureOptions, LinkOptions>();
  std::apply([&app](auto&... command) { (command.AddTo(app), ...); }, commands);
}

}  // namespace cacheinf

// Prints the answer to every frame of a video: example CONFIG MODEL VIDEO
#include <iostream>

#include "client/robot.h"
#include "client/robot_setup.h"
#include "common/base/clock.h"

int main(int argc, char** argv) try {
  using namespace cacheinf;
  if (argc != 4) throw InputError("usage: example CONFIG MODEL VIDEO");
  RobotConfig config = LoadRobotConfig(argv[1]);
  config.model = argv[2];
  config.mode = RobotConfig::Mode::kCache;
  const SteadyClock clock;
  const auto video = OpenSource(argv[3], clock);
  Robot robot(Compile(LoadGraph(config, video->has_tensors()), config), config, clock);
  while (const auto frame = video->Next()) {
    std::cout << ToJsonLine(robot.Process(*frame), robot.reader()) << '\n';
    robot.Refresh(*frame);
  }
} catch (const cacheinf::InputError& error) {
  std::cerr << "example: " << error.what() << '\n';
  return 2;
}

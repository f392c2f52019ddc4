#include "profiler/scenes_command.h"

#include <cstdint>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/npy.h"

namespace cacheinf {
namespace {

// An .npy file (version 1.0) of bytes, written from front to back.
class ByteArrayFile {
 public:
  ByteArrayFile(const std::filesystem::path& path, const std::vector<int64_t>& shape)
      : path_(path), file_(path, std::ios::binary) {
    file_ << NpyHead("|u1", shape);
  }

  void Append(const std::vector<uint8_t>& bytes) {
    file_.write(reinterpret_cast<const char*>(bytes.data()),
                static_cast<std::streamsize>(bytes.size()));
  }

  void Close() {
    file_.close();
    if (!file_) throw InputError("cannot write ", path_.string());
  }

 private:
  std::filesystem::path path_;
  std::ofstream file_;
};

void SwapBlueAndRed(std::vector<uint8_t>& picture) {
  for (size_t i = 0; i < picture.size(); i += 3) std::swap(picture[i], picture[i + 2]);
}

void Check(const ScenesCommand& command) {
  const auto at_least_one = [](int value, const char* what) {
    if (value < 1) throw InputError("the number of ", what, " must be at least 1");
  };
  at_least_one(command.clips, "clips");
  at_least_one(command.frames, "frames");
  at_least_one(command.frame_step, "frames from one written frame to the next");
  if (int64_t{command.clips} * command.frames > 1'000'000) {
    throw InputError("more than a million frames are asked for");
  }
  if (int64_t{command.frames} * command.frame_step > 1'000'000'000) {
    throw InputError("a clip of more than 10^9 frames is asked for");
  }
}

}  // namespace

void RunScenesCommand(const ScenesCommand& command) {
  command.scene.Check();
  Check(command);
  std::error_code error;
  std::filesystem::create_directories(command.out_folder, error);
  if (error) {
    throw InputError("cannot make the folder ", command.out_folder.string(), ": ", error.message());
  }

  const int height = command.scene.height;
  const int width = command.scene.width;
  const int count = command.clips * command.frames;
  ByteArrayFile pictures(command.out_folder / "pictures.npy", {count, height, width, 3});
  ByteArrayFile labels(command.out_folder / "labels.npy", {count, height, width});
  std::vector<uint8_t> picture(static_cast<size_t>(height) * static_cast<size_t>(width) * 3);
  std::vector<uint8_t> truth(static_cast<size_t>(height) * static_cast<size_t>(width));
  SceneOptions options = command.scene;
  for (int clip = 0; clip < command.clips; ++clip, ++options.seed) {
    const Scene scene(options);
    for (int i = 0; i < command.frames; ++i) {
      scene.Render(i * command.frame_step, picture.data(), truth.data());
      SwapBlueAndRed(picture);
      pictures.Append(picture);
      labels.Append(truth);
    }
  }
  pictures.Close();
  labels.Close();
}

}  // namespace cacheinf

#include "common/pair/model_store.h"

#include <fmt/core.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>

#include "common/backend/torch_call.h"
#include "common/base/error.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/printable.h"
#include "common/model/graph/pack.h"
#include "common/model/graph/schemes.h"

namespace cacheinf {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMostModelBytes = uint64_t{8} << 30;
constexpr std::chrono::milliseconds kLookForStop(20);
constexpr char kModel[] = ".cacheinf";
constexpr char kBringer[] = ".bringer";  // of a model: holds the key of who brought it
constexpr uint64_t kLongestKey = 1024;

std::string NameOf(const message::Fingerprint& model) {
  return fmt::format("{:016x}-{}", model.checksum, model.bytes);
}

fs::path TemporaryBeside(const fs::path& path) {
  static std::atomic<int> count = 0;
  return fmt::format("{}.{}-{}.part", path.string(), getpid(), count++);
}

// Removes what killed servers left half done. Other servers may be at work in the folder.
void RemoveRemains(const fs::path& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    // NAME.cacheinf.PROCESS-COUNT, as TemporaryBeside names it.
    if (entry.path().extension() != ".part") continue;
    const std::string process = entry.path().stem().extension().string();
    const pid_t id = process.empty() ? 0 : std::atoi(process.c_str() + 1);
    if (id > 0 && kill(id, 0) != 0 && errno == ESRCH) fs::remove(entry.path(), error);
  }
}

// Removes a file that cannot be read, so that the next robot sends it again.
Graph Read(const fs::path& path) {
  try {
    return ReadPack(path);
  } catch (const InputError&) {
    std::error_code error;
    fs::remove(path, error);
    throw;
  }
}

}  // namespace

ModelStore::ModelStore(fs::path folder, MakeBackend make_backend, Tune tune, bool trusts_robots)
    : folder_(std::move(folder)),
      make_backend_(std::move(make_backend)),
      arithmetic_(make_backend_()->Arithmetic()),
      tune_(std::move(tune)),
      trusts_robots_(trusts_robots) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (!fs::is_directory(folder_)) {
    throw InputError(fmt::format("'{}' is not a folder for models", folder_.string()));
  }
  RemoveRemains(folder_);
}

fs::path ModelStore::PathOf(const message::Fingerprint& model) const {
  return folder_ / (NameOf(model) + kModel);
}

bool ModelStore::Has(const message::Fingerprint& model) const {
  std::error_code error;
  if (!fs::is_regular_file(PathOf(model), error)) return false;
  fs::last_write_time(PathOf(model), fs::file_time_type::clock::now(), error);  // it is in use
  return true;
}

void ModelStore::MakeRoom(const std::string& key, const message::Fingerprint& model,
                          uint64_t most_bytes) {
  if (key.empty()) return;
  std::multimap<fs::file_time_type, fs::path> brought;
  uint64_t bytes = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    if (entry.path().extension() != kBringer || ReadFile(entry.path(), kLongestKey) != key)
      continue;
    const fs::path file = fs::path(entry.path()).replace_extension(kModel);
    const uint64_t size = fs::file_size(file, error);
    if (error) {
      fs::remove(entry.path(), error);
      continue;
    }
    bytes += size;
    brought.emplace(fs::last_write_time(file, error), file);
  }
  for (const auto& [when, file] : brought) {
    if (bytes + model.bytes <= most_bytes) return;
    bytes -= fs::file_size(file, error);
    fs::remove(file, error);
    fs::remove(fs::path(file).replace_extension(kBringer), error);
    LogInfo(fmt::format("{} makes room for another model of the robot that brought it",
                        file.filename().string()));
  }
}

void ModelStore::NoteBringer(const std::string& key, const message::Fingerprint& model) {
  if (!key.empty()) WriteFile(PathOf(model).replace_extension(kBringer), key);
}

void ModelStore::CheckTrust(const Graph& graph, bool is_trusted) const {
  if (trusts_robots_ || is_trusted || !HasForeign(graph)) return;
  throw ModelRefusal(fmt::format(
      "the model '{}' brings code for LibTorch, which the server runs only for robots that it "
      "trusts: write \"trusted\" behind this robot's name in the list of robots, or start it with "
      "--trust-robots if you trust all who reach it",
      Printable(graph.name)));
}

std::shared_ptr<const CompiledModel> ModelStore::Get(const message::Fingerprint& model,
                                                     const message::Settings& settings,
                                                     const std::atomic<bool>& stop,
                                                     bool is_trusted) {
  constexpr const char* kStopped = "the session is over";
  std::unique_lock lock(mutex_, std::defer_lock);
  while (!lock.try_lock()) {
    if (stop) throw InputError(kStopped);
    std::this_thread::sleep_for(kLookForStop);
  }
  std::weak_ptr<const CompiledModel>& kept =
      compiled_[{NameOf(model), settings.takes_fastest, settings.schemes}];
  if (std::shared_ptr<const CompiledModel> compiled = kept.lock()) {
    CheckTrust(compiled->graph(), is_trusted);
    return compiled;
  }
  Graph graph = Read(PathOf(model));
  CheckTrust(graph, is_trusted);
  if (!settings.schemes.empty()) SetSchemes(graph, settings.schemes);
  if (tune_) tune_(graph, settings.takes_fastest, stop);
  if (stop) throw InputError(kStopped);
  auto compiled = std::make_shared<const CompiledModel>(
      std::make_shared<const Graph>(std::move(graph)), make_backend_());
  kept = compiled;
  return compiled;
}

ModelStore::Incoming::Incoming(const ModelStore& store, const message::Fingerprint& model)
    : model_(model),
      path_(store.PathOf(model)),
      temporary_(TemporaryBeside(path_)),
      file_(temporary_, std::ios::binary) {
  if (model.bytes > kMostModelBytes || !file_) {
    throw InputError(fmt::format("there is no room for a model of {} bytes", model.bytes));
  }
}

ModelStore::Incoming::~Incoming() {
  std::error_code error;
  fs::remove(temporary_, error);
}

bool ModelStore::Incoming::Take(const message::ModelPiece& piece) {
  if (piece.offset != taken_ || piece.bytes.empty() || piece.bytes.size() > model_.bytes - taken_) {
    throw InputError("a piece of the model is not the next one");
  }
  file_.write(reinterpret_cast<const char*>(piece.bytes.data()),
              static_cast<std::streamsize>(piece.bytes.size()));
  taken_ += piece.bytes.size();
  if (taken_ < model_.bytes) return false;
  file_.close();
  if (!file_) throw InputError("the model cannot be written");
  const MappedFile file = MapFile(temporary_);
  if (PackChecksum({file.data.get(), file.size}) != model_.checksum) {
    throw InputError("the model has arrived damaged");
  }
  fs::rename(temporary_, path_);
  return true;
}

}  // namespace cacheinf

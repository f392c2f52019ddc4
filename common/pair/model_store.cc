#include "common/pair/model_store.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <span>
#include <system_error>
#include <thread>

#include "common/base/error.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/printable.h"
#include "common/link/descriptor.h"
#include "common/model/graph/pack.h"
#include "common/model/graph/schemes.h"

namespace cacheinf {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMostModelBytes = uint64_t{8} << 30;
constexpr std::chrono::milliseconds kLookForStop(20);
constexpr char kModel[] = ".cacheinf";
constexpr char kBringer[] = ".bringer";  // holds the key that brought the model
constexpr char kPart[] = ".part";        // half of a model
constexpr uint64_t kLongestKey = 1024;
constexpr std::chrono::hours kPartsKept(24);
constexpr std::chrono::minutes kPartInUse(1);  // since it last grew

std::string NameOf(const message::Fingerprint& model) {
  return fmt::format("{:016x}-{}", model.checksum, model.bytes);
}

// The end of names of partial models that robots with this key have brought.
std::string PartOf(const std::string& key) {
  return fmt::format(".{:016x}{}", XXH3_64bits(key.data(), key.size()), kPart);
}

// Partial models that have not grown for so long, by the time they last did.
std::multimap<fs::file_time_type, fs::path> PartsIn(const fs::path& folder,
                                                    fs::file_time_type::duration not_grown_for) {
  std::multimap<fs::file_time_type, fs::path> parts;
  const auto latest = fs::file_time_type::clock::now() - not_grown_for;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != kPart) continue;
    const fs::file_time_type when = fs::last_write_time(entry.path(), error);
    if (!error && when <= latest) parts.emplace(when, entry.path());
  }
  return parts;
}

uint64_t SizeOf(const fs::path& file) {
  std::error_code error;
  const uint64_t size = fs::file_size(file, error);
  return error ? 0 : size;
}

// Removes partial models, if need be.
bool HasRoom(const fs::path& folder, uint64_t bytes) {
  std::error_code error;
  for (const auto& [when, part] : PartsIn(folder, kPartInUse)) {
    if (fs::space(folder, error).available >= bytes) return true;
    fs::remove(part, error);
  }
  return fs::space(folder, error).available >= bytes;
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

void ModelStore::MakeFolder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!fs::is_directory(folder, error)) {
    throw InputError(fmt::format("'{}' is not a folder for models", folder.string()));
  }
  // By trying, since access(2) lets root do what the file system forbids.
  std::string probe = (folder / "probe-XXXXXX").string();
  const int file = mkstemp(probe.data());
  if (file < 0) {
    const std::string why = std::generic_category().message(errno);
    throw InputError(fmt::format("models cannot be kept in '{}': {}", folder.string(), why));
  }
  close(file);
  unlink(probe.c_str());
}

ModelStore::ModelStore(fs::path folder, MakeBackend make_backend, Tune tune, bool trusts_robots)
    : folder_(std::move(folder)),
      make_backend_(std::move(make_backend)),
      arithmetic_(make_backend_()->Arithmetic()),
      tune_(std::move(tune)),
      trusts_robots_(trusts_robots) {
  MakeFolder(folder_);
  std::error_code error;
  for (const auto& [when, part] : PartsIn(folder_, kPartsKept)) fs::remove(part, error);
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
  std::multimap<fs::file_time_type, fs::path> brought;
  uint64_t bytes = 0;
  const std::string own_part = PartOf(key);
  for (const auto& [when, part] : PartsIn(folder_, {})) {
    if (!part.string().ends_with(own_part) || part == PathOf(model).string() + own_part) continue;
    bytes += SizeOf(part);
    brought.emplace(when, part);
  }
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    if (key.empty() || entry.path().extension() != kBringer ||
        ReadFile(entry.path(), kLongestKey) != key) {
      continue;
    }
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
    bytes -= SizeOf(file);
    fs::remove(file, error);
    if (file.extension() == kModel) fs::remove(fs::path(file).replace_extension(kBringer), error);
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
  std::erase_if(compiled_, [](const auto& known) { return known.second.expired(); });
  Key key = {NameOf(model), settings.takes_fastest, settings.schemes};
  if (const auto known = compiled_.find(key); known != compiled_.end()) {
    if (std::shared_ptr<const CompiledModel> compiled = known->second.lock()) {
      CheckTrust(compiled->graph(), is_trusted);
      return compiled;
    }
  }
  Graph graph = Read(PathOf(model));
  CheckTrust(graph, is_trusted);
  if (!settings.schemes.empty()) SetSchemes(graph, settings.schemes);
  if (tune_) tune_(graph, settings.takes_fastest, stop);
  if (stop) throw InputError(kStopped);
  auto compiled = std::make_shared<const CompiledModel>(
      std::make_shared<const Graph>(std::move(graph)), make_backend_());
  compiled_[std::move(key)] = compiled;
  return compiled;
}

ModelStore::Incoming::Incoming(const ModelStore& store, const message::Fingerprint& model,
                               const std::string& key, bool resumes)
    : model_(model), path_(store.PathOf(model)), part_(path_.string() + PartOf(key)) {
  if (!IsPackSize(model.bytes)) {
    throw InputError(fmt::format("no model has {} bytes", model.bytes));
  }
  const uint64_t arrived = SizeOf(part_);
  if (resumes && arrived < model.bytes) taken_ = arrived;
  if (model.bytes > kMostModelBytes || !HasRoom(store.folder_, model.bytes - taken_)) {
    throw InputError(fmt::format("there is no room for a model of {} bytes", model.bytes));
  }
}

bool ModelStore::Incoming::Take(const message::ModelPiece& piece) {
  if (piece.offset != taken_ || piece.bytes.empty() || piece.bytes.size() > model_.bytes - taken_) {
    throw InputError("a piece of the model is not the next one");
  }
  Write(piece.bytes);
  return taken_ == model_.bytes;
}

// Once the file is complete and right, it gets its name. After that nobody may write to it: others
// use it.
void ModelStore::Incoming::Write(std::span<const uint8_t> bytes) {
  std::error_code error;
  const uint64_t offset = taken_;
  taken_ += bytes.size();
  if (fs::exists(path_, error)) return;
  const Descriptor file(
      open(part_.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | (offset == 0 ? O_CREAT : 0), 0644));
  if (!file && offset == 0) {
    const std::string why = std::generic_category().message(errno);
    throw InputError(fmt::format("a model of {} bytes cannot be kept: {}", model_.bytes, why));
  }
  struct stat opened {};
  struct stat named {};
  const bool is_ours = file && flock(file.get(), LOCK_EX) == 0 && fstat(file.get(), &opened) == 0 &&
                       stat(part_.c_str(), &named) == 0 && opened.st_ino == named.st_ino;
  if (!is_ours && fs::exists(path_, error)) return;
  if (!is_ours) throw InputError("what had arrived of the model had to make room");
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t written = pwrite(file.get(), bytes.data() + done, bytes.size() - done,
                                   static_cast<off_t>(offset + done));
    if (written <= 0) throw InputError("the model cannot be written");
    done += static_cast<size_t>(written);
  }
  if (taken_ < model_.bytes) return;
  const MappedFile all = MapFile(part_);
  if (all.size != model_.bytes || PackChecksum({all.data.get(), all.size}) != model_.checksum) {
    fs::remove(part_, error);
    throw InputError("the model has arrived damaged");
  }
  fs::rename(part_, path_);
}

}  // namespace cacheinf

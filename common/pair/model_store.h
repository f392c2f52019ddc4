#ifndef CACHEINF_COMMON_PAIR_MODEL_STORE_H_
#define CACHEINF_COMMON_PAIR_MODEL_STORE_H_

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/exec/compiled_model.h"
#include "common/pair/messages.h"

namespace cacheinf {

// A model that this server does not run, whoever brings it.
class ModelRefusal : public InputError {
 public:
  using InputError::InputError;
};

// A server's models: their files in a folder, named by fingerprint, and those in use compiled once
// for all sessions. Sessions may call it from their own threads.
class ModelStore {
 public:
  using MakeBackend = std::function<std::unique_ptr<Backend>()>;
  // Sets how this machine runs a graph: choices that change no bit and, if it `takes_fastest`, the
  // schemes of its convolutions. Ends soon after `stop` is set.
  using Tune = std::function<void(Graph& graph, bool takes_fastest, const std::atomic<bool>& stop)>;

  // Throws InputError if the folder is not there then.
  static void MakeFolder(const std::filesystem::path& folder);

  // Makes the folder, removes partial models that nobody has continued for a day, and makes a
  // backend once. Throws InputError if it cannot. With `tune` graphs are tuned before they are
  // compiled. Foreign operators are code that a robot brings: they run only if the server
  // `trusts_robots`.
  ModelStore(std::filesystem::path folder, MakeBackend make_backend, Tune tune = nullptr,
             bool trusts_robots = false);

  // The backends' Backend::Arithmetic.
  const std::string& arithmetic() const { return arithmetic_; }

  bool Has(const message::Fingerprint& model) const;

  // Makes room for a model that this key brings: as long as all that the key has brought, partial
  // models included, would exceed `most_bytes`, removes what has been unused for longest. Without a
  // key only partial models count.
  void MakeRoom(const std::string& key, const message::Fingerprint& model, uint64_t most_bytes);
  // Notes which key has brought a model that has arrived.
  void NoteBringer(const std::string& key, const message::Fingerprint& model);

  // Returns the model packed for the schemes that the settings name; slow the first time.
  // Throws InputError if the file is damaged, the schemes do not fit it, or `stop` ended it, and
  // ModelRefusal, before anything of the model runs, if it has foreign operators and neither all
  // robots nor this one are trusted.
  std::shared_ptr<const CompiledModel> Get(const message::Fingerprint& model,
                                           const message::Settings& settings,
                                           const std::atomic<bool>& stop, bool is_trusted = false);

  // A model file on its way into the store. What has arrived is kept for the next Incoming with
  // this key, even if the server ends; several may write at once, in other servers as well.
  class Incoming {
   public:
    // Begins with the first piece unless it `resumes`. Throws InputError if no model file has this
    // size, or if there is no room for the model, even without partial models that nobody
    // continues.
    Incoming(const ModelStore& store, const message::Fingerprint& model, const std::string& key,
             bool resumes);

    // Where the next piece begins.
    uint64_t taken() const { return taken_; }

    // Returns whether the piece was the last. Throws InputError if it is not the next one, cannot
    // be written, or completes bytes that do not match the fingerprint.
    bool Take(const message::ModelPiece& piece);

   private:
    void Write(std::span<const uint8_t> bytes);

    const message::Fingerprint model_;
    const std::filesystem::path path_;
    const std::filesystem::path part_;
    uint64_t taken_ = 0;
  };

 private:
  // Model, takes_fastest, schemes.
  using Key = std::tuple<std::string, bool, std::vector<Scheme>>;

  std::filesystem::path PathOf(const message::Fingerprint& model) const;
  void CheckTrust(const Graph& graph, bool is_trusted) const;

  const std::filesystem::path folder_;
  const MakeBackend make_backend_;
  const std::string arithmetic_;
  const Tune tune_;
  const bool trusts_robots_;
  // Guards compiled_; held during compilation, which must happen once. GCC 12's ThreadSanitizer
  // does not see a timed_mutex.
  std::mutex mutex_;
  std::map<Key, std::weak_ptr<const CompiledModel>> compiled_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_MODEL_STORE_H_

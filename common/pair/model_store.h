#ifndef CACHEINF_COMMON_PAIR_MODEL_STORE_H_
#define CACHEINF_COMMON_PAIR_MODEL_STORE_H_

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "common/exec/compiled_model.h"
#include "common/pair/messages.h"

namespace cacheinf {

// The models that a server has: their files in a folder, under their fingerprints, and those in use
// compiled, once for all sessions. Sessions may use it from threads of their own.
class ModelStore {
 public:
  using MakeBackend = std::function<std::unique_ptr<Backend>()>;
  // Sets how this machine runs a graph, of what changes no bit.
  using Tune = std::function<void(Graph& graph)>;

  // Makes the folder. Throws InputError if it cannot. With `tune` graphs are tuned before
  // they are compiled.
  ModelStore(std::filesystem::path folder, MakeBackend make_backend, Tune tune = nullptr);

  bool Has(const message::Fingerprint& model) const;

  // With weights packed for these schemes (message::Settings::schemes). Takes a while the first
  // time. Throws InputError if the file is damaged or the schemes do not fit it.
  std::shared_ptr<const CompiledModel> Get(const message::Fingerprint& model,
                                           const std::vector<Scheme>& schemes);

  // A file on its way into the store.
  class Incoming {
   public:
    // Throws InputError if there is no place for it.
    Incoming(const ModelStore& store, const message::Fingerprint& model);
    ~Incoming();
    Incoming(const Incoming&) = delete;
    Incoming& operator=(const Incoming&) = delete;

    // Throws InputError if the piece is not the next one, cannot be written, or is the last of
    // other bytes than those of the fingerprint. Returns whether it was the last.
    bool Take(const message::ModelPiece& piece);

   private:
    const message::Fingerprint model_;
    const std::filesystem::path path_;
    const std::filesystem::path temporary_;
    std::ofstream file_;
    uint64_t taken_ = 0;
  };

 private:
  using Key = std::pair<std::string, std::vector<Scheme>>;

  std::filesystem::path PathOf(const message::Fingerprint& model) const;

  const std::filesystem::path folder_;
  const MakeBackend make_backend_;
  const Tune tune_;
  std::mutex mutex_;  // of what follows; held while a model is compiled, so that it is so once
  std::map<Key, std::weak_ptr<const CompiledModel>> compiled_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_MODEL_STORE_H_

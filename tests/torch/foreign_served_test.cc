// Foreign operators on a server: they are code that a robot brings.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "common/base/file.h"
#include "common/exec/cpu_backend.h"
#include "common/exec/model_state.h"
#include "common/model/graph/pack.h"
#include "common/model/load.h"
#include "common/pair/messages.h"
#include "common/pair/model_store.h"
#include "common/pair/server_connection.h"
#include "tests/testing/folder_test.h"
#include "tests/torch/script_file.h"

namespace cacheinf::testing {
namespace {

class ForeignServed : public FolderTest {};

TEST_F(ForeignServed, RunsOnlyIfTheServerTrustsRobots) {
  const ScriptFile file("def forward(self, x):\n  return torch.cumsum(torch.relu(x), 1)\n");
  LoadOptions options;
  options.input_shapes = {{1, 3, 12, 10}};
  const MappedFile pack = PackForServers(LoadModel(file.path(), options));
  const auto* const begin = reinterpret_cast<const uint8_t*>(pack.data.get());
  const message::Fingerprint model = {PackChecksum({pack.data.get(), pack.size}), pack.size};
  const std::atomic<bool> never = false;
  for (const bool trusts : {false, true}) {
    ModelStore store(
        folder_, [] { return std::make_unique<CpuBackend>(); }, nullptr, trusts);
    if (!store.Has(model)) ModelStore::Incoming(store, model).Take({0, {begin, begin + pack.size}});
    if (trusts) {
      ModelState(store.Get(model, {}, never)).Run();
    } else {
      EXPECT_THROW(store.Get(model, {}, never), ModelRefusal);
    }
  }
}

}  // namespace
}  // namespace cacheinf::testing

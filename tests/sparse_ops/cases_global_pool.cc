#include <algorithm>
#include <memory>
#include <string>

#include "tests/sparse_ops/case_table.h"

namespace cacheinf {
namespace {

struct GlobalPoolCase {
  std::string name;
  int batch = 1;
  int channels = 1;
  int height = 1;
  int width = 1;
  int whole_every = 100;
  float bound = 0.0f;
  bool has_special_numbers = false;
};

struct Following {
  GlobalPoolState state;
  GlobalPoolResult result;
};

// Every call takes the pixels of one map out and puts those of another one in.
void AddGlobalPool(Table& table, const GlobalPoolCase& c) {
  table.Add("global_pool_" + c.name,
            [c](const OperatorFamily& family, CaseMemory& memory) -> PreparedCall {
              if (c.has_special_numbers) memory.UseSpecialNumbers();
              const auto following = std::make_shared<Following>();
              const TensorView map = memory.Map({c.batch, c.channels, c.height, c.width});
              const int64_t means = int64_t{c.batch} * c.channels;
              const TensorView written = memory.OutputTensor({4, std::max<int64_t>(means, 4)});
              const auto row = [&](int i) { return written.data + i * written.strides[0]; };
              float* const result_numbers = row(3);
              memory.sums.assign(static_cast<size_t>(means), CaseMemory::kMark);
              memory.map = map;
              memory.takes_change_test = false;
              memory.keeps_state = true;

              GlobalPoolFrame frame;
              frame.before = memory.Map({c.batch, c.channels, c.height, c.width});
              frame.args.input = map;
              frame.args.output = {row(0), 4, {c.batch, c.channels, 1, 1}, {c.channels, 1, 1, 1}};
              frame.args.moves = row(1);
              frame.args.whole_every = c.whole_every;
              frame.args.bound = c.bound;
              following->state.sums = memory.sums.data();
              following->state.means = row(2);
              frame.state = &following->state;
              frame.result = &following->result;
              if (!family.global_pool) return {};
              return [call = family.global_pool(frame), following, result_numbers](
                         const ActivePixels& pixels, const ChangeTest*) {
                call(pixels, nullptr);
                result_numbers[0] = following->result.was_whole ? 1.0f : 0.0f;
                result_numbers[1] = following->result.is_written ? 1.0f : 0.0f;
                result_numbers[2] = following->result.largest_move;
                result_numbers[3] = static_cast<float>(following->state.updates_left);
              };
            });
}

}  // namespace

void AddGlobalPools(Table& table) {
  for (const int channels : {1, 16, 63, 150}) {
    for (const int whole_every : {1, 3, 1000}) {
      AddGlobalPool(table, {"of_" + std::to_string(channels) + "_channels_whole_every_" +
                                std::to_string(whole_every),
                            2, channels, 9, 13, whole_every});
    }
  }
  AddGlobalPool(table, {"of_one_pixel", 1, 5, 1, 1, 1000});
  AddGlobalPool(table, {"of_a_large_map_with_a_bound", 1, 20, 30, 40, 7, 0.02f});
  AddGlobalPool(table, {"with_a_wide_bound", 2, 40, 6, 7, 1000, 3.0f});
  AddGlobalPool(table, {"of_special_numbers", 1, 33, 4, 5, 5, 0.02f, true});
}

void AddTimedGlobalPools(Table& table) {
  AddGlobalPool(table, {"of_480_channels", 1, 480, 14, 14});
}

}  // namespace cacheinf

#include "tests/scheduler/random_networks.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace cacheinf {
namespace {

AxisWindow Sliding(int in_rows, int kernel, int stride) {
  WindowAxis window;
  window.kernel = kernel;
  window.stride = stride;
  window.pad_begin = window.pad_end = kernel / 2;
  const int out_rows = (in_rows + 2 * (kernel / 2) - kernel) / stride + 1;
  return AxisWindow::Sliding(in_rows, out_rows, window);
}

double Between(double low, double high, std::mt19937& random) {
  // Uniform on a logarithmic scale.
  return low * std::pow(high / low, static_cast<double>(random()) / 4294967296.0);
}

ProfiledOperator MakeOperator(int from, const AxisWindow& rows, double row_bytes) {
  ProfiledOperator op;
  op.inputs = {{from, rows}};
  op.rows = rows.out_size;
  op.row_bytes = static_cast<int64_t>(row_bytes);
  return op;
}

std::vector<ProfiledOperator> RandomOperators(std::mt19937& random, int picture_rows) {
  std::vector<ProfiledOperator> operators;
  const int count = 4 + static_cast<int>(random() % 9);
  const auto rows_of = [&](int id) {
    return id < 0 ? picture_rows : operators[static_cast<size_t>(id)].rows;
  };
  for (int id = 0; id < count; ++id) {
    const int from = id == 0 ? -1 : id - 1 - static_cast<int>(random() % 4 == 0 && id > 1);
    const int kernel = 1 + 2 * static_cast<int>(random() % 3);
    const int stride = rows_of(from) >= 32 && random() % 4 == 0 ? 2 : 1;
    ProfiledOperator op =
        MakeOperator(from, Sliding(rows_of(from), kernel, stride), Between(100, 6000, random));
    // A second input of the same size that nobody else reads, so that nothing is dead.
    for (int other = id - 1; other >= 0; --other) {
      const bool is_read = std::ranges::any_of(operators, [&](const ProfiledOperator& reader) {
        return std::ranges::any_of(reader.inputs, [&](const auto& in) { return in.from == other; });
      });
      if (other == from || is_read || rows_of(other) != op.rows) continue;
      op.inputs.push_back({other, AxisWindow::Identity(op.rows)});
    }
    if (id + 1 == count && random() % 3 == 0) {
      op.is_local = false;
      for (ProfiledOperator::Input& input : op.inputs) {
        input.rows.kind = AxisWindow::Kind::kWhole;
        input.rows.out_size = 1;
      }
      op.rows = 1;
    }
    SetCosts(op, Between(0.5, 20, random), Between(0.02, 0.3, random));
    op.name = "op" + std::to_string(id);
    operators.push_back(op);
  }
  // Values that nobody reads are outputs.
  for (int id = 0; id < count; ++id) {
    ProfiledOperator& op = operators[static_cast<size_t>(id)];
    op.is_output = std::ranges::none_of(operators, [&](const ProfiledOperator& reader) {
      return std::ranges::any_of(reader.inputs, [&](const auto& in) { return in.from == id; });
    });
  }
  return operators;
}

}  // namespace

RandomNetwork MakeRandomNetwork(uint32_t seed, size_t most_places) {  // NOLINT(misc-no-recursion)
  std::mt19937 random(seed);
  RandomNetwork network;
  const int picture_rows = 48;
  std::vector<ProfiledOperator> operators = RandomOperators(random, picture_rows);
  network.pair = PairOf(operators, Between(0.7, 5, random), Between(2e4, 4e5, random));
  network.situation.mbit_up = Between(5, 300, random);
  network.situation.mbit_down = network.situation.mbit_up;
  network.situation.round_trip_ms = Between(0.2, 6, random);
  network.situation.robot_work = Between(0.1, 1, random);
  network.situation.server_work =
      std::min(1.0, network.situation.robot_work * Between(1, 3, random));
  // Keeps fewer values until there are few enough places; if that fails, makes another network.
  for (int attempt = 0;
       CostModel(network.pair.robot, network.pair.server, network.situation).cut_places().size() >
       most_places;
       ++attempt) {
    if (attempt == 1000) return MakeRandomNetwork(seed + 1000000, most_places);
    const size_t id = random() % operators.size();
    const bool is_read_whole = std::ranges::any_of(operators, [&](const ProfiledOperator& reader) {
      return !reader.is_local && std::ranges::any_of(reader.inputs, [&](const auto& in) {
        return in.from == static_cast<int>(id);
      });
    });
    if (operators[id].is_output || !operators[id].is_local || is_read_whole) continue;
    network.pair.robot.operators[id].is_kept = false;
    network.pair.server.operators[id].is_kept = false;
  }
  return network;
}

ProfilePair MakeKapaoLike() {
  std::vector<ProfiledOperator> operators;
  std::mt19937 random(7);
  const auto add = [&](int from, int kernel, int stride, double row_bytes, double ms) {
    const int rows = from < 0 ? 960 : operators[static_cast<size_t>(from)].rows;
    operators.push_back(MakeOperator(from, Sliding(rows, kernel, stride), row_bytes));
    SetCosts(operators.back(), ms * Between(0.6, 1.6, random));
    operators.back().name = "op" + std::to_string(operators.size() - 1);
    return static_cast<int>(operators.size()) - 1;
  };
  int last = add(-1, 6, 2, 640.0 * 64 * 4, 20);
  // Convolutions and activations, residual sums, and coarser maps from time to time.
  double row_bytes = 640.0 * 64 * 4;
  while (operators.size() < 540) {
    const size_t count = operators.size();
    if (count % 90 < 3 && operators[static_cast<size_t>(last)].rows > 15) {
      last = add(last, 3, 2, row_bytes, 9);
      continue;
    }
    const int skipped = last;
    last = add(last, 1, 1, row_bytes, 1.2);
    last = add(last, 1, 1, row_bytes, 0.2);
    last = add(last, 3, 1, row_bytes, 3.5);
    last = add(last, 1, 1, row_bytes, 0.2);
    last = add(last, 1, 1, row_bytes, 0.3);
    operators.back().inputs.push_back({skipped, AxisWindow::Identity(operators.back().rows)});
  }
  while (operators.size() < 545) last = add(last, 1, 1, 2000, 0.3);
  last = add(last, 1, 1, 500, 2);
  operators.back().is_output = true;
  operators.back().is_local = false;
  operators.back().inputs[0].rows.kind = AxisWindow::Kind::kWhole;
  return PairOf(operators, 20, 960.0 * 1280 * 3);
}

}  // namespace cacheinf

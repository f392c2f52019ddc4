#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/exec/cpu_backend.h"
#include "common/exec/model_state.h"
#include "common/exec/slice.h"
#include "common/exec/spreads.h"
#include "common/exec/value_masks.h"
#include "common/model/graph/geometry.h"
#include "common/plan/split.h"
#include "tests/testing/networks.h"
#include "tests/testing/run_graph.h"

// Read this first: two sides share a frame. Each computes some rows of every map, and rows cross
// between them in slices; together they do what one state does alone.

namespace cacheinf {
namespace {

constexpr int kHeight = 64;
constexpr int kWidth = 32;

Tensor RandomPicture(std::mt19937& random) {
  std::vector<float> numbers(3 * kHeight * kWidth);
  for (float& number : numbers) number = static_cast<float>(random() % 256);
  return Tensor({1, 3, kHeight, kWidth}, std::move(numbers));
}

// Another picture in a rectangle; `changed` gets it.
Tensor Changed(const Tensor& picture, std::mt19937& random, Mask& changed) {
  std::vector<float> numbers(picture.data(), picture.data() + picture.count());
  const int top = static_cast<int>(random() % kHeight);
  const int left = static_cast<int>(random() % kWidth);
  const Range rows = {top, std::min(kHeight, top + 1 + static_cast<int>(random() % 12))};
  const Range columns = {left, std::min(kWidth, left + 1 + static_cast<int>(random() % 12))};
  ClearAll(changed);
  SetRectangle(rows, columns, changed);
  for (int c = 0; c < 3; ++c) {
    for (int y = rows.begin; y < rows.end; ++y) {
      for (int x = columns.begin; x < columns.end; ++x) {
        numbers[static_cast<size_t>((c * kHeight + y) * kWidth + x)] =
            static_cast<float>(random() % 256);
      }
    }
  }
  return Tensor(picture.shape(), std::move(numbers));
}

struct FrameInputs {
  Tensor picture;
  Mask changed{kHeight, kWidth};
  Mask forced;
  Shift scroll;
};

// A robot and a server that trade slices, and one state that does all alone.
class Pair {
 public:
  Pair(const Network& network, ChangePolicy policy, StateOptions options = {{}, Keep::kAll})
      : model_(std::make_shared<const CompiledModel>(MakeNetwork(network, kHeight, kWidth),
                                                     std::make_unique<CpuBackend>())),
        options_(std::move(options)),
        policy_(std::move(policy)),
        one_(model_, options_) {
    options_.trades = true;
    robot_ = std::make_unique<ModelState>(model_, options_);
    ReplaceServer();
  }

  const Graph& graph() const { return model_->graph(); }
  ModelState& one() { return one_; }
  ModelState& robot() { return *robot_; }
  ModelState& server() { return *server_; }
  ChangePolicy& policy() { return policy_; }

  // A server that has seen nothing yet.
  void ReplaceServer() {
    server_ = std::make_unique<ModelState>(model_, options_);
    Fill(server_->view(graph().inputs[0]), std::nanf(""));
    robot_->LosePeer();
  }

  // The first frame, which the robot computes alone. `spreads` are measured on it.
  void Begin(const Tensor& picture) {
    one_.SetInput(0, picture.view());
    robot_->SetInput(0, picture.view());
    one_.Run();
    robot_->Run();
    if (policy_.threshold > 0.0f) {
      policy_.spreads = std::make_shared<const InverseSpreads>(MeasureSpreads(one_));
    }
  }

  SplitRows RowsOf(const Ownership& ownership) const {
    return CompileRows(graph(), robot_->layout(), ownership);
  }

  // Both sides compute the frame, and one state does. After so many stages the sides give it up, if
  // there are so many, one of them perhaps after some more, and the robot finishes it alone.
  // Returns the bytes that crossed.
  size_t Frame(const FrameInputs& frame, const SplitRows& rows, size_t stages = SIZE_MAX,
               size_t more_stages = 0) {
    RunOne(frame);
    const ConstMaskView changed = frame.changed.view();
    for (ModelState* side : {robot_.get(), server_.get()}) side->Scroll(frame.scroll);
    robot_->SetInput(0, frame.picture.view());
    robot_->Begin({&changed, 1}, policy_, frame.forced.view(), &rows.robot);
    server_->Begin({&changed, 1}, policy_, frame.forced.view(), &rows.server);
    size_t bytes = 0;
    auto transfer = rows.transfers.begin();
    const size_t last = std::min(stages, robot_->stage_count());
    for (size_t stage = 0; stage <= last; ++stage) {
      for (; transfer != rows.transfers.end() && transfer->after_stages == stage; ++transfer) {
        bytes += Cross(*transfer);
      }
      if (stage == last) break;
      robot_->Step();
      server_->Step();
    }
    if (last == robot_->stage_count()) {
      robot_done_ = robot_->Commit().done;
      server_done_ = server_->Commit().done;
      robot_->ConfirmSent();
      server_->ConfirmSent();
      return bytes;
    }
    ModelState& faster = more_stages % 2 == 0 ? *robot_ : *server_;
    const size_t reach = transfer == rows.transfers.end() ? last : transfer->after_stages;
    while (faster.next_stage() < std::min(reach, last + more_stages)) faster.Step();
    robot_->Abandon();
    server_->Abandon();
    robot_->ForgetSent();
    server_->ForgetSent();
    Finish(*robot_);
    return bytes;
  }

  // What is stale is computed; the picture is the one before.
  void Finish(ModelState& side) {
    const Mask none(kHeight, kWidth);
    const ConstMaskView changed = none.view();
    side.RunChanged({&changed, 1}, policy_);
  }

  void ExpectSameAnswer() {
    const auto expected = Outputs(one_);
    const auto actual = Outputs(*robot_);
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(FirstDifference(expected[i], actual[i]), "") << "output " << i;
    }
  }

  // What a side computed or received in the last frame has the bits of one state.
  void ExpectSameWhereHeld(const ModelState& side) {
    for (const Operator& op : graph().operators) {
      for (const ValueId id : op.outputs) {
        if (!side.is_kept(id)) continue;
        const Value& value = graph().value(id);
        const auto expected = Numbers(one_.view(id));
        const auto actual = Numbers(side.view(id));
        for (size_t i = 0; i < expected.size(); ++i) {
          const int row = RowOf(value, i);
          if (!side.holds(id, row)) continue;
          ASSERT_TRUE(SameBits(expected[i], actual[i]))
              << (&side == robot_.get() ? "robot" : "server") << ", " << KindName(op) << " '"
              << value.name << "', row " << row << ", number " << i;
        }
      }
    }
  }

  // Nothing was lost on either side: alone each of them gets what one state has, everywhere.
  void ExpectSameWhenFinished(const Tensor& picture) {
    server_->SetInput(0, picture.view());
    for (ModelState* side : {robot_.get(), server_.get()}) {
      Finish(*side);
      for (const Operator& op : graph().operators) {
        for (const ValueId id : op.outputs) {
          if (!side->is_kept(id)) continue;
          ASSERT_EQ(FirstDifference(Numbers(one_.view(id)), Numbers(side->view(id))), "")
              << (side == robot_.get() ? "robot" : "server") << ", " << KindName(op) << " '"
              << graph().value(id).name << "'";
        }
      }
    }
  }

  int crossed() const { return crossed_; }
  int64_t robot_done() const { return robot_done_; }
  int64_t server_done() const { return server_done_; }

 private:
  void RunOne(const FrameInputs& frame) {
    const ConstMaskView changed = frame.changed.view();
    one_.Scroll(frame.scroll);
    one_.SetInput(0, frame.picture.view());
    one_.RunChanged({&changed, 1}, policy_, frame.forced.view());
  }

  // Under kExact.
  void ExpectSameRows(const ModelState& side, ValueId id, Range rows, const char* what) {
    if (policy_.kind != ChangePolicy::Kind::kExact || testing::Test::HasFailure()) return;
    const Value& value = graph().value(id);
    const auto expected = Numbers(one_.view(id));
    const auto actual = Numbers(side.view(id));
    for (size_t i = 0; i < expected.size(); ++i) {
      const int row = RowOf(value, i);
      if (row < rows.begin || row >= rows.end) continue;
      ASSERT_TRUE(SameBits(expected[i], actual[i]))
          << what << " by the " << (&side == robot_.get() ? "robot" : "server") << ", '"
          << value.name << "', row " << row << ", number " << i;
    }
  }

  static int RowOf(const Value& value, size_t number) {
    if (!value.is_map()) return 0;
    return static_cast<int>(number / static_cast<size_t>(WidthOf(value)) %
                            static_cast<size_t>(HeightOf(value)));
  }

  size_t Cross(const Transfer& transfer) {
    ModelState& from = transfer.robot_to_server ? *robot_ : *server_;
    ModelState& to = transfer.robot_to_server ? *server_ : *robot_;
    std::vector<uint8_t> bytes;
    ExpectSameRows(from, transfer.value, transfer.rows, "sent");
    from.Pack(transfer.value, transfer.rows, &bytes);
    const char* error = to.Unpack(transfer.value, transfer.rows, bytes);
    EXPECT_EQ(error, nullptr) << error;
    ExpectSameRows(to, transfer.value, transfer.rows, "received");
    ++crossed_;
    return bytes.size();
  }

  std::shared_ptr<const CompiledModel> model_;
  StateOptions options_;
  ChangePolicy policy_;
  ModelState one_;
  std::unique_ptr<ModelState> robot_;
  std::unique_ptr<ModelState> server_;
  int crossed_ = 0;
  int64_t robot_done_ = 0;
  int64_t server_done_ = 0;
};

// Every operator's rows where chance has them, and some values that cross.
Ownership RandomOwnership(const Pair& pair, std::mt19937& random) {
  const Graph& graph = pair.graph();
  Ownership ownership;
  ownership.is_exchanged.assign(graph.values.size(), false);
  const uint32_t of_ten = 1 + static_cast<uint32_t>(random() % 9);
  for (const Operator& op : graph.operators) {
    const auto rows = static_cast<uint32_t>(RowCount(graph, op));
    ownership.robot_rows.push_back(static_cast<int>(random() % (rows + 1)));
    for (const ValueId id : op.outputs) ownership.is_exchanged[id] = random() % 10 < of_ten;
  }
  return ownership;
}

class Slices : public testing::TestWithParam<Network> {
 protected:
  FrameInputs NextFrame() {
    FrameInputs frame;
    if (random_() % 4 == 0) {
      frame.picture = picture_;  // a still camera
    } else {
      frame.picture = picture_ = Changed(picture_, random_, frame.changed);
    }
    if (random_() % 5 == 0) {
      frame.forced = Mask(kHeight, kWidth);
      const int top = static_cast<int>(random_() % kHeight);
      SetRectangle({top, top + 8}, {0, kWidth}, frame.forced);
    }
    return frame;
  }

  // The camera has moved by whole strides.
  FrameInputs ScrolledFrame(int step) {
    FrameInputs frame;
    const int sign = random_() % 2 == 0 ? 1 : -1;
    frame.scroll = random_() % 2 == 0 ? Shift{sign * step, 0} : Shift{0, sign * step};
    const Tensor fresh = RandomPicture(random_);
    std::vector<float> numbers(fresh.data(), fresh.data() + fresh.count());
    const MaskView entered = frame.changed;
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        const int from_y = y + frame.scroll.rows;
        const int from_x = x + frame.scroll.columns;
        if (from_y < 0 || from_y >= kHeight || from_x < 0 || from_x >= kWidth) {
          entered.Set(y, x);
          continue;
        }
        for (int c = 0; c < 3; ++c) {
          numbers[static_cast<size_t>((c * kHeight + y) * kWidth + x)] =
              picture_.data()[(c * kHeight + from_y) * kWidth + from_x];
        }
      }
    }
    frame.picture = picture_ = Tensor(picture_.shape(), std::move(numbers));
    return frame;
  }

  Pair MakePair(ChangePolicy policy, StateOptions options = {{}, Keep::kAll}) {
    random_.seed(7);
    picture_ = RandomPicture(random_);
    Pair pair(GetParam(), std::move(policy), std::move(options));
    pair.Begin(picture_);
    return pair;
  }

  std::mt19937 random_;
  Tensor picture_;
};

INSTANTIATE_TEST_SUITE_P(Of, Slices, testing::ValuesIn(TenNetworks()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(Slices, AtEverySingleCutTheAnswerHasTheBitsOfOneState) {
  Pair pair = MakePair({});
  int cuts = 0;
  std::vector<ValueId> values = pair.graph().inputs;
  for (const Operator& op : pair.graph().operators) values.push_back(op.outputs[0]);
  for (const ValueId value : values) {
    for (const int thousandths : {0, 500}) {
      SCOPED_TRACE(testing::Message()
                   << "cut at '" << pair.graph().value(value).name << "', " << thousandths);
      const FrameInputs frame = NextFrame();
      const Ownership ownership = OwnershipOf(pair.graph(), pair.robot().layout(),
                                              {{value, thousandths}}, frame.changed.view());
      pair.Frame(frame, pair.RowsOf(ownership));
      ASSERT_NO_FATAL_FAILURE(pair.ExpectSameAnswer());
      ASSERT_NO_FATAL_FAILURE(pair.ExpectSameWhereHeld(pair.server()));
      ++cuts;
    }
  }
  EXPECT_GT(pair.crossed(), cuts) << "hardly anything crossed";
  pair.ExpectSameWhenFinished(picture_);
}

TEST_P(Slices, WhateverRowsEachSideOwnsTheAnswerHasTheBitsOfOneState) {
  for (const bool keeps_all : {true, false}) {
    StateOptions options = {{}, Keep::kAll};
    if (!keeps_all) {
      options.keep = Keep::kChosen;
      std::mt19937 random(3);
      const auto graph = MakeNetwork(GetParam(), kHeight, kWidth);
      for (const Operator& op : graph->operators) {
        if (random() % 2 == 0) options.persistent.push_back(op.outputs[0]);
      }
    }
    Pair pair = MakePair({}, options);
    const int step = ShiftStep(pair.graph(), kHeight / 2);
    int abandoned = 0;
    for (int i = 0; i < 250; ++i) {
      SCOPED_TRACE(testing::Message() << (keeps_all ? "all kept" : "some kept") << ", frame " << i);
      if (random_() % 40 == 0) pair.ReplaceServer();
      const FrameInputs frame = step > 0 && random_() % 6 == 0 ? ScrolledFrame(step) : NextFrame();
      Ownership ownership = RandomOwnership(pair, random_);
      for (size_t id = 0; id < ownership.is_exchanged.size(); ++id) {
        if (!pair.robot().is_kept(static_cast<ValueId>(id))) ownership.is_exchanged[id] = false;
      }
      const bool gives_up = random_() % 8 == 0;
      const size_t stages = gives_up ? random_() % pair.robot().stage_count() : SIZE_MAX;
      abandoned += gives_up;
      pair.Frame(frame, pair.RowsOf(ownership), stages, random_() % 6);
      if (!gives_up) {
        ASSERT_NO_FATAL_FAILURE(pair.ExpectSameWhereHeld(pair.server()));
      }
      ASSERT_NO_FATAL_FAILURE(pair.ExpectSameWhereHeld(pair.robot()));
      ASSERT_NO_FATAL_FAILURE(pair.ExpectSameAnswer());
    }
    EXPECT_GT(abandoned, 10);
    EXPECT_GT(pair.crossed(), 250);
    pair.ExpectSameWhenFinished(picture_);
  }
}

}  // namespace
}  // namespace cacheinf

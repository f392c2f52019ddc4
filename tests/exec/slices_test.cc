#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/exec/cpu_backend.h"
#include "common/exec/cuda_backend.h"
#include "common/exec/frame_decision.h"
#include "common/exec/model_state.h"
#include "common/exec/slice.h"
#include "common/exec/spreads.h"
#include "common/model/graph/geometry.h"
#include "common/plan/split.h"
#include "sparse_ops/mask/mask.h"
#include "sparse_ops/mask/wire.h"
#include "tests/testing/inside_state.h"
#include "tests/testing/networks.h"
#include "tests/testing/refusal.h"
#include "tests/testing/run_graph.h"

// Read this first: two sides share a frame. Each computes some rows of every map, and rows cross
// between them in slices. Together they do what one state does alone.

namespace cacheinf {
namespace {

constexpr int kHeight = 64;
constexpr int kWidth = 32;

constexpr int kChannels = 3;
using Pixels = std::vector<uint8_t>;
using Kind = FrameDecision::Kind;

PictureView View(const Pixels& pixels) { return {pixels.data(), kWidth, kHeight, kChannels}; }

Pixels RandomPicture(std::mt19937& random) {
  Pixels pixels(kChannels * kHeight * kWidth);
  for (uint8_t& level : pixels) level = static_cast<uint8_t>(random() % 256);
  return pixels;
}

// Changes a rectangle of the picture, or its light a little. Sets `changed` to where.
Pixels Changed(Pixels picture, std::mt19937& random, Mask& changed) {
  const int top = static_cast<int>(random() % kHeight);
  const int left = static_cast<int>(random() % kWidth);
  const Range rows = {top, std::min(kHeight, top + 1 + static_cast<int>(random() % 12))};
  const Range columns = {left, std::min(kWidth, left + 1 + static_cast<int>(random() % 12))};
  ClearAll(changed);
  SetRectangle(rows, columns, changed);
  const int most = std::array{255, 60, 20}[random() % 3];
  for (int y = rows.begin; y < rows.end; ++y) {
    for (int i = kChannels * columns.begin; i < kChannels * columns.end; ++i) {
      uint8_t& level = picture[static_cast<size_t>(y * kChannels * kWidth + i)];
      const int by = static_cast<int>(random() % static_cast<uint32_t>(2 * most + 1)) - most;
      level = static_cast<uint8_t>(std::clamp(level + by, 0, 255));
    }
  }
  return picture;
}

constexpr size_t kSliceBytes = 64;  // enough for a slice without pixels

struct TestFrame {
  Pixels picture;
  FrameDecision decision;

  explicit TestFrame(Kind kind = Kind::kChanged) {
    decision.kind = kind;
    decision.base = 0;
    decision.changed = decision.forced = Mask(kHeight, kWidth);
    if (kind == Kind::kWhole) SetAll(decision.changed);
  }
};

// A robot and a server that trade slices, and one state that does everything alone.
class Pair {
 public:
  // Without its own backend the server shares the robot's model.
  Pair(const Network& network, ChangePolicy policy, StateOptions options = {{}, Keep::kAll},
       std::unique_ptr<Backend> server_backend = nullptr)
      : model_(std::make_shared<const CompiledModel>(MakeNetwork(network, kHeight, kWidth),
                                                     std::make_unique<CpuBackend>())),
        server_model_(server_backend
                          ? std::make_shared<const CompiledModel>(
                                MakeNetwork(network, kHeight, kWidth), std::move(server_backend))
                          : model_),
        options_(std::move(options)),
        policy_(std::move(policy)),
        one_(model_, options_) {
    options_.trades = true;
    robot_ = std::make_unique<ModelState>(model_, options_);
    ReplaceServer();
  }

  const Graph& graph() const { return model_->graph(); }
  const std::shared_ptr<const CompiledModel>& model() const { return model_; }
  ModelState& one() { return one_; }
  ModelState& robot() { return *robot_; }
  ModelState& server() { return *server_; }
  ChangePolicy& policy() { return policy_; }

  // Replaces the server by one that has seen nothing.
  void ReplaceServer() {
    server_ = std::make_unique<ModelState>(server_model_, options_);
    Fill(*server_, graph().inputs[0], std::nanf(""));
    robot_->LosePeer();
  }

  // Runs the first frame, which the robot computes alone, and measures spreads on it.
  void Begin(const Pixels& picture) {
    const TestFrame whole(Kind::kWhole);
    one_.Apply(whole.decision, View(picture), policy_);
    robot_->Apply(whole.decision, View(picture), policy_);
    if (policy_.threshold > 0.0f) {
      policy_.spreads = std::make_shared<const InverseSpreads>(MeasureSpreads(one_));
    }
  }

  RowCompiler compiler() const { return {graph(), robot_->layout()}; }

  // Has both sides compute a frame together, and one state alone. After `stages` stages, if there
  // are that many, the sides give the frame up, one of them perhaps `more_stages` later, and the
  // robot finishes it alone; sometimes the last slice is lost. Returns the bytes that crossed.
  size_t Frame(const TestFrame& frame, const SplitRows& rows, size_t stages = SIZE_MAX,
               size_t more_stages = 0) {
    one_.Apply(frame.decision, View(frame.picture), policy_);
    robot_->BeginFrame(frame.decision, View(frame.picture), policy_, &rows.robot);
    server_->BeginFrame(frame.decision, {}, policy_, &rows.server);
    size_t bytes = 0;
    bool has_lost = false;
    auto transfer = rows.transfers.begin();
    const size_t last = std::min(stages, robot_->stage_count());
    for (size_t stage = 0; stage <= last; ++stage) {
      for (; transfer != rows.transfers.end() && transfer->after_stages == stage; ++transfer) {
        const bool is_lost =
            stage == last && stages < robot_->stage_count() && more_stages % 3 == 0;
        bytes += is_lost ? Lose(*transfer) : Cross(*transfer);
        has_lost = has_lost || is_lost;
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
    const bool must_stay = has_lost || transfer == rows.transfers.end();
    const size_t reach = must_stay ? last : transfer->after_stages;
    while (faster.next_stage() < std::min(reach, last + more_stages)) faster.Step();
    robot_->Abandon();
    server_->Abandon();
    robot_->ForgetSent();
    server_->ForgetSent();
    robot_->BeginRest(policy_);
    robot_->Finish();
    return bytes;
  }

  void ExpectSameAnswer() {
    const auto expected = Outputs(one_);
    const auto actual = Outputs(*robot_);
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(FirstDifference(expected[i], actual[i]), "") << "output " << i;
    }
  }

  // Expects the bits of one state in what a side computed or received in the last frame.
  void ExpectSameWhereHeld(const ModelState& side) {
    for (const Operator& op : graph().operators) {
      for (const ValueId id : op.outputs) {
        if (!side.is_kept(id)) continue;
        const Value& value = graph().value(id);
        const auto expected = Numbers(one_, id);
        const auto actual = Numbers(side, id);
        for (size_t i = 0; i < expected.size(); ++i) {
          const int row = RowOf(value, i);
          if (!InsideState::Holds(side, id, row)) continue;
          ASSERT_TRUE(SameBits(expected[i], actual[i]))
              << (&side == robot_.get() ? "robot" : "server") << ", " << KindName(op) << " '"
              << value.name << "', row " << row << ", number " << i;
        }
      }
    }
  }

  // Expects that nothing was lost: each side, finishing alone, gets what the one state has.
  void ExpectSameWhenFinished(const Pixels& picture) {
    server_->SetPicture(View(picture));
    for (ModelState* side : {robot_.get(), server_.get()}) {
      side->BeginRest(policy_);
      side->Finish();
      for (const Operator& op : graph().operators) {
        for (const ValueId id : op.outputs) {
          if (!side->is_kept(id)) continue;
          ASSERT_EQ(FirstDifference(Numbers(one_, id), Numbers(*side, id)), "")
              << (side == robot_.get() ? "robot" : "server") << ", " << KindName(op) << " '"
              << graph().value(id).name << "'";
        }
      }
    }
  }

  // The pixels that the last frame changed on a side. REQUIRES: the frame has ended.
  static Mask ChangedOf(const ModelState& side, ValueId id) {
    const ConstMaskView changed = side.changed(id);
    Mask copy(changed.height, changed.width);
    Copy(changed, copy);
    return copy;
  }

  int crossed() const { return crossed_; }
  int64_t sent_pixels() const { return sent_pixels_; }
  int64_t robot_done() const { return robot_done_; }
  int64_t server_done() const { return server_done_; }

 private:
  // Does nothing under other policies than kExact.
  void ExpectSameRows(const ModelState& side, ValueId id, Range rows, const char* what) {
    if (policy_.kind != ChangePolicy::Kind::kExact || testing::Test::HasFailure()) return;
    const Value& value = graph().value(id);
    const auto expected = Numbers(one_, id);
    const auto actual = Numbers(side, id);
    for (size_t i = 0; i < expected.size(); ++i) {
      const int row = RowOf(value, i);
      if (row < rows.begin || row >= rows.end) continue;
      ASSERT_TRUE(SameBits(expected[i], actual[i]))
          << what << " by the " << (&side == robot_.get() ? "robot" : "server") << ", '"
          << value.name << "', row " << row << ", number " << i;
    }
  }

  // The pixel that a map's number belongs to; 0 for other values.
  static int PixelOf(const Value& value, size_t number) {
    if (!value.is_map()) return 0;
    return static_cast<int>(
        number % (static_cast<size_t>(WidthOf(value)) * static_cast<size_t>(HeightOf(value))));
  }

  // Expects the sender's bits in every pixel that arrived.
  void ExpectSendersBits(const Transfer& transfer, const ModelState& from, const ModelState& to,
                         const std::vector<uint8_t>& bytes) {
    const Value& value = graph().value(transfer.value);
    Mask arrived(transfer.rows.size(), WidthOf(value));
    const size_t mask_bytes = bytes[16] + 256 * bytes[17] + 65536 * bytes[18];
    ASSERT_EQ(DecodeMask(bytes.data() + 20, mask_bytes, arrived), nullptr);
    sent_pixels_ += CountActive(std::as_const(arrived));
    const auto sent = Numbers(from, transfer.value);
    const auto received = Numbers(to, transfer.value);
    for (size_t i = 0; i < sent.size(); ++i) {
      const int row = PixelOf(value, i) / WidthOf(value) - transfer.rows.begin;
      if (row < 0 || row >= transfer.rows.size()) continue;
      if (!std::as_const(arrived).view().Test(row, PixelOf(value, i) % WidthOf(value))) continue;
      ASSERT_TRUE(SameBits(sent[i], received[i])) << "'" << value.name << "', number " << i;
    }
  }

  static int RowOf(const Value& value, size_t number) {
    if (!value.is_map()) return 0;
    return static_cast<int>(number / static_cast<size_t>(WidthOf(value)) %
                            static_cast<size_t>(HeightOf(value)));
  }

  size_t Lose(const Transfer& transfer) {
    std::vector<uint8_t> bytes;
    (transfer.from == Side::kRobot ? robot_ : server_)->Pack(transfer.value, transfer.rows, &bytes);
    return bytes.size();
  }

  size_t Cross(const Transfer& transfer) {
    const bool goes_up = transfer.from == Side::kRobot;
    ModelState& from = goes_up ? *robot_ : *server_;
    ModelState& to = goes_up ? *server_ : *robot_;
    std::vector<uint8_t> bytes;
    ExpectSameRows(from, transfer.value, transfer.rows, "sent");
    from.Pack(transfer.value, transfer.rows, &bytes);
    const char* error = to.Unpack(transfer.value, transfer.rows, bytes);
    EXPECT_EQ(error, nullptr) << error;
    ExpectSameRows(to, transfer.value, transfer.rows, "received");
    ExpectSendersBits(transfer, from, to, bytes);
    ++crossed_;
    return bytes.size();
  }

  std::shared_ptr<const CompiledModel> model_;
  std::shared_ptr<const CompiledModel> server_model_;
  StateOptions options_;
  ChangePolicy policy_;
  ModelState one_;
  std::unique_ptr<ModelState> robot_;
  std::unique_ptr<ModelState> server_;
  int crossed_ = 0;
  int64_t sent_pixels_ = 0;
  int64_t robot_done_ = 0;
  int64_t server_done_ = 0;
};

// Random rows for every operator, and some values that cross.
SharedFrame RandomOwners(Pair& pair, std::mt19937& random) {
  const Graph& graph = pair.graph();
  SharedFrame owners;
  const uint32_t of_ten = 1 + static_cast<uint32_t>(random() % 9);
  for (const Operator& op : graph.operators) {
    const auto rows = static_cast<uint32_t>(RowCount(graph, op));
    const int boundary = static_cast<int>(random() % (rows + 1));
    const bool is_exchanged = random() % 10 < of_ten && pair.robot().is_kept(op.outputs[0]);
    owners.operators.push_back(
        {.boundary = boundary, .is_divided = op.outputs[0] % 2 == 0, .is_exchanged = is_exchanged});
  }
  return owners;
}

class Slices : public testing::TestWithParam<Network> {
 protected:
  TestFrame NextFrame(bool may_refresh = true) {
    const bool is_still = random_() % 4 == 0;
    const bool is_forced = may_refresh && random_() % 5 == 0;
    TestFrame frame(is_still && is_forced ? Kind::kRefresh : Kind::kChanged);
    if (!is_still) Change(frame.decision.changed);
    frame.picture = picture_;
    const int top = static_cast<int>(random_() % kHeight);
    if (is_forced) SetRectangle({top, top + 8}, {0, kWidth}, frame.decision.forced);
    return frame;
  }

  // Changes the picture, or sometimes undoes the last change.
  void Change(Mask& changed) {
    if (before_.picture.empty() || random_() % 3 != 0) {
      before_ = {picture_, Mask(kHeight, kWidth)};
      picture_ = Changed(picture_, random_, before_.changed);
    } else {
      std::swap(picture_, before_.picture);
    }
    changed = before_.changed;
  }

  // A frame of another scene.
  TestFrame WholeFrame() {
    TestFrame frame(Kind::kWhole);
    frame.decision.base = random_() % 2 == 0 ? 0 : -1;
    frame.picture = picture_ = RandomPicture(random_);
    before_ = {};
    return frame;
  }

  // A frame for which the camera moved by whole strides.
  TestFrame ScrolledFrame(int step) {
    TestFrame frame;
    const int sign = random_() % 2 == 0 ? 1 : -1;
    const Shift scroll = random_() % 2 == 0 ? Shift{sign * step, 0} : Shift{0, sign * step};
    frame.decision.scroll = scroll;
    frame.picture = RandomPicture(random_);
    const MaskView entered = frame.decision.changed;
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        const int from_y = y + scroll.rows;
        const int from_x = x + scroll.columns;
        if (from_y < 0 || from_y >= kHeight || from_x < 0 || from_x >= kWidth) {
          entered.Set(y, x);
          continue;
        }
        std::copy_n(picture_.begin() + kChannels * (from_y * kWidth + from_x), kChannels,
                    frame.picture.begin() + kChannels * (y * kWidth + x));
      }
    }
    picture_ = frame.picture;
    before_ = {};
    return frame;
  }

  Pair MakePair(ChangePolicy policy, StateOptions options = {{}, Keep::kAll},
                std::unique_ptr<Backend> server_backend = nullptr) {
    random_.seed(7);
    picture_ = RandomPicture(random_);
    before_ = {};
    Pair pair(GetParam(), std::move(policy), std::move(options), std::move(server_backend));
    pair.Begin(picture_);
    return pair;
  }

  // Runs a frame at every cut of one value, with each of these shares of the rows on the robot.
  void ExpectSameAtEverySingleCut(Pair& pair, const std::vector<int>& shares) {
    int cuts = 0;
    for (int place = -1; place < std::ssize(pair.graph().operators); ++place) {
      for (const int thousandths : shares) {
        SCOPED_TRACE(testing::Message() << "cut behind " << place << ", " << thousandths);
        const TestFrame frame = NextFrame();
        const std::vector<Cut> cuts_here = {{place, thousandths}};
        pair.Frame(frame, pair.compiler().Compile(cuts_here,
                                                  RobotRowsOf(cuts_here, frame.decision.changed)));
        ASSERT_NO_FATAL_FAILURE(pair.ExpectSameAnswer());
        ASSERT_NO_FATAL_FAILURE(pair.ExpectSameWhereHeld(pair.server()));
        ++cuts;
      }
    }
    EXPECT_GT(pair.crossed(), cuts) << "too little crossed";
    pair.ExpectSameWhenFinished(picture_);
  }

  std::mt19937 random_;
  Pixels picture_;
  struct {
    Pixels picture;  // empty: unknown
    Mask changed;    // since then
  } before_;
};

INSTANTIATE_TEST_SUITE_P(Of, Slices, testing::ValuesIn(TenNetworks()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(Slices, AtEverySingleCutTheAnswerHasTheBitsOfOneState) {
  Pair pair = MakePair({});
  ExpectSameAtEverySingleCut(pair, {0, 500});
}

// A server with kernels for GPUs, on the stand-in, and a robot with kernels for CPUs.
class SlicesToAGpu : public Slices {};

INSTANTIATE_TEST_SUITE_P(Of, SlicesToAGpu, testing::Values(TenNetworks().front()),
                         [](const auto& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(Slow, SlicesToAGpu, testing::ValuesIn(TenNetworks()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(SlicesToAGpu, AtEverySingleCutTheAnswerHasTheBitsOfOneState) {
  Pair pair = MakePair({}, {{}, Keep::kAll}, MakeEmulatedCudaBackend());
  ExpectSameAtEverySingleCut(pair, {0, 500});
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
      const uint32_t chance = random_() % 48;
      const TestFrame frame = step > 0 && chance < 8 ? ScrolledFrame(step)
                              : chance == 8          ? WholeFrame()
                                                     : NextFrame();
      const SplitRows rows = pair.compiler().Compile(RandomOwners(pair, random_));
      const bool gives_up = random_() % 8 == 0;
      const size_t stages = gives_up ? random_() % pair.robot().stage_count() : SIZE_MAX;
      abandoned += gives_up;
      pair.Frame(frame, rows, stages, random_() % 6);
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

// A refresh stores small changes too, which ends the promise where nothing changes. So this checks
// with refreshes and without.
TEST_P(Slices, UnderChangeWhatIsStoredHoldsItsPromiseOnBothSides) {
  for (const bool has_refreshes : {true, false}) {
    Pair pair = MakePair({.kind = ChangePolicy::Kind::kChange, .threshold = 0.3f});
    const int step = ShiftStep(pair.graph(), kHeight / 2);
    for (int i = 0; i < (has_refreshes ? 60 : 180); ++i) {
      SCOPED_TRACE(testing::Message()
                   << (has_refreshes ? "with" : "without") << " refreshes, frame " << i);
      if (random_() % 40 == 0) pair.ReplaceServer();
      const uint32_t chance = random_() % 48;
      const TestFrame frame = step > 0 && chance < 4 ? ScrolledFrame(step)
                              : chance == 8          ? WholeFrame()
                                                     : NextFrame(has_refreshes);
      const bool gives_up = random_() % 8 == 0;
      const size_t stages = gives_up ? random_() % pair.robot().stage_count() : SIZE_MAX;
      pair.Frame(frame, pair.compiler().Compile(RandomOwners(pair, random_)), stages,
                 random_() % 6);
      for (ModelState* side : {&pair.robot(), &pair.server()}) {
        if (gives_up && side == &pair.server()) continue;
        const std::optional<StoredPixel> fault =
            InsideState::CheckStored(*side, 400, static_cast<uint32_t>(i));
        ASSERT_FALSE(fault) << (side == &pair.robot() ? "robot" : "server") << ", '"
                            << pair.graph().value(fault->map).name << "', pixel " << fault->row
                            << ", " << fault->column;
      }
    }
    EXPECT_GT(pair.crossed(), 60);
  }
}

// Rows that stay where they are: the robot owns the upper half of everything.
SplitRows Halves(const Pair& pair) {
  SharedFrame owners;
  for (const Operator& op : pair.graph().operators) {
    owners.operators.push_back({.boundary = RowCount(pair.graph(), op) / 2,
                                .is_divided = true,
                                .is_exchanged = op.outputs[0] % 3 == 0});
  }
  return pair.compiler().Compile(owners);
}

TEST_P(Slices, UnderFixedBothSidesTogetherComputeThePixelsOfOneState) {
  Pair pair = MakePair({.kind = ChangePolicy::Kind::kFixed, .growth = 1});
  const SplitRows rows = Halves(pair);
  // Rows new to the server are computed whole, though nothing moves.
  TestFrame still;
  still.picture = picture_;
  pair.Frame(still, rows);
  for (int i = 0; i < 20; ++i) {
    SCOPED_TRACE(testing::Message() << "frame " << i);
    pair.Frame(NextFrame(), rows);
    ASSERT_NO_FATAL_FAILURE(pair.ExpectSameAnswer());
    ASSERT_NO_FATAL_FAILURE(pair.ExpectSameWhereHeld(pair.robot()));
    ASSERT_NO_FATAL_FAILURE(pair.ExpectSameWhereHeld(pair.server()));
    for (OpId id = 0; id < static_cast<OpId>(pair.graph().operators.size()); ++id) {
      const Operator& op = pair.graph().operators[id];
      if (!IsLocal(pair.graph(), op)) continue;
      const ValueId output = op.outputs[0];
      const Mask expected = Pair::ChangedOf(pair.one(), output);
      for (const auto& [side, computed] : {std::pair(&pair.robot(), rows.robot.computed[id]),
                                           std::pair(&pair.server(), rows.server.computed[id])}) {
        if (computed.empty()) continue;
        const Mask actual = Pair::ChangedOf(*side, output);
        EXPECT_TRUE(AreEqual(CutRows(expected.view(), computed), CutRows(actual.view(), computed)))
            << "'" << op.name << "'";
      }
    }
  }
}

TEST_P(Slices, UnderFixedTheErrorIsThatOfOneStateWhereverTheRowsGo) {
  Pair pair = MakePair({.kind = ChangePolicy::Kind::kFixed, .growth = 1});
  ModelState dense(pair.model());
  double error_of_one = 0;
  double error_of_pair = 0;
  for (int i = 0; i < 40; ++i) {
    const bool gives_up = random_() % 8 == 0;
    const size_t stages = gives_up ? random_() % pair.robot().stage_count() : SIZE_MAX;
    const TestFrame frame = NextFrame();
    pair.Frame(frame, pair.compiler().Compile(RandomOwners(pair, random_)), stages, random_() % 6);
    dense.SetPicture(View(frame.picture));
    dense.Run();
    error_of_one += RelativeErrorOf(Outputs(pair.one()), Outputs(dense));
    error_of_pair += RelativeErrorOf(Outputs(pair.robot()), Outputs(dense));
  }
  EXPECT_GT(error_of_one, 0) << "nothing is tested";
  EXPECT_LE(error_of_pair, 1.02 * error_of_one);
}

// All maps' mask is made from what comes out of the stem, of which neither side sees everything.
TEST(SplitPolicyTest, FixedWithAStemIsRefused) {
  std::mt19937 random(5);
  const Pixels picture = RandomPicture(random);
  Pair pair(TenNetworks()[1], {.kind = ChangePolicy::Kind::kFixed, .stem_depth = 1});
  pair.Begin(picture);
  EXPECT_FALSE(pair.policy().can_split());
  const SplitRows rows = Halves(pair);
  const TestFrame frame;
  const std::string refusal = RefusalOf(
      [&] { pair.robot().BeginFrame(frame.decision, View(picture), pair.policy(), &rows.robot); });
  EXPECT_EQ(refusal,
            "policy fixed with a stem cannot be split: neither side sees all that comes out of "
            "the stem");
  EXPECT_EQ(pair.robot().Apply(frame.decision, View(picture), pair.policy()).done, 0);
  for (const ChangePolicy& policy :
       {ChangePolicy{.kind = ChangePolicy::Kind::kFixed},
        ChangePolicy{.kind = ChangePolicy::Kind::kChange, .stem_depth = 1}}) {
    EXPECT_TRUE(policy.can_split());
  }
}

// A change too small to count reaches the server once a refresh stores it.
TEST(SplitPolicyTest, ARefreshSendsThePictureAgain) {
  std::mt19937 random(9);
  TestFrame frame;
  frame.picture = RandomPicture(random);
  Pair pair(TenNetworks()[1], {.kind = ChangePolicy::Kind::kFixed});
  pair.Begin(frame.picture);
  const std::vector<Cut> cut = {{-1, 0}};
  const SplitRows rows =
      pair.compiler().Compile(cut, RobotRowsOf(cut, std::as_const(frame.decision.changed)));
  pair.Frame(frame, rows);
  pair.ExpectSameAnswer();
  const auto before = Outputs(pair.one());
  for (uint8_t& level : frame.picture) level ^= 1;
  SetAll(frame.decision.forced);
  pair.Frame(frame, rows);
  pair.ExpectSameAnswer();
  EXPECT_NE(FirstDifference(before[0], Outputs(pair.one())[0]), "") << "nothing is tested";
}

TEST_P(Slices, WhatStandsStillIsNeitherComputedNorSent) {
  Pair pair = MakePair({});
  const SplitRows rows = Halves(pair);
  for (int i = 0; i < 20; ++i) {
    TestFrame frame;
    if (i % 4 == 1) picture_ = Changed(picture_, random_, frame.decision.changed);
    frame.picture = picture_;
    const int64_t sent_before = pair.sent_pixels();
    const size_t bytes = pair.Frame(frame, rows);
    if (i == 0) continue;
    if (i % 4 != 1) {
      EXPECT_EQ(pair.robot_done() + pair.server_done(), 0);
      EXPECT_EQ(pair.sent_pixels(), sent_before);
      EXPECT_LE(bytes, rows.transfers.size() * kSliceBytes);
      continue;
    }
    // Only changes cross, and nothing is computed beyond the rows and their halo.
    size_t least = 0;
    for (const Transfer& transfer : rows.transfers) {
      const ModelState& from = transfer.from == Side::kRobot ? pair.robot() : pair.server();
      const Value& value = pair.graph().value(transfer.value);
      const Mask changed = Pair::ChangedOf(from, transfer.value);
      const int64_t pixels = CountActive(CutRows(changed.view(), transfer.rows));
      const int64_t numbers = value.is_map() ? value.shape[1] : ElementCount(value.shape);
      least += static_cast<size_t>(pixels * numbers) * sizeof(float);
    }
    EXPECT_LE(static_cast<double>(bytes), 1.02 * static_cast<double>(least) +
                                              512.0 * static_cast<double>(rows.transfers.size()));
    for (OpId id = 0; id < static_cast<OpId>(pair.graph().operators.size()); ++id) {
      const ValueId output = pair.graph().operators[id].outputs[0];
      for (const Side side : kSides) {
        const bool is_robot = side == Side::kRobot;
        Mask mine = Pair::ChangedOf(is_robot ? pair.robot() : pair.server(), output);
        Mask received(mine.view().height, mine.view().width);
        for (const Transfer& transfer : rows.transfers) {
          if (transfer.value != output || transfer.from == side) continue;
          SetRectangle(transfer.rows, {0, received.view().width}, received);
        }
        Subtract(std::as_const(mine), std::as_const(received), mine);
        ClearRectangle(rows[side].computed[id], {0, received.view().width}, mine);
        EXPECT_TRUE(IsEmpty(std::as_const(mine)))
            << NameOf(side) << ", '" << pair.graph().operators[id].name << "'";
      }
    }
  }
}

// Also computes what an abandoned frame left, but nothing else that the camera's move left valid.
TEST_P(Slices, AScrollWithStalePixelsStaysSparse) {
  Pair pair = MakePair({});
  const int step = ShiftStep(pair.graph(), kHeight / 2);
  ASSERT_GT(step, 0);
  int64_t in_two_frames = 0;
  int64_t in_one = 0;
  int64_t dense = 0;
  for (int i = 0; i < 20; ++i) {
    TestFrame changed;
    changed.picture = picture_ = Changed(picture_, random_, changed.decision.changed);
    const TestFrame scrolled = ScrolledFrame(step);
    in_two_frames += pair.one().Apply(changed.decision, View(changed.picture), {}).done;
    in_two_frames += pair.one().Apply(scrolled.decision, View(scrolled.picture), {}).done;
    pair.robot().BeginFrame(changed.decision, View(changed.picture), {});
    pair.robot().Abandon();
    const ChangedWork work = pair.robot().Apply(scrolled.decision, View(scrolled.picture), {});
    in_one += work.done;
    dense += work.of_all;
    ASSERT_NO_FATAL_FAILURE(pair.ExpectSameAnswer()) << "frame " << i;
  }
  EXPECT_LE(in_one, in_two_frames);
  EXPECT_LT(in_one, dense);
}

// Whatever arrives is taken as a whole slice or refused in one sentence.
TEST(SliceBytesTest, DamagedSlicesAreRefusedAndWhatArrivesDoesNotGoBack) {
  std::mt19937 random(11);
  Pair pair(TenNetworks()[1], {});
  pair.Begin(RandomPicture(random));
  const ValueId value = pair.graph().operators[2].outputs[0];
  const Range rows = {2, 9};
  std::vector<uint8_t> bytes;
  pair.robot().Pack(value, rows, &bytes);
  const auto before = Numbers(pair.server(), value);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::vector<uint8_t> damaged = bytes;
    if (random() % 3 == 0) damaged.resize(random() % (bytes.size() + 1));
    const size_t header = std::min<size_t>(damaged.size(), 48);
    for (uint32_t n = random() % 3; n-- > 0 && header > 0;)
      damaged[random() % header] ^= 1 << random() % 8;
    if (damaged == bytes) continue;
    const char* error = pair.server().Unpack(value, rows, damaged);
    if (error == nullptr) {
      Fill(pair.server(), value, 0.0f);
      continue;
    }
    ++refused;
    if (refused == 1) {
      EXPECT_EQ(FirstDifference(before, Numbers(pair.server(), value)), "");
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_EQ(pair.server().Unpack(value, rows, bytes), nullptr);
  std::vector<uint8_t> echo;
  pair.server().Pack(value, rows, &echo);
  EXPECT_LE(echo.size(), kSliceBytes) << "what has arrived goes back";
}

// The peer may confirm a frame when the robot is at a later one.
TEST(SliceBytesTest, WhatIsWrittenAfterItWasPackedIsSentAgain) {
  std::mt19937 random(12);
  const Pixels picture = RandomPicture(random);
  Pair pair(TenNetworks()[1], {});
  pair.Begin(picture);
  const Operator& op = pair.graph().operators[2];
  const ValueId value = op.outputs[0];
  const auto cross = [&](ModelState& from, ModelState& to) {
    const Range rows = {0, RowCount(pair.graph(), op)};
    std::vector<uint8_t> bytes;
    from.Pack(value, rows, &bytes);
    EXPECT_EQ(to.Unpack(value, rows, bytes), nullptr);
    return FirstDifference(Numbers(from, value), Numbers(to, value));
  };
  EXPECT_EQ(cross(pair.robot(), pair.server()), "");
  TestFrame frame;
  frame.picture = Changed(picture, random, frame.decision.changed);
  pair.robot().Apply(frame.decision, View(frame.picture), pair.policy());
  ASSERT_NE(FirstDifference(Numbers(pair.robot(), value), Numbers(pair.server(), value)), "");
  pair.robot().ConfirmSent();
  EXPECT_EQ(cross(pair.robot(), pair.server()), "");
}

}  // namespace
}  // namespace cacheinf

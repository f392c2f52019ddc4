#include "profiler/import_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "common/base/error.h"
#include "common/base/file.h"
#include "common/base/json_fields.h"
#include "profiler/fit.h"

namespace cacheinf {
namespace {

constexpr uint64_t kLargestTable = uint64_t{16} << 20;
constexpr int64_t kLargestSize = 1 << 16;
constexpr const char* kTimeMust = "milliseconds, 0 or more";
constexpr Real kTime = {0, 1e6, kTimeMust, kTimeMust};
constexpr double kFloatBytes = 4;

// Assumed where a table says nothing. For codecs: design figures of JPEG 85 and x264, and their
// times on a core of a server of 2020; a robot takes three times as long.
constexpr double kFixedMs = 0.02;  // part of every operator's time, or all of it if less
constexpr double kCopyBytesPerMs = 1e6;
constexpr double kJpegBitsPerPixel = 2.3;
constexpr double kVideoOfJpeg = 0.1;
constexpr double kJpegNsPerPixel = 2.2;
constexpr double kVideoNsPerPixel = 5.0;
constexpr double kDecideNsPerPixel = 2.3;
constexpr double kRobotSlower = 3;
constexpr double kNsPerMs = 1e6;

struct TableOperator {
  int64_t id = 0;
  std::string op;
  std::vector<int64_t> inputs;  // ids
  std::vector<int64_t> shape;   // of its first output
  bool is_local = false;
  double robot_ms = 0;
  std::optional<double> server_ms;
};

struct Table {
  std::string model;
  std::string robot;
  std::string server = "a server";
  std::vector<TableOperator> ops;
};

// ---------------------------------------------------------------------------------------------
// Reading.

std::vector<int64_t> FirstShape(const JsonReader& json) {
  std::vector<int64_t> shape;
  if (!json.Has("shapes") || !json.json()["shapes"].is_array()) json.Refuse("shapes", "a list");
  const FieldsJson& shapes = json.json()["shapes"];
  if (shapes.empty()) return shape;
  const bool is_list = shapes[0].is_array() && shapes[0].size() <= 8;
  for (const FieldsJson& size : is_list ? shapes[0] : FieldsJson::array({0})) {
    const int64_t number = size.is_number_integer() ? size.get<int64_t>() : 0;
    if (number < 1 || number > kLargestSize * kLargestSize) {
      json.Refuse("shapes", "lists of sizes, 1 or more");
    }
    shape.push_back(number);
  }
  return shape;
}

Table ReadTable(const std::filesystem::path& path) {
  const JsonReader json(ReadFile(path, kLargestTable), path.string());
  const bool has_server_name = json.Has("server") && !json.json()["server"].is_null();
  Table table;
  json("model", table.model);
  json("robot", table.robot);
  if (has_server_name) json("server", table.server);
  std::map<int64_t, std::vector<int64_t>> shapes;
  for (const JsonReader& item : json.Objects("ops")) {
    TableOperator op;
    item("id", op.id);
    item("op", op.op);
    item("inputs", op.inputs, Whole());
    for (const int64_t input : op.inputs) {
      if (!shapes.contains(input)) item.Refuse("inputs", "ids of operators before it");
    }
    op.shape = FirstShape(item);
    if (op.shape.empty() && !op.inputs.empty()) op.shape = shapes.at(op.inputs[0]);
    if (op.shape.empty()) item.Refuse("shapes", "not empty where there is no input");
    item("local", op.is_local);
    item("robot_ms", op.robot_ms, kTime);
    if (item.Has("server_ms")) item("server_ms", op.server_ms, kTime);
    if (!shapes.emplace(op.id, op.shape).second) item.Refuse("id", "different from all before");
    table.ops.push_back(std::move(op));
  }
  const bool has_ends = table.ops.size() >= 3 && table.ops.front().op == "_start" &&
                        table.ops.back().op == "_end" && table.ops.front().shape.size() >= 3;
  if (!has_ends) json.Refuse("ops", "a list from _start, of a picture, to _end");
  return table;
}

// How many times as long the robot takes as the server, over all that both measured.
double SpeedupOf(const ImportCommand& command) {
  if (command.speedup > 0) return command.speedup;
  double robot_ms = 0;
  double server_ms = 0;
  for (const std::filesystem::path& path : command.references) {
    for (const TableOperator& op : ReadTable(path).ops) {
      if (!op.server_ms) continue;
      robot_ms += op.robot_ms;
      server_ms += *op.server_ms;
    }
  }
  if (server_ms > 0) return robot_ms / server_ms;
  throw InputError(fmt::format(
      "{} has no times of the server: give --speedup, or --reference with a table that has both",
      command.table.string()));
}

// ---------------------------------------------------------------------------------------------
// Geometry.

bool IsOneOf(const std::string& op, const std::set<std::string>& names) {
  return names.contains(op);
}

bool Slides(const std::string& op) {
  return IsOneOf(op, {"conv2d", "conv3d", "max_pool2d", "avg_pool2d"});
}

// The axis of a value that its rows are on; -1: none.
struct RowsAxis {
  int axis = -1;
  int rows = 1;
};

int64_t SizeAt(const std::vector<int64_t>& shape, int axis) {
  return axis >= 0 && axis < static_cast<int>(shape.size()) ? shape[static_cast<size_t>(axis)] : 0;
}

// Finds where the rows of `before` lie in a result of this shape.
RowsAxis FollowRows(const TableOperator& op, const std::vector<int64_t>& in, RowsAxis before) {
  constexpr int kRowsOfMap = 2;
  const auto rank = static_cast<int>(op.shape.size());
  if (before.axis < 0) return {};
  int axis = before.axis;
  if (op.op == "permute") {
    // Channels come last, or first again; any axis of that size will do.
    axis = -1;
    for (const int candidate : {3 - before.axis, before.axis, 2, 1, 3}) {
      if (axis < 0 && candidate > 0 && SizeAt(op.shape, candidate) == before.rows) axis = candidate;
    }
  } else if (op.shape.size() != in.size()) {
    // Counted from the end.
    axis = rank - (static_cast<int>(in.size()) - before.axis);
    if (SizeAt(op.shape, axis) != before.rows) axis = -1;
  } else if (Slides(op.op) && rank == 4) {
    axis = kRowsOfMap;
  }
  const int64_t rows = SizeAt(op.shape, axis);
  if (axis <= 0 || rows < 1 || rows > kLargestSize) return {};
  return {axis, static_cast<int>(rows)};
}

// Kernels of Kapao's convolutions and pools, in the order in which scripts/models/kapao.py runs
// them.
std::vector<int> KapaoKernels() {
  std::vector<int> kernels;
  const auto add = [&](std::initializer_list<int> more) { kernels.insert(kernels.end(), more); };
  const auto add_c3 = [&](int depth) {
    add({1});
    for (int i = 0; i < depth; ++i) add({1, 3});
    add({1, 1});
  };
  add({3, 3});
  add_c3(3);
  for (const int depth : {9, 9, 3}) {
    add({3});
    add_c3(depth);
  }
  add({3, 1, 3, 5, 7, 1});  // the pyramid's pools
  add_c3(3);
  for (int i = 0; i < 3; ++i) {
    add({1});
    add_c3(3);
  }
  for (int i = 0; i < 3; ++i) {
    add({3});
    add_c3(3);
  }
  add({1, 1, 1, 1});
  return kernels;
}

AxisWindow SlidingOver(int in, int out, int kernel) {
  const int stride = std::max(1, (in + out / 2) / out);
  const int pad = kernel > stride ? (kernel - 1) / 2 : 0;
  return AxisWindow::Sliding(in, out, {kernel, stride, pad, pad, 1});
}

AxisWindow OfKind(AxisWindow::Kind kind, int in, int out) {
  AxisWindow window;
  window.kind = kind;
  window.in_size = in;
  window.out_size = out;
  return window;
}

constexpr int kUsualKernel = 3;

// `kernel`: of an operator that slides; 0: unknown.
AxisWindow WindowIn(const std::string& op, int in, int out, int kernel) {
  if (Slides(op)) {
    const int stride = std::max(1, (in + out / 2) / out);
    return SlidingOver(in, out, kernel > 0 ? kernel : std::max(kUsualKernel, stride));
  }
  if (op == "conv_transpose2d" && out > in) {
    AxisWindow window = OfKind(AxisWindow::Kind::kTransposed, in, out);
    window.window = {kUsualKernel, out / in, 1, 1, 1};
    return window;
  }
  if (op == "interpolate" && in != out) {
    AxisWindow window = OfKind(AxisWindow::Kind::kResize, in, out);
    window.resize.coordinates = ResizeSpec::Coordinates::kAsymmetric;
    window.resize.out_height = out;
    window.resize.scale_rows = static_cast<float>(out) / static_cast<float>(in);
    return window;
  }
  if (in == out) return AxisWindow::Identity(in);
  if (in == 1) return OfKind(AxisWindow::Kind::kBroadcast, in, out);
  // Every nth row.
  if (op == "__getitem__" && in % out == 0) return SlidingOver(in, out, in / out);
  return OfKind(AxisWindow::Kind::kWhole, in, out);
}

// ---------------------------------------------------------------------------------------------

double CountOf(const std::vector<int64_t>& shape) {
  double count = 1;
  for (const int64_t size : shape) count *= static_cast<double>(size);
  return count;
}

Curve FromZeroTo(double y) { return {{{0.0, 0.0}, {1.0, Rounded(y)}}}; }

class TableImport {
 public:
  TableImport(const ImportCommand& command, const Table& table)
      : command_(command), table_(table), kernels_(KernelsOf(table)) {}

  Profile Import() {
    const std::vector<int64_t>& picture = table_.ops.front().shape;
    profile_.side = command_.side;
    profile_.model = table_.model;
    profile_.settings = "imported";
    profile_.machine = command_.side == Side::kRobot ? table_.robot : table_.server;
    profile_.machine_fingerprint = "imported";
    profile_.backend = "imported";
    profile_.slice_codec = SliceCodec::kRaw;
    constexpr int kRowsOfPicture = 2;
    Know(table_.ops.front().id, -1,
         {kRowsOfPicture, static_cast<int>(std::min(picture[kRowsOfPicture], kLargestSize))});
    for (size_t i = 1; i + 1 < table_.ops.size(); ++i) AddOperator(table_.ops[i]);
    for (const int64_t output : table_.ops.back().inputs) {
      const int index = known_.at(output).index;
      if (index < 0) continue;
      profile_.operators[static_cast<size_t>(index)].is_output = true;
      profile_.answer_bytes += BytesOf(known_.at(output));
    }
    AddSlice(PictureBytes(picture), &profile_.picture_slice_bytes, &profile_.picture_encode_ms,
             &profile_.picture_decode_ms);
    profile_.answer_encode_ms = profile_.answer_decode_ms =
        Rounded(profile_.answer_bytes / kCopyBytesPerMs);
    AddCodecs(picture);
    ListAssumptions();
    return std::move(profile_);
  }

 private:
  struct Known {
    int index = -1;  // of the profile's operators; -1: the picture
    std::vector<int64_t> shape;
    RowsAxis rows;
    bool has_classes = false;  // numbers of classes, which fit into bytes
  };

  // One per operator that slides; empty if unknown.
  static std::vector<int> KernelsOf(const Table& table) {
    std::vector<int> kernels = KapaoKernels();
    const auto slides =
        std::ranges::count_if(table.ops, [](const TableOperator& op) { return Slides(op.op); });
    const bool is_kapao = table.model == "kapao" && static_cast<size_t>(slides) == kernels.size();
    return is_kapao ? kernels : std::vector<int>();
  }

  void Know(int64_t id, int index, RowsAxis rows) {
    const auto op = std::ranges::find(table_.ops, id, &TableOperator::id);
    known_[id] = {index, op->shape, rows, HasClasses(*op)};
    has_classes_ = has_classes_ || known_[id].has_classes;
  }

  bool HasClasses(const TableOperator& op) const {
    constexpr double kMostClasses = 256;
    if (op.inputs.empty()) return false;
    const Known& read = known_.at(op.inputs[0]);
    if (op.op == "argmax") return CountOf(read.shape) <= kMostClasses * CountOf(op.shape);
    return op.op == "type" && read.has_classes;
  }

  static double BytesOf(const Known& known) {
    return (known.has_classes ? 1 : kFloatBytes) * CountOf(known.shape);
  }

  double TimeOf(const TableOperator& op) {
    if (command_.side == Side::kRobot) return op.robot_ms;
    if (op.server_ms) return *op.server_ms;
    if (speedup_ == 0) speedup_ = SpeedupOf(command_);
    return op.robot_ms / speedup_;
  }

  void AddOperator(const TableOperator& op) {
    ProfiledOperator profiled;
    profiled.name = fmt::format("{}_{}", op.op, op.id);
    profiled.kind = op.op;
    RowsAxis rows;
    for (const int64_t input : op.inputs) {
      if (rows.axis < 0) rows = FollowRows(op, known_.at(input).shape, known_.at(input).rows);
    }
    const auto has_rows = [&](int64_t input) { return known_.at(input).rows.axis >= 0; };
    profiled.is_local = op.is_local && rows.axis >= 0 && std::ranges::all_of(op.inputs, has_rows);
    if (op.is_local && !profiled.is_local) ++without_rows_;
    const int kernel = Slides(op.op) && !kernels_.empty() ? kernels_[next_kernel_++] : 0;
    profiled.rows = rows.rows;
    for (const int64_t input : op.inputs) {
      const Known& read = known_.at(input);
      const AxisWindow window = profiled.is_local
                                    ? WindowIn(op.op, read.rows.rows, rows.rows, kernel)
                                    : OfKind(AxisWindow::Kind::kWhole, read.rows.rows, rows.rows);
      if (window.kind == AxisWindow::Kind::kWhole) profiled.is_local = false;
      if (Slides(op.op) && profiled.is_local) {
        profiled.kind = fmt::format("{} {}/{}", op.op, window.window.kernel, window.window.stride);
      }
      profiled.inputs.push_back({read.index, window});
    }
    Know(op.id, static_cast<int>(profile_.operators.size()), rows);
    AddCosts(op, &profiled);
    profile_.operators.push_back(std::move(profiled));
  }

  void AddCosts(const TableOperator& op, ProfiledOperator* profiled) {
    const double bytes = BytesOf(known_.at(op.id));
    profiled->row_bytes = static_cast<int64_t>(bytes) / profiled->rows;
    profiled->dense_ms = Rounded(TimeOf(op));
    profiled->ms = {{{0.0, std::min(kFixedMs, profiled->dense_ms)}, {1.0, profiled->dense_ms}}};
    profiled->refresh_ms = FromZeroTo(profiled->dense_ms);
    constexpr double kNext = 1e-3;
    profiled->active = profiled->is_local ? FromZeroTo(1.0) : Curve{{{0.0, 0.0}, {kNext, 1.0}}};
    AddSlice(bytes, &profiled->slice_bytes, &profiled->encode_ms, &profiled->decode_ms);
    profiled->whole_bytes = bytes;
    profiled->whole_encode_ms = profiled->whole_decode_ms = Rounded(bytes / kCopyBytesPerMs);
  }

  static void AddSlice(double bytes, Curve* slice_bytes, Curve* encode_ms, Curve* decode_ms) {
    *slice_bytes = FromZeroTo(bytes);
    *encode_ms = *decode_ms = FromZeroTo(bytes / kCopyBytesPerMs);
  }

  static bool IsPicture(const std::vector<int64_t>& shape) {
    return shape.size() == 4 && (shape[1] == 3 || shape[1] == 1);
  }

  // A picture crosses as bytes: it is normalised where it is read.
  static double PictureBytes(const std::vector<int64_t>& shape) {
    return CountOf(shape) * (IsPicture(shape) ? 1 : kFloatBytes);
  }

  // Picture codecs for what looks like a picture; raw numbers for everything.
  void AddCodecs(const std::vector<int64_t>& shape) {
    constexpr double kBitsOfByte = 8;
    const double pixels =
        static_cast<double>(shape[shape.size() - 1]) * static_cast<double>(shape[shape.size() - 2]);
    const double times = command_.side == Side::kRobot ? kRobotSlower : 1;
    const auto add = [&](const char* codec, double bytes, double ns_per_pixel) {
      const double ms = Rounded(times * ns_per_pixel * pixels / kNsPerMs);
      profile_.codecs.push_back({codec, Curve::Constant(Rounded(bytes)), ms, ms});
    };
    add("raw", PictureBytes(shape), 0);
    if (!IsPicture(shape)) return;
    const double jpeg_bytes = kJpegBitsPerPixel * pixels / kBitsOfByte;
    add("jpeg:85", jpeg_bytes, kJpegNsPerPixel);
    add("video", kVideoOfJpeg * jpeg_bytes, kVideoNsPerPixel);
    profile_.decide_ms = Curve::Constant(Rounded(times * kDecideNsPerPixel * pixels / kNsPerMs));
    Assume(fmt::format(
        "JPEG 85 has {} bits a pixel, video a tenth of its bytes; coding takes {} "
        "and {} ns a pixel on the server, {} times as long on the robot, as does "
        "deciding at {} ns a pixel",
        kJpegBitsPerPixel, kJpegNsPerPixel, kVideoNsPerPixel, kRobotSlower, kDecideNsPerPixel));
  }

  void Assume(std::string text) { profile_.assumptions.push_back(std::move(text)); }

  void ListAssumptions() {
    Assume(
        fmt::format("an operator takes time proportional to the pixels that it computes, but for "
                    "a fixed part of {} ms",
                    kFixedMs));
    Assume(
        "the same share of the picture changes and of every map is computed; what is not local is "
        "computed whole if anything changes; a refresh takes what computing takes");
    Assume(fmt::format(
        "slices cross as 32-bit floats{}, coded and decoded at {} GB/s; what crosses of the input "
        "as {}",
        has_classes_ ? ", classes as bytes" : "", kCopyBytesPerMs / 1e6,
        IsPicture(table_.ops.front().shape) ? "bytes, since it is a picture" : "floats"));
    Assume(kernels_.empty()
               ? "convolutions and pools are 3×3, or as large as their stride if that is larger, "
                 "their stride is the ratio of the shapes, and maps keep their size but for that"
               : "kernels of convolutions and pools are those of scripts/models/kapao.py, in their "
                 "order, strides the ratio of the shapes");
    Assume("transposed convolutions are 3×3, interpolation is to the nearest pixel");
    if (without_rows_ > 0) {
      Assume(
          fmt::format("{} operators that the table calls local have no rows of the picture, and "
                      "run whole on one side",
                      without_rows_));
    }
    if (speedup_ > 0) {
      Assume(fmt::format(
          "the server, of which there are no times, is {:.1f} times as fast as the "
          "robot{}",
          speedup_, command_.speedup > 0 ? "" : ", as it is on the tables that have both"));
    }
  }

  const ImportCommand& command_;
  const Table& table_;
  const std::vector<int> kernels_;
  size_t next_kernel_ = 0;
  int without_rows_ = 0;
  bool has_classes_ = false;
  double speedup_ = 0;
  std::map<int64_t, Known> known_;
  Profile profile_;
};

}  // namespace

Profile ImportTable(const ImportCommand& command) {
  const Table table = ReadTable(command.table);
  Profile profile = TableImport(command, table).Import();
  if (!command.watts.empty()) {
    profile.computing_watts = command.watts[0];
    profile.sending_watts = command.watts[1];
    profile.waiting_watts = command.watts[2];
  }
  return profile;
}

}  // namespace cacheinf

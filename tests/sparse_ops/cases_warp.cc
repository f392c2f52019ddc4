#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "sparse_ops/mask/mask.h"
#include "tests/sparse_ops/case_table.h"

namespace cacheinf {
namespace {

struct WarpCase {
  std::string name;
  int height = 1;
  int width = 1;
  int batch = 1;
  int channels = 1;
  Interpolation interpolation = Interpolation::kBilinear;
  Homography from_of_to;
  int held_one_in = 4;  // of this many pixels one is held, so not fetched
  bool has_special_numbers = false;
};

WarpCall CallOf(const WarpCase& c, CaseMemory& memory) {
  if (c.has_special_numbers) memory.UseSpecialNumbers();
  WarpCall warp;
  warp.args.interpolation = c.interpolation;
  warp.args.from_of_to = c.from_of_to;
  warp.args.from = AsImage(memory.Map({c.batch, c.channels, c.height, c.width}));
  warp.args.to = AsImage(memory.InPlaceMap({c.batch, c.channels, c.height, c.width}));
  warp.args.out_of_view = memory.OutOfView(c.height, c.width);
  warp.held = memory.Pixels(c.height, c.width, c.held_one_in);
  warp.wanted = memory.Pixels(c.height, c.width, 0);
  return warp;
}

Homography Shift(double columns, double rows) {
  return {{{1, 0, columns}, {0, 1, rows}, {0, 0, 1}}};
}

// Between two maps of this size.
std::vector<std::pair<std::string, Homography>> Motions(double height, double width) {
  const double right = 0.13 * width;
  const double down = 0.21 * height;
  const Homography turn = {{{0.9, -0.2, right}, {0.25, 1.1, -down}, {0.002, -0.003, 1}}};
  Homography times_three = turn;
  for (auto& row : times_three.m) {
    for (double& entry : row) entry *= 3;
  }
  const Homography partly_behind_the_camera = {
      {{0.6, 0.1, right}, {-0.1, 0.7, down}, {1.5 / width, -0.5 / height, -0.1}}};
  return {{"identity", {}},
          {"whole_pixels", Shift(std::ceil(right), -std::ceil(down))},
          {"along_columns", Shift(0.3 - right, std::ceil(down))},
          {"along_rows", Shift(std::ceil(right), down)},
          {"shift", Shift(right, 0.3 - down)},
          {"out_of_view", Shift(width, 0)},
          {"turn", turn},
          {"turn_times_three", times_three},
          {"partly_behind_the_camera", partly_behind_the_camera}};
}

std::vector<WarpCase> MapsOfEveryKind() {
  std::vector<WarpCase> maps(5);
  maps[0].name = "one_pixel";
  maps[1].name = "one_row";
  maps[1].width = 130;
  maps[1].channels = 3;
  maps[2].name = "one_column";
  maps[2].height = 30;
  maps[2].batch = 2;
  maps[2].channels = 17;
  maps[3].name = "two_words_a_row";
  maps[3].height = 6;
  maps[3].width = 65;
  maps[3].batch = 2;
  maps[3].channels = 16;
  maps[4].name = "special_numbers";
  maps[4].height = 7;
  maps[4].width = 63;
  maps[4].channels = 35;
  maps[4].has_special_numbers = true;
  return maps;
}

constexpr Interpolation kInterpolations[] = {Interpolation::kNearest, Interpolation::kBilinear};

std::string NameOf(Interpolation interpolation) {
  return interpolation == Interpolation::kNearest ? "nearest" : "bilinear";
}

// What an operator with a 3x3 window needs around a rectangle of a tenth of the map.
WarpCall AroundATenth(const WarpCase& c, CaseMemory& memory) {
  WarpCall warp = CallOf(c, memory);
  const double side = std::sqrt(0.1);
  const int rows = static_cast<int>(c.height * side);
  const int columns = static_cast<int>(c.width * side);
  const Range middle_rows = {(c.height - rows) / 2, (c.height + rows) / 2};
  const Range middle_columns = {(c.width - columns) / 2, (c.width + columns) / 2};
  const MaskView held = memory.Pixels(c.height, c.width, 1);
  ClearRectangle({middle_rows.begin - 1, middle_rows.end + 1},
                 {middle_columns.begin - 1, middle_columns.end + 1}, held);
  SetRectangle(middle_rows, middle_columns, held);
  warp.held = held;
  return warp;
}

}  // namespace

void AddWarps(Table& table) {
  for (WarpCase c : MapsOfEveryKind()) {
    const std::string map = c.name;
    for (const auto& [motion, homography] : Motions(c.height, c.width)) {
      for (const Interpolation interpolation : kInterpolations) {
        c.name = NameOf(interpolation) + "_" + map + "_" + motion;
        c.interpolation = interpolation;
        c.from_of_to = homography;
        table.Add("warp_" + c.name, [c](CaseMemory& memory) { return CallOf(c, memory); });
      }
    }
  }
}

void AddTimedWarps(Table& table) {
  WarpCase c;
  c.height = 96;
  c.width = 160;
  c.channels = 128;
  c.held_one_in = 0;
  c.from_of_to = {{{1.002, -0.004, 1.3}, {0.003, 0.999, -0.7}, {1e-6, 2e-6, 1}}};
  for (const Interpolation interpolation : kInterpolations) {
    c.interpolation = interpolation;
    const std::string name = NameOf(interpolation);
    table.Add("halo_fetch_" + name + "_around_a_tenth",
              [c](CaseMemory& memory) { return AroundATenth(c, memory); });
    table.Add("warp_and_merge_" + name, [c](CaseMemory& memory) { return CallOf(c, memory); });
  }
}

}  // namespace cacheinf

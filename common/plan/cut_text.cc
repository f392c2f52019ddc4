#include "common/plan/cut_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "common/base/error.h"

namespace cacheinf {
namespace {

ValueId ValueNamed(std::string_view name, const Graph& graph) {
  const auto is_named = [&](const auto& item) { return item.name == name; };
  const auto value = std::find_if(graph.values.begin(), graph.values.end(), is_named);
  if (value != graph.values.end()) return static_cast<ValueId>(value - graph.values.begin());
  const auto op = std::find_if(graph.operators.begin(), graph.operators.end(), is_named);
  return op == graph.operators.end() ? kNone : op->outputs.front();
}

std::optional<double> NumberOf(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Cut ParseCut(const std::string& text, const Graph& graph) {
  // Names may contain colons, too.
  Cut cut = {ValueNamed(text, graph), 0};
  if (cut.value != kNone) return cut;
  const size_t colon = text.rfind(':');
  const std::string name = text.substr(0, colon);
  cut.value = ValueNamed(name, graph);
  if (cut.value == kNone) {
    throw InputError(fmt::format(
        "--cut: the model has no value \"{}\"; cacheinf-profile inspect prints their names", name));
  }
  const std::optional<double> share = NumberOf(text.substr(colon + 1));
  if (!share || !(*share >= 0 && *share <= 1)) {
    throw InputError(fmt::format("--cut: \"{}\" does not end in a share between 0 and 1", text));
  }
  cut.robot_thousandths = static_cast<int>(std::lround(*share * 1000));
  return cut;
}

}  // namespace

std::vector<Cut> ParseCuts(const std::vector<std::string>& texts, const Graph& graph) {
  std::vector<Cut> cuts;
  for (const std::string& text : texts) cuts.push_back(ParseCut(text, graph));
  return cuts;
}

}  // namespace cacheinf

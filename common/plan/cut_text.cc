#include "common/plan/cut_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "common/base/error.h"
#include "common/base/number_text.h"

namespace cacheinf {
namespace {

constexpr const char* kNameOfInput = "picture";

ValueId ValueNamed(std::string_view name, const Graph& graph) {
  const auto is_named = [&](const auto& item) { return item.name == name; };
  const auto value = std::ranges::find_if(graph.values, is_named);
  if (value != graph.values.end()) return static_cast<ValueId>(value - graph.values.begin());
  const auto op = std::ranges::find_if(graph.operators, is_named);
  if (op != graph.operators.end()) return op->outputs.front();
  return name == kNameOfInput ? graph.inputs.front() : kNone;
}

std::string Quoted(const std::string& text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=+-@%";
  if (text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

Cut ParseCut(const std::string& text, const Graph& graph) {
  Cut cut;
  // Names may contain colons, too.
  ValueId value = ValueNamed(text, graph);
  if (value == kNone) {
    const size_t colon = text.rfind(':');
    const std::string name = text.substr(0, colon);
    value = ValueNamed(name, graph);
    if (value == kNone) {
      throw InputError(fmt::format(
          "--cut: the model has no value \"{}\"; cacheinf-profile inspect prints their names",
          name));
    }
    const std::optional<double> share = NumberIn<double>(text.substr(colon + 1));
    if (!share || !(*share >= 0 && *share <= 1)) {
      throw InputError(fmt::format("--cut: \"{}\" does not end in a share between 0 and 1", text));
    }
    cut.robot_thousandths = static_cast<int>(std::lround(*share * Cut::kAll));
  }
  if (graph.value(value).is_constant()) throw InputError("a cut must be at a value that is kept");
  cut.after = graph.value(value).producer;
  return cut;
}

}  // namespace

std::vector<Cut> ParseCuts(const std::vector<std::string>& texts, const Graph& graph) {
  std::vector<Cut> cuts;
  for (const std::string& text : texts) {
    const Cut cut = ParseCut(text, graph);
    std::erase_if(cuts, [&](const Cut& other) { return other.after == cut.after; });
    cuts.insert(std::ranges::upper_bound(cuts, cut.after, {}, &Cut::after), cut);
  }
  return cuts;
}

std::string ToOptions(const Plan& plan, const Profile& profile) {
  const char* const keeping = plan.keeps ? "cache" : "dense";
  if (plan.kind == Plan::Kind::kLocal) return fmt::format("--mode {}", keeping);
  std::string text = fmt::format("--mode {}", NameOf(plan.kind));
  if (plan.kind == Plan::Kind::kRemote) text += " --codec " + Quoted(plan.codec);
  for (const Cut& cut : plan.cuts) {
    const std::string value =
        cut.after < 0 ? kNameOfInput : profile.operators.at(static_cast<size_t>(cut.after)).name;
    text += " --cut " + Quoted(fmt::format("{}:{}", value,
                                           static_cast<double>(cut.robot_thousandths) / Cut::kAll));
  }
  return text + fmt::format(" --server-mode {}", keeping);
}

}  // namespace cacheinf

#include "common/plan/plan.h"

#include <fmt/core.h>

namespace cacheinf {

std::string ToText(const Plan& plan) {
  std::string text = plan.every > 1 ? fmt::format("track:{} ", plan.every) : "";
  text += NameOf(plan.kind);
  if (plan.kind == Plan::Kind::kRemote) text += " " + plan.codec;
  if (!plan.model.empty()) text += " " + plan.model;
  for (const Cut& cut : plan.cuts) {
    text += fmt::format("{}{}:{}", text.ends_with("split") ? " " : ",", cut.after,
                        cut.robot_thousandths);
  }
  return text + (plan.keeps ? " cache" : " dense");
}

Plan BaseOf(Plan plan) {
  plan.every = 1;
  return plan;
}

}  // namespace cacheinf

#include "tests/answer/head_changes.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/answer/answers.h"
#include "common/config/model_config.h"
#include "common/config/model_setup.h"
#include "common/model/heads/heads.h"

namespace cacheinf {
namespace {

void SwapDimensions(PlantedOutput* output, size_t first) {
  Shape& shape = output->shape;
  int64_t outer = 1;
  int64_t inner = 1;
  for (size_t i = 0; i < first; ++i) outer *= shape[i];
  for (size_t i = first + 2; i < shape.size(); ++i) inner *= shape[i];
  const int64_t rows = shape[first];
  const int64_t columns = shape[first + 1];
  const std::vector<float> before = output->numbers;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        for (int64_t i = 0; i < inner; ++i) {
          output->numbers[static_cast<size_t>(((o * columns + c) * rows + r) * inner + i)] =
              before[static_cast<size_t>(((o * rows + r) * columns + c) * inner + i)];
        }
      }
    }
  }
  std::swap(shape[first], shape[first + 1]);
}

bool IsGrid(const PlantedHead& head) { return head.has_rows() && head.row_count() > 300; }

// Four of each row's numbers are a box.
bool HasBoxRows(const PlantedHead& head) {
  return head.has_rows() && head.kind != HeadKind::kNanodet;
}

bool HasPoints(const PlantedHead& head) {
  return head.kind == HeadKind::kSuperpoint || head.kind == HeadKind::kXfeat ||
         head.kind == HeadKind::kPoints;
}

bool HasFourDimensions(const PlantedHead& head) { return head.outputs[0].shape.size() == 4; }

bool IsPickedRows(const PlantedHead& head) {
  return head.kind == HeadKind::kEndToEnd || head.kind == HeadKind::kEndToEndBatch;
}

bool IsPicked(const PlantedHead& head) {
  return IsPickedRows(head) || head.kind == HeadKind::kNmsOutputs ||
         head.kind == HeadKind::kTfDetection;
}

// Applies `change` to each row of boxes.
template <typename Change>
void ChangeRows(PlantedHead* head, const Change& change) {
  std::vector<std::vector<float>> rows = head->Rows();
  for (std::vector<float>& row : rows) change(&row);
  head->SetRows(rows);
}

// The boxes of the head, four numbers each: of rows (`begin` numbers in) or of an output of boxes.
template <typename Change>
bool ChangeBoxes(PlantedHead* head, const Change& change) {
  if (HasBoxRows(*head)) {
    const size_t begin = head->kind == HeadKind::kEndToEndBatch ? 1 : 0;
    ChangeRows(head, [&](std::vector<float>* row) { change(row->data() + begin); });
    return true;
  }
  for (PlantedOutput& output : head->outputs) {
    if (output.name.find("box") == std::string::npos) continue;
    for (size_t at = 0; at < output.numbers.size(); at += 4) change(&output.numbers[at]);
    return true;
  }
  return false;
}

// Every number that is a score or a logit.
template <typename Change>
void ChangeScores(PlantedHead* head, const Change& change) {
  if (IsPickedRows(*head)) {
    const size_t column = head->kind == HeadKind::kEndToEnd ? 4 : 6;
    ChangeRows(head, [&](std::vector<float>* row) { change(&(*row)[column]); });
  } else if (head->has_rows()) {
    ChangeRows(head, [&](std::vector<float>* row) {
      for (int k = head->scores_begin; k < head->scores_end; ++k) {
        change(&(*row)[static_cast<size_t>(k)]);
      }
    });
  } else if (head->has_anchors() || head->kind == HeadKind::kYolov8Raw) {
    const int64_t own = head->has_anchors() ? 5 + head->classes : 64 + head->classes;
    for (PlantedOutput& output : head->outputs) {
      const int64_t cells = output.shape[2] * output.shape[3];
      for (size_t i = 0; i < output.numbers.size(); ++i) {
        const int64_t channel = static_cast<int64_t>(i) / cells % own;
        if (channel >= (head->has_anchors() ? 4 : 64)) change(&output.numbers[i]);
      }
    }
  } else {
    const bool is_one = HasFourDimensions(*head);  // maps of scores come before other maps
    for (PlantedOutput& output : head->outputs) {
      const auto says = [&](const char* word) {
        return output.name.find(word) != std::string::npos;
      };
      if (says("box") || says("class") || says("num") || says("key")) continue;
      for (float& number : output.numbers) change(&number);
      if (is_one) return;
    }
  }
}

float SigmoidOf(float logit) { return 1 / (1 + std::exp(-logit)); }
float LogitOfShare(float share) {
  const float inside = std::clamp(share, 1e-4f, 1 - 1e-4f);
  return std::log(inside / (1 - inside));
}

// The head's outputs hold scores between 0 and 1.
bool HoldsShares(const PlantedHead& head) {
  return head.has_rows() || head.kind == HeadKind::kNmsOutputs ||
         head.kind == HeadKind::kTfDetection || head.kind == HeadKind::kPoints ||
         (head.kind == HeadKind::kClassification && !head.config.softmax);
}

bool HoldsLogits(const PlantedHead& head) {
  return (HasFourDimensions(head) && !head.has_maps()) || head.kind == HeadKind::kDetr ||
         (head.kind == HeadKind::kRtDetr && !head.has_rows()) ||
         (head.kind == HeadKind::kClassification && head.config.softmax);
}

bool HasScales(const PlantedHead& head) { return !head.config.strides.empty(); }

void SetNames(PlantedHead* head, int count) {
  head->config.class_names.clear();
  for (int i = 0; i < count; ++i) head->config.class_names.push_back("name_" + std::to_string(i));
}

// Raw heads with anchors have a mutation of their own; YOLOv5's rows are YOLOv7's.
bool IsUntold(const PlantedHead& head, HeadKind kind) {
  const auto has_anchors = [](HeadKind own) {
    return own == HeadKind::kBoxes || own == HeadKind::kYolov3 || own == HeadKind::kYolov4 ||
           own == HeadKind::kYolov7;
  };
  const bool has_centres = head.kind == HeadKind::kCenternet || head.kind == HeadKind::kCenterface;
  return (head.has_anchors() && has_anchors(kind)) ||
         (has_centres && kind == HeadKind::kSegmentation);
}

// After these a head is still what its kind says.
constexpr std::array kEquivalentChanges = std::to_array<HeadChange>({
    {"unchanged", [](PlantedHead*, HeadRandom&) { return true; }},
    {"outputs renamed",
     [](PlantedHead* head, HeadRandom& random) {
       const bool is_by_name = head->kind == HeadKind::kNmsOutputs ||
                               head->kind == HeadKind::kTfDetection ||
                               head->kind == HeadKind::kPoints;
       if (!is_by_name) {
         for (size_t i = 0; i < head->outputs.size(); ++i) {
           head->outputs[i].name = fmt::format("{}_{}", i, DrawInt(random, 0, 999));
         }
         return true;
       }
       for (PlantedOutput& output : head->outputs) {
         if (output.name.find("boxes") != std::string::npos) output.name = "nms_box";
         if (output.name.find("scores") != std::string::npos) output.name = "nms_scores:0";
         if (output.name.find("classes") != std::string::npos) output.name = "labels";
         if (output.name.find("keypoints") != std::string::npos) output.name = "kpts";
       }
       return true;
     }},
    {"outputs in another order",
     [](PlantedHead* head, HeadRandom& random) {
       if (head->outputs.size() < 2 || head->kind == HeadKind::kYolov8Segment) return false;
       if (head->kind == HeadKind::kBoxes) return false;  // strides name an order
       if (HasScales(*head)) return false;
       std::shuffle(head->outputs.begin(), head->outputs.end(), random);
       return true;
     }},
    {"transposed where both ways are read",
     [](PlantedHead* head, HeadRandom&) {
       if (!IsGrid(*head) || IsPickedRows(*head)) return false;
       const std::vector<std::vector<float>> rows = head->Rows();
       head->is_transposed = !head->is_transposed;
       head->SetRows(rows);
       return true;
     }},
    {"without a batch",
     [](PlantedHead* head, HeadRandom&) {
       if (!head->has_rows() || head->outputs[0].shape.size() != 3) return false;
       head->outputs[0].shape.erase(head->outputs[0].shape.begin());
       return true;
     }},
    {"a score in a picture of one pixel",
     [](PlantedHead* head, HeadRandom&) {
       if (head->kind != HeadKind::kClassification && head->kind != HeadKind::kEmbedding) {
         return false;
       }
       head->outputs[0].shape.insert(head->outputs[0].shape.end(), {1, 1});
       return true;
     }},
    {"shares or pixels, as configured",
     [](PlantedHead* head, HeadRandom&) {
       const bool are_shares = head->kind == HeadKind::kTfDetection ||
                               head->kind == HeadKind::kDetr || head->kind == HeadKind::kRtDetr;
       if (head->kind == HeadKind::kYolox || head->kind == HeadKind::kYolov8Pose) return false;
       // Turned boxes change their angle where a picture is not square.
       if (head->kind == HeadKind::kYolov8Obb) return false;
       using Coordinates = DecoderConfig::Coordinates;
       head->config.coordinates = are_shares ? Coordinates::kPixels : Coordinates::kShares;
       const bool rows_first = head->kind == HeadKind::kTfDetection;
       return ChangeBoxes(head, [&](float* box) {
         for (int k = 0; k < 4; ++k) {
           const bool is_x = (k % 2 == 0) != rows_first;
           const auto side = static_cast<float>(is_x ? head->width : head->height);
           box[k] = are_shares ? box[k] * side : box[k] / side;
         }
       });
     }},
    {"five dimensions",
     [](PlantedHead* head, HeadRandom&) {
       if (!head->has_anchors()) return false;
       for (PlantedOutput& output : head->outputs) {
         const int64_t numbers = output.shape[1] / 3;
         output.shape = {3, numbers, output.shape[2] * output.shape[3]};
         SwapDimensions(&output, 1);
         output.shape = {1, 3, 0, 0, numbers};
       }
       for (size_t i = 0; i < head->outputs.size(); ++i) {
         const int64_t stride = std::stoll(head->outputs[i].name.substr(4));
         head->outputs[i].shape[2] = head->height / stride;
         head->outputs[i].shape[3] = head->width / stride;
       }
       return true;
     }},
    {"a softmax more before the best is taken",
     [](PlantedHead* head, HeadRandom&) {
       if (head->kind != HeadKind::kSegmentation) return false;
       const auto pixels = head->outputs[0].numbers.size() / static_cast<size_t>(head->classes);
       for (size_t i = 0; i < pixels; ++i) {
         double sum = 0;
         const auto at = [&](int k) -> float& {
           return head->outputs[0].numbers[static_cast<size_t>(k) * pixels + i];
         };
         for (int k = 0; k < head->classes; ++k) sum += std::exp(double{at(k)});
         for (int k = 0; k < head->classes; ++k) {
           at(k) = static_cast<float>(std::exp(double{at(k)}) / sum);
         }
       }
       return true;
     }},
    {"names in a file of the user's, not in the model's",
     [](PlantedHead* head, HeadRandom&) {
       if (head->notes.class_names.empty() || head->kind == HeadKind::kYolov8Pose) return false;
       std::swap(head->config.class_names, head->notes.class_names);
       return true;
     }},
    {"an output more",
     [](PlantedHead* head, HeadRandom&) {
       if (head->kind != HeadKind::kYolov8 && head->kind != HeadKind::kDetr &&
           head->kind != HeadKind::kRtDetr && head->kind != HeadKind::kNmsOutputs) {
         return false;
       }
       if (head->has_rows() && head->kind == HeadKind::kRtDetr) return false;
       head->outputs.push_back({"another", {1, 8, 5, 5}, std::vector<float>(200, 0.25f)});
       return true;
     }},
});

constexpr std::array kMutations = std::to_array<HeadChange>({
    {"transposed",
     [](PlantedHead* head, HeadRandom& random) {
       if (IsGrid(*head) && !IsPickedRows(*head)) return false;  // equivalent
       if (head->tail == PlantedHead::Tail::kArgMax) return false;  // would be another operator
       if (HasFourDimensions(*head)) {
         for (PlantedOutput& output : head->outputs) {  // 1xhxwxC
           SwapDimensions(&output, 1);
           SwapDimensions(&output, 2);
         }
         return true;
       }
       const size_t start = static_cast<size_t>(
           DrawInt(random, 0, static_cast<int>(head->outputs.size()) - 1));
       for (size_t i = 0; i < head->outputs.size(); ++i) {
         PlantedOutput& output = head->outputs[(start + i) % head->outputs.size()];
         const size_t rank = output.shape.size();
         if (output.shape[rank - 2] == output.shape[rank - 1]) continue;
         SwapDimensions(&output, rank - 2);
         return true;
       }
       return false;
     }},
    {"rows missing",
     [](PlantedHead* head, HeadRandom& random) {
       if (!head->has_rows() || IsPickedRows(*head)) return false;
       std::vector<std::vector<float>> rows = head->Rows();
       if (head->kind == HeadKind::kRtDetr) return false;  // any number of queries is right
       const auto keep = static_cast<size_t>(DrawInt(random, 1, 3) * head->row_count() / 4);
       rows.resize(DrawInt(random, 0, 1) == 0 ? keep : rows.size() - 1);
       head->SetRows(rows);
       return true;
     }},
    {"an output cut",
     [](PlantedHead* head, HeadRandom& random) {
       if (head->outputs.size() < 2) return false;
       if (head->has_anchors()) {
         const int first = HasScales(*head) ? 0 : 1;  // without the first they are a tiny network's
         head->outputs.erase(head->outputs.begin() + DrawInt(random, first, 2));
         return true;
       }
       for (PlantedOutput& output : head->outputs) {
         if (output.shape.size() < 2 || output.shape[1] < 20) continue;
         const int64_t rest = output.shape[1] / 2;
         output.numbers.resize(output.numbers.size() / static_cast<size_t>(output.shape[1]) *
                               static_cast<size_t>(rest));
         output.shape[1] = rest;
         return true;
       }
       return false;
     }},
    {"the head of stride 8 missing",
     [](PlantedHead* head, HeadRandom&) {
       if (!head->has_anchors() || HasScales(*head)) return false;
       head->outputs.erase(head->outputs.begin());
       return true;
     },
     "heads of strides 16 and 32 are those of a tiny network, which has other usual anchors"},
    {"a coordinate missing",
     [](PlantedHead* head, HeadRandom& random) {
       if (!HasBoxRows(*head)) return false;
       const int column = DrawInt(random, 0, 3) + (head->kind == HeadKind::kEndToEndBatch ? 1 : 0);
       ChangeRows(head, [&](std::vector<float>* row) { row->erase(row->begin() + column); });
       return true;
     }},
    {"no objectness",
     [](PlantedHead* head, HeadRandom&) {
       if (head->kind != HeadKind::kBoxes && head->kind != HeadKind::kYolox) return false;
       if (!head->has_rows()) return false;
       ChangeRows(head, [](std::vector<float>* row) { row->erase(row->begin() + 4); });
       return true;
     }},
    {"one class less",
     [](PlantedHead* head, HeadRandom&) {
       if (!head->has_names() || IsPickedRows(*head)) return false;
       if (head->has_rows()) {
         const int last = head->scores_end - 1;
         ChangeRows(head, [&](std::vector<float>* row) { row->erase(row->begin() + last); });
         return true;
       }
       PlantedOutput& output = head->outputs[0];
       if (head->kind == HeadKind::kSegmentation || head->kind == HeadKind::kClassification ||
           head->kind == HeadKind::kKeypoints) {
         if (head->tail == PlantedHead::Tail::kArgMax) return false;  // a map names its classes
         output.numbers.resize(output.numbers.size() / static_cast<size_t>(output.shape[1]) *
                               static_cast<size_t>(output.shape[1] - 1));
         --output.shape[1];
         return true;
       }
       return false;
     }},
    {"one class more",
     [](PlantedHead* head, HeadRandom& random) {
       if (!head->has_names() || !head->has_rows() || IsPickedRows(*head)) return false;
       ChangeRows(head, [&](std::vector<float>* row) {
         row->insert(row->begin() + head->scores_end,
                     static_cast<float>(DrawReal(random, 0, 0.01)));
       });
       return true;
     }},
    {"names of another number",
     [](PlantedHead* head, HeadRandom& random) {
       if (IsPicked(*head) || head->kind == HeadKind::kEmbedding || HasPoints(*head) ||
           head->tail == PlantedHead::Tail::kArgMax) {
         return false;  // nothing says how many there are
       }
       constexpr std::array<int, 5> kOther = {-1, 1, -2, 2, 40};
       SetNames(head, head->classes + kOther[static_cast<size_t>(DrawInt(random, 0, 4))]);
       return !head->config.class_names.empty();
     }},
    {"fewer names than picked classes",
     [](PlantedHead* head, HeadRandom&) {
       const auto* const truth = std::get_if<Detections>(&head->truth);
       if (truth == nullptr || truth->boxes.empty()) return false;
       if (!IsPicked(*head)) return false;
       int most = 0;
       for (const Detection& box : truth->boxes) most = std::max(most, box.label.index);
       SetNames(head, most);
       return most > 0;
     }},
    {"logits for scores",
     [](PlantedHead* head, HeadRandom&) {
       if (!HoldsShares(*head)) return false;
       ChangeScores(head, [](float* score) { *score = LogitOfShare(*score); });
       return true;
     }},
    {"scores for logits",
     [](PlantedHead* head, HeadRandom&) {
       if (!HoldsLogits(*head)) return false;
       if (head->kind == HeadKind::kClassification) {
         double sum = 0;
         for (const float logit : head->outputs[0].numbers) sum += std::exp(double{logit});
         ChangeScores(head, [&](float* logit) {
           *logit = static_cast<float>(std::exp(double{*logit}) / sum);
         });
         return true;
       }
       ChangeScores(head, [](float* logit) { *logit = SigmoidOf(*logit); });
       return true;
     }},
    {"all numbers through a sigmoid",
     [](PlantedHead* head, HeadRandom&) {
       if (!HasFourDimensions(*head) || head->has_maps()) return false;
       for (PlantedOutput& output : head->outputs) {
         for (float& number : output.numbers) number = SigmoidOf(number);
       }
       return true;
     }},
    {"scores in percent",
     [](PlantedHead* head, HeadRandom&) {
       if (!HoldsShares(*head)) return false;
       ChangeScores(head, [](float* score) { *score *= 100; });
       return true;
     }},
    {"raw heads by another formula of YOLOv3, 4, 5, 7",
     [](PlantedHead* head, HeadRandom& random) {
       if (!head->has_anchors()) return false;
       constexpr std::array<HeadKind, 4> kKinds = {HeadKind::kBoxes, HeadKind::kYolov3,
                                                   HeadKind::kYolov4, HeadKind::kYolov7};
       head->config.kind = kKinds[static_cast<size_t>(DrawInt(random, 0, 3))];
       return head->config.kind != head->kind;
     },
     "the formulas take any numbers, and near 0 they are one: e^t and (2 sigmoid(t))^2 are both "
     "1 + t, centres differ by half a cell at most, and anchors only scale"},
    {"raw heads with anchors, kind auto",
     [](PlantedHead* head, HeadRandom&) {
       if (!head->has_anchors()) return false;
       head->config.kind = HeadKind::kAuto;
       return true;
     }},
    {"strides of other outputs",
     [](PlantedHead* head, HeadRandom& random) {
       if (!HasScales(*head)) return false;
       switch (DrawInt(random, 0, 2)) {
         case 0:
           std::reverse(head->config.strides.begin(), head->config.strides.end());
           break;
         case 1:
           for (int& stride : head->config.strides) stride *= 2;
           break;
         default:
           head->config.strides.pop_back();
           head->config.anchors.resize(12);
           break;
       }
       return true;
     }},
    {"anchors in another order",
     [](PlantedHead* head, HeadRandom&) {
       if (!HasScales(*head)) return false;
       std::vector<double>& anchors = head->config.anchors;
       const std::vector<double> before = anchors;
       for (size_t i = 0; i < anchors.size(); ++i) anchors[i] = before[12 - i / 6 * 6 + i % 6];
       return true;
     }},
    {"anchors in cells",
     [](PlantedHead* head, HeadRandom&) {
       if (!HasScales(*head)) return false;
       for (size_t i = 0; i < head->config.anchors.size(); ++i) {
         head->config.anchors[i] /= head->config.strides[i / 6];
       }
       return true;
     }},
    {"another network's anchors",
     [](PlantedHead* head, HeadRandom&) {
       if (!HasScales(*head)) return false;
       head->config.anchors = {12, 16,  19, 36, 40,  28,  36, 75,  76,
                               55, 72, 146, 142, 110, 192, 243, 459, 401};
       return true;
     },
     "an anchor scales a number that may be any: the same outputs are right ones of other things"},
    {"shares for pixels, or the reverse",
     [](PlantedHead* head, HeadRandom&) {
       if (head->kind == HeadKind::kYolox && head->tail != PlantedHead::Tail::kAdd) return false;
       const bool are_shares = head->kind == HeadKind::kTfDetection ||
                               head->kind == HeadKind::kDetr || head->kind == HeadKind::kRtDetr;
       return ChangeBoxes(head, [&](float* box) {
         for (int k = 0; k < 4; ++k) {
           const auto side = static_cast<float>(k % 2 == 0 ? head->width : head->height);
           box[k] = are_shares ? box[k] * side : box[k] / side;
         }
       });
     }},
    {"decoder.coordinates the other way",
     [](PlantedHead* head, HeadRandom&) {
       const bool are_shares = head->kind == HeadKind::kTfDetection ||
                               head->kind == HeadKind::kDetr || head->kind == HeadKind::kRtDetr;
       if (!std::holds_alternative<Detections>(head->truth)) return false;
       if (head->kind == HeadKind::kYolox && head->tail != PlantedHead::Tail::kAdd) return false;
       using Coordinates = DecoderConfig::Coordinates;
       head->config.coordinates = are_shares ? Coordinates::kPixels : Coordinates::kShares;
       return true;
     }},
    {"corners for centres",
     [](PlantedHead* head, HeadRandom&) {
       if (head->kind == HeadKind::kYolov8Obb || IsPicked(*head)) return false;
       if (head->kind == HeadKind::kYolox && head->tail != PlantedHead::Tail::kAdd) return false;
       return ChangeBoxes(head, [](float* box) {
         for (int k = 0; k < 2; ++k) {
           box[k] -= box[k + 2] / 2;
           box[k + 2] += box[k];
         }
       });
     }},
    {"left and top for centres",
     [](PlantedHead* head, HeadRandom&) {
       if (IsPicked(*head)) return false;
       if (head->kind == HeadKind::kYolox && head->tail != PlantedHead::Tail::kAdd) return false;
       return ChangeBoxes(head, [](float* box) {
         for (int k = 0; k < 2; ++k) box[k] -= box[k + 2] / 2;
       });
     }},
    {"widths and heights for right and bottom",
     [](PlantedHead* head, HeadRandom& random) {
       if (!IsPicked(*head)) return false;
       const bool has_centres = DrawInt(random, 0, 1) == 0;
       return ChangeBoxes(head, [&](float* box) {
         for (int k = 0; k < 2; ++k) {
           box[k + 2] -= box[k];
           if (has_centres) box[k] += box[k + 2] / 2;
         }
       });
     },
     "a box that is larger than its left and top may be either; the first frame with another tells"},
    {"picked boxes that nothing has suppressed",
     [](PlantedHead* head, HeadRandom& random) {
       if (!IsPicked(*head)) return false;
       const size_t things = std::get<Detections>(head->truth).boxes.size();
       const size_t rows = head->has_rows() ? static_cast<size_t>(head->row_count()) : 100;
       for (PlantedOutput& output : head->outputs) {
         const size_t width = output.numbers.size() / rows;
         for (size_t i = things * width; i < 6 * things * width; ++i) {
           output.numbers[i] = output.numbers[i % (things * width)];
         }
       }
       size_t box_at = 0;
       const float pixel = head->kind == HeadKind::kTfDetection ? 0.003f : 1.0f;
       return ChangeBoxes(head, [&](float* box) {
         if (box_at++ < things) return;
         for (int k = 0; k < 4; ++k) box[k] += static_cast<float>(DrawReal(random, 0, pixel));
       });
     }},
    {"x for y",
     [](PlantedHead* head, HeadRandom&) {
       if (!IsGrid(*head) || !HasBoxRows(*head) || IsPickedRows(*head)) return false;
       if (head->kind == HeadKind::kYolox && head->tail != PlantedHead::Tail::kAdd) return false;
       ChangeRows(head, [](std::vector<float>* row) {
         std::swap((*row)[0], (*row)[1]);
         std::swap((*row)[2], (*row)[3]);
       });
       return true;
     }},
    {"height before width where boxes hold their cells",
     [](PlantedHead* head, HeadRandom&) {
       if (head->kind != HeadKind::kYolov8 && head->kind != HeadKind::kYolov8Pose &&
           head->kind != HeadKind::kYolov8Segment) {
         return false;
       }
       ChangeRows(head, [](std::vector<float>* row) { std::swap((*row)[2], (*row)[3]); });
       return true;
     }},
    {"height before width where they need not",
     [](PlantedHead* head, HeadRandom&) {
       if (!IsGrid(*head) || (head->kind != HeadKind::kBoxes && head->kind != HeadKind::kYolox)) {
         return false;
       }
       ChangeRows(head, [](std::vector<float>* row) { std::swap((*row)[2], (*row)[3]); });
       return true;
     },
     "a box may have any width and height; a graph that makes the boxes itself tells"},
    {"picked boxes with y before x",
     [](PlantedHead* head, HeadRandom&) {
       if (!IsPicked(*head)) return false;
       return ChangeBoxes(head, [](float* box) {
         std::swap(box[0], box[1]);
         std::swap(box[2], box[3]);
       });
     },
     "a picture turned over its diagonal is a picture: a box whose centre is then beyond it or in a "
     "border tells, and a graph that makes the boxes itself"},
    {"picked boxes in pixels of a picture of another size",
     [](PlantedHead* head, HeadRandom& random) {
       if (!IsPicked(*head)) return false;
       const float factor = DrawInt(random, 0, 1) == 0 ? 2 : 0.5f;
       return ChangeBoxes(head, [&](float* box) {
         for (int k = 0; k < 4; ++k) box[k] *= factor;
       });
     },
     "things in the upper left quarter stay in the picture; the first elsewhere tells, and after "
     "100 frames of none a warning says so"},
    {"outputs with each other's names",
     [](PlantedHead* head, HeadRandom& random) {
       if (head->kind != HeadKind::kNmsOutputs && head->kind != HeadKind::kTfDetection) {
         return false;
       }
       std::vector<size_t> lists;
       for (size_t i = 0; i < head->outputs.size(); ++i) {
         if (head->outputs[i].shape == Shape{1, 100}) lists.push_back(i);
       }
       const size_t other = DrawInt(random, 0, 3) == 0 ? (lists[0] == 0 ? 3u : 0u) : lists[1];
       std::swap(head->outputs[lists[0]].name, head->outputs[other].name);
       return true;
     }},
    {"prototypes first",
     [](PlantedHead* head, HeadRandom&) {
       if (head->kind != HeadKind::kYolov8Segment) return false;
       std::swap(head->outputs[0], head->outputs[1]);
       head->row_numbers = 0;
       return true;
     }},
    {"another decoder.kind",
     [](PlantedHead* head, HeadRandom& random) {
       const HeadKind kind = static_cast<HeadKind>(DrawInt(random, 0, kHeadKinds - 1));
       // An output that only repeats numbers has no formula.
       if (kind == HeadKind::kRaw || kind == HeadKind::kEmbedding || kind == HeadKind::kAuto) {
         return false;
       }
       if (kind == head->kind) return false;
       if (IsUntold(*head, kind)) return false;
       head->config.kind = kind;
       return true;
     }},
    {"an embedding of any length as a classification",
     [](PlantedHead* head, HeadRandom&) {
       if (head->kind != HeadKind::kEmbedding) return false;
       head->outputs[0].numbers[0] += 0.5f;  // else its length of 1 tells
       head->config.kind = HeadKind::kClassification;
       return true;
     },
     "logits may be any numbers"},
    {"maps of centres as several segmentations",
     [](PlantedHead* head, HeadRandom&) {
       if (head->kind != HeadKind::kCenternet && head->kind != HeadKind::kCenterface) return false;
       head->config.kind = HeadKind::kSegmentation;
       return true;
     },
     "scores, sizes and offsets are maps of any numbers, as class scores are"},
    {"another decoder.kind that the shapes allow",
     [](PlantedHead* head, HeadRandom& random) {
       std::vector<HeadKind> kinds;
       const Graph network = GraphOf(*head);
       for (int i = 0; i < kHeadKinds; ++i) {
         const auto kind = static_cast<HeadKind>(i);
         if (kind == HeadKind::kRaw || kind == HeadKind::kEmbedding ||
             kind == HeadKind::kAuto || kind == head->kind) {
           continue;
         }
         if (IsUntold(*head, kind)) continue;
         HeadSpec spec = HeadSpecOf(head->config, head->notes);
         spec.kind = kind;
         if (WhyNot(network, spec).empty()) kinds.push_back(kind);
       }
       if (kinds.empty()) return false;
       head->config.kind =
           kinds[static_cast<size_t>(DrawInt(random, 0, static_cast<int>(kinds.size()) - 1))];
       return true;
     }},
    {"another task in the model's file",
     [](PlantedHead* head, HeadRandom& random) {
       constexpr std::array<const char*, 5> kTasks = {"detect", "pose", "segment", "obb",
                                                      "classify"};
       const char* const task = kTasks[static_cast<size_t>(DrawInt(random, 0, 4))];
       if (head->notes.task == task) return false;
       head->notes.task = task;
       head->config.kind = HeadKind::kAuto;
       return true;
     }},
    {"other keypoints in the model's file",
     [](PlantedHead* head, HeadRandom& random) {
       if (head->kind != HeadKind::kYolov8Pose) return false;
       std::vector<int>& shape = head->notes.keypoint_shape;
       switch (DrawInt(random, 0, 2)) {
         case 0:
           shape[1] = 2;
           break;
         case 1:
           --shape[0];
           break;
         default:
           ++shape[0];
           break;
       }
       if (DrawInt(random, 0, 1) == 0) head->notes.class_names.clear();
       return true;
     }},
    {"landmarks with y for x",
     [](PlantedHead* head, HeadRandom&) {
       if (head->kind != HeadKind::kCenterface) return false;
       std::vector<float>& numbers = head->outputs[3].numbers;
       const auto cells = static_cast<ptrdiff_t>(numbers.size()) / 10;
       for (auto at = numbers.begin(); at != numbers.end(); at += 2 * cells) {
         std::swap_ranges(at, at + cells, at + cells);
       }
       return true;
     }},
    {"landmarks of another scale",
     [](PlantedHead* head, HeadRandom&) {
       if (head->kind != HeadKind::kCenterface) return false;
       for (float& number : head->outputs[3].numbers) number /= 4;
       return true;
     }},
    {"keypoints relative to their box",
     [](PlantedHead* head, HeadRandom&) {
       if (head->kind != HeadKind::kYolov8Pose) return false;
       ChangeRows(head, [](std::vector<float>* row) {
         for (size_t at = 5; at + 2 < row->size(); at += 3) {
           (*row)[at] -= (*row)[0];
           (*row)[at + 1] -= (*row)[1];
         }
       });
       return true;
     },
     "keypoints of a box in the upper left corner lie near it both ways"},
    {"keypoints with y before x",
     [](PlantedHead* head, HeadRandom&) {
       if (head->kind != HeadKind::kYolov8Pose) return false;
       ChangeRows(head, [](std::vector<float>* row) {
         for (size_t at = 5; at + 2 < row->size(); at += 3) std::swap((*row)[at], (*row)[at + 1]);
       });
       return true;
     },
     "a thing as far from the left as from the top holds its keypoints both ways"},
    {"not a number",
     [](PlantedHead* head, HeadRandom& random) {
       PlantedOutput& output = head->outputs[0];
       if (!std::holds_alternative<Detections>(head->truth) || output.numbers.size() < 100) {
         return false;
       }
       for (int i = 0; i < 20; ++i) {
         output.numbers[static_cast<size_t>(
             DrawInt(random, 0, static_cast<int>(output.numbers.size()) - 1))] =
             std::numeric_limits<float>::quiet_NaN();
       }
       return true;
     }},
});

}  // namespace

std::span<const HeadChange> EquivalentChanges() { return kEquivalentChanges; }
std::span<const HeadChange> HeadMutations() { return kMutations; }

}  // namespace cacheinf

#include "common/config/constant_inputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <variant>

#include "common/base/error.h"
#include "common/base/npy.h"
#include "common/base/number_text.h"

namespace cacheinf {
namespace {

constexpr size_t kMostNumbers = 1 << 16;  // of a list

[[noreturn]] void Misread(std::string_view name, std::string_view text) {
  throw InputError(
      fmt::format("{}: a constant input must look like im_shape=640,640 or sizes=FILE.npy, got "
                  "\"{}\"",
                  name, text));
}

ConstantInput ReadArray(const std::string& file) {
  const NpyArray array = ReadNpy(file);
  ConstantInput input;
  input.shape = array.shape;
  std::visit([&](const auto& values) { input.numbers.assign(values.begin(), values.end()); },
             array.values);
  return input;
}

double ReadNumber(std::string_view text, std::string_view name) {
  const auto number = NumberIn<double>(text);
  if (!number) Misread(name, text);
  return *number;
}

}  // namespace

ConstantInputs ReadConstantInputs(const std::vector<std::string>& texts, std::string_view name) {
  ConstantInputs inputs;
  ConstantInput* current = nullptr;
  for (const std::string& text : texts) {
    for (std::string_view rest = text; !rest.empty();) {
      std::string_view entry = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
      if (const size_t equals = entry.find('='); equals != std::string_view::npos) {
        const std::string input(entry.substr(0, equals));
        entry.remove_prefix(equals + 1);
        if (input.empty() || inputs.contains(input)) Misread(name, text);
        current = &inputs[input];
        if (entry.ends_with(".npy")) {
          *current = ReadArray(std::string(entry));
          continue;
        }
      }
      if (current == nullptr || current->shape || current->numbers.size() == kMostNumbers) {
        Misread(name, text);
      }
      current->numbers.push_back(ReadNumber(entry, name));
    }
  }
  return inputs;
}

}  // namespace cacheinf

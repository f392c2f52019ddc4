#include <sstream>
#include <utility>

#include "common/model/torchscript/importer.h"

namespace cacheinf::torchscript {

std::shared_ptr<const std::string> MakeForeignArchive(
    const torch::jit::Node& node, const std::vector<Slot>& arguments,
    const std::vector<at::ScalarType>& input_types, const std::vector<bool>& is_kept) {
  auto graph = std::make_shared<torch::jit::Graph>();
  torch::jit::Module module("ForeignOperator");
  graph->addInput("self")->setType(module.type());

  size_t inputs = 0;
  const auto add_input = [&]() -> torch::jit::Value* {
    const at::ScalarType type = input_types.at(inputs);
    torch::jit::Value* input = graph->addInput("x" + std::to_string(inputs++));
    if (type == at::kFloat) return input;
    return graph->insert(c10::aten::to, {input, static_cast<int64_t>(type)});
  };
  std::unordered_map<const torch::jit::Value*, torch::jit::Value*> replaced;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Slot& argument = arguments[i];
    torch::jit::Value* value = nullptr;
    if (argument.is_concrete()) {
      value = graph->insertConstant(argument.concrete);
    } else if (argument.is_tensor()) {
      value = add_input();
    } else {
      std::vector<torch::jit::Value*> elements;
      for (const Slot& element : argument.elements) {
        elements.push_back(element.is_tensor() ? add_input()
                                               : graph->insertConstant(element.concrete));
      }
      value = graph->insertNode(graph->createList(c10::TensorType::get(), elements))->output();
    }
    replaced[node.inputs()[i]] = value;
  }
  // It would overwrite somebody else's memory.
  if (node.maybeSchema() != nullptr && node.schema().is_mutable()) {
    torch::jit::Value*& target = replaced[node.inputs()[0]];
    target = graph->insert(c10::aten::clone, {target});
  }
  torch::jit::Node* clone = graph->insertNode(graph->createClone(
      const_cast<torch::jit::Node*>(&node),  // LibTorch does not change what it clones
      [&](torch::jit::Value* value) { return replaced.at(value); }));

  if (clone->outputs().size() == 1) {
    graph->registerOutput(clone->output());
  } else {
    std::vector<torch::jit::Value*> outputs;
    for (size_t i = 0; i < is_kept.size(); ++i) {
      if (is_kept[i]) outputs.push_back(clone->outputs()[i]);
    }
    graph->registerOutput(graph->insertNode(graph->createTuple(outputs))->output());
  }
  torch::jit::Function* forward = module._ivalue()->compilation_unit()->create_function(
      c10::QualifiedName(*module.type()->name(), "forward"), graph);
  module.type()->addMethod(forward);

  std::ostringstream archive;
  module.save(archive);
  return std::make_shared<const std::string>(std::move(archive).str());
}

}  // namespace cacheinf::torchscript

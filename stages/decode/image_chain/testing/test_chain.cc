#include "penstock/stages/decode/image_chain/testing/test_chain.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "penstock/memory/check.h"
#include "penstock/stages/registry.h"

namespace penstock {

SampleChain MakeChain(const FieldSpec& input, const std::vector<ChainStage>& stages) {
  SampleChain chain;
  chain.input = input;
  SampleSpec spec = {{input}};
  for (const std::string& type : TypesOf(stages)) {
    const Registry::Entry* entry = Registry::Default().Find(type);
    PENSTOCK_CHECK(entry != nullptr && entry->sample, type);
    const std::string& text = stages[chain.links.size()].options;
    const std::unique_ptr<google::protobuf::Message> options(
        google::protobuf::MessageFactory::generated_factory()->GetPrototype(entry->options)->New());
    PENSTOCK_CHECK(google::protobuf::TextFormat::ParseFromString(text, options.get()), text);
    std::shared_ptr<SampleStage> stage = entry->sample();
    absl::Status status = stage->Init(*options);
    if (status.ok()) status = stage->Infer(spec);
    PENSTOCK_CHECK(status.ok(), std::string(status.message()));
    chain.links.push_back({.node = type,
                           .stage = std::move(stage),
                           .random_key = RandomKey(type),
                           .out = spec.fields[0]});
  }
  chain.cut = chain.links.size();
  return chain;
}

std::vector<std::string> TypesOf(const std::vector<ChainStage>& stages) {
  std::vector<std::string> types;
  for (const ChainStage& stage : stages) types.push_back(absl::StrCat("penstock.", stage.name));
  return types;
}

std::string ToString(const std::vector<ChainStage>& stages) {
  std::string text;
  for (const ChainStage& stage : stages) {
    absl::StrAppend(&text, stage.name, "{", stage.options, "} ");
  }
  return text;
}

}  // namespace penstock

//===- ConfigQuantization.cpp - quantization_config -----------------------===//

#include "models/glm53/ConfigQuantization.h"
#include "models/glm53/FieldReader.h"
#include "models/glm53/WeightNames.h"

using namespace llvm;

namespace glm::glm53 {

Quantization readQuantization(const json::Object &block,
                              std::vector<std::string> &faults) {
  FieldReader quant(faults, block, nullptr, "quantization_config.");
  Quantization result;
  const json::Value *method = quant.get("quant_method");
  StringRef name = method ? method->getAsString().value_or("") : "";
  if (name == "fp8") {
    result.method = Quantization::Method::Fp8;
  } else if (name == "auto-round" || name == "auto_round" || name == "gptq") {
    result.method = Quantization::Method::Gptq4;
    quant.expect("bits", 4);
    quant.expect("sym", true);
    quant.expect("data_type", "int");
    quant.expect("packing_format", "auto_round:auto_gptq");
    quant.expect("desc_act", false);
    result.groupSize = quant.integer("group_size", 8, 1 << 16, 128);
    if (result.groupSize % 8 != 0)
      quant.refuse("group_size", "must be a multiple of 8");
    if (!quant.get("bits"))
      quant.refuse("bits", "is missing");
  } else {
    quant.refuse("quant_method",
                 "is not supported; supported are no quantization and "
                 "symmetric int4 with quant_method auto-round and "
                 "packing_format auto_round:auto_gptq");
  }
  if (const json::Object *rules = quant.child("extra_config"))
    for (const auto &[module, rule] : *rules) {
      const json::Object *object = rule.getAsObject();
      if (auto bits = object ? object->getInteger("bits") : std::nullopt)
        result.moduleBits[canonicalName(module)] = *bits;
    }
  if (const json::Value *list = quant.get("modules_to_not_convert"))
    if (const json::Array *array = list->getAsArray())
      for (const json::Value &entry : *array)
        if (auto module = entry.getAsString())
          result.notConverted.push_back(canonicalName(*module));
  return result;
}

} // namespace glm::glm53

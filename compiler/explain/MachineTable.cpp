//===- MachineTable.cpp - What the cost model knows of machines -----------===//

#include "compiler/explain/MachineTable.h"

#include "compiler/UsageError.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace glm;
using namespace glm::explain;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

static constexpr StringRef kBuiltinText =
#include "compiler/explain/Machines.inc"
    ;

StringRef explain::builtinMachineText() { return kBuiltinText; }

ArrayRef<FigureField> explain::figureFields() {
  static const FigureField fields[] = {
      {"memory_gib", &Machine::memoryGiB, false},
      {"memory_gbs", &Machine::memoryGBs, false},
      {"memory_achievable", &Machine::memoryAchievable, true},
      {"saturating_blocks", &Machine::saturatingBlocks, false},
      {"link_copy_gbs", &Machine::linkCopyGBs, false},
      {"link_gather_gbs", &Machine::linkGatherGBs, false},
      {"matrix_tflops", &Machine::matrixTflops, false},
      {"matrix_achievable", &Machine::matrixAchievable, true},
      {"vector_tflops", &Machine::vectorTflops, false},
      {"vector_achievable", &Machine::vectorAchievable, true},
      {"launch_us", &Machine::launchUs, false},
      {"barrier_us", &Machine::barrierUs, false},
      {"step_us", &Machine::stepUs, false},
      {"all_reduce_us", &Machine::allReduceUs, false},
  };
  return fields;
}

namespace {

/// Reads one file; every error begins with its path and the place in it.
class MachineParser {
public:
  explicit MachineParser(StringRef path) : path(path) {}

  Expected<std::vector<Machine>> parse(StringRef text) {
    auto root = llvm::json::parse(text);
    if (!root)
      return fail("is not JSON: " + llvm::toString(root.takeError()));
    const llvm::json::Object *object = root->getAsObject();
    const llvm::json::Array *list = object ? object->getArray("machines") : nullptr;
    if (!list || list->empty())
      return fail("machines: expected a list with at least one machine");
    if (Error e = onlyKnown(*object, "", {"machines"}))
      return e;
    std::vector<Machine> machines;
    for (auto [i, value] : llvm::enumerate(*list)) {
      auto machine = machineOf(value, ("machines[" + Twine(i) + "]").str());
      if (!machine)
        return machine.takeError();
      for (const Machine &other : machines)
        if (other.name == machine->name)
          return fail("machines[" + Twine(i) + "].name: " + machine->name +
                      " is there twice");
      machines.push_back(std::move(*machine));
    }
    return machines;
  }

private:
  Error fail(const Twine &text) { return llvm::createStringError(path + ": " + text); }

  Error onlyKnown(const llvm::json::Object &object, StringRef where,
                  ArrayRef<StringRef> known) {
    for (const auto &[key, value] : object)
      if (!llvm::is_contained(known, StringRef(key)))
        return fail(where + (where.empty() ? "" : ".") + StringRef(key) +
                    ": unknown field; known are " + llvm::join(known, ", "));
    return Error::success();
  }

  Expected<Machine> machineOf(const llvm::json::Value &value, StringRef where) {
    const llvm::json::Object *object = value.getAsObject();
    if (!object)
      return fail(where + ": expected an object");
    llvm::SmallVector<StringRef> known = {"name", "about", "cards"};
    for (const FigureField &field : figureFields())
      known.push_back(field.name);
    if (Error e = onlyKnown(*object, where, known))
      return e;
    Machine m;
    auto name = object->getString("name");
    if (!name || name->empty())
      return fail(where + ".name: expected a name");
    m.name = name->str();
    m.about = object->getString("about").value_or("").str();
    auto cards = object->getInteger("cards");
    if (!cards || *cards < 1 || *cards > 1024)
      return fail(where + ".cards: expected a number from 1 to 1024");
    m.cards = *cards;
    for (const FigureField &field : figureFields()) {
      bool needless = field.figure == &Machine::allReduceUs && m.cards == 1;
      if (needless && !object->get(field.name))
        continue;
      auto figure = figureOf(*object, field, where);
      if (!figure)
        return figure.takeError();
      m.*field.figure = *figure;
    }
    return m;
  }

  Expected<Figure> figureOf(const llvm::json::Object &object, const FigureField &field,
                            StringRef machine) {
    std::string where = (machine + "." + field.name).str();
    const llvm::json::Object *inner = object.getObject(field.name);
    if (!inner)
      return fail(where + ": expected {\"value\": NUMBER, \"source\": TEXT}");
    if (Error e = onlyKnown(*inner, where, {"value", "source"}))
      return e;
    auto number = inner->getNumber("value");
    if (!number)
      return fail(where + ".value: expected a number");
    if (!(*number > 0))
      return fail(where + ".value: " + llvm::formatv("{0}", *number).str() +
                  " is not more than 0");
    if (field.isShare && *number > 1)
      return fail(where + ".value: " + llvm::formatv("{0}", *number).str() +
                  " is a share of the peak and cannot be more than 1");
    if (*number < 1e-6)
      return fail(where + ".value: " + llvm::formatv("{0:e}", *number).str() +
                  " is less than 1e-6");
    if (*number > 1e9)
      return fail(where + ".value: " + llvm::formatv("{0}", *number).str() +
                  " is more than 1e9");
    auto source = inner->getString("source");
    StringRef kind = source ? source->take_while(llvm::isAlpha) : "";
    if (kind != "measured" && kind != "datasheet" && kind != "estimate")
      return fail(where + ".source: expected a text that begins with measured, "
                          "datasheet or estimate");
    return Figure{*number, source->str()};
  }

  std::string path;
};

} // namespace

Expected<std::vector<Machine>> explain::parseMachines(StringRef text, StringRef path) {
  return MachineParser(path).parse(text);
}

const std::vector<Machine> &explain::builtinMachines() {
  static const std::vector<Machine> machines =
      llvm::cantFail(parseMachines(kBuiltinText, "machines.json"));
  return machines;
}

static std::string namesOf(ArrayRef<Machine> machines) {
  return llvm::join(llvm::map_range(machines, [](const Machine &m) { return m.name; }),
                    ", ");
}

/// FILE.json or FILE.json:NAME, split; nullopt when `spec` names no file.
static std::optional<std::pair<StringRef, StringRef>> fileOf(StringRef spec) {
  if (spec.ends_with(".json"))
    return std::pair(spec, StringRef());
  auto [file, name] = spec.rsplit(':');
  if (file.ends_with(".json"))
    return std::pair(file, name);
  return std::nullopt;
}

Expected<Machine> explain::findMachine(StringRef spec) {
  auto file = fileOf(spec);
  if (!file) {
    for (const Machine &m : builtinMachines())
      if (m.name == spec)
        return m;
    return usageError("--machine " + spec + ": unknown; known are " +
                      namesOf(builtinMachines()) + ", or FILE.json");
  }
  auto [path, name] = *file;
  uint64_t size = 0;
  if (std::error_code ec = llvm::sys::fs::file_size(path, size))
    return llvm::createStringError(path + ": " + ec.message());
  if (!llvm::sys::fs::is_regular_file(path) || size > kMaxMachineFileBytes)
    return llvm::createStringError(path + ": is not a file of at most " +
                                   Twine(kMaxMachineFileBytes) + " bytes");
  auto text = llvm::MemoryBuffer::getFile(path);
  if (!text)
    return llvm::createStringError(path + ": " + text.getError().message());
  auto machines = parseMachines((*text)->getBuffer(), path);
  if (!machines)
    return machines.takeError();
  if (name.empty() && machines->size() == 1)
    return machines->front();
  for (const Machine &m : *machines)
    if (m.name == name)
      return m;
  return usageError("--machine " + spec + ": say which machine, as FILE.json:NAME; it has " +
                    namesOf(*machines));
}

#include "test/plans/scalar_loads.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace glm {
namespace {

struct Instruction {
  uint64_t address = 0;
  std::string name;
  std::vector<std::string> operands;
  std::optional<uint64_t> target;  // of a branch
};

struct Function {
  std::string name;
  uint64_t address = 0;
  std::vector<Instruction> code;
};

bool StartsWith(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

// ---- reading

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// "s[0:1], 0x8 offset:4" -> "s[0:1]", "0x8 offset:4".
std::vector<std::string> SplitOperands(std::string_view text) {
  std::vector<std::string> operands;
  size_t begin = 0;
  for (size_t i = 0, depth = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '[') ++depth;
    if (i < text.size() && text[i] == ']') --depth;
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      const std::string_view part = Trim(text.substr(begin, i - begin));
      if (!part.empty()) operands.emplace_back(part);
      begin = i + 1;
    }
  }
  return operands;
}

// "\ts_branch 12   // 0000A200: BFA0000C <kernel+0x40>"
std::optional<Instruction> ReadInstruction(std::string_view line,
                                           const Function& function) {
  const size_t comment = line.find("//");
  if (line.empty() || line[0] != '\t' || comment == line.npos) return {};
  Instruction result;
  const std::string_view text = Trim(line.substr(0, comment));
  const size_t space = std::min(text.find(' '), text.size());
  result.name = text.substr(0, space);
  result.operands = SplitOperands(text.substr(space));
  const std::string after(line.substr(comment + 2));
  result.address = std::strtoull(after.c_str(), nullptr, 16);
  const size_t label = after.find('<');
  if (label != after.npos && StartsWith(result.name, "s_") &&
      result.name.find("branch") != std::string::npos) {
    const size_t plus = after.find('+', label);
    result.target =
        function.address +
        (plus == after.npos ? 0 : std::strtoull(&after[plus + 1], nullptr, 16));
  }
  return result;
}

std::vector<Function> ReadFunctions(std::istream& in) {
  std::vector<Function> functions;
  for (std::string line; std::getline(in, line);) {
    const size_t open = line.find(" <");
    if (!line.empty() && line[0] != '\t' && open != line.npos &&
        line.ends_with(">:")) {
      functions.push_back({line.substr(open + 2, line.size() - open - 4),
                           std::strtoull(line.c_str(), nullptr, 16),
                           {}});
    } else if (!functions.empty()) {
      if (auto code = ReadInstruction(line, functions.back())) {
        functions.back().code.push_back(*std::move(code));
      }
    }
  }
  return functions;
}

// ---- what registers hold

// Half of the arguments' address, or anything.
enum class Holds : uint8_t { kAnything, kLow, kHigh };

struct Registers {
  std::array<Holds, 128> scalar = {};
  std::map<std::pair<int, int>, Holds> lanes;  // (register, lane)

  // Keeps what both hold; true when that is less than before.
  bool Meet(const Registers& other) {
    bool changed = false;
    for (size_t i = 0; i < scalar.size(); ++i) {
      if (scalar[i] == Holds::kAnything || scalar[i] == other.scalar[i]) {
        continue;
      }
      scalar[i] = Holds::kAnything;
      changed = true;
    }
    changed |= std::erase_if(lanes, [&](const auto& lane) {
                 const auto it = other.lanes.find(lane.first);
                 return it == other.lanes.end() || it->second != lane.second;
               }) > 0;
    return changed;
  }
};

// The registers that an operand names: kind ('s' or 'v'), first, count.
struct Range {
  char kind = 0;
  int first = 0, count = 0;
};
Range RangeOf(const std::string& operand) {
  const char* at = operand.c_str();
  const char kind = *at;
  if (kind != 's' && kind != 'v') return {};
  int first = 0, last = 0;
  if (std::sscanf(at + 1, "[%d:%d]", &first, &last) == 2) {
    return {kind, first, last - first + 1};
  }
  if (std::sscanf(at + 1, "%d", &first) == 1) return {kind, first, 1};
  return {};
}

class Interpreter {
 public:
  explicit Interpreter(Registers& registers) : r_(registers) {}

  void Run(const Instruction& code) {
    const std::string& name = code.name;
    const auto& operands = code.operands;
    if (operands.empty() || StartsWith(name, "s_cmp_") ||
        StartsWith(name, "s_bitcmp") || StartsWith(name, "v_cmpx_") ||
        StartsWith(name, "s_cbranch")) {
      return;
    }
    const Range to = RangeOf(operands[0]);
    if (name == "v_writelane_b32" && to.kind == 'v') {
      const Holds value = Half(operands[1], 0);
      const std::optional<int> lane = Number(operands[2]);
      if (!lane) return Forget(to);
      r_.lanes.erase({to.first, *lane});
      if (value != Holds::kAnything) r_.lanes[{to.first, *lane}] = value;
      return;
    }
    std::array<Holds, 2> value = {};
    if (to.kind == 's' && to.count <= 2) {
      for (int half = 0; half < to.count; ++half) {
        value[half] = Value(code, half);
      }
    }
    Forget(to);
    for (int half = 0; to.kind == 's' && half < std::min(to.count, 2); ++half) {
      if (InFile(to.first + half)) r_.scalar[to.first + half] = value[half];
    }
    // Instructions with two results, and those that are two in one.
    if (operands.size() > 1 && name[0] == 'v' &&
        (name.find("_co_") != name.npos ||
         name.find("div_scale") != name.npos ||
         name.find("swap") != name.npos)) {
      Forget(RangeOf(operands[1]));
    }
    for (const std::string& operand : operands) {
      const size_t second = operand.find(":: ");
      if (second == operand.npos) continue;
      const size_t space = operand.find(' ', second + 3);
      if (space != operand.npos) Forget(RangeOf(operand.substr(space + 1)));
    }
  }

  bool IsArguments(const std::string& operand) const {
    return Half(operand, 0) == Holds::kLow && Half(operand, 1) == Holds::kHigh;
  }

 private:
  static bool InFile(int index) { return index >= 0 && index < 128; }

  static std::optional<int> Number(const std::string& operand) {
    char* end = nullptr;
    const long value = std::strtol(operand.c_str(), &end, 0);
    if (end == operand.c_str() || *end != 0) return {};
    return static_cast<int>(value);
  }

  Holds Half(const std::string& operand, int half) const {
    const Range range = RangeOf(operand);
    if (range.kind != 's' || half >= range.count ||
        !InFile(range.first + half)) {
      return Holds::kAnything;
    }
    return r_.scalar[range.first + half];
  }

  // What half of the scalar result holds.
  Holds Value(const Instruction& code, int half) const {
    const auto& operands = code.operands;
    const auto side = [&](size_t i) {
      return i < operands.size() ? Half(operands[i], half) : Holds::kAnything;
    };
    const Holds a = side(1), b = side(2);
    const Holds either = a == Holds::kAnything ? b : a;
    if (code.name == "s_mov_b32" || code.name == "s_mov_b64") return a;
    if (code.name == "s_add_nc_u64") return either;
    if (code.name == "s_add_co_u32" && either == Holds::kLow) return either;
    if (code.name == "s_add_co_ci_u32" && either == Holds::kHigh) return either;
    if (StartsWith(code.name, "s_cselect_b") && a == b) return a;
    if (code.name == "v_readlane_b32" && operands.size() == 3) {
      const std::optional<int> lane = Number(operands[2]);
      if (!lane) return Holds::kAnything;
      const auto it = r_.lanes.find({RangeOf(operands[1]).first, *lane});
      if (it != r_.lanes.end()) return it->second;
    }
    return Holds::kAnything;
  }

  void Forget(const Range& range) {
    for (int i = range.first; i < range.first + range.count; ++i) {
      if (range.kind == 's' && InFile(i)) r_.scalar[i] = Holds::kAnything;
      if (range.kind == 'v') {
        r_.lanes.erase(r_.lanes.lower_bound({i, 0}),
                       r_.lanes.lower_bound({i + 1, 0}));
      }
    }
  }

  Registers& r_;
};

// ---- one kernel

class Checker {
 public:
  Checker(const Function& function, ScalarLoads& result)
      : f_(function), result_(result) {
    for (size_t i = 0; i < f_.code.size(); ++i) at_[f_.code[i].address] = i;
  }

  void Run() {
    if (f_.code.empty() || !FindSuccessors()) return;
    std::vector<size_t> waits;
    for (size_t i = 0; i < f_.code.size(); ++i) {
      if (IsWait(f_.code[i])) waits.push_back(i);
    }
    if (waits.empty()) return;
    ++result_.kernels_that_wait;
    FollowRegisters();
    const std::vector<bool> follows = ReachableFrom(waits);
    for (size_t i = 0; i < f_.code.size(); ++i) {
      const Instruction& code = f_.code[i];
      const bool load = StartsWith(code.name, "s_load_") ||
                        StartsWith(code.name, "s_buffer_load_");
      if (!load || !follows[i]) continue;
      ++result_.loads_after_waits;
      if (!before_[i] || code.operands.size() < 2 ||
          StartsWith(code.name, "s_buffer_") ||
          !Interpreter(*before_[i]).IsArguments(code.operands[1])) {
        Report(i);
      }
    }
  }

 private:
  static bool IsWait(const Instruction& code) {
    if (!StartsWith(code.name, "global_load_") &&
        !StartsWith(code.name, "flat_load_")) {
      return code.name == "s_sleep";
    }
    return std::any_of(code.operands.begin(), code.operands.end(),
                       [](const std::string& operand) {
                         return operand.find("scope:SCOPE_DEV") != operand.npos;
                       });
  }

  void Report(size_t i) {
    std::string text = f_.name + ": " + f_.code[i].name;
    for (const std::string& operand : f_.code[i].operands) {
      text += " " + operand;
    }
    result_.stray.push_back(text);
  }

  // Where a jump through a register goes, which is s_getpc_b64 and an addition
  // a few instructions before.
  std::optional<uint64_t> FarTarget(size_t jump) const {
    std::optional<int64_t> distance;
    for (size_t i = jump; i-- > 0 && i + 8 > jump;) {
      const Instruction& code = f_.code[i];
      if (code.name == "s_add_co_u32" && code.operands.size() == 3) {
        distance = static_cast<int32_t>(
            std::strtoul(code.operands[2].c_str(), nullptr, 0));
      }
      if (code.name == "s_getpc_b64" && distance &&
          code.operands == f_.code[jump].operands) {
        return code.address + 4 + *distance;
      }
    }
    return {};
  }

  bool FindSuccessors() {
    next_.resize(f_.code.size());
    for (size_t i = 0; i < f_.code.size(); ++i) {
      const Instruction& code = f_.code[i];
      std::optional<uint64_t> target = code.target;
      bool falls = code.name != "s_branch" && code.name != "s_endpgm" &&
                   code.name != "s_code_end";
      if (code.name == "s_setpc_b64") {
        target = FarTarget(i);
        falls = false;
      }
      const bool jumps = code.name == "s_branch" ||
                         code.name == "s_setpc_b64" ||
                         StartsWith(code.name, "s_cbranch");
      const bool calls =
          code.name == "s_swappc_b64" || StartsWith(code.name, "s_call");
      if (calls || (jumps && (!target || !at_.contains(*target)))) {
        Report(i);
        return false;
      }
      if (jumps) next_[i].push_back(at_.at(*target));
      if (falls && i + 1 < f_.code.size()) next_[i].push_back(i + 1);
    }
    return true;
  }

  // What registers hold before each instruction that can be reached.
  void FollowRegisters() {
    before_.resize(f_.code.size());
    Registers& entry = before_[0].emplace();
    entry.scalar[0] = Holds::kLow;
    entry.scalar[1] = Holds::kHigh;
    std::vector<size_t> work = {0};
    while (!work.empty()) {
      const size_t i = work.back();
      work.pop_back();
      Registers after = *before_[i];
      Interpreter(after).Run(f_.code[i]);
      for (const size_t next : next_[i]) {
        if (!before_[next]) {
          before_[next] = after;
        } else if (!before_[next]->Meet(after)) {
          continue;
        }
        work.push_back(next);
      }
    }
  }

  std::vector<bool> ReachableFrom(std::vector<size_t> work) const {
    std::vector<bool> reached(f_.code.size());
    while (!work.empty()) {
      const size_t i = work.back();
      work.pop_back();
      for (const size_t next : next_[i]) {
        if (reached[next]) continue;
        reached[next] = true;
        work.push_back(next);
      }
    }
    return reached;
  }

  const Function& f_;
  ScalarLoads& result_;
  std::map<uint64_t, size_t> at_;
  std::vector<std::vector<size_t>> next_;
  std::vector<std::optional<Registers>> before_;
};

}  // namespace

ScalarLoads CheckScalarLoads(std::istream& disassembly) {
  ScalarLoads result;
  for (const Function& function : ReadFunctions(disassembly)) {
    Checker(function, result).Run();
  }
  return result;
}

}  // namespace glm

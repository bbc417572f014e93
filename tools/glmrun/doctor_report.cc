#include "tools/glmrun/doctor_report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace glm::tools {
namespace {

// Lines after the first stand below it.
std::string Indented(const std::string& text) {
  return absl::StrReplaceAll(text, {{"\n", "\n                            "}});
}

}  // namespace

const char* VerdictName(Verdict verdict) {
  constexpr std::array kNames = {"ok", "note", "problem"};
  return kNames[static_cast<size_t>(verdict)];
}

void Report::Ok(std::string section, std::string text) {
  findings_.push_back({std::move(section), Verdict::kOk, std::move(text), {}});
}

void Report::Note(std::string section, std::string text, std::string remedy) {
  findings_.push_back(
      {std::move(section), Verdict::kNote, std::move(text), std::move(remedy)});
}

void Report::Problem(std::string section, std::string text,
                     std::string remedy) {
  findings_.push_back({std::move(section), Verdict::kProblem, std::move(text),
                       std::move(remedy)});
}

int Report::Count(Verdict verdict) const {
  return static_cast<int>(std::count_if(
      findings_.begin(), findings_.end(),
      [verdict](const Finding& f) { return f.verdict == verdict; }));
}

std::string Report::ToString(size_t first) const {
  std::string text;
  for (size_t i = first; i < findings_.size(); ++i) {
    const Finding& finding = findings_[i];
    std::array<char, 64> head;
    std::snprintf(head.data(), head.size(), "%-8s %-18s ",
                  VerdictName(finding.verdict), finding.section.c_str());
    absl::StrAppend(&text, head.data(), Indented(finding.text), "\n");
    if (finding.remedy.empty()) continue;
    absl::StrAppend(&text, "                            -> ",
                    Indented(finding.remedy), "\n");
  }
  return text;
}

std::string Report::Summary() const {
  const int problems = Count(Verdict::kProblem), notes = Count(Verdict::kNote);
  return absl::StrCat(problems, problems == 1 ? " problem, " : " problems, ",
                      notes, notes == 1 ? " note, " : " notes, ",
                      Count(Verdict::kOk), " ok");
}

std::string Report::ToJson() const {
  const int problems = Count(Verdict::kProblem), notes = Count(Verdict::kNote);
  nlohmann::ordered_json json;
  json["verdict"] = VerdictName(problems > 0 ? Verdict::kProblem
                                : notes > 0  ? Verdict::kNote
                                             : Verdict::kOk);
  json["problems"] = problems;
  json["notes"] = notes;
  json["findings"] = nlohmann::ordered_json::array();
  for (const Finding& finding : findings_) {
    json["findings"].push_back({{"section", finding.section},
                                {"verdict", VerdictName(finding.verdict)},
                                {"text", finding.text},
                                {"remedy", finding.remedy}});
  }
  return json.dump(2, ' ', false,
                   nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace glm::tools

// What `glmrun doctor` found: a list of verdicts, for people and for machines.
#ifndef GLM_TOOLS_GLMRUN_DOCTOR_REPORT_H_
#define GLM_TOOLS_GLMRUN_DOCTOR_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace glm::tools {

enum class Verdict { kOk, kNote, kProblem };

// "ok", "note", "problem".
const char* VerdictName(Verdict verdict);

struct Finding {
  std::string section;  // "pcie link": what was looked at
  Verdict verdict = Verdict::kOk;
  std::string text;    // what was found, with its numbers
  std::string remedy;  // what to do; empty where there is nothing
};

class Report {
 public:
  void Ok(std::string section, std::string text);
  void Note(std::string section, std::string text, std::string remedy);
  void Problem(std::string section, std::string text, std::string remedy);

  const std::vector<Finding>& findings() const { return findings_; }
  int Count(Verdict verdict) const;

  // The findings from `first` on, a line each and one for its remedy.
  std::string ToString(size_t first = 0) const;
  // "2 problems, 1 note, 14 ok"
  std::string Summary() const;
  // {"verdict": the worst, "problems": n, "notes": n, "findings": [{"section",
  // "verdict", "text", "remedy"}]}; bytes that are no UTF-8 are replaced.
  std::string ToJson() const;

 private:
  std::vector<Finding> findings_;
};

}  // namespace glm::tools

#endif  // GLM_TOOLS_GLMRUN_DOCTOR_REPORT_H_

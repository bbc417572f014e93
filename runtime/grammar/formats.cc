#include <array>
#include <utility>

#include "runtime/grammar/pattern.h"

// Days that exist, leap years too.
#define GLM_DATE                                                        \
  "([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|"               \
  "(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))|"       \
  "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])" \
  "00)-02-29)"
#define GLM_TIME                                              \
  "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(" \
  "Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
#define GLM_LABEL "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
#define GLM_ATOM "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,64}"
#define GLM_OCTET "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"

namespace glm::grammar {

std::optional<std::string_view> PatternOfFormat(std::string_view format) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7>
      kFormats = {{
          {"date", "^" GLM_DATE "$"},
          {"time", "^" GLM_TIME "$"},
          {"date-time", "^" GLM_DATE "T" GLM_TIME "$"},
          {"uuid", "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"},
          {"email",
           "^" GLM_ATOM "(\\." GLM_ATOM ")*@" GLM_LABEL "(\\." GLM_LABEL ")+$"},
          {"hostname", "^" GLM_LABEL "(\\." GLM_LABEL ")*$"},
          {"ipv4", "^(" GLM_OCTET "\\.){3}" GLM_OCTET "$"},
      }};
  for (const auto& [name, pattern] : kFormats) {
    if (name == format) {
      return pattern;
    }
  }
  return std::nullopt;
}

}  // namespace glm::grammar

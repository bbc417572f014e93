// `ToolCallParser` reads one tool call, from behind its <tool_call>:
//
//   NAME (<arg_key>K</arg_key> <arg_value>V</arg_value>)* </tool_call>
//
// with blanks around each part but V, and gives its arguments as JSON while
// they come. What it has given is never taken back, so a call is *committed*
// only when its first argument is certain, or its end: until then it may turn
// out as plain text.
//
// Tags are recognised as tokens, and where a tag may stand outside a value also
// as text. A value ends by a tag of the kind that opened it, token or text, and
// only where <arg_key>, </tool_call> or the end follows: tags in values are
// data. What it forgives and what it does not: docs/decisions/0022.
//
// It knows nothing of reasoning, of content and of other calls.
#ifndef GLM_RUNTIME_TEXT_TOOL_CALL_PARSER_H_
#define GLM_RUNTIME_TEXT_TOOL_CALL_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/text/chat_markers.h"
#include "runtime/text/tool_schema.h"

namespace glm::text {

// One instance for one call and thread; `tools` must outlive it.
class ToolCallParser {
 public:
  enum class Progress {
    kOpen,
    kDone,    // the call has ended
    kBroken,  // it was none: `TakeRaw` is plain text
  };

  // `whole`: nothing is committed before </tool_call>, and a call that is not
  // well-formed to there is broken.
  ToolCallParser(const ToolSchemas& tools, bool whole);

  // Valid UTF-8, in any pieces. After these calls look at `progress`. What
  // follows the text that broke a call joins its raw text.
  void Text(std::string_view text);
  // A token. False when it is not part of the call, which has ended before it.
  bool Tag(Marker marker);
  // The answer ends here.
  void End();

  Progress progress() const { return progress_; }

  // Whether no tool has this name: the call is read on to find its end, but
  // all of it is plain text.
  bool refused() const { return refused_; }
  bool committed() const {
    return begun_ && (!whole_ || progress_ == Progress::kDone);
  }

  const std::string& name() const { return name_; }  // once committed
  std::string TakeArguments();                       // once committed

  // The text of the call since <tool_call>, which is part of it, or since this
  // was last called; of calls that are not committed.
  std::string TakeRaw();

  // Set when the call broke because a second <tool_call> began another one: the
  // text behind that.
  const std::optional<std::string>& restart() const { return restart_; }

 private:
  enum class State : uint8_t {
    kName,
    kNameOrKey,  // behind a second <tool_call>
    kKey,
    kAfterKey,
    kValue,
    kAfterValue,  // behind </arg_value>, which may be data
    kAfterEnd,    // behind </tool_call> in a value, which may be data
  };

  bool InValue() const { return state_ >= State::kValue; }
  void Plain(std::string_view text);
  bool Take(Marker marker, bool spelled);
  bool TakeInName(Marker marker);
  bool TakeInKey(Marker marker);
  bool TakeInValue(Marker marker);

  void AddToName(std::string_view text);
  bool NameIsOffered();
  void OpenValue(bool without_tag);
  void AddToValue(std::string_view text);
  void EndValue();
  bool Break();
  void Restart();
  void Close();
  void OpenArgument();

  const ToolSchemas& tools_;
  const bool whole_;
  State state_ = State::kName;
  Progress progress_ = Progress::kOpen;
  bool refused_ = false;
  bool begun_ = false;    // something is in arguments_
  bool spelled_ = false;  // the last tag outside of a value was text

  std::string name_;
  std::string key_;
  const ToolSchema* schema_ = nullptr;  // once the name is known
  // The value that is open.
  std::string value_;  // unless it is given out as it comes
  std::string tail_;   // tag and blanks behind it that may be part of it
  bool streams_ = false;
  bool dropped_ = false;
  bool without_tag_ = false;  // <arg_value> is missing
  TypeSet types_ = 0;

  std::string held_;  // may be the beginning of a tag
  std::string arguments_;
  std::string raw_;
  size_t second_call_ = 0;  // offset in raw_ of the <tool_call> of kNameOrKey
  std::optional<std::string> restart_;
};

}  // namespace glm::text

#endif  // GLM_RUNTIME_TEXT_TOOL_CALL_PARSER_H_

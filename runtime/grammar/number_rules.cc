#include "runtime/grammar/number_rules.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/grammar/limits.h"

namespace glm::grammar {
namespace {

constexpr StateId kReturn = Automaton::kReturnState;

// From 0 on: sign aside.
int CompareMagnitudes(const Decimal& a, const Decimal& b) {
  if (a.whole.size() != b.whole.size()) {
    return a.whole.size() < b.whole.size() ? -1 : 1;
  }
  int whole = a.whole.compare(b.whole);
  return whole != 0 ? whole : a.fraction.compare(b.fraction);
}

Decimal Negated(Decimal number) {
  bool zero = number.whole == "0" && number.fraction.empty();
  number.negative = !number.negative && !zero;
  return number;
}

// Numbers without sign between two bounds, digit by digit: a state is what has
// been written, as far as it matters.
class Magnitudes {
 public:
  Magnitudes(Automaton& automaton, bool integer, Bound low, Bound high)
      : automaton_(automaton),
        integer_(integer),
        low_(std::move(low)),
        high_(std::move(high)) {
    size_t digits = std::max(low_.at.fraction.size(), high_.at.fraction.size());
    // At least one more than the bounds have: between two of them is a number.
    fraction_ = integer ? 0 : std::max<size_t>(digits + 1, kMaxNumberDigits);
    low_.at.fraction.resize(std::max(digits, fraction_), '0');
    high_.at.fraction.resize(std::max(digits, fraction_), '0');
  }

  StateId Add() {
    std::vector<StateId> lengths;
    size_t first = low_.at.whole.size();
    size_t last = high_.at.whole.size();
    size_t most = integer_ ? kMaxIntegerDigits : kMaxNumberDigits;
    for (length_ = first; length_ <= std::min(last, most); ++length_) {
      states_.clear();
      lengths.push_back(At(0, length_ == first, length_ == last));
    }
    return automaton_.AddSplit(std::move(lengths));
  }

 private:
  char Digit(const Bound& bound, size_t at) const {
    return at < length_ ? bound.at.whole[at] : bound.at.fraction[at - length_];
  }

  bool RestIsZero(const Bound& bound, size_t at) const {
    size_t all = length_ + bound.at.fraction.size();
    for (; at < all; ++at) {
      if (Digit(bound, at) != '0') {
        return false;
      }
    }
    return true;
  }

  // Whether the number may end after `at` digits, those of the bounds so far
  // where it is `low` or `high`.
  bool MayEnd(size_t at, bool low, bool high) const {
    if (at < length_) {
      return false;
    }
    if (low && (low_.exclusive || !RestIsZero(low_, at))) {
      return false;
    }
    return !high || !high_.exclusive || !RestIsZero(high_, at);
  }

  StateId At(size_t at, bool low, bool high) {
    auto [known, added] = states_.try_emplace({at, low, high}, 0);
    if (!added) {
      return known->second;
    }
    StateId digits = automaton_.AddBytes();
    StateId state = digits;
    if (at == length_) {
      state = fraction_ > 0 ? automaton_.AddByte('.', digits) : digits;
    }
    if (MayEnd(at, low, high)) {
      state = automaton_.AddSplit({state, kReturn});
    }
    states_[{at, low, high}] = state;
    size_t most = std::min<size_t>(length_ + fraction_,
                                   integer_ ? length_ : kMaxNumberDigits);
    if (at >= most) {
      return state;
    }
    char from = low ? Digit(low_, at) : '0';
    char to = high ? Digit(high_, at) : '9';
    if (at == 0 && length_ > 1) {
      from = std::max(from, '1');
    }
    std::vector<ByteEdge> edges;
    for (char digit = from; digit <= to; ++digit) {
      auto byte = static_cast<uint8_t>(digit);
      StateId next = At(at + 1, low && digit == Digit(low_, at),
                        high && digit == Digit(high_, at));
      edges.push_back({byte, byte, next});
    }
    automaton_[digits].edges = std::move(edges);
    return state;
  }

  Automaton& automaton_;
  bool integer_;
  Bound low_;
  Bound high_;
  size_t fraction_ = 0;  // digits behind the point
  size_t length_ = 0;    // digits before it
  std::map<std::tuple<size_t, bool, bool>, StateId> states_;
};

StateId AddRange(Automaton& automaton, bool integer, const NumberRange& range) {
  Bound zero{{false, "0", ""}, false};
  Bound all{{false, std::string(kMaxIntegerDigits, '9'), ""}, false};
  std::vector<StateId> signs;
  if (!range.high.has_value() || !range.high->at.negative) {
    bool from_zero = !range.low.has_value() || range.low->at.negative;
    signs.push_back(Magnitudes(automaton, integer,
                               from_zero ? zero : *range.low,
                               range.high.value_or(all))
                        .Add());
  }
  if (!range.low.has_value() || range.low->at.negative) {
    Bound least{zero.at, true};  // no -0
    if (range.high.has_value() && range.high->at.negative) {
      least = {Negated(range.high->at), range.high->exclusive};
    }
    Bound most = all;
    if (range.low.has_value()) {
      most = {Negated(range.low->at), range.low->exclusive};
    }
    signs.push_back(automaton.AddByte(
        '-', Magnitudes(automaton, integer, least, most).Add()));
  }
  return automaton.AddSplit(std::move(signs));
}

}  // namespace

std::optional<Decimal> Decimal::Of(const nlohmann::ordered_json& number) {
  std::string text = number.dump();
  Decimal result;
  size_t at = 0;
  if (at < text.size() && text[at] == '-') {
    result.negative = true;
    ++at;
  }
  size_t exponent_at = text.find_first_of("eE");
  std::string mantissa = text.substr(at, exponent_at - at);
  int exponent = exponent_at == std::string::npos
                     ? 0
                     : std::atoi(text.c_str() + exponent_at + 1);
  size_t point = mantissa.find('.');
  std::string digits = mantissa;
  if (point != std::string::npos) {
    digits.erase(point, 1);
  } else {
    point = digits.size();
  }
  if (digits.empty() ||
      digits.find_first_not_of("0123456789") != std::string::npos ||
      std::abs(exponent) > 400) {
    return std::nullopt;
  }
  int whole = static_cast<int>(point) + exponent;
  if (whole < 0) {
    digits.insert(0, static_cast<size_t>(-whole), '0');
    whole = 0;
  }
  if (static_cast<size_t>(whole) > digits.size()) {
    digits.append(static_cast<size_t>(whole) - digits.size(), '0');
  }
  result.whole = digits.substr(0, static_cast<size_t>(whole));
  result.fraction = digits.substr(static_cast<size_t>(whole));
  result.whole.erase(0, result.whole.find_first_not_of('0'));
  if (result.whole.empty()) {
    result.whole = "0";
  }
  result.fraction.erase(result.fraction.find_last_not_of('0') + 1);
  if (result.whole == "0" && result.fraction.empty()) {
    result.negative = false;
  }
  return result;
}

int Compare(const Decimal& a, const Decimal& b) {
  if (a.negative != b.negative) {
    return a.negative ? -1 : 1;
  }
  int magnitudes = CompareMagnitudes(a, b);
  return a.negative ? -magnitudes : magnitudes;
}

bool NumberRange::Contains(const Decimal& number) const {
  if (low.has_value()) {
    int side = Compare(number, low->at);
    if (side < 0 || (side == 0 && low->exclusive)) {
      return false;
    }
  }
  if (high.has_value()) {
    int side = Compare(number, high->at);
    if (side > 0 || (side == 0 && high->exclusive)) {
      return false;
    }
  }
  return true;
}

StateId AddInteger(Automaton& automaton, const NumberRange& range) {
  return AddRange(automaton, true, range);
}

StateId AddNumber(Automaton& automaton, const NumberRange& range) {
  if (range.low.has_value() || range.high.has_value()) {
    return AddRange(automaton, false, range);
  }
  auto digits = [&](uint32_t min, uint32_t max, StateId then) {
    StateId digit = automaton.AddBytes({{'0', '9', kReturn}});
    return automaton.AddLoop(digit, min, max, then);
  };
  StateId exponent = digits(1, 2, kReturn);
  StateId sign =
      automaton.AddBytes({{'+', '+', exponent}, {'-', '-', exponent}});
  StateId signed_exponent = automaton.AddSplit({sign, exponent});
  StateId with_exponent = automaton.AddBytes(
      {{'e', 'e', signed_exponent}, {'E', 'E', signed_exponent}});
  StateId end = automaton.AddSplit({with_exponent, kReturn});
  StateId fraction = automaton.AddByte('.', digits(1, kMaxNumberDigits, end));
  StateId after_whole = automaton.AddSplit({fraction, end});
  StateId whole = automaton.AddBytes(
      {{'0', '0', after_whole},
       {'1', '9', digits(0, kMaxNumberDigits - 1, after_whole)}});
  StateId minus = automaton.AddByte('-', whole);
  return automaton.AddSplit({minus, whole});
}

}  // namespace glm::grammar

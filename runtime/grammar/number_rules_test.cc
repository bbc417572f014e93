#include "runtime/grammar/number_rules.h"

#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "runtime/grammar/machine.h"

namespace glm::grammar {
namespace {

class Rule {
 public:
  Rule(bool integer, const NumberRange& range) {
    automaton_.root =
        integer ? AddInteger(automaton_, range) : AddNumber(automaton_, range);
    empty_ = automaton_.Trim()[automaton_.root] == kNever;
    machine_.emplace(automaton_);
  }

  bool Has(std::string_view text) {
    machine_->BeginToken();
    int32_t state = machine_->Start(automaton_.root);
    for (char c : text) {
      if (state == Machine::kDead) {
        return false;
      }
      state = machine_->Step(state, static_cast<uint8_t>(c), true);
    }
    return state != Machine::kDead && machine_->CanEnd(state);
  }
  bool empty() const { return empty_; }

 private:
  Automaton automaton_;
  std::optional<Machine> machine_;
  bool empty_ = false;
};

Bound At(const char* text, bool exclusive = false) {
  return {*Decimal::Of(nlohmann::ordered_json::parse(text)), exclusive};
}

TEST(DecimalTest, ReadsNumbersAsDigits) {
  auto of = [](const char* text) {
    Decimal d = *Decimal::Of(nlohmann::ordered_json::parse(text));
    return absl::StrCat(d.negative ? "-" : "", d.whole, ".", d.fraction);
  };
  EXPECT_EQ(of("0"), "0.");
  EXPECT_EQ(of("-0.0"), "0.");
  EXPECT_EQ(of("120"), "120.");
  EXPECT_EQ(of("-12.50"), "-12.5");
  EXPECT_EQ(of("1e3"), "1000.");
  EXPECT_EQ(of("1.5e-7"), "0.00000015");
  EXPECT_EQ(of("18446744073709551615"), "18446744073709551615.");
  EXPECT_LT(Compare(At("-2").at, At("-1.5").at), 0);
  EXPECT_GT(Compare(At("0.5").at, At("0.45").at), 0);
  EXPECT_EQ(Compare(At("1e2").at, At("100.0").at), 0);
}

TEST(NumberRulesTest, IntegersBetweenBoundsAreExact) {
  std::mt19937 random(7);
  for (int turn = 0; turn < 60; ++turn) {
    int low = static_cast<int>(random() % 2400) - 1200;
    int high = low + static_cast<int>(random() % 1300);
    bool low_open = random() % 2 != 0;
    bool high_open = random() % 2 != 0;
    Rule rule(true, {At(absl::StrCat(low).c_str(), low_open),
                     At(absl::StrCat(high).c_str(), high_open)});
    int first = low + (low_open ? 1 : 0);
    int last = high - (high_open ? 1 : 0);
    EXPECT_EQ(rule.empty(), first > last);
    for (int value = -3000; value <= 3000; ++value) {
      ASSERT_EQ(rule.Has(absl::StrCat(value)), value >= first && value <= last)
          << low << " " << high << " " << value;
    }
  }
}

TEST(NumberRulesTest, IntegersOfOneBoundOrNone) {
  Rule from(true, {At("17"), std::nullopt});
  Rule to(true, {std::nullopt, At("-5.5")});
  Rule all(true, {});
  for (int value = -300; value <= 300; ++value) {
    EXPECT_EQ(from.Has(absl::StrCat(value)), value >= 17);
    EXPECT_EQ(to.Has(absl::StrCat(value)), value <= -6);
    EXPECT_TRUE(all.Has(absl::StrCat(value)));
  }
  for (const char* wrong :
       {"", "-", "-0", "01", "+1", "1.0", "1e1", " 1", "1234567890123456789"}) {
    EXPECT_FALSE(all.Has(wrong)) << wrong;
  }
  EXPECT_TRUE(all.Has("-123456789012345678"));
  EXPECT_TRUE(from.Has("999999999999999999"));
}

TEST(NumberRulesTest, NumbersBetweenBoundsAreExact) {
  std::mt19937 random(9);
  auto text_of = [](int hundredths) {
    std::string text =
        absl::StrCat(hundredths < 0 ? "-" : "", std::abs(hundredths) / 100);
    int rest = std::abs(hundredths) % 100;
    if (rest != 0) {
      absl::StrAppend(&text, ".", rest / 10, rest % 10);
    }
    return text;
  };
  for (int turn = 0; turn < 40; ++turn) {
    int low = static_cast<int>(random() % 4000) - 2000;
    int high = low + static_cast<int>(random() % 2500);
    bool low_open = random() % 2 != 0;
    bool high_open = random() % 2 != 0;
    Rule rule(false, {At(text_of(low).c_str(), low_open),
                      At(text_of(high).c_str(), high_open)});
    for (int value = -4600; value <= 4600; ++value) {
      bool right = (low_open ? value > low : value >= low) &&
                   (high_open ? value < high : value <= high);
      ASSERT_EQ(rule.Has(text_of(value)), right)
          << text_of(low) << " " << text_of(high) << " " << text_of(value);
    }
  }
}

TEST(NumberRulesTest, NumbersKeepTheirDigitsInsideBounds) {
  Rule unit(false, {At("0"), At("1")});
  for (const char* right :
       {"0", "1", "0.5", "0.73205", "1.0", "1.000", "0.0"}) {
    EXPECT_TRUE(unit.Has(right)) << right;
  }
  for (const char* wrong : {"1.0001", "-0.1", "2", "00.5", ".5", "1.", "5e-1",
                            "-0", "0.1234567890123456"}) {
    EXPECT_FALSE(unit.Has(wrong)) << wrong;
  }
  Rule open(false, {At("0", true), At("0.01", true)});
  EXPECT_TRUE(open.Has("0.001"));
  EXPECT_FALSE(open.Has("0.0"));
  EXPECT_FALSE(open.Has("0.01"));
  EXPECT_TRUE(Rule(false, {At("3"), At("3")}).Has("3"));
  EXPECT_TRUE(Rule(false, {At("3", true), At("3")}).empty());
  Rule any(false, {});
  for (const char* right : {"0", "-0", "1.25", "-1e5", "2E-07", "1.5e+3"}) {
    EXPECT_TRUE(any.Has(right)) << right;
  }
  for (const char* wrong : {"01", "1.", ".1", "1e", "1e+", "--1", "1e123"}) {
    EXPECT_FALSE(any.Has(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace glm::grammar

#pragma once

#include <random>
#include <string>
#include <vector>

#include "raw_tree.h"

namespace touchstone::symbolic {

/// A variable, and which of its ends the simplifier is not told.
struct Domain {
  std::string name;
  std::int64_t min, max;
  bool open_below, open_above;
};

/// Random trees from a fixed stream.
class Generator {
 public:
  /// wide: operators of many operands are among them.
  explicit Generator(unsigned seed, bool large, bool wide = false)
      : random_(seed), large_(large), wide_(wide) {}

  RawTree tree(int depth) {
    static const std::vector<std::string> ops = {
        "+",   "-",   "*",     "//", "%", "<", "<=", "==", "!=", "and", "or", "not",
        "min", "max", "where", "+",  "+", "-", "*",  "//", "//", "%",   "%",  "*"};
    if (depth == 0 || below(8) == 0) return leaf();
    if (wide_ && below(100) == 0) return wide();
    const std::string& op = ops[below(ops.size())];
    if (op == "not") return {op, {tree(depth - 1)}};
    if (op == "where") return {op, {tree(depth - 1), tree(depth - 1), tree(depth - 1)}};
    if ((op == "//" || op == "%") && below(4) > 0) {
      const int c = static_cast<int>(below(9)) - 2;
      return {op, {tree(depth - 1), number(c == 0 ? 12 : c * (below(3) == 0 ? 4 : 1))}};
    }
    if (op == "*" && below(4) > 0)
      return {op, {tree(depth - 1), number(static_cast<int>(below(13)) - 4)}};
    return {op, {tree(depth - 1), tree(depth - 1)}};
  }

  /// One operator of 2 to 200 small operands, half of the time with the other kind of choice in
  /// each.
  RawTree wide() {
    static const char* const ops[] = {"+", "and", "or", "min", "max"};
    RawTree t{ops[below(5)], {}};
    const bool nested = (t.op == "min" || t.op == "max") && below(2) == 0;
    for (std::size_t left = 2 + below(below(4) ? 12 : 199); left > 0; --left) {
      RawTree one = operand();
      if (nested) one = {t.op == "min" ? "max" : "min", {one, operand()}};
      t.args.push_back(std::move(one));
    }
    return t;
  }

  Domain domain(const std::string& name) {
    const std::int64_t min = below(2) ? 0 : static_cast<std::int64_t>(below(8)) - 4;
    return {name, min, min + 1 + static_cast<std::int64_t>(below(7)), below(8) == 0, below(8) == 0};
  }

  std::mt19937& random() { return random_; }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  static RawTree number(int value) { return {std::to_string(value), {}}; }
  RawTree operand() {
    RawTree t{"*", {{std::string(1, "xyz"[below(3)]), {}}, number(static_cast<int>(below(7)) - 3)}};
    return {"+", {std::move(t), leaf()}};
  }
  RawTree leaf() {
    static const char* large[] = {"9223372036854775807", "9223372036854775808",
                                  "4611686018427387904", "-9223372036854775808",
                                  "1000000000000000000000000000000"};
    if (below(3) > 0) return {std::string(1, "xyz"[below(3)]), {}};
    if (large_ && below(3) == 0) return {large[below(5)], {}};
    return number(static_cast<int>(below(2) ? below(6) : below(30)) - 2);
  }

  std::mt19937 random_;
  bool large_, wide_;
};

}  // namespace touchstone::symbolic

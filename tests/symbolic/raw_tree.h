#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "touchstone/symbolic/integer.h"
#include "touchstone/symbolic/node.h"

namespace touchstone::symbolic {

/// An expression as written, not simplified: what the simplifier is measured by. Values are exact.
struct RawTree {
  std::string op;  // a leaf's name or number where there are no arguments
  std::vector<RawTree> args;
};

/// The value of the tree as written; nullopt where it divides by zero on a path that counts.
inline std::optional<Int> value_of(const RawTree& t, const Values& values) {
  const std::string& op = t.op;
  if (t.args.empty()) {
    if (const auto v = values.find(op); v != values.end()) return Int(v->second);
    return Int::from_digits(op);
  }
  std::vector<Int> v;
  for (const RawTree& a : t.args) {
    auto x = value_of(a, values);
    if (!x) return std::nullopt;
    v.push_back(*x);
  }
  const auto flag = [](bool b) { return Int(b ? 1 : 0); };
  if (op == "+") return v[0] + v[1];
  if (op == "-") return v[0] - v[1];
  if (op == "*") return v[0] * v[1];
  if (op == "//" || op == "%") {
    if (v[1].is_zero()) return std::nullopt;
    return op == "%" ? floor_mod(v[0], v[1]) : floor_div(v[0], v[1]);
  }
  if (op == "<") return flag(v[0] < v[1]);
  if (op == "<=") return flag(v[0] <= v[1]);
  if (op == "==") return flag(v[0] == v[1]);
  if (op == "!=") return flag(v[0] != v[1]);
  if (op == "and") return flag(!v[0].is_zero() && !v[1].is_zero());
  if (op == "or") return flag(!v[0].is_zero() || !v[1].is_zero());
  if (op == "not") return flag(v[0].is_zero());
  if (op == "min") return smaller(v[0], v[1]);
  if (op == "max") return larger(v[0], v[1]);
  return v[0].is_zero() ? v[2] : v[1];  // where
}

/// The tree as text, fully in parentheses.
inline std::string text_of(const RawTree& t) {
  if (t.args.empty()) return t.op[0] == '-' ? "(" + t.op + ")" : t.op;
  if (t.op == "not") return "(not " + text_of(t.args[0]) + ")";
  if (t.op == "min" || t.op == "max" || t.op == "where") {
    std::string r = t.op + "(";
    for (std::size_t i = 0; i < t.args.size(); ++i) r += (i ? ", " : "") + text_of(t.args[i]);
    return r + ")";
  }
  return "(" + text_of(t.args[0]) + " " + t.op + " " + text_of(t.args[1]) + ")";
}

}  // namespace touchstone::symbolic

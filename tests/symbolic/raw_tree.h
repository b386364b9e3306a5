#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "touchstone/symbolic/integer.h"
#include "touchstone/symbolic/node.h"

namespace touchstone::symbolic {

/// An expression as written, not simplified: what the simplifier is measured by. Values are exact.
/// Of `+`, `and`, `or`, `min` and `max` there may be any number of arguments.
struct RawTree {
  std::string op;  // a leaf's name or number where there are no arguments
  std::vector<RawTree> args;
};

/// The value of the tree as written; nullopt where it divides by zero, but for an arm of `where`
/// that is not taken and a part beside one that decides an `and` or an `or`.
inline std::optional<Int> value_of(const RawTree& t, const Values& values) {
  const std::string& op = t.op;
  if (t.args.empty()) {
    if (const auto v = values.find(op); v != values.end()) return Int(v->second);
    return Int::from_digits(op);
  }
  if (op == "where") {
    const auto condition = value_of(t.args[0], values);
    if (!condition) return std::nullopt;
    return value_of(t.args[condition->is_zero() ? 2 : 1], values);
  }
  std::vector<Int> v;
  for (const RawTree& a : t.args)
    if (auto x = value_of(a, values)) v.push_back(std::move(*x));
  if (op == "and" && !std::ranges::none_of(v, &Int::is_zero)) return Int(0);
  if (op == "or" && !std::ranges::all_of(v, &Int::is_zero)) return Int(1);
  if (v.size() < t.args.size()) return std::nullopt;
  const auto flag = [](bool b) { return Int(b ? 1 : 0); };
  const auto folded = [&](const auto& step) {
    Int r = v[0];
    for (std::size_t i = 1; i < v.size(); ++i) r = step(r, v[i]);
    return r;
  };
  if (op == "+") return folded([](const Int& a, const Int& b) { return a + b; });
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
  if (op == "and" || op == "or") return flag(op == "and");
  if (op == "not") return flag(v[0].is_zero());
  if (op == "min") return folded([](const Int& a, const Int& b) { return smaller(a, b); });
  return folded([](const Int& a, const Int& b) { return larger(a, b); });  // max
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
  std::string r = "(" + text_of(t.args[0]);
  for (std::size_t i = 1; i < t.args.size(); ++i) r += " " + t.op + " " + text_of(t.args[i]);
  return r + ")";
}

}  // namespace touchstone::symbolic

#include "touchstone/symbolic/certificate/certificate_json.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/base/json_fault.h"
#include "touchstone/base/json_members.h"

namespace touchstone::symbolic {

using Json = nlohmann::ordered_json;

namespace {

Json chain_json(const Exprs& e, const Chain& chain) {
  Json steps = Json::array();
  for (const DerivationStep& s : chain.steps) {
    Json bindings = Json::object(), facts = Json::array();
    for (const auto& [name, value] : s.bindings) bindings[name] = render(e, value);
    for (const Expr f : s.facts) facts.push_back(render(e, f));
    steps.push_back({{"rule", s.rule},
                     {"backwards", s.backwards},
                     {"path", s.path},
                     {"before", render(e, s.before)},
                     {"after", render(e, s.after)},
                     {"bindings", std::move(bindings)},
                     {"context", render(e, s.context)},
                     {"facts", std::move(facts)},
                     {"whole", render(e, s.whole)}});
  }
  return {{"start", render(e, chain.start)},
          {"result", render(e, chain.result)},
          {"steps", std::move(steps)}};
}

Json end_of(const End& end) {
  if (!end) return nullptr;
  if (const auto small = end->small()) return *small;
  return end->str();
}

End end_of(const Json& j) {
  if (j.is_null()) return std::nullopt;
  if (j.is_number_unsigned()) return Int::from_digits(std::to_string(j.get<std::uint64_t>()));
  if (j.is_number_integer()) return Int(j.get<std::int64_t>());
  Exprs e;
  const Expr number = parse_expr(e, j.get<std::string>());
  if (!e.is_constant(number))
    throw ParseError("a bound must be a whole number, or null where open");
  return e.value(number);
}

Chain chain_of(Exprs& e, const Json& j) {
  const auto read = [&](const Json& text) { return parse_expr(e, text.get<std::string>()); };
  Chain chain;
  chain.start = read(j.at("start"));
  chain.result = read(j.at("result"));
  for (const Json& item : j.at("steps")) {
    DerivationStep s;
    s.rule = item.at("rule");
    s.backwards = item.at("backwards");
    for (const Json& child : item.at("path")) {
      if (!child.is_number_unsigned() || child.get<std::uint64_t>() > UINT32_MAX)
        throw ParseError("not a derivation: a path is a list of operand numbers from 0");
      s.path.push_back(child.get<std::uint32_t>());
    }
    s.before = read(item.at("before"));
    s.after = read(item.at("after"));
    s.whole = read(item.at("whole"));
    s.context = read(item.at("context"));
    for (const auto& [name, value] : item.at("bindings").items())
      s.bindings.emplace_back(name, read(value));
    for (const Json& f : item.at("facts")) s.facts.push_back(read(f));
    chain.steps.push_back(std::move(s));
  }
  return chain;
}

Json whole_json(const Derivation& d) {
  Json variables = Json::object(), assumptions = Json::array();
  for (const auto& [name, range] : d.variables)
    variables[name] = {end_of(range.lo), end_of(range.hi)};
  for (const Chain& a : d.assumptions) assumptions.push_back(chain_json(d.exprs, a));
  Json j = {{"variables", std::move(variables)}, {"assumptions", std::move(assumptions)}};
  j.update(chain_json(d.exprs, d.main));
  if (d.longer) j["longer"] = render(d.exprs, *d.longer);
  return j;
}

}  // namespace

std::string derivation_json(const Derivation& d) { return whole_json(d).dump(1) + "\n"; }

std::string certificate_line(const Derivation& d) { return whole_json(d).dump(); }

namespace {

// Limits of a file; derivations written here stay within them.
constexpr std::size_t kDeepest = 10'000, kMostParts = 1'000'000;

ParseError no_derivation(const nlohmann::json::exception& error) {
  return ParseError(fmt::format("not a derivation: {}; `touchstone simplify --certify` writes one",
                                json_fault(error.what())));
}

void check_size(const Exprs& exprs) {
  if (exprs.count() > kMostParts)
    throw ParseError(fmt::format(
        "the derivation is too large: its expressions have {} distinct parts; the limit is {}",
        exprs.count(), kMostParts));
  std::vector<std::size_t> depth(exprs.count(), 1);  // parts have smaller indices than the whole
  for (Expr e = 0; e < exprs.count(); ++e) {
    for (const Expr a : exprs.args(e)) depth[e] = std::max(depth[e], depth[a] + 1);
    if (depth[e] > kDeepest)
      throw ParseError(fmt::format(
          "the derivation is too deep: an expression is nested more than {} levels", kDeepest));
  }
}

}  // namespace

Json certificate_json(std::string_view text) {
  try {
    Json j = Json::parse(text);
    if (const auto name = member_twice(text, Objects::All))
      throw ParseError(fmt::format("not a certificate: an object has two members {}",
                                   Json(*name).dump(-1, ' ', true)));
    if (j.is_object()) return j;
  } catch (const Json::exception& error) {
    throw ParseError("not a certificate: " + json_fault(error.what()));
  }
  throw ParseError("not a certificate: expected an object");
}

Derivation derivation_of_json(const std::string& text) {
  return derivation_of_json(certificate_json(text));
}

Derivation derivation_of_json(const Json& j) {
  try {
    Derivation d;
    if (!j.at("variables").is_object())
      throw ParseError("not a derivation: \"variables\" must be an object, as {\"a\":[0,8]}");
    for (const auto& [name, ends] : j.at("variables").items()) {
      const Expr variable = parse_expr(d.exprs, name);
      if (d.exprs.op(variable) != ExprOp::Variable || d.exprs.name(variable) != name)
        throw ParseError("not a derivation: \"variables\" contains an invalid name");
      if (!ends.is_array() || ends.size() != 2)
        throw ParseError(fmt::format(
            "not a derivation: the bounds of {} must be two numbers, as [0,8], or null where open",
            name));
      d.variables.push_back({name, {end_of(ends[0]), end_of(ends[1])}});
    }
    for (const Json& a : j.at("assumptions")) d.assumptions.push_back(chain_of(d.exprs, a));
    d.main = chain_of(d.exprs, j);
    if (j.contains("longer")) d.longer = parse_expr(d.exprs, j["longer"].get<std::string>());
    check_size(d.exprs);
    return d;
  } catch (const nlohmann::json::exception& error) {
    throw no_derivation(error);
  }
}

}  // namespace touchstone::symbolic

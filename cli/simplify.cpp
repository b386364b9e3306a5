#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "answer_lines.h"
#include "derivation_view.h"
#include "terminal.h"
#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/symbolic/ask/jsonl.h"
#include "touchstone/symbolic/ask/question.h"
#include "touchstone/symbolic/derive/derive.h"
#include "touchstone/symbolic/node/node.h"
#include "verbs.h"

namespace touchstone::cli {
namespace {

using symbolic::Int;
using Bound = std::optional<Int>;

Bound parse_bound(std::string_view text, const std::string& word) {
  if (text.empty()) return std::nullopt;
  const bool minus = text.front() == '-';
  const std::string_view digits = text.substr(minus ? 1 : 0);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos)
    throw ParseError(fmt::format(
        "--var {}: '{}' is not a whole number; write a=0..10, omit a bound to leave it open", word,
        text));
  return Int::from_digits(text);
}

struct Variable {
  std::string name;
  Bound min, max;
};

// "a=0..10": both ends inclusive and optional.
Variable parse_variable(const std::string& word) {
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  if (equals == std::string::npos) return {name, {}, {}};
  const std::string range = word.substr(equals + 1);
  const std::size_t dots = range.find("..");
  if (dots == std::string::npos) {
    const Bound value = parse_bound(range, word);
    return {name, value, value};
  }
  return {name, parse_bound(std::string_view(range).substr(0, dots), word),
          parse_bound(std::string_view(range).substr(dots + 2), word)};
}

std::vector<symbolic::Derivation::Variable> bounded(const std::vector<Variable>& variables) {
  std::vector<symbolic::Derivation::Variable> out;
  for (const Variable& v : variables) out.push_back({v.name, v.min, v.max});
  return out;
}

/// A derivation that the checker accepts, or the reason why there is none.
struct Certified {
  symbolic::Derivation derivation;
  std::string missing;  // empty if there is one
};

std::string unexplained(const symbolic::Flaw& flaw, const symbolic::Derivation& d) {
  return "no law explains " +
         (flaw.chain < d.assumptions.size()
              ? "a step of an assumption"
              : fmt::format("step {} of {}", flaw.step + 1, d.main.steps.size()));
}

/// Retries the refused step with all facts that hold there, then by testing all points; false after
/// both.
bool show_otherwise(symbolic::Derivation& d, const symbolic::Flaw& flaw) {
  const std::size_t known = std::min(flaw.chain, d.assumptions.size());
  symbolic::Chain& chain = known < d.assumptions.size() ? d.assumptions[known] : d.main;
  if (flaw.step >= chain.steps.size()) return false;
  symbolic::DerivationStep& step = chain.steps[flaw.step];
  if (step.rule == symbolic::kUnexplained) return false;
  const symbolic::Expr whole = flaw.step == 0 ? chain.start : chain.steps[flaw.step - 1].whole;
  std::vector<symbolic::Expr> all = symbolic::facts_at(d, known, whole, step.path);
  if (step.facts == all) {
    if (step.rule != symbolic::kCases) return false;
    step.rule = symbolic::kPoints;
  }
  step.facts = std::move(all);
  return true;
}

Certified certified(const std::string& text,
                    const std::vector<symbolic::Derivation::Variable>& variables,
                    const std::vector<std::string>& assumptions) {
  Certified c{symbolic::derive(text, variables, assumptions), ""};
  // A step that passes alone may fail in the whole, where the checker visits other parts first and
  // may exhaust its budget on them.
  for (;;) {
    auto flaw = symbolic::find_flaw(c.derivation);
    if (!flaw) {
      symbolic::Derivation read = derivation_of_json(certificate_line(c.derivation));
      flaw = symbolic::find_flaw(read);
    }
    if (!flaw) return c;
    if (show_otherwise(c.derivation, *flaw)) continue;
    c.missing = unexplained(*flaw, c.derivation);
    return c;
  }
}

/// The additional members of a certified answer.
std::string certificate_members(std::string_view line) {
  const symbolic::Question q = symbolic::read_question(line);
  std::vector<symbolic::Derivation::Variable> variables;
  const auto bound = [](const symbolic::End& e) { return e ? Bound(*e) : Bound(); };
  for (const auto& [name, range] : q.variables)
    variables.push_back({name, bound(range.lo), bound(range.hi)});
  const auto none = [](std::string_view why) {
    return fmt::format(",\"certificate\":null,\"uncertified\":{}", nlohmann::json(why).dump());
  };
  try {
    const Certified c = certified(q.text, variables, q.assumptions);
    if (!c.missing.empty()) return none(c.missing);
    return ",\"certificate\":" + certificate_line(c.derivation);
  } catch (const Error& e) {
    return none(e.what());
  }
}

int run_jsonl(bool certify) {
  symbolic::Session session;
  return answer_lines("simplify", [&](std::string_view line) {
    std::string answer = symbolic::answer_json(line, session);
    if (certify && answer.starts_with("{\"out\""))
      answer.insert(answer.size() - 1, certificate_members(line));
    return answer;
  });
}

int show_certificate(const SimplifyOptions& options, const std::vector<Variable>& variables) {
  const Certified c = certified(options.expression, bounded(variables), options.assumptions);
  if (c.missing.empty()) {
    fmt::print("{}\n", certificate_line(c.derivation));
    return kExitOk;
  }
  fmt::print(stderr, "no certificate: {}; --steps shows it\n", c.missing);
  return kExitNo;
}

int show_steps(const SimplifyOptions& options, const std::vector<Variable>& variables) {
  symbolic::Derivation d =
      symbolic::derive(options.expression, bounded(variables), options.assumptions);
  const auto flaw = symbolic::find_flaw(d);
  const std::string& format = options.format;
  if (!options.html.empty()) {
    deliver(options.html, derivation_html(d, flaw));
    if (options.html != "-") fmt::print("{} {}\n", dim("page"), options.html);
    return kExitOk;
  }
  fmt::print("{}", format == "json"    ? derivation_json(d)
                   : format == "html"  ? derivation_html(d, flaw)
                   : format == "latex" ? derivation_latex(d)
                                       : derivation_text(d, flaw));
  return kExitOk;
}

int run_replay(const std::string& path) {
  symbolic::Derivation d;
  try {
    d = derivation_of_json(read_file(path));
  } catch (const ParseError& e) {
    throw ParseError(fmt::format("{}: {}", path, e.what()));
  }
  const auto flaw = symbolic::find_flaw(d);
  for (const std::string& b : bounds_words(d)) fmt::print("{}\n", dim(b));
  for (const symbolic::Chain& a : d.assumptions)
    fmt::print("{}\n", dim("given " + render(d.exprs, a.start)));
  fmt::print("{} = {}\n", render(d.exprs, d.main.start), render(d.exprs, d.main.result));
  fmt::print("{}\n", flaw ? red(verdict(d, flaw)) : green(verdict(d, flaw)));
  return flaw ? kExitNo : kExitOk;
}

}  // namespace

int run_simplify(const SimplifyOptions& options) {
  const bool asked = !options.expression.empty();
  if (asked + options.jsonl + options.replay.has_value() != 1)
    throw ParseError("simplify: no expression given; give one, or --replay, or --jsonl");
  if (options.certify && options.replay)
    throw ParseError("simplify: --certify cannot be used with --replay");
  if (!asked && (!options.variables.empty() || !options.assumptions.empty() || options.steps ||
                 !options.format.empty() || !options.html.empty()))
    throw ParseError("simplify: --var, --assume, --steps, --format and --html need an expression");
  if (options.jsonl) return run_jsonl(options.certify);
  if (options.replay) return run_replay(*options.replay);
  std::vector<Variable> variables;
  for (const std::string& word : options.variables) variables.push_back(parse_variable(word));
  if (options.certify) return show_certificate(options, variables);
  if (options.steps || !options.format.empty() || !options.html.empty())
    return show_steps(options, variables);
  symbolic::Question question{{}, options.assumptions, options.expression};
  const auto end = [](const Bound& b) { return b ? symbolic::End(*b) : symbolic::End(); };
  for (const Variable& v : variables)
    question.variables.emplace_back(v.name, symbolic::Interval{end(v.min), end(v.max)});
  symbolic::Context scratch;
  const symbolic::Answer a = symbolic::answer(question, scratch);
  fmt::print("{}\n{}\n", a.text, dim(symbolic::range_and_size(a)));
  return kExitOk;
}

}  // namespace touchstone::cli

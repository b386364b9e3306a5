#include "touchstone/cli/indices/repl_session.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/base/suggest.h"
#include "touchstone/cli/explore/view_story.h"
#include "touchstone/cli/indices/derivation_view.h"
#include "touchstone/cli/indices/repl_table.h"
#include "touchstone/cli/indices/view_drawing.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/symbolic/check/derivation_check.h"
#include "touchstone/symbolic/derive/derive.h"
#include "touchstone/symbolic/expr/expr.h"
#include "touchstone/symbolic/expr/operators.h"
#include "touchstone/symbolic/notation/notation.h"

namespace touchstone::cli {

namespace {

using symbolic::End;
using symbolic::Int;
using symbolic::Interval;

constexpr std::string_view kWords[] = {"and",   "or",   "not",  "min",  "max",
                                       "where", "tdiv", "tmod", "True", "False"};  // completed

std::string_view trimmed(std::string_view s) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t from = s.find_first_not_of(kBlank);
  if (from == s.npos) return {};
  return s.substr(from, s.find_last_not_of(kBlank) - from + 1);
}

bool is_name_part(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool is_name(std::string_view s) {
  return !s.empty() && std::ranges::all_of(s, is_name_part) && (s[0] < '0' || s[0] > '9') &&
         !symbolic::is_reserved(s);
}

End end_of(std::string_view text, std::string_view range) {
  text = trimmed(text);
  if (text.empty()) return {};
  const std::string_view digits = text.substr(text[0] == '-' ? 1 : 0);
  if (digits.empty() || digits.size() > 1'000'000 ||
      digits.find_first_not_of("0123456789") != digits.npos)
    throw ParseError(fmt::format(
        "\"{}\": expected bounds as 0..10, omit a bound to leave it open; \"{}\" is not a number",
        range, text));
  return Int::from_digits(std::string(text));
}

std::string range_text(const Interval& r) {
  return (r.lo ? r.lo->str() : "") + ".." + (r.hi ? r.hi->str() : "");
}

/// Returns "rest" of "word rest" if the line begins with that word, else nullopt.
std::optional<std::string_view> after_word(std::string_view line, std::string_view word) {
  if (!line.starts_with(word)) return std::nullopt;
  if (line.size() > word.size() && is_name_part(line[word.size()])) return std::nullopt;
  return trimmed(line.substr(word.size()));
}

/// The position of an `=` that is not part of <= >= == !=.
std::size_t lone_equals(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '=') continue;
    if (i + 1 < line.size() && line[i + 1] == '=') {
      ++i;
      continue;
    }
    if (i > 0 && (line[i - 1] == '<' || line[i - 1] == '>' || line[i - 1] == '!')) continue;
    return i;
  }
  return line.npos;
}

std::string shown(const symbolic::Answer& a) {
  return a.text + "\n" + dim(symbolic::range_and_size(a)) + "\n";
}

[[noreturn]] void unknown_name(std::string_view text, const std::string& name) {
  std::size_t at = text.find(name);
  while (at != text.npos &&
         ((at > 0 && is_name_part(text[at - 1])) ||
          (at + name.size() < text.size() && is_name_part(text[at + name.size()]))))
    at = text.find(name, at + 1);
  if (at == text.npos) at = 0;
  throw ParseError(
      fmt::format("column {}: unknown name \"{}\"; declare a variable with {} = 0..10\n  {}\n  {}^",
                  at + 1, name, name, text.substr(0, 200), std::string(at, ' ')));
}

}  // namespace

const ReplSession::Command ReplSession::kCommands[] = {
    {":steps", "EXPR", "how it is simplified, rule by rule", &ReplSession::steps},
    {":table", "EXPR", "its values", &ReplSession::table},
    {":plot", "EXPR", "the same as a plot, of one variable or two", &ReplSession::plot},
    {":view", "SHAPE OP ARGUMENT ..", "what a view reads: 4,6 permute 1,0", &ReplSession::view},
    {":equal", "EXPR ; EXPR", "whether they are equal: proved, refuted by a point, or unknown",
     &ReplSession::equal},
    {":read", "LANGUAGE EXPR", "an expression in c, sympy, mlir or another (docs/notations.md)",
     &ReplSession::read},
    {":write", "LANGUAGE EXPR", "its simplest form in that language", &ReplSession::write},
    {":names", "", "variables, definitions and assumptions", &ReplSession::names},
    {":load", "FILE", "runs the lines of a file, as if typed", &ReplSession::load},
    {":save", "FILE", "writes names and assumptions to a file that :load reads",
     &ReplSession::save},
    {":help", "", "this", &ReplSession::help},
    {":quit", "", "quits, as does Ctrl-D", &ReplSession::quit},
};

std::string ReplSession::answer(std::string_view line) {
  line = trimmed(line.substr(0, line.find('#')));
  if (line.empty()) return "";
  if (line[0] == ':') {
    const std::string_view word = line.substr(0, line.find_first_of(" \t"));
    const auto command = std::ranges::find(kCommands, word, &Command::name);
    if (command == std::end(kCommands)) {
      std::vector<std::string> known;
      for (const Command& c : kCommands) known.emplace_back(c.name);
      throw ParseError(
          fmt::format("there is no command {}; known: {}", word, fmt::join(known, " ")));
    }
    const std::string_view argument = trimmed(line.substr(word.size()));
    if (argument.empty() != command->arguments.empty())
      throw ParseError(fmt::format("write {} {}", command->name, command->arguments));
    return (this->*command->run)(argument);
  }
  if (const auto rest = after_word(line, "assume")) return assume(*rest);
  if (const auto rest = after_word(line, "forget")) return forget(*rest);
  if (line == "help") return help("");
  if (line == "quit" || line == "exit") return quit("");
  const std::size_t equals = lone_equals(line);
  return equals == line.npos ? simplify(line) : define(line, equals);
}

const ReplSession::Definition* ReplSession::find(std::string_view name) const {
  const auto at = std::ranges::find(definitions_, name, &Definition::name);
  return at == definitions_.end() ? nullptr : &*at;
}

std::string ReplSession::expanded(std::string_view text, bool open) const {
  symbolic::Exprs exprs;
  std::map<std::string, symbolic::Expr, std::less<>> known;
  for (const Definition& d : definitions_)
    known.emplace(d.name, d.variable ? exprs.variable(d.name)
                                     : exprs.substitute(parse_expr(exprs, d.text), known));
  const symbolic::Expr root = parse_expr(exprs, text);
  for (const symbolic::Expr part : exprs.parts(root))
    if (!open && exprs.op(part) == symbolic::ExprOp::Variable && !known.contains(exprs.name(part)))
      unknown_name(text, exprs.name(part));
  const symbolic::Expr full = exprs.substitute(root, known);
  for (const symbolic::Expr part : exprs.parts(full)) {
    if (exprs.op(part) != symbolic::ExprOp::Variable) continue;
    const Definition* d = find(exprs.name(part));
    if (d ? !d->variable : !open)
      throw ParseError(fmt::format(
          "\"{0}\", used by a definition, has no bounds; declare {0} = 0..10", exprs.name(part)));
  }
  if (full == root) return std::string(text);  // columns stay those of the line
  if (exprs.size(full) > 1'000'000)
    throw Error("with the definitions inserted, this has more than a million parts");
  return render(exprs, full);
}

symbolic::Question ReplSession::question(std::string_view text) const {
  symbolic::Question q{{}, {}, expanded(text)};
  for (const Definition& d : definitions_)
    if (d.variable) q.variables.emplace_back(d.name, d.range);
  for (const std::string& a : assumptions_) q.assumptions.push_back(expanded(a));
  return q;
}

symbolic::Answer ReplSession::ask(const symbolic::Question& q) {
  try {
    return symbolic::answer(q, scratch_);
  } catch (const ParseError& e) {
    const std::string what = e.what();
    throw ParseError(what.starts_with("in: ") ? what.substr(4) : what);
  }
}

std::string ReplSession::define(std::string_view line, std::size_t equals) {
  const std::string name(trimmed(line.substr(0, equals)));
  const std::string_view text = trimmed(line.substr(equals + 1));
  if (!is_name(name))
    throw ParseError(fmt::format(
        "\"{}\" cannot be defined; write a = 0..10, or t = a//4; equality is ==", name));
  Definition d{name, std::string(text), text.find("..") != text.npos, {}};
  if (d.variable) {
    const std::size_t dots = text.find("..");
    d.range = {end_of(text.substr(0, dots), text), end_of(text.substr(dots + 2), text)};
    if (d.range.lo && d.range.hi && *d.range.hi < *d.range.lo)
      throw ParseError(fmt::format("{} would have no values: {} is empty", name, text));
    d.text = range_text(d.range);
  }
  // Works on a copy, in which every definition must stay valid.
  const auto before = definitions_;
  const auto at = std::ranges::find(definitions_, name, &Definition::name);
  try {
    if (!d.variable) ask(question(d.text));
    if (at != definitions_.end() && at->variable && d.variable) {
      *at = d;  // keeps its place: dependent definitions follow it
    } else {
      if (at != definitions_.end()) definitions_.erase(at);
      definitions_.push_back(d);
      for (const Definition& other : definitions_) expanded(other.name);
    }
    for (const std::string& a : assumptions_) expanded(a);
    return d.variable ? "" : simplify(name);
  } catch (const Error&) {
    definitions_ = before;
    throw;
  }
}

std::string ReplSession::assume(std::string_view condition) {
  if (condition.empty()) throw ParseError("write assume a < b");
  expanded(condition);
  assumptions_.emplace_back(condition);
  try {
    ask(question("0"));
  } catch (const Error&) {
    assumptions_.pop_back();
    throw;
  }
  return "";
}

std::string ReplSession::forget(std::string_view what) {
  if (what.empty()) {
    assumptions_.clear();
    return "";
  }
  if (const auto a = std::ranges::find(assumptions_, what); a != assumptions_.end()) {
    assumptions_.erase(a);
    return "";
  }
  const auto at = std::ranges::find(definitions_, what, &Definition::name);
  if (at == definitions_.end())
    throw ParseError(
        fmt::format("\"{}\" is neither a name nor an assumption; `forget` alone drops "
                    "all assumptions",
                    what));
  const auto before = definitions_;
  definitions_.erase(at);
  try {
    for (const Definition& d : definitions_) expanded(d.name);
    for (const std::string& a : assumptions_) expanded(a);
  } catch (const Error&) {
    definitions_ = before;
    throw ParseError(fmt::format("{} is still in use; forget that first", what));
  }
  return "";
}

std::string ReplSession::simplify(std::string_view text) { return shown(ask(question(text))); }

std::string ReplSession::steps(std::string_view text) {
  const symbolic::Question q = question(text);
  symbolic::Derivation d = symbolic::derive(q.text, q.variables, q.assumptions);
  return derivation_text(d, symbolic::find_flaw(d));
}

std::string ReplSession::table(std::string_view text) {
  return value_table(question(text), scratch_);
}

std::string ReplSession::plot(std::string_view text) {
  return value_plot(question(text), scratch_, {draws_unicode(), output_columns()});
}

std::string ReplSession::view(std::string_view text) {
  std::string out;
  for (const std::string& step : view_drawings(explore::tell(explore::words_in(std::string(text))),
                                               {draws_unicode(), output_columns()}))
    out += step;
  return out;
}

std::string ReplSession::conditions() const {
  std::string all;
  const auto add = [&](const std::string& c) { all += (all.empty() ? "(" : " and (") + c + ")"; };
  for (const Definition& d : definitions_) {
    if (!d.variable) continue;
    if (d.range.lo) add(d.range.lo->str() + " <= " + d.name);
    if (d.range.hi) add(d.name + " <= " + d.range.hi->str());
  }
  for (const std::string& a : assumptions_) add(expanded(a));
  return all;
}

std::string ReplSession::equal(std::string_view pair) {
  const std::size_t cut = pair.find(';');
  if (cut == pair.npos || pair.find(';', cut + 1) != pair.npos)
    throw ParseError("write :equal EXPR ; EXPR");
  const std::string a = expanded(trimmed(pair.substr(0, cut))),
                    b = expanded(trimmed(pair.substr(cut + 1)));
  const symbolic::Answer form = ask(question(a));
  if (ask(question(b)).text == form.text)
    return fmt::format("{}: both are {}\n", green("equal"), form.text);
  const prove::Proof proof = decider_.decide(prove::Prover::equality(a, b, conditions()));
  switch (proof.verdict) {
    case prove::Verdict::Proved:
      return fmt::format("{}, wherever both have a value{}: proved by {}\n", green("equal"),
                         proof.vacuous ? ", but they never have one" : "", name_of(proof.method));
    case prove::Verdict::Refuted:
      return fmt::format("{}: at {}\n", red("not equal"), text_of(*proof.counterexample));
    case prove::Verdict::Unknown: break;
  }
  return fmt::format("{}: {}\n", yellow("unknown"), proof.reason);
}

std::string ReplSession::names(std::string_view) {
  std::string r;
  for (const Definition& d : definitions_) r += fmt::format("{} = {}\n", d.name, d.text);
  for (const std::string& a : assumptions_) r += fmt::format("assume {}\n", a);
  return r;
}

std::string ReplSession::load(std::string_view path) {
  constexpr int kDeepest = 8;
  if (loading_ == kDeepest) throw ParseError(":load: files nest more than 8 deep");
  std::istringstream in(read_file(std::string(path)));
  ++loading_;
  std::string shown;
  int number = 0;
  for (std::string line; !ended_ && std::getline(in, line);) {
    ++number;
    try {
      shown += answer(line);
    } catch (const Error& e) {
      --loading_;
      throw ParseError(fmt::format("{}, line {}: {}", path, number, e.what()));
    }
  }
  --loading_;
  return shown;
}

std::string ReplSession::save(std::string_view path) {
  write_file_atomically(std::string(path), names(""));
  return "";
}

std::string ReplSession::help(std::string_view) {
  std::string r =
      "a = 0..10           a variable and its bounds; omit a bound to leave it open\nt = a//4      "
      "      a name for an expression\na*4//4 + t          an expression: its simplest form, "
      "bounds and size\nassume a < b        holds from now on; forget a < b drops it, forget drops "
      "all assumptions\nforget a            drops a name\n";
  for (const Command& c : kCommands)
    r += fmt::format("{:<19} {}\n", fmt::format("{} {}", c.name, c.arguments), c.what);
  return r +
         "Operators: + - * // % < <= > >= == != and or not min() max() where(c,a,b) tdiv() "
         "tmod()\n";
}

std::string ReplSession::read(std::string_view words) {
  const std::string_view name = words.substr(0, words.find(' '));
  symbolic::Question given = question("0");
  given.text = trimmed(words.substr(name.size()));
  const auto session = std::exchange(given.assumptions, {});
  std::string r;
  symbolic::Translation t = translate(given, symbolic::parse_language(name));
  for (symbolic::Question& q : t.questions) {
    q.text = expanded(q.text, true);
    for (std::string& a : q.assumptions) a = expanded(a, true);
    q.assumptions.insert(q.assumptions.end(), session.begin(), session.end());
    r += shown(ask(q));
  }
  for (const std::string& note : t.notes) r += note + "\n";
  return r;
}

std::string ReplSession::write(std::string_view words) {
  const std::string_view name = words.substr(0, words.find(' '));
  const symbolic::Question q = question(trimmed(words.substr(name.size())));
  return written(ask(q).text, q, symbolic::parse_language(name)) + "\n";
}

std::string ReplSession::quit(std::string_view) {
  ended_ = true;
  return "";
}

std::vector<std::string> ReplSession::completions(std::string_view word) const {
  std::vector<std::string> found;
  const auto offer = [&](std::string_view candidate) {
    if (candidate.starts_with(word)) found.emplace_back(candidate);
  };
  for (const Command& c : kCommands) offer(c.name);
  for (const std::string_view w : kWords) offer(w);
  offer("assume");
  offer("forget");
  for (const Definition& d : definitions_) offer(d.name);
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace touchstone::cli

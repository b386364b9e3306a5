#include "touchstone/decide/decide.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "touchstone/base/interrupt.h"
#include "touchstone/decide/residues.h"
#include "touchstone/prove/defined.h"
#include "touchstone/symbolic/certificate/certificate_json.h"
#include "touchstone/symbolic/certificate/certify.h"
#include "touchstone/symbolic/check/derivation_check.h"
#include "touchstone/symbolic/expr/rebuild.h"

namespace touchstone::decide {

namespace {

using prove::Claim;
using prove::Counterexample;
using prove::Expr;
using prove::ExprOp;
using prove::Exprs;
using prove::Int;
using prove::Method;
using prove::Proof;
using prove::Verdict;
using symbolic::Derivation;
using symbolic::Question;

/// True for the operators whose values are 0 and 1.
bool tells(ExprOp op) { return op >= ExprOp::Or && op <= ExprOp::Ne; }

/// A second road for proofs without a certificate.
std::string evaluated(const Claim& claim, std::size_t most) {
  return fmt::format("no counterexample at {} points", prove::samples(claim, most).size());
}

/// Searches for certificates of one claim.
class Certificates {
 public:
  explicit Certificates(const Claim& claim) : claim_(claim), box_(prove::box_of(claim)) {
    for (const std::string& name : prove::variables_of(claim.exprs, prove::roots_of(claim))) {
      const auto range = box_.ranges.find(name);
      variables_.emplace_back(name,
                              range == box_.ranges.end() ? symbolic::Interval() : range->second);
    }
  }

  /// By the simplifier's steps; empty, and the reason in `why`, if there is none.
  std::string by_laws(std::string& why) const {
    Exprs e = claim_.exprs;
    Expr text = claim_.lhs;
    if (!e.is_constant(claim_.rhs, 1) || !tells(e.op(text))) {
      const auto given = prove::conjuncts_of(e, prove::defined(e, claim_.lhs));
      for (const Expr c : prove::conjuncts_of(e, prove::defined(e, claim_.rhs)))
        if (!e.is_constant(c, 1) && std::ranges::find(given, c) == given.end() &&
            std::ranges::find(claim_.when, c) == claim_.when.end()) {
          why = "the right side may divide by 0";
          return "";
        }
      text = e.apply(ExprOp::Eq, {claim_.lhs, claim_.rhs});
    }
    Question question{variables_, {}, render(e, text)};
    for (const Expr fact : box_.others) question.assumptions.push_back(render(e, fact));
    try {
      const symbolic::Certified found = certify(question);
      const Derivation& d = found.derivation;
      if (!d.exprs.is_constant(d.main.result, 1))
        why = "it becomes " + render(d.exprs, d.main.result);
      else if (!found.missing.empty())
        why = "it becomes 1, but " + found.missing;
      else
        return certificate_line(d);
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& error) {
      why = error.what();
    }
    return "";
  }

  /// By one step: in each case, or at all points; of an equation, from side to side.
  std::string in_one(std::string_view rule, std::string& why) const {
    const Exprs& e = claim_.exprs;
    std::string line = in_one(rule, claim_.lhs, claim_.rhs, why);
    if (line.empty() && e.op(claim_.lhs) == ExprOp::Eq && e.is_constant(claim_.rhs, 1))
      line = in_one(rule, e.arg(claim_.lhs, 0), e.arg(claim_.lhs, 1), why);
    return line;
  }

 private:
  std::string in_one(std::string_view rule, Expr from, Expr to, std::string& why) const {
    Derivation d;
    d.exprs = claim_.exprs;
    d.variables = variables_;
    for (const Expr fact : box_.others) d.assumptions.push_back({fact, fact, {}});
    d.main.start = from;
    d.main.result = to;
    symbolic::DerivationStep step;
    step.rule = rule;
    step.before = from;
    step.after = step.whole = to;
    step.context = d.exprs.variable("_");
    step.facts = facts_at(d, d.assumptions.size(), d.main.start, {});
    if (step.before != step.after) d.main.steps.push_back(std::move(step));
    auto flaw = find_flaw(d);
    if (!flaw) {
      std::string line = certificate_line(d);
      Derivation read = symbolic::derivation_of_json(line);
      flaw = find_flaw(read);
      if (!flaw) return line;
    }
    why = flaw->what;
    return "";
  }

  const Claim& claim_;
  prove::Box box_;
  std::vector<Derivation::Variable> variables_;
};

}  // namespace

Work Work::of_effort(unsigned effort) {
  Work work{{}, effort > 0};
  work.limits.effort = effort;
  work.limits.step_effort = std::min(work.limits.step_effort, effort);
  return work;
}

Claim claim_of(const Question& question) {
  Claim claim;
  Exprs& e = claim.exprs;
  for (const auto& [name, range] : question.variables) {
    const Expr x = e.variable(name);
    if (range.lo) claim.when.push_back(e.apply(ExprOp::Le, {e.constant(*range.lo), x}));
    if (range.hi) claim.when.push_back(e.apply(ExprOp::Le, {x, e.constant(*range.hi)}));
  }
  for (const std::string& text : question.assumptions)
    for (const Expr c : prove::conjuncts_of(e, parse_expr(e, text))) claim.when.push_back(c);
  claim.lhs = parse_expr(e, question.text);
  if (!tells(e.op(claim.lhs))) claim.lhs = e.apply(ExprOp::Ne, {claim.lhs, e.constant(0)});
  claim.rhs = e.constant(1);
  return claim;
}

bool is_claim(std::string_view text) {
  Exprs e;
  return tells(e.op(symbolic::parse_expr(e, text)));
}

Proof Decider::decide(const Question& question) {
  symbolic::Context scratch;
  const symbolic::Reading checked(question, scratch);
  return decide(claim_of(question));
}

Proof Decider::decide(const Claim& claim) {
  constexpr std::size_t kMostKept = 4096, kMostBytes = std::size_t{32} << 20;
  std::string key = text_of(claim);
  if (const auto known = kept_.find(key); known != kept_.end()) return known->second;
  if (kept_.size() >= kMostKept || kept_bytes_ > kMostBytes) kept_.clear(), kept_bytes_ = 0;
  const auto start = std::chrono::steady_clock::now();
  Proof proof = fresh(claim);
  proof.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  kept_bytes_ += key.size() + proof.certificate.size();
  for (const prove::Query& q : proof.queries) kept_bytes_ += q.script.size();
  return kept_.emplace(std::move(key), std::move(proof)).first->second;
}

Proof Decider::of_thread(const Question& question, unsigned effort) {
  thread_local std::optional<std::pair<unsigned, Decider>> kept;
  if (!kept || kept->first != effort) kept.emplace(effort, Decider(Work::of_effort(effort)));
  Proof proof = kept->second.decide(question);
  kept->second.prover_ = prove::Prover(kept->second.work_.limits);  // ends its child
  return proof;
}

Proof Decider::fresh(const Claim& claim) {
  Proof proof;
  if (claim.exprs.count() > prove::kMostParts) {
    proof.reason = fmt::format("the claim has more than {} parts", prove::kMostParts);
    return proof;
  }
  const prove::Limits& limits = work_.limits;
  std::string why;
  const auto certified = [&](Method method, std::string certificate) {
    if (!certificate.empty()) return proof.accept(method, std::move(certificate));
    proof.tried.push_back(fmt::format("{}: {}", name_of(method), why));
    return false;
  };
  const auto decided = [&] {
    if (proof.refute(Method::Search, prove::search(claim, limits.first_points))) return true;
    std::optional<prove::Enumeration> all;
    const auto enumerated = [&](std::size_t most) {
      all = prove::enumerate(claim, most);
      return all && proof.refute(Method::Enumeration, all->counterexample);
    };
    if (enumerated(limits.first_enumerated)) return true;
    const Certificates certificates(claim);
    if (certified(Method::Laws, certificates.by_laws(why)) ||
        certified(Method::Cases, certificates.in_one(symbolic::kCases, why)))
      return true;
    ByResidues residues = by_residues(claim, limits.enumerated);
    if (proof.refute(Method::Residues, std::move(residues.counterexample))) return true;
    if (residues.proved)
      return proof.accept(Method::Residues, "", evaluated(claim, limits.first_points));
    proof.tried.push_back("residues: " + residues.why);
    if (certified(Method::Points, certificates.in_one(symbolic::kPoints, why)) ||
        enumerated(limits.enumerated) || by_parts(claim, proof))
      return true;
    if (all)
      return proof.accept(Method::Enumeration, "", fmt::format("all {} points", all->points));
    if (!work_.solver)
      return proof.refute(Method::Search, prove::search(claim, limits.last_points));
    Proof solved = prover_.prove(claim);
    solved.tried = std::move(proof.tried);
    proof = std::move(solved);
    if (proof.verdict == Verdict::Proved)
      proof.confirmed = evaluated(claim, limits.first_points);
    else if (proof.verdict == Verdict::Unknown)
      proof.tried.push_back(
          fmt::format("solver: {} questions, {}", proof.queries.size(), proof.reason));
    return proof.verdict != Verdict::Unknown;
  };
  if (!decided()) proof.reason = fmt::format("{}", fmt::join(proof.tried, "; "));
  if (proof.verdict == Verdict::Proved) proof.vacuous = prover_.claims_nothing(claim);
  return proof;
}

bool Decider::by_parts(const Claim& claim, Proof& proof) {
  if (claim.exprs.op(claim.lhs) != ExprOp::And || !claim.exprs.is_constant(claim.rhs, 1))
    return false;
  std::string certificate, confirmed;
  for (const Expr part : prove::conjuncts_of(claim.exprs, claim.lhs)) {
    Claim one = claim;
    one.lhs = tells(claim.exprs.op(part))
                  ? part
                  : one.exprs.apply(ExprOp::Ne, {part, one.exprs.constant(0)});
    const Proof own = decide(one);
    if (own.counterexample) {
      const auto& point = own.counterexample->point;
      return proof.refute(own.method, counterexample_at(claim, {point.begin(), point.end()}));
    }
    if (own.verdict != Verdict::Proved) {
      proof.tried.push_back(fmt::format("parts: {} is undecided", render(claim.exprs, part)));
      return false;
    }
    if (!own.certificate.empty())
      certificate += (certificate.empty() ? "" : "\n") + own.certificate;
    if (!own.confirmed.empty()) confirmed = own.confirmed;
  }
  return proof.accept(Method::Parts, std::move(certificate), std::move(confirmed));
}

symbolic::Answer Decider::simplify(const Question& question) {
  constexpr int kMostRounds = 4, kMostRaises = 6;
  constexpr std::size_t kSamples = 500;
  symbolic::Context scratch;
  Question now = question;
  symbolic::Answer answer = symbolic::answer(now, scratch);
  const auto holds = [&](std::string text) {
    return decide({question.variables, question.assumptions, std::move(text)}).verdict ==
           Verdict::Proved;
  };
  for (int round = 0; round < kMostRounds; ++round) {
    Exprs e;
    const Expr root = symbolic::parse_expr(e, answer.text);
    std::optional<std::pair<Expr, bool>> known;
    for (const Expr part : e.parts(root)) {
      if (known || !tells(e.op(part)) || e.op(part) == ExprOp::Not) continue;
      const std::string text = render(e, part);
      if (holds(text))
        known.emplace(part, true);
      else if (holds("not (" + text + ")"))
        known.emplace(part, false);
    }
    if (!known) break;
    const Expr truth = e.constant(known->second ? 1 : 0);
    now.text = render(e, replaced(e, root, [&](Expr part) {
                        return part == known->first ? std::optional(truth) : std::nullopt;
                      }));
    answer = symbolic::answer(now, scratch);
  }
  // Each end: the farthest value met is tried as the end, until no point refutes it.
  const Claim any =
      claim_of({question.variables, question.assumptions, "(" + answer.text + ") == 0"});
  const Expr number = any.exprs.arg(any.lhs, 0);
  symbolic::Evaluator values(any.exprs, {number},
                             prove::variables_of(any.exprs, prove::roots_of(any)));
  const auto points = prove::samples(any, kSamples);
  for (const bool upper : {false, true}) {
    symbolic::End& end = upper ? answer.bounds.hi : answer.bounds.lo;
    std::optional<Int> best;
    const auto meet = [&](std::span<const Int> point) {
      values.at(point);
      const auto& v = values.value(number);
      if (v && (!best || (upper ? *best < *v : *v < *best))) best = v;
    };
    for (const std::vector<Int>& point : points) meet(point);
    for (int raises = 0; best && raises < kMostRaises && !(end && *end == *best); ++raises) {
      const Proof proof =
          decide({question.variables, question.assumptions,
                  fmt::format("({}) {} {}", answer.text, upper ? "<=" : ">=", best->str())});
      if (proof.verdict == Verdict::Proved) end = *best;
      if (!proof.counterexample) break;
      std::vector<Int> point;
      for (const auto& [name, value] : proof.counterexample->point) point.push_back(value);
      meet(point);
    }
  }
  if (answer.bounds.is_point()) {
    answer.text = answer.bounds.lo->str();
    answer.size = 1;
  }
  return answer;
}

std::string words_of(const Proof& proof) {
  if (const auto& found = proof.counterexample) {
    const std::string text = text_of(*found);
    return "false at " + text.substr(0, text.find(": "));
  }
  if (proof.verdict == Verdict::Unknown) return "undecided: " + proof.reason;
  return fmt::format("true{}, by {}, {}", proof.vacuous ? ", but the facts never hold" : "",
                     name_of(proof.method),
                     proof.certificate.empty() ? proof.confirmed : "with a certificate");
}

}  // namespace touchstone::decide

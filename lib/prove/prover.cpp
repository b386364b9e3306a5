#include "touchstone/prove/prover.h"

#include <algorithm>
#include <chrono>
#include <set>

#include <fmt/format.h>

#include "touchstone/prove/defined.h"
#include "touchstone/prove/smt.h"

namespace touchstone::prove {

namespace {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

Reply Prover::put(Query query, unsigned effort, double seconds, Proof& proof) {
  Reply reply = solver_.ask(query.script, effort, seconds);
  query.answer = reply.answer;
  query.reason = reply.reason;
  query.seconds = reply.seconds;
  proof.queries.push_back(std::move(query));
  return reply;
}

bool Prover::ask(const Exprs& exprs, const std::vector<Expr>& facts, Expr goal, Proof& proof) {
  // Gives up after so many undecided questions.
  constexpr int kMostOpen = 5;
  double spent = 0;
  for (const Query& q : proof.queries) spent += q.seconds;
  if (spent > limits_.elimination_seconds ||
      std::ranges::count(proof.queries, Answer::Unknown, &Query::answer) >= kMostOpen)
    return false;
  return put({render(exprs, goal), smt_script(exprs, facts, goal), {}, {}, 0}, limits_.step_effort,
             limits_.step_seconds, proof)
             .answer == Answer::Unsat;
}

bool Prover::eliminate(const Claim& claim, Proof& proof) {
  return std::ranges::all_of(by_signs(claim), [&](const Claim& part) {
    Elimination elimination(
        part,
        [&](const Exprs& exprs, const std::vector<Expr>& facts, Expr goal) {
          return ask(exprs, facts, goal, proof);
        },
        proof.steps);
    return elimination.run();
  });
}

std::vector<Expr> Prover::facts_of(Exprs& e, const Claim& claim) {
  std::vector<Expr> facts = claim.when;
  for (const Expr c : claim.when) facts.push_back(defined(e, c));
  facts.push_back(defined(e, claim.lhs));
  std::erase_if(facts, [&](Expr f) { return e.is_constant(f, 1); });
  return facts;
}

bool Prover::claims_nothing(const Claim& claim) {
  if (claim.when.empty() || !samples(claim, 1).empty()) return false;
  if (const auto all = enumerate(claim, limits_.enumerated)) return all->inside == 0;
  Claim copy = claim;
  const std::vector<Expr> facts = facts_of(copy.exprs, claim);
  const std::string script = smt_script(copy.exprs, facts, copy.exprs.constant(0));
  return solver_.ask(script, limits_.step_effort, limits_.step_seconds).answer == Answer::Unsat;
}

bool Prover::ask_directly(const Claim& claim, Proof& proof) {
  Claim copy = claim;
  Exprs& e = copy.exprs;
  const std::vector<Expr> facts = facts_of(e, claim);
  const Expr equal = e.apply(ExprOp::Eq, {claim.lhs, claim.rhs});
  const Expr goal = e.apply(ExprOp::And, {defined(e, claim.rhs), equal});
  const Reply reply = put({text_of(claim), smt_script(e, facts, goal), {}, {}, 0}, limits_.effort,
                          limits_.seconds, proof);
  if (reply.answer == Answer::Unsat) return proof.accept(Method::Direct);
  proof.reason = reply.reason;
  if (reply.answer != Answer::Sat) return false;
  std::vector<Expr> asked = claim.when;
  asked.insert(asked.end(), {goal, claim.lhs, claim.rhs});
  std::map<std::string, Int> point;
  for (const std::string& name : variables_of(e, asked))
    if (const auto found = reply.model.find(smt_name(name)); found != reply.model.end())
      point.emplace(name, found->second);
  if (proof.refute(Method::Model, counterexample_at(claim, point))) return true;
  proof.reason = "the solver's model is not a counterexample";
  return false;
}

Proof Prover::prove(const Claim& claim) {
  const Stopwatch watch;
  Proof proof;
  const auto decided = [&] {
    if (proof.refute(Method::Search, search(claim, limits_.first_points))) return true;
    // A false finite claim is refuted by enumeration before asking the solver; for a true one, a
    // proof without points is more informative.
    auto all = enumerate(claim, limits_.first_enumerated);
    const auto refuted = [&] {
      return all && proof.refute(Method::Enumeration, all->counterexample);
    };
    if (refuted()) return true;
    if (eliminate(claim, proof)) return proof.accept(Method::Elimination);
    if (all) return proof.accept(Method::Enumeration);
    if (ask_directly(claim, proof)) return true;
    all = enumerate(claim, limits_.enumerated);
    if (refuted()) return true;
    if (all) return proof.accept(Method::Enumeration);
    return proof.refute(Method::Search, search(claim, limits_.last_points));
  };
  if (decided()) proof.reason.clear();
  if (proof.verdict == Verdict::Proved) proof.vacuous = claims_nothing(claim);
  proof.seconds = watch.seconds();
  return proof;
}

namespace {

/// Drops conditions on variables unrelated to the sides, which only multiply the points to test;
/// keeps all unless those dropped are found to hold somewhere.
void drop_unrelated(Claim& claim) {
  const auto names_of = [&](Expr e) { return variables_of(claim.exprs, {e}); };
  std::set<std::string> related;
  for (const Expr side : {claim.lhs, claim.rhs})
    for (const std::string& name : names_of(side)) related.insert(name);
  std::vector<Expr> kept, left = claim.when;
  for (bool again = true; again;) {
    again = false;
    std::erase_if(left, [&](Expr condition) {
      const auto names = names_of(condition);
      const auto known = [&](const std::string& name) { return related.contains(name); };
      if (!names.empty() && std::ranges::none_of(names, known)) return false;
      related.insert(names.begin(), names.end());
      kept.push_back(condition);
      return again = true;
    });
  }
  if (left.empty()) return;
  Claim others = claim;
  others.when = left;
  others.lhs = others.rhs = others.exprs.constant(0);
  if (!samples(others, 1).empty()) claim.when = kept;
}

}  // namespace

Claim Prover::equality(std::string_view a, std::string_view b, std::string_view when) {
  Claim claim = read_claim(a, b, when);
  for (const Expr c : conjuncts_of(claim.exprs, defined(claim.exprs, claim.rhs)))
    if (!claim.exprs.is_constant(c)) claim.when.push_back(c);
  drop_unrelated(claim);
  return claim;
}

std::string smt_file(const Claim& claim, const Proof& proof) {
  std::string text = fmt::format("; {}\n; {}\n", text_of(claim), name_of(proof.verdict));
  for (const Query& q : proof.queries)
    text += fmt::format("\n; {}\n; {}\n{}(check-sat)\n(reset)\n", q.goal,
                        q.answer == Answer::Unsat ? "unsat: proved"
                        : q.answer == Answer::Sat ? "sat: does not follow"
                                                  : "unknown: " + q.reason,
                        q.script);
  return text;
}

}  // namespace touchstone::prove

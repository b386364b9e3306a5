#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/base/suggest.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/decide/decide.h"
#include "touchstone/prove/mutate.h"
#include "touchstone/prove/rules_page.h"

namespace touchstone::cli {
namespace {

using prove::Claim;
using prove::Named;
using prove::Proof;
using Json = nlohmann::ordered_json;

/// The claims, without a name where the user wrote one.
std::vector<Named> asked_for(const ProveOptions& options) {
  std::vector<Named> rules = prove::all_rules(), found;
  if (options.what.empty() || options.all) return rules;
  for (const std::string& what : options.what) {
    const auto rule = std::ranges::find(rules, what, &Named::name);
    if (rule != rules.end()) {
      found.push_back(*rule);
    } else if (what.find_first_not_of("abcdefghijklmnopqrstuvwxyz_.0123456789") ==
               std::string::npos) {
      std::vector<std::string_view> names;
      for (const Named& r : rules) names.push_back(r.name);
      throw Error(
          fmt::format("there is no rule '{}'{}; `touchstone prove` lists all, a rule of your "
                      "own reads 'LHS -> RHS ; CONDITION'",
                      what, did_you_mean(what, names)));
    } else {
      found.push_back(
          {"", "", prove::read_claim(what, fmt::format("{}", fmt::join(options.witness, "; ")))});
    }
  }
  return found;
}

std::string coloured(prove::Verdict verdict) {
  const std::string text(name_of(verdict));
  return verdict == prove::Verdict::Proved    ? green(text)
         : verdict == prove::Verdict::Refuted ? red(text)
                                              : yellow(text);
}

/// The proof of a claim, and of its mutants.
struct ProvedRule {
  const Named* named;
  Proof proof;
  std::vector<std::pair<prove::Mutant, Proof>> necessity, mutants;
};

using Prove = std::function<Proof(const Claim&)>;

ProvedRule judge(const Prove& prove, const Named& named, const ProveOptions& options,
                 const std::function<void(std::string_view)>& note) {
  ProvedRule j{&named, prove(named.claim), {}, {}};
  const auto decide = [&](std::vector<prove::Mutant> list, auto& into) {
    for (prove::Mutant& m : list) {
      note(m.what);
      Proof p = prove(m.claim);
      into.emplace_back(std::move(m), std::move(p));
    }
  };
  if (options.necessity) decide(without_conditions(named.claim), j.necessity);
  if (options.mutants) decide(mutants(named.claim), j.mutants);
  return j;
}

/// Makes a no of the code, or a weak answer of a yes.
void lower(int& code, int to) {
  if (code != kExitNo && to != kExitOk) code = to;
}

/// The exit code: 1 if something is refuted or a condition is needless, 3 if something stays
/// open.
int code_of(const ProvedRule& j) {
  int code = j.proof.verdict == prove::Verdict::Proved    ? kExitOk
             : j.proof.verdict == prove::Verdict::Refuted ? kExitNo
                                                          : kExitWeak;
  for (const auto& [m, p] : j.necessity)
    lower(code, p.verdict == prove::Verdict::Proved    ? kExitNo
                : p.verdict == prove::Verdict::Unknown ? kExitWeak
                                                       : kExitOk);
  for (const auto& [m, p] : j.mutants)
    lower(code, p.verdict == prove::Verdict::Unknown ? kExitWeak : kExitOk);
  return code;
}

Json proof_json(const Proof& p) {
  Json j{{"verdict", name_of(p.verdict)}, {"method", name_of(p.method)}, {"seconds", p.seconds}};
  if (p.counterexample) {
    Json point = Json::object();
    for (const auto& [name, value] : p.counterexample->point) point[name] = value.str();
    const auto& rhs = p.counterexample->rhs;
    j["counterexample"] = {{"point", point},
                           {"lhs", p.counterexample->lhs.str()},
                           {"rhs", rhs ? Json(rhs->str()) : Json(nullptr)}};
  }
  if (p.verdict == prove::Verdict::Unknown) j["reason"] = p.reason;
  if (!p.certificate.empty()) j["certificate"] = p.certificate;
  if (!p.confirmed.empty()) j["confirmed"] = p.confirmed;
  if (p.vacuous) j["vacuous"] = true;
  return j;
}

void print_json(const ProvedRule& judged) {
  Json j;
  if (!judged.named->name.empty()) j["rule"] = judged.named->name;
  j["claim"] = text_of(judged.named->claim);
  j.update(proof_json(judged.proof));
  j["steps"] = judged.proof.steps;
  j["questions"] = judged.proof.queries.size();
  const auto list = [&](const char* key, const auto& items) {
    for (const auto& [m, p] : items) {
      Json item{{"change", m.what}, {"claim", text_of(m.claim)}};
      item.update(proof_json(p));
      j[key].push_back(item);
    }
  };
  list("necessity", judged.necessity);
  list("mutants", judged.mutants);
  fmt::print("{}\n", j.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string ending(const Proof& p) {
  if (p.counterexample) return text_of(*p.counterexample);
  if (p.verdict == prove::Verdict::Unknown) return p.reason;
  return fmt::format("by {}{}, {}{}", name_of(p.method),
                     p.certificate.empty() ? "" : ", with a certificate", seconds_str(p.seconds),
                     p.vacuous ? "; vacuous: its conditions never hold" : "");
}

void print_changes(const ProvedRule& j) {
  const auto list = [](const auto& items) {
    for (const auto& [m, p] : items)
      fmt::print("  {:<8}  {}\n            {}\n", coloured(p.verdict), m.what, dim(ending(p)));
  };
  list(j.necessity);
  list(j.mutants);
}

void print_long(const ProvedRule& j) {
  if (!j.named->name.empty()) fmt::print("{}\n", bold(j.named->name));
  fmt::print("{}\n", text_of(j.named->claim));
  if (const symbolic::Rule* const rule = symbolic::find_rule(j.named->name)) {
    fmt::print("{}\n", dim(rule->title));
    if (const std::string example = prove::example_of(*rule); !example.empty())
      fmt::print("{}\n", dim("as " + example));
  }
  // Steps of a failed attempt would be no proof.
  if (j.proof.method == prove::Method::Elimination)
    for (const std::string& step : j.proof.steps) fmt::print("  {}\n", step);
  fmt::print("{} {}\n", coloured(j.proof.verdict), ending(j.proof));
  print_changes(j);
}

}  // namespace

int run_prove(const ProveOptions& options) {
  if (options.docs) {
    fmt::print("{}", prove::rules_page());
    return kExitOk;
  }
  const std::vector<Named> claims = asked_for(options);
  const bool table = claims.size() > 1 && !options.json && !options.smt2;
  // The simplifier may decide other claims, but must not prove its own rules.
  prove::Prover prover;
  decide::Decider decider;
  const bool by_solver = options.smt2 || !options.witness.empty();
  Table rows({"rule", "law", "verdict", "by", "questions", "time"},
             {false, false, false, false, true, true});
  int code = kExitOk;
  std::int64_t proved = 0;
  double seconds = 0;
  {
    Progress progress("prove", static_cast<std::int64_t>(claims.size()));
    for (std::size_t i = 0; i < claims.size(); ++i) {
      progress.update(static_cast<std::int64_t>(i), claims[i].name);
      const ProvedRule j = judge(
          [&](const Claim& claim) {
            return by_solver || !claims[i].name.empty() ? prover.prove(claim)
                                                        : decider.decide(claim);
          },
          claims[i], options,
          [&](std::string_view change) {
            progress.update(static_cast<std::int64_t>(i),
                            fmt::format("{}: {}", claims[i].name, change));
          });
      if (!table || options.necessity || options.mutants) progress.hide();  // lines follow
      lower(code, code_of(j));
      proved += j.proof.verdict == prove::Verdict::Proved ? 1 : 0;
      seconds += j.proof.seconds;
      if (options.smt2)
        fmt::print("{}\n", smt_file(claims[i].claim, j.proof));
      else if (options.json)
        print_json(j);
      else if (!table || options.necessity || options.mutants)
        print_long(j);
      if (table)
        rows.add({claims[i].name, text_of(claims[i].claim), std::string(name_of(j.proof.verdict)),
                  std::string(name_of(j.proof.method)), fmt::format("{}", j.proof.queries.size()),
                  seconds_str(j.proof.seconds)});
    }
  }
  if (table) {
    fmt::print("{}", rows.fitted());
    fmt::print("{} of {} proved for all integers in {}, with Z3 {}\n", proved, claims.size(),
               seconds_str(seconds), prove::solver_version());
  }
  return code;
}

}  // namespace touchstone::cli

#pragma once

#include <map>
#include <string>

#include "touchstone/prove/prover.h"
#include "touchstone/symbolic/ask/question.h"

namespace touchstone::decide {

/// What a decision may cost.
struct Work {
  prove::Limits limits = {};
  bool solver = true;  // false: Z3 is not asked

  /// With so many steps of Z3 for a claim; 0: it is not asked.
  static Work of_effort(unsigned effort);
};

/// Decides claims about integers. Answers are remembered by claim and facts, in bounded memory.
class Decider {
 public:
  explicit Decider(const Work& work = {}) : work_(work), prover_(work.limits) {}

  /// Tries in turn: points, the laws of the simplifier, the checker's cases, residues, all points,
  /// the parts of an `and`, and Z3. A refutation has a counterexample, checked by evaluation. A
  /// proof has a certificate that `find_flaw` accepts, or says in `confirmed` how it was checked.
  prove::Proof decide(const prove::Claim& claim);
  /// The claim that the text, where it has a value, is not 0 wherever the assumptions hold. Throws
  /// ParseError as `symbolic::answer` does.
  prove::Proof decide(const symbolic::Question& question);

  /// The same by a Decider of the thread, which remembers between calls, and keeps no child
  /// process.
  static prove::Proof of_thread(const symbolic::Question& question, unsigned effort);

  /// Like `symbolic::answer`, but comparisons in the answer are decided, and bounds that a point
  /// attains are tried.
  symbolic::Answer simplify(const symbolic::Question& question);

 private:
  prove::Proof fresh(const prove::Claim& claim);
  bool by_parts(const prove::Claim& claim, prove::Proof& proof);

  Work work_;
  prove::Prover prover_;
  std::map<std::string, prove::Proof> kept_;
  std::size_t kept_bytes_ = 0;
};

/// The claim of a question, `text -> True ; FACTS`.
prove::Claim claim_of(const symbolic::Question& question);

/// True if the text is a comparison or a condition of them.
bool is_claim(std::string_view text);

/// "true by laws, with a certificate", "false: x = 3: ..." or "undecided" and what was tried.
std::string words_of(const prove::Proof& proof);

}  // namespace touchstone::decide

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "touchstone/base/counted.h"
#include "touchstone/interp/oracle/verdict.h"

// Verdicts in words, and joint verdicts.

namespace touchstone {
namespace {

std::string bits_str(const Scalar& s) {
  return fmt::format("0x{:0{}x} ({})", s.bits(), 2 * itemsize(s.dtype()), s.str());
}

// "0.3 %", or ULP where a percentage would have many zeros.
std::string size_of(double relative, double ulp) {
  if (std::isinf(relative)) return "any size";
  if (relative >= 0.1) return fmt::format("{:.0f} %", 100 * relative);
  if (relative >= 1e-5) return fmt::format("{:.2g} %", 100 * relative);
  return fmt::format("{:.0f} ULP", ulp);
}

// Compares verdicts other than FAIL: the sharper one leaves less unseen.
bool is_sharper(const Verdict& a, const Verdict& b) {
  const auto share = [](const Verdict& v, std::int64_t count) {
    return v.checked == 0 ? 1.0 : static_cast<double>(count) / static_cast<double>(v.checked);
  };
  const double blunt_a = share(a, a.blunt), blunt_b = share(b, b.blunt);
  if (blunt_a != blunt_b) return blunt_a < blunt_b;
  if (a.relative.most != b.relative.most) return a.relative.most < b.relative.most;
  return share(a, a.checked - a.determined) < share(b, b.checked - b.determined);
}

}  // namespace

std::string_view name(Outcome outcome) {
  switch (outcome) {
    case Outcome::Pass: return "PASS";
    case Outcome::Fail: return "FAIL";
    case Outcome::Weak: return "WEAK";
    case Outcome::Unusable: return "UNUSABLE";
  }
  return "";
}

std::string_view Verdict::word() const { return suspect() ? "SUSPECT" : name(outcome); }

std::string Verdict::unseen() const {
  if (relative.largest == 0 && determined == checked) return {};
  if (relative.largest == 0) return "only the sign of zeros is open";
  const std::string half = size_of(relative.median, ulp.median);
  const std::string tenth = size_of(relative.most, ulp.most);
  const std::string one = size_of(relative.largest, ulp.largest);
  std::vector<std::string> parts;
  if (ulp.median > 0)
    parts.push_back(half + (one == half ? " in any element" : " in half of the elements"));
  if (ulp.most > 0 && tenth != half) parts.push_back(tenth + " in a tenth");
  if (one != tenth || parts.empty())
    parts.push_back(one + (std::isinf(relative.largest) ? " in the weak ones" : " in one"));
  return fmt::format("errors up to {} would go unnoticed", fmt::join(parts, ", "));
}

std::string Verdict::str() const {
  if (!why.empty()) return fmt::format("{}: {}", name(outcome), why);
  if (suspect())
    return fmt::format("SUSPECT: {}, each legal{}; {}{}", counted(checked, "element"),
                       form.empty() ? "" : " as " + form, evidence->suspicion->str(),
                       sampled ? "; " + sampled->str() : "");
  if (outcome != Outcome::Fail) {
    std::string text = fmt::format("{}: {}", name(outcome), counted(checked, "element"));
    if (checked > 0 && determined == checked)
      text += ", each with one legal answer";
    else if (checked > 0)
      text += fmt::format(", {} with one legal answer, {} weak; {}", determined, weak, unseen());
    if (!form.empty()) text += "; legal as " + form;
    for (const std::string& more : {sampled ? sampled->str() : std::string(), cause, advice})
      if (!more.empty()) text += "; " + more;
    if (inputs == 1) return text + "; no probes";
    return text + fmt::format("; {} of {} sharp", sharp_inputs, counted(inputs, "input"));
  }
  std::string legal = number ? (low == high ? bits_str(low)
                                : apart     ? fmt::format("{} or {}", bits_str(low), bits_str(high))
                                        : fmt::format("[{}, {}]", bits_str(low), bits_str(high)))
                             : std::string();
  if (nan) legal += number ? " or NaN" : "NaN";
  const std::string what = subject.empty() ? fmt::format("{} {}", name(op), name(dtype)) : subject;
  const std::string first =
      at.empty() ? std::string() : fmt::format("first at ({}): ", fmt::join(at, ", "));
  return fmt::format("FAIL: {} of {}{}; {}{} gave {}{}{}, legal is {}", wrong,
                     counted(checked, "element"),
                     sampled ? fmt::format(", sampled from {}", sampled->of) : "", first, what,
                     bits_str(candidate), operands.empty() ? "" : " for ", operands, legal);
}

Verdict combine(std::span<const Verdict> verdicts) {
  Verdict all;
  all.inputs = 0;
  if (verdicts.empty()) {
    all.outcome = Outcome::Unusable;
    all.why = "no inputs were judged";
    return all;
  }
  const auto of = [&](Outcome outcome) {
    return std::ranges::find(verdicts, outcome, &Verdict::outcome);
  };
  for (const Outcome worst : {Outcome::Fail, Outcome::Unusable}) {
    if (of(worst) == verdicts.end()) continue;
    all = *of(worst);
    break;
  }
  if (all.inputs == 0) all = *std::ranges::min_element(verdicts, is_sharper);
  if (const auto suspect = std::ranges::find_if(verdicts, &Verdict::suspect);
      suspect != verdicts.end())
    all.evidence = suspect->evidence;
  const auto total = [&](auto Verdict::*member) {
    auto sum = all.*member;
    sum = 0;
    for (const Verdict& v : verdicts) sum += v.*member;
    return sum;
  };
  for (const auto member :
       {&Verdict::checked, &Verdict::wrong, &Verdict::weak, &Verdict::blunt, &Verdict::determined})
    all.*member = total(member);
  all.inputs = total(&Verdict::inputs);
  all.sharp_inputs = total(&Verdict::sharp_inputs);
  return all;
}

}  // namespace touchstone

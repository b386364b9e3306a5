#include <algorithm>

#include <fmt/format.h>

#include "touchstone/base/error.h"
#include "touchstone/cli/indices/asked.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/symbolic/access/access.h"

namespace touchstone::cli {
namespace {

using symbolic::Access;
using symbolic::Finding;

class IndexReport {
 public:
  void add(const std::string& label, const Finding& f) {
    const bool yes = f.verdict == Finding::Verdict::Yes, no = f.verdict == Finding::Verdict::No;
    fmt::print("{:8} {} {}\n", label,
               yes  ? green("yes")
               : no ? red("no")
                    : yellow("unknown"),
               f.what);
    if (no) exit_ = kExitNo;
    if (!yes && !no && exit_ == kExitOk) exit_ = kExitWeak;
  }
  void add(const std::string& label, const symbolic::WarpFinding& f, const std::string& unit) {
    fmt::print("{:8} at most {} {} (at {}), at least {}; {}\n", label, f.worst, unit,
               symbolic::point_text(f.at), f.best, f.all ? "all points" : "a sample of points");
  }
  int exit_code() const { return exit_; }

 private:
  int exit_ = kExitOk;
};

// "int32", "uint8": bits and sign.
std::pair<int, bool> type_of(const std::string& name) {
  for (const int bits : {8, 16, 32, 64})
    for (const bool is_signed : {true, false})
      if (name == fmt::format("{}int{}", is_signed ? "" : "u", bits)) return {bits, is_signed};
  throw ParseError(
      fmt::format("--type {}: not an integer type; write int32, uint32, int64 or the like", name));
}

}  // namespace

int run_check_index(const CheckIndexOptions& o) {
  const symbolic::Translation asked =
      asked_as_text(o.expression, o.from, o.variables, o.assumptions);
  const auto [bits, is_signed] = type_of(o.type);
  IndexReport report;
  for (const symbolic::Question& question : asked.questions) {
    const Access access(question);
    const auto name = [&](const std::string& spelled) {
      for (const auto& [own, original] : asked.spelled)
        if (original == spelled) return own;
      return spelled;
    };
    if (asked.questions.size() > 1) fmt::print("{}\n", question.text);
    for (const std::string* variable : {&o.vector, &o.lane})
      if (!variable->empty() &&
          std::ranges::find(question.variables, name(*variable),
                            &std::pair<std::string, symbolic::Interval>::first) ==
              question.variables.end())
        throw ParseError(fmt::format("the index has no variable '{}'", *variable));
    std::vector<symbolic::GuardedPart> parts = asked.parts;
    if (parts.size() == symbolic::Translation::kMostParts)
      throw ParseError(fmt::format("an index of {} operators or more; ask for its parts",
                                   symbolic::Translation::kMostParts));
    if (parts.empty() && asked.language != symbolic::Language::Touchstone)
      parts.push_back({question.text, {}});
    report.add(o.type, access.fits(bits, is_signed, std::move(parts)));
    if (const Finding divides = access.divides(); divides.verdict != Finding::Verdict::Yes)
      report.add("divisor", divides);
    if (!o.size.empty()) {
      if (o.size.find_first_not_of("0123456789") != std::string::npos)
        throw ParseError(fmt::format("--size {}: not a whole number", o.size));
      const symbolic::Int size = symbolic::Int::from_digits(o.size);
      report.add("bounds", access.inside(size));
      if (!question.assumptions.empty() &&
          access.inside_unguarded(size).verdict == Finding::Verdict::Yes)
        fmt::print("{:8} {}\n", "", dim("the assumptions are not needed for it"));
    }
    if (!o.same.empty()) {
      const symbolic::Translation second =
          symbolic::translate({question.variables, {}, o.same}, asked.language);
      if (second.questions.size() != 1 || asked.questions.size() != 1)
        throw ParseError("--same compares texts with one result");
      symbolic::Question other = second.questions[0];
      other.assumptions = question.assumptions;
      std::string range;
      for (const auto& [variable, own] : question.variables)
        for (const auto& [same, its] : other.variables)
          if (variable == same && !(own == its)) range = variable;
      if (!range.empty())
        report.add("same",
                   Finding{Finding::Verdict::No, fmt::format("{} has another range", range), {}});
      else
        report.add("same", Access(other).same_as(question.text));
    }
    if (o.image) {
      report.add("distinct", access.distinct());
      if (const auto image = access.image())
        fmt::print("{:8} {} points, {} indices from {} to {}{}\n", "image", image->points,
                   image->indices, image->least.str(), image->largest.str(),
                   image->is_permutation() ? ": a permutation" : "");
    }
    if (!o.vector.empty()) {
      int width = 1;
      std::string why;
      for (const int next : {2, 4, 8, 16}) {
        const Finding f = access.vector(name(o.vector), next);
        if (f.verdict != Finding::Verdict::Yes) {
          why = fmt::format("not {}: {}", next, f.what);
          break;
        }
        width = next;
      }
      fmt::print("vector   {} along {}, aligned\n", width, o.vector);
      if (!why.empty()) fmt::print("{:8} {}\n", "", dim(why));
    }
    if (!o.lane.empty()) {
      report.add("segments", access.segments(name(o.lane), o.lanes, o.bytes, o.segment),
                 fmt::format("segments of {} bytes", o.segment));
      report.add("banks", access.bank_conflicts(name(o.lane), o.lanes, o.bytes, o.banks),
                 "words in one bank");
    }
  }
  return report.exit_code();
}

}  // namespace touchstone::cli

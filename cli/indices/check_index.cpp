#include <fmt/format.h>

#include "touchstone/cli/indices/asked.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/maps/check.h"

namespace touchstone::cli {

int exit_code(maps::Verdict verdict) {
  return verdict == maps::Verdict::Yes  ? kExitOk
         : verdict == maps::Verdict::No ? kExitNo
                                        : kExitWeak;
}

std::string word(maps::Verdict verdict) {
  return verdict == maps::Verdict::Yes  ? green("yes")
         : verdict == maps::Verdict::No ? red("no")
                                        : yellow("unknown");
}

int run_check_index(const CheckIndexOptions& o) {
  const auto found =
      maps::check_index({o, asked_as_text(o.expression, o.from, o.variables, o.assumptions)});
  for (const maps::IndexFinding& f : found) {
    if (f.label.empty())
      fmt::print("{}\n", f.text);
    else
      fmt::print("{:8} {}{}\n", f.label, f.verdict ? word(*f.verdict) + " " : "", f.text);
    if (!f.note.empty()) fmt::print("{:8} {}\n", "", dim(f.note));
  }
  return exit_code(maps::verdict_of(found));
}

}  // namespace touchstone::cli

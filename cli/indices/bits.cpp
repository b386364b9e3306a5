#include "touchstone/interp/device/bits.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "touchstone/base/error.h"
#include "touchstone/cli/judging/judging.h"
#include "touchstone/cli/program/answer_lines.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/interp/oracle/semantics.h"

namespace touchstone::cli {

int run_bits(const BitsOptions& options) {
  if (options.docs) {
    fmt::print("{}", semantics_page());
    return kExitOk;
  }
  if (options.names) {
    fmt::print("{}", bits_names());
    return kExitOk;
  }
  const Float8Overflow overflow = read_profile(options.profile).float8;
  int code = kExitOk;
  answer_lines("bits", [&](std::string_view line) {
    try {
      return bits_answer(line, overflow);
    } catch (const Error& e) {
      code = kExitBad;
      return "error: " + std::string(e.what());
    }
  });
  return code;
}

}  // namespace touchstone::cli

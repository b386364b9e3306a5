#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/cli/program/answer_lines.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/symbolic/certificate/certify.h"

namespace touchstone::cli {

namespace {

/// Checks certificates one after the other and prints the verdicts.
class Verification {
 public:
  /// Checks a certificate, or an answer of `simplify --jsonl --certify`, which holds one: returns
  /// "right: ", "wrong: ", or why there is nothing to check. Never throws because of the text.
  std::string line(std::string_view text) {
    ++lines_;
    try {
      return checked(text);
    } catch (const ParseError& error) {
      ++unread_;
      return red(fmt::format("line {}: {}", lines_, error.what()));
    }
  }

  /// Prints the last line and returns the exit code.
  int finish() const {
    const std::size_t all = right_ + wrong_ + none_ + unread_;
    std::string text = fmt::format("{} of {} certificates right", right_, all);
    if (none_ > 0) text += fmt::format(", {} answers without one", none_);
    if (unread_ > 0) text += fmt::format(", {} could not be read", unread_);
    if (errors_ > 0) text += fmt::format("; {} questions had no answer", errors_);
    fmt::print("{}\n", right_ == all && all > 0 && errors_ == 0 ? green(text) : red(text));
    if (unread_ > 0) return kExitBad;
    if (right_ != all) return kExitNo;
    return all == 0 ? kExitNothing : errors_ > 0 ? kExitBad : kExitOk;
  }

 private:
  std::string checked(std::string_view text) {
    using Outcome = symbolic::CertificateCheck::Outcome;
    const symbolic::CertificateCheck check = symbolic::check_certificate(text);
    switch (check.outcome) {
      case Outcome::Right: ++right_; return "right: " + check.claim;
      case Outcome::Wrong:
        ++wrong_;
        return red(fmt::format("wrong: {}: {}", check.claim, check.why));
      case Outcome::Missing: ++none_; return yellow("without a certificate: " + check.why);
      case Outcome::Error: break;
    }
    ++errors_;
    return dim("no answer: " + check.why);
  }

  std::size_t lines_ = 0, right_ = 0, wrong_ = 0, none_ = 0, errors_ = 0, unread_ = 0;
};

}  // namespace

int run_verify(const VerifyOptions& options) {
  Verification verification;
  const auto line = [&](std::string_view text) { return verification.line(text); };
  if (options.file.empty() || options.file == "-") {
    answer_lines("verify", line);
    return verification.finish();
  }
  const std::string text = read_file(options.file);
  if (nlohmann::json::accept(text)) {  // a certificate on several lines
    fmt::print("{}\n", line(text));
    return verification.finish();
  }
  LineStream lines(line, [](std::string_view words) { fmt::print("{}", words); });
  lines.take(text);
  lines.finish();
  return verification.finish();
}

}  // namespace touchstone::cli

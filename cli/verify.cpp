#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "answer_lines.h"
#include "derivation_view.h"
#include "terminal.h"
#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "verbs.h"

namespace touchstone::cli {

using Json = nlohmann::ordered_json;

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
    const Json j = certificate_json(text);
    if (j.contains("error")) {
      ++errors_;
      return dim("no answer: " + member(j, "error"));
    }
    const bool answer = j.contains("certificate");
    if (answer && j["certificate"].is_null()) {
      const std::string why = member(j, "uncertified");
      ++none_;
      return yellow("without a certificate: " + why);
    }
    symbolic::Derivation d = derivation_of_json(answer ? j["certificate"] : j);
    const auto flaw = symbolic::find_flaw(d);
    std::string wrong = flaw ? verdict(d, flaw) : "";
    const std::string out = answer ? member(j, "out") : "";
    if (answer && wrong.empty() && symbolic::parse_expr(d.exprs, out) != d.main.result)
      wrong = fmt::format("the answer is {}", out);
    ++(wrong.empty() ? right_ : wrong_);
    std::string claim =
        fmt::format("{} = {}", render(d.exprs, d.main.start), render(d.exprs, d.main.result));
    std::vector<std::string> where = bounds_words(d);
    for (const symbolic::Chain& a : d.assumptions) where.push_back(render(d.exprs, a.start));
    if (!where.empty()) claim += fmt::format(" where {}", fmt::join(where, ", "));
    return wrong.empty() ? "right: " + claim : red(fmt::format("wrong: {}: {}", claim, wrong));
  }

  static std::string member(const Json& j, const char* name) {
    if (!j.contains(name) || !j[name].is_string())
      throw ParseError(fmt::format("not a certificate: \"{}\" must be a string", name));
    std::string words = j[name];
    for (char& c : words)  // keep a message on one line
      if (static_cast<unsigned char>(c) < ' ' || c == 127) c = ' ';
    return words;
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
  if (Json::accept(text)) {  // a certificate on several lines
    fmt::print("{}\n", line(text));
    return verification.finish();
  }
  LineStream lines(line, [](std::string_view words) { fmt::print("{}", words); });
  lines.take(text);
  lines.finish();
  return verification.finish();
}

}  // namespace touchstone::cli

// Readers of the command: derivations, questions of `serve`, HTTP requests.
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include "reader_targets.h"
#include "touchstone/cli/serve/http_conversation.h"
#include "touchstone/cli/serve/http_message.h"
#include "touchstone/cli/serve/serve.h"
#include "touchstone/prove/claim.h"
#include "touchstone/symbolic/certificate/certificate_json.h"
#include "touchstone/symbolic/check/derivation_check.h"
#include "touchstone/symbolic/expr/evaluate.h"

namespace touchstone::fuzzers {
namespace {

using symbolic::Derivation;
using symbolic::Expr;
using symbolic::Int;

// Start and result must be equal at a few points in bounds where the assumptions hold.
void require_sound(const Derivation& d) {
  std::vector<Expr> roots = {d.main.start, d.main.result};
  for (const symbolic::Chain& a : d.assumptions) roots.push_back(a.start);
  const std::vector<std::string> names = prove::variables_of(d.exprs, roots);
  symbolic::Evaluator evaluator(d.exprs, roots, names);
  for (std::int64_t shift = 0; shift < 12; ++shift) {
    std::vector<Int> point;
    for (const std::string& name : names) {
      Int value = shift * static_cast<std::int64_t>(3 + point.size()) % 7 - 3;
      for (const auto& [own, v] : d.variables) {
        if (own != name) continue;
        if (v.lo && v.hi && *v.lo > *v.hi) return;  // no point
        if (v.lo) value = *v.lo + shift % static_cast<std::int64_t>(4 + point.size());
        if (v.hi && (!v.lo || value > *v.hi)) value = v.lo && shift % 2 == 0 ? *v.lo : *v.hi;
      }
      point.push_back(value);
    }
    evaluator.at(point);
    bool holds = true;
    for (std::size_t i = 2; i < roots.size(); ++i) {
      const auto& assumed = evaluator.value(roots[i]);
      holds = holds && assumed && *assumed != Int(0);
    }
    const auto& start = evaluator.value(d.main.start);
    if (holds && start)
      require(evaluator.value(d.main.result) == start, "a derivation of something false is right");
  }
}

void derivation(std::string_view text) {
  auto read = accepted([&] { return symbolic::derivation_of_json(std::string(text)); });
  if (!read) return;
  const auto flaw = symbolic::find_flaw(*read);
  const std::string written = symbolic::certificate_line(*read);
  Derivation again = symbolic::derivation_of_json(written);
  require(symbolic::certificate_line(again) == written, "a derivation that reads back as another");
  require(symbolic::find_flaw(again) == flaw,
          "a derivation with another flaw once it is read back");
  if (!flaw) require_sound(*read);
}

cli::WorkLimits small_limits() {
  cli::WorkLimits limits;
  limits.seconds = 0.002;
  limits.megabytes = 64;
  return limits;
}

void question(std::string_view text) {
  cli::ServeOptions options;
  options.limits = small_limits();
  options.no_files = true;  // never reads local files by chance
  const cli::LineAnswer answer = cli::line_answer(text, options);
  const auto said = read_answer(answer.text);
  require(said.contains("error") == (answer.kind != cli::LineAnswer::Kind::Verdict),
          "an answer that is not of its kind");
}

// Everything a reader reports for the bytes, fed in pieces of `piece`.
std::string read_in_pieces(std::string_view bytes, std::size_t piece) {
  cli::HttpReader reader(1024);
  std::string told;
  for (bool ended = false;;) {
    switch (reader.look()) {
      case cli::HttpReader::Found::Bad:
        return told + "refused";  // the reason may depend on the pieces
      case cli::HttpReader::Found::Head:
        told += fmt::format("{} {} {}\n", reader.request().method, reader.request().path,
                            reader.request().host);
        break;
      case cli::HttpReader::Found::Whole:
        told += reader.body() + '\n';
        reader.next();
        break;
      case cli::HttpReader::Found::Nothing:
        if (ended) return told + (reader.has_begun() ? "begun" : "");
        ended = bytes.empty();
        if (ended) reader.finish();
        reader.take(bytes.substr(0, piece));
        bytes.remove_prefix(std::min(piece, bytes.size()));
    }
  }
}

void http_reader(std::string_view bytes) {
  const std::string whole = read_in_pieces(bytes, bytes.size() + 1);
  for (const std::size_t piece : {1U, 7U})
    require(read_in_pieces(bytes, piece) == whole,
            fmt::format("a request that pieces change, {} against {}", read_in_pieces(bytes, piece),
                        whole));
}

void http(std::string_view bytes) {
  int ends[2];
  require(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "no sockets");
  const auto sent = ::send(ends[0], bytes.data(), bytes.size(), MSG_DONTWAIT);
  ::shutdown(ends[0], SHUT_WR);
  cli::ServeOptions options;
  options.limits = small_limits();
  options.limits.megabytes = 0;  // no limit: this process does other work
  options.client_seconds = 0;
  cli::HttpProgress progress;
  cli::converse(ends[1], progress, options);
  ::close(ends[1]);
  std::string answer(65536, '\0');
  const auto got = ::recv(ends[0], answer.data(), answer.size(), MSG_DONTWAIT);
  ::close(ends[0]);
  answer.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  if (sent > 0 && !answer.empty()) require(answer.starts_with("HTTP/1.1 "), "no answer of HTTP");
}

constexpr ReaderTarget kCommandTargets[] = {
    {"derivation", derivation},
    {"question", question},
    {"http_reader", http_reader},
    {"http", http},
};

}  // namespace

std::span<const ReaderTarget> command_targets() { return kCommandTargets; }

}  // namespace touchstone::fuzzers

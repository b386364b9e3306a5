#include "touchstone/cli/serve/http_conversation.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <new>
#include <optional>

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/socket.h>

#include "touchstone/base/line_stream.h"
#include "touchstone/cli/program/work_limits.h"
#include "touchstone/cli/serve/http_message.h"
#include "touchstone/cli/serve/listening_socket.h"
#include "touchstone/cli/serve/serve.h"

namespace touchstone::cli {
namespace {

using HttpClock = std::chrono::steady_clock;

constexpr std::string_view kJson = "application/json", kLines = "application/x-ndjson";
constexpr char kAbout[] =
    "touchstone " TOUCHSTONE_VERSION
    ": verdicts on the results of kernels. POST a question to / as application/json, or one per "
    "line; docs/oracle.md describes the format. GET /health reports whether the server is up.\n";

// The client left, or does not read.
struct ClientGone {};

/// A connection that waits at most `patience` for its client in a request.
class PatientSocket {
 public:
  PatientSocket(int fd, double patience)
      : fd_(fd),
        patience_(std::chrono::duration_cast<HttpClock::duration>(
            std::chrono::duration<double>(patience))) {}

  void begin_request() { left_ = patience_; }

  enum class Read : std::uint8_t { Bytes, End, Silence };
  Read read(std::string_view& bytes) {
    for (;;) {
      const ssize_t n = ::recv(fd_, piece_.data(), piece_.size(), MSG_DONTWAIT);
      if (n > 0) {
        bytes = {piece_.data(), static_cast<std::size_t>(n)};
        return Read::Bytes;
      }
      if (n == 0) return Read::End;
      if (errno == EINTR) continue;
      if (errno != EAGAIN) throw ClientGone();
      if (!wait(POLLIN)) return Read::Silence;
    }
  }

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (n >= 0)
        bytes.remove_prefix(static_cast<std::size_t>(n));
      else if (errno != EINTR && (errno != EAGAIN || !wait(POLLOUT)))
        throw ClientGone();
    }
  }

 private:
  // False when patience runs out.
  bool wait(short what) {
    using std::chrono::milliseconds;
    if (left_.count() <= 0) return false;
    const auto begin = HttpClock::now();
    pollfd waiting{fd_, what, 0};
    ::poll(&waiting, 1, static_cast<int>(std::chrono::ceil<milliseconds>(left_).count()));
    left_ -= HttpClock::now() - begin;
    return waiting.revents != 0 || left_.count() > 0;
  }

  int fd_;
  HttpClock::duration patience_, left_ = patience_;
  std::array<char, 65536> piece_;
};

struct HttpRefusal {
  int status;
  std::string why;
  std::string_view allow = {};
};

// Runs in constant time for texts of equal length.
bool is_token(std::string_view text, std::string_view token) {
  unsigned differences = text.size() != token.size() ? 1 : 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    differences |= static_cast<unsigned char>(text[i] ^ token[i % token.size()]);
  return differences == 0;
}

// Whether an Authorization field holds the token.
bool has_token(std::string_view field, std::string_view token) {
  constexpr std::string_view kBearer = "bearer ";
  if (!std::ranges::equal(field.substr(0, kBearer.size()), kBearer, {},
                          [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; }))
    return false;
  field.remove_prefix(std::min(field.size(), field.find_first_not_of(' ', kBearer.size())));
  return is_token(field, token);
}

// The reason to refuse a request by its head. A page of another site in a browser can reach us,
// through a DNS name for this machine or directly; Host and Origin reveal it.
std::optional<HttpRefusal> refusal_of(const HttpRequest& request, const std::string& token) {
  if (!request.host.empty() && !is_loopback_host(request.host))
    return HttpRefusal{403, "the Host header names another machine"};
  if (request.has_origin && request.origin != "http://" + request.host)
    return HttpRefusal{403, "the request comes from a page of another origin (Origin header)"};
  if (!token.empty() && !has_token(request.authorization, token))
    return HttpRefusal{401,
                       "the token is missing or wrong; send the header 'Authorization: Bearer "
                       "TOKEN' with the token that the server printed or was given"};
  const bool is_root = request.path == "/", is_ask = request.path == "/ask";
  if (!is_root && !is_ask && request.path != "/health")
    return HttpRefusal{404, "only / and /ask accept POST; only / and /health accept GET"};
  const bool is_get = request.method == "GET" || request.is_head();
  if (is_get ? is_ask : request.method != "POST" || (!is_root && !is_ask))
    return HttpRefusal{
        405, fmt::format("the method {} is not allowed for {}", request.method, request.path),
        is_root  ? "GET, HEAD, POST"
        : is_ask ? "POST"
                 : "GET, HEAD"};
  if (!request.encoding.empty() && request.encoding != "identity")
    return HttpRefusal{415, "Content-Encoding is not supported; send the body uncompressed"};
  return {};
}

bool is_one_question(const HttpRequest& request) {
  return request.content_type.substr(0, request.content_type.find(';')) == kJson;
}

int status_of(LineAnswer::Kind kind) {
  switch (kind) {
    case LineAnswer::Kind::Verdict: return 200;
    case LineAnswer::Kind::NoQuestion: return 400;
    case LineAnswer::Kind::NoMemory: break;
  }
  return 507;
}

class HttpConversation {
 public:
  HttpConversation(int client, HttpProgress& progress, const ServeOptions& o)
      : client_(client, o.client_seconds),
        reader_(static_cast<std::uint64_t>(o.megabytes_of_body) << 20),
        progress_(progress),
        options_(o) {}

  void hold() {
    try {
      while (read_request() && answer_request()) reader_.next();
    } catch (const std::bad_alloc&) {
      restore_memory_limit();
      refuse({507, fmt::format("it takes more than {} MiB of memory (--memory)",
                               options_.limits.megabytes)});
    }
  }

 private:
  using Stage = HttpProgress::Stage;

  bool refuse(const HttpRefusal& refusal) {
    client_.write(http_answer({refusal.status, kJson, false, refusal.allow},
                              error_line(refusal.why), reader_.request().is_head()));
    return false;
  }

  bool read_request() {
    client_.begin_request();
    for (;;) switch (reader_.look()) {
        case HttpReader::Found::Bad: return refuse({reader_.status(), reader_.reason()});
        case HttpReader::Found::Head:
          if (const auto refusal = refusal_of(reader_.request(), options_.token))
            return refuse(*refusal);
          if (reader_.request().waits_for_100) client_.write(kContinue);
          break;
        case HttpReader::Found::Whole: return true;
        case HttpReader::Found::Nothing:
          if (!read_more()) return false;
      }
  }

  bool read_more() {
    std::string_view bytes;
    switch (client_.read(bytes)) {
      case PatientSocket::Read::Bytes: reader_.take(bytes); return true;
      case PatientSocket::Read::End: reader_.finish(); return reader_.has_begun();
      case PatientSocket::Read::Silence: break;
    }
    return reader_.has_begun() &&
           refuse({408, "the request arrived too slowly (--client-timeout)"});
  }

  // Whether another request may follow.
  bool answer_request() {
    const HttpRequest& request = reader_.request();
    if (request.method != "POST") {
      const std::string text = request.path == "/" ? kAbout : "ok\n";
      client_.write(http_answer({200, "text/plain", request.keeps_alive}, text, request.is_head()));
      return request.keeps_alive;
    }
    if (!is_one_question(request)) return answer_lines_of(request);
    const LineAnswer answer = judged(Stage::Judging, reader_.body());
    client_.write(
        http_answer({status_of(answer.kind), kJson, request.keeps_alive}, answer.text + "\n"));
    return request.keeps_alive;
  }

  bool answer_lines_of(const HttpRequest& request) {
    const bool chunked = request.takes_chunks, stays = request.keeps_alive && chunked;
    bool begun = false;
    LineStream lines(
        [&](std::string_view line) {
          return judged(begun ? chunked ? Stage::InChunks : Stage::InText : Stage::Judging, line)
              .text;
        },
        [&](std::string_view answer) {
          std::string bytes = begun ? "" : http_head({200, kLines, stays}, chunked);
          begun = true;
          client_.write(bytes += chunked ? http_chunk(answer) : std::string(answer));
        });
    lines.take(reader_.body());
    lines.finish();
    if (!begun)
      client_.write(http_answer({200, kLines, stays}, ""));
    else if (chunked)
      client_.write(kLastChunk);
    return stays;
  }

  LineAnswer judged(Stage stage, std::string_view question) {
    progress_.enter(stage);
    LineAnswer answer = line_answer(question, options_);
    progress_.enter(Stage::Talking);
    return answer;
  }

  PatientSocket client_;
  HttpReader reader_;
  HttpProgress& progress_;
  const ServeOptions& options_;
};

std::int64_t steady_milliseconds() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(HttpClock::now().time_since_epoch())
      .count();
}

}  // namespace

void HttpProgress::enter(Stage next) {
  since = steady_milliseconds();
  stage = next;
}

double HttpProgress::seconds() const {
  return static_cast<double>(steady_milliseconds() - since) / 1000;
}

std::string error_line(const std::string& why) {
  return nlohmann::json{{"error", why}}.dump(-1, ' ', true,
                                             nlohmann::json::error_handler_t::replace) +
         "\n";
}

void converse(int client, HttpProgress& progress, const ServeOptions& options) {
  limit_memory(options.limits);
  const int yes = 1;
  ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);  // no effect on a Unix socket
  try {
    HttpConversation(client, progress, options).hold();
  } catch (const ClientGone&) {
    // The client is gone.
  }
}

}  // namespace touchstone::cli

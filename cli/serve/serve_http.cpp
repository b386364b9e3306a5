#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/cli/program/orderly_end.h"
#include "touchstone/cli/serve/http_conversation.h"
#include "touchstone/cli/serve/http_message.h"
#include "touchstone/cli/serve/listening_socket.h"
#include "touchstone/cli/serve/serve.h"
#include "touchstone/process/child.h"

namespace touchstone::cli {
namespace {

using process::Child;
using process::Clock;

constexpr int kTickMilliseconds = 100;    // polling interval for stop requests and deadlines
constexpr double kSecondsToBreakOff = 6;  // beyond the limit; a verdict ends itself after 5
constexpr std::size_t kMostParting = 64;
constexpr std::chrono::seconds kParting{1};

void send_at_once(const Descriptor& client, const std::string& bytes) {
  // A client that does not read gets no more.
  [[maybe_unused]] const ssize_t sent =
      ::send(client.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

std::string failure_text(HttpProgress::Stage stage, int status, const std::string& why) {
  switch (stage) {
    case HttpProgress::Stage::Talking: return "";
    case HttpProgress::Stage::Judging:
      return http_answer({status, "application/json"}, error_line(why));
    case HttpProgress::Stage::InChunks:  // incomplete: no last chunk
      return http_chunk(error_line(why));
    case HttpProgress::Stage::InText: break;
  }
  return error_line(why);
}

// The token from a file or the environment; empty if neither has one.
std::string given_token(const std::string& file) {
  constexpr std::size_t kLeast = 16, kMost = 4096;
  const char* const variable = std::getenv("TOUCHSTONE_TOKEN");
  std::string token = !file.empty() ? read_file(file, kMost) : variable != nullptr ? variable : "";
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  if (token.empty() && file.empty()) return token;
  const auto allowed = [](char c) { return c > ' ' && c <= '~'; };
  if (token.size() < kLeast || !std::ranges::all_of(token, allowed))
    throw ParseError(fmt::format("{}: a token must have {} or more ASCII characters and no spaces",
                                 file.empty() ? "TOUCHSTONE_TOKEN" : "--token-file " + file,
                                 kLeast));
  return token;
}

std::string new_token() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != std::ssize(bytes))
    throw SystemError(fmt::format("serve: no random bytes for a token: {}", std::strerror(errno)));
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

/// Shared memory with one HttpProgress per place.
class ProgressTable {
 public:
  explicit ProgressTable(std::size_t count) : bytes_(count * sizeof(HttpProgress)) {
    void* const memory =
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      throw SystemError(fmt::format("serve: no memory to share: {}", std::strerror(errno)));
    first_ = static_cast<HttpProgress*>(memory);
    std::uninitialized_default_construct_n(first_, count);
  }
  ~ProgressTable() { ::munmap(first_, bytes_); }
  ProgressTable(const ProgressTable&) = delete;
  ProgressTable& operator=(const ProgressTable&) = delete;
  HttpProgress& operator[](std::size_t place) { return first_[place]; }

 private:
  std::size_t bytes_;
  HttpProgress* first_;
};

/// The process that accepts connections. It never reads clients' data.
class HttpService {
 public:
  HttpService(ListeningSocket& listening, const ServeOptions& options)
      : listening_(listening),
        options_(options),
        progress_(static_cast<std::size_t>(options.connections)),
        places_(static_cast<std::size_t>(options.connections)) {}

  void run() {
    while (!OrderlyEnd::wanted()) {
      wait();
      accept_all();
      for (std::size_t at = 0; at < places_.size(); ++at) look_after(at);
      drop_parting();
    }
  }

 private:
  struct Place {
    Descriptor client;
    Child child;
  };
  struct Parting {
    Descriptor client;
    Clock::time_point deadline;
  };

  void wait() {
    std::vector<pollfd> waiting{{accepts_ ? listening_.fd() : -1, POLLIN, 0}};
    accepts_ = true;
    for (const auto& place : places_) {
      if (!place) continue;
      waiting.push_back({place->child.ended(), POLLIN, 0});
      waiting.push_back({place->client.get(), 0, 0});  // reports a fully closed connection
    }
    for (const Parting& one : parting_) waiting.push_back({one.client.get(), POLLIN, 0});
    ::poll(waiting.data(), waiting.size(), kTickMilliseconds);
  }

  void accept_all() {
    for (std::size_t i = 0; i <= places_.size(); ++i) {
      Descriptor client(::accept4(listening_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (client) {
        welcome(std::move(client));
      } else {
        // Out of descriptors or memory: the queue waits until a place is free.
        accepts_ = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
        return;
      }
    }
  }

  void welcome(Descriptor client) {
    std::size_t at = 0;
    while (at < places_.size() && places_[at]) ++at;
    if (at == places_.size())
      return turn_away(std::move(client),
                       fmt::format("{} connections are already open (--connections); try again",
                                   places_.size()));
    progress_[at].enter(HttpProgress::Stage::Talking);
    try {
      Child child = Child::of_function([&](int) {
        ::close(listening_.fd());
        for (auto& place : places_)
          if (place) place->client.close();
        for (Parting& one : parting_) one.client.close();
        converse(client.get(), progress_[at], options_);
        return 0;
      });
      places_[at].emplace(Place{std::move(client), std::move(child)});
    } catch (const SystemError& e) {
      turn_away(std::move(client), e.what());
    }
  }

  void turn_away(Descriptor client, const std::string& why) {
    send_at_once(client, http_answer({503, "application/json"}, error_line(why)));
    part_with(std::move(client));
  }

  void look_after(std::size_t at) {
    auto& place = places_[at];
    if (!place) return;
    if (is_gone(place->client.get())) {
      place->child.end();
      place.reset();
      return;
    }
    const HttpProgress& progress = progress_[at];
    const double over =
        options_.limits.seconds > 0 && progress.stage != HttpProgress::Stage::Talking
            ? progress.seconds() - options_.limits.seconds
            : 0;
    if (over <= kSecondsToBreakOff && !place->child.has_ended()) return;
    const process::Ending ending = place->child.end();
    // A verdict that cannot be interrupted ends its process by itself (work_limits.cpp).
    const bool takes_too_long =
        over > kSecondsToBreakOff || (over > 0 && ending.exit_code() == kExitBad);
    if (OrderlyEnd::wanted()) return;
    send_at_once(place->client,
                 takes_too_long
                     ? failure_text(progress.stage, 504,
                                    fmt::format("it takes longer than {:g} s (--timeout)",
                                                options_.limits.seconds))
                     : failure_text(progress.stage, 500,
                                    "the process that judged it ended by " + ending.text()));
    part_with(std::move(place->client));
    place.reset();
  }

  // Closing a connection with unread bytes would discard what was sent last.
  void part_with(Descriptor client) {
    ::shutdown(client.get(), SHUT_WR);
    if (parting_.size() == kMostParting) parting_.pop_front();
    parting_.push_back({std::move(client), Clock::now() + kParting});
  }

  void drop_parting() {
    const auto now = Clock::now();
    std::erase_if(parting_, [&](const Parting& one) {
      const ssize_t n = ::recv(one.client.get(), scrap_.data(), scrap_.size(), MSG_DONTWAIT);
      return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) || now > one.deadline;
    });
  }

  ListeningSocket& listening_;
  const ServeOptions& options_;
  ProgressTable progress_;
  std::vector<std::optional<Place>> places_;
  std::list<Parting> parting_;  // oldest first
  bool accepts_ = true;
  std::array<char, 65536> scrap_;
};

}  // namespace

int serve_http(ServeOptions options) {
  ListeningSocket listening(options.listen);
  OrderlyEnd end([&] { listening.remove(); });
  std::string told = fmt::format("listening on {}\n", listening.where());
  if (listening.is_address()) {
    options.no_files = true;
    options.token = given_token(options.token_file);
    if (options.token.empty()) {
      options.token = new_token();
      told += fmt::format("requests need: Authorization: Bearer {}\n", options.token);
    }
  } else if (!options.token_file.empty()) {
    throw ParseError(
        "--token-file: a Unix socket needs no token, since only its owner can connect");
  }
  std::fputs(told.c_str(), stderr);
  try {
    HttpService(listening, options).run();
  } catch (const Interrupted&) {
    // a signal arrived while forking
  }
  end.leave();
  return kExitOk;
}

}  // namespace touchstone::cli

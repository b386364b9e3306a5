#include "touchstone/prove/solver.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <z3.h>

#include "touchstone/base/interrupt.h"
#include "touchstone/process/child.h"
#include "touchstone/process/run.h"

namespace touchstone::prove {

namespace {

using Clock = std::chrono::steady_clock;

// A message is its length, then its bytes.
bool send_message(int socket, const std::string& text) {
  const std::uint64_t length = text.size();
  std::string message(sizeof length, '\0');
  std::memcpy(message.data(), &length, sizeof length);
  return process::send_all(socket, message + text);
}

// CPU seconds used by a child; nullopt if it is gone.
std::optional<double> processor_seconds(pid_t child) {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(child, &clock) != 0 || ::clock_gettime(clock, &used) != 0)
    return std::nullopt;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

// The time limit of a child: CPU time, so that a busy machine gives the same answers, and a
// multiple of it in wall-clock time, for a child that is never scheduled.
class Patience {
 public:
  Patience(pid_t child, double seconds)
      : child_(child),
        used_(processor_seconds(child).value_or(0)),
        seconds_(seconds),
        until_(Clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 2e4))) {
  }
  bool is_over() const { return Clock::now() > until_ || spent() > seconds_; }
  double spent() const { return processor_seconds(child_).value_or(used_) - used_; }

 private:
  pid_t child_;
  double used_;  // before this question
  double seconds_;
  Clock::time_point until_;
};

enum class Received { Whole, Ended, Late };

Received receive_bytes(int socket, char* to, std::size_t size, const Patience* patience) {
  constexpr int kLookMilliseconds = 50;
  for (std::size_t done = 0; done < size;) {
    Interrupt::poll();
    pollfd waiting{socket, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, patience == nullptr ? -1 : kLookMilliseconds);
    if (ready == 0 && patience != nullptr && patience->is_over()) return Received::Late;
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    const ssize_t n = ::recv(socket, to + done, size - done, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Received::Ended;
    done += static_cast<std::size_t>(n);
  }
  return Received::Whole;
}

Received receive(int socket, std::string& text, const Patience* patience) {
  std::uint64_t length = 0;
  const Received header =
      receive_bytes(socket, reinterpret_cast<char*>(&length), sizeof length, patience);
  if (header != Received::Whole) return header;
  text.resize(length);
  return receive_bytes(socket, text.data(), length, patience);
}

// The answer as lines: the word, then `name value` lines or the reason.
std::string model_lines(Z3_context z3, Z3_model model) {
  std::string lines;
  for (unsigned i = 0; i < Z3_model_get_num_consts(z3, model); ++i) {
    const Z3_func_decl variable = Z3_model_get_const_decl(z3, model, i);
    const Z3_ast value = Z3_model_get_const_interp(z3, model, variable);
    if (value == nullptr || Z3_get_ast_kind(z3, value) != Z3_NUMERAL_AST) continue;
    lines += Z3_get_symbol_string(z3, Z3_get_decl_name(z3, variable));
    lines += fmt::format(" {}\n", Z3_get_numeral_string(z3, value));
  }
  return lines;
}

std::string solve(const std::string& script, unsigned effort) {
  const Z3_config config = Z3_mk_config();
  const Z3_context z3 = Z3_mk_context(config);
  Z3_del_config(config);
  Z3_set_error_handler(z3, nullptr);
  const Z3_solver solver = Z3_mk_simple_solver(z3);
  Z3_solver_inc_ref(z3, solver);
  const Z3_params limits = Z3_mk_params(z3);
  Z3_params_inc_ref(z3, limits);
  Z3_params_set_uint(z3, limits, Z3_mk_string_symbol(z3, "rlimit"), effort);
  Z3_solver_set_params(z3, solver, limits);
  Z3_solver_from_string(z3, solver, script.c_str());
  std::string answer;
  if (const Z3_error_code error = Z3_get_error_code(z3); error != Z3_OK) {
    answer =
        fmt::format("unknown\nthe solver rejected the script: {}", Z3_get_error_msg(z3, error));
  } else if (const Z3_lbool result = Z3_solver_check(z3, solver); result == Z3_L_FALSE) {
    answer = "unsat\n";
  } else if (result == Z3_L_TRUE) {
    const Z3_model model = Z3_solver_get_model(z3, solver);
    Z3_model_inc_ref(z3, model);
    answer = "sat\n" + model_lines(z3, model);
    Z3_model_dec_ref(z3, model);
  } else {
    answer = fmt::format("unknown\n{}", Z3_solver_get_reason_unknown(z3, solver));
  }
  Z3_params_dec_ref(z3, limits);
  Z3_solver_dec_ref(z3, solver);
  Z3_del_context(z3);
  return answer;
}

int serve(int socket) {
  constexpr const char* kMegabytes = "2000";
  Z3_global_param_set("memory_max_size", kMegabytes);
  for (std::string script; receive(socket, script, nullptr) == Received::Whole;) {
    unsigned effort = 0;
    std::memcpy(&effort, script.data(), sizeof effort);
    if (!send_message(socket, solve(script.substr(sizeof effort), effort))) break;
  }
  return 0;
}

Reply read_reply(const std::string& text) {
  Reply reply;
  const std::size_t first = text.find('\n');
  const std::string word = text.substr(0, first);
  const std::string rest = first == std::string::npos ? "" : text.substr(first + 1);
  if (word == "unsat") {
    reply.answer = Answer::Unsat;
  } else if (word != "sat") {
    reply.reason = rest;
  } else {
    reply.answer = Answer::Sat;
    for (std::size_t at = 0; at < rest.size();) {
      const std::size_t space = rest.find(' ', at), end = rest.find('\n', at);
      reply.model.emplace(rest.substr(at, space - at),
                          symbolic::Int::from_digits(rest.substr(space + 1, end - space - 1)));
      at = end + 1;
    }
  }
  return reply;
}

}  // namespace

Solver::Solver() = default;
Solver::~Solver() = default;
Solver::Solver(Solver&&) noexcept = default;
Solver& Solver::operator=(Solver&&) noexcept = default;

void Solver::stop() { child_.reset(); }
void Solver::start() {
  child_ = std::make_unique<process::Child>(process::Child::of_function(serve));
}

Reply Solver::ask(const std::string& script, unsigned effort, double seconds) {
  std::string message(sizeof effort, '\0');
  std::memcpy(message.data(), &effort, sizeof effort);
  message += script;
  std::string text;
  Received received = Received::Ended;
  double spent = 0;
  const bool used = child_ != nullptr;
  for (int trial = 0; trial < 2; ++trial) {
    if (!child_) start();
    const Patience patience(child_->pid(), seconds);
    try {
      if (send_message(child_->channel(), message))
        received = receive(child_->channel(), text, &patience);
    } catch (const Interrupted&) {
      stop();  // its answer would be taken for the next question's
      throw;
    }
    spent = patience.spent();
    if (received == Received::Whole) break;
    stop();
    // Restarts once a child that died between two questions.
    if (received == Received::Late || !used) break;
  }
  Reply reply;
  if (received == Received::Whole)
    reply = read_reply(text);
  else
    reply.reason = received == Received::Late
                       ? fmt::format("no answer within {:.0f} s of processor time", seconds)
                       : "the solver's process ended";
  reply.seconds = spent;
  return reply;
}

std::string solver_version() {
  unsigned major = 0, minor = 0, build = 0, revision = 0;
  Z3_get_version(&major, &minor, &build, &revision);
  return fmt::format("{}.{}.{}", major, minor, build);
}

}  // namespace touchstone::prove

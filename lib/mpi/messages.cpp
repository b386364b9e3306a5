#ifdef TOUCHSTONE_HAS_MPI
#include "touchstone/mpi/messages.h"

#include <algorithm>
#include <thread>

#include "touchstone/base/error.h"

namespace touchstone::mpi {
namespace {

using Clock = std::chrono::steady_clock;

// Limits what MPI buffers for messages that are not received yet.
constexpr std::size_t kMostPending = 256;
// MPI counts in int: large messages are split.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;
constexpr std::size_t kMostTrouble = 1024;

std::string said(int code) {
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  text.resize(static_cast<std::size_t>(length));
  return text;
}

}  // namespace

Messages::Messages(std::chrono::milliseconds patience) : patience_(patience) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm_dup(MPI_COMM_WORLD, &troubles_);
}

void Messages::check(int code, const std::string& what) {
  if (code == MPI_SUCCESS) return;
  const std::string why = fmt::format("{}: {}", what, said(code));
  fail(why);
  throw Error(fmt::format("rank {}: {}", rank_, why));
}

void Messages::hear(const std::string& what) {
  int there = 0;
  MPI_Status status;
  if (MPI_Iprobe(MPI_ANY_SOURCE, 0, troubles_, &there, &status) != MPI_SUCCESS || there == 0)
    return;
  std::vector<char> text(kMostTrouble + 1, '\0');
  MPI_Recv(text.data(), static_cast<int>(kMostTrouble), MPI_CHAR, status.MPI_SOURCE, 0, troubles_,
           MPI_STATUS_IGNORE);
  const std::string why =
      fmt::format("{}: rank {} failed: {}", what, status.MPI_SOURCE, text.data());
  failed_ = true;  // the rank that failed informs the others
  throw Error(fmt::format("rank {}: {}", rank_, why));
}

// Waits until it is complete or the patience ends.
void Messages::wait(MPI_Request& request, const std::string& what) {
  const auto start = Clock::now();
  for (int turn = 0;; ++turn) {
    int done = 0;
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), what);
    if (done != 0) return;
    const auto waited = Clock::now() - start;
    if (waited > patience_) {
      const std::string why = fmt::format(
          "{}: no message for {} s, so another rank has ended or hangs; look at its output, or "
          "raise TOUCHSTONE_MPI_PATIENCE",
          what, std::chrono::duration<double>(patience_).count());
      fail(why);
      throw Error(fmt::format("rank {}: {}", rank_, why));
    }
    // Another rank may need this core: stop busy-waiting.
    if (waited > std::chrono::milliseconds(20)) {
      hear(what);
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    } else if (turn > 20) {
      std::this_thread::yield();
    }
  }
}

void Messages::post(const Buffer& b, bool arrives, int other, const std::string& what) {
  auto* const memory = static_cast<std::byte*>(b.memory());
  const std::shared_ptr<const Buffer> held = b.weak_from_this().lock();
  for (std::size_t at = 0; at < b.bytes(); at += kMostBytes) {
    while (pending_.size() >= kMostPending) finish(pending_.begin());
    const std::size_t bytes = std::min(kMostBytes, b.bytes() - at);
    Pending p{MPI_REQUEST_NULL, memory + at, bytes, arrives, held, what};
    const int count = static_cast<int>(bytes);
    check(arrives ? MPI_Irecv(memory + at, count, MPI_BYTE, other, 0, MPI_COMM_WORLD, &p.request)
                  : MPI_Isend(memory + at, count, MPI_BYTE, other, 0, MPI_COMM_WORLD, &p.request),
          what);
    pending_.push_back(std::move(p));
    if (held == nullptr) finish(std::prev(pending_.end()));  // the buffer may go earlier
  }
}

void Messages::send(const Buffer& from, int to, const std::string& what) {
  post(from, false, to, what);
}
void Messages::receive(Buffer& into, int from, const std::string& what) {
  post(into, true, from, what);
}

void Messages::finish(std::deque<Pending>::iterator it) {
  wait(it->request, it->what);
  pending_.erase(it);
}

void Messages::settle(const Buffer& b, bool written) {
  const auto* const begin = static_cast<const std::byte*>(b.memory());
  const auto touches = [&](const Pending& p) {
    return (written || p.arrives) && p.begin < begin + b.bytes() && begin < p.begin + p.bytes;
  };
  for (;;) {
    const auto it = std::ranges::find_if(pending_, touches);
    if (it == pending_.end()) return;
    finish(it);
  }
}

void Messages::settle_all() {
  while (!pending_.empty()) finish(pending_.begin());
}

void Messages::broadcast(std::byte* data, std::size_t bytes, int from, const std::string& what) {
  for (std::size_t at = 0; at < bytes; at += kMostBytes) {
    MPI_Request request;
    check(MPI_Ibcast(data + at, static_cast<int>(std::min(kMostBytes, bytes - at)), MPI_BYTE, from,
                     MPI_COMM_WORLD, &request),
          what);
    wait(request, what);
  }
}

void Messages::barrier(const std::string& what) {
  MPI_Request request;
  check(MPI_Ibarrier(MPI_COMM_WORLD, &request), what);
  wait(request, what);
}

std::vector<std::byte> Messages::gathered(const void* own, std::size_t bytes,
                                          const std::string& what) {
  std::vector<std::byte> all(bytes * static_cast<std::size_t>(size_));
  const int count = static_cast<int>(bytes);
  MPI_Request request;
  check(MPI_Iallgather(own, count, MPI_BYTE, all.data(), count, MPI_BYTE, MPI_COMM_WORLD, &request),
        what);
  wait(request, what);
  return all;
}

void Messages::fail(std::string_view why) {
  if (failed_) return;
  failed_ = true;
  trouble_ = why.substr(0, kMostTrouble - 1);
  for (int r = 0; r < size_; ++r) {
    MPI_Request request;
    if (r != rank_ && MPI_Isend(trouble_.data(), static_cast<int>(trouble_.size()), MPI_CHAR, r, 0,
                                troubles_, &request) == MPI_SUCCESS)
      MPI_Request_free(&request);
  }
}

void Messages::part() noexcept {
  MPI_Request request;
  if (MPI_Ibarrier(troubles_, &request) != MPI_SUCCESS) return;
  const auto start = Clock::now();
  for (int done = 0; done == 0 && Clock::now() - start < std::chrono::seconds(3);) {
    if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace touchstone::mpi
#endif

#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <mpi.h>

#include "touchstone/device/buffer.h"

namespace touchstone::mpi {

/// Messages between the ranks of a job, with a time limit on every wait. A failing rank sends its
/// reason to the others, which then fail with it wherever they wait.
///
/// Messages between two ranks arrive in order, and all ranks send and receive by one schedule, so
/// waits cannot deadlock.
class Messages {
 public:
  /// Requires that MPI is started.
  explicit Messages(std::chrono::milliseconds patience);

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool failed() const { return failed_; }

  /// Starts a transfer. Until it is settled, do not write `from`, nor read or write `into`.
  void send(const Buffer& from, int to, const std::string& what);
  void receive(Buffer& into, int from, const std::string& what);
  /// Waits until this buffer may be written (`written`) or read.
  void settle(const Buffer& made, bool written);
  void settle_all();

  void broadcast(std::byte* data, std::size_t bytes, int from, const std::string& what);
  void barrier(const std::string& what);
  /// Returns `bytes` of each rank, in rank order.
  std::vector<std::byte> gathered(const void* own, std::size_t bytes, const std::string& what);

  /// Sends the other ranks the reason why this one fails, once.
  void fail(std::string_view why);
  /// Waits until every rank has failed or some time has passed.
  void part() noexcept;

 private:
  struct Pending {
    MPI_Request request = MPI_REQUEST_NULL;
    const std::byte* begin = nullptr;
    std::size_t bytes = 0;
    bool arrives = false;
    std::shared_ptr<const Buffer> held;
    std::string what;
  };

  void check(int code, const std::string& what);
  void wait(MPI_Request& request, const std::string& what);
  void hear(const std::string& what);
  void post(const Buffer& b, bool arrives, int other, const std::string& what);
  void finish(std::deque<Pending>::iterator it);

  std::chrono::milliseconds patience_;
  int rank_ = 0, size_ = 1;
  bool failed_ = false;
  MPI_Comm troubles_ = MPI_COMM_NULL;  // a communicator of its own for failures
  std::string trouble_;                // this rank's reason, while it is being sent
  std::deque<Pending> pending_;
};

}  // namespace touchstone::mpi

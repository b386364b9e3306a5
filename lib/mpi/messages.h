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

/// What travels between the ranks of a job, with a limit on how long anything is waited for. A rank
/// that fails tells the others why, which then fail with that reason wherever they wait.
///
/// Messages between two ranks arrive in the order in which they were sent, and all ranks send and
/// receive by one schedule: so nothing is waited for that waits for something later.
class Messages {
 public:
  /// MPI has been started.
  explicit Messages(std::chrono::milliseconds patience);

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool failed() const { return failed_; }

  /// Begin to travel. Until settled, `from` is not to be written, nor `into` read or written.
  void send(const Buffer& from, int to, const std::string& what);
  void receive(Buffer& into, int from, const std::string& what);
  /// Waits for the messages that `made` or `read` are part of.
  void settle(const Buffer& made, bool written);
  void settle_all();

  void broadcast(std::byte* data, std::size_t bytes, int from, const std::string& what);
  void barrier(const std::string& what);
  /// `bytes` of each rank, in the order of ranks.
  std::vector<std::byte> gathered(const void* own, std::size_t bytes, const std::string& what);

  /// Tells the others why this rank fails, once.
  void fail(std::string_view why);
  /// Until every rank failed, or a while has passed.
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
  MPI_Comm troubles_ = MPI_COMM_NULL;  // of their own, so that no message is taken for one
  std::string trouble_;                // this rank's, while it is sent
  std::deque<Pending> pending_;
};

}  // namespace touchstone::mpi

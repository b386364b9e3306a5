#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace touchstone {

/// Limits on waits in MPI.
struct MpiOptions {
  /// An operation fails after waiting so long for the other rank.
  std::chrono::milliseconds patience{60'000};
  /// Reads TOUCHSTONE_MPI_PATIENCE, in seconds. Throws ParseError.
  static MpiOptions from_environment();
};

/// This process's membership in an MPI job, for its lifetime. Every rank runs the same program on
/// the same data. `CLANG@r` and `CPU@r` are devices of rank r, for r below size(): only that rank
/// runs their kernels and holds their buffers; the others only track them. Devices without @ exist
/// on every rank with the same values: a copy from `CLANG@r` to one is a broadcast, a copy to
/// `CLANG@r` is local to rank r, and a copy between ranks is a message.
///
/// Before a schedule with such devices runs, the ranks compare it: a difference is an Error on
/// every rank that names the first differing step. If a rank fails, the others get an Error with
/// its reason; if it dies or exceeds the patience, an Error that names the operation waited for.
/// The whole job then ends when this object is destroyed.
///
/// Messages are transferred while kernels run; a kernel waits for its buffers, and a schedule ends
/// after all transfers.
class MpiWorld {
 public:
  /// Starts MPI and registers the devices with the kinds registered for CLANG and CPU. Throws Error
  /// if MPI cannot be started or already is.
  explicit MpiWorld(MpiOptions options = MpiOptions::from_environment());
  /// Ends MPI; after an error, ends the whole job.
  ~MpiWorld();
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;

  int rank() const;
  int size() const;
  /// KIND@0, KIND@1, ... for all ranks.
  std::vector<std::string> devices(std::string_view kind = "CLANG") const;
  /// Waits for all ranks.
  void barrier();
  /// Sends the other ranks the reason why this one fails; they then fail with it wherever they
  /// wait. The whole job ends when this object is destroyed.
  void fail(std::string_view why);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// True if built with MPI.
bool has_mpi();
/// True if the environment shows that mpirun started this process.
bool under_mpirun();

}  // namespace touchstone

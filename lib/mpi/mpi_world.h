#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace touchstone {

/// What MPI waits for, and how long.
struct MpiOptions {
  /// After so long without the other rank an operation is an error on the rank that waits.
  std::chrono::milliseconds patience{60'000};
  /// TOUCHSTONE_MPI_PATIENCE, in seconds. Throws ParseError.
  static MpiOptions from_environment();
};

/// The ranks of an MPI job, of which this process is one, while it lives. Every rank runs the same
/// program on the same data. `CLANG@r` (and `CPU@r`) are devices of rank r, for r below size():
/// there its kernels run and its buffers lie, while the others only keep the books. A device
/// without @ is one that every rank has for itself, with the same values: a copy from `CLANG@r` to
/// it is a broadcast, a copy to `CLANG@r` is made by rank r alone, and one between ranks is a
/// message from one to the other.
///
/// Before a schedule with such devices runs, ranks compare it: a difference is an Error on every
/// rank that names the first step which differs. Where a rank fails, the others get an Error with
/// its reason, and where it dies or does not come within the patience, one that says what they
/// waited for; the job then ends with all its ranks when this object goes.
///
/// A message travels while kernels run. Its memory is waited for before a kernel needs it, and at
/// the end of a schedule.
class MpiWorld {
 public:
  /// Starts MPI and registers the devices, CLANG's kind and CPU's as they are registered. Throws
  /// Error where MPI cannot be started, or is already.
  explicit MpiWorld(MpiOptions options = MpiOptions::from_environment());
  /// Ends MPI; after an error, the whole job.
  ~MpiWorld();
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;

  int rank() const;
  int size() const;
  /// KIND@0, KIND@1, ... of all ranks.
  std::vector<std::string> devices(std::string_view kind = "CLANG") const;
  /// Waits for all ranks.
  void barrier();
  /// Tells the other ranks that this one fails, which then fail with its reason wherever they wait;
  /// the whole job ends when the object goes.
  void fail(std::string_view why);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whether MPI was found when this was built.
bool has_mpi();
/// Whether this process was started by mpirun, as the environment says.
bool under_mpirun();

}  // namespace touchstone

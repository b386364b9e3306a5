#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <linux/filter.h>
#include <net/if.h>

#include "touchstone/process/readable.h"

namespace touchstone::process {

/// Restrictions on a program in a room. The system may lack any of them. With Landlock but no
/// namespaces, the same files may be opened for writing, plus devices, /proc and the shared
/// /dev/shm; modes and owners can still be changed.
enum RoomPart : unsigned {
  kFiles = 1,    // writing only to its folder and a private /dev/shm
  kNetwork = 2,  // no network except a private loopback
  kSignals = 4,  // signals only to processes that it started
  kCalls = 8,    // no system calls that backends do not need: ptrace, mount, bpf and so on
  kReads = 16,   // reading only the places of readable.h; not for compilers
};

/// "files outside of its folder, the network".
std::string names_of(unsigned parts);

/// Returns the absolute path of a writable room folder; empty (no room) if TOUCHSTONE_ROOM is
/// `off`. Throws ParseError if TOUCHSTONE_ROOM is neither on nor off.
std::string room_in(const std::filesystem::path& folder);

/// A room for a program: everything the child needs to enter it, prepared before the child starts.
/// In the room it runs with its user's rights but no capabilities, and gains none from programs
/// that it runs.
class Room {
 public:
  enum class Kind : std::uint8_t {
    Backend,
    Tool,  // a compiler; starts too often for namespaces, so it keeps the network
  };
  /// `folder`: an absolute path, writable by the program. Without `namespaces` a backend keeps the
  /// network. `words`: its command.
  Room(std::string folder, Kind kind, bool namespaces, const std::vector<std::string>& words = {});

  /// "NAME=VALUE" variables that direct caches and temporary files into the folder and disable
  /// features that cannot work in a room: leak detection, which needs ptrace, and ccache.
  std::vector<std::string> environment() const;

  /// Called in the child; makes system calls only, through raw_call. Returns the parts that the
  /// system refused, or kStranded if the child must not continue because its user is not mapped.
  unsigned enter() const;
  static constexpr unsigned kStranded = ~0U;

 private:
  bool close_files() const;
  unsigned keep_in(bool files) const;
  void raise_loopback() const;

  std::string folder_;
  Kind kind_;
  std::string users_, groups_;
  bool namespaces_;
  std::vector<Place> readable_;
  std::vector<sock_filter> filter_;
  ifreq loopback_{};
};

}  // namespace touchstone::process

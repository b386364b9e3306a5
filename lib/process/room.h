#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <linux/filter.h>
#include <net/if.h>

namespace touchstone::process {

/// What a program in a room is kept from. A system may refuse each of them. Where it has no
/// namespaces but Landlock, files are opened by the same rule, but for devices and the /dev/shm of
/// all; their modes and owners stay as free as they were.
enum RoomPart : unsigned {
  kFiles = 1,    // writing to files outside of its folder and a /dev/shm of its own
  kNetwork = 2,  // any network but a loopback of its own
  kSignals = 4,  // signals to processes that it did not start
  kCalls = 8,    // calls of the system that no backend needs: ptrace, mount, bpf and the like
};

/// "other files, the network".
std::string names_of(unsigned parts);

/// The folder of a room for a program that may write to it: absolute; empty, so that the program
/// runs in none, where TOUCHSTONE_ROOM is `off`. ParseError where that is another word than on,
/// off.
std::string room_in(const std::filesystem::path& folder);

/// A room for a program: all that the child needs to enter it, prepared before it is made. In the
/// room it has the rights of its user and none of root, and gains none by programs that it runs.
class Room {
 public:
  enum class Kind : std::uint8_t {
    Backend,
    Tool,  // a compiler, which starts too often for namespaces: it keeps the network
  };
  /// `folder`: an absolute path, writable by the program. Without `namespaces` a backend is not
  /// kept from the network.
  Room(std::string folder, Kind kind, bool namespaces);

  /// Variables that lead caches and temporary files into the folder, and turn off what cannot work
  /// in a room, "NAME=VALUE": the search for leaks, which needs ptrace, and the cache of ccache.
  std::vector<std::string> environment() const;

  /// Called in the child; asks the system alone, by raw_call. Returns the parts that the system
  /// refused, or kStranded where the child must not go on: it has a user without a number.
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
  std::vector<sock_filter> filter_;
  ifreq loopback_{};
};

}  // namespace touchstone::process

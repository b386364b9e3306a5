#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "touchstone/base/descriptor.h"

namespace touchstone::cli {

/// A socket that only local programs can reach: on a loopback address, or a Unix socket of this
/// user.
class ListeningSocket {
 public:
  /// `place`: ADDRESS[:PORT] in 127.0.0.0/8, ::1 or localhost, where port 0 or none picks a free
  /// one; or a path with a slash, or unix:PATH. Replaces a dead socket of this user at that path,
  /// and nothing else. Does not block. Throws ParseError or SystemError.
  explicit ListeningSocket(const std::string& place);
  ~ListeningSocket() { remove(); }
  ListeningSocket(const ListeningSocket&) = delete;
  ListeningSocket& operator=(const ListeningSocket&) = delete;

  int fd() const { return fd_.get(); }
  /// "http://127.0.0.1:8080", "unix:/run/user/1000/touchstone".
  const std::string& where() const { return where_; }
  /// True for an address; false for a Unix socket, which no other user can connect to.
  bool is_address() const { return path_.empty(); }
  /// Stops accepting; deletes the Unix socket's file unless it has been replaced.
  void remove();

 private:
  void listen_at_path(const std::string& path);
  void listen_at_address(const std::string& place);

  Descriptor fd_;
  std::string where_;
  std::filesystem::path path_;  // of a Unix socket
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

/// True if the other end of an accepted connection is closed. A client that only closed its sending
/// half still reads and is not gone.
bool is_gone(int client);

/// True if a host, as in "localhost:8080" or "[::1]", is this machine's own.
bool is_loopback_host(std::string_view host_and_port);

}  // namespace touchstone::cli

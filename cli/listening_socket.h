#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "touchstone/process/descriptor.h"

namespace touchstone::cli {

/// A place where this machine's programs alone can connect: a loopback address, or a Unix socket
/// for this user alone.
class ListeningSocket {
 public:
  /// `place`: ADDRESS[:PORT] of 127.0.0.0/8, ::1 or localhost, port 0 or none being a free one; or
  /// a path with a slash, or unix:PATH. A socket of this user at that path on which nobody listens
  /// any more is replaced, nothing else. Does not block. Throws ParseError or SystemError.
  explicit ListeningSocket(const std::string& place);
  ~ListeningSocket() { remove(); }
  ListeningSocket(const ListeningSocket&) = delete;
  ListeningSocket& operator=(const ListeningSocket&) = delete;

  int fd() const { return fd_.get(); }
  /// "http://127.0.0.1:8080", "unix:/run/user/1000/touchstone".
  const std::string& where() const { return where_; }
  /// Else a Unix socket, to which no other user can connect.
  bool is_address() const { return path_.empty(); }
  /// Nobody connects any more; the file of a Unix socket goes, unless it is another by now.
  void remove();

 private:
  void listen_at_path(const std::string& path);
  void listen_at_address(const std::string& place);

  process::Descriptor fd_;
  std::string where_;
  std::filesystem::path path_;  // of a Unix socket
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

/// Whether the other end of a connection from a listening socket is closed. One that closed but its
/// sending half still reads, and is not gone.
bool is_gone(int client);

/// Whether a name of a host, as in "localhost:8080" or "[::1]", is this machine's own.
bool is_loopback_host(std::string_view host_and_port);

}  // namespace touchstone::cli

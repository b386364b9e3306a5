#include "touchstone/cli/serve/listening_socket.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <poll.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "touchstone/base/error.h"

namespace touchstone::cli {
namespace {

constexpr int kWaiting = 1024;  // pending connections

struct HostAndPort {
  std::string host, port;  // without brackets; port: may be empty
};

std::optional<HostAndPort> split_host(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == text.npos) return {};
    const std::string_view rest = text.substr(end + 1);
    if (!rest.empty() && (rest[0] != ':' || rest.size() == 1)) return {};
    return HostAndPort{std::string(text.substr(1, end - 1)),
                       std::string(rest.empty() ? rest : rest.substr(1))};
  }
  const std::size_t colon = text.find(':');
  if (colon == text.npos || text.find(':', colon + 1) != text.npos)  // none, or a bare IPv6 address
    return HostAndPort{std::string(text), ""};
  if (colon + 1 == text.size()) return {};
  return HostAndPort{std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

union LoopbackAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

std::optional<LoopbackAddress> loopback(const std::string& host) {
  LoopbackAddress address{};
  in_addr v4{};
  in6_addr v6{};
  if (::inet_pton(AF_INET,
                  ::strcasecmp(host.c_str(), "localhost") == 0 ? "127.0.0.1" : host.c_str(),
                  &v4) == 1) {
    if (ntohl(v4.s_addr) >> 24 != 127) return {};
    address.v4.sin_family = AF_INET;
    address.v4.sin_addr = v4;
    return address;
  }
  if (::inet_pton(AF_INET6, host.c_str(), &v6) != 1 || !IN6_IS_ADDR_LOOPBACK(&v6)) return {};
  address.v6.sin6_family = AF_INET6;
  address.v6.sin6_addr = v6;
  return address;
}

std::optional<std::uint16_t> port_of(const std::string& text) {
  std::uint16_t port = 0;
  if (text.empty()) return port;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return port;
}

[[noreturn]] void cannot_listen(const std::string& place, const std::string& why) {
  throw SystemError(fmt::format("cannot listen at {}: {}", place, why));
}

Descriptor new_socket(int family, const std::string& place) {
  Descriptor fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) cannot_listen(place, std::strerror(errno));
  return fd;
}

// True if no process owns the closed other end of a TCP connection. That end is on this machine:
// its socket has left the system's table, or has inode 0 there.
bool has_no_owner(int client) {
  LoopbackAddress own{}, other{};
  socklen_t own_size = sizeof own, other_size = sizeof other;
  if (::getsockname(client, &own.any, &own_size) != 0 ||
      ::getpeername(client, &other.any, &other_size) != 0 || own.any.sa_family == AF_UNIX)
    return false;
  const auto text = [](const LoopbackAddress& a) {  // in the table's format
    if (a.any.sa_family == AF_INET)
      return fmt::format("{:08X}:{:04X}", a.v4.sin_addr.s_addr, ntohs(a.v4.sin_port));
    std::array<std::uint32_t, 4> words{};
    std::memcpy(words.data(), &a.v6.sin6_addr, sizeof words);
    return fmt::format("{:08X}:{:04X}", fmt::join(words, ""), ntohs(a.v6.sin6_port));
  };
  std::ifstream table(own.any.sa_family == AF_INET ? "/proc/net/tcp" : "/proc/net/tcp6");
  std::string line;
  if (!std::getline(table, line)) return false;
  const std::string connection = fmt::format(" {} {} ", text(other), text(own));
  while (std::getline(table, line)) {
    if (line.find(connection) == line.npos) continue;
    std::istringstream fields(line);
    std::string inode;
    for (int i = 0; i < 10; ++i) fields >> inode;
    return inode == "0";
  }
  return true;
}

// True if the path is our socket without a listener; throws if anything else is there.
bool has_dead_socket(const std::string& path, const sockaddr_un& address) {
  struct stat there {};
  if (::lstat(path.c_str(), &there) != 0) {
    if (errno == ENOENT) return false;
    cannot_listen(path, std::strerror(errno));
  }
  if (!S_ISSOCK(there.st_mode))
    cannot_listen(path, "the path exists and is not a socket; choose another path");
  if (there.st_uid != ::geteuid()) cannot_listen(path, "the socket belongs to another user");
  const Descriptor probe = new_socket(AF_UNIX, path);
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
      errno != ECONNREFUSED)
    cannot_listen(path, "another process listens on it");
  return true;
}

}  // namespace

bool is_gone(int client) {
  pollfd state{client, POLLRDHUP, 0};
  ::poll(&state, 1, 0);
  if ((state.revents & (POLLHUP | POLLERR)) != 0) return true;
  return (state.revents & POLLRDHUP) != 0 && has_no_owner(client);
}

bool is_loopback_host(std::string_view host_and_port) {
  const auto parts = split_host(host_and_port);
  return parts && loopback(parts->host) && port_of(parts->port);
}

ListeningSocket::ListeningSocket(const std::string& place) {
  if (place.starts_with("unix:"))
    listen_at_path(place.substr(5));
  else if (place.find('/') != place.npos)
    listen_at_path(place);
  else
    listen_at_address(place);
}

void ListeningSocket::listen_at_address(const std::string& place) {
  const auto parts = split_host(place);
  auto address = parts ? loopback(parts->host) : std::nullopt;
  if (!address)
    throw ParseError(fmt::format(
        "--listen {}: must be a loopback address (127.0.0.1:8080, [::1]:8080, localhost) or a path "
        "with a slash; to serve other machines, put a server with access control in front",
        place));
  const auto port = port_of(parts->port);
  if (!port)
    throw ParseError(fmt::format("--listen {}: the port must be a number from 0 to 65535", place));
  const bool is_v4 = address->any.sa_family == AF_INET;
  (is_v4 ? address->v4.sin_port : address->v6.sin6_port) = htons(*port);
  fd_ = new_socket(address->any.sa_family, place);
  const int yes = 1;
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  socklen_t size = is_v4 ? sizeof address->v4 : sizeof address->v6;
  if (::bind(fd_.get(), &address->any, size) != 0 || ::listen(fd_.get(), kWaiting) != 0 ||
      ::getsockname(fd_.get(), &address->any, &size) != 0)
    cannot_listen(place, std::strerror(errno));
  char host[INET6_ADDRSTRLEN] = "";
  if (is_v4)
    ::inet_ntop(AF_INET, &address->v4.sin_addr, host, sizeof host);
  else
    ::inet_ntop(AF_INET6, &address->v6.sin6_addr, host, sizeof host);
  where_ = fmt::format(fmt::runtime(is_v4 ? "http://{}:{}" : "http://[{}]:{}"), host,
                       ntohs(is_v4 ? address->v4.sin_port : address->v6.sin6_port));
}

void ListeningSocket::listen_at_path(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    throw ParseError(fmt::format("--listen {}: the path of a socket must have 1 to {} bytes", path,
                                 sizeof address.sun_path - 1));
  path.copy(address.sun_path, path.size());
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  // The lock lets only one of two processes replace a dead socket.
  const Descriptor lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat about {};
  if (!lock || ::fstat(lock.get(), &about) != 0 || ::flock(lock.get(), LOCK_EX) != 0)
    cannot_listen(path, fmt::format("{}: {}", folder.string(), std::strerror(errno)));
  if ((about.st_mode & S_IWOTH) != 0 && (about.st_mode & S_ISVTX) == 0)
    cannot_listen(path, fmt::format("every user may replace files in {}; use a folder of your own, "
                                    "or set its sticky bit (chmod +t)",
                                    folder.string()));
  if (has_dead_socket(path, address) && ::unlink(path.c_str()) != 0)
    cannot_listen(path, std::strerror(errno));
  fd_ = new_socket(AF_UNIX, path);
  const mode_t before = ::umask(0177);
  const int bound = ::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  const int error = errno;
  ::umask(before);
  if (bound != 0) cannot_listen(path, std::strerror(error));
  path_ = std::filesystem::absolute(path);
  where_ = "unix:" + path_.string();
  if (::lstat(path.c_str(), &about) == 0) {
    device_ = about.st_dev;
    inode_ = about.st_ino;
  }
  if (::listen(fd_.get(), kWaiting) != 0) {
    const std::string why = std::strerror(errno);
    remove();
    cannot_listen(path, why);
  }
}

void ListeningSocket::remove() {
  fd_.close();
  if (path_.empty()) return;
  struct stat now {};
  if (::lstat(path_.c_str(), &now) == 0 && now.st_dev == device_ && now.st_ino == inode_)
    ::unlink(path_.c_str());
  path_.clear();
}

}  // namespace touchstone::cli

#include "touchstone/process/room.h"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/audit.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "touchstone/base/error.h"
#include "touchstone/process/raw_call.h"

// Room::enter runs beside one of our threads, so it must not call libc (see supervisor.cpp).

namespace touchstone::process {
namespace {

#if defined(__x86_64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr unsigned kArchitecture = 0;  // no filter
#endif

constexpr unsigned kNamespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC;
constexpr unsigned kAnyNamespace =
    kNamespaces | CLONE_NEWPID | CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_NEWTIME;

constexpr long refused_calls[] = {
    // other processes
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_process_madvise,
    SYS_process_mrelease, SYS_pidfd_getfd, SYS_kcmp,
    // nested rooms and escapes
    SYS_unshare, SYS_setns, SYS_chroot, SYS_pivot_root, SYS_mount, SYS_umount2, SYS_open_tree,
    SYS_move_mount, SYS_mount_setattr, SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick,
    SYS_open_by_handle_at,
    // the system itself
    SYS_reboot, SYS_kexec_load, SYS_kexec_file_load, SYS_init_module, SYS_finit_module,
    SYS_delete_module, SYS_swapon, SYS_swapoff, SYS_acct, SYS_quotactl, SYS_syslog, SYS_sethostname,
    SYS_setdomainname, SYS_settimeofday, SYS_clock_settime,
    // powerful interfaces that it does not need; io_uring bypasses this filter
    SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_io_uring_setup, SYS_add_key, SYS_request_key,
    SYS_keyctl};

constexpr sock_filter statement(unsigned code, unsigned value) {
  return BPF_STMT(static_cast<std::uint16_t>(code), value);
}
constexpr sock_filter unless(unsigned test, unsigned value, std::uint8_t skipped) {
  return BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | test | BPF_K), value, 0, skipped);
}
constexpr sock_filter load(std::size_t at) {
  return statement(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(at));
}
// The lower half of an argument; both supported machines are little-endian.
constexpr sock_filter load_argument(std::size_t i) {
  return load(offsetof(seccomp_data, args) + 8 * i);
}
constexpr sock_filter allow() { return statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW); }
constexpr sock_filter fail(int error) {
  return statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error));
}

// Allows every call that it does not name.
std::vector<sock_filter> filter() {
  std::vector<sock_filter> all;
  const auto add = [&](std::initializer_list<sock_filter> some) { all.insert(all.end(), some); };
  const auto number = [](long call) { return static_cast<unsigned>(call); };
  add({load(offsetof(seccomp_data, arch)), statement(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture)});
  all.back().jt = 1;
  add({fail(EPERM), load(offsetof(seccomp_data, nr))});
#ifdef __x86_64__
  constexpr unsigned kOtherNumbers = 0x40000000;  // x32
  add({unless(BPF_JGE, kOtherNumbers, 1), fail(EPERM)});
#endif
  for (const long call : refused_calls) add({unless(BPF_JEQ, number(call), 1), fail(EPERM)});
  // clone3 passes its flags in memory, out of the filter's sight; libc falls back to clone.
  add({unless(BPF_JEQ, number(SYS_clone3), 1), fail(ENOSYS)});
  add({unless(BPF_JEQ, number(SYS_clone), 4), load_argument(0), unless(BPF_JSET, kAnyNamespace, 1),
       fail(EPERM), allow()});
  // Terminal input injection, limits of other processes.
  add({unless(BPF_JEQ, number(SYS_ioctl), 4), load_argument(1), unless(BPF_JEQ, TIOCSTI, 1),
       fail(EPERM), allow()});
  add({unless(BPF_JEQ, number(SYS_prlimit64), 4), load_argument(0), unless(BPF_JGT, 0, 1),
       fail(EPERM), allow()});
  // Only itself, its group and "all"; also where the system cannot restrict signals otherwise.
  for (const long call : {SYS_kill, SYS_tkill, SYS_tgkill}) {
    const auto self = static_cast<unsigned>(::getpid()),
               group = static_cast<unsigned>(-::getpgrp());
    add({unless(BPF_JEQ, number(call), 8), load_argument(0), unless(BPF_JEQ, self, 1), fail(EPERM),
         unless(BPF_JEQ, group, 1), fail(EPERM), unless(BPF_JEQ, ~0U, 1), fail(EPERM), allow()});
  }
  all.push_back(allow());
  return all;
}

std::string mapping(unsigned id) { return fmt::format("{} {} 1", id, id); }

bool write_to(const char* file, const char* text, std::size_t size) {
  const long fd = raw_call(SYS_openat, AT_FDCWD, as_long(file), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const long written = raw_call(SYS_write, fd, as_long(text), static_cast<long>(size));
  raw_call(SYS_close, fd);
  return written == static_cast<long>(size);
}

bool is_bound(const char* what, const char* where, const char* type, unsigned long flags,
              const char* options) {
  return raw_call(SYS_mount, as_long(what), as_long(where), as_long(type), static_cast<long>(flags),
                  as_long(options)) == 0;
}

// mount_setattr; the array is a mount_attr: flags to set, flags to clear, propagation, namespace.
bool is_changed(const char* where, unsigned at, std::uint64_t set, std::uint64_t clear) {
  const volatile std::uint64_t change[4] = {set, clear, 0, 0};
  return raw_call(SYS_mount_setattr, AT_FDCWD, as_long(where), at, as_long(&change[0]),
                  sizeof change) == 0;
}

// Allows access to one file, or to everything below a directory.
bool may(long rules, const char* path, std::uint64_t what) {
  const long fd = raw_call(SYS_openat, AT_FDCWD, as_long(path), O_PATH | O_CLOEXEC);
  if (fd < 0) return false;
  const landlock_path_beneath_attr beneath{what, static_cast<std::int32_t>(fd)};
  const bool is_allowed =
      raw_call(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, as_long(&beneath), 0) == 0;
  raw_call(SYS_close, fd);
  return is_allowed;
}

}  // namespace

std::string names_of(unsigned parts) {
  std::vector<std::string> names;
  if ((parts & kFiles) != 0) names.emplace_back("files outside of its folder");
  if ((parts & kNetwork) != 0) names.emplace_back("the network");
  if ((parts & kSignals) != 0) names.emplace_back("signals to other processes");
  if ((parts & kCalls) != 0) names.emplace_back("calls that reach other processes");
  if ((parts & kReads) != 0) names.emplace_back("reading your home folder");
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string room_in(const std::filesystem::path& folder) {
  const char* const said = std::getenv("TOUCHSTONE_ROOM");
  const std::string_view word = said == nullptr ? "" : said;
  if (!word.empty() && word != "on" && word != "off")
    throw ParseError(fmt::format("TOUCHSTONE_ROOM is '{}'; give on or off, or unset it", word));
  return word == "off" ? std::string() : std::filesystem::absolute(folder).string();
}

Room::Room(std::string folder, Kind kind, bool namespaces, const std::vector<std::string>& words)
    : folder_(std::move(folder)),
      kind_(kind),
      users_(mapping(::geteuid())),
      groups_(mapping(::getegid())),
      namespaces_(namespaces),
      filter_(filter()) {
  if (kind == Kind::Backend) readable_ = readable_places(words);
  std::strcpy(loopback_.ifr_name, "lo");
  loopback_.ifr_flags = IFF_UP;
}

std::vector<std::string> Room::environment() const {
  std::vector<std::string> all{"LSAN_OPTIONS=detect_leaks=0", "CCACHE_DISABLE=1"};
  for (const char* const name : {"TMPDIR", "XDG_CACHE_HOME", "CUDA_CACHE_PATH", "CUPY_CACHE_DIR",
                                 "TRITON_CACHE_DIR", "NUMBA_CACHE_DIR"})
    all.push_back(fmt::format("{}={}", name, folder_));
  return all;
}

// Mounts before making the rest read-only, also over sockets of services that act for the user.
// /proc stays writable: CUDA does not start if it cannot write to its process's own files there.
bool Room::close_files() const {
  const char* const shared = "/dev/shm";
  if (!is_bound(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) ||
      !is_bound(folder_.c_str(), folder_.c_str(), nullptr, MS_BIND, nullptr))
    return false;
  const bool shares = is_bound("tmpfs", shared, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
  for (const char* const services : {"/run/user", "/run/dbus", "/run/docker.sock", "/run/podman",
                                     "/run/containerd", "/tmp/.X11-unix"})
    if (!folder_.starts_with(services))
      is_bound("tmpfs", services, "tmpfs", MS_NOSUID | MS_NODEV, nullptr) ||
          is_bound("/dev/null", services, nullptr, MS_BIND, nullptr);
  bool keeps_system = true;
  for (const char* const settings : {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"})
    keeps_system &= is_bound(settings, settings, nullptr, MS_BIND | MS_REC, nullptr) ||
                    raw_call(SYS_faccessat, AT_FDCWD, as_long(settings), F_OK) == -ENOENT;
  if (!is_changed("/", AT_RECURSIVE, MS_RDONLY, 0)) return false;
  if (shares) is_changed(shared, 0, 0, MS_RDONLY);
  if (keeps_system) is_changed("/proc", 0, 0, MS_RDONLY);
  return is_changed(folder_.c_str(), 0, 0, MS_RDONLY);
}

// Uses Landlock (Linux 5.13) to refuse opening other files for writing; from 5.19 also for reading,
// before which files could not move between folders; from 6.12 also limits signals to processes
// that this one starts. Returns the parts now enforced.
unsigned Room::keep_in(bool files) const {
  constexpr std::uint64_t kOfFiles = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE,
                          kOfFolders = kOfFiles | LANDLOCK_ACCESS_FS_READ_DIR, kMoves = 1U << 13,
                          kTruncates = 1U << 14, kSignalScope = 2;
  const long version = raw_call(SYS_landlock_create_ruleset, 0, 0, LANDLOCK_CREATE_RULESET_VERSION);
  const bool signals = version >= 6, reads = version >= 2 && !readable_.empty();
  if (version < 1 || (!files && !reads && !signals)) return 0;
  const std::uint64_t known = ((version < 2   ? kMoves
                                : version < 3 ? kTruncates
                                              : 1U << 15) -
                               1U),
                      writes = known & ~kOfFolders,
                      of_files = known & (LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncates);
  // A landlock_ruleset_attr: files, the network, signals.
  const volatile std::uint64_t handled[3] = {
      (files ? writes : 0) | (reads ? kOfFolders | kMoves : 0), 0, signals ? kSignalScope : 0};
  const long rules = raw_call(SYS_landlock_create_ruleset, as_long(&handled[0]),
                              signals ? sizeof handled : sizeof handled[0], 0);
  if (rules < 0) return 0;
  constexpr std::uint64_t kDevices = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK;
  bool is_kept = !files || may(rules, folder_.c_str(), writes & ~kDevices);
  if (files && kind_ == Kind::Tool) may(rules, "/dev/null", of_files);
  if (files && kind_ == Kind::Backend) {
    may(rules, "/dev", of_files);
    may(rules, "/dev/shm", writes & ~kDevices);
    const bool is_root = users_[0] == '0';  // who may write settings of the system in /proc
    may(rules, is_root ? "/proc/self" : "/proc", of_files);
  }
  if (reads) {
    if (!files) may(rules, "/", kMoves);
    is_kept = may(rules, folder_.c_str(), kOfFolders) && is_kept;
    for (const Place& place : readable_)
      may(rules, place.path.c_str(), place.is_folder ? kOfFolders : kOfFiles);
  }
  is_kept = is_kept && raw_call(SYS_landlock_restrict_self, rules, 0) == 0;
  raw_call(SYS_close, rules);
  if (!is_kept) return 0;
  return (files ? kFiles : 0U) | (signals ? kSignals : 0U) | (reads ? kReads : 0U);
}

void Room::raise_loopback() const {
  const long fd = raw_call(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  raw_call(SYS_ioctl, fd, SIOCSIFFLAGS, as_long(&loopback_));
  raw_call(SYS_close, fd);
}

unsigned Room::enter() const {
  unsigned missing = 0;
  if (kind_ == Kind::Tool) {
    missing = kFiles;
  } else if (!namespaces_ || raw_call(SYS_unshare, kNamespaces) != 0) {
    missing = kFiles | kNetwork;
  } else {
    if (!write_to("/proc/self/setgroups", "deny", 4) ||
        !write_to("/proc/self/uid_map", users_.data(), users_.size()) ||
        !write_to("/proc/self/gid_map", groups_.data(), groups_.size()))
      return kStranded;
    if (!close_files()) missing |= kFiles;
    raise_loopback();
  }
  // Not even root has capabilities in the program.
  for (long right = 0; raw_call(SYS_prctl, PR_CAPBSET_DROP, right) == 0;) ++right;
  // The program must not inherit our open descriptors, except its standard three.
  raw_call(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC);
  missing |= kSignals | (kind_ == Kind::Backend ? kReads : 0U);
  if (raw_call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return missing | kCalls;
  missing &= ~keep_in((missing & kFiles) != 0);
  const sock_fprog program{static_cast<std::uint16_t>(filter_.size()),
                           const_cast<sock_filter*>(filter_.data())};
  if (kArchitecture == 0 ||
      raw_call(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, as_long(&program)) != 0)
    missing |= kCalls;
  return missing;
}

}  // namespace touchstone::process

// What backends and plugins can and cannot do in their room.
#include "touchstone/process/room.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "no_room.h"
#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/foreign/backend_process.h"
#include "touchstone/foreign/plugin_host.h"
#include "touchstone/process/run.h"

namespace touchstone::foreign {
namespace {

using process::RoomPart;
using testing::AnyOf;
using testing::HasSubstr;

const std::string kGreeting = R"(read q; echo '{"touchstone_backend":1,"name":"shell"}';)";

// The features of a room that this system lacks.
unsigned lacking() {
  static const unsigned parts = [] {
    const TemporaryDirectory folder;
    return process::Child::of_program(
               {.file = "true", .arguments = {}, .environment = {}, .room = folder.path().string()})
        .missing();
  }();
  return parts;
}

#define NEEDS(part)              \
  if ((lacking() & (part)) != 0) \
  GTEST_SKIP() << "this system does not keep backends from " << process::names_of(part)

// The reason given for an unusable answer.
std::string reason_of(const std::string& command) {
  const ShapeTracker st = ShapeTracker::contiguous({4});
  const KernelFile kernel = kernel_file(LazyOp::store(st, LazyOp::load(1, DType::UInt8, st)));
  const HostArray inputs[] = {{DType::UInt8, {4}, "abcd"}};
  BackendProcess backend(BackendProcess::shell(command), plugin_limits({}));
  return backend.run(kernel, inputs).why;
}

std::string reason_of_plugin(const std::string& environment) {
  return reason_of(environment + " exec " TOUCHSTONE_COMMAND
                                 " plugin-host " TOUCHSTONE_TEST_PLUGIN);
}

// The reason for a shell that runs `script`, which sets `said`.
std::string reason_of_shell(const std::string& script) {
  return reason_of(kGreeting + " read q; " + script +
                   R"(; printf '{"id":1,"error":"%s"}\n' "$said"; read q)");
}

std::string with(const std::string& evil, const std::string& argument) {
  return "TOUCHSTONE_EVIL=" + evil + " WITH='" + argument + "'";
}

// A local port with a listener.
class Listener {
 public:
  Listener() {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof here;
    auto* const address = reinterpret_cast<sockaddr*>(&here);
    if (::bind(fd_, address, size) != 0 || ::listen(fd_, 5) != 0 ||
        ::getsockname(fd_, address, &size) != 0)
      ADD_FAILURE() << "cannot listen";
    port_ = ntohs(here.sin_port);
  }
  ~Listener() { ::close(fd_); }
  std::string port() const { return std::to_string(port_); }

 private:
  int fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int port_ = 0;
};

TEST(Room, NoSignalLeavesIt) {
  EXPECT_THAT(reason_of_plugin(with("kill-it", std::to_string(::getpid()))),
              HasSubstr("not permitted"))
      << "this process is safe also where others are not";
  NEEDS(RoomPart::kSignals);
  EXPECT_THAT(reason_of_plugin("TOUCHSTONE_EVIL=kill"), HasSubstr("not permitted"));
  EXPECT_THAT(reason_of_plugin(with("kill-it", "1")), HasSubstr("not permitted"));
  EXPECT_THAT(reason_of_shell("kill -0 $PPID 2>/dev/null; said=$?"), HasSubstr("error: 1"));
  EXPECT_THAT(reason_of_shell("sleep 1000 & kill $!; wait $!; said=$?"), HasSubstr("error: 143"))
      << "its own children it may end";
}

TEST(Room, TheNetworkIsItsOwn) {
  NEEDS(RoomPart::kNetwork);
  const Listener listener;
  EXPECT_THAT(reason_of_plugin(with("connect", listener.port())), HasSubstr("refused"));
  const NoRoom none;
  EXPECT_THAT(reason_of_plugin(with("connect", listener.port())), HasSubstr("it could"));
}

TEST(Room, FilesAreWrittenInItsFolderAlone) {
  NEEDS(RoomPart::kFiles);
  const TemporaryDirectory dir;
  const std::string outside = (dir.path() / "file").string();
  const char* const home = std::getenv("HOME");
  EXPECT_THAT(reason_of_plugin(with("write", outside)), HasSubstr("Read-only"));
  if (home != nullptr) {
    EXPECT_THAT(reason_of_plugin(with("write", std::string(home) + "/touchstone-room-test")),
                AnyOf(HasSubstr("Read-only"), HasSubstr("denied"), HasSubstr("No such")));
  }
  EXPECT_FALSE(std::filesystem::exists(outside));
  const auto written = [](const std::string& file) {
    return reason_of_shell("said=no; echo x > " + file + " && said=yes");
  };
  EXPECT_THAT(written("$TMPDIR/file"), HasSubstr("error: yes"));
  EXPECT_THAT(written("/dev/shm/file"), HasSubstr("error: yes"));
  EXPECT_FALSE(std::filesystem::exists("/dev/shm/file"));
  EXPECT_THAT(written("/dev/null"), HasSubstr("error: yes"));
  // CUDA needs this to start; system settings stay protected.
  EXPECT_THAT(written("/proc/self/comm"), HasSubstr("error: yes"));
  EXPECT_THAT(written("/proc/sys/kernel/hostname"), HasSubstr("error: no"));
  EXPECT_THAT(written("/proc/sysrq-trigger"), HasSubstr("error: no"));
  std::ofstream(outside) << "kept";
  EXPECT_THAT(reason_of_shell("said=$(cat " + outside + ")"), HasSubstr("error: kept"));
  EXPECT_THAT(reason_of_shell("said=no; mount -o remount,rw / 2>/dev/null && said=yes"),
              HasSubstr("error: no"));
  EXPECT_THAT(reason_of_shell("said=no; chmod 700 " + outside + " 2>/dev/null && said=yes"),
              HasSubstr("error: no"));
  const NoRoom none;
  EXPECT_THAT(reason_of_plugin(with("write", outside)), HasSubstr("it could"));
}

TEST(Room, OfAHomeFolderItReadsWhatItsCommandNeeds) {
  NEEDS(RoomPart::kReads);
  const TemporaryDirectory dir;
  const std::string here = dir.path().string(), home = here + "/home";
  for (const char* const folder : {"/home/.keys", "/home/data", "/home/tool/bin", "/home/tool/lib",
                                   "/home/tool/keys", "/home/mine", "/other"}) {
    std::filesystem::create_directories(here + folder);
    std::ofstream(here + folder + "/file") << "x";
  }
  const auto read = [&](const std::string& more) {
    std::string script = more + "; said=";
    for (const char* const folder : {"/home/.keys", "/home/data", "/home/tool/bin",
                                     "/home/tool/lib", "/home/tool/keys", "/home/mine", "/other"})
      script += "$(cat $H" + std::string(folder) + "/file 2>/dev/null || echo -)";
    return reason_of_shell("H=" + here + "; " + script);
  };
  const std::string before = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME"),
                    path = std::getenv("PATH");
  ::setenv("HOME", home.c_str(), 1);
  EXPECT_THAT(read(":"), HasSubstr("error: ------x"));
  EXPECT_THAT(read("test " + home + "/mine/file"), HasSubstr("error: -----xx"));
  EXPECT_THAT(read("test " + home), HasSubstr("error: -xxxxxx")) << "all without a leading dot";
  ::setenv("PATH", (path + ":" + home + "/tool/bin").c_str(), 1);
  ::setenv("TOUCHSTONE_ROOM_READS", (home + "/data").c_str(), 1);
  EXPECT_THAT(read(":"), HasSubstr("error: -xxx--x"));
  ::unsetenv("TOUCHSTONE_ROOM_READS");
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_THAT(reason_of_shell("cd $TMPDIR; mkdir a b; echo c > a/d; mv a/d b; said=$(cat b/d)"),
              HasSubstr("error: c"));
  ::setenv("HOME", before.c_str(), 1);
}

TEST(Room, NothingMoreIsRefused) {
  EXPECT_THAT(reason_of_shell("said=$(id -u):$(id -g)"),
              HasSubstr(std::to_string(::geteuid()) + ":" + std::to_string(::getegid())));
  EXPECT_THAT(reason_of_shell("said=$( (echo a; echo b) | sort -r | tr -d '\\n')"),
              HasSubstr("error: ba"));
  struct stat self {};
  EXPECT_EQ(::stat("/proc/self/status", &self), 0);
  EXPECT_EQ(self.st_uid, ::geteuid()) << "this process is as it was";
}

TEST(Room, TheEnvironmentIsThatOfBackends) {
  ::setenv("TOUCHSTONE_TEST_PASSES", "a", 1);
  ::setenv("NPY_DISABLE_CPU_FEATURES", "b", 1);
  ::setenv("CPATH", "c", 1);
  const std::string script = "said=$TOUCHSTONE_TEST_PASSES,$NPY_DISABLE_CPU_FEATURES,$CPATH.";
  EXPECT_THAT(reason_of_shell(script), HasSubstr("error: a,,."));
  const NoRoom none;
  EXPECT_THAT(reason_of_shell(script), HasSubstr("error: a,b,c."));
  for (const char* const name : {"NPY_DISABLE_CPU_FEATURES", "CPATH"}) ::unsetenv(name);
}

// A backend's backend: rooms do not nest.
TEST(Room, APartThatIsRefusedIsNamedOnceAndTheBackendRuns) {
  NEEDS(RoomPart::kFiles | RoomPart::kCalls);
  const TemporaryDirectory folder;
  const process::Finished inner =
      process::run_program({.file = TOUCHSTONE_COMMAND,
                            .arguments = {"judge", "--plugin", TOUCHSTONE_TEST_PLUGIN, "--ops",
                                          "noop", "--dtypes", "u8"},
                            .environment = {},
                            .inherits = process::Inherits::Backend,
                            .room = folder.path().string()},
                           {}, {}, process::Child::Errors::Apart);
  EXPECT_THAT(inner.errors, HasSubstr("cannot keep backends away from "));
  EXPECT_THAT(inner.errors,
              HasSubstr("the network, reading your home folder; they have your permissions"));
  EXPECT_EQ(inner.errors.find("cannot keep"), inner.errors.rfind("cannot keep"));
  EXPECT_THAT(inner.output, HasSubstr("PASS"));
}

TEST(Room, LandlockClosesFilesWhereThereAreNoNamespaces) {
  const TemporaryDirectory dir, outside;
  const process::Room room(dir.path().string(), process::Room::Kind::Backend, false);
  const process::Finished told = process::run_function([&] {
    if (room.enter() != process::kNetwork) return std::string("part");
    const auto writes = [](const std::filesystem::path& file) {
      return std::ofstream(file).put('x').good() ? '1' : '0';
    };
    std::string all;
    for (const std::filesystem::path& file :
         {outside.path() / "file", dir.path() / "file", std::filesystem::path("/dev/null")})
      all += writes(file);
    std::error_code error;
    std::filesystem::rename(dir.path() / "file", outside.path() / "moved", error);
    std::filesystem::create_directory(dir.path() / "folder");
    return all + (error ? "0" : "1");
  });
  if (told.output == "part") GTEST_SKIP() << "this system has no Landlock, or no whole one";
  EXPECT_EQ(told.output, "0110");
  EXPECT_TRUE(std::filesystem::exists(dir.path() / "folder"));
}

TEST(Room, AnotherWordIsAnError) {
  ::setenv("TOUCHSTONE_ROOM", "of", 1);
  EXPECT_THROW(BackendProcess(BackendProcess::shell(kGreeting)).capabilities(), ParseError);
  ::unsetenv("TOUCHSTONE_ROOM");
}

}  // namespace
}  // namespace touchstone::foreign

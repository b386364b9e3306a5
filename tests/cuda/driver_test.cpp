// The device on a driver that runs nothing (driver/stand_in.c): each test is a process in which it
// is libcuda.so.1, even if a real one exists.
#include "touchstone/cuda/driver.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "touchstone/base/device_lost.h"
#include "touchstone/base/file.h"
#include "touchstone/cuda/cuda_device.h"
#include "touchstone/define/text.h"
#include "touchstone/process/run.h"

namespace touchstone {
namespace {

void require(bool condition, std::string_view what) {
  if (condition) return;
  std::cerr << "not so: " << what << '\n';
  std::_Exit(1);
}

// The loader returns an already loaded library by name.
void take_the_stand_in() {
  require(::dlopen(TOUCHSTONE_STAND_IN_DRIVER, RTLD_NOW) != nullptr, TOUCHSTONE_STAND_IN_DRIVER);
}

// The exception of `work` in a child process; empty: none.
template <class Work>
std::string in_a_child(const Work& work) {
  std::array<int, 2> pipe{};
  require(::pipe(pipe.data()) == 0, "a pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    std::string said;
    try {
      work();
    } catch (const Error& e) {
      said = e.what();
    }
    require(::write(pipe[1], said.data(), said.size()) == std::ssize(said), "written");
    std::_Exit(0);
  }
  ::close(pipe[1]);
  std::string said;
  std::array<char, 512> part{};
  for (ssize_t n = 0; (n = ::read(pipe[0], part.data(), part.size())) > 0;)
    said.append(part.data(), static_cast<std::size_t>(n));
  ::close(pipe[0]);
  int status = -1;
  ::waitpid(child, &status, 0);
  require(status == 0, "the child ended well");
  return said;
}

[[noreturn]] void use_behind_a_fork() {
  take_the_stand_in();
  const auto early = make_cuda_device("CUDA"), late = make_cuda_device("CUDA");
  const auto buffer = std::make_unique<Buffer>(*early, DType::Float32, 4);
  const RunnerPtr runner = early->runner(define::parse("x[4] + 1").kernel());
  const Buffer input(*early, DType::Float32, 4);
  Buffer* const both[] = {buffer.get(), const_cast<Buffer*>(&input)};
  runner->run(both, {});
  for (const auto& [what, said] :
       {std::pair{"a buffer", in_a_child([&] { Buffer(*early, DType::Float32, 4); })},
        std::pair{"a read", in_a_child([&] { buffer->read<float>(); })},
        std::pair{"a launch", in_a_child([&] { runner->run(both, {}); })},
        std::pair{"a kernel",
                  in_a_child([&] { early->runner(define::parse("x[4] + 2").kernel()); })}}) {
    std::cerr << what << ": " << said << '\n';
    require(said ==
                "CUDA was in use before this process was forked, and cannot be used after a fork; "
                "fork first, or start a new program",
            what);
  }
  // A device unused before works, and so does the parent's own.
  require(in_a_child([&] { Buffer(*late, DType::Float32, 4); }).empty(), "opened in the child");
  Buffer(*early, DType::Float32, 4);
  runner->run(both, {});
  std::_Exit(0);
}

TEST(CudaDriver, BehindAForkOneLineSaysWhyItCannotBeUsed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(use_behind_a_fork(), ::testing::ExitedWithCode(0), "a launch: CUDA was in use");
}

[[noreturn]] void use_what_a_kernel_ended() {
  take_the_stand_in();
  const auto device = make_cuda_device("CUDA");
  const Buffer input(*device, DType::Float32, 4);
  Buffer output(*device, DType::Float32, 4);
  Buffer* const both[] = {&output, const_cast<Buffer*>(&input)};
  const RunnerPtr good = device->runner(define::parse("x[4] + 1").kernel());
  const RunnerPtr bad = device->runner(define::parse("sum(x[4])").kernel());
  good->run(both, {});
  ::setenv("STAND_IN_DIES", "1", 1);
  const std::string_view why =
      "kernel r_4: cuStreamSynchronize: CUDA_ERROR_OF_THE_STAND_IN (refused); this ended the "
      "process's context on the GPU: start the program again";
  using Work = std::function<void()>;
  for (const Work& work : {Work([&] { bad->run(both, {}); }), Work([&] { good->run(both, {}); }),
                           Work([&] { Buffer(*device, DType::Float32, 4); }),
                           Work([&] { device->runner(define::parse("x[4] + 2").kernel()); })}) {
    try {
      work();
      require(false, "an error");
    } catch (const DeviceLost& e) {
      std::cerr << e.what() << '\n';
      require(e.what() == why, "it names the kernel");
    }
  }
  std::_Exit(0);
}

TEST(CudaDriver, AKernelThatEndsTheContextIsNamedFromThenOn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  if (process::find_program("clang-19").empty()) GTEST_SKIP() << "no clang-19 on PATH";
  EXPECT_EXIT(use_what_a_kernel_ended(), ::testing::ExitedWithCode(0), "kernel r_4: ");
}

// The number of compiler runs, as logged by the compiler, for a kernel on a new device.
int compiled(const std::filesystem::path& notes, const CudaOptions& options,
             std::string_view formula) {
  std::filesystem::remove(notes);
  make_cuda_device("CUDA", options)->runner(define::parse(formula).kernel());
  std::ifstream lines(notes);
  int runs = 0;
  for (std::string line; std::getline(lines, line);) runs += line != "--version" ? 1 : 0;
  return runs;
}

[[noreturn]] void keep_ptx() {
  take_the_stand_in();
  ::setenv("TOUCHSTONE_ROOM", "off", 1);  // the compiler writes outside its folder
  const TemporaryDirectory folder("touchstone-ptx-test");
  const auto program = folder.path() / "cc", notes = folder.path() / "notes";
  write_file_atomically(
      program, fmt::format("#!/bin/sh\necho \"$1\" >> {}\nexec {} \"$@\"\n", notes.string(),
                           process::find_program("clang-19").string()));
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  CudaOptions options;
  options.compiler = program.string();
  options.cache_dir = folder.path() / "cache";
  require(compiled(notes, options, "x[4] + 1") == 1, "without keep it is compiled");
  require(compiled(notes, options, "x[4] + 1") == 1, "and again");
  options.keep = true;
  require(compiled(notes, options, "x[4] + 1") == 1, "the first time it is compiled");
  require(compiled(notes, options, "x[4] + 1") == 0, "then it is there");
  require(compiled(notes, options, "x[4] + 2") == 1, "another kernel is not");
  options.opt_level = 1;
  require(compiled(notes, options, "x[4] + 1") == 1, "nor is other code of this one");
  options.opt_level = 2;
  for (const auto& file : std::filesystem::directory_iterator(options.cache_dir)) {
    std::string bytes = read_file(file.path());
    bytes[bytes.size() / 2] ^= 1;
    std::ofstream(file.path(), std::ios::binary) << bytes;
  }
  require(compiled(notes, options, "x[4] + 1") == 1, "what is damaged is made anew");
  std::filesystem::permissions(options.cache_dir, std::filesystem::perms::all);
  try {
    compiled(notes, options, "x[4] + 1");
    require(false, "a folder to which others may write is refused");
  } catch (const SystemError& e) {
    require(std::string_view(e.what()).find("TOUCHSTONE_CACHE") != std::string_view::npos,
            e.what());
  }
  std::filesystem::remove_all(folder.path());
  std::_Exit(0);
}

TEST(CudaDriver, PtxIsKeptForTheNextRun) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  if (process::find_program("clang-19").empty()) GTEST_SKIP() << "no clang-19 on PATH";
  EXPECT_EXIT(keep_ptx(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace touchstone

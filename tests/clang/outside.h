// Tests' access to the outside world: compilers, the environment, files.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "harness.h"
#include "touchstone/clang/clang_device.h"

namespace touchstone {

inline LazyOpPtr doubling(std::int64_t size) {
  const auto x = LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({size}));
  return stored(LazyOp::binary(Op::Add, x, x));
}

inline void expect_works(Device& device) {
  EXPECT_EQ(run<float>(device, doubling(3), {{1, 2, 3}}), (std::vector<float>{2, 4, 6}));
}

inline std::string error_of(Device& device) {
  try {
    device.runner(doubling(3));
  } catch (const SystemError& e) {
    return e.what();
  }
  return "no error";
}

// Sets an environment variable temporarily; null unsets it.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    set(value);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() { set(before_ ? before_->c_str() : nullptr); }

 private:
  void set(const char* value) const {
    if (value != nullptr)
      ::setenv(name_, value, 1);
    else
      ::unsetenv(name_);
  }
  const char* name_;
  std::optional<std::string> before_;
};

// Counts compilations and calls the real compiler.
struct CountingCompiler {
  CountingCompiler() {
    std::ofstream(path()) << "#!/bin/sh\n[ \"$1\" = --version ] || echo x >> "
                          << (folder.path() / "count").string() << "\nexec clang-19 \"$@\"\n";
    ::chmod(path().c_str(), 0755);
  }
  std::string path() const { return (folder.path() / "cc").string(); }
  int count() const {
    const std::filesystem::path file = folder.path() / "count";
    return std::filesystem::exists(file) ? static_cast<int>(read_file(file).size() / 2) : 0;
  }
  TemporaryDirectory folder;
  Environment room{"TOUCHSTONE_ROOM", "off"};  // it writes outside the device's folder
};

inline std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path());
  return files;
}

}  // namespace touchstone

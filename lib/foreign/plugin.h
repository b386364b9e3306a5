#pragma once

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "touchstone/foreign/backend.h"
#include "touchstone/foreign/guarded_memory.h"

namespace touchstone::foreign {

/// A plugin loaded in this process; the caller must expect crashes and hangs.
class Plugin {
 public:
  /// Loads it. Throws SystemError or ParseError: no such object, no touchstone_backend_get, a wrong
  /// ABI version, missing functions, capabilities that are not a JSON object.
  explicit Plugin(const std::string& path);

  /// Its capabilities, formatted as the protocol's first answer.
  const std::string& hello() const { return hello_; }

  /// Unsupported: the plugin does not support the kernel. Broken: a call broke the contract.
  struct Unsupported : std::runtime_error {
    using runtime_error::runtime_error;
  };
  struct Broken : std::runtime_error {
    using runtime_error::runtime_error;
  };

  /// Returns the output's bytes. Throws SystemError if the plugin reports a failure.
  std::string run(const std::string& kernel, std::span<const std::string> inputs,
                  std::size_t output_bytes, std::size_t itemsize);

  /// The host buffers of the current run(); for a signal handler.
  std::span<const GuardedMemory> living() const { return buffers_; }

 private:
  struct Program;
  std::string run_once(void* program, std::span<const std::string> inputs, std::size_t output_bytes,
                       std::byte fill, GuardedMemory::Place place);
  std::vector<void*> to_device(std::vector<void*>& held);
  void call(int status, const char* what) const;
  std::string reason() const;

  const touchstone_backend* backend_ = nullptr;
  std::string hello_;
  std::size_t alignment_ = 16;
  std::vector<GuardedMemory> buffers_;
};

}  // namespace touchstone::foreign

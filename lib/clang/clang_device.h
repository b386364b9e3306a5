#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "touchstone/clang/clang_options.h"
#include "touchstone/device/device.h"

namespace touchstone {

/// Makes a host-memory device that compiles kernels from C into shared objects with clang; objects
/// are cached on disk between runs. The compiler is located for the first kernel: Device::runner
/// throws SystemError if there is none or it fails.
std::unique_ptr<Device> make_clang_device(std::string name, ClangOptions options = {});

/// Returns one runner per list of opts, all for the same kernel; `options.opts`, beam and cache are
/// ignored. One run of the compiler makes all of them. Throws as Device::runner, and AstError for
/// an illegal list.
std::vector<RunnerPtr> make_clang_runners(const LazyOpPtr& kernel, std::span<const Opts> lists,
                                          const ClangOptions& options);

/// Chooses a kernel's opts when ClangOptions::beam requests a search; `options` are the device's.
/// Without a chooser such a device throws SystemError for every kernel.
using OptsChooser = std::function<Opts(const LazyOpPtr& kernel, const ClangOptions& options)>;
void set_opts_chooser(OptsChooser chooser);

/// Registers "CLANG" with Device::get. Default options come from the environment when the device is
/// first used.
void register_clang_device();
void register_clang_device(const ClangOptions& options);

}  // namespace touchstone

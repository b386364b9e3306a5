#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "touchstone/clang/clang_options.h"
#include "touchstone/device/device.h"

namespace touchstone {

/// A device in host memory whose kernels are C compiled by clang into shared objects, kept on disk
/// from run to run. The compiler is looked for when the first kernel is made: Device::runner throws
/// SystemError where there is none, or where it fails.
std::unique_ptr<Device> make_clang_device(std::string name, ClangOptions options = {});

/// Runners of one kernel, laid out by each list of opts in turn; in `options` the opts, the beam
/// and the cache do not count. One run of the compiler makes all of them. Throws as Device::runner,
/// and AstError where a list is not legal.
std::vector<RunnerPtr> make_clang_runners(const LazyOpPtr& kernel, std::span<const Opts> lists,
                                          const ClangOptions& options);

/// Gives the opts of a kernel where ClangOptions::beam asks for a search; `options` are those of
/// the device. Without one such a device throws SystemError when it is to make a kernel.
using OptsChooser = std::function<Opts(const LazyOpPtr& kernel, const ClangOptions& options)>;
void set_opts_chooser(OptsChooser chooser);

/// Makes "CLANG" known to Device::get. Without options they are read from the environment when the
/// device is first asked for.
void register_clang_device();
void register_clang_device(const ClangOptions& options);

}  // namespace touchstone

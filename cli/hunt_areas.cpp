#include "touchstone/clang/clang_device.h"
#include "touchstone/fuzz/areas.h"
#include "touchstone/fuzz/hunt.h"
#include "verbs.h"

namespace touchstone::cli {
namespace {

// Kernels on clang without its optimiser: what is hunted for is ours.
std::unique_ptr<fuzz::Area> kernels_on_clang() {
  ClangOptions options = ClangOptions::from_environment();
  options.opt_level = 0;
  options.threads = 1;
  fuzz::KernelBackends backends;
  backends.candidate = fuzz::make_device_backend(make_clang_device("CLANG", options));
  return fuzz::make_kernel_area(std::move(backends));
}

}  // namespace

std::vector<fuzz::HuntArea> hunt_areas() {
  return {{[] { return fuzz::make_symbolic_area(); }, 128},
          {[] { return fuzz::make_view_area(); }, 128},
          {[] { return fuzz::make_lazy_area(); }, 32},
          {[] { return fuzz::make_tensor_area(); }, 8},
          {kernels_on_clang, 16}};
}

}  // namespace touchstone::cli

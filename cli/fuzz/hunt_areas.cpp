#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "touchstone/base/error.h"
#include "touchstone/base/suggest.h"
#include "touchstone/clang/clang_device.h"
#include "touchstone/cli/fuzz/fuzz_plans.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/fuzz/areas/areas.h"
#include "touchstone/fuzz/engine/hunt.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/tcc/tcc_device.h"

namespace touchstone::cli {
namespace {

// Kernels on unoptimised clang: the faults hunted are ours.
std::unique_ptr<fuzz::Area> kernels_on_clang() {
  ClangOptions options = ClangOptions::from_environment();
  options.codegen.contract = false;  // bits are compared
  options.opt_level = 0;
  options.threads = 1;
  fuzz::KernelBackends backends;
  backends.candidate = fuzz::make_device_backend(make_clang_device("CLANG", options));
  options.codegen.layout_seed = 1;
  backends.variants.push_back(
      fuzz::make_device_backend(make_clang_device("CLANG of a drawn layout", options)));
  options.codegen.layout_seed = 0;
  options.codegen.contract = true;
  backends.variants.push_back(
      fuzz::make_device_backend(make_clang_device("CLANG of fused products", options)));
  return fuzz::make_kernel_area(std::move(backends));
}

// The reference as a backend: comparisons with other backends cannot show its own mistakes.
std::unique_ptr<fuzz::Area> kernels_on_reference() {
  fuzz::KernelBackends backends;
  backends.candidate = fuzz::make_device_backend(make_interpreted_device("REFERENCE", 1));
  backends.judge_all = true;
  return fuzz::make_kernel_area(std::move(backends));
}

}  // namespace

std::vector<fuzz::HuntArea> hunt_areas(const std::vector<std::string>& names) {
  std::vector<fuzz::HuntArea> known = {
      {"symbolic", [] { return fuzz::make_symbolic_area(); }, 128},
      {"view", [] { return fuzz::make_view_area(); }, 128},
      {"lazy", [] { return fuzz::make_lazy_area(); }, 32},
      {"kernelize", [] { return fuzz::make_kernelize_area(); }, 32},
      {"far", [] { return fuzz::make_far_area(); }, 16, 4},
      {"rewrite", [] { return fuzz::make_rewrite_area(); }, 64},
      {"tensor", [] { return fuzz::make_tensor_area(); }, 8},
      {"files", [] { return fuzz::make_file_area(); }, 32, 2},
      {"random", [] { return fuzz::make_random_area(); }, 32, 4},
      {"clang", kernels_on_clang, 48, 4},
      {"reference", kernels_on_reference, 32, 4}};
  if (has_tcc())  // compiled into memory: the same C, as fast as judging
    known.insert(known.end() - 2,
                 {"tcc", [] { return fuzz::make_kernel_area(tcc_backends(Fault::None)); }, 48});
  if (names.empty()) return known;
  std::vector<fuzz::HuntArea> chosen;
  for (const std::string& name : names) {
    const auto at = std::ranges::find(known, name, &fuzz::HuntArea::name);
    if (at == known.end()) {
      std::vector<std::string_view> all;
      for (const fuzz::HuntArea& a : known) all.push_back(a.name);
      throw ParseError(fmt::format("there is no area '{}' to hunt with{}; known: {}", name,
                                   did_you_mean(name, all), fmt::join(all, ", ")));
    }
    chosen.push_back(*at);
  }
  return chosen;
}

}  // namespace touchstone::cli

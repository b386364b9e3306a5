#include "touchstone/tcc/tcc_device.h"

#include <algorithm>
#include <chrono>

#include "touchstone/base/fp_guard.h"
#include "touchstone/codegen/c_preamble.h"
#include "touchstone/codegen/render_c.h"
#include "touchstone/device/output_apart.h"
#include "touchstone/ops/index_fault.h"
#include "touchstone/tcc/program.h"

namespace touchstone {
namespace {

using tcc::KernelFunction;
using tcc::Program;

class TccRunner final : public Runner {
 public:
  /// `function` is null if there is nothing to compute.
  TccRunner(LazyOpPtr kernel, CodegenOptions codegen, Fault fault, int parts, std::size_t places,
            bool checks, std::vector<std::string> variables, std::string profile,
            std::shared_ptr<Program> program, KernelFunction function)
      : kernel_(std::move(kernel)),
        codegen_(std::move(codegen)),
        fault_(fault),
        parts_(parts),
        places_(places),
        checks_(checks),
        variables_(std::move(variables)),
        profile_(std::move(profile)),
        program_(std::move(program)),
        function_(function) {}

  double run(std::span<Buffer* const> buffers, const symbolic::Values& values) override {
    const auto begin = std::chrono::steady_clock::now();
    if (function_ != nullptr) launch(buffers, values);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  std::string source() const override {
    return render_c(linearize_with(fault_, kernel_, codegen_), CStyle::Plain);
  }
  std::string profile() const override { return profile_; }

 private:
  void launch(std::span<Buffer* const> buffers, const symbolic::Values& values) {
    OutputApart apart(buffers);
    std::vector<void*> memory(places_, nullptr);
    for (std::size_t i = 0; i < places_ && i < buffers.size(); ++i)
      if (apart.buffers()[i] != nullptr) memory[i] = apart.buffers()[i]->memory();
    std::vector<std::int64_t> vars;
    for (const std::string& name : variables_) vars.push_back(values.at(name));
    std::vector<IndexFault> found(static_cast<std::size_t>(parts_));
    if (checks_) memory.push_back(found.data());
    {
      const FpGuard guard;
      for (int part = parts_; part-- > 0;) function_(memory.data(), vars.data(), part, parts_);
    }
    raise_if_found(std::ranges::min(found));
    apart.finish();
  }

  LazyOpPtr kernel_;
  CodegenOptions codegen_;
  Fault fault_;
  int parts_;           // 1 if no loop can be shared
  std::size_t places_;  // number of buffer numbers
  bool checks_;
  std::vector<std::string> variables_;
  std::string profile_;
  std::shared_ptr<Program> program_;
  KernelFunction function_;
};

// Builtins of other compilers.
const std::string kNotBuiltIn =
    "float __builtin_fmaf(float, float, float);\n"
    "double __builtin_fma(double, double, double);\n";

class TccDevice final : public Device {
 public:
  TccDevice(std::string name, CodegenOptions codegen, Fault fault, int parts)
      : Device(std::move(name), std::make_unique<HostAllocator>()),
        codegen_(std::move(codegen)),
        fault_(fault),
        parts_(parts) {
    codegen_.math = MathLevel::Library;  // without vectors a call is faster
  }

 private:
  std::vector<RunnerPtr> make_runners(std::span<const LazyOpPtr> kernels) override {
    struct Made {
      std::vector<std::string> variables;
      std::string profile;
      std::size_t places = 0;
      bool checks = false;
      bool computes = false;
      bool splits = false;
    };
    std::vector<Made> made;
    std::string functions;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      LinearKernel linear = linearize_with(fault_, kernels[i], codegen_);
      const bool computes = !linear.steps.empty();
      if (computes) functions += render_c_function(linear, symbol(i), CStyle::Plain) + "\n";
      std::string profile = profile_json(linear);
      made.push_back({std::move(linear.variables), std::move(profile), linear.places(),
                      linear.checks(), computes, linear.split >= 0});
    }
    std::shared_ptr<Program> program;
    if (!functions.empty() || !has_tcc())
      program = std::make_shared<Program>(kNotBuiltIn + codegen::c_preamble(functions) + functions);
    std::vector<RunnerPtr> runners;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const KernelFunction function = made[i].computes ? program->function(symbol(i)) : nullptr;
      runners.push_back(std::make_shared<TccRunner>(
          kernels[i], codegen_, fault_, made[i].splits ? parts_ : 1, made[i].places, made[i].checks,
          std::move(made[i].variables), std::move(made[i].profile), program, function));
    }
    return runners;
  }

  static std::string symbol(std::size_t i) { return fmt::format("kernel_{}", i); }

  CodegenOptions codegen_;
  Fault fault_;
  int parts_;
};

}  // namespace

bool has_tcc() {
#ifdef TOUCHSTONE_HAS_TCC
  return true;
#else
  return false;
#endif
}

std::unique_ptr<Device> make_tcc_device(std::string name, const CodegenOptions& codegen,
                                        Fault fault, int parts) {
  return std::make_unique<TccDevice>(std::move(name), codegen, fault, parts);
}

}  // namespace touchstone

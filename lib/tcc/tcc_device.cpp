#include "touchstone/tcc/tcc_device.h"

#include <algorithm>
#include <chrono>

#include "touchstone/base/fp_guard.h"
#include "touchstone/codegen/c_preamble.h"
#include "touchstone/codegen/render_c.h"
#include "touchstone/device/output_apart.h"
#include "touchstone/ops/index_fault.h"
#include "touchstone/tcc/compiled_c.h"

namespace touchstone {
namespace {

using tcc::CompiledC;

class TccRunner final : public Runner {
 public:
  /// `function` is null if there is nothing to compute.
  TccRunner(LinearKernel linear, int parts, std::shared_ptr<CompiledC> program,
            KernelFunction function)
      : linear_(std::move(linear)),
        parts_(linear_.split >= 0 ? parts : 1),
        program_(std::move(program)),
        function_(function) {}

  double run(std::span<Buffer* const> buffers, const symbolic::Values& values) override {
    const auto begin = std::chrono::steady_clock::now();
    if (function_ != nullptr) launch(buffers, values);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  std::string source() const override { return render_c(linear_, CStyle::Plain); }
  std::string profile() const override { return profile_json(linear_); }

 private:
  void launch(std::span<Buffer* const> buffers, const symbolic::Values& values) {
    OutputApart apart(buffers);
    std::vector<void*> memory(linear_.places(), nullptr);
    for (std::size_t i = 0; i < memory.size() && i < buffers.size(); ++i)
      if (apart.buffers()[i] != nullptr) memory[i] = apart.buffers()[i]->memory();
    std::vector<std::int64_t> vars;
    for (const std::string& name : linear_.variables) vars.push_back(values.at(name));
    std::vector<IndexFault> found(static_cast<std::size_t>(parts_));
    if (linear_.checks()) memory.push_back(found.data());
    {
      const FpGuard guard;
      for (int part = parts_; part-- > 0;) function_(memory.data(), vars.data(), part, parts_);
    }
    raise_if_found(std::ranges::min(found));
    apart.finish();
  }

  LinearKernel linear_;
  int parts_;
  std::shared_ptr<CompiledC> program_;
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
    std::vector<LinearKernel> made;
    std::string functions;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      made.push_back(linearize_with(fault_, kernels[i], codegen_));
      if (!made[i].steps.empty())
        functions += render_c_function(made[i], symbol(i), CStyle::Plain) + "\n";
    }
    std::shared_ptr<CompiledC> program;
    if (!functions.empty() || !has_tcc())
      program =
          std::make_shared<CompiledC>(kNotBuiltIn + codegen::c_preamble(functions) + functions);
    std::vector<RunnerPtr> runners;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const KernelFunction function =
          made[i].steps.empty() ? nullptr : program->function(symbol(i));
      runners.push_back(std::make_shared<TccRunner>(std::move(made[i]), parts_, program, function));
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

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

// The state of a runner: its compiled kernel.
struct TccKernel {
  LazyOpPtr kernel;
  int parts;           // 1 if no loop can be shared
  std::size_t places;  // number of buffer numbers
  bool checks;
  std::vector<std::string> variables;
  std::string profile;
  bool computes;
};

class TccRunner final : public Runner {
 public:
  /// `function` is null if there is nothing to compute.
  TccRunner(TccKernel kernel, CodegenOptions codegen, Fault fault, std::shared_ptr<Program> program,
            KernelFunction function)
      : kernel_(std::move(kernel)),
        codegen_(std::move(codegen)),
        fault_(fault),
        program_(std::move(program)),
        function_(function) {}

  double run(std::span<Buffer* const> buffers, const symbolic::Values& values) override {
    const auto begin = std::chrono::steady_clock::now();
    if (function_ != nullptr) launch(buffers, values);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  std::string source() const override {
    return render_c(linearize_with(fault_, kernel_.kernel, codegen_), CStyle::Plain);
  }
  std::string profile() const override { return kernel_.profile; }

 private:
  void launch(std::span<Buffer* const> buffers, const symbolic::Values& values) {
    OutputApart apart(buffers);
    std::vector<void*> memory(kernel_.places, nullptr);
    for (std::size_t i = 0; i < memory.size() && i < buffers.size(); ++i)
      if (apart.buffers()[i] != nullptr) memory[i] = apart.buffers()[i]->memory();
    std::vector<std::int64_t> vars;
    for (const std::string& name : kernel_.variables) vars.push_back(values.at(name));
    std::vector<IndexFault> found(static_cast<std::size_t>(kernel_.parts));
    if (kernel_.checks) memory.push_back(found.data());
    {
      const FpGuard guard;
      for (int part = kernel_.parts; part-- > 0;)
        function_(memory.data(), vars.data(), part, kernel_.parts);
    }
    raise_if_found(std::ranges::min(found));
    apart.finish();
  }

  TccKernel kernel_;
  CodegenOptions codegen_;
  Fault fault_;
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
    std::vector<TccKernel> made;
    std::string functions;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      LinearKernel linear = linearize_with(fault_, kernels[i], codegen_);
      const bool computes = !linear.steps.empty();
      if (computes) functions += render_c_function(linear, symbol(i), CStyle::Plain) + "\n";
      made.push_back({kernels[i], linear.split >= 0 ? parts_ : 1, linear.places(), linear.checks(),
                      linear.variables, profile_json(linear), computes});
    }
    std::shared_ptr<Program> program;
    if (!functions.empty() || !has_tcc())
      program = std::make_shared<Program>(kNotBuiltIn + codegen::c_preamble(functions) + functions);
    std::vector<RunnerPtr> runners;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const KernelFunction function = made[i].computes ? program->function(symbol(i)) : nullptr;
      runners.push_back(
          std::make_shared<TccRunner>(std::move(made[i]), codegen_, fault_, program, function));
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

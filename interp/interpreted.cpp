#include "touchstone/interp/interpreted.h"

#include <chrono>
#include <cstring>

#include "touchstone/base/fp_guard.h"
#include "touchstone/interp/evaluator.h"
#include "touchstone/interp/fxn_for_op.h"

namespace touchstone {
namespace {

using namespace interp;

// Plain values: what the Evaluator computes over for the device itself.
class Values {
 public:
  using Block = interp::Block;

  explicit Values(std::span<Buffer* const> buffers) : buffers_(buffers) {}

  void load(const ProgramNode& node, std::span<const std::int64_t> addresses, Block& out) const {
    const Buffer& buffer = *buffers_[static_cast<std::size_t>(node.buffer)];
    out.resize(node.dtype, static_cast<std::int64_t>(addresses.size()));
    with_storage(node.dtype, [&]<class T>(std::type_identity<T>) {
      const T* memory = static_cast<const T*>(buffer.memory());
      T* to = out.begin<T>();
      for (std::size_t i = 0; i < addresses.size(); ++i) {
        if (addresses[i] >= buffer.size())
          throw BufferError(fmt::format("a LOAD reaches element {} of buffer {}, which holds {}",
                                        addresses[i], node.buffer, buffer.size()));
        to[i] = addresses[i] < 0 ? T{} : memory[addresses[i]];
      }
    });
  }

  void constant(const ProgramNode& node, std::span<const std::int64_t> addresses,
                Block& out) const {
    out.resize(node.dtype, static_cast<std::int64_t>(addresses.size()));
    with_storage(node.dtype, [&]<class T>(std::type_identity<T>) {
      const T value = node.value.as<T>();
      T* to = out.begin<T>();
      for (std::size_t i = 0; i < addresses.size(); ++i) to[i] = addresses[i] < 0 ? T{} : value;
    });
  }

  void apply(const ProgramNode& node, std::span<const Block* const> operands, std::int64_t count,
             Block& out) const {
    out.resize(node.dtype, count);
    const ElementwiseFxn fxn = node.op == Op::Cast
                                   ? fxn_for_cast(node.src_dtypes[0], node.dtype, node.bitcast)
                                   : fxn_for_op(node.op, node.src_dtypes.back());
    fxn(operands, out);
  }

  std::unique_ptr<Reducer> reducer(const ProgramNode& node) const {
    return reducer_for_op(node.op, node.dtype, node.accumulator);
  }

  void prepare(const ProgramNode& node, std::int64_t count, Block& out) const {
    out.resize(node.dtype, count);
  }

 private:
  std::span<Buffer* const> buffers_;
};

class InterpretedRunner : public Runner {
 public:
  explicit InterpretedRunner(LazyOpPtr kernel) : kernel_(std::move(kernel)) {
    if (variables_of(kernel_).empty()) program_ = make_program(kernel_);
  }

  double run(std::span<Buffer* const> buffers, const symbolic::Values& values) override {
    const FpGuard guard;
    const auto start = std::chrono::steady_clock::now();
    if (program_.regions.empty()) {
      execute(make_program(bind_variables(kernel_, values)), buffers);
    } else {
      execute(program_, buffers);
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

 private:
  static void execute(const Program& program, std::span<Buffer* const> buffers) {
    Values domain(buffers);
    Evaluator<Values> evaluator(program, domain);
    auto* out = static_cast<std::byte*>(buffers[0]->memory());
    const std::size_t width = itemsize(buffers[0]->dtype());
    evaluator.run([&](std::int64_t first, const Block& block) {
      std::memcpy(out + static_cast<std::size_t>(first) * width, block.data(),
                  static_cast<std::size_t>(block.count()) * width);
    });
  }

  LazyOpPtr kernel_;
  Program program_;  // empty for a kernel with variables: made anew for each binding
};

class InterpretedDevice : public Device {
 public:
  explicit InterpretedDevice(std::string name)
      : Device(std::move(name), std::make_unique<HostAllocator>()) {}

 private:
  RunnerPtr make_runner(const LazyOpPtr& kernel) override {
    return std::make_shared<InterpretedRunner>(kernel);
  }
};

}  // namespace

std::unique_ptr<Device> make_interpreted_device(std::string name) {
  return std::make_unique<InterpretedDevice>(std::move(name));
}

void register_interpreted_device() {
  Device::add("CPU", [] { return make_interpreted_device(); });
}

}  // namespace touchstone

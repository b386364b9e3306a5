// OpenCL as a backend of Touchstone: a plugin of touchstone/backend.h that renders OpenCL C from
// the project's own code generator and runs it on the default device.
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#define CL_HPP_ENABLE_EXCEPTIONS
#include <CL/opencl.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/backend.h"
#include "touchstone/codegen/linearize.h"
#include "touchstone/codegen/render_c.h"
#include "touchstone/ops/kernel_json.h"

namespace {

std::string failure;

struct LoadedKernel {
  cl::Kernel kernel;
  std::vector<std::size_t> arguments;  // numbers of the buffers it takes
  std::size_t items;                   // work-items
};

// No exception may cross the C interface.
template <class F>
int guarded(const F& body) {
  try {
    body();
    return TOUCHSTONE_OK;
  } catch (const cl::Error& e) {
    failure = fmt::format("{} returned OpenCL error {}", e.what(), e.err());
  } catch (const std::exception& e) {
    failure = e.what();
  }
  return TOUCHSTONE_FAILED;
}

int compile(const char* json, void** out) {
  return guarded([&] {
    touchstone::CodegenOptions options;
    options.stages = false;       // arrays of 24 KiB in each work item
    options.keep_values = false;  // work items write the output directly
    const auto linear = touchstone::linearize(touchstone::kernel_from_json(json).ast, options);
    cl::Program program(touchstone::render_opencl(linear));
    program.build("-cl-std=CL1.2");
    std::vector<std::size_t> arguments;
    for (const auto& b : linear.buffers) arguments.push_back(static_cast<std::size_t>(b.idx));
    *out = new LoadedKernel{cl::Kernel(program, linear.name.c_str()), arguments,
                            linear.split < 0 ? 1U : 8U};
  });
}

int run(void* program, void* const* buffers, const std::size_t*, std::size_t) {
  return guarded([&] {
    auto& [kernel, arguments, items] = *static_cast<LoadedKernel*>(program);
    for (cl_uint i = 0; i < arguments.size(); ++i)
      kernel.setArg(i, *static_cast<const cl::Buffer*>(buffers[arguments[i]]));
    auto queue = cl::CommandQueue::getDefault();
    queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(items));
    queue.finish();
  });
}

int alloc(std::size_t bytes, void** memory) {
  const std::size_t size = bytes == 0 ? 1 : bytes;
  return guarded([&] { *memory = new cl::Buffer(CL_MEM_READ_WRITE, size); });
}

int copy_in(void* to, const void* from, std::size_t bytes) {
  return guarded([&] {
    if (bytes > 0) cl::enqueueWriteBuffer(*static_cast<cl::Buffer*>(to), CL_TRUE, 0, bytes, from);
  });
}

std::int64_t copy_out(void* to, const void* from, std::size_t bytes) {
  const int status = guarded([&] {
    if (bytes > 0)
      cl::enqueueReadBuffer(*static_cast<const cl::Buffer*>(from), CL_TRUE, 0, bytes, to);
  });
  return status == TOUCHSTONE_OK ? static_cast<std::int64_t>(bytes) : -1;
}

}  // namespace

const touchstone_backend* touchstone_backend_get() {
  static std::string capabilities;
  nlohmann::ordered_json about = {{"name", "opencl"}};
  guarded([&] {
    about["version"] = cl::Device::getDefault().getInfo<CL_DEVICE_VERSION>();
    about["profile"] = "opencl";
  });
  capabilities = about.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  static const auto free = [](void* memory) { delete static_cast<cl::Buffer*>(memory); };
  static const auto release = [](void* program) { delete static_cast<LoadedKernel*>(program); };
  static const touchstone_backend backend = {TOUCHSTONE_BACKEND_ABI,
                                             sizeof(touchstone_backend),
                                             capabilities.c_str(),
                                             alloc,
                                             free,
                                             copy_in,
                                             copy_out,
                                             compile,
                                             run,
                                             release,
                                             [] { return failure.c_str(); }};
  return &backend;
}

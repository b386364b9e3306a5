#include "dnnl_peer.h"

#include <memory>
#include <unordered_map>

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.hpp>

#include "touchstone/base/error.h"

extern "C" void omp_set_num_threads(int);

namespace touchstone::peers {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

// A primitive with its arguments; runs to completion.
std::function<void()> ready(const dnnl::primitive& primitive, dnnl::stream stream,
                            std::unordered_map<int, memory> arguments, int threads) {
  for (auto& [what, m] : arguments) {
    auto* const values = static_cast<float*>(m.get_data_handle());
    for (std::size_t i = 0; i < m.get_desc().get_size() / sizeof(float); ++i)
      values[i] = static_cast<float>(i * 2654435761U % 65536) / 65536.0F;
  }
  return [=]() mutable {
    omp_set_num_threads(threads);
    primitive.execute(stream, arguments);
    stream.wait();
  };
}

}  // namespace

std::function<void()> dnnl_convolution(const ConvSizes& s, int threads) {
  omp_set_num_threads(threads);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const std::int64_t result = (s.size + 2 * s.padding - s.kernel) / s.stride + 1;
  const memory::dims weights =
      s.groups == 1 ? memory::dims{s.out, s.in, s.kernel, s.kernel}
                    : memory::dims{s.groups, s.out / s.groups, s.in / s.groups, s.kernel, s.kernel};
  const auto any = [](const memory::dims& d) {
    return memory::desc(d, memory::data_type::f32, Tag::any);
  };
  const dnnl::convolution_forward::desc desc(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_auto,
      any({1, s.in, s.size, s.size}), any(weights), any({1, s.out, result, result}),
      {s.stride, s.stride}, {s.padding, s.padding}, {s.padding, s.padding});
  const dnnl::convolution_forward::primitive_desc chosen(desc, engine);
  return ready(dnnl::convolution_forward(chosen), dnnl::stream(engine),
               {{DNNL_ARG_SRC, memory(chosen.src_desc(), engine)},
                {DNNL_ARG_WEIGHTS, memory(chosen.weights_desc(), engine)},
                {DNNL_ARG_DST, memory(chosen.dst_desc(), engine)}},
               threads);
}

void dnnl_product(const ProductSizes& s, bool transposes, const float* a, const float* b, float* c,
                  int threads) {
  omp_set_num_threads(threads);
  if (dnnl_sgemm('N', transposes ? 'T' : 'N', s.m, s.n, s.k, 1, a, s.k, b, transposes ? s.k : s.n,
                 0, c, s.n) != dnnl_success)
    throw Error("dnnl_sgemm failed");
}

std::string dnnl_name() {
  const dnnl_version_t& version = *dnnl_version();
  return fmt::format("{}.{}.{}, ISA {:#x}", version.major, version.minor, version.patch,
                     static_cast<int>(dnnl_get_effective_cpu_isa()));
}

std::function<void()> dnnl_softmax(std::int64_t rows, std::int64_t columns, int threads) {
  omp_set_num_threads(threads);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const memory::desc data({rows, columns}, memory::data_type::f32, Tag::ab);
  const dnnl::softmax_forward::desc desc(dnnl::prop_kind::forward_inference, data, 1);
  const dnnl::softmax_forward::primitive_desc chosen(desc, engine);
  return ready(dnnl::softmax_forward(chosen), dnnl::stream(engine),
               {{DNNL_ARG_SRC, memory(data, engine)}, {DNNL_ARG_DST, memory(data, engine)}},
               threads);
}

}  // namespace touchstone::peers

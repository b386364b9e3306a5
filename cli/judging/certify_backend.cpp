#include "touchstone/cli/judging/certify_backend.h"

#include <array>

#include <fmt/format.h>

#include "touchstone/base/error.h"
#include "touchstone/base/visible.h"
#include "touchstone/interp/oracle/declared_profile.h"

namespace touchstone::cli {

LazyOpPtr certified_kernel(CertifiedOp op, DType dtype, std::int64_t count) {
  constexpr std::array kOps = {Op::Exp2, Op::Log2, Op::Sin, Op::Sqrt, Op::Recip};
  const ShapeTracker flat = ShapeTracker::contiguous({count});
  return LazyOp::store(
      flat, LazyOp::unary(kOps[static_cast<std::size_t>(op)], LazyOp::load(1, dtype, flat)));
}

CertifiedBackend::CertifiedBackend(const BackendOptions& options)
    : process_(start_backend(options)) {}

std::string CertifiedBackend::name() { return visible(process_->capabilities().name, 80); }

Profile CertifiedBackend::profile() { return declared_profile(process_->capabilities().profile); }

std::string CertifiedBackend::run(const LazyOpPtr& kernel, std::string_view input) {
  const BufferSpec spec = buffers_of(kernel).at(1);
  const HostArray array{spec.dtype, {spec.size}, std::string(input)};
  foreign::Answer answer = process_->run(kernel_file(kernel), std::span(&array, 1));
  if (answer.kind == foreign::Answer::Kind::Output && answer.output.bytes.size() == input.size())
    return std::move(answer.output.bytes);
  throw SystemError(
      fmt::format("certify: no usable outputs of {}: {}", name(),
                  answer.why.empty() ? "fewer elements than inputs" : visible(answer.why)));
}

void CertifiedBackend::print_starts() const { cli::print_starts(*process_, stdout); }

}  // namespace touchstone::cli

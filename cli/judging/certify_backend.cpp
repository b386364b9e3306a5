#include "touchstone/cli/judging/certify_backend.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "touchstone/base/error.h"
#include "touchstone/base/visible.h"
#include "touchstone/interp/device/scalar_ops.h"
#include "touchstone/interp/oracle/declared_profile.h"

namespace touchstone::cli {

scalar::Near<double> Certified::value(double x) const {
  constexpr double kLibm = 8;  // interp/device/scalar_transcendental.h
  if (!op) return scalar::near_function(function, x, 0.0);
  switch (*op) {
    case CertifiedOp::Exp2: return {std::exp2(x), kLibm};
    case CertifiedOp::Log2: return {std::log2(x), kLibm};
    case CertifiedOp::Sin: return {std::sin(x), kLibm};
    case CertifiedOp::Sqrt: return {std::sqrt(x), 1};
    case CertifiedOp::Recip: break;
  }
  return {1 / x, 1};
}

template <class T>
std::pair<T, double> Certified::answer(T x) const {
  constexpr std::array kOps = {&scalar::exp2<T>, &scalar::log2<T>, &scalar::sin<T>,
                               &scalar::sqrt<T>, &scalar::recip<T>};
  const scalar::Near<double> near = value(convert<double>(x));
  if (!std::isfinite(near.value)) return {convert<T>(near.value), near.value};
  const double error = std::fabs(near.value) * near.error * std::numeric_limits<double>::epsilon();
  const T low = convert<T>(near.value - error);
  if (low == convert<T>(near.value + error)) return {low, near.value};
  // Too near a tie: MPFR decides.
  return {op ? kOps[static_cast<std::size_t>(*op)](x) : scalar::function(function, x), near.value};
}
template std::pair<float, double> Certified::answer(float) const;
template std::pair<float16, double> Certified::answer(float16) const;
template std::pair<bfloat16, double> Certified::answer(bfloat16) const;

Certified parse_certified(const std::string& name) {
  std::string lower = name.substr(0, 40);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::optional<NamedFunction> function = function_from_name(lower);
  if (function && info(*function).arity == 1) return {std::nullopt, *function};
  return {parse_certified_op(name)};
}

LazyOpPtr certified_kernel(const Certified& of, DType dtype, std::int64_t count) {
  constexpr std::array kOps = {Op::Exp2, Op::Log2, Op::Sin, Op::Sqrt, Op::Recip};
  const ShapeTracker flat = ShapeTracker::contiguous({count});
  const LazyOpPtr x = LazyOp::load(1, dtype, flat);
  return LazyOp::store(flat, of.op ? LazyOp::unary(kOps[static_cast<std::size_t>(*of.op)], x)
                                   : LazyOp::function(of.function, {x}));
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

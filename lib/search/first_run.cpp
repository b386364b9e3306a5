#include "touchstone/search/first_run.h"

#include <cstring>

#include "touchstone/base/hash.h"
#include "touchstone/clang/clang_device.h"
#include "touchstone/interp/oracle/declared_profile.h"
#include "touchstone/interp/oracle/subkernel.h"
#include "touchstone/interp/oracle/verdict.h"
#include "touchstone/ops/flop_counter.h"
#include "touchstone/shapetracker/index/index_expr.h"

namespace touchstone::search {

namespace {

constexpr std::int64_t kSmall = 1 << 20;  // operations of a kernel judged at every element
constexpr std::uint64_t kSamples = 32;

// Floats of both signs near 1, so that sums rarely cancel or overflow; small integers, which are
// valid positions in any table.
Scalar element(DType dtype, std::uint64_t bits) {
  if (is_bool(dtype)) return Scalar::of((bits & 1) != 0);
  if (!is_float(dtype)) return Scalar::from_int(dtype, static_cast<std::int64_t>(bits % 2));
  const double size = 0.5 + static_cast<double>(bits >> 40U) / static_cast<double>(1U << 24U);
  return Scalar::from_double(dtype, (bits & 1) != 0 ? -size : size);
}

}  // namespace

FirstRun::FirstRun(const LazyOpPtr& kernel, const ClangOptions& options) {
  ClangOptions here = options;
  here.beam = 0;
  here.codegen.opts.reset();
  device_ = make_clang_device("SEARCH", here);
  for (const BufferSpec& spec : buffers_of(kernel)) {
    owned_.push_back(std::make_unique<Buffer>(*device_, spec.dtype, spec.size));
    buffers_.resize(static_cast<std::size_t>(spec.idx) + 1, nullptr);
    buffers_.back() = owned_.back().get();
    if (spec.idx != 0) fill(*buffers_.back(), static_cast<std::uint64_t>(spec.idx));
  }
  const RunnerPtr runner = device_->runner(kernel);
  run(*runner);
  right_ = output();
  judge(kernel, runner->profile());
}

void FirstRun::fill(Buffer& buffer, std::uint64_t seed) const {
  const std::size_t width = itemsize(buffer.dtype());
  std::vector<std::byte> bytes(buffer.bytes());
  for (std::size_t i = 0; i < bytes.size() / width; ++i) {
    const std::uint64_t bits = element(buffer.dtype(), hash_mix(seed, i)).bits();
    std::memcpy(bytes.data() + i * width, &bits, width);  // lowest bytes first
  }
  buffer.copy_in(bytes);
}

double FirstRun::run(Runner& runner) const { return runner.run(buffers_, {}); }

bool FirstRun::gives_its_bits(Runner& runner) const {
  std::vector<std::byte> wrong = right_;
  for (std::byte& b : wrong) b = ~b;
  buffers_[0]->copy_in(wrong);  // nothing may keep its old value
  run(runner);
  return output() == right_;
}

std::vector<std::byte> FirstRun::output() const {
  std::vector<std::byte> bytes(buffers_[0]->bytes());
  buffers_[0]->copy_out(bytes);
  return bytes;
}

void FirstRun::judge(const LazyOpPtr& kernel, const std::string& profile) const {
  const Profile declared = declared_profile(profile);
  const auto refuse_illegal = [&](const LazyOpPtr& part, const Buffer& candidate) {
    const Verdict verdict = touchstone::judge(part, buffers_, candidate, declared);
    if (verdict.outcome == Outcome::Fail)
      throw AstError(fmt::format(
          "the hand-coded layout of {} gives an illegal output, so no search is made: {}",
          kernel_name(kernel), verdict.str()));
  };
  if (get_lazyop_info(kernel).flops.as_int() <= kSmall) return refuse_illegal(kernel, *buffers_[0]);
  const Shape& shape = kernel->shape();
  for (std::uint64_t sample = 0; sample < kSamples; ++sample) {
    std::vector<std::int64_t> at;
    std::vector<symbolic::Node> nodes;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      at.push_back(static_cast<std::int64_t>(hash_mix(sample, axis) %
                                             static_cast<std::uint64_t>(shape[axis].as_int())));
    for (const std::int64_t i : at) nodes.emplace_back(i);
    const auto index =
        static_cast<std::size_t>(*expr_idxs(kernel->buffer().st, nodes).index.constant());
    Buffer one(*device_, buffers_[0]->dtype(), 1);
    const std::size_t width = itemsize(one.dtype());
    one.copy_in(std::span(right_).subspan(index * width, width));
    refuse_illegal(interp::one_element(kernel, at), one);
  }
}

}  // namespace touchstone::search

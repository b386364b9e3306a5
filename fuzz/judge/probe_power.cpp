#include "touchstone/fuzz/judge/probe_power.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "touchstone/base/interrupt.h"
#include "touchstone/device/device.h"
#include "touchstone/dtype/bits.h"
#include "touchstone/dtype/storage.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/interp/oracle/envelope.h"
#include "touchstone/ops/flop_counter.h"

namespace touchstone::fuzz {
namespace {

constexpr std::int64_t kMostTried = std::int64_t{1} << 20;

LazyOpPtr constant_like(const LazyOp& node, const Scalar& value) {
  const Shape ones(node.shape().size(), sint(1));
  return LazyOp::constant(value, ShapeTracker().reshape(ones).expand(node.shape()));
}

// x moved by `ulp` representable numbers away from zero; zeros, infinities and NaN stay.
LazyOpPtr off_by(const LazyOpPtr& x, std::int64_t ulp) {
  const DType bits = signed_of(x->dtype());
  const LazyOpPtr moved =
      LazyOp::cast(LazyOp::binary(Op::Add, LazyOp::cast(x, bits, true),
                                  constant_like(*x, Scalar::from_int(bits, ulp))),
                   x->dtype(), true);
  const LazyOpPtr size = LazyOp::binary(Op::Max, x, LazyOp::unary(Op::Neg, x));
  const auto at = [&](double value) {
    return constant_like(*x, Scalar::from_double(x->dtype(), value));
  };
  const double least = std::ldexp(1, info(x->dtype()).min_exponent);
  const LazyOpPtr number =
      LazyOp::binary(Op::Mul, LazyOp::binary(Op::CmpLt, at(least), size),
                     LazyOp::binary(Op::CmpLt, size, at(std::numeric_limits<double>::infinity())));
  return LazyOp::ternary(Op::Where, number, moved, x);
}

using Replace = std::function<LazyOpPtr(const LazyOpPtr&, const std::vector<LazyOpPtr>&)>;

// The kernel with nodes replaced; `replace` returns nullptr to keep a node.
LazyOpPtr with(const LazyOpPtr& kernel, const Replace& replace) {
  return rebuild(kernel, [&](const LazyOpPtr& node, const std::vector<LazyOpPtr>& src) {
    if (LazyOpPtr made = replace(node, src)) return made;
    return src == node->src() ? node : with_src(node, src);
  });
}

// (a - b)^2, as the operand of a sum.
bool is_squared_difference(const LazyOp& x) {
  return x.op() == Op::Mul && same(x.src()[0], x.src()[1]) && x.src()[0]->op() == Op::Sub;
}

LazyOpPtr one_pass_variance(const LazyOpPtr& node, const std::vector<LazyOpPtr>& src) {
  if (node->op() != Op::ReduceSum || !is_squared_difference(*node->src()[0])) return nullptr;
  const LazyOpPtr& difference = src[0]->src()[0];
  const auto sum_of_squares = [&](const LazyOpPtr& x) {
    return with_src(node, {LazyOp::binary(Op::Mul, x, x)});
  };
  return LazyOp::binary(Op::Sub, sum_of_squares(difference->src()[0]),
                        sum_of_squares(difference->src()[1]));
}

LazyOpPtr by_reciprocal(const LazyOpPtr& node, const std::vector<LazyOpPtr>& src) {
  if (node->op() != Op::Div || !is_float(node->dtype())) return nullptr;
  return LazyOp::binary(Op::Mul, src[0], LazyOp::unary(Op::Recip, src[1]));
}

LazyOpPtr in_bfloat16(const LazyOpPtr& node, const std::vector<LazyOpPtr>&) {
  if (node->op() != Op::Load ||
      (node->dtype() != DType::Float32 && node->dtype() != DType::Float64))
    return nullptr;
  return LazyOp::cast(LazyOp::cast(node, DType::BFloat16), node->dtype());
}

// The operand of a reduce with its last term replaced by the identity.
LazyOpPtr without_last(const LazyOpPtr& reduce, const std::vector<LazyOpPtr>& src) {
  const LazyOp& x = *src[0];
  const auto axis = static_cast<std::size_t>(reduce->reduce_arg().axes.back());
  Shape shorter = x.shape();
  if (shorter[axis].as_int() < 2) return nullptr;
  shorter[axis] = shorter[axis].as_int() - 1;
  Padding padding(shorter.size(), {sint(0), sint(0)});
  padding[axis].second = 1;
  const Shape ones(shorter.size(), sint(1));
  const LazyOpPtr keep =
      LazyOp::constant(Scalar::of(true), ShapeTracker().reshape(ones).expand(shorter).pad(padding));
  const DType d = x.dtype();
  Scalar neutral = Scalar::from_int(d, 0);
  if (reduce->op() == Op::ReduceMax && !is_bool(d)) {
    const std::int64_t least = is_unsigned(d) ? 0 : -(std::int64_t{1} << (8 * itemsize(d) - 2)) * 2;
    neutral = is_float(d) ? Scalar::from_double(d, -std::numeric_limits<double>::infinity())
                          : Scalar::from_int(d, least);
  }
  return with_src(reduce, {LazyOp::ternary(Op::Where, keep, src[0], constant_like(x, neutral))});
}

bool computes_floats(const LazyOp& node) {
  if (!is_float(node.dtype())) return false;
  if (node.op() == Op::Function) return true;
  if (!is_elementwise(node.op()) && !is_reduce(node.op())) return false;
  if (node.op() == Op::Cast) return !node.cast_arg().bitcast;
  return !info(node.op()).selects;
}

// All legal results on one probe, for judging many outputs.
class LegalOutput {
 public:
  LegalOutput(const LazyOpPtr& kernel, std::span<Buffer* const> buffers, const Profile& profile) {
    interp::legal_results(kernel, buffers, profile, {},
                          [&](std::int64_t first, const interp::LegalBlock& block) {
                            blocks_.emplace_back(first, block);
                          });
  }
  bool accepts(const char* output) const {
    return std::ranges::all_of(blocks_, [&](const auto& part) {
      const auto& [first, block] = part;
      return with_storage(block.dtype(), [&]<class T>(std::type_identity<T>) {
        const T* got = reinterpret_cast<const T*>(output) + first;
        for (std::int64_t i = 0; i < block.count(); ++i)
          if (!block.template get<T>(i).accepts(got[i])) return false;
        return true;
      });
    });
  }

 private:
  std::vector<std::pair<std::int64_t, interp::LegalBlock>> blocks_;
};

// One probe on the reference.
class Subject {
 public:
  Subject(const LazyOpPtr& kernel, const Probe& probe, const Profile& profile)
      : device_(Device::get("CPU")) {
    std::int64_t size = 1;
    for (const sint& s : kernel->shape()) size *= s.as_int();
    buffers_.push_back(std::make_shared<Buffer>(device_, kernel->dtype(), size));
    for (const HostArray& input : probe.inputs) {
      buffers_.push_back(std::make_shared<Buffer>(device_, input.dtype, input.size()));
      buffers_.back()->copy_in(std::as_bytes(std::span(input.bytes)));
    }
    for (const BufferPtr& b : buffers_) raw_.push_back(b.get());
    output_.resize(static_cast<std::size_t>(size) * itemsize(kernel->dtype()));
    legal_.emplace(kernel, raw_, profile);
    run(kernel);
    right_ = output_;
  }

  bool shows(const LazyOpPtr& faulty) {
    run(faulty);
    differed_ = differed_ || output_ != right_;
    return !legal_->accepts(output_.data());
  }
  // In either direction.
  bool shows(const PlannedFault& fault, std::int64_t ulp) {
    return shows(fault.plant(ulp)) && (!fault.has_size || shows(fault.plant(-ulp)));
  }
  // Since the last call.
  bool differed() { return std::exchange(differed_, false); }

 private:
  void run(const LazyOpPtr& kernel) {
    device_.runner(kernel)->run(raw_, {});
    device_.forget_runners();
    buffers_[0]->copy_out(std::as_writable_bytes(std::span(output_)));
  }

  Device& device_;
  std::vector<BufferPtr> buffers_;
  std::vector<Buffer*> raw_;
  std::string output_, right_;
  bool differed_ = false;
  std::optional<LegalOutput> legal_;
};

// Values that the kernel computes and stores.
double work_of(const LazyOpPtr& kernel) {
  return static_cast<double>((get_lazyop_info(kernel).flops + elements(kernel->shape())).as_int());
}

LazyOpPtr shortened(const LazyOpPtr& kernel, std::size_t axis, std::int64_t size) {
  const auto shorter = [&](const ShapeTracker& st, int first = 0) {
    Mask keep;
    for (const sint& s : st.shape()) keep.emplace_back(sint(0), s);
    keep[axis + static_cast<std::size_t>(first)].second = size;
    return st.shrink(keep);
  };
  return rebuild(kernel, [&](const LazyOpPtr& node, const std::vector<LazyOpPtr>& src) {
    OpArg arg = node->arg();
    if (node->op() == Op::Store) {
      std::get<MemBuffer>(arg).st = ShapeTracker::contiguous(src[0]->shape());
    } else if (auto* load = std::get_if<MemBuffer>(&arg)) {
      load->st = shorter(load->st, position_axes(node->op()));
      if (load->checked) load->checked = shorter(*load->checked);
    } else if (auto* constant = std::get_if<ConstBuffer>(&arg)) {
      constant->st = shorter(constant->st);
    }
    return LazyOp::make(node->op(), src, std::move(arg));
  });
}

std::int64_t least_shown(Subject& subject, const PlannedFault& fault) {
  if (!fault.has_size) return subject.shows(fault, 1) ? 1 : 0;
  int low = 0, high = 0;  // powers of two; larger sizes show too
  while ((std::int64_t{2} << high) <= fault.most) ++high;
  if (!subject.shows(fault, std::int64_t{1} << high)) return 0;
  while (low < high) {
    const int middle = (low + high) / 2;
    subject.shows(fault, std::int64_t{1} << middle) ? high = middle : low = middle + 1;
  }
  return std::int64_t{1} << high;
}

}  // namespace

LazyOpPtr part_of(const LazyOpPtr& kernel) {
  constexpr double kMostValues = 400'000;
  constexpr std::int64_t kKept = 12;
  std::set<int> reduced;
  for (const LazyOpPtr& node : toposort(kernel))
    if (is_reduce(node->op()))
      reduced.insert(node->reduce_arg().axes.begin(), node->reduce_arg().axes.end());
  LazyOpPtr part = kernel;
  while (work_of(part) > kMostValues) {
    const std::vector<std::int64_t> shape = concrete(part->shape());
    int longest = -1;
    for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis)
      if (!reduced.contains(axis) && (longest < 0 || shape[static_cast<std::size_t>(axis)] >
                                                         shape[static_cast<std::size_t>(longest)]))
        longest = axis;
    if (longest < 0 || shape[static_cast<std::size_t>(longest)] <= kKept) break;
    const auto at = static_cast<std::size_t>(longest);
    part = shortened(part, at, std::max(kKept, shape[at] / 2));
  }
  return part;
}

std::vector<PlannedFault> planned_faults(const LazyOpPtr& kernel) {
  std::vector<PlannedFault> faults;
  const std::vector<LazyOpPtr> order = toposort(kernel);
  std::map<Op, int> count;
  const auto most = [](DType d) {
    return std::min(kMostTried, std::int64_t{1} << (info(d).digits - 1));
  };
  for (std::size_t i = 0; i < order.size(); ++i) {
    const LazyOpPtr& node = order[i];
    if (!computes_floats(*node)) continue;
    ++count[node->op()];
    faults.push_back({fmt::format("%{} {}", i, name(node->op())),
                      [kernel, node](std::int64_t ulp) {
                        return with(kernel, [&](const LazyOpPtr& n, const auto& src) {
                          if (n != node) return LazyOpPtr();
                          return off_by(src == n->src() ? n : with_src(n, src), ulp);
                        });
                      },
                      true, most(node->dtype()), node->op()});
  }
  for (const Op op : {Op::Exp2, Op::Log2, Op::Sin, Op::Sqrt, Op::Recip, Op::Div})
    if (count[op] > 1)
      faults.push_back({fmt::format("every {}", name(op)),
                        [kernel, op](std::int64_t ulp) {
                          return with(kernel, [&](const LazyOpPtr& n, const auto& src) {
                            if (n->op() != op || !is_float(n->dtype())) return LazyOpPtr();
                            return off_by(src == n->src() ? n : with_src(n, src), ulp);
                          });
                        },
                        true, most(kernel->dtype()), op});
  for (std::size_t i = 0; i < order.size(); ++i)
    if (is_reduce(order[i]->op()) && without_last(order[i], order[i]->src()) != nullptr)
      faults.push_back({fmt::format("%{} {} without its last term", i, name(order[i]->op())),
                        [kernel, node = order[i]](std::int64_t) {
                          return with(kernel, [&](const LazyOpPtr& n, const auto& src) {
                            return n == node ? without_last(n, src) : LazyOpPtr();
                          });
                        },
                        false, 1, order[i]->op()});
  const auto rewrite = [&](std::string what, Op op, auto replace) {
    if (!same(with(kernel, replace), kernel))
      faults.push_back({std::move(what),
                        [kernel, replace](std::int64_t) { return with(kernel, replace); }, false, 1,
                        op});
  };
  rewrite("x / y as x * (1 / y)", Op::Div, by_reciprocal);
  rewrite("a variance as E[x^2] - E[x]^2", Op::ReduceSum, one_pass_variance);
  rewrite("inputs rounded to bfloat16", Op::Load, in_bfloat16);
  return faults;
}

std::optional<std::size_t> FaultPower::best() const {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < least.size(); ++i)
    if (least[i].value_or(0) > 0 && (!found || *least[i] < *least[*found])) found = i;
  return found;
}

std::vector<FaultPower> probe_power(const LazyOpPtr& kernel, const std::vector<Probe>& probes,
                                    const Profile& profile, const std::function<bool()>& go_on) {
  const LazyOpPtr part = part_of(kernel);
  std::vector<FaultPower> all;
  for (PlannedFault& fault : planned_faults(part)) all.push_back({std::move(fault), {}});
  for (FaultPower& power : all) power.least.resize(probes.size());
  try {
    for (std::size_t i = 0; i < probes.size() && go_on(); ++i) {
      Subject subject(part, probes[i], profile);
      for (FaultPower& power : all) {
        if (!go_on()) break;
        power.least[i] = least_shown(subject, power.fault);
        power.differs = subject.differed() || power.differs;
      }
    }
  } catch (const Interrupted&) {
    if (go_on()) throw;
  }
  return all;
}

}  // namespace touchstone::fuzz

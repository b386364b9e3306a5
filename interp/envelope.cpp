#include "touchstone/interp/envelope.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "touchstone/interp/evaluator.h"
#include "touchstone/interp/fxn_for_op.h"
#include "touchstone/interp/open_rows.h"
#include "touchstone/interp/radius.h"

namespace touchstone::interp {
namespace {

// What a profile allows besides the reference's answer, for one storage type.
template <class T>
class Allowance {
 public:
  explicit Allowance(const Profile& profile) : profile_(profile) {}

  /// An operand as the device may see it.
  Legal<T> operand(const Legal<T>& a) const {
    if constexpr (is_float_storage<T>)
      if (profile_.flushes_inputs) return legal::flushed(a);
    return a;
  }
  /// A result as the device may give it.
  template <class R>
  Legal<R> result(Legal<R> a) const {
    if constexpr (is_float_storage<R>) {
      if (profile_.flushes_outputs) a = legal::flushed(a);
      if (profile_.finite_only && (a.nan || a.has_infinity())) return Legal<R>::anything();
      if (profile_.zeros_alike && a.has_zero()) {
        if (is_zero_value(a.lo)) a.lo = scalar::neg(R{});
        if (is_zero_value(a.hi)) a.hi = R{};
      }
    }
    return a;
  }

  /// The representable values within `error`, for results at arguments of at most `size`.
  static std::int64_t ulp(const FunctionError& error, double size = 0) {
    const double all = error.ulp + (error.ulp_per_x == 0 ? 0 : error.ulp_per_x * size);
    return static_cast<std::int64_t>(std::ceil(std::min(all, 0x1p62)));
  }
  static double magnitude(const Legal<T>& a) {
    if constexpr (is_float_storage<T>)
      return !a.number ? 0
                       : std::max(std::abs(static_cast<double>(scalar::detail::computing(a.lo))),
                                  std::abs(static_cast<double>(scalar::detail::computing(a.hi))));
    else
      return 0;
  }

  const Profile& profile() const { return profile_; }

 private:
  const Profile& profile_;
};

// An element-wise pass over `out`, but for the elements that have their result already.
using Done = std::vector<std::uint8_t>;
template <class F>
void each(const LegalBlock& out, const Done& done, F f) {
  if (done.empty()) {
    for (std::int64_t i = 0; i < out.count(); ++i) f(i);
    return;
  }
  const std::uint8_t *from = done.data(), *end = from + done.size();
  for (const std::uint8_t* at = from; (at = std::find(at, end, 0)) != end; ++at) f(at - from);
}

template <class T, class R, class F>
void map1(const Allowance<T>& allow, const LegalBlock& a, LegalBlock& out, F f) {
  for (std::int64_t i = 0; i < out.count(); ++i)
    out.set<R>(i, allow.result(f(allow.operand(a.get<T>(i)))));
}

template <class T, class R, class F>
void map2(const Allowance<T>& allow, const LegalBlock& a, const LegalBlock& b, LegalBlock& out,
          const Done& done, F f) {
  each(out, done, [&](std::int64_t i) {
    out.set<R>(i, allow.result(f(allow.operand(a.get<T>(i)), allow.operand(b.get<T>(i)))));
  });
}

// Whether the result of rounding may stand for numbers beyond the largest.
template <class T>
bool is_saturated(const Legal<T>& x) {
  if constexpr (is_float_storage<T> && !has_infinities<T>)
    return x.number && (order_key(x.lo) == order_key(infinity<T>(true)) ||
                        order_key(x.hi) == order_key(infinity<T>()));
  else
    return false;
}

// One term of an addition, which may be a product that was never rounded.
template <class T>
Legal<T> addend(const LegalBlock& block, std::int64_t i) {
  const Legal<T> x = block.get<T>(i);
  if constexpr (is_float_storage<T>)
    if (block.unrounded(i)) return is_saturated(x) ? Legal<T>::unknown() : legal::widened(x, 1);
  return x;
}

template <class T, class F>
void add_terms(const Allowance<T>& allow, const LegalBlock& a, const LegalBlock& b, LegalBlock& out,
               const Done& done, F f) {
  each(out, done, [&](std::int64_t i) {
    out.set<T>(i, allow.result(f(allow.operand(addend<T>(a, i)), allow.operand(addend<T>(b, i)))));
  });
}

template <class T>
void multiply(const ProgramNode& node, const Allowance<T>& allow, const LegalBlock& a,
              const LegalBlock& b, LegalBlock& out, const Done& done) {
  const Profile& profile = allow.profile();
  map2<T, T>(allow, a, b, out, done, [&](Legal<T> x, Legal<T> y) {
    if constexpr (is_float_storage<T>) {
      if (node.is_summed) {
        x = legal::shortened(x, profile.product_digits);
        y = legal::shortened(y, profile.product_digits);
      }
      const Legal<T> product = legal::mul(x, y);
      const bool exact = x.is_point() && y.is_point() && product.is_point() &&
                         legal::is_exact_product(x.lo, y.lo, product.lo);
      if (!node.is_addend || !profile.contracts || exact) return product;
      return is_saturated(product) ? Legal<T>::unknown() : legal::widened(product, 1);
    } else {
      return legal::mul(x, y);
    }
  });
}

template <class T>
void divide(const Allowance<T>& allow, const LegalBlock& a, const LegalBlock& b, LegalBlock& out) {
  map2<T, T>(allow, a, b, out, {}, [&](const Legal<T>& x, const Legal<T>& y) {
    const Legal<T> quotient = legal::div(x, y);
    if constexpr (is_float_storage<T>) {
      const std::int64_t ulp = allow.ulp(allow.profile().div);
      if (ulp > 0 && !legal::is_special(x) && !legal::is_special(y))
        return legal::widened(quotient, ulp);
    }
    return quotient;
  });
}

template <class T>
void maximum(const Allowance<T>& allow, const LegalBlock& a, const LegalBlock& b, LegalBlock& out,
             const Done& done) {
  map2<T, T>(allow, a, b, out, done, [&](const Legal<T>& x, const Legal<T>& y) {
    if constexpr (is_float_storage<T>)
      if (allow.profile().max != MaxOfNan::NanWins)
        return legal::max_of_nan(x, y, allow.profile().max == MaxOfNan::NumberWins);
    return legal::max(x, y);
  });
}

// The functions of floats, each with the error that the profile declares.
template <class T>
void apply_function(Op op, const Allowance<T>& allow, const LegalBlock& in, LegalBlock& out) {
  const Profile& p = allow.profile();
  const auto exact_at_special = [&](auto f, const FunctionError& error) {
    return [&allow, f, &error](const Legal<T>& a) {
      const std::int64_t ulp = allow.ulp(error);
      return ulp == 0 || legal::is_special(a) ? f(a) : legal::widened(f(a), ulp);
    };
  };
  switch (op) {
    case Op::Sqrt:
      return map1<T, T>(allow, in, out, exact_at_special(legal::sqrt<T>, p.sqrt));
    case Op::Recip:
      return map1<T, T>(allow, in, out, exact_at_special(legal::recip<T>, p.recip));
    case Op::Exp2:
      return map1<T, T>(allow, in, out, [&](const Legal<T>& a) {
        return legal::exp2(a, allow.ulp(p.exp2, allow.magnitude(a)));
      });
    case Op::Log2:
      return map1<T, T>(allow, in, out, [&](const Legal<T>& a) {
        return legal::log2(a, allow.ulp(p.log2, allow.magnitude(a)));
      });
    case Op::Sin:
      return map1<T, T>(allow, in, out, [&](const Legal<T>& a) {
        return legal::sin(a, allow.ulp(p.sin, allow.magnitude(a)), p.sin_absolute, p.sin_domain);
      });
    default:
      throw AstError(fmt::format("{} is no function of {}", name(op), name(dtype_v<T>)));
  }
}

template <class T>
void apply_typed(const ProgramNode& node, const Profile& profile,
                 std::span<const LegalBlock* const> in, const Done& done, LegalBlock& out) {
  const Allowance<T> allow(profile);
  switch (node.op) {
    case Op::Noop:
      for (std::int64_t i = 0; i < out.count(); ++i) out.set<T>(i, in[0]->get<T>(i));
      return;
    case Op::Neg:
      return each(out, done, [&](std::int64_t i) { out.set<T>(i, legal::neg(in[0]->get<T>(i))); });
    case Op::Add:
      return add_terms<T>(allow, *in[0], *in[1], out, done, legal::add<T>);
    case Op::Sub:
      return add_terms<T>(allow, *in[0], *in[1], out, done, legal::sub<T>);
    case Op::Mul:
      return multiply<T>(node, allow, *in[0], *in[1], out, done);
    case Op::Max:
      return maximum<T>(allow, *in[0], *in[1], out, done);
    case Op::CmpLt:
      return map2<T, bool>(allow, *in[0], *in[1], out, {}, legal::cmplt<T>);
    case Op::CmpEq:
      return map2<T, bool>(allow, *in[0], *in[1], out, {}, legal::cmpeq<T>);
    case Op::MulAcc:
      for (std::int64_t i = 0; i < out.count(); ++i)
        out.set<T>(i, allow.result(legal::mulacc(allow.operand(in[0]->get<T>(i)),
                                                 allow.operand(in[1]->get<T>(i)),
                                                 allow.operand(in[2]->get<T>(i)))));
      return;
    case Op::Where:
      for (std::int64_t i = 0; i < out.count(); ++i)
        out.set<T>(i, legal::where(in[0]->get<bool>(i), in[1]->get<T>(i), in[2]->get<T>(i)));
      return;
    default:
      break;
  }
  if constexpr (!std::is_same_v<T, bool>) {
    if (node.op == Op::Div) return divide<T>(allow, *in[0], *in[1], out);
    if (node.op == Op::Mod) return map2<T, T>(allow, *in[0], *in[1], out, {}, legal::mod<T>);
  }
  if constexpr (is_float_storage<T>) {
    return apply_function<T>(node.op, allow, *in[0], out);
  } else {
    if (node.op == Op::Xor) return map2<T, T>(allow, *in[0], *in[1], out, {}, legal::xor_<T>);
    throw AstError(fmt::format("{} has no legal form for {}", name(node.op), name(dtype_v<T>)));
  }
}

// A NaN's bits are free, so what is made of them is open.
template <class From, class To>
Legal<To> bitcast_legal(const Legal<From>& a) {
  if (!a.is_point()) return Legal<To>::anything();
  if constexpr (sizeof(From) == sizeof(To))
    return Legal<To>::point(std::bit_cast<To>(a.lo));
  else
    return Legal<To>::anything();
}

// A float as an integer that cannot hold it may become anything.
template <class To, class From>
Legal<To> cast_unless_out_of_range(const Legal<From>& a) {
  if constexpr (is_float_storage<From> && is_integer_storage<To>) {
    const auto fits = [](From x) {
      const double v = std::trunc(static_cast<double>(scalar::detail::computing(x)));
      return v >= static_cast<double>(std::numeric_limits<To>::min()) &&
             v < std::ldexp(1.0, std::numeric_limits<To>::digits);
    };
    if (a.nan || (a.number && !(fits(a.lo) && fits(a.hi)))) return Legal<To>::anything();
  }
  return legal::cast<To>(a);
}

void apply_cast(const ProgramNode& node, const Profile& profile, const LegalBlock& in,
                LegalBlock& out) {
  with_storage(node.src_dtypes[0], [&]<class From>(std::type_identity<From>) {
    with_storage(node.dtype, [&]<class To>(std::type_identity<To>) {
      const Allowance<From> allow(profile);
      for (std::int64_t i = 0; i < out.count(); ++i) {
        const Legal<From> a = in.get<From>(i);
        if (node.bitcast)
          out.set<To>(i, bitcast_legal<From, To>(a));
        else if constexpr (std::is_same_v<From, To>)
          out.set<To>(i, a);
        else
          out.set<To>(i, allow.result(profile.casts_saturate
                                          ? legal::cast<To>(allow.operand(a))
                                          : cast_unless_out_of_range<To>(allow.operand(a))));
      }
    });
  });
}

// Whether determined operands give determined results, the ones the reference computes.
bool stays_determined(const ProgramNode& node, const Profile& profile) {
  const bool floats = is_float(node.dtype) || is_float(node.src_dtypes.back());
  switch (node.op) {
    case Op::Noop:
    case Op::Neg:
    case Op::Where:
      return true;
    case Op::Exp2:
    case Op::Log2:
    case Op::Sin:
      return false;
    case Op::Sqrt:
      return profile.sqrt == FunctionError{} && profile.exact_elsewhere();
    case Op::Recip:
      return profile.recip == FunctionError{} && profile.exact_elsewhere();
    case Op::MulAcc:
      return !floats;
    case Op::Div:
      return floats && profile.div == FunctionError{} && profile.exact_elsewhere();
    case Op::Mod:
      return floats && profile.exact_elsewhere();
    case Op::Cast:
      if (node.bitcast) return !is_float(node.src_dtypes[0]);
      break;
    default:
      break;
  }
  return !floats || profile.exact_elsewhere();
}

// Marks the products that are not the exact ones, so that not rounding them changes something;
// nothing where there are none.
template <class T>
void mark_inexact(const LegalBlock& a, const LegalBlock& b, LegalBlock& out, bool with_balls) {
  const T *x = a.lo.begin<T>(), *y = b.lo.begin<T>(), *p = out.lo.begin<T>();
  bool any = false;
  out.inexact.resize(static_cast<std::size_t>(out.count()));
  for (std::int64_t i = 0; i < out.count(); ++i) {
    const bool exact = legal::is_exact_product(x[i], y[i], p[i]);
    out.inexact[static_cast<std::size_t>(i)] = exact ? 0 : 1;
    any = any || !exact;
  }
  if (!any) out.inexact.clear();
  if (!any || !with_balls) return;
  // Rounded or not: within the loss of one rounding of the exact product.
  const ball::Unit unit(dtype_v<T>);
  const auto point = [](T v) {
    const auto value = static_cast<double>(scalar::detail::computing(v));
    return std::isfinite(value) ? Ball{value, 0} : Ball::unknown();
  };
  for (std::int64_t i = 0; i < out.count(); ++i) {
    const Ball product = ball::mul(point(x[i]), point(y[i]));
    out.balls.push_back(out.unrounded(i) ? ball::rounded(product, unit) : point(p[i]));
  }
}

class Envelope {
 public:
  using Block = LegalBlock;

  Envelope(std::span<Buffer* const> buffers, const Profile& profile, Form form)
      : buffers_(buffers), profile_(profile), form_(form) {}

  void load(const ProgramNode& node, std::span<const std::int64_t> addresses, Block& out) const {
    const Buffer& buffer = *buffers_[static_cast<std::size_t>(node.buffer)];
    with_storage(node.dtype, [&]<class T>(std::type_identity<T>) {
      const T* memory = static_cast<const T*>(buffer.memory());
      fill<T>(addresses, out, [&](std::int64_t address) {
        if (address >= buffer.size())
          throw BufferError(fmt::format("a LOAD reaches element {} of buffer {}, which holds {}",
                                        address, node.buffer, buffer.size()));
        return memory[address];
      });
    });
  }

  void constant(const ProgramNode& node, std::span<const std::int64_t> addresses,
                Block& out) const {
    with_storage(node.dtype, [&]<class T>(std::type_identity<T>) {
      fill<T>(addresses, out, [value = node.value.as<T>()](std::int64_t) { return value; });
    });
  }

  void apply(const ProgramNode& node, std::span<const Block* const> operands, std::int64_t count,
             Block& out) {
    bool determined = stays_determined(node, profile_);
    const bool additive = node.op == Op::Add || node.op == Op::Sub;
    for (const Block* b : operands)
      determined = determined && b->determined && !(additive && b->unrounded());
    out.resize(node.dtype, count, determined);
    if (determined) {
      plain_.clear();
      for (const Block* b : operands) plain_.push_back(&b->lo);
      const ElementwiseFxn fxn = node.op == Op::Cast
                                     ? fxn_for_cast(node.src_dtypes[0], node.dtype, node.bitcast)
                                     : fxn_for_op(node.op, node.src_dtypes.back());
      fxn(plain_, out.lo);
      if (node.is_addend && profile_.contracts)
        with_storage(node.dtype, [&]<class T>(std::type_identity<T>) {
          if constexpr (is_float_storage<T>)
            mark_inexact<T>(*operands[0], *operands[1], out,
                            form_ != Form::Interval && !node.is_summed);
        });
    } else if (node.op == Op::Cast) {
      apply_cast(node, profile_, *operands[0], out);
    } else {
      apply_open_rows(node, profile_, operands, out, done_);
      with_storage(node.src_dtypes.back(), [&]<class T>(std::type_identity<T>) {
        apply_typed<T>(node, profile_, operands, done_, out);
      });
    }
    if (!determined) apply_radius(node, profile_, operands, form_, out);
  }

  std::unique_ptr<LegalReducer> reducer(const ProgramNode& node) const {
    return legal_reducer(node.op, node.dtype, node.accumulator, profile_);
  }

  void prepare(const ProgramNode& node, std::int64_t count, Block& out) const {
    out.resize(node.dtype, count, false);
  }

 private:
  template <class T, class Read>
  static void fill(std::span<const std::int64_t> addresses, Block& out, Read read) {
    out.resize(dtype_v<T>, static_cast<std::int64_t>(addresses.size()), true);
    T* to = out.lo.begin<T>();
    for (std::size_t i = 0; i < addresses.size(); ++i)
      to[i] = addresses[i] < 0 ? T{} : read(addresses[i]);
  }

  std::span<Buffer* const> buffers_;
  const Profile& profile_;
  Form form_;
  std::vector<const interp::Block*> plain_;
  Done done_;
};

}  // namespace

void LegalBlock::resize(DType dtype, std::int64_t count, bool is_determined) {
  lo.resize(dtype, count);
  determined = is_determined;
  inexact.clear();
  balls.clear();
  if (determined) return;
  hi.resize(dtype, count);
  flags.resize(static_cast<std::size_t>(count));
}

void legal_results(const LazyOpPtr& kernel, std::span<Buffer* const> buffers,
                   const Profile& profile, const symbolic::Values& values,
                   const std::function<void(std::int64_t, const LegalBlock&)>& sink, Form form) {
  const Program program = make_program(values.empty() ? kernel : bind_variables(kernel, values));
  Envelope domain(buffers, profile, form);
  Evaluator<Envelope> evaluator(program, domain);
  evaluator.run(sink);
}

void legal_results_in_runs(
    const LazyOpPtr& kernel, std::span<Buffer* const> buffers, const Profile& profile,
    const symbolic::Values& values, Threads& threads,
    const std::function<void(std::size_t)>& prepare,
    const std::function<void(std::size_t, std::int64_t, const LegalBlock&)>& sink) {
  const Program program = make_program(values.empty() ? kernel : bind_variables(kernel, values));
  std::int64_t most = 0;
  for (const Region& region : program.regions) most = std::max(most, region.size);
  const std::int64_t size = program.regions[0].size;
  constexpr std::int64_t kMostRuns = 64;
  const std::int64_t wanted = std::clamp(most / kWorthThreads * 4, std::int64_t{1},
                                         std::clamp(size, std::int64_t{1}, kMostRuns));
  const std::int64_t run = std::max((size + wanted - 1) / wanted, std::int64_t{1});
  const std::int64_t runs = (size + run - 1) / run;
  prepare(static_cast<std::size_t>(runs));
  const auto evaluate = [&](std::int64_t i) {
    Envelope domain(buffers, profile, Form::Both);
    Evaluator<Envelope> evaluator(program, domain);
    evaluator.run(i * run, std::min((i + 1) * run, size),
                  [&](std::int64_t first, const LegalBlock& block) {
                    sink(static_cast<std::size_t>(i), first, block);
                  });
  };
  if (runs > 1 && threads.count() > 1) return threads.each(runs, evaluate);
  for (std::int64_t i = 0; i < runs; ++i) evaluate(i);
}

}  // namespace touchstone::interp

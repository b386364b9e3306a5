#include <algorithm>
#include <cmath>

#include "../support/draws.h"
#include "backend.h"
#include "experiment.h"
#include "tolerance.h"
#include "touchstone/fuzz/judge/kernel_case.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/interp/oracle/envelope.h"

namespace touchstone::power {
namespace {

using namespace detail;

enum class Chain : std::uint8_t { Sum, Dot, MulAdd, MulAcc, SumOfPowers, Norm };
constexpr Chain kChains[] = {Chain::Sum,    Chain::Dot,         Chain::MulAdd,
                             Chain::MulAcc, Chain::SumOfPowers, Chain::Norm};

bool is_map(Chain c) { return c == Chain::MulAdd || c == Chain::MulAcc; }

LazyOpPtr kernel_of(Chain c, DType d, std::int64_t terms) {
  const ShapeTracker st = ShapeTracker::contiguous({kRows, terms});
  const LazyOpPtr x = LazyOp::load(1, d, st), y = LazyOp::load(2, d, st);
  const auto sum = [](const LazyOpPtr& v) { return LazyOp::reduce(Op::ReduceSum, v, {1}); };
  LazyOpPtr value;
  switch (c) {
    case Chain::Sum: value = sum(x); break;
    case Chain::Dot: value = sum(LazyOp::binary(Op::Mul, x, y)); break;
    case Chain::MulAdd:
      value = LazyOp::binary(Op::Add, LazyOp::binary(Op::Mul, x, y), LazyOp::load(3, d, st));
      break;
    case Chain::MulAcc: value = LazyOp::ternary(Op::MulAcc, x, y, LazyOp::load(3, d, st)); break;
    case Chain::SumOfPowers:
      value = sum(LazyOp::binary(Op::Mul, LazyOp::unary(Op::Exp2, x), y));
      break;
    case Chain::Norm:
      value = LazyOp::unary(Op::Recip, LazyOp::unary(Op::Sqrt, sum(LazyOp::binary(Op::Mul, x, x))));
      break;
  }
  return LazyOp::store(ShapeTracker::contiguous(value->shape()), value);
}

// One way to run a chain.
struct Way {
  int order;     // 0 in sequence, 1 shuffled, 2 a random tree, 3 lanes, 4 halves, 5 blocks
  int width;     // of lanes and blocks
  int products;  // 0 rounded to T, 1 in the accumulator's type, 2 fused if in sequence
  bool wide;     // accumulators of double
  test::Draws random;

  Way(std::uint64_t seed, std::uint64_t index) : random(seed, index) {
    order = random.index(6);
    width = 2 << random.index(6);
    products = random.index(3);
    wide = random.chance(1, 4);
  }
};

template <class T>
class Run {
 public:
  Run(Chain chain, std::span<const HostArray> inputs, std::int64_t terms)
      : chain_(chain), x_(data<T>(inputs[0])), terms_(terms) {
    y_ = inputs.size() > 1 ? data<T>(inputs[1]) : x_;
    z_ = inputs.size() > 2 ? data<T>(inputs[2]) : x_;
    if (chain == Chain::Norm) y_ = x_;
  }

  std::vector<T> results(Way& way) {
    std::vector<T> out;
    if (is_map(chain_)) {
      for (std::int64_t i = 0; i < kRows * terms_; ++i)
        out.push_back(way.products == 2 ? scalar::fma(x_[i], y_[i], z_[i])
                                        : scalar::mulacc(x_[i], y_[i], z_[i]));
      return out;
    }
    for (std::int64_t row = 0; row < kRows; ++row) {
      const T sum =
          way.wide ? row_sum<double>(way, row) : row_sum<scalar::detail::Computing<T>>(way, row);
      out.push_back(chain_ == Chain::Norm ? scalar::recip(scalar::sqrt(sum)) : sum);
    }
    return out;
  }

 private:
  struct Pair {
    T x, y;
  };

  T power(T x, Way& way) {
    const T right = scalar::exp2(x);
    if (interp::is_nan_value(right) || interp::is_infinite(right) || interp::is_zero_value(right) ||
        interp::is_infinite(x))
      return right;
    const std::int64_t off = way.random.index(3) - 1;
    const T moved = interp::from_order_key<T>(interp::order_key(right) + off);
    return interp::order_key(moved) < 0 ? right : moved;
  }

  template <class A>
  T row_sum(Way& way, std::int64_t row) {
    pairs_.clear();
    for (std::int64_t i = row * terms_; i < (row + 1) * terms_; ++i)
      pairs_.push_back({chain_ == Chain::SumOfPowers ? power(x_[i], way) : x_[i], y_[i]});
    if (way.order != 0) way.random.shuffle(pairs_);
    const bool fuses =
        way.products == 2 && chain_ != Chain::Sum && way.order != 2 && way.order != 4;
    const auto n = pairs_.size();
    if (fuses) {
      const std::size_t lanes = way.order == 3 ? static_cast<std::size_t>(way.width) : 1;
      std::vector<A> partial(std::min(lanes, n));
      for (std::size_t i = 0; i < n; ++i)
        partial[i % partial.size()] = scalar::fma(convert<A>(pairs_[i].x), convert<A>(pairs_[i].y),
                                                  partial[i % partial.size()]);
      return convert<T>(added(partial));
    }
    std::vector<A> values;
    for (const Pair& p : pairs_) values.push_back(term<A>(p, way));
    return convert<T>(reduced(std::move(values), way));
  }

  template <class A>
  A term(const Pair& p, const Way& way) const {
    if (chain_ == Chain::Sum) return convert<A>(p.x);
    return way.products == 0 ? convert<A>(scalar::mul(p.x, p.y))
                             : scalar::mul(convert<A>(p.x), convert<A>(p.y));
  }

  template <class A>
  static A added(std::span<const A> v) {
    A sum{};
    for (const A a : v) sum = scalar::add(sum, a);
    return sum;
  }
  template <class A>
  static A added(const std::vector<A>& v) {
    return added(std::span<const A>(v));
  }
  template <class A>
  static A halves(std::span<const A> v) {
    if (v.size() <= 4) return added(v);
    return scalar::add(halves(v.first(v.size() / 2)), halves(v.subspan(v.size() / 2)));
  }

  template <class A>
  static A reduced(std::vector<A> v, Way& way) {
    const auto width = static_cast<std::size_t>(way.width);
    std::vector<A> partial;
    switch (way.order) {
      case 2:
        while (v.size() > 1) {
          const auto i = way.random.below(v.size());
          std::swap(v[i], v.back());
          const A last = v.back();
          v.pop_back();
          A& other = v[way.random.below(v.size())];
          other = scalar::add(other, last);
        }
        return v[0];
      case 3:
        partial.resize(std::min(width, v.size()));
        for (std::size_t i = 0; i < v.size(); ++i)
          partial[i % partial.size()] = scalar::add(partial[i % partial.size()], v[i]);
        return added(partial);
      case 4: return halves(std::span<const A>(v));
      case 5:
        for (std::size_t i = 0; i < v.size(); i += width)
          partial.push_back(added(std::span<const A>(v).subspan(i, std::min(width, v.size() - i))));
        return added(partial);
      default: return added(v);
    }
  }

  Chain chain_;
  const T *x_, *y_, *z_;
  std::int64_t terms_;
  std::vector<Pair> pairs_;
};

template <class T>
void one_input(Chain chain, std::int64_t terms, fuzz::ValueFamily family, std::int64_t count,
               std::uint64_t seed, VariantCount& result) {
  const LazyOpPtr kernel = kernel_of(chain, dtype_v<T>, terms);
  fuzz::RandomChooser chooser(seed, static_cast<std::uint64_t>(family));
  const std::vector<HostArray> inputs = fuzz::draw_inputs(chooser, family, kernel);
  const std::unique_ptr<Device> device = make_interpreted_device("TRUTH");
  const std::vector<BufferPtr> buffers = fuzz::make_buffers({kernel, inputs}, *device);
  std::vector<Buffer*> raw;
  for (const BufferPtr& b : buffers) raw.push_back(b.get());
  run_kernel(*device, kernel, raw);
  const std::vector<T> truth = buffers[0]->template read<T>();
  std::vector<interp::Legal<T>> legal;
  interp::legal_results(kernel, raw, Profile(), {}, [&](std::int64_t, const interp::LegalBlock& b) {
    for (std::int64_t i = 0; i < b.count(); ++i) legal.push_back(b.get<T>(i));
  });
  Run<T> run(chain, inputs, terms);
  const auto bytes = [](const std::vector<T>& v) {
    return std::span(reinterpret_cast<const std::uint8_t*>(v.data()), v.size() * sizeof(T));
  };
  for (std::int64_t k = 0; k < count; ++k) {
    Way way(seed * 1000003, static_cast<std::uint64_t>(k));
    const std::vector<T> got = run.results(way);
    ++result.variants;
    if (!accepts(tolerance(Practice::Torch, dtype_v<T>), dtype_v<T>, bytes(truth), bytes(got)))
      ++result.torch_alarms;
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (legal[i].accepts(got[i])) continue;
      ++result.alarms;
      if (result.first_alarms.size() < 3)
        result.first_alarms.push_back(fmt::format(
            "chain {} {} {} terms, {}: order {} width {} products {} wide {}: {} not in [{}, {}]",
            static_cast<int>(chain), name(dtype_v<T>), terms, fuzz::name(family), way.order,
            way.width, way.products, way.wide, Scalar::of(got[i]).str(),
            Scalar::of(legal[i].lo).str(), Scalar::of(legal[i].hi).str()));
      break;
    }
  }
}

}  // namespace

VariantCount run_variants(DType dtype, std::int64_t terms, std::int64_t count, std::uint64_t seed) {
  VariantCount result;
  constexpr std::int64_t kAtOnce = 50;  // variants of one input
  for (std::int64_t done = 0, turn = 0; done < count; done += kAtOnce, ++turn) {
    const Chain chain = kChains[static_cast<std::size_t>(turn) % std::size(kChains)];
    const fuzz::ValueFamily family =
        kTurn[static_cast<std::size_t>(turn) / std::size(kChains) % std::size(kTurn)];
    with_storage(dtype, [&]<class T>(std::type_identity<T>) {
      if constexpr (is_float_storage<T>)
        one_input<T>(chain, terms, family, std::min(kAtOnce, count - done),
                     seed + static_cast<std::uint64_t>(turn), result);
    });
  }
  return result;
}

}  // namespace touchstone::power

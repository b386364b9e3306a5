#include "touchstone/interp/oracle/unrounded_products.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "touchstone/interp/device/long_vectors.h"
#include "touchstone/interp/oracle/radius.h"

namespace touchstone::interp {
namespace {

// `exact(i)` is true if p is exact; `made(x, y)` is the exact product.
template <class T, class Exact, class Made>
void mark_typed(const T* x, const T* y, LegalBlock& out, bool with_balls, Exact is_exact,
                Made made) {
  const T* p = out.lo.begin<T>();
  std::uint8_t any = 0;
  out.inexact.resize(static_cast<std::size_t>(out.count()));
  std::uint8_t* const inexact = out.inexact.data();
  in_longest_vectors([&any, is_exact, inexact, n = out.count()] {
    std::uint8_t all = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint8_t one = is_exact(i) ? 0 : 1;
      inexact[i] = one;
      all |= one;
    }
    any = all;
  });
  if (any == 0) out.inexact.clear();
  if (any == 0 || !with_balls) return;
  // Rounded or not: within the error of one rounding of the exact product.
  const ball::Unit unit(dtype_v<T>);
  const auto point = [](T v) {
    const auto value = static_cast<double>(scalar::detail::computing(v));
    return std::isfinite(value) ? Ball{value, 0} : Ball::unknown();
  };
  for (std::int64_t i = 0; i < out.count(); ++i) {
    out.balls.push_back(out.unrounded(i) ? ball::rounded(made(point(x[i]), point(y[i])), unit)
                                         : point(p[i]));
  }
}

class OneTerm : public LegalReducer {
 public:
  explicit OneTerm(std::unique_ptr<LegalReducer> inner) : inner_(std::move(inner)) {}

  std::unique_ptr<LegalReducer> clone() const override {
    return std::make_unique<OneTerm>(inner_->clone());
  }

  void feed(const LegalBlock& in, std::int64_t first, std::int64_t count) override {
    unrounded_ = unrounded_ || in.unrounded(first);
    inner_->feed(in, first, count);
  }
  void finish(LegalBlock& out, std::int64_t at) override {
    inner_->finish(out, at);
    if (!std::exchange(unrounded_, false)) return;
    with_storage(out.dtype(), [&]<class T>(std::type_identity<T>) {
      if constexpr (is_float_storage<T>) {
        const Legal<T> x = out.get<T>(at);
        out.set<T>(at, not_rounded(x));
      }
    });
  }

 private:
  std::unique_ptr<LegalReducer> inner_;
  bool unrounded_ = false;
};

}  // namespace

void mark_inexact(const LegalBlock& a, const LegalBlock& b, LegalBlock& out, bool with_balls) {
  with_storage(out.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (is_float_storage<T>) {
      const T *x = a.lo.begin<T>(), *y = b.lo.begin<T>(), *p = out.lo.begin<T>();
      mark_typed(
          x, y, out, with_balls,
          [=](std::int64_t i) {
            if constexpr (std::is_same_v<T, float>) {  // zeros, too
              const int finite = int{std::abs(x[i]) < HUGE_VALF} & int{std::abs(y[i]) < HUGE_VALF};
              return ((1 - finite) |
                      int{static_cast<double>(x[i]) * y[i] == static_cast<double>(p[i])}) != 0;
            } else {
              return legal::is_exact_product(x[i], y[i], p[i]);
            }
          },
          ball::mul);
    }
  });
}

void mark_doubled(const LegalBlock& a, LegalBlock& out, bool with_balls) {
  with_storage(out.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (is_float_storage<T>) {
      const T *x = a.lo.begin<T>(), *p = out.lo.begin<T>();
      const auto number = [](T v) { return static_cast<double>(scalar::detail::computing(v)); };
      mark_typed(
          x, x, out, with_balls,
          [=](std::int64_t i) {
            return !std::isfinite(number(x[i])) ||
                   (std::isfinite(number(p[i])) && number(p[i]) == 2 * number(x[i]));
          },
          ball::add);
    }
  });
}

void hand_on_inexact(const ProgramNode& node, std::span<const LegalBlock* const> in,
                     LegalBlock& out) {
  const auto from = [&](std::size_t i) -> const LegalBlock& {
    if (node.op != Op::Where) return *in[0];
    return in[0]->lo.begin<bool>()[i] ? *in[1] : *in[2];
  };
  const bool with_balls =
      std::ranges::any_of(in, [](const LegalBlock* b) { return !b->balls.empty(); });
  const auto count = static_cast<std::size_t>(out.count());
  out.inexact.resize(count);
  if (with_balls) out.balls.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    out.inexact[i] = from(i).unrounded(at) ? 1 : 0;
    if (!with_balls) continue;
    const Ball ball = with_storage(out.dtype(), [&]<class T>(std::type_identity<T>) {
      if constexpr (is_float_storage<T>)
        return ball_of<T>(from(i), at);
      else
        return Ball::unknown();
    });
    out.balls[i] = node.op == Op::Neg ? ball::neg(ball) : ball;
  }
}

void free_zeros(LegalBlock& block) {
  with_storage(block.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (is_float_storage<T>)
      for (std::int64_t i = 0; i < block.count(); ++i) {
        Legal<T> x = block.get<T>(i);
        if (x.any || !x.has_zero()) continue;
        if (is_zero_value(x.lo)) x.lo = scalar::neg(T{});
        if (is_zero_value(x.hi)) x.hi = T{};
        block.set<T>(i, x);
      }
  });
}

std::unique_ptr<LegalReducer> one_term(std::unique_ptr<LegalReducer> inner) {
  return std::make_unique<OneTerm>(std::move(inner));
}

}  // namespace touchstone::interp

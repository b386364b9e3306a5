#include "touchstone/fuzz/index/point_values.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "touchstone/symbolic/expr/grammar.h"
#include "touchstone/symbolic/expr/operators.h"

namespace touchstone::fuzz {
namespace {

using symbolic::ExprOp;
using symbolic::Int;

std::int64_t magnitude(std::int64_t value) { return value < 0 ? -value : value; }

template <class Of>
void each(std::span<std::int64_t> a, std::span<const std::int64_t> b, const Of& of) {
  for (std::size_t p = 0; p < a.size(); ++p) a[p] = of(a[p], b[p]);
}

/// The same for machine integers if the result fits; stored in a. Division by 0 acts as by 1.
template <class Word>
void put_quotient(ExprOp op, std::span<std::int64_t> a, std::span<const std::int64_t> b) {
  const auto put = [&](const auto& of) {
    each(a, b, [&](std::int64_t x, std::int64_t y) {
      const Word dividend = static_cast<Word>(x), divisor = y == 0 ? Word{1} : static_cast<Word>(y);
      return std::int64_t{of(dividend / divisor, dividend % divisor, divisor)};
    });
  };
  const auto past_floor = [](Word rest, Word divisor) {
    return rest != 0 && (rest < 0) != (divisor < 0);
  };
  switch (op) {
    case ExprOp::Div:
      return put([&](Word q, Word rest, Word y) { return past_floor(rest, y) ? q - 1 : q; });
    case ExprOp::Mod:
      return put([&](Word, Word rest, Word y) { return past_floor(rest, y) ? rest + y : rest; });
    case ExprOp::TruncDiv: return put([](Word q, Word, Word) { return q; });
    default: return put([](Word, Word rest, Word) { return rest; });
  }
}

void put_result(ExprOp op, std::span<std::int64_t> a, std::span<const std::int64_t> b) {
  using Number = std::int64_t;
  switch (op) {
    case ExprOp::Lt: return each(a, b, [](Number x, Number y) { return Number{x < y}; });
    case ExprOp::Gt: return each(a, b, [](Number x, Number y) { return Number{x > y}; });
    case ExprOp::Le: return each(a, b, [](Number x, Number y) { return Number{x <= y}; });
    case ExprOp::Ge: return each(a, b, [](Number x, Number y) { return Number{x >= y}; });
    case ExprOp::Eq: return each(a, b, [](Number x, Number y) { return Number{x == y}; });
    case ExprOp::Ne: return each(a, b, [](Number x, Number y) { return Number{x != y}; });
    case ExprOp::Add: return each(a, b, [](Number x, Number y) { return x + y; });
    case ExprOp::Sub: return each(a, b, [](Number x, Number y) { return x - y; });
    case ExprOp::Mul: return each(a, b, [](Number x, Number y) { return x * y; });
    case ExprOp::Min: return each(a, b, [](Number x, Number y) { return x < y ? x : y; });
    default: return each(a, b, [](Number x, Number y) { return x < y ? y : x; });
  }
}

}  // namespace

void Column::fill(std::size_t count, std::int64_t value) {
  count_ = count;
  numbers_.assign(count, value);
  wide_.clear();
  defined_.clear();
  most_ = magnitude(value);
}

void Column::clear(std::size_t count) { fill(count, 0); }

void Column::widen() {
  if (wide_.empty()) wide_.assign(numbers_.begin(), numbers_.end());
}

void Column::narrow() {
  for (const Int& value : wide_) {
    const std::optional<std::int64_t> small = value.small();
    if (!small || *small >= kMost || *small <= -kMost) return;
  }
  for (std::size_t p = 0; p < count_; ++p) numbers_[p] = *wide_[p].small();
  wide_.clear();
  measure();
}

void Column::measure() {
  most_ = 0;
  for (const std::int64_t n : numbers_) most_ = std::max(most_, magnitude(n));
}

void Column::leave_out(const Column& other) {
  if (other.defined_.empty()) return;
  if (defined_.empty()) {
    defined_ = other.defined_;
    return;
  }
  for (std::size_t p = 0; p < count_; ++p) defined_[p] &= other.defined_[p];
}

/// Computes during parsing: a value is its place on the stack, because operands are always the last
/// values.
class PointValues::Builder final : public symbolic::ExpressionBuilder {
 public:
  explicit Builder(PointValues& owner) : o_(owner) { o_.literals_.clear(); }

  Value constant(const Int& value) override {
    Column& c = push();
    if (const auto small = value.small(); small && *small<Column::kMost&& * small> - Column::kMost)
      c.fill(o_.points_, *small);
    else
      c.fill(o_.points_, 0), c.wide_.assign(o_.points_, value);
    o_.literals_.push_back({value.is_zero(), true});
    return last();
  }

  std::optional<Value> name(std::string_view name) override {
    for (std::size_t i = 0; i < o_.variables_known_; ++i)
      if (o_.names_[i] == name) {
        const Column& v = o_.variables_[i];
        push() = v;
        o_.literals_.push_back({});
        return last();
      }
    if (symbolic::is_reserved(name)) return std::nullopt;
    if (o_.unknown_.empty()) o_.unknown_ = name;
    Column& c = push();
    c.fill(o_.points_, 0);
    c.defined_.assign(o_.points_, 0);
    o_.literals_.push_back({});
    return last();
  }

  std::string known_names() const override { return "a variable may have any other name"; }
  bool is_zero(Value value) const override { return o_.literals_[value].zero; }

  Value apply(ExprOp op, std::span<const Value> args) override {
    const std::size_t first = depth_ - args.size();
    Column& a = o_.stack_[first];
    if (op == ExprOp::Not) {
      for (std::size_t p = 0; p < o_.points_; ++p) a.numbers_[p] = a.is_zero(p) ? 1 : 0;
      a.wide_.clear();
      a.most_ = 1;
    } else if (op == ExprOp::Neg) {
      for (std::int64_t& n : a.numbers_) n = -n;
      for (Int& n : a.wide_) n = -n;
      if (o_.literals_[first].literal) return static_cast<Value>(first);
    } else if (op == ExprOp::Where) {
      choose(a, o_.stack_[first + 1], o_.stack_[first + 2]);
    } else {
      for (std::size_t i = first + 1; i < depth_; ++i) binary(op, a, o_.stack_[i]);
    }
    return drop_to(first);
  }

  Value chain(std::span<const ExprOp> ops, std::span<const Value> /*values*/) override {
    const std::size_t first = depth_ - ops.size() - 1;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      Column& a = o_.stack_[first];
      Column& b = o_.stack_[first + 1 + i];
      if (ops[i] == ExprOp::And || ops[i] == ExprOp::Or)
        decide(ops[i] == ExprOp::Or, a, b);
      else
        binary(ops[i], a, b);
    }
    return drop_to(first);
  }

 private:
  Column& push() {
    if (depth_ == o_.stack_.size()) o_.stack_.emplace_back();
    return o_.stack_[depth_++];
  }
  Value last() const { return static_cast<Value>(depth_ - 1); }
  Value drop_to(std::size_t place) {
    depth_ = place + 1;
    o_.literals_.resize(depth_);
    o_.literals_[place] = {};
    return last();
  }

  static void binary(ExprOp op, Column& a, Column& b) {
    a.leave_out(b);
    if (symbolic::divides(op)) {
      for (std::size_t p = 0; p < a.count_; ++p) {
        if (!b.is_zero(p)) continue;
        if (a.defined_.empty()) a.defined_.assign(a.count_, 1);
        a.defined_[p] = 0;
      }
    }
    if (a.wide_.empty() && b.wide_.empty() && narrow(op, a, b)) return;
    a.widen();
    b.widen();
    for (std::size_t p = 0; p < a.count_; ++p)
      a.wide_[p] = a.defined(p) ? symbolic::value_of(op, a.wide_[p], b.wide_[p]) : Int(0);
    a.narrow();
  }

  /// True if the result is known to be small; it is then in a.
  static bool narrow(ExprOp op, Column& a, Column& b) {
    const std::span<const std::int64_t> by(b.numbers_);
    if (symbolic::divides(op)) {
      constexpr std::int64_t kHalf = std::numeric_limits<std::int32_t>::max();
      if (a.most_ <= kHalf && b.most_ <= kHalf)
        put_quotient<std::int32_t>(op, a.numbers_, by);  // several times as fast
      else
        put_quotient<std::int64_t>(op, a.numbers_, by);
      a.most_ = std::max(a.most_, b.most_);
      return true;
    }
    const auto reach = [&] {
      std::int64_t most = 0;
      switch (op) {
        case ExprOp::Add:
        case ExprOp::Sub: return a.most_ + b.most_;
        case ExprOp::Mul:
          return __builtin_mul_overflow(a.most_, b.most_, &most) ? Column::kMost : most;
        case ExprOp::Min:
        case ExprOp::Max: return std::max(a.most_, b.most_);
        default: return std::int64_t{1};
      }
    };
    if (reach() >= Column::kMost) {
      a.measure();
      b.measure();
    }
    const std::int64_t most = reach();
    if (most >= Column::kMost) return false;
    put_result(op, a.numbers_, by);
    a.most_ = most;
    return true;
  }

  static void decide(bool decisive, Column& a, const Column& b) {
    const bool everywhere = a.defined_.empty() && b.defined_.empty();
    if (!everywhere && a.defined_.empty()) a.defined_.assign(a.count_, 1);
    for (std::size_t p = 0; p < a.count_; ++p) {
      const bool defined_a = a.defined(p), defined_b = b.defined(p);
      const bool decided =
          (defined_a && a.is_zero(p) != decisive) || (defined_b && b.is_zero(p) != decisive);
      if (!everywhere) a.defined_[p] = decided || (defined_a && defined_b) ? 1 : 0;
      a.numbers_[p] = decided == decisive ? 1 : 0;
    }
    a.wide_.clear();
    a.most_ = 1;
  }

  static void choose(Column& a, Column& then, Column& other) {
    const bool everywhere = a.defined_.empty() && then.defined_.empty() && other.defined_.empty();
    if (!everywhere && a.defined_.empty()) a.defined_.assign(a.count_, 1);
    const bool wide = !then.wide_.empty() || !other.wide_.empty();
    if (wide) {
      then.widen();
      other.widen();
    }
    std::vector<Int> chosen(wide ? a.count_ : 0);
    for (std::size_t p = 0; p < a.count_; ++p) {
      const Column& arm = a.is_zero(p) ? other : then;
      if (!everywhere && !arm.defined(p)) a.defined_[p] = 0;
      if (wide)
        chosen[p] = arm.wide_[p];
      else
        a.numbers_[p] = arm.numbers_[p];
    }
    a.wide_ = std::move(chosen);
    a.most_ = std::max(then.most_, other.most_);
    if (wide) a.narrow();
  }

  PointValues& o_;
  std::size_t depth_ = 0;
};

void PointValues::begin(std::size_t points) {
  constexpr std::size_t kKept = 64;
  if (stack_.size() > kKept) stack_.resize(kKept);
  points_ = points;
  variables_known_ = 0;
  unknown_.clear();
}

Column& PointValues::add_variable(std::string_view name) {
  if (variables_known_ == variables_.size()) {
    variables_.emplace_back();
    names_.emplace_back();
  }
  names_[variables_known_] = name;
  Column& c = variables_[variables_known_++];
  c.clear(points_);
  return c;
}

const Column& PointValues::evaluate(std::string_view text, std::size_t from, std::size_t to) {
  Builder builder(*this);
  return stack_[symbolic::read_expression(text, builder, from, to)];
}

}  // namespace touchstone::fuzz

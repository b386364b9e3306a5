#include "touchstone/interp/oracle/unrounded.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "touchstone/interp/device/evaluator.h"
#include "touchstone/interp/device/gather.h"
#include "touchstone/interp/device/scalar_function.h"
#include "touchstone/interp/device/scalar_named.h"
#include "touchstone/ops/op_cases.h"

namespace touchstone::interp {
namespace {

// A run of elements under every hypothesis. W: the arithmetic, wider than the kernel's types.
template <class W>
struct Columns {
  // Elements are written after each resize; zeros before would touch all of their memory.
  struct Room : std::allocator<W> {
    template <class U>
    struct rebind {
      using other = Room;
    };
    void construct(W* at) { ::new (static_cast<void*>(at)) W; }
    void construct(W* at, const W& x) { ::new (static_cast<void*>(at)) W(x); }
  };
  using Column = std::vector<W, Room>;
  std::array<Column, kMostHypotheses> of;  // empty if equal to the first

  bool differs(std::size_t h) const { return !of[h].empty(); }
  const W* column(std::size_t h) const { return of[h].empty() ? of[0].data() : of[h].data(); }
};

// x without the low `drop` bits of its significand.
template <class T>
T without_low_bits(T x, int drop, bool rounds) {
  using Bits = scalar::detail::FloatBits<T>;
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (sizeof(T) * 8 - 1));
  const Bits bits = std::bit_cast<Bits>(x);
  const auto sign = static_cast<Bits>(bits & kSign);
  auto magnitude = static_cast<std::uint64_t>(bits & static_cast<Bits>(~kSign));
  const std::uint64_t unit = std::uint64_t{1} << drop;
  if (rounds) magnitude += unit / 2 - 1 + (magnitude / unit & 1);
  magnitude &= ~(unit - 1);
  return std::bit_cast<T>(static_cast<Bits>(sign | static_cast<Bits>(magnitude)));
}

template <class W>
W narrowed(W x, int digits) {
  const auto to = [&]<class T>(std::type_identity<T>) {
    return static_cast<W>(scalar::detail::computing(convert<T>(static_cast<double>(x))));
  };
  return digits == 8 ? to(std::type_identity<bfloat16>()) : to(std::type_identity<float16>());
}

template <class W>
class ColumnReducer {
 public:
  /// `of_products` is nullopt for sums that have no partial sums to round; `is_inner` sums of
  /// products are a stage.
  ColumnReducer(Op op, bool is_float, std::int64_t terms, std::optional<bool> of_products,
                bool is_inner, std::span<const Hypothesis> hypotheses, const SumRounding& rounding,
                std::vector<SumFacts>* facts)
      : hypotheses_(hypotheses),
        rounding_(rounding),
        facts_(facts),
        terms_(terms),
        sums_(op == Op::ReduceSum) {
    for (std::size_t h = 1; h < hypotheses.size(); ++h)
      rounds_[h] =
          of_products && terms >= hypotheses[h].least_terms &&
          (hypotheses[h].kind == Hypothesis::Kind::AllPartials ||
           (*of_products && (hypotheses[h].kind == Hypothesis::Kind::Partials ||
                             (!is_inner && hypotheses[h].kind == Hypothesis::Kind::LastPartials))));
    for (std::size_t h = 1; h < hypotheses.size(); ++h)
      stages_[h] = is_inner && (hypotheses[h].kind == Hypothesis::Kind::Stages ||
                                hypotheses[h].kind == Hypothesis::Kind::Scores);
    for (std::size_t h = 1; h < hypotheses.size() && sums_ && is_float; ++h) {
      const MissingTerms& m = hypotheses[h].missing;
      loses_[h] = m.count > 0 && m.count < terms && (m.of_length == 0 || m.of_length == terms);
      loses_any_ = loses_any_ || loses_[h];
    }
    start();
  }

  void feed(const Columns<W>& in, std::int64_t first, std::int64_t count) {
    if (count == 0) return;
    for (std::size_t h = 1; h < hypotheses_.size(); ++h) {
      if (in.differs(h) && !differs_[h]) {  // equal to the first until now
        results_[h] = results_[0];
        differs_[h] = true;
      }
      if (rounds_[h])
        add_rounding(h, in.column(h) + first, count);
      else if (differs_[h])
        add(results_[h], in.column(h) + first, count);
    }
    add(results_[0], in.column(0) + first, count);
    const W* x = in.column(0) + first;
    if (loses_any_) note_lost(in, first, count);
    seen_ += count;
    if (facts_ != nullptr) record(x, count);
  }

  void finish(Columns<W>& out, std::int64_t at) {
    const auto i = static_cast<std::size_t>(at);
    const W exact = value(results_[0]);
    if (facts_ != nullptr) facts_->push_back(facts(exact));
    for (std::size_t h = 0; h < hypotheses_.size(); ++h) {
      W result = differs_[h] ? value(results_[h]) : exact;
      if (rounds_[h] || stages_[h]) result = narrowed(result, hypotheses_[h].digits);
      // A sum that stagnates loses terms of up to u times a partial sum.
      constexpr double kBeyondStagnation = 16;
      if (loses_[h] && std::abs(static_cast<double>(lost_[h])) >=
                           kBeyondStagnation * static_cast<double>(hypotheses_[h].missing.count) *
                               rounding_.unit * static_cast<double>(magnitude_))
        result -= lost_[h];
      if (facts_ != nullptr && hypotheses_[h].kind == Hypothesis::Kind::Nudged)
        result += static_cast<W>(facts_->back().bias);
      out.of[h][i] = result;
    }
    start();
  }

 private:
  struct Sum {
    W high = 0, low = 0;
  };
  W value(const Sum& s) const { return s.high + s.low; }

  void start() {
    const W least = sums_ ? W{0} : -std::numeric_limits<W>::infinity();
    for (Sum& s : results_) s = {least, 0};
    differs_ = rounds_;
    seen_ = 0;
    lost_ = {};
    magnitude_ = 0;
    partial_ = 0;
    now_ = {};
    signed_partials_.clear();
  }

  // Adds those of the next terms that hypotheses leave out.
  void note_lost(const Columns<W>& in, std::int64_t first, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) magnitude_ += std::abs(in.column(0)[first + i]);
    for (std::size_t h = 1; h < hypotheses_.size(); ++h) {
      if (!loses_[h]) continue;
      const MissingTerms& m = hypotheses_[h].missing;
      const std::int64_t begin = m.first ? 0 : terms_ - m.count, end = m.first ? m.count : terms_;
      for (std::int64_t i = std::max(begin - seen_, std::int64_t{0});
           i < std::min(end - seen_, count); ++i)
        lost_[h] += in.column(h)[first + i];
    }
  }

  void add(Sum& s, const W* x, std::int64_t count) const {
    sums_ ? sum(s, x, count) : maximum(s, x, count);
  }
  // `low` is the sum of the terms since the last rounding.
  void add_rounding(std::size_t h, const W* x, std::int64_t count) {
    Sum& s = results_[h];
    for (std::int64_t i = 0; i < count; ++i) {
      s.low += x[i];
      if ((seen_ + i + 1) % hypotheses_[h].of != 0) continue;
      s = {narrowed(s.high + s.low, hypotheses_[h].digits), 0};
    }
  }
  // Compensates the error of each addition (Neumaier, "Rundungsfehleranalyse einiger Verfahren zur
  // Summation endlicher Summen", 1974).
  static void sum(Sum& s, const W* x, std::int64_t count) {
    W high = s.high, low = s.low;
    for (std::int64_t i = 0; i < count; ++i) {
      const W next = high + x[i];
      const W part = next - high;
      low += (high - (next - part)) + (x[i] - part);
      high = next;
    }
    s = {high, std::isfinite(low) ? low : W{0}};
  }
  static void maximum(Sum& s, const W* x, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) s.high = x[i] != x[i] ? x[i] : std::max(s.high, x[i]);
  }

  void record(const W* x, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto v = static_cast<double>(x[i]);
      now_.magnitude += std::abs(v);
      now_.squares += v * v;
      now_.terms += v != 0 ? 1 : 0;
      partial_ += v;
      now_.partials += std::abs(partial_);
      now_.energy += partial_ * partial_;
      now_.largest = std::max(now_.largest, std::abs(partial_));
      if (signed_partials_.size() < kKeptPartials) signed_partials_.push_back(partial_);
    }
  }

  SumFacts facts(W exact) const {
    SumFacts f = now_;
    const auto sum = static_cast<double>(exact), n = std::max(f.terms, 1.0);
    double from_last = 0, energy_from_last = 0;
    for (const double s : signed_partials_) {
      from_last += std::abs(sum - s);
      energy_from_last += (sum - s) * (sum - s);
    }
    // If the order is independent of the values, a partial sum of tn terms has mean tS and, drawn
    // without replacement, variance at most t(1 - t)n/(n - 1) sum v^2.
    double unknowing = 0, energy = 0;
    constexpr int kSteps = 16;
    for (int k = 0; k < kSteps; ++k) {
      const double t = (k + 0.5) / kSteps;
      const double square =
          t * t * sum * sum + t * (1 - t) * f.squares * (n / std::max(n - 1, 1.0));
      unknowing += std::sqrt(square) / kSteps * n;
      energy += square / kSteps * n;
    }
    f.partials = std::max({f.partials, from_last, unknowing});
    f.energy = std::max({f.energy, energy_from_last, energy});
    f.energy += f.squares;  // of the terms, where products are rounded
    // One rounding towards zero is off by u of the partial sum on average, at most; half of that is
    // added for orders with larger partial sums. Independent errors in any order, whose
    // partial sums are at most sum|v|/2, stay below this bias up to five standard deviations.
    f.bias = rounding_.unit * 1.5 * f.partials + rounding_.term * f.magnitude +
             rounding_.cut * (std::abs(sum) + 4 * std::sqrt(f.squares)) + rounding_.absolute * n;
    return f;
  }

  static constexpr std::size_t kKeptPartials = std::size_t{1} << 16;

  std::span<const Hypothesis> hypotheses_;
  SumRounding rounding_;
  std::vector<SumFacts>* facts_;
  std::int64_t terms_;
  bool sums_, loses_any_ = false;
  std::array<Sum, kMostHypotheses> results_;
  std::array<bool, kMostHypotheses> differs_{}, rounds_{}, stages_{}, loses_{};
  std::array<W, kMostHypotheses> lost_{};
  W magnitude_ = 0;
  std::int64_t seen_ = 0;
  double partial_ = 0;
  SumFacts now_;
  std::vector<double> signed_partials_;
};

template <class W>
class RealNumbers {
 public:
  using Block = Columns<W>;

  RealNumbers(const KernelProgram& program, std::span<Buffer* const> buffers,
              std::span<const Hypothesis> hypotheses, const SumRounding& rounding)
      : errors_before_cast(hypotheses.size()),
        buffers_(buffers),
        hypotheses_(hypotheses),
        rounding_(rounding),
        sum_(only_sum(program)) {
    for (const ProgramNode& node : program.regions[0].nodes) outer_.insert(&node);
    const std::vector<ProgramNode>& nodes = program.regions[0].nodes;
    const ProgramNode* last = &nodes.back();
    while (last->op == Op::Noop) last = &nodes[static_cast<std::size_t>(last->src[0])];
    if (last->op == Op::Cast && !last->bitcast) stored_ = last;
    for (const Region& region : program.regions) {
      products_.push_back(!region.nodes.empty() && region.nodes.back().op == Op::Mul);
      if (&region == program.regions.data()) continue;
      for (const ProgramNode& node : region.nodes)
        if (is_load(node.op)) summed_.insert(node.buffer);
      if (!products_.back()) continue;
      for (std::size_t k = 0; k < 2; ++k)
        if (is_computed(region.nodes, region.nodes.back().src[k]))
          factors_[&region.nodes.back()] |= static_cast<std::uint8_t>(1U << k);
    }
  }

  void load(const ProgramNode& node, std::span<const AddressRun> runs, std::int64_t count,
            Block& out) const {
    const Buffer& buffer = *buffers_[static_cast<std::size_t>(node.buffer)];
    check_runs(runs, buffer, node.buffer);
    const auto size = static_cast<std::size_t>(count);
    clear(out, size);
    with_storage(node.dtype, [&]<class T>(std::type_identity<T>) {
      const T* memory = static_cast<const T*>(buffer.memory());
      const auto read = [&](auto change, auto& to) {
        std::size_t i = 0;
        for (const AddressRun& run : runs)
          for (std::int64_t k = 0; k < run.count; ++k)
            to[i++] = run.valid() ? real(change(memory[run.at(k)])) : W{0};
      };
      read([](T x) { return x; }, out.of[0]);
      if constexpr (is_float_storage<T>) {
        if (!summed_.contains(node.buffer)) return;
        for (std::size_t h = 1; h < hypotheses_.size(); ++h) {
          const bool rounds = hypotheses_[h].kind == Hypothesis::Kind::Rounded;
          const int drop = info(dtype_v<T>).digits - hypotheses_[h].digits;
          if ((!rounds && hypotheses_[h].kind != Hypothesis::Kind::Truncated) || drop <= 0)
            continue;
          if (hypotheses_[h].of >= 0 && hypotheses_[h].of != node.buffer) continue;
          out.of[h].resize(size);
          read([&](T x) { return without_low_bits(x, drop, rounds); }, out.of[h]);
        }
      }
    });
  }

  void positions(const ProgramNode&, const Block& block, std::int64_t,
                 std::span<std::int64_t> out) const {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const W at = block.of[0][i];
      out[i] = at >= 0 && at < W{0x1p62} ? static_cast<std::int64_t>(at) : -1;
    }
  }

  void constant(const ProgramNode& node, std::span<const AddressRun> runs, std::int64_t count,
                Block& out) const {
    clear(out, static_cast<std::size_t>(count));
    const W value = with_storage(
        node.dtype, [&]<class T>(std::type_identity<T>) { return real(node.value.as<T>()); });
    auto to = out.of[0].begin();
    for (const AddressRun& run : runs) {
      std::fill(to, to + run.count, run.valid() ? value : W{0});
      to += run.count;
    }
  }

  void apply(const ProgramNode& node, std::span<const Block* const> operands, std::int64_t count,
             Block& out) {
    const auto size = static_cast<std::size_t>(count);
    clear(out, size);
    if (&node == stored_)
      for (std::size_t i = 0; i < size; ++i) {
        const W exact = operands[0]->of[0][i];
        before_cast.push_back(static_cast<double>(exact));
        for (std::size_t h = 1; h < hypotheses_.size(); ++h)
          if (hypotheses_[h].kind == Hypothesis::Kind::Missing)
            errors_before_cast[h].push_back(static_cast<double>(operands[0]->column(h)[i] - exact));
      }
    const bool is_exp = node.op == Op::Exp2 ||
                        (node.op == Op::Function && node.function.function == NamedFunction::Exp);
    const auto factors = factors_.find(&node);
    for (std::size_t h = 0; h < hypotheses_.size(); ++h) {
      const bool rounds = is_exp && hypotheses_[h].kind == Hypothesis::Kind::Exponentials;
      const std::uint8_t rounded =
          factors != factors_.end() && (hypotheses_[h].kind == Hypothesis::Kind::Weights ||
                                        hypotheses_[h].kind == Hypothesis::Kind::Stages)
              ? factors->second
              : std::uint8_t{0};
      if (h != 0 && !rounds && rounded == 0 &&
          std::ranges::none_of(operands, [&](const Block* b) { return b->differs(h); }))
        continue;
      std::array<const W*, 3> in{};
      std::array<std::vector<W>, 2> narrow;
      for (std::size_t k = 0; k < operands.size(); ++k) {
        in[k] = operands[k]->column(h);
        if (((rounded >> k) & 1U) == 0) continue;
        narrow[k].assign(in[k], in[k] + size);
        for (W& x : narrow[k]) x = narrowed(x, hypotheses_[h].digits);
        in[k] = narrow[k].data();
      }
      out.of[h].resize(size);
      apply_to(node, in, size, out.of[h].data());
      if (rounds)
        for (W& x : out.of[h]) x = narrowed(x, hypotheses_[h].digits);
    }
  }

  std::unique_ptr<ColumnReducer<W>> reducer(const ProgramNode& node) {
    std::optional<bool> of_products;
    const bool is_inner = node.op == Op::ReduceSum && is_float(node.dtype) &&
                          !outer_.contains(&node) &&
                          products_[static_cast<std::size_t>(node.region)];
    if (node.op == Op::ReduceSum && is_float(node.dtype))
      of_products = products_[static_cast<std::size_t>(node.region)];
    return std::make_unique<ColumnReducer<W>>(node.op, is_float(node.dtype), node.terms,
                                              of_products, is_inner, hypotheses_, rounding_,
                                              &node == sum_ ? &facts : nullptr);
  }

  void prepare(const ProgramNode&, std::int64_t count, Block& out) const {
    for (std::size_t h = 0; h < hypotheses_.size(); ++h)
      out.of[h].resize(static_cast<std::size_t>(count));
  }

  void repeat(const Block& from, const AddressRun& run, Block& out, std::int64_t at) const {
    for (std::size_t h = 0; h < hypotheses_.size(); ++h)
      for (std::int64_t k = 0; k < run.count; ++k)
        out.of[h][static_cast<std::size_t>(at + k)] =
            from.of[h][static_cast<std::size_t>(run.at(k))];
  }

  std::vector<SumFacts> facts;      // of the kernel's one sum, in the order of its results
  std::vector<double> before_cast;  // operands of the cast that ends the kernel
  std::vector<std::vector<double>> errors_before_cast;

 private:
  // True if a node is neither read nor a constant.
  static bool is_computed(const std::vector<ProgramNode>& nodes, int at) {
    const ProgramNode& node = nodes[static_cast<std::size_t>(at)];
    if (node.op == Op::Noop || (node.op == Op::Cast && !node.bitcast))
      return is_computed(nodes, node.src[0]);
    return !is_load(node.op) && node.op != Op::Const && is_float(node.dtype);
  }

  template <class T>
  static W real(T x) {
    return static_cast<W>(scalar::detail::computing(x));
  }

  void clear(Block& out, std::size_t count) const {
    out.of[0].resize(count);
    for (std::size_t h = 1; h < hypotheses_.size(); ++h) out.of[h].clear();
  }

  template <class F>
  static void each(std::size_t count, W* out, F f) {
    for (std::size_t i = 0; i < count; ++i) out[i] = f(i);
  }

  static void apply_to(const ProgramNode& node, const std::array<const W*, 3>& in,
                       std::size_t count, W* out) {
    const W *a = in[0], *b = in[1], *c = in[2];
    const bool is_integer = !is_float(node.src_dtypes.back());
    switch (node.op) {
      case Op::Noop: return each(count, out, [=](auto i) { return a[i]; });
      case Op::Neg:
        if (is_bool(node.dtype)) return each(count, out, [=](auto i) { return W{1} - a[i]; });
        return each(count, out, [=](auto i) { return -a[i]; });
      case Op::Add: return each(count, out, [=](auto i) { return a[i] + b[i]; });
      case Op::Sub: return each(count, out, [=](auto i) { return a[i] - b[i]; });
      case Op::Mul: return each(count, out, [=](auto i) { return a[i] * b[i]; });
      case Op::Div:
        if (is_integer) return each(count, out, [=](auto i) { return std::trunc(a[i] / b[i]); });
        return each(count, out, [=](auto i) { return a[i] / b[i]; });
      case Op::Mod: return each(count, out, [=](auto i) { return std::fmod(a[i], b[i]); });
      case Op::Max:
        return each(count, out, [=](auto i) { return a[i] != a[i] ? a[i] : std::max(b[i], a[i]); });
      case Op::CmpLt: return each(count, out, [=](auto i) { return a[i] < b[i] ? W{1} : W{0}; });
      case Op::CmpEq: return each(count, out, [=](auto i) { return a[i] == b[i] ? W{1} : W{0}; });
      case Op::MulAcc: return each(count, out, [=](auto i) { return a[i] * b[i] + c[i]; });
      case Op::Where: return each(count, out, [=](auto i) { return a[i] != 0 ? b[i] : c[i]; });
      case Op::Cast: return cast(node, a, count, out);
      case Op::Function: {
        const W* second = info(node.function.function).arity == 2 ? b : a;
        return each(count, out, [=, f = node.function.function](auto i) {
          return scalar::near_function(f, a[i], second[i]).value;
        });
      }
      case Op::Xor:
      TOUCHSTONE_CASES_FUNCTION:
      TOUCHSTONE_CASES_REDUCE:
      TOUCHSTONE_CASES_MOVEMENT:
      TOUCHSTONE_CASES_LOAD:
      TOUCHSTONE_CASES_BUFFER:
        break;
    }
    return function(node, a, count, out);
  }

  static void function(const ProgramNode& node, const W* a, std::size_t count, W* out) {
    switch (node.op) {
      case Op::Sqrt: return each(count, out, [=](auto i) { return std::sqrt(a[i]); });
      case Op::Recip: return each(count, out, [=](auto i) { return W{1} / a[i]; });
      case Op::Exp2: return each(count, out, [=](auto i) { return std::exp2(a[i]); });
      case Op::Log2: return each(count, out, [=](auto i) { return std::log2(a[i]); });
      case Op::Sin:
        return each(count, out, [=](auto i) { return std::sin(a[i]); });
      TOUCHSTONE_CASES_ARITHMETIC:
      TOUCHSTONE_CASES_COMPARISON:
      TOUCHSTONE_CASES_BEYOND_BINARY:
        break;
    }
    throw AstError(fmt::format("{} is not a function of real numbers", name(node.op)));
  }

  static void cast(const ProgramNode& node, const W* a, std::size_t count, W* out) {
    if (node.bitcast) throw AstError("the bits of a number are not a function of its value");
    with_storage(node.dtype, [&]<class T>(std::type_identity<T>) {
      const DType from = node.src_dtypes[0];
      const bool holds =
          is_float_storage<T> && is_float(from) && info(dtype_v<T>).digits >= info(from).digits;
      each(count, out,
           [=](auto i) { return holds ? a[i] : real(convert<T>(static_cast<double>(a[i]))); });
    });
  }

  std::span<Buffer* const> buffers_;
  std::span<const Hypothesis> hypotheses_;
  SumRounding rounding_;
  const ProgramNode* sum_;
  const ProgramNode* stored_ = nullptr;                 // a cast that ends the kernel
  std::set<const ProgramNode*> outer_;                  // of region 0
  std::vector<bool> products_;                          // regions whose elements are products
  std::map<const ProgramNode*, std::uint8_t> factors_;  // their computed operands
  std::set<int> summed_;
};

template <class W>
Unrounded evaluate(const KernelProgram& program, std::span<Buffer* const> buffers,
                   const Buffer& output, std::span<const ElementRun> runs,
                   std::span<const Hypothesis> hypotheses, const SumRounding& rounding) {
  RealNumbers<W> domain(program, buffers, hypotheses, rounding);
  Evaluator<RealNumbers<W>> evaluator(program, domain);
  Unrounded all;
  all.errors.resize(hypotheses.size());
  for (const ElementRun& run : runs)
    evaluator.run(run.first, run.last, [&](std::int64_t first, const Columns<W>& block) {
      const std::size_t count = block.of[0].size();
      with_storage(output.dtype(), [&]<class T>(std::type_identity<T>) {
        const T* memory = static_cast<const T*>(output.memory());
        for (std::size_t i = 0; i < count; ++i) {
          const std::int64_t at = first + static_cast<std::int64_t>(i);
          const W exact = block.of[0][i];
          all.elements.push_back(at);
          all.exact.push_back(static_cast<double>(exact));
          const auto got = static_cast<W>(scalar::detail::computing(memory[at]));
          all.candidate.push_back(static_cast<double>(got - exact));
          for (std::size_t h = 1; h < hypotheses.size(); ++h)
            all.errors[h].push_back(static_cast<double>(block.column(h)[i] - exact));
        }
      });
    });
  all.facts = std::move(domain.facts);
  const bool casts = !domain.before_cast.empty();
  all.before_cast = casts ? std::move(domain.before_cast) : all.exact;
  all.errors_before_cast = casts ? std::move(domain.errors_before_cast) : all.errors;
  return all;
}

}  // namespace

std::string Hypothesis::str() const {
  const auto narrow = [&] { return digits == 8 ? "bfloat16" : "float16"; };
  const std::string which = of < 0 ? "operands" : fmt::format("input {}", of);
  const auto type = [&] {
    return digits == 8    ? "bfloat16"
           : digits == 11 ? "TF32"
           : digits == 24 ? "float32"
                          : "fewer digits";
  };
  switch (kind) {
    case Kind::Missing: return missing.str();
    case Kind::Rounded: return fmt::format("{} rounded to {}", which, type());
    case Kind::Truncated: return fmt::format("{} truncated to {}", which, type());
    case Kind::Weights: return fmt::format("computed factors of sums rounded to {}", narrow());
    case Kind::Stages:
      return fmt::format("sums of products and computed factors rounded to {}", narrow());
    case Kind::Scores: return fmt::format("inner sums of products rounded to {}", narrow());
    case Kind::Exponentials: return fmt::format("exponentials rounded to {}", narrow());
    case Kind::Partials:
      return fmt::format("partial sums of products, each {} terms, in {}", of, narrow());
    case Kind::LastPartials:
      return fmt::format("partial sums of the last products, each {} terms, in {}", of, narrow());
    case Kind::AllPartials: return fmt::format("partial sums in {}", narrow());
    case Kind::Exact:
    case Kind::Nudged: break;
  }
  return "no fault";
}

const ProgramNode* only_sum(const KernelProgram& program) {
  const ProgramNode* sum = nullptr;
  for (const ProgramNode& node : program.regions[0].nodes) {
    switch (node.op) {
      case Op::ReduceSum:
        if (sum != nullptr || !is_float(node.dtype)) return nullptr;
        sum = &node;
        break;
      case Op::Load:
      case Op::Const:
      case Op::Noop:
      case Op::Neg:
      case Op::Add:
      case Op::Sub:
      case Op::Mul:
      case Op::Max:
      case Op::CmpLt:
      case Op::Where: break;
      case Op::Cast:
        if (is_float(node.dtype)) break;
        [[fallthrough]];
      case Op::Div:
      case Op::Mod:
      case Op::CmpEq:
      case Op::Xor:
      case Op::MulAcc:
      case Op::ReduceMax:
      case Op::Function:
      TOUCHSTONE_CASES_FUNCTION:
      TOUCHSTONE_CASES_MOVEMENT:
      TOUCHSTONE_CASES_LOAD:
      case Op::Gather:
      case Op::Store: return nullptr;
    }
  }
  if (sum == nullptr) return nullptr;
  const auto is_product_part = [](const ProgramNode& node) {
    return node.op == Op::Load || node.op == Op::Const || node.op == Op::Mul ||
           node.op == Op::Neg || node.op == Op::Noop || (node.op == Op::Cast && !node.bitcast);
  };
  const std::vector<ProgramNode>& terms =
      program.regions[static_cast<std::size_t>(sum->region)].nodes;
  return std::ranges::all_of(terms, is_product_part) ? sum : nullptr;
}

std::vector<std::vector<double>> exact_terms(const KernelProgram& program, const ProgramNode& sum,
                                             std::span<Buffer* const> buffers,
                                             std::span<const std::int64_t> elements) {
  const Hypothesis exact{};
  RealNumbers<double> domain(program, buffers, std::span(&exact, 1), {});
  Evaluator<RealNumbers<double>> evaluator(program, domain);
  // Collects terms through the reducer interface.
  struct Collector {
    std::vector<double> terms;
    void feed(const Columns<double>& in, std::int64_t first, std::int64_t count) {
      terms.insert(terms.end(), in.of[0].begin() + first, in.of[0].begin() + first + count);
    }
  };
  std::vector<std::vector<double>> all;
  for (const std::int64_t at : elements) {
    Collector collector;
    evaluator.feed(sum, collector, at * sum.terms, (at + 1) * sum.terms);
    all.push_back(std::move(collector.terms));
  }
  return all;
}

Unrounded evaluate_unrounded(const KernelProgram& program, std::span<Buffer* const> buffers,
                             const Buffer& output, std::span<const ElementRun> runs,
                             std::span<const Hypothesis> hypotheses, const SumRounding& rounding) {
  bool has_double = false;
  for (const Region& region : program.regions)
    for (const ProgramNode& node : region.nodes)
      has_double = has_double || node.dtype == DType::Float64;
  // Products of two floats of 24 digits are exact in double; those of doubles nearly so in 64
  // digits.
  return has_double ? evaluate<long double>(program, buffers, output, runs, hypotheses, rounding)
                    : evaluate<double>(program, buffers, output, runs, hypotheses, rounding);
}

std::optional<DType> type_of_sums_in_turn(const KernelProgram& program,
                                          std::span<Buffer* const> buffers, const Buffer& output) {
  constexpr std::int64_t kMostElements = 1024;
  constexpr double kNear = 0.25, kMostOfThem = 0.9, kFewest = 4;
  const auto in_turn = [](int digits) {
    return Hypothesis{
        .kind = Hypothesis::Kind::AllPartials, .digits = digits, .of = 1, .least_terms = 2};
  };
  const std::array<Hypothesis, 3> sums{Hypothesis{}, in_turn(8), in_turn(11)};
  const ElementRun run{0, std::min(program.regions[0].size, kMostElements)};
  const Unrounded u = evaluate_unrounded(program, buffers, output, {&run, 1}, sums, {});
  for (const std::size_t h : {1U, 2U}) {
    double of = 0, near = 0;
    for (std::size_t i = 0; i < u.elements.size(); ++i) {
      const double error = std::abs(u.candidate[i]);
      if (!std::isfinite(error) || error == 0) continue;
      of += 1;
      near += std::abs(u.candidate[i] - u.errors[h][i]) <= kNear * error ? 1 : 0;
    }
    if (of >= kFewest && near >= kMostOfThem * of) return h == 1 ? DType::BFloat16 : DType::Float16;
  }
  return std::nullopt;
}

}  // namespace touchstone::interp

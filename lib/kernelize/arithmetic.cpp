// Arithmetic identities that are exact for all operands.
#include <cmath>

#include "touchstone/kernelize/rules.h"
#include "touchstone/ops/fold.h"
#include "touchstone/uop/graph_op.h"

namespace touchstone::kernelize {
namespace {

bool floats(const UOp& u) { return is_float(u.dtype().base); }

UOp x_of(const Match& m) { return m[0]; }

// Operands of the examples: buffers of some type.
UOp one_of(DType d) { return UOp::new_buffer(UOp::device("HOST"), 4, d); }

const std::vector<DType> kIntegers = {DType::Int8,  DType::UInt8,  DType::Int16, DType::UInt16,
                                      DType::Int32, DType::UInt32, DType::Int64, DType::UInt64};
std::vector<DType> exact() {
  std::vector<DType> all = kIntegers;
  all.push_back(DType::Bool);
  return all;
}

RuleExample two(DType d, GraphOp op, double c, const char* gives) {
  const UOp x = one_of(d), made = x.alu(op, {x.const_like(c)});
  if (std::string_view(gives) == "x") return {made, x};
  if (std::string_view(gives) == "c") return {made, x.const_like(c)};
  return {made, {}};
}

UOp fold_constants(const Match& m) {
  const UOp& u = m.root();
  std::vector<Scalar> values;
  for (const UOp& s : u.src()) {
    if (s.op() != GraphOp::Const || (!s.src().empty() && s.tracker().masked())) return {};
    values.push_back(s.value());
  }
  if (u.op() == GraphOp::CmpNe) {
    const auto equal = fold(Op::CmpEq, values);
    return equal ? u.const_like(Scalar::of(equal->bits() == 0)) : UOp();
  }
  const std::optional<Op> op = info(u.op()).kernel;
  if (!op) return {};
  const auto value = fold(*op, values);
  return value && value->dtype() == u.dtype().base ? u.const_like(*value) : UOp();
}

UOp fold_cast(const Match& m) {
  const UOp &u = m.root(), &c = m[0];
  if (!c.src().empty() && c.tracker().masked()) return {};
  const DType to = u.dtype().base;
  if (u.op() == GraphOp::Bitcast) {
    if (itemsize(to) != itemsize(c.dtype().base) || is_bool(to)) return {};
    return u.const_like(bitcast(c.value(), to));
  }
  const Scalar value = convert(c.value(), to);
  return value.is_nan() ? UOp() : u.const_like(value);
}

std::uint64_t bits_of(const UOp& c) { return c.value().bits(); }
std::uint64_t width_mask(DType d) {
  return itemsize(d) == 8 ? ~0ULL : (std::uint64_t{1} << 8 * itemsize(d)) - 1;
}

// (x // c) * d + (x % c) * e, where c * e = d.
UOp recombined(const Match& m) {
  const UOp &x = m[0], &c = m[1], &d = m[2], &e = m[3];
  const std::uint64_t all = width_mask(x.dtype().base);
  if (bits_of(c) == 0 || ((bits_of(c) * bits_of(e)) & all) != bits_of(d)) return {};
  return x.alu(GraphOp::Mul, {e});
}
UOp recombined_plain(const Match& m) { return bits_of(m[1]) == 0 ? UOp() : m[0]; }

UOp raised(const UOp& x, std::int64_t n) {
  UOp power, square = x;
  for (; n > 0; n /= 2) {
    if (n % 2 == 1) power = power ? power.alu(GraphOp::Mul, {square}) : square;
    if (n > 1) square = square.alu(GraphOp::Mul, {square});
  }
  return power;
}

// POW has no kernel op; expands it.
UOp power_of(const Match& m) {
  const UOp &x = m[0], &c = m[1];
  const double n = c.value().to_double();
  if (n == 0) return m.root().const_like(1.0);
  if (n < 0) return floats(x) ? x.alu(GraphOp::Recip).alu(GraphOp::Pow, {c.const_like(-n)}) : UOp();
  if (n > 0x1p20) return {};
  if (std::floor(n) == n) return raised(x, static_cast<std::int64_t>(n));
  if (std::floor(2 * n) == 2 * n)
    return x.alu(GraphOp::Pow, {c.const_like(n - 0.5)}).alu(GraphOp::Mul, {x.alu(GraphOp::Sqrt)});
  return {};
}
UOp power_to(const Match& m) {
  const UOp &c = m[0], &x = m[1];
  const double base = c.value().to_double();
  if (base == 1) return m.root().const_like(1.0);
  if (!(base > 0) || !floats(x)) return {};
  return x.alu(GraphOp::Mul, {x.const_like(std::log2(base))}).alu(GraphOp::Exp2);
}

// The rule of a law.
RewriteRule rule_of(const Law& law) {
  std::vector<DType> types;
  for (const DTypeInfo& row : dtype_table)
    if (law.of(row.dtype) && takes(law.op, row.dtype)) types.push_back(row.dtype);
  OpSet ops;
  for (const bool floats : {false, true}) ops.add(*graph_op_of(law.op, floats));
  const UPat x = UPat::var("x").of_type(types);
  const bool same = law.second == Law::Second::Same;
  std::vector<UPat> of{x, same ? x : UPat::cvar("c")};
  if (law.turned) std::swap(of[0], of[1]);
  const UPat both(ops);
  const auto applied = [law](const UOp& root, const UOp& first, const UOp& second) {
    return law.gives == Law::Gives::First    ? first
           : law.gives == Law::Gives::Second ? second
                                             : root.const_like(law.result(first.dtype().base));
  };
  return {std::string(law.name), info(law.op).commutes ? both.over_any_order(of) : both.over(of),
          [law, same, applied](const Match& m) {
            if (same) return applied(m.root(), m[0], m[0]);
            const UOp &x = m[law.turned ? 1 : 0], &c = m[law.turned ? 0 : 1];
            return c.value() == law.constant(x.dtype().base) ? applied(m.root(), x, c) : UOp();
          },
          std::string(law.why),
          [law, same, applied] {
            Examples examples;
            for (const DType d : {DType::Float32, DType::Int32, DType::Bool}) {
              if (!takes(law.op, d)) continue;
              const UOp y = one_of(d), z = same ? y : y.const_like(law.constant(d));
              const GraphOp op = *graph_op_of(law.op, is_float(d));
              const UOp before = law.turned ? z.alu(op, {y}) : y.alu(op, {z});
              examples.push_back({before, law.of(d) ? applied(before, y, z) : UOp()});
            }
            return examples;
          }};
}

std::vector<RewriteRule> by_laws() {
  std::vector<RewriteRule> rules;
  for (const Law& law : laws()) rules.push_back(rule_of(law));
  return rules;
}

std::vector<RewriteRule> identities() {
  const UPat x = UPat::var("x"), y = UPat::var("y");
  const std::vector<DType> ints = kIntegers, all = exact();
  return {
      {"x // -1 -> -x", alu(GraphOp::Idiv, {x, UPat::number(-1)}),
       [](const Match& m) { return m[0].alu(GraphOp::Neg); }, "the least integer wraps either way",
       [] {
         const UOp y = one_of(DType::Int32);
         return Examples{{y.alu(GraphOp::Idiv, {y.const_like(-1.0)}), y.alu(GraphOp::Neg)},
                         two(DType::Int32, GraphOp::Idiv, -2, "")};
       }},
      {"x op x -> x", UPat(OpSet{GraphOp::And, GraphOp::Or}).over({x, x}), x_of,
       "the operands are equal",
       [] {
         const UOp i = one_of(DType::Int32);
         return Examples{{i.alu(GraphOp::And, {i}), i},
                         {i.alu(GraphOp::Or, {one_of(DType::Int32)}), {}}};
       }},
      {"x != x -> false", UPat(GraphOp::CmpNe).over({x.of_type(all), x}),
       [](const Match& m) { return m.root().const_like(Scalar::of(false)); },
       "of integers and truths; NaN differs from itself",
       [] {
         const UOp i = one_of(DType::Int32), f = one_of(DType::Float32),
                   ne = i.alu(GraphOp::CmpNe, {i});
         return Examples{{ne, ne.const_like(Scalar::of(false))}, {f.alu(GraphOp::CmpNe, {f}), {}}};
       }},
      {"(x % y) % y -> x % y",
       alu(GraphOp::Mod, {alu(GraphOp::Mod, {x, y}).named("m"), y}).of_type(ints), x_of,
       "a remainder by the same divisor is unchanged",
       [] {
         const UOp i = one_of(DType::Int32), j = one_of(DType::Int32), k = i.alu(GraphOp::Mod, {j});
         return Examples{{k.alu(GraphOp::Mod, {j}), k}, {k.alu(GraphOp::Mod, {i}), {}}};
       }},
      {"-(-x) -> x", UPat(GraphOp::Neg).over({UPat(GraphOp::Neg).over({x})}), x_of,
       "the sign comes back",
       [] {
         const UOp f = one_of(DType::Float32);
         return Examples{{f.alu(GraphOp::Neg).alu(GraphOp::Neg), f}};
       }},
      {"(x != true) != true -> x",
       alu(GraphOp::CmpNe,
           {alu(GraphOp::CmpNe, {x.of_type({DType::Bool}), UPat::number(1)}), UPat::number(1)}),
       x_of, "not not",
       [] {
         const UOp b = one_of(DType::Bool), t = b.const_like(Scalar::of(true));
         return Examples{{b.alu(GraphOp::CmpNe, {t}).alu(GraphOp::CmpNe, {t}), b}};
       }},
      {"x % c + (x // c) * c -> x",
       alu(GraphOp::Add,
           {alu(GraphOp::Mod, {x, UPat::cvar("c")}),
            alu(GraphOp::Mul, {alu(GraphOp::Idiv, {x, UPat::cvar("c")}), UPat::cvar("c")})})
           .of_type(ints),
       recombined_plain, "the definition of the remainder; c is not 0",
       [] {
         const UOp i = one_of(DType::Int32), c = i.const_like(3.0), d = i.const_like(4.0);
         const UOp q = i.alu(GraphOp::Idiv, {c}), r = i.alu(GraphOp::Mod, {c});
         return Examples{{r.alu(GraphOp::Add, {q.alu(GraphOp::Mul, {c})}), i},
                         {r.alu(GraphOp::Add, {q.alu(GraphOp::Mul, {d})}), {}}};
       }},
      {"(x // c) * d + (x % c) * e -> x * e, c * e = d",
       alu(GraphOp::Add,
           {alu(GraphOp::Mul, {alu(GraphOp::Idiv, {x, UPat::cvar("c")}), UPat::cvar("d")}),
            alu(GraphOp::Mul, {alu(GraphOp::Mod, {x, UPat::cvar("c")}), UPat::cvar("e")})})
           .of_type(ints),
       recombined, "the same, times e",
       [] {
         const UOp i = one_of(DType::Int32), c = i.const_like(3.0), e = i.const_like(5.0);
         const auto sum = [&](double d) {
           return i.alu(GraphOp::Idiv, {c})
               .alu(GraphOp::Mul, {i.const_like(d)})
               .alu(GraphOp::Add, {i.alu(GraphOp::Mod, {c}).alu(GraphOp::Mul, {e})});
         };
         return Examples{{sum(15), i.alu(GraphOp::Mul, {e})}, {sum(16), {}}};
       }},
  };
}

std::vector<RewriteRule> choices() {
  const UPat x = UPat::var("x"), y = UPat::var("y"), yes = UPat::number(1), no = UPat::number(0);
  const std::vector<DType> truths = {DType::Bool};
  return {
      {"bool with a constant",
       UPat(OpSet{GraphOp::And, GraphOp::Or}).over_any_order({x, UPat::cvar("c")}).of_type(truths),
       [](const Match& m) {
         return (m[1].value().bits() != 0) == (m.root().op() == GraphOp::And) ? m[0] : m[1];
       },
       "true is neutral for and, false for or; the other constant decides",
       [] {
         return Examples{two(DType::Bool, GraphOp::And, 1, "x"),
                         two(DType::Bool, GraphOp::Or, 1, "c"),
                         two(DType::Int8, GraphOp::Or, 1, "")};
       }},
      {"where(x, true, false) -> x", UPat(GraphOp::Where).over({x, yes, no}).of_type(truths), x_of,
       "the condition itself",
       [] {
         const UOp b = one_of(DType::Bool), t = b.const_like(Scalar::of(true)),
                   f = b.const_like(Scalar::of(false));
         return Examples{{b.alu(GraphOp::Where, {t, f}), b}, {b.alu(GraphOp::Where, {f, t}), {}}};
       }},
      {"where(c, x, y) of a constant", UPat(GraphOp::Where).over({UPat::cvar("c"), x, y}),
       [](const Match& m) {
         if (!m[0].src().empty() && m[0].tracker().masked()) return UOp();
         return m[0].value().bits() != 0 ? m[1] : m[2];
       },
       "one arm is never taken",
       [] {
         const UOp a = one_of(DType::Float32), b = one_of(DType::Float32), c = one_of(DType::Bool);
         return Examples{{c.const_like(Scalar::of(false)).alu(GraphOp::Where, {a, b}), b}};
       }},
      {"where(c, x, x) -> x", UPat(GraphOp::Where).over({UPat(), x, x}), x_of, "either arm",
       [] {
         const UOp a = one_of(DType::Float32), c = one_of(DType::Bool);
         return Examples{{c.alu(GraphOp::Where, {a, a}), a}};
       }},
      {"constants", UPat(elementwise_ops()), fold_constants,
       "one IEEE operation, rounded as the reference rounds; NaN results are left to the reference",
       [] {
         const UOp a = one_of(DType::Float32);
         const auto of = [&](double v) { return a.const_like(v); };
         return Examples{{of(2).alu(GraphOp::Add, {of(3)}), of(5)},
                         {of(2).alu(GraphOp::Exp2), {}},
                         {of(0).alu(GraphOp::Fdiv, {of(0)}), {}}};
       }},
      {"cast of a constant", UPat(OpSet{GraphOp::Cast, GraphOp::Bitcast}).over({UPat::cvar("c")}),
       fold_cast, "conversion of one element",
       [] {
         const UOp a = one_of(DType::Float32), c = a.const_like(2.5).cast(DType::Int32);
         return Examples{{c, c.const_like(2.0)}};
       }},
      {"cast to the own type", UPat(OpSet{GraphOp::Cast, GraphOp::Bitcast}).over({x}),
       [](const Match& m) { return m.root().dtype() == m[0].dtype() ? m[0] : UOp(); },
       "nothing changes",
       [] {
         const UOp a = one_of(DType::Float32);
         return Examples{{UOp::make(GraphOp::Cast, DType::Float32, {a}), a},
                         {a.cast(DType::Float64), {}}};
       }},
      {"x ^ c", UPat(GraphOp::Pow).over({x, UPat::cvar("c")}), power_of,
       "whole powers by squaring, halves with a root",
       [] {
         const UOp a = one_of(DType::Float32);
         return Examples{{a.alu(GraphOp::Pow, {a.const_like(2.0)}), a.alu(GraphOp::Mul, {a})},
                         {a.alu(GraphOp::Pow, {a.const_like(0.0)}), a.const_like(1.0)},
                         {a.alu(GraphOp::Pow, {a.const_like(0.3)}), {}}};
       }},
      {"c ^ x", UPat(GraphOp::Pow).over({UPat::cvar("c"), x}), power_to, "by logarithm",
       [] {
         const UOp a = one_of(DType::Float32), two = a.const_like(2.0);
         return Examples{{a.const_like(1.0).alu(GraphOp::Pow, {a}), a.const_like(1.0)},
                         {two.alu(GraphOp::Pow, {a}),
                          a.alu(GraphOp::Mul, {a.const_like(1.0)}).alu(GraphOp::Exp2)}};
       }},
  };
}

}  // namespace

PatternMatcher arithmetic() {
  return PatternMatcher(by_laws()) + PatternMatcher(identities()) + PatternMatcher(choices());
}

}  // namespace touchstone::kernelize

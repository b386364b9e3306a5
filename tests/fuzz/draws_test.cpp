// The frequency of each kind of kernel and program among 10,000 draws: kinds never drawn are never
// tested.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>

#include "../support/sanitized.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/fuzz/draw/draw_kernel.h"

namespace touchstone::fuzz {
namespace {

constexpr std::uint64_t kCases = test::kSanitized ? 2000 : 10'000;
constexpr int kSlack = test::kSanitized ? 2 : 1;  // shares vary more with few cases

template <class Case>
struct Kind {
  const char* what;
  int least;  // of 10,000
  std::function<bool(const Case&)> is;
};

template <class Case>
void expect_all(const std::vector<Kind<Case>>& kinds,
                const std::function<Case(Chooser& chooser)>& draw) {
  std::vector<int> times(kinds.size(), 0);
  for (std::uint64_t i = 0; i < kCases; ++i) {
    RandomChooser chooser(41, i);
    const Case c = draw(chooser);
    for (std::size_t k = 0; k < kinds.size(); ++k) times[k] += kinds[k].is(c) ? 1 : 0;
  }
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    EXPECT_GE(times[k] * 10'000 * kSlack, kinds[k].least * static_cast<int>(kCases))
        << kinds[k].what;
    if (std::getenv("TOUCHSTONE_TELL") != nullptr)
      std::printf("%6d  %s\n", times[k], kinds[k].what);
  }
}

bool any_node(const LazyOpPtr& kernel, const std::function<bool(const LazyOp&)>& is) {
  return std::ranges::any_of(toposort(kernel), [&](const LazyOpPtr& n) { return is(*n); });
}

const ShapeTracker* view_of(const LazyOp& n) {
  return is_load(n.op()) ? &n.buffer().st : n.op() == Op::Const ? &n.constant().st : nullptr;
}

bool masked_by_variable(const LazyOp& n, bool of_one_element) {
  const ShapeTracker* const st = view_of(n);
  if (st == nullptr) return false;
  for (const View& v : st->views())
    for (std::size_t i = 0; v.mask() && i < v.shape().size(); ++i) {
      const auto& [begin, end] = (*v.mask())[i];
      if (begin.is_int() && end.is_int()) continue;
      if (!of_one_element || v.shape()[i] == sint(1)) return true;
    }
  return false;
}

bool is_float8(DType d) { return d == DType::Float8E4M3 || d == DType::Float8E5M2; }

Scalar element(const HostArray& x, std::int64_t i) {
  const std::size_t width = itemsize(x.dtype);
  std::uint64_t bits = 0;
  std::memcpy(&bits, x.bytes.data() + static_cast<std::size_t>(i) * width, width);
  return Scalar::from_bits(x.dtype, bits);
}

bool is_finite(const Scalar& x) { return !is_float(x.dtype()) || std::isfinite(x.to_double()); }

bool reads_what_is_not_finite(const KernelCase& c, const LazyOp& n) {
  if (n.op() != Op::Load) return false;
  const HostArray& x = c.inputs[static_cast<std::size_t>(n.buffer().idx) - 1];
  if (!is_float(x.dtype)) return false;
  for (std::int64_t i = 0; i < x.size(); ++i)
    if (!is_finite(element(x, i))) return true;
  return false;
}

// An operation on a buffer and a constant.
bool beside_constant(const LazyOp& n, const std::function<bool(const LazyOp&)>& load) {
  if (!is_elementwise(n.op()) || n.src().size() != 2) return false;
  for (const int i : {0, 1})
    if (n.src()[static_cast<std::size_t>(i)]->op() == Op::Const &&
        load(*n.src()[static_cast<std::size_t>(1 - i)]))
      return true;
  return false;
}

bool reads(const LazyOpPtr& value, int buffer) {
  return any_node(value,
                  [=](const LazyOp& n) { return n.op() == Op::Load && n.buffer().idx == buffer; });
}

bool any_reduce(const LazyOpPtr& value) {
  return any_node(value, [](const LazyOp& n) { return is_reduce(n.op()); });
}

// An operation on a value and a reduce of the same value.
bool beside_its_reduce(const LazyOp& n) {
  if (!is_elementwise(n.op()) || n.src().size() != 2) return false;
  const auto &own = n.src()[0], &all = n.src()[1];
  return reads(own, 1) && !any_reduce(own) && reads(all, 1) && any_reduce(all);
}

// An operation on two reduces of one buffer, by rows and by columns.
bool of_rows_and_columns(const LazyOp& n) {
  if (!is_elementwise(n.op()) || n.src().size() != 2 || n.shape().size() != 4) return false;
  const auto still_along = [](const LazyOpPtr& reduce, std::size_t axis) {
    return is_reduce(reduce->op()) && any_node(reduce, [&](const LazyOp& load) {
             return load.op() == Op::Load && load.buffer().idx == 1 &&
                    load.buffer().st.views().back().strides()[axis] == sint(0);
           });
  };
  return still_along(n.src()[0], 0) && still_along(n.src()[1], 1);
}

// A reduce with a factor shared by all rows, whose terms are contiguous, or reversed, and whose
// lanes are strided: large enough to be packed in tiles that are transposed in registers.
bool of_turned_tiles(const LazyOp& n, std::int64_t apart) {
  if (!is_reduce(n.op()) || n.shape().size() != 3 || n.reduce_arg().axes != std::vector<int>{2})
    return false;
  return any_node(n.src()[0], [&](const LazyOp& load) {
    if (load.op() != Op::Load || itemsize(load.dtype()) != 4) return false;
    const View& v = load.buffer().st.views().back();
    const auto reaches = [](const sint& x, std::int64_t least) {
      return x.is_int() && std::abs(x.as_int()) >= least;
    };
    return reaches(v.shape()[0], 9) && reaches(v.shape()[1], 16) && reaches(v.shape()[2], 16) &&
           v.strides()[0] == sint(0) && reaches(v.strides()[1], 16) &&
           v.strides()[2] == sint(apart);
  });
}

std::size_t variables(const KernelCase& c) { return c.values.size(); }

TEST(Draws, KernelsAreOfEveryKind) {
  const auto node = [](auto is) {
    return [is](const KernelCase& c) { return any_node(c.kernel, is); };
  };
  const std::vector<Kind<KernelCase>> kinds = {
      {"one variable", 100, [](const KernelCase& c) { return variables(c) == 1; }},
      {"two variables", 100, [](const KernelCase& c) { return variables(c) == 2; }},
      {"three variables", 40, [](const KernelCase& c) { return variables(c) == 3; }},
      {"four variables", 10, [](const KernelCase& c) { return variables(c) == 4; }},
      {"a variable that is 0", 30,
       [](const KernelCase& c) {
         return std::ranges::any_of(c.values, [](const auto& v) { return v.second == 0; });
       }},
      {"a mask that is a variable", 50,
       node([](const LazyOp& n) { return masked_by_variable(n, false); })},
      {"such a mask of a size of 1", 10,
       node([](const LazyOp& n) { return masked_by_variable(n, true); })},
      {"a buffer with what is not finite, beside a constant", 50,
       [](const KernelCase& c) {
         return any_node(c.kernel, [&](const LazyOp& n) {
           return beside_constant(
               n, [&](const LazyOp& load) { return reads_what_is_not_finite(c, load); });
         });
       }},
      {"a constant that is not finite", 100,
       node([](const LazyOp& n) { return n.op() == Op::Const && !is_finite(n.constant().value); })},
      {"a value beside a reduce of its row", 100, node(beside_its_reduce)},
      {"reduces of rows and of columns", 20, node(of_rows_and_columns)},
      {"tiles that are turned in registers", 10,
       node([](const LazyOp& n) { return of_turned_tiles(n, 1); })},
      {"such tiles that lie backwards", 5,
       node([](const LazyOp& n) { return of_turned_tiles(n, -1); })},
      {"contractions as many as a variable says", 5,
       [](const KernelCase& c) {
         return c.values.contains("n") && any_node(c.kernel, [](const LazyOp& n) {
                  return is_reduce(n.op()) && n.shape().size() == 4 && !n.src()[0]->src().empty();
                });
       }},
      {"an axis of 250 and more", 20, node([](const LazyOp& n) {
         return std::ranges::any_of(
             n.shape(), [](const sint& size) { return size.is_int() && size.as_int() >= 250; });
       })},
      {"float8", 500, node([](const LazyOp& n) { return is_float8(n.dtype()); })},
      {"a sum of float8", 50,
       node([](const LazyOp& n) { return n.op() == Op::ReduceSum && is_float8(n.dtype()); })},
      {"a sum of products of float8", 10, node([](const LazyOp& n) {
         return n.op() == Op::ReduceSum && is_float8(n.dtype()) && n.src()[0]->op() == Op::Mul;
       })},
      {"windows into padded rows", 10, node([](const LazyOp& n) {
         return n.op() == Op::ReduceSum && n.reduce_arg().axes == std::vector<int>{3, 4} &&
                any_node(n.src()[0], [](const LazyOp& term) {
                  return term.op() == Op::Load && term.buffer().st.masked();
                });
       })},
      {"a contraction of float8", 5,
       [](const KernelCase& c) {
         return c.inputs.size() > 1 && any_node(c.kernel, [](const LazyOp& n) {
                  return is_reduce(n.op()) && is_float8(n.dtype()) && n.shape().size() == 3;
                });
       }},
      {"float8 at positions", 5,
       node([](const LazyOp& n) { return n.op() == Op::Gather && is_float8(n.dtype()); })},
      {"float8 cast to float8", 5, node([](const LazyOp& n) {
         return n.op() == Op::Cast && is_float8(n.dtype()) && is_float8(n.src()[0]->dtype());
       })},
  };
  expect_all<KernelCase>(kinds,
                         [](Chooser& chooser) { return draw_kernel_case(chooser, Checks::Drawn); });
}

// True if a matching statement reads the value of statement i.
bool read_by(const TensorProgram& p, const std::function<bool(const ProgramStep&)>& value,
             const std::function<bool(const ProgramStep&)>& reader) {
  for (const ProgramStep& s : p.steps)
    for (const int o : s.of)
      if (reader(s) && value(p.steps[static_cast<std::size_t>(o)])) return true;
  return false;
}

bool is_reduce_step(const ProgramStep& s) { return s.name.starts_with("reduce_"); }

bool has(const ProgramStep& input, const std::function<bool(const Scalar&)>& is) {
  if (!input.leaf()) return false;
  for (const std::string& v : input.values)
    if (is(Scalar::parse(input.dtype, v))) return true;
  return false;
}

bool is_elementwise_step(const ProgramStep& s) {
  return !s.leaf() && !is_movement(s.name) && !settles(s.name) && s.name != "gather" &&
         !s.name.ends_with("cast") && !is_reduce_step(s);
}

// A statement's value, looking through movement.
struct Seen {
  const ProgramStep* base;
  ShapeTracker view;
};
Seen seen_of(const TensorProgram& p, const std::vector<ProgramType>& types, std::size_t i) {
  const ProgramStep& s = p.steps[i];
  if (!is_movement(s.name))
    return {&s, ShapeTracker::contiguous(Shape(types[i].shape.begin(), types[i].shape.end()))};
  Seen below = seen_of(p, types, static_cast<std::size_t>(s.of[0]));
  return {below.base, apply(below.view, s.movement)};
}

bool any_seen(const TensorProgram& p,
              const std::function<bool(const ProgramStep& base, const ShapeTracker& view)>& is) {
  const std::vector<ProgramType> types = p.types();
  for (std::size_t i = 0; i < p.steps.size(); ++i)
    if (const Seen seen = seen_of(p, types, i); is(*seen.base, seen.view)) return true;
  return false;
}

// True if a statement's value depends on another's.
bool reads(const TensorProgram& p, int value, int of) {
  const ProgramStep& s = p.steps[static_cast<std::size_t>(value)];
  return value == of || std::ranges::any_of(s.of, [&](int i) { return reads(p, i, of); });
}

TEST(Draws, ProgramsAreOfEveryKind) {
  const auto named = [](const char* name) {
    return [name](const ProgramStep& s) { return s.name == name; };
  };
  const auto not_finite = [](const ProgramStep& s) {
    return s.name == "input" && has(s, [](const Scalar& x) { return !is_finite(x); });
  };
  const std::vector<Kind<TensorProgram>> kinds = {
      {"sizes of two kinds beyond 1", 500,
       [](const TensorProgram& p) {
         std::set<std::int64_t> sizes;
         for (const ProgramStep& s : p.steps)
           for (const std::int64_t size : s.shape)
             if (size > 1) sizes.insert(size);
         return sizes.size() > 1;
       }},
      {"a reduce of a copy", 50,
       [&](const TensorProgram& p) { return read_by(p, named("copy"), is_reduce_step); }},
      {"a copy of a reduce", 50,
       [&](const TensorProgram& p) { return read_by(p, is_reduce_step, named("copy")); }},
      {"a value of the other device", 200,
       [&](const TensorProgram& p) {
         return read_by(p, named("away"), [](const auto&) { return true; });
       }},
      {"what is not finite, beside a constant", 100,
       [&](const TensorProgram& p) {
         return std::ranges::any_of(p.steps, [&](const ProgramStep& s) {
           const auto of = [&](std::size_t i) -> const ProgramStep& {
             return p.steps[static_cast<std::size_t>(s.of[i])];
           };
           return s.of.size() == 2 && ((not_finite(of(0)) && of(1).name == "const") ||
                                       (not_finite(of(1)) && of(0).name == "const"));
         });
       }},
      {"what is not 0 of zeros, padded below another view", 50,
       [](const TensorProgram& p) {
         return any_seen(p, [](const ProgramStep& base, const ShapeTracker& st) {
           return is_elementwise_step(base) && !info(op_of(base.name)).keeps_zero && st.masked() &&
                  !st.views().back().mask();
         });
       }},
      {"the padded join of what is 0 of zeros and what is not", 20,
       [](const TensorProgram& p) {
         const auto computed = [&](int i, bool keeps_zero) {
           const ProgramStep& s = p.steps[static_cast<std::size_t>(i)];
           return is_elementwise_step(s) && info(op_of(s.name)).keeps_zero == keeps_zero;
         };
         return any_seen(p, [&](const ProgramStep& base, const ShapeTracker& st) {
           return st.masked() && is_elementwise_step(base) && base.of.size() == 2 &&
                  info(op_of(base.name)).keeps_zero && computed(base.of[0], true) &&
                  computed(base.of[1], false);
         });
       }},
      {"a reduce of a padded reduce", 50,
       [](const TensorProgram& p) {
         const std::vector<ProgramType> types = p.types();
         return std::ranges::any_of(p.steps, [&](const ProgramStep& s) {
           if (!is_reduce_step(s)) return false;
           const Seen seen = seen_of(p, types, static_cast<std::size_t>(s.of[0]));
           return is_reduce_step(*seen.base) && seen.view.masked();
         });
       }},
      {"what is computed, read by a reduce and beside it", 50,
       [](const TensorProgram& p) {
         return std::ranges::any_of(p.steps, [&](const ProgramStep& s) {
           const auto at = [&](int i) -> const ProgramStep& {
             return p.steps[static_cast<std::size_t>(i)];
           };
           for (std::size_t i = 0; is_elementwise_step(s) && s.of.size() == 2 && i < 2; ++i) {
             const ProgramStep& wide = at(s.of[i]);
             if (wide.name != "expand" || !is_reduce_step(at(wide.of[0]))) continue;
             const int read = at(wide.of[0]).of[0];
             if (read == s.of[1 - i] && is_elementwise_step(at(read))) return true;
           }
           return false;
         });
       }},
      {"a table that is written to after it was read", 20,
       [](const TensorProgram& p) {
         for (std::size_t i = 0; i < p.steps.size(); ++i)
           for (std::size_t k = i + 1; p.steps[i].name == "gather" && k < p.steps.size(); ++k)
             if (p.steps[k].name == "assign" && p.steps[k].of[0] == p.steps[i].of[0]) return true;
         return false;
       }},
      {"positions that are padded behind what computes them", 20,
       [](const TensorProgram& p) {
         return std::ranges::any_of(p.steps, [&](const ProgramStep& s) {
           if (s.name != "gather") return false;
           const ProgramStep& at = p.steps[static_cast<std::size_t>(s.of[1])];
           return at.name == "pad" && p.steps[static_cast<std::size_t>(at.of[0])].name == "cast";
         });
       }},
      {"two inputs that are assigned what is made of the other", 50,
       [](const TensorProgram& p) {
         for (const ProgramStep& a : p.steps)
           for (const ProgramStep& b : p.steps)
             if (a.name == "assign" && b.name == "assign" && a.of[0] != b.of[0] &&
                 reads(p, a.of[1], b.of[0]) && reads(p, b.of[1], a.of[0]))
               return true;
         return false;
       }},
      {"what is kept turned, beside itself", 20,
       [](const TensorProgram& p) {
         return std::ranges::any_of(p.steps, [&](const ProgramStep& s) {
           const auto at = [&](int i) -> const ProgramStep& {
             return p.steps[static_cast<std::size_t>(i)];
           };
           for (std::size_t i = 0; s.of.size() == 2 && i < 2; ++i) {
             const ProgramStep& kept = at(s.of[i]);
             if (kept.name != "contiguous" || !is_movement(at(kept.of[0]).name)) continue;
             if (at(kept.of[0]).of[0] == s.of[1 - i]) return true;
           }
           return false;
         });
       }},
      {"a sum of float8", 50,
       [](const TensorProgram& p) {
         const std::vector<ProgramType> types = p.types();
         for (std::size_t i = 0; i < types.size(); ++i)
           if (p.steps[i].name == "reduce_sum" && is_float8(types[i].dtype)) return true;
         return false;
       }},
  };
  expect_all<TensorProgram>(
      kinds, [](Chooser& chooser) { return TensorProgram::parse(draw_program(chooser, {})); });
}

}  // namespace
}  // namespace touchstone::fuzz

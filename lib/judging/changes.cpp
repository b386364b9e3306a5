#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>

#include "touchstone/define/definitions.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/interp/oracle/subkernel.h"
#include "touchstone/judging/cause.h"

namespace touchstone {
namespace {

constexpr int kMostDoublings = 8;           // of an error of 1 ULP
constexpr std::size_t kMostConstants = 12;  // places of constants that are changed
constexpr std::size_t kMostExchanges = 10;  // of two inputs
constexpr double kLargestEpsilon = 0.01;
constexpr double kUsualEpsilons[] = {0, 1e-3, 1e-5, 1e-6, 1e-8, 1e-12};
constexpr double kMostUlp = 8;  // of a function of a usual library
constexpr int kDepth = 4;       // of the operations around a constant

using interp::nodes_of;

bool has(const LazyOpPtr& kernel, const std::function<bool(const LazyOp&)>& property) {
  return std::ranges::any_of(nodes_of(kernel), [&](const LazyOpPtr& n) { return property(*n); });
}

bool is_below_float32(DType dtype) { return is_float(dtype) && itemsize(dtype) < 4; }

// Errors of the functions that the kernel uses.
void add_function_errors(const LazyOpPtr& kernel, const Profile& profile,
                         std::vector<Change>& changes) {
  const auto add = [&](std::string_view name, auto error_of) {
    for (int doublings = 0; doublings <= kMostDoublings; ++doublings) {
      const double ulp = std::ldexp(1.0, doublings);
      Profile changed = profile;
      FunctionError& error = error_of(changed);
      if (ulp <= error.ulp) continue;
      error.ulp = ulp;
      changes.push_back({.words = fmt::format("{} has errors of {} ULP", name, ulp),
                         .profile = changed,
                         .kernel = kernel,
                         .function = std::string(name),
                         .widens = true,
                         .is_unlikely = ulp > kMostUlp});
    }
  };
  const auto add_op = [&](Op op, auto error_of) {
    if (has(kernel, [&](const LazyOp& n) { return n.op() == op && is_float(n.dtype()); }))
      add(name(op), error_of);
  };
  add_op(Op::Exp2, [](Profile& p) -> FunctionError& { return p.exp2; });
  add_op(Op::Log2, [](Profile& p) -> FunctionError& { return p.log2; });
  add_op(Op::Sin, [](Profile& p) -> FunctionError& { return p.sin; });
  add_op(Op::Sqrt, [](Profile& p) -> FunctionError& { return p.sqrt; });
  add_op(Op::Recip, [](Profile& p) -> FunctionError& { return p.recip; });
  add_op(Op::Div, [](Profile& p) -> FunctionError& { return p.div; });
  std::set<NamedFunction> functions;
  for (const LazyOpPtr& n : nodes_of(kernel))
    if (const auto* f = std::get_if<FunctionArg>(&n->arg())) functions.insert(f->function);
  for (const NamedFunction f : functions)
    if (!info(f).exact)
      add(info(f).name, [&](Profile& p) -> FunctionError& { return p.error_of(f); });
}

LazyOpPtr rounded(const LazyOpPtr& x, DType narrow) {
  return LazyOp::cast(LazyOp::cast(x, narrow), x->dtype());
}

std::string name_of(std::size_t input, const Judging& judging) {
  return input <= judging.inputs.size() ? judging.inputs[input - 1].name
                                        : fmt::format("input {}", input);
}

// The arguments in a formula and the defaults of the definitions that it calls: ("eps", 1e-5).
std::vector<std::pair<std::string, double>> arguments_of(const Judging& judging) {
  std::vector<std::pair<std::string, double>> arguments;
  if (!has_formula(judging)) return arguments;
  std::string text = judging.definition;
  for (const std::string& name : define::parse(text, shapes_of(judging)).called)
    text += " " + define::definition(name).signature;
  for (std::size_t equals = 0; (equals = text.find('=', equals)) != std::string::npos; ++equals) {
    std::size_t begin = equals;
    while (begin > 0 && (text[begin - 1] == '_' ||
                         std::isalnum(static_cast<unsigned char>(text[begin - 1])) != 0))
      --begin;
    double value = 0;
    const char* const end = text.data() + text.size();
    if (std::from_chars(text.data() + equals + 1, end, value).ec == std::errc() && begin < equals)
      arguments.emplace_back(text.substr(begin, equals - begin), value);
  }
  return arguments;
}

// The numbers that a constant may have been taken for; several values of an epsilon.
std::vector<double> mistaken(const Scalar& constant) {
  const double value = constant.to_double();
  if (!std::isfinite(value) || value == 0) return {};
  const auto rounded = [&](double x) {
    return Scalar::from_double(constant.dtype(), x).to_double();
  };
  std::vector<double> others;
  if (std::abs(value) < kLargestEpsilon) others.push_back(0);
  if (std::ranges::find(kUsualEpsilons, value, rounded) != std::end(kUsualEpsilons))
    for (const double epsilon : std::span(kUsualEpsilons).subspan(1))
      if (rounded(epsilon) != value) others.push_back(epsilon);
  if (value >= 2 && value == std::floor(value)) others.insert(others.end(), {value - 1, value + 1});
  if (value != 1 && value != 2) others.push_back(1);
  return others;
}

// Operations down to some depth, which tell apart the places of a formula: a kernel repeats those
// whose value is read several times.
std::string signature(const LazyOp& node, int depth) {
  std::string text(name(node.op()));
  if (depth > 0)
    for (const LazyOpPtr& s : node.src()) text += fmt::format("({})", signature(*s, depth - 1));
  return text;
}

// "n - 1" of n terms.
std::string count_in_words(std::int64_t count, std::int64_t terms) {
  if (count == terms) return "n";
  return fmt::format("n {} {}", count < terms ? '-' : '+', std::abs(count - terms));
}

// 0 if a size is a variable.
std::int64_t terms_of(const LazyOp& reduce) {
  std::int64_t terms = 1;
  for (const int axis : reduce.reduce_arg().axes) {
    const sint& size = reduce.src()[0]->shape()[static_cast<std::size_t>(axis)];
    terms *= size.is_int() ? size.as_int() : 0;
  }
  return terms;
}

// What a changed operand of `user` means, in the words of the formula.
std::string words_of(const LazyOp& user, const Scalar& value, double other,
                     std::span<const std::pair<std::string, double>> arguments, bool is_divisor) {
  if (const double v = value.to_double(); v != std::floor(v))
    for (const auto& [name, given] : arguments)
      if (Scalar::from_double(value.dtype(), given).bits() == value.bits())
        return fmt::format("{} is {}", name, other);
  if (is_divisor) {
    const LazyOp* sum = user.src()[0].get();
    while (sum->op() == Op::Cast || sum->op() == Op::Noop) sum = sum->src()[0].get();
    const std::int64_t terms = sum->op() == Op::ReduceSum ? terms_of(*sum) : 0;
    if (terms > 0 && std::abs(value.to_double() - static_cast<double>(terms)) <= 1) {
      const auto divisor = static_cast<std::int64_t>(other);
      const LazyOp& term = *sum->src()[0];
      const bool is_square = term.op() == Op::Mul && same(term.src()[0], term.src()[1]);
      std::string words =
          fmt::format("the sum{} is divided by {} ({})", is_square ? " of squares" : "",
                      count_in_words(divisor, terms), divisor);
      if (is_square && std::ranges::find(arguments, "correction",
                                         &std::pair<std::string, double>::first) != arguments.end())
        words += fmt::format(", as with correction={}", terms - divisor);
      return words;
    }
  }
  return fmt::format("the {} {} is {}",
                     is_divisor             ? "divisor"
                     : user.op() == Op::Mul ? "factor"
                     : user.op() == Op::Add ? "summand"
                                            : "number",
                     value.to_double(), other);
}

// One constant changed, in one place of the formula.
void add_constants(
    const LazyOpPtr& kernel, const Judging& judging,
    const std::function<void(std::string, const LazyOpPtr&, const std::string&)>& add) {
  struct Place {
    Scalar value;
    std::string where;
    LazyOpPtr user = {};
    std::size_t operand = 0;
  };
  const auto place_of = [](const LazyOpPtr& user, std::size_t i) -> std::optional<Place> {
    const auto* c = std::get_if<ConstBuffer>(&user->src()[i]->arg());
    if (c == nullptr || user->op() == Op::Where || mistaken(c->value).empty()) return std::nullopt;
    return Place{c->value, fmt::format("{} {} {}", i, c->value.str(), signature(*user, kDepth)),
                 user, i};
  };
  std::vector<Place> places;
  for (const LazyOpPtr& user : nodes_of(kernel))
    for (std::size_t i = 0; i < user->src().size(); ++i)
      if (const auto place = place_of(user, i);
          place && places.size() < kMostConstants &&
          std::ranges::find(places, place->where, &Place::where) == places.end())
        places.push_back(*place);
  if (places.empty()) return;
  const std::vector<std::pair<std::string, double>> arguments = arguments_of(judging);
  for (const Place& place : places)
    for (const double other : mistaken(place.value)) {
      const Scalar instead = Scalar::from_double(place.value.dtype(), other);
      const auto changed = [&](const LazyOpPtr& node, std::vector<LazyOpPtr> src) {
        for (std::size_t i = 0; i < src.size(); ++i)
          if (const auto here = place_of(node, i); here && here->where == place.where)
            src[i] = LazyOp::constant(instead, std::get<ConstBuffer>(src[i]->arg()).st);
        return with_src(node, src);
      };
      add(words_of(*place.user, place.value, other, arguments,
                   place.user->op() == Op::Div && place.operand == 1),
          rebuild(kernel, changed), place.where);
    }
}

std::int64_t product_of(const define::Sizes& sizes, std::size_t begin, std::size_t end) {
  std::int64_t product = 1;
  for (std::size_t i = begin; i < end; ++i) product *= sizes[i];
  return product;
}

// Where an element of row-major order lies in the order whose first axis runs fastest.
std::int64_t column_major(std::int64_t flat, const define::Sizes& shape) {
  std::int64_t place = 0, stride = product_of(shape, 0, shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    stride /= shape[i];
    place += flat % shape[i] * stride;
    flat /= shape[i];
  }
  return place;
}

BufferPtr moved(const Buffer& from, const std::function<std::int64_t(std::int64_t)>& source) {
  static const std::unique_ptr<Device> host = make_interpreted_device();
  auto to = std::make_shared<Buffer>(*host, from.dtype(), from.size());
  const std::size_t width = itemsize(from.dtype());
  const auto* read = static_cast<const std::byte*>(from.memory());
  auto* write = static_cast<std::byte*>(to->memory());
  for (std::int64_t i = 0; i < from.size(); ++i)
    std::copy_n(read + static_cast<std::size_t>(source(i)) * width, width,
                write + static_cast<std::size_t>(i) * width);
  return to;
}

bool has_two_axes(const define::Sizes& shape) {
  return std::ranges::count_if(shape, [](std::int64_t size) { return size > 1; }) > 1;
}

}  // namespace

std::vector<Change> declarations(const LazyOpPtr& kernel, const Profile& profile) {
  std::vector<Change> changes;
  bool widens = false;
  const auto add = [&](std::string words, const std::function<void(Profile&)>& change) {
    Profile changed = profile;
    change(changed);
    if (changed != profile)
      changes.push_back(
          {.words = std::move(words), .profile = changed, .kernel = kernel, .widens = widens});
  };
  add("a zero may have either sign", [](Profile& p) { p.zeros_alike = true; });
  add("the larger of NaN and a number may be either", [](Profile& p) { p.max = MaxOfNan::Either; });
  add("subnormal results may be zero", [](Profile& p) { p.flushes_outputs = true; });
  add("subnormal operands and results may be zero",
      [](Profile& p) { p.flushes_inputs = p.flushes_outputs = true; });
  add("a product that is added may stay unrounded", [](Profile& p) { p.contracts = true; });
  add("a float outside an integer's range may give anything",
      [](Profile& p) { p.casts_saturate = false; });
  add("positions outside a table are clamped", [](Profile& p) { p.outside = Outside::Clamps; });
  if (has(kernel, [](const LazyOp& n) { return is_float(n.dtype()) && itemsize(n.dtype()) == 1; }))
    for (const auto& [mode, what] : {std::pair(Float8Overflow::Infinity, "infinity or NaN"),
                                     std::pair(Float8Overflow::Saturates, "the largest number")})
      add(fmt::format("8-bit floats overflow to {}", what), [&](Profile& p) { p.float8 = mode; });
  widens = true;
  add("sums, products and quotients may be rearranged, as by -ffast-math",
      [](Profile& p) { p.reassociates = true; });
  for (const DType wide : {DType::Float32, DType::Float64})
    if (!profile.excess || info(*profile.excess).digits < info(wide).digits)
      add(fmt::format("floats are computed in {} and rounded at the end", name(wide)),
          [&](Profile& p) { p.excess = wide; });
  add_function_errors(kernel, profile, changes);
  const auto unlikely_last = [&] {
    std::ranges::stable_partition(changes, [](const Change& c) { return !c.is_unlikely; });
  };
  if (!has(kernel,
           [](const LazyOp& n) { return n.op() == Op::ReduceSum && is_float(n.dtype()); })) {
    unlikely_last();
    return changes;
  }
  add("sums truncate", [](Profile& p) { p.truncates_sums = true; });
  add("the factors of products are rounded to TF32", [](Profile& p) { p.product_digits = 11; });
  add("the factors of products are rounded to TF32, and sums truncate", [](Profile& p) {
    p.product_digits = 11;
    p.truncates_sums = true;
  });
  add("the factors of products are rounded to bfloat16", [](Profile& p) { p.product_digits = 8; });
  std::vector<DType> narrow_types{DType::Float32};
  if (const DType own = kernel->dtype(); is_below_float32(own) && itemsize(own) > 1)
    narrow_types.push_back(own);
  else
    narrow_types.insert(narrow_types.end(), {DType::Float16, DType::BFloat16});
  for (const DType narrow : narrow_types) {
    if (profile.accumulator && info(narrow).digits >= info(*profile.accumulator).digits) continue;
    add(fmt::format("the accumulator is {}", name(narrow)),
        [&](Profile& p) { p.accumulator = narrow; });
    if (narrow != DType::Float32)
      add(fmt::format("terms are added in their order in {}", name(narrow)), [&](Profile& p) {
        p.accumulator = narrow;
        p.order = SumOrder::Sequential;
        p.excess.reset();
      });
  }
  if (has(kernel,
          [](const LazyOp& n) {
            return is_load(n.op()) && is_float(n.dtype()) && itemsize(n.dtype()) == 1;
          }) &&
      (profile.accumulator_digits == 0 || profile.accumulator_digits > 14))
    add("sums are cut to 14 bits, as in Hopper's matrix units", [](Profile& p) {
      p.accumulator_digits = 14;
      p.truncates_sums = true;
    });
  unlikely_last();
  return changes;
}

namespace {

// Functions as textbooks write them, whose digits cancel near 1 or 0.
struct Textbook {
  NamedFunction function;
  std::string_view formula;
  LazyOpPtr (*of)(const LazyOpPtr& x);
};

LazyOpPtr number(const LazyOpPtr& like, double value) {
  return LazyOp::constant(
      Scalar::from_double(like->dtype(), value),
      ShapeTracker::contiguous(Shape(like->shape().size(), sint(1))).expand(like->shape()));
}
LazyOpPtr call(NamedFunction f, const LazyOpPtr& x) {
  return LazyOp::make(Op::Function, {x}, FunctionArg{f});
}
LazyOpPtr product(const LazyOpPtr& x, const LazyOpPtr& y) { return LazyOp::binary(Op::Mul, x, y); }
LazyOpPtr sum(const LazyOpPtr& x, const LazyOpPtr& y) { return LazyOp::binary(Op::Add, x, y); }

constexpr Textbook kTextbooks[] = {
    {NamedFunction::Gelu, "x/2 * (1 + erf(x / sqrt(2)))",
     [](const LazyOpPtr& x) {
       const LazyOpPtr erf = call(NamedFunction::Erf, product(x, number(x, std::sqrt(0.5))));
       return product(product(x, number(x, 0.5)), sum(number(x, 1), erf));
     }},
    {NamedFunction::Expm1, "exp(x) - 1",
     [](const LazyOpPtr& x) { return sum(call(NamedFunction::Exp, x), number(x, -1)); }},
    {NamedFunction::Log1p, "log(1 + x)",
     [](const LazyOpPtr& x) { return call(NamedFunction::Log, sum(number(x, 1), x)); }},
};

}  // namespace

std::vector<Change> less_accurate_forms(const LazyOpPtr& kernel, const Judging& judging) {
  std::vector<Change> changes;
  for (const Textbook& textbook : kTextbooks) {
    const LazyOpPtr changed =
        rebuild(kernel, [&](const LazyOpPtr& n, const std::vector<LazyOpPtr>& src) {
          const auto* arg = std::get_if<FunctionArg>(&n->arg());
          return arg != nullptr && arg->function == textbook.function && !arg->or_last
                     ? textbook.of(src[0])
                     : with_src(n, src);
        });
    if (!same(changed, kernel))
      changes.push_back({.words = fmt::format("if {} is computed as {}",
                                              info(textbook.function).name, textbook.formula),
                         .profile = judging.profile,
                         .kernel = changed});
  }
  if (!has_formula(judging)) return changes;
  std::vector<Change> unrounded;  // forms with products that stay unrounded
  // All forms are legal by default, unless the profile names those that are.
  const bool names_forms = !judging.profile.forms.empty(), contracts = judging.profile.contracts;
  for (const define::CompositeForm& form : define::composite_forms()) {
    const bool is_known = form.by_default && form.sound == nullptr && !names_forms;
    if (is_known && contracts) continue;
    const std::string name(form.name);
    for (const define::FormulaForm& f : define::forms_of(judging.definition, shapes_of(judging),
                                                         {&name, 1}, judging.profile.stores)) {
      if (f.name.empty()) continue;
      Change change{.words = fmt::format("in the form {}: {}", name, form.formula),
                    .profile = judging.profile,
                    .kernel = f.kernel};
      // Overflows, where a wider type would not.
      if (form.sound != nullptr && form.by_default) change.profile.excess.reset();
      if (!is_known) changes.push_back(change);
      if (contracts || !form.by_default) continue;
      change.words += ", if a product that is added may stay unrounded";
      change.profile.contracts = true;
      unrounded.push_back(std::move(change));
    }
  }
  for (const std::string& stage : define::stages_of(judging.definition, shapes_of(judging)))
    for (const DType type : {DType::BFloat16, DType::Float16}) {
      auto stores = judging.profile.stores;
      std::erase_if(stores, [&](const auto& s) { return s.first == stage; });
      stores.emplace_back(stage, type);
      changes.push_back(
          {.words = fmt::format("if the stage '{}' is stored as {}", stage, name(type)),
           .profile = judging.profile,
           .kernel = define::in_stages(judging.definition, shapes_of(judging), stores)});
    }
  std::ranges::move(unrounded, std::back_inserter(changes));
  return changes;
}

std::vector<Change> faults(const LazyOpPtr& kernel, const Judging& judging) {
  std::vector<Change> changes;
  const auto add = [&](std::string words, const LazyOpPtr& changed, const std::string& place = {}) {
    const auto is_same = [&](const Change& c) { return same(c.kernel, changed); };
    if (!same(changed, kernel) && std::ranges::none_of(changes, is_same))
      changes.push_back({.words = std::move(words),
                         .profile = judging.profile,
                         .kernel = changed,
                         .function = place});
  };
  for (const interp::MissingTerms& missing :
       {interp::MissingTerms{1}, interp::MissingTerms{.count = 1, .first = true},
        interp::MissingTerms{.count = 1, .of_all = true}})
    add(missing.str(), interp::without_terms(kernel, missing));
  const LazyOpPtr& value = kernel->src()[0];
  std::set<int> inputs;
  for (const LazyOpPtr& n : nodes_of(kernel))
    if (const auto* b = std::get_if<MemBuffer>(&n->arg()); b != nullptr && is_float(n->dtype()))
      inputs.insert(b->idx);
  for (const DType narrow : {DType::Float16, DType::BFloat16}) {
    const auto is_wider = [&](const LazyOp& n) {
      return is_float(n.dtype()) && info(n.dtype()).digits > info(narrow).digits;
    };
    if (is_wider(*value))
      add(fmt::format("the result is rounded to {}", name(narrow)),
          interp::kernel_of(rounded(value, narrow)));
    for (const int input : inputs)
      add(fmt::format("{} is rounded to {}", name_of(static_cast<std::size_t>(input), judging),
                      name(narrow)),
          rebuild(kernel, [&](const LazyOpPtr& n, const std::vector<LazyOpPtr>& src) {
            const auto* b = std::get_if<MemBuffer>(&n->arg());
            return n->op() == Op::Load && b->idx == input && is_wider(*n) ? rounded(n, narrow)
                                                                          : with_src(n, src);
          }));
  }
  if (is_float(value->dtype()) || (is_integer(value->dtype()) && !is_unsigned(value->dtype())))
    add("the sign is wrong", interp::kernel_of(LazyOp::unary(Op::Neg, value)));
  // Two forms of one name.
  const auto other = [](NamedFunction f) {
    return f == NamedFunction::Gelu       ? NamedFunction::GeluTanh
           : f == NamedFunction::GeluTanh ? NamedFunction::Gelu
                                          : f;
  };
  for (const NamedFunction f : {NamedFunction::Gelu, NamedFunction::GeluTanh})
    add(fmt::format("{} is {}", info(f).name, info(other(f)).name),
        rebuild(kernel, [&](const LazyOpPtr& n, const std::vector<LazyOpPtr>& src) {
          const auto* arg = std::get_if<FunctionArg>(&n->arg());
          return arg != nullptr && arg->function == f && !arg->or_last
                     ? LazyOp::make(Op::Function, src, FunctionArg{other(f)})
                     : with_src(n, src);
        }));
  add_constants(kernel, judging, add);
  return changes;
}

std::vector<Change> missing_terms(const LazyOpPtr& kernel, const Judging& judging) {
  std::set<std::int64_t> lengths;
  for (const LazyOpPtr& n : nodes_of(kernel))
    if (n->op() == Op::ReduceSum && !n->reduce_arg().axes.empty())
      lengths.insert(
          n->src()[0]->shape()[static_cast<std::size_t>(n->reduce_arg().axes.back())].as_int());
  std::vector<Change> changes;
  const auto add = [&](const interp::MissingTerms& missing) {
    const LazyOpPtr changed = interp::without_terms(kernel, missing);
    if (same(changed, kernel)) return;
    interp::MissingTerms said = missing;
    if (lengths.size() == 1) said.of_length = 0;
    changes.push_back({.words = said.str(), .profile = judging.profile, .kernel = changed});
  };
  for (const std::int64_t n : lengths) {
    if (n < 2) continue;
    std::set<std::int64_t> counts = interp::counts_of_missing(n);
    if (lengths.size() == 1) counts.erase(1);  // a fault that is tried first
    // The last terms first: loops lose those.
    for (const auto& [first, of_all] :
         {std::pair(false, false), std::pair(false, true), std::pair(true, false)})
      for (const std::int64_t count : counts) add({count, first, of_all, n});
  }
  return changes;
}

std::vector<Change> orders(const LazyOpPtr& kernel, std::span<Buffer* const> inputs,
                           const define::Sizes& shape, const Judging& judging) {
  std::vector<Change> changes;
  std::set<std::size_t> read;
  for (const LazyOpPtr& n : nodes_of(kernel))
    if (const auto* b = std::get_if<MemBuffer>(&n->arg()))
      read.insert(static_cast<std::size_t>(b->idx));
  std::size_t exchanges = 0;
  for (const std::size_t i : read)
    for (const std::size_t j : read)
      if (i < j && inputs[i]->dtype() == inputs[j]->dtype() &&
          inputs[i]->size() == inputs[j]->size() && ++exchanges <= kMostExchanges)
        changes.push_back({.words = fmt::format("{} and {} are exchanged", name_of(i, judging),
                                                name_of(j, judging)),
                           .profile = judging.profile,
                           .kernel = kernel,
                           .reorder = [i, j](std::vector<Buffer*>& in, std::vector<BufferPtr>&) {
                             std::swap(in[i], in[j]);
                           }});
  for (const std::size_t i : read) {
    if (i > judging.inputs.size() || !has_two_axes(judging.inputs[i - 1].shape)) continue;
    const define::Sizes& sizes = judging.inputs[i - 1].shape;
    if (product_of(sizes, 0, sizes.size()) != inputs[i]->size()) continue;
    changes.push_back(
        {.words = fmt::format("{} is read with its first axis as the fastest", name_of(i, judging)),
         .profile = judging.profile,
         .kernel = kernel,
         .reorder =
             [i, sizes](std::vector<Buffer*>& in, std::vector<BufferPtr>& made) {
               made.push_back(
                   moved(*in[i], [&](std::int64_t flat) { return column_major(flat, sizes); }));
               in[i] = made.back().get();
             },
         .copied = inputs[i]->size()});
  }
  const auto written = [&](std::string words, std::function<std::int64_t(std::int64_t)> source) {
    changes.push_back({.words = std::move(words),
                       .profile = judging.profile,
                       .kernel = kernel,
                       .source = std::move(source)});
  };
  if (has_two_axes(shape))
    written("the result is written with its first axis as the fastest",
            [shape](std::int64_t flat) { return column_major(flat, shape); });
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t size = shape[axis], stride = product_of(shape, axis + 1, shape.size());
    if (size < 2) continue;
    // Element i stands `by` places later.
    const auto shifted = [size, stride](std::int64_t by) {
      return [size, stride, by](std::int64_t flat) {
        const std::int64_t at = flat / stride % size + by;
        return at < 0 || at >= size ? -1 : flat + by * stride;
      };
    };
    written(fmt::format("results stand one place too late on axis {}", axis), shifted(1));
    written(fmt::format("results stand one place too early on axis {}", axis), shifted(-1));
    written(fmt::format("the results are reversed on axis {}", axis),
            [size, stride](std::int64_t flat) {
              const std::int64_t at = flat / stride % size;
              return flat + (size - 1 - 2 * at) * stride;
            });
  }
  return changes;
}

}  // namespace touchstone

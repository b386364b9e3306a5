#include "touchstone/fuzz/areas/profile_check.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "touchstone/fuzz/areas/reference_check.h"
#include "touchstone/fuzz/choice/chooser.h"
#include "touchstone/fuzz/definitions/number_formats.h"
#include "touchstone/fuzz/judge/reproducer.h"
#include "touchstone/interp/device/interpreted.h"

namespace touchstone::fuzz {
namespace {

constexpr DType kFloats[] = {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16};

using Values = std::vector<Scalar>;

HostArray array_of(const Values& values) {
  HostArray out{values[0].dtype(), {static_cast<std::int64_t>(values.size())}, {}};
  const std::size_t width = itemsize(out.dtype);
  out.bytes.resize(values.size() * width);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t bits = values[i].bits();
    std::memcpy(&out.bytes[i * width], &bits, width);
  }
  return out;
}

Scalar float_of(DType dtype, double value) { return Scalar::from_double(dtype, value); }

class Questions {
 public:
  explicit Questions(std::uint64_t choice) : chooser_(choice, 0) {}

  std::optional<std::string> ask() {
    using Question = void (Questions::*)();
    static constexpr Question kQuestions[] = {
        &Questions::functions,  &Questions::zeros,          &Questions::positions_outside,
        &Questions::maxima,     &Questions::subnormals,     &Questions::unrounded_products,
        &Questions::short_sums, &Questions::roots_of_zeros, &Questions::functions,
        &Questions::choices,    &Questions::short_sums,     &Questions::narrow_sums,
        &Questions::one_term,   &Questions::zero_by_zero,
    };
    (this->*kQuestions[chooser_.below(std::size(kQuestions))])();
    return wrong_;
  }

 private:
  /// Adds an input and returns its elements.
  LazyOpPtr input(const Values& values) {
    inputs_.push_back(array_of(values));
    const auto size = static_cast<std::int64_t>(values.size());
    return LazyOp::load(static_cast<int>(inputs_.size()), values[0].dtype(),
                        ShapeTracker::contiguous({size}));
  }

  KernelCase kernel_of(const LazyOpPtr& value) const {
    return {LazyOp::store(ShapeTracker::contiguous(value->shape()), value), inputs_, {}};
  }

  void expect(bool taken, const LazyOpPtr& value, const Values& answer, const Profile& profile) {
    if (wrong_) return;
    const KernelCase c = kernel_of(value);
    const Verdict verdict = judge({c, array_of(answer), {}}, profile);
    if ((verdict.outcome != Outcome::Fail) == taken) return;
    wrong_ = fmt::format("{}: element 0 is {}, of\n{}\nunder {}", taken ? "refused" : "taken",
                         answer[0].str(), str(c), profile.to_json());
  }

  DType float_type() { return kFloats[chooser_.below(std::size(kFloats))]; }
  // A number of the type in [1, 2).
  double number(DType dtype) {
    const double drawn = 1 + static_cast<double>(chooser_.below(std::uint64_t{1} << 30)) * 0x1p-30;
    const double value = definition::rounded(drawn, dtype);
    return value < 2 ? value : 1;
  }

  void functions() {
    constexpr Op kOps[] = {Op::Sqrt, Op::Recip, Op::Div, Op::Exp2, Op::Log2, Op::Sin};
    const Op op = kOps[chooser_.below(std::size(kOps))];
    const DType dtype = float_type();
    const LazyOpPtr x = input({float_of(dtype, number(dtype))});
    const LazyOpPtr value = op == Op::Div
                                ? LazyOp::binary(op, x, input({float_of(dtype, number(dtype))}))
                                : LazyOp::unary(op, x);
    static const std::unique_ptr<Device> reference = make_interpreted_device("PROFILES", 1);
    reference->forget_runners();
    const HostArray right = answer_of(kernel_of(value), *reference);
    std::uint64_t bits = 0;
    std::memcpy(&bits, right.bytes.data(), right.bytes.size());
    const auto ulp = static_cast<std::int64_t>(chooser_.below(4));
    Profile profile = exact_profile();
    FunctionError& error = op == Op::Sqrt    ? profile.sqrt
                           : op == Op::Recip ? profile.recip
                           : op == Op::Div   ? profile.div
                           : op == Op::Exp2  ? profile.exp2
                           : op == Op::Log2  ? profile.log2
                                             : profile.sin;
    error = {static_cast<double>(ulp), 0};
    if (op == Op::Sin && Scalar::from_bits(dtype, bits).to_double() > 0.9) return;  // never above 1
    // An error of n numbers is n - 1/2 to n + 1/2 ULP, within one binade.
    const std::int64_t sign = chooser_.chance(1, 2) ? 1 : -1;
    const int digits = info(dtype).digits - 1;
    const auto moved = [&](std::int64_t by) {
      return bits + static_cast<std::uint64_t>(sign * by);
    };
    if (bits == 0 || moved(ulp + 2) >> digits != bits >> digits) return;
    const auto answer = [&](std::int64_t by) {
      return Values{Scalar::from_bits(dtype, moved(by))};
    };
    expect(true, value, answer(std::max<std::int64_t>(ulp - 1, 0)), profile);
    expect(false, value, answer(ulp + 2), profile);
  }

  // x * 0, which has x's sign.
  void zeros() {
    const DType dtype = float_type();
    const double x = chooser_.chance(1, 2) ? number(dtype) : -number(dtype);
    const LazyOpPtr of = input({float_of(dtype, x)});
    const LazyOpPtr value = LazyOp::binary(Op::Mul, of, input({float_of(dtype, 0)}));
    signs(value, dtype, std::copysign(0.0, x));
  }
  void roots_of_zeros() {
    const DType dtype = float_type();
    const double x = chooser_.chance(1, 2) ? 0.0 : -0.0;
    signs(LazyOp::unary(Op::Sqrt, input({float_of(dtype, x)})), dtype, x);
  }
  void signs(const LazyOpPtr& value, DType dtype, double right) {
    Profile alike = exact_profile();
    alike.zeros_alike = true;
    for (const Profile& profile : {exact_profile(), alike}) {
      expect(true, value, {float_of(dtype, right)}, profile);
      expect(profile.zeros_alike, value, {float_of(dtype, -right)}, profile);
    }
    expect(false, value, {float_of(dtype, 1)}, alike);
  }

  void positions_outside() {
    constexpr DType kTypes[] = {DType::Float32, DType::Int32, DType::UInt8, DType::Float16};
    const DType dtype = kTypes[chooser_.below(std::size(kTypes))];
    const std::int64_t rows = chooser_.between(2, 4), inside = chooser_.between(0, rows - 1);
    const auto element = [&](std::int64_t n) {
      return is_float(dtype) ? float_of(dtype, static_cast<double>(n)) : Scalar::from_int(dtype, n);
    };
    Values table;
    for (std::int64_t i = 0; i < rows; ++i) table.push_back(element(10 + i));
    (void)input(table);
    const LazyOpPtr at = input({Scalar::from_int(DType::Int64, inside),
                                Scalar::from_int(DType::Int64, -chooser_.between(1, 3)),
                                Scalar::from_int(DType::Int64, rows + chooser_.between(0, 2))});
    const LazyOpPtr value =
        LazyOp::gather(1, dtype, ShapeTracker({View::strided({rows, 3}, {1, 0}, 0)}), at);
    const Scalar right = element(10 + inside), none = element(0), other = element(77),
                 first = element(10), last = element(9 + rows);
    Profile zero = exact_profile(), clamps = zero, anything = zero;
    clamps.outside = Outside::Clamps;
    anything.outside = Outside::Anything;
    expect(true, value, {right, none, none}, zero);
    expect(false, value, {right, first, none}, zero);
    expect(false, value, {right, none, last}, zero);
    expect(true, value, {right, first, last}, clamps);
    expect(false, value, {right, none, last}, clamps);
    expect(false, value, {right, first, none}, clamps);
    expect(true, value, {right, other, last}, anything);
    expect(true, value, {right, first, other}, anything);
    for (const Profile& profile : {zero, clamps, anything})
      expect(false, value,
             {other, profile.outside == Outside::Clamps ? first : none,
              profile.outside == Outside::Clamps ? last : none},
             profile);
  }

  void maxima() {
    const DType dtype = float_type();
    const Scalar v = float_of(dtype, number(dtype)), w = float_of(dtype, 4),
                 nan = float_of(dtype, std::numeric_limits<double>::quiet_NaN());
    const LazyOpPtr a = input({nan, v}), b = input({v, nan});
    const LazyOpPtr value = LazyOp::binary(Op::Max, a, b);
    for (const MaxOfNan max : {MaxOfNan::NanWins, MaxOfNan::NumberWins, MaxOfNan::Either}) {
      Profile profile = exact_profile();
      profile.max = max;
      expect(max != MaxOfNan::NumberWins, value, {nan, nan}, profile);
      expect(max != MaxOfNan::NanWins, value, {v, v}, profile);
      expect(max == MaxOfNan::Either, value, {v, nan}, profile);
      expect(false, value, {w, w}, profile);
    }
  }

  void subnormals() {
    const DType dtype = float_type();
    const double least = std::ldexp(1.0, info(dtype).min_exponent);
    const bool of_input = chooser_.chance(1, 2);
    const Scalar small = float_of(dtype, least / 2), zero = float_of(dtype, 0);
    const LazyOpPtr x = input({float_of(dtype, of_input ? least / 2 : least)});
    const LazyOpPtr value =
        LazyOp::binary(Op::Mul, x, input({float_of(dtype, of_input ? 4 : 0.5)}));
    const Scalar right = of_input ? float_of(dtype, least * 2) : small;
    Profile keeps = exact_profile(), inputs = keeps, outputs = keeps;
    inputs.flushes_inputs = true;
    outputs.flushes_outputs = true;
    for (const Profile& profile : {keeps, inputs, outputs}) {
      expect(true, value, {right}, profile);
      expect(of_input ? profile.flushes_inputs : profile.flushes_outputs, value, {zero}, profile);
    }
  }

  // a * b minus its rounded value, in forms that keep the product: 0, or the rounding error.
  void unrounded_products() {
    constexpr DType f32 = DType::Float32;
    const double a = number(f32), b = number(f32);
    const double whole = a * b, rounded = static_cast<double>(static_cast<float>(whole));
    const LazyOpPtr x = input({float_of(f32, a)}), y = input({float_of(f32, b)});
    const LazyOpPtr product = LazyOp::binary(Op::Mul, x, y);
    const auto added = [&](const LazyOpPtr& passed, bool in_front) {
      const LazyOpPtr less = input({float_of(f32, -rounded)});
      return in_front ? LazyOp::binary(Op::Add, less, passed)
                      : LazyOp::binary(Op::Add, passed, less);
    };
    const auto flag = [&](std::int64_t holds) {
      return input({Scalar::from_int(DType::Bool, holds)});
    };
    double rest = whole - rounded;
    LazyOpPtr value;
    switch (chooser_.below(6)) {
      case 0: value = added(product, false); break;
      case 1: value = added(product, true); break;
      case 2: value = LazyOp::binary(Op::Sub, product, input({float_of(f32, rounded)})); break;
      case 3:
        rest = -rest;
        value = LazyOp::binary(Op::Add, LazyOp::unary(Op::Neg, product),
                               input({float_of(f32, rounded)}));
        break;
      case 4: value = added(LazyOp::ternary(Op::Where, flag(1), product, x), false); break;
      default: value = added(LazyOp::ternary(Op::Where, flag(0), x, product), false);
    }
    if (rest == 0) return;
    Profile separate = exact_profile(), contracts = separate;
    contracts.contracts = true;
    for (const Profile& profile : {separate, contracts}) {
      expect(true, value, {float_of(f32, 0)}, profile);
      expect(profile.contracts, value, {float_of(f32, rest)}, profile);
    }
    expect(false, value, {float_of(f32, 0x1p-20)}, contracts);  // at least four ULP
  }

  // A square root known to a few ULP selects one of two numbers, or leaves it open; the numbers are
  // products, perhaps unrounded on the way to an addition.
  void choices() {
    const DType dtype = float_type();
    const double x = number(dtype), a = number(dtype), b = number(dtype);
    const LazyOpPtr root = LazyOp::unary(Op::Sqrt, input({float_of(dtype, x)}));
    const std::uint64_t bits = float_of(dtype, std::sqrt(x)).bits();
    const std::int64_t ulp = chooser_.between(2, 3);
    const int digits = info(dtype).digits - 1;
    const auto moved = [&](std::int64_t by) { return bits + static_cast<std::uint64_t>(by); };
    if (moved(-ulp - 2) >> digits != bits >> digits || moved(ulp + 2) >> digits != bits >> digits)
      return;
    constexpr std::int64_t kOpen = 0;  // whether the root is less: 1 yes, -1 no
    const std::int64_t less = chooser_.between(-1, 1);
    const std::int64_t limit = less == kOpen ? chooser_.between(0, 1) : less * (ulp + 2);
    const LazyOpPtr which =
        LazyOp::binary(Op::CmpLt, root, input({Scalar::from_bits(dtype, moved(limit))}));
    const auto product = [&](double by) {
      return LazyOp::binary(Op::Mul, input({float_of(dtype, a)}), input({float_of(dtype, by)}));
    };
    const Scalar small = float_of(dtype, a * b), large = float_of(dtype, a * b * 8);
    LazyOpPtr one = chooser_.chance(1, 2) ? product(b) : input({small});
    LazyOpPtr other = chooser_.chance(1, 2) ? product(b * 8) : input({large});
    const bool turned = chooser_.chance(1, 2);
    if (turned) std::swap(one, other);
    LazyOpPtr value = LazyOp::ternary(Op::Where, which, one, other);
    if (chooser_.chance(2, 3)) value = LazyOp::binary(Op::Add, value, input({float_of(dtype, 0)}));
    Profile profile = exact_profile();
    profile.sqrt = {static_cast<double>(ulp), 0};
    profile.contracts = chooser_.chance(2, 3);
    expect(less != -1, value, {turned ? large : small}, profile);
    expect(less != 1, value, {turned ? small : large}, profile);
    // An open comparison does not separate the numbers between the two.
    expect(false, value, {float_of(dtype, a * b * (less == kOpen ? 16 : 3))}, profile);
  }

  // A sum of products whose operands keep 11 digits: inputs, or roots or quotients known to one
  // ULP.
  void short_sums() {
    constexpr DType f32 = DType::Float32;
    constexpr int kDigits = 11;
    const std::uint64_t factor = chooser_.below(4);
    Values a, b;
    double full = 0, cut = 0;
    for (int i = 0; i < 2; ++i) {
      const double drawn = number(f32), y = number(f32);
      const double exact = factor == 1   ? std::sqrt(drawn)
                           : factor == 2 ? 1 / drawn
                           : factor == 3 ? y / drawn
                                         : drawn;
      const double x = static_cast<double>(static_cast<float>(exact));
      const auto kept = [](double v) {
        const int below = kDigits - 1 - std::ilogb(v);
        return std::ldexp(std::floor(std::ldexp(v, below)), -below);
      };
      a.push_back(float_of(f32, drawn));
      b.push_back(float_of(f32, y));
      full += x * y;
      cut += kept(x) * kept(y);
    }
    const LazyOpPtr from = input(a), y = input(b);
    const LazyOpPtr x = factor == 1   ? LazyOp::unary(Op::Sqrt, from)
                        : factor == 2 ? LazyOp::unary(Op::Recip, from)
                        : factor == 3 ? LazyOp::binary(Op::Div, y, from)
                                      : from;
    const LazyOpPtr value = LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, x, y), {0});
    if (full - cut < 0x1p-12) return;
    Profile all = exact_profile();
    if (chooser_.chance(1, 2)) all.sqrt = all.recip = all.div = {1, 0};
    all.contracts = chooser_.chance(1, 2);
    all.order = SumOrder::Any;
    Profile some = all;
    some.product_digits = kDigits;
    expect(true, value, {float_of(f32, cut)}, some);
    expect(true, value, {float_of(f32, full)}, some);
    expect(false, value, {float_of(f32, cut)}, all);
    expect(false, value, {float_of(f32, cut - 0.0625)}, some);
  }

  // A function's value, which may be off, times a number up to the largest, alone or beside zeros.
  void one_term() {
    const DType dtype = chooser_.chance(1, 2) ? DType::Float64 : DType::Float32;
    // Often so small that the function is 1 and the product the largest number.
    const std::uint64_t small =
        chooser_.chance(1, 2) ? 54 + chooser_.below(16) : chooser_.below(70);
    const double exponent = -std::ldexp(number(dtype), -static_cast<int>(small));
    const double most = std::ldexp(2 - std::ldexp(1.0, 1 - info(dtype).digits),
                                   info(dtype).max_exponent - static_cast<int>(chooser_.below(2)));
    const double sign = chooser_.chance(1, 2) ? 1 : -1;
    const std::size_t terms = chooser_.chance(1, 2) ? 1 : 3;
    Values factors(terms, float_of(dtype, 0));
    factors[chooser_.below(terms)] = float_of(dtype, sign * most);
    const LazyOpPtr function =
        LazyOp::unary(Op::Exp2, input(Values(terms, float_of(dtype, exponent))));
    const LazyOpPtr value =
        LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, function, input(factors)), {0});
    Profile profile = exact_profile();
    profile.exp2 = {1, 0};
    constexpr SumOrder kOrders[] = {SumOrder::Sequential, SumOrder::Any, SumOrder::Exact};
    profile.order = kOrders[chooser_.below(std::size(kOrders))];
    const double right = sign * std::exp2(definition::rounded(exponent, dtype)) * most;
    expect(true, value, {float_of(dtype, definition::rounded(right, dtype))}, profile);
    if (terms > 1) return;  // a sum that may overflow is not judged
    expect(false, value, {float_of(dtype, right / 2)}, profile);
    expect(false, value, {float_of(dtype, std::numeric_limits<double>::quiet_NaN())}, profile);
  }

  // 0/0 and 0%0 of zeros of unknown sign, followed by a comparison of the result with itself.
  void zero_by_zero() {
    const DType dtype = float_type();
    const auto zero = [&] {
      const double x = number(dtype);
      return LazyOp::reduce(Op::ReduceSum, input({float_of(dtype, x), float_of(dtype, -x)}), {0});
    };
    const LazyOpPtr dividend = zero(), divisor = zero();
    const LazyOpPtr none =
        LazyOp::binary(chooser_.chance(1, 2) ? Op::Div : Op::Mod, dividend, divisor);
    const LazyOpPtr equal = LazyOp::cast(LazyOp::binary(Op::CmpLt, none, none), dtype);
    const Scalar nan = float_of(dtype, std::numeric_limits<double>::quiet_NaN());
    expect(true, none, {nan}, exact_profile());
    expect(false, none, {float_of(dtype, 1)}, exact_profile());
    expect(true, equal, {float_of(dtype, 0)}, exact_profile());
    expect(false, equal, {float_of(dtype, 1)}, exact_profile());
  }

  // Up to 200 terms in an accumulator of few digits near its largest number, added as a tree that
  // rounds up where possible.
  void narrow_sums() {
    constexpr DType kNarrow[] = {DType::Float8E5M2, DType::Float8E4M3, DType::Float16,
                                 DType::BFloat16};
    const DType narrow = kNarrow[chooser_.below(std::size(kNarrow))];
    const DType dtype = chooser_.chance(1, 2) ? narrow : DType::Float32;
    const bool both_signs = chooser_.chance(1, 3);
    std::vector<double> terms(static_cast<std::size_t>(chooser_.between(2, 200)));
    double magnitude = 0;
    for (double& term : terms) {
      term = std::ldexp(number(dtype), -static_cast<int>(chooser_.below(8)));
      magnitude += term;
      if (both_signs && chooser_.chance(1, 2)) term = -term;
    }
    const int largest = 1 - info(narrow).min_exponent;  // power of two below the largest number
    const int up = largest - std::ilogb(magnitude) - static_cast<int>(chooser_.below(3));
    Values drawn;
    std::vector<double> trees;
    for (const double term : terms) {
      drawn.push_back(float_of(dtype, definition::rounded(std::ldexp(term, up), dtype)));
      trees.push_back(definition::rounded(drawn.back().to_double(), narrow));
    }
    while (trees.size() > 1) {
      std::size_t first = 0, second = 1;
      double most = -HUGE_VAL;
      for (int tries = 0; tries < 8; ++tries) {
        const std::size_t a = chooser_.below(trees.size()), b = chooser_.below(trees.size());
        const double exact = trees[a] + trees[b];
        const double gain = std::abs(definition::rounded(exact, narrow)) - std::abs(exact);
        if (a == b || !(gain > most * std::abs(exact))) continue;
        most = gain / std::abs(exact);
        first = std::min(a, b);
        second = std::max(a, b);
      }
      trees[first] = definition::rounded(trees[first] + trees[second], narrow);
      trees[second] = trees.back();
      trees.pop_back();
    }
    Profile profile = exact_profile();
    profile.order = SumOrder::Any;
    profile.accumulator = narrow;
    expect(true, LazyOp::reduce(Op::ReduceSum, input(drawn), {0}),
           {float_of(dtype, definition::rounded(trees[0], dtype))}, profile);
  }

  RandomChooser chooser_;
  std::vector<HostArray> inputs_;
  std::optional<std::string> wrong_;
};

}  // namespace

std::optional<std::string> profile_not_kept(std::uint64_t choice) {
  return Questions(choice).ask();
}

}  // namespace touchstone::fuzz

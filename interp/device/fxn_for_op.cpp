#include "touchstone/interp/device/fxn_for_op.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "touchstone/interp/device/scalar_function.h"

// The table of the Interpreted device; its rows are those of rows.h.

namespace touchstone::interp {
namespace {

using Column = std::array<ElementwiseFxn, kOpCount>;

template <class T>
inline constexpr bool kIsSmall = std::is_integral_v<T> && sizeof(T) < 4;

// The type in which another is computed: float for narrow floats, each operation then rounded once
// (correct by scalar_arith.h), 32 bits for small integers, keeping the low bits.
template <class T>
using InType = std::conditional_t<
    is_narrow_float<T>, float,
    std::conditional_t<!kIsSmall<T>, T,
                       std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>>>;

// The same, unsigned where wrapping gives the same bits.
template <class T>
using Wrapping = std::conditional_t<is_float_storage<T>, InType<T>, BitsOf<InType<T>>>;

// The row of a cast; for integers, signedness matters only for extension.
template <class To, class From>
constexpr Row cast_row() {
  if constexpr (!std::is_integral_v<To> || !std::is_integral_v<From>)
    return rows::Cast<To, From>::cast;
  else if constexpr (std::is_same_v<To, bool>)
    return rows::Cast<bool, BitsOf<From>>::cast;
  else if constexpr (sizeof(To) > sizeof(From))
    return rows::Cast<BitsOf<To>, From>::cast;
  else
    return rows::Cast<BitsOf<To>, BitsOf<From>>::cast;
}

// cast_row<To, Between> after cast_row<Between, From>.
template <class To, class Between, class From>
constexpr ElementwiseFxn cast_by_way_of() {
  return ElementwiseFxn(cast_row<To, Between>()).between(cast_row<Between, From>(), nullptr);
}

// Adapts `row`, which computes in InType<T>, to T; compares: the result is bool.
template <class T>
constexpr ElementwiseFxn computed(Row row, bool compares = false) {
  using In = InType<T>;
  if constexpr (std::is_same_v<In, T>)
    return row;
  else
    return ElementwiseFxn(row).between(cast_row<In, T>(),
                                       compares ? nullptr : cast_row<T, Wrapping<T>>());
}

// The column of one storage type: every op that it supports.
template <class T>
constexpr Column column() {
  using In = InType<T>;
  using U = Wrapping<T>;
  Column fxn{};
  const auto set = [&](Op op, ElementwiseFxn f) { fxn[static_cast<std::size_t>(op)] = f; };
  set(Op::Noop, rows::Bits<BitsOf<T>>::copy);
  set(Op::Where, rows::Bits<BitsOf<T>>::where);
  if constexpr (std::is_same_v<T, bool>) {
    set(Op::Neg, rows::Negation<bool>::neg);
    set(Op::Add, rows::Logic::either);
    set(Op::Sub, rows::Bits<std::uint8_t>::exclusive_or);
    set(Op::Mul, rows::Logic::both);
    set(Op::Max, rows::Logic::either);
    set(Op::CmpLt, rows::Logic::second_alone);
    set(Op::CmpEq, rows::Logic::alike);
    set(Op::MulAcc, ElementwiseFxn(rows::Logic::both).followed_by(rows::Logic::either));
  } else {
    set(Op::CmpLt, computed<T>(rows::Ordered<In>::cmplt, true));
    set(Op::CmpEq, computed<T>(rows::Equality<U>::cmpeq, true));
    set(Op::Add, computed<T>(rows::Arithmetic<U>::add));
    set(Op::Sub, computed<T>(rows::Arithmetic<U>::sub));
    set(Op::Mul, computed<T>(rows::Arithmetic<U>::mul));
    set(Op::Max, computed<T>(rows::Ordered<In>::max));
    set(Op::MulAcc, computed<T>(rows::Arithmetic<U>::mul).followed_by(rows::Arithmetic<U>::add));
    set(Op::Div, computed<T>(rows::Ordered<In>::div));
    set(Op::Mod, computed<T>(rows::Ordered<In>::mod));
    if constexpr (is_float_storage<T>)
      set(Op::Neg, rows::Negation<T>::neg);
    else
      set(Op::Neg, computed<T>(rows::Negation<U>::neg));
  }
  if constexpr (is_float_storage<T>) {
    set(Op::Recip, computed<T>(rows::Roots<In>::recip));
    set(Op::Sqrt, computed<T>(rows::Roots<In>::sqrt));
    set(Op::Exp2, rows::Functions<T>::exp2);
    set(Op::Log2, rows::Functions<T>::log2);
    set(Op::Sin, rows::Functions<T>::sin);
  } else {
    set(Op::Xor, rows::Bits<BitsOf<T>>::exclusive_or);
  }
  return fxn;
}

template <std::size_t... D>
constexpr auto all_columns(std::index_sequence<D...>) {
  return std::array<Column, kDTypeCount>{column<storage_t<static_cast<DType>(D)>>()...};
}
constexpr auto kFxnForOp = all_columns(std::make_index_sequence<kDTypeCount>{});

// Every elementwise op has a row for exactly the types that the op table allows.
constexpr bool table_is_complete() {
  for (int o = 0; o < kOpCount; ++o)
    for (int d = 0; d < kDTypeCount; ++d) {
      const Op op = static_cast<Op>(o);
      const bool wanted = is_elementwise(op) && op != Op::Cast && takes(op, static_cast<DType>(d));
      if (wanted !=
          static_cast<bool>(kFxnForOp[static_cast<std::size_t>(d)][static_cast<std::size_t>(o)]))
        return false;
    }
  return true;
}
static_assert(table_is_complete(),
              "kFxnForOp needs a function for exactly the elementwise ops and the types they take");

// convert<To>(From) as one row, or as two through a type that represents every From.
template <class To, class From>
constexpr ElementwiseFxn cast_of() {
  constexpr bool kToBool = std::is_same_v<To, bool>;
  constexpr bool kFromInteger = std::is_integral_v<From>;
  constexpr bool kToInteger = std::is_integral_v<To> && !kToBool;
  if constexpr (std::is_same_v<To, From>) {
    return rows::Bits<BitsOf<To>>::copy;
  } else if constexpr (std::is_same_v<From, bool>) {
    return cast_of<To, std::uint8_t>();
  } else if constexpr (kFromInteger && kToInteger && sizeof(To) == sizeof(From)) {
    return rows::Bits<BitsOf<To>>::copy;
  } else if constexpr (kFromInteger && (kToInteger || kToBool)) {
    if constexpr (kIsSmall<From> && sizeof(To) != 4)
      return cast_by_way_of<To, InType<From>, From>();
    else if constexpr (sizeof(From) == 8 && sizeof(To) < 4 && !kToBool)
      return cast_by_way_of<To, std::uint32_t, From>();
    else
      return cast_row<To, From>();
  } else if constexpr (std::is_same_v<From, double> || std::is_same_v<To, double> ||
                       (is_narrow_float<From> && std::is_same_v<To, float>) ||
                       (std::is_same_v<From, float> && is_narrow_float<To>) ||
                       (kFromInteger && sizeof(From) == 8 && !std::is_same_v<To, float16>)) {
    return cast_row<To, From>();
  } else {  // exact in double, except 64 bits where float16 is infinite anyway
    return cast_by_way_of<To, double, From>();
  }
}

}  // namespace

void ElementwiseFxn::apply(Row row, std::span<const Operand> in, Block& out) const {
  const auto count = static_cast<std::size_t>(out.count());
  std::array<const void*, 3> from{};
  if (widen_ == nullptr) {
    std::ranges::transform(in, from.begin(), &Operand::data);
    return row(from.data(), out.data(), out.count());
  }
  constexpr std::size_t kRun = 512;
  alignas(64) std::array<std::array<std::byte, kRun * 8>, 4> wide;
  for (std::size_t first = 0; first < count; first += kRun) {
    const auto run = static_cast<std::int64_t>(std::min(kRun, count - first));
    for (std::size_t k = 0; k < in.size(); ++k) {
      const void* operand = in[k].data + first * in[k].width;
      widen_(&operand, wide[k].data(), run);
      from[k] = wide[k].data();
    }
    std::byte* to = out.data() + first * itemsize(out.dtype());
    if (narrow_ == nullptr) {
      row(from.data(), to, run);
    } else {
      row(from.data(), wide[3].data(), run);
      const void* result = wide[3].data();
      narrow_(&result, to, run);
    }
  }
}

void ElementwiseFxn::operator()(std::span<const Block* const> in, Block& out) const {
  std::array<Operand, 3> operands{};
  std::ranges::transform(in, operands.begin(), [](const Block* b) {
    return Operand{b->data(), itemsize(b->dtype())};
  });
  if (then_ == nullptr) return apply(row_, std::span(operands).first(in.size()), out);
  apply(row_, std::span(operands).first(in.size() - 1), out);
  operands[0] = {out.data(), itemsize(out.dtype())};
  operands[1] = operands[in.size() - 1];
  apply(then_, std::span(operands).first(2), out);
}

ElementwiseFxn fxn_for_op(Op op, DType operand) {
  return kFxnForOp[static_cast<std::size_t>(operand)][static_cast<std::size_t>(op)];
}

ElementwiseFxn fxn_for_cast(DType from, DType to, bool bitcast) {
  return with_storage(from, [&]<class From>(std::type_identity<From>) {
    if (bitcast) return ElementwiseFxn(rows::Bits<BitsOf<From>>::copy);
    return with_storage(to, []<class To>(std::type_identity<To>) { return cast_of<To, From>(); });
  });
}

void apply_function(NamedFunction f, std::span<const Block* const> in, Block& out) {
  with_storage(out.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (is_float_storage<T>) {
      const T *x = in[0]->begin<T>(), *y = in.back()->begin<T>();
      for (std::int64_t i = 0; i < out.count(); ++i)
        out.begin<T>()[i] = scalar::function(f, x[i], y[i]);
    }
  });
}

}  // namespace touchstone::interp

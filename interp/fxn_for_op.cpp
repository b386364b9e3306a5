#include "touchstone/interp/fxn_for_op.h"

#include <array>
#include <bit>
#include <cstring>

#include "touchstone/interp/scalar_ops.h"

// The table of the Interpreted device: Eigen's arrays store, the functions of scalar_ops.h give
// every value. Eigen's own mathematics is not IEEE and is not used.

namespace touchstone::interp {
namespace {

// Plain loops over the arrays: an expression of Eigen's would do the same, at five times the cost
// to the compiler for each of some 400 functions.
template <class T, class R, auto F>
void unary(std::span<const Block* const> in, Block& out) {
  const T* a = in[0]->begin<T>();
  R* to = out.begin<R>();
  for (std::int64_t i = 0, n = out.count(); i < n; ++i) to[i] = F(a[i]);
}

template <class T, class R, auto F>
void binary(std::span<const Block* const> in, Block& out) {
  const T *a = in[0]->begin<T>(), *b = in[1]->begin<T>();
  R* to = out.begin<R>();
  for (std::int64_t i = 0, n = out.count(); i < n; ++i) to[i] = F(a[i], b[i]);
}

template <class T>
void mulacc(std::span<const Block* const> in, Block& out) {
  const T *a = in[0]->begin<T>(), *b = in[1]->begin<T>(), *c = in[2]->begin<T>();
  T* to = out.begin<T>();
  for (std::int64_t i = 0, n = out.count(); i < n; ++i) to[i] = scalar::mulacc(a[i], b[i], c[i]);
}

template <class T>
void where(std::span<const Block* const> in, Block& out) {
  const bool* condition = in[0]->begin<bool>();
  const T *a = in[1]->begin<T>(), *b = in[2]->begin<T>();
  T* to = out.begin<T>();
  for (std::int64_t i = 0, n = out.count(); i < n; ++i)
    to[i] = scalar::where(condition[i], a[i], b[i]);
}

void copy_bits(std::span<const Block* const> in, Block& out) {
  std::memcpy(out.data(), in[0]->data(),
              static_cast<std::size_t>(out.count()) * itemsize(out.dtype()));
}

// The column of one storage type: every op that the type has.
template <class T>
constexpr std::array<ElementwiseFxn, kOpCount> column() {
  std::array<ElementwiseFxn, kOpCount> fxn{};
  const auto set = [&](Op op, ElementwiseFxn f) { fxn[static_cast<std::size_t>(op)] = f; };
  set(Op::Noop, copy_bits);
  set(Op::Neg, unary<T, T, scalar::neg<T>>);
  set(Op::Add, binary<T, T, scalar::add<T>>);
  set(Op::Sub, binary<T, T, scalar::sub<T>>);
  set(Op::Mul, binary<T, T, scalar::mul<T>>);
  set(Op::Max, binary<T, T, scalar::max<T>>);
  set(Op::CmpLt, binary<T, bool, scalar::cmplt<T>>);
  set(Op::CmpEq, binary<T, bool, scalar::cmpeq<T>>);
  set(Op::MulAcc, mulacc<T>);
  set(Op::Where, where<T>);
  if constexpr (!std::is_same_v<T, bool>) {
    set(Op::Div, binary<T, T, scalar::div<T>>);
    set(Op::Mod, binary<T, T, scalar::mod<T>>);
  }
  if constexpr (is_float_storage<T>) {
    set(Op::Recip, unary<T, T, scalar::recip<T>>);
    set(Op::Sqrt, unary<T, T, scalar::sqrt<T>>);
    set(Op::Exp2, unary<T, T, scalar::exp2<T>>);
    set(Op::Log2, unary<T, T, scalar::log2<T>>);
    set(Op::Sin, unary<T, T, scalar::sin<T>>);
  } else {
    set(Op::Xor, binary<T, T, scalar::xor_<T>>);
  }
  return fxn;
}

template <std::size_t... D>
constexpr auto all_columns(std::index_sequence<D...>) {
  return std::array<std::array<ElementwiseFxn, kOpCount>, kDTypeCount>{
      column<storage_t<static_cast<DType>(D)>>()...};
}
constexpr auto kFxnForOp = all_columns(std::make_index_sequence<kDTypeCount>{});

// Every elementwise op has a row for every type the op table lets it take, and no other.
constexpr bool table_is_complete() {
  for (int o = 0; o < kOpCount; ++o)
    for (int d = 0; d < kDTypeCount; ++d) {
      const Op op = static_cast<Op>(o);
      const bool wanted = is_elementwise(op) && op != Op::Cast && takes(op, static_cast<DType>(d));
      if (wanted !=
          (kFxnForOp[static_cast<std::size_t>(d)][static_cast<std::size_t>(o)] != nullptr))
        return false;
    }
  return true;
}
static_assert(table_is_complete());

}  // namespace

ElementwiseFxn fxn_for_op(Op op, DType operand) {
  return kFxnForOp[static_cast<std::size_t>(operand)][static_cast<std::size_t>(op)];
}

ElementwiseFxn fxn_for_cast(DType from, DType to, bool bitcast) {
  if (bitcast || from == to) return copy_bits;
  return with_storage(from, [&]<class From>(std::type_identity<From>) {
    return with_storage(to, []<class To>(std::type_identity<To>) -> ElementwiseFxn {
      return unary<From, To, convert<To, From>>;
    });
  });
}

}  // namespace touchstone::interp

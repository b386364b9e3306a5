#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "touchstone/interp/oracle/legal_rows.h"
#include "touchstone/interp/oracle/unrounded_products.h"
#include "touchstone/ops/op_cases.h"

// N is an integer or an integral_constant: branchless loops over stack arrays, for
// auto-vectorization. A lane of `ok` has all bits set if this form can compute its element.

namespace touchstone::interp {
namespace {

constexpr std::int64_t kRow = 256;

template <class T>
using Key = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

// order_key of a number other than NaN, in its own width.
template <class T>
Key<T> key_of(T x) {
  const auto bits = std::bit_cast<Key<T>>(x);
  return bits ^ ((bits >> (8 * sizeof(T) - 1)) & std::numeric_limits<Key<T>>::max());
}
template <class T>
T number_of(Key<T> key) {
  return std::bit_cast<T>(key ^
                          ((key >> (8 * sizeof(T) - 1)) & std::numeric_limits<Key<T>>::max()));
}
template <class T>
Key<T> is_finite(T x) {
  return -static_cast<Key<T>>(std::abs(x) < std::numeric_limits<T>::infinity());
}

template <class T>
struct Ends {
  T lo[kRow];
  T hi[kRow];
};

// Extends both ends by one representable value in the lanes of `which`.
template <class T, class N>
void widen(Ends<T>& row, const Key<T>* which, N n) {
  for (std::int64_t i = 0; i < n; ++i) {
    row.lo[i] = number_of<T>(key_of(row.lo[i]) + which[i]);  // all bits set are -1
    row.hi[i] = number_of<T>(key_of(row.hi[i]) - which[i]);
  }
}

template <class T, class N>
void read(const LegalBlock& block, std::int64_t first, N n, Ends<T>& row, Key<T>* ok) {
  const T* lo = block.lo.begin<T>() + first;
  const T* hi = (block.determined ? block.lo : block.hi).begin<T>() + first;
  for (std::int64_t i = 0; i < n; ++i) {
    row.lo[i] = lo[i];
    row.hi[i] = hi[i];
    ok[i] &= is_finite(lo[i]) & is_finite(hi[i]);
  }
  if (block.determined) return;
  const std::uint8_t* flags = block.flags.data() + first;
  for (std::int64_t i = 0; i < n; ++i)
    ok[i] &= -static_cast<Key<T>>(flags[i] == LegalBlock::kNumber);
}

// Reads terms of an addition, which may be unrounded products.
template <class T, class N>
void read_addend(const LegalBlock& block, std::int64_t first, N n, Ends<T>& row, Key<T>* ok) {
  read(block, first, n, row, ok);
  if (!block.unrounded()) return;
  Key<T> which[kRow] = {};
  const std::uint8_t* inexact = block.inexact.data() + first;
  for (std::int64_t i = 0; i < n; ++i) which[i] = -static_cast<Key<T>>(inexact[i] != 0);
  widen(row, which, n);
  for (std::int64_t i = 0; i < n; ++i) ok[i] &= is_finite(row.lo[i]) & is_finite(row.hi[i]);
}

// Rounding is monotone, and so is adding ends in the order of the keys, signed zeros included: only
// -0 + -0 is -0.
template <class T, class N>
void add(const Ends<T>& a, const Ends<T>& b, N n, Ends<T>& out) {
  for (std::int64_t i = 0; i < n; ++i) {
    out.lo[i] = a.lo[i] + b.lo[i];
    out.hi[i] = a.hi[i] + b.hi[i];
  }
}

template <class T, class N>
void negate(const Ends<T>& a, N n, Ends<T>& out) {
  for (std::int64_t i = 0; i < n; ++i) {
    const T lo = -a.hi[i];
    out.hi[i] = -a.lo[i];
    out.lo[i] = lo;
  }
}

template <class T, class N>
void multiply(const Ends<T>& a, const Ends<T>& b, N n, Ends<T>& out) {
  for (std::int64_t i = 0; i < n; ++i) {
    const Key<T> p = key_of(a.lo[i] * b.lo[i]), q = key_of(a.lo[i] * b.hi[i]);
    const Key<T> r = key_of(a.hi[i] * b.lo[i]), s = key_of(a.hi[i] * b.hi[i]);
    out.lo[i] = number_of<T>(std::min(std::min(p, q), std::min(r, s)));
    out.hi[i] = number_of<T>(std::max(std::max(p, q), std::max(r, s)));
  }
}

// A product that an addition takes may be unrounded, unless it is exact.
template <class N>
void leave_unrounded(const Ends<float>& a, const Ends<float>& b, N n, Ends<float>& out,
                     std::int32_t* ok) {
  std::int32_t which[kRow] = {};
  for (std::int64_t i = 0; i < n; ++i) {
    ok[i] &= is_finite(out.lo[i]) & is_finite(out.hi[i]);
    const bool exact = static_cast<double>(a.lo[i]) * static_cast<double>(b.lo[i]) ==
                           static_cast<double>(out.lo[i]) &&
                       key_of(a.lo[i]) == key_of(a.hi[i]) && key_of(b.lo[i]) == key_of(b.hi[i]);
    which[i] = -static_cast<std::int32_t>(!exact);
  }
  widen(out, which, n);
}

template <class T, class N>
void maximum(const Ends<T>& a, const Ends<T>& b, N n, Ends<T>& out) {
  for (std::int64_t i = 0; i < n; ++i) {
    out.lo[i] = number_of<T>(std::max(key_of(a.lo[i]), key_of(b.lo[i])));
    out.hi[i] = number_of<T>(std::max(key_of(a.hi[i]), key_of(b.hi[i])));
  }
}

template <class T, class N>
void row(const ProgramNode& node, bool unrounded, std::span<const LegalBlock* const> operands,
         std::int64_t first, N n, LegalBlock& out, std::uint8_t* done) {
  const bool additive = node.op == Op::Add || node.op == Op::Sub;
  const auto get = [&](const LegalBlock& block, Ends<T>& to, Key<T>* ok) {
    additive ? read_addend<T>(block, first, n, to, ok) : read<T>(block, first, n, to, ok);
  };
  Ends<T> a{}, b{}, c{};
  Key<T> ok[kRow];
  std::fill_n(ok, kRow, Key<T>{-1});
  get(*operands[0], a, ok);
  if (operands.size() > 1) get(*operands[1], b, ok);
  switch (node.op) {
    case Op::Neg: negate(a, n, c); break;
    case Op::Sub:
      negate(b, n, b);
      add(a, b, n, c);
      break;
    case Op::Add: add(a, b, n, c); break;
    case Op::Mul:
      multiply(a, b, n, c);
      if constexpr (std::is_same_v<T, float>)
        if (unrounded) leave_unrounded(a, b, n, c, ok);
      break;
    case Op::Noop:
    case Op::Cast:
    case Op::Div:
    case Op::Max:
    case Op::Mod:
    case Op::Xor:
    TOUCHSTONE_CASES_FUNCTION:
    TOUCHSTONE_CASES_COMPARISON:
    TOUCHSTONE_CASES_BEYOND_BINARY:
      maximum(a, b, n, c);
      break;
  }
  // The general rules overwrite elements that are not ok.
  std::copy_n(c.lo, std::int64_t{n}, out.lo.begin<T>() + first);
  std::copy_n(c.hi, std::int64_t{n}, out.hi.begin<T>() + first);
  std::fill_n(out.flags.data() + first, std::int64_t{n}, LegalBlock::kNumber);
  for (std::int64_t i = 0; i < n; ++i) done[first + i] = static_cast<std::uint8_t>(ok[i] & 1);
}

template <class T>
void run(const ProgramNode& node, bool unrounded, std::span<const LegalBlock* const> operands,
         LegalBlock& out, std::uint8_t* done) {
  std::int64_t first = 0;
  // A constant length lets the compiler vectorize.
  for (; first + kRow <= out.count(); first += kRow)
    row<T>(node, unrounded, operands, first, std::integral_constant<std::int64_t, kRow>(), out,
           done);
  if (first < out.count()) row<T>(node, unrounded, operands, first, out.count() - first, out, done);
}

}  // namespace

void apply_interval_rows(const ProgramNode& node, const Profile& profile,
                         std::span<const LegalBlock* const> operands, LegalBlock& out,
                         std::vector<std::uint8_t>& done) {
  done.clear();
  if (node.dtype != DType::Float32 && node.dtype != DType::Float64) return;
  if (profile.flushes_inputs || profile.flushes_outputs || profile.finite_only ||
      profile.zeros_alike)
    return;
  const bool hands_on = node.op == Op::Mul || node.op == Op::Max;
  if ((hands_on && node.contraction.passes != 0) || node.contraction.flips_fused) return;
  if (profile.contracts && doubles_unrounded(node)) return;
  const bool unrounded = node.op == Op::Mul && node.contraction.is_addend && profile.contracts;
  switch (node.op) {
    case Op::Mul:
      if (node.contraction.is_summed && profile.product_digits != 0) return;
      if (unrounded && node.dtype == DType::Float64) return;  // exactness takes more than a product
      break;
    case Op::Neg:
    case Op::Add:
    case Op::Sub:
    case Op::Max: break;
    case Op::Noop:
    case Op::Cast:
    case Op::Div:
    case Op::Mod:
    case Op::Xor:
    TOUCHSTONE_CASES_FUNCTION:
    TOUCHSTONE_CASES_COMPARISON:
    TOUCHSTONE_CASES_BEYOND_BINARY:
      return;
  }
  done.resize(static_cast<std::size_t>(out.count()));
  if (node.dtype == DType::Float32)
    run<float>(node, unrounded, operands, out, done.data());
  else
    run<double>(node, unrounded, operands, out, done.data());
}

}  // namespace touchstone::interp

#pragma once

#include <functional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "touchstone/define/definitions.h"

// Parts of several definitions.

namespace touchstone::define {

/// Throws DTypeError, ShapeError.
void require_float(const Array& x, std::string_view what);
void require_rank(const Array& x, int least, std::string_view what, std::string_view of);

/// One entry per axis; a single entry stands for all.
Sizes for_each_axis(const Sizes& values, std::size_t axes, std::string_view what);
/// [0, size) of each axis, for `shrink`.
Pairs whole_ranges(const Sizes& shape);
std::int64_t product_of(const Sizes& sizes);
/// -count, ..., -1.
Axes last_axes(int count);
/// Each element followed by step - 1 zeros, along axis `at` from the end.
Array spaced(const Array& x, std::int64_t step, int at);

Array exp(const Array& x);
/// Losses, or their mean or sum.
Array reduced(const Array& losses, Reduction reduction, const Way& way);
Array log(const Array& x);
Array count(std::int64_t n);
/// x with all comparisons reversed: -x of floats, ~x of integers and bool.
Array reversed(const Array& x);
/// x / divisor, or x * (1 / divisor).
Array over(const Array& x, const Array& divisor, bool reciprocal);
/// A value that a profile may round by this name ("stores") and, if it `may_narrow`, a float32 that
/// may be rounded to the narrow type of the operands.
Array stage(const Array& x, const Way& way, std::string_view name, bool may_narrow = true);
/// A new axis before axis `at`, or behind all if that is the rank.
Array with_axis(const Array& x, int at, std::int64_t size = 1);
/// A number of that type.
Array typed(const Array& number, DType dtype);
/// Keys' kernel with a = -3/4 at a distance from 0 to 2.
Array keys(const Array& d);
/// A product of floats, or of integers and bool, as `prod` computes them. `total` adds the terms of
/// each product, `steps` is its number of factors less 1.
Array product(const Array& x, const Array& steps, const std::function<Array(const Array&)>& total);
Array product_of_integers(const Array& x, int axis, std::string_view what);

// In the order of the enumerators.
inline constexpr std::string_view kCombines[] = {"none", "add", "max", "min", "mul"};
inline constexpr std::string_view kBags[] = {"sum", "mean", "max"};
inline constexpr std::string_view kEmptyRows[] = {"nan", "zero"};
inline constexpr std::string_view kReductions[] = {"none", "mean", "sum", "batchmean"};

/// What libraries call a value of an argument: add for sum; "" if unknown.
std::string_view our_word(std::string_view word);
/// The type with our name or a library's. Throws DTypeError.
DType element_type(std::string_view name);

/// The argument for a parameter of type P; blocks and cells have several, under fixed names.
template <class P>
P argument(const Arguments& c, std::string_view name) {
  if constexpr (std::is_same_v<P, Array>) return c.array(name);
  if constexpr (std::is_same_v<P, std::optional<Array>>) return c.maybe(name);
  if constexpr (std::is_same_v<P, int>) return c.axis(name);
  if constexpr (std::is_same_v<P, std::int64_t>) return c.integer(name);
  if constexpr (std::is_same_v<P, double>) return c.real(name);
  if constexpr (std::is_same_v<P, bool>) return c.flag(name);
  if constexpr (std::is_same_v<P, Sizes>) return c.sizes(name);
  if constexpr (std::is_same_v<P, Axes>) return c.axes(name, c.array("x"));
  if constexpr (std::is_same_v<P, DType>) return c.dtype(name);
  if constexpr (std::is_same_v<P, std::optional<DType>>) return c.maybe_dtype(name);
  if constexpr (std::is_same_v<P, Combine>) return static_cast<P>(c.choice(name, kCombines));
  if constexpr (std::is_same_v<P, Bag>) return static_cast<P>(c.choice(name, kBags));
  if constexpr (std::is_same_v<P, EmptyRows>) return static_cast<P>(c.choice(name, kEmptyRows));
  if constexpr (std::is_same_v<P, Reduction>)
    return static_cast<P>(c.choice(name, std::span(kReductions).first(3)));
  if constexpr (std::is_same_v<P, Blocks>) return {c.axis("axis"), c.integer("block")};
  if constexpr (std::is_same_v<P, CellWeights>)
    return {c.array("w_ih"), c.array("w_hh"), c.maybe("b_ih"), c.maybe("b_hh")};
  if constexpr (std::is_same_v<P, Way>) return c.way();
}

/// Makes Definition::make from a function of the library. Its parameters follow the signature, or
/// take the signature's parameters at `places`. A last parameter of type Way gets the call's.
template <auto F, std::size_t... places>
Array from(const Arguments& c) {
  const auto call = [&]<class... P, std::size_t... I>(Array (*)(P...), std::index_sequence<I...>) {
    constexpr std::size_t at[] = {places..., I...};
    return F(argument<std::remove_cvref_t<P>>(c, c.parameter(at[I]))...);
  };
  const auto count = []<class... P>(Array (*)(P...)) { return std::index_sequence_for<P...>(); };
  return call(F, count(F));
}

}  // namespace touchstone::define

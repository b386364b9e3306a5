#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "touchstone/fuzz/cases/call.h"
#include "touchstone/fuzz/definitions/near.h"

// The functions, layers, losses and optimizers of the tensor library as loops over indices,
// without any code of that library. Results carry a rounding error bound from an error analysis of
// plain evaluation in the type (near.h); integers, bools and moved elements are exact.
namespace touchstone::fuzz::defined {

using Sizes = std::vector<std::int64_t>;

/// An array of a type, row-major.
struct Array {
  DType dtype = DType::Float32;
  Sizes shape{};
  std::vector<Near> cells{};
  /// Whether zeros have a defined sign, as when elements only move.
  bool signed_zeros = false;

  std::int64_t size() const;
  int rank() const { return static_cast<int>(shape.size()); }
  std::size_t place(const Sizes& at) const;
  Near& operator[](const Sizes& at) { return cells[place(at)]; }
  const Near& operator[](const Sizes& at) const { return cells[place(at)]; }
  std::int64_t whole(const Sizes& at) const;  // of an array of integers
};
using Arrays = std::vector<Array>;

/// An array of `shape` with cells f(index).
Array made(DType dtype, Sizes shape, const std::function<Near(const Sizes& at)>& f);
/// Calls f with every index of the shape, in row-major order.
void each(const Sizes& shape, const std::function<void(const Sizes& at)>& f);
/// An array of elements of x, or numbers of its type: zeros keep their signs.
Array taken(const Array& x, Sizes shape, const std::function<Near(const Sizes& at)>& f);
/// Element `at` is x's at `source(at)`; 0 where a position is -1.
Array moved(const Array& x, Sizes shape, const std::function<void(Sizes& at)>& source);

inline Real real(std::int64_t n) { return static_cast<Real>(n); }
/// The first entries; those from one on; both; `count` entries from `axis` on replaced by `by`.
Sizes head(const Sizes& all, std::size_t count);
Sizes tail(const Sizes& all, std::size_t from);
Sizes joined(Sizes a, const Sizes& b);
Sizes spliced(const Sizes& all, std::size_t axis, std::size_t count, const Sizes& by = {});

/// A number converted to the type: integers modulo 2^n, floats rounded; one rounding more error
/// unless exact.
Near as_type(DType dtype, const Near& x);
Near cast_cell(DType from, DType to, const Near& x);
Array cast_to(DType to, const Array& x);
/// float32 for integers and bool, else the type itself.
DType real_type(DType dtype);
/// The largest and the least finite number of a type; where its maxima begin.
Real most_of(DType dtype);
Real least_of(DType dtype);
Near lowest(DType dtype);
/// Of integers, modulo 2^64: f takes unsigned numbers.
template <class F>
Near modular(const Near& a, const Near& b, F f) {
  const auto bits = [](const Near& x) { return static_cast<WideBits>(static_cast<Wide>(x.v)); };
  return static_cast<Real>(
      static_cast<std::int64_t>(static_cast<std::uint64_t>(f(bits(a), bits(b)))));
}
/// The type of sums and their results: wider for bool and narrow integers, unchanged for floats.
DType summed_type(DType dtype);
/// The result type of an operation with this number, as written.
DType type_with(std::string_view number, DType met);

/// `axis` in [0, rank). Throws ParseError.
int axis_in(std::int64_t axis, int rank);
/// The axis of x that an argument names.
std::size_t axis_of(const Call& call, const Array& x, std::string_view key = "axis",
                    std::int64_t otherwise = 0);
std::vector<bool> axes_in(const Sizes& axes, int rank);
Sizes broadcast(const Sizes& a, const Sizes& b);
/// The index into a broadcast operand for the result's index `at`.
Sizes within(const Sizes& at, const Sizes& shape);
/// Throws ParseError(what) unless it holds.
void want(bool holds, std::string_view what);

/// Functions of one meaning: names with blanks between.
struct Definition {
  std::string_view names;
  std::function<Arrays(const Call& call, const Arrays& x)> of;
};
std::span<const Definition> elementwise_definitions();
std::span<const Definition> movement_definitions();
std::span<const Definition> reduction_definitions();
std::span<const Definition> window_definitions();
std::span<const Definition> indexing_definitions();
std::span<const Definition> layer_definitions();
std::span<const Definition> loss_definitions();
std::span<const Definition> cell_definitions();
std::span<const Definition> optimizer_definitions();

struct GivenArrays;
/// A definition of `touchstone kernel --list` as loops. In `inputs`, arrays are separated by ';'
/// and axes by ',': "*" is any shape, "~" a part that broadcasts to it, "." leading axes, "^" those
/// or none, "%" an index into the first along an axis; letters and digits are sizes that are
/// multiplied, "G" the argument `groups`, "K" the classes or a block, "W" the axes of windows, "S"
/// their sizes, "O" their number, "D" how many, "R" the axes of "*", "<" a part of it. After ':'
/// stands the kind of the values (draw_signature_call.cpp).
struct KernelLoops {
  std::string_view name;  // in the tables several, with blanks between
  /// F floats, I integers, B integers and bool, N integers and floats, A all; a small letter where
  /// zeros of the result have either sign.
  char types;
  std::string_view inputs;
  /// Calls of the functions here (`chained`); "{axis}" is an argument, "{axis:a,b}" the word of
  /// that number, "{size*2}" a number for two axes ("d": the digit in the name), "{flag?}" nothing
  /// if 0, "{x}" the type of an array, "{name}" the definition's name, "{name-1d}" without its end.
  std::string_view calls;
  Array (*of)(const GivenArrays& given) = nullptr;
};
std::span<const KernelLoops> kernel_loops();
/// Calls of definitions have this before their name.
inline constexpr std::string_view kKernelCall = "kernel.";
Arrays define_kernel(const Call& call, const Arrays& inputs);
/// The last result of calls separated by ';'. Each takes the values that it names: "%n" counts
/// inputs and then results, "$" is the latest result. Without names the first takes all inputs,
/// others the latest result. "topk#1" is the second result of topk.
Array chained(std::string_view calls, Arrays values);

/// The float type of the fewest digits, else float64.
DType narrowest(const Arrays& inputs);
/// The call's input tensors.
Arrays inputs_of(const Call& call);
/// The call's results. Throws ParseError if it is no call or its arguments do not fit.
Arrays define(const Call& call, const Arrays& inputs);

// Shared by definitions.
struct Write {
  Sizes to;  // -1: outside
  Near value;
};
/// The sum, product, maximum or minimum, by "add", "mul", "max", "min".
Near reduced_to(std::string_view by, DType dtype, const std::vector<Near>& all);
/// Each element combined with those written to it by these or none (the last).
Array combined(Array x, const std::vector<Write>& writes, std::string_view by);
/// A position outside its axis is no call, or nothing is there.
enum class Outside : bool { Refused, None };
/// Element `at` of the index; -1: outside. Negative ones count from the end if it `wraps`.
std::int64_t position(const Array& index, const Sizes& at, std::int64_t size, Outside outside,
                      bool wraps = true);
/// x's axis replaced by the axes of the index; or elements, or writes, at these places of an axis.
Array selected(const Array& x, const Array& index, std::size_t axis, Outside outside,
               bool wraps = true);
Array selected_along(const Array& x, const Array& index, std::size_t axis, Outside outside);
std::vector<Write> writes_along(const Array& x, const Array& index, const Array& updates,
                                std::size_t axis, Outside outside);
Array matmul_of(const Array& x, const Array& y, DType type);
/// The share of an element at a distance from a sample: of the nearest, of two, of four (Keys, with
/// a = -3/4).
enum class Kernel : std::uint8_t { Nearest, Hat, Keys };
Real weight_of(Real d, Kernel kernel);
Array softmax_of(const Array& x, int axis, bool logarithm);
Array scores_of(const Array& q, const Array& k, const Array* mask, bool causal, const Near* scale);
Array linear_of(const Array& x, const Array& weight, const Array* bias);
Array moved_axis(const Array& x, int from, int to);
/// The element of an axis of n at place i of the axis continued without end, by edge, reflect,
/// symmetric or wrap; -1: none, by constant.
std::int64_t continued(std::string_view mode, std::int64_t i, std::int64_t n);

}  // namespace touchstone::fuzz::defined

#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "touchstone/define/array.h"
#include "touchstone/files/npy.h"
#include "touchstone/model/program.h"

namespace touchstone::model {

using define::Sizes;

/// A formula (docs/define.md) for each output; an empty one is not covered. `parts` come first, as
/// "h = tanh(x);".
struct Texts {
  std::string parts;
  std::vector<std::string> outputs;
  /// Instead of outputs[0], where a formula of it all would be too long: one with its parts for
  /// each place along `axis`.
  std::vector<Texts> slices = {};
  std::size_t axis = 0;
  /// A profile (JSON) under which results are legal, too: what the source leaves open.
  std::string otherwise = {};
};

/// An operation with the values of its operands: what a row of a dialect makes formulas of. Members
/// throw ParseError for an attribute or an operand of another kind.
class Step {
 public:
  /// id: a name that no other operation has.
  Step(const Operation& operation, int version, std::vector<const HostArray*> x,
       std::vector<std::string> names, std::string id)
      : op(operation),
        version(version),
        x(std::move(x)),
        names(std::move(names)),
        id(std::move(id)) {}

  const Operation& op;
  int version;
  std::vector<const HostArray*> x;  // null: left out
  std::vector<std::string> names;   // of the operands in formulas
  std::string id;
  std::deque<std::pair<std::string, HostArray>> constants;  // additional operands
  /// The values of its outputs where they are known, so that one step can be judged by the one
  /// before; null: unknown.
  std::vector<const HostArray*> own;
  /// Where the operation is computed: computes a formula and names its value.
  std::function<std::string(const std::string&)> settle;

  bool has(std::size_t i) const { return i < x.size() && x[i] != nullptr; }
  const HostArray& operand(std::size_t i) const;
  const Sizes& shape(std::size_t i = 0) const { return operand(i).shape; }
  int rank(std::size_t i = 0) const { return static_cast<int>(shape(i).size()); }
  /// "f32".
  std::string type(std::size_t i = 0) const;
  bool is_float(std::size_t i = 0) const { return touchstone::is_float(operand(i).dtype); }
  /// The name of an operand.
  const std::string& name(std::size_t i) const { return operand(i), names[i]; }
  /// The names of the operands from `begin` on that are not left out.
  std::vector<std::string> given(std::size_t begin = 0) const;
  /// The elements of an operand as whole numbers, or as reals.
  Sizes ints(std::size_t i) const;
  std::vector<double> reals(std::size_t i) const;

  bool is_set(std::string_view attribute) const { return op.attributes.contains(attribute); }
  std::int64_t whole(std::string_view attribute, std::int64_t fallback) const;
  double real(std::string_view attribute, double fallback) const;
  std::string text(std::string_view attribute, std::string_view fallback) const;
  Sizes list(std::string_view attribute, Sizes fallback = {}) const;
  const HostArray* tensor(std::string_view attribute) const;
  /// An axis attribute, counted from 0.
  int axis(std::int64_t fallback = -1) const { return axis_of(whole("axis", fallback), rank()); }
  int axis_of(std::int64_t axis, int rank) const;
  /// The name of an additional operand.
  std::string constant(HostArray array);
  [[noreturn]] void fail(const std::string& why) const;
};

using Row = std::function<Texts(Step&)>;
/// The row for an operator, "Conv" or "stablehlo.add"; null: there is none.
const Row* row_named(std::string_view kind);
/// The operators with a row, sorted.
std::vector<std::string_view> operators();

HostArray array_of(const Sizes& numbers, Sizes shape);  // int64
HostArray array_of(const std::vector<double>& numbers, Sizes shape, DType dtype);
std::vector<double> reals_of(const HostArray& array);
/// The elements, without loss.
std::vector<long double> exact_of(const HostArray& array);

}  // namespace touchstone::model

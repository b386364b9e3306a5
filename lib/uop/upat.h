#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "touchstone/uop/uop.h"

namespace touchstone {

/// A pattern of nodes. A value type: the makers below return new patterns.
///
///   UPat::var("x") * UPat::number(1)                 x * 1, and 1 * x
///   UPat(GraphOp::View).over({UPat::var("x")}).named("v")
///   UPat(GraphOp::ReduceAxis).over({UPat(GraphOp::View).or_casted()})
///
/// A name that occurs twice must match the same node both times.
class UPat {
 public:
  /// How a node's sources are matched.
  enum class Sources : std::uint8_t {
    Any,       // not matched
    Ordered,   // one each, in order
    Shuffled,  // one each, in any order; the given order first
    Each       // every source, of any number, matches the one pattern
  };

  /// The parts of a pattern; if `alternatives` is set, `src` holds the alternatives.
  struct Parts {
    OpSet ops = OpSet::all();
    std::uint32_t dtypes = 0;  // bit 1 << DType; 0: any type, including none
    std::optional<UOpArg> arg;
    std::optional<double> number;  // CONST of this value, including the sign of zero
    std::string name;
    Sources sources = Sources::Any;
    bool or_more = false;  // further sources may follow
    bool alternatives = false;
    std::vector<UPat> src;
  };

  UPat();                              // any node
  UPat(GraphOp op);                    // NOLINT(google-explicit-constructor): an op is a pattern
  UPat(OpSet ops);                     // NOLINT(google-explicit-constructor)
  static UPat var(std::string name);   // any node, named
  static UPat cvar(std::string name);  // a CONST, named
  static UPat number(double value);
  /// Tries each alternative, in every way it matches. Throws AstError if sources are added.
  static UPat any(std::vector<UPat> of);

  UPat named(std::string name) const;
  UPat of_type(const std::vector<DType>& types) const;
  UPat with_arg(UOpArg arg) const;
  UPat over(std::vector<UPat> sources) const;
  UPat over_any_order(std::vector<UPat> sources) const;
  UPat over_each(UPat source) const;
  UPat or_more() const;
  /// Matches it, or a CAST of it.
  UPat or_casted() const;
  UPat or_casted(std::string name_of_cast) const;

  const Parts& parts() const { return *parts_; }
  /// "MUL(x, 1)".
  std::string str() const;

 private:
  Parts without_sources() const;
  explicit UPat(Parts parts) : parts_(std::make_shared<const Parts>(std::move(parts))) {}
  std::shared_ptr<const Parts> parts_;
};

/// Elementwise patterns; match both orders if the op commutes.
UPat alu(GraphOp op, std::vector<UPat> of);
inline UPat operator+(const UPat& a, const UPat& b) { return alu(GraphOp::Add, {a, b}); }
inline UPat operator*(const UPat& a, const UPat& b) { return alu(GraphOp::Mul, {a, b}); }
inline UPat operator-(const UPat& a, const UPat& b) { return alu(GraphOp::Sub, {a, b}); }

/// True if CONST `value` matches UPat::number(wanted).
bool is_number(const Scalar& value, double wanted);

}  // namespace touchstone

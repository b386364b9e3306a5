#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "touchstone/uop/uop.h"

namespace touchstone {

/// A pattern of nodes. A value: the makers below give new ones.
///
///   UPat::var("x") * UPat::number(1)                 x * 1, and 1 * x
///   UPat(Ops::View).over({UPat::var("x")}).named("v")
///   UPat(Ops::ReduceAxis).over({UPat(Ops::View).or_casted()})
///
/// A name that occurs twice must be the same node both times.
class UPat {
 public:
  /// How the sources of a node are compared with those of the pattern.
  enum class Sources : std::uint8_t {
    Any,       // not at all
    Ordered,   // one each, in order
    Shuffled,  // one each, in any order: first as given
    Each       // every source, however many, is as the one pattern says
  };

  /// The parts of a pattern; `src` holds the alternatives where `alternatives` is set.
  struct Parts {
    OpSet ops = OpSet::all();
    std::uint32_t dtypes = 0;  // bit 1 << DType; 0: any type, none included
    std::optional<UOpArg> arg;
    std::optional<double> number;  // CONST of this value, with its sign where it is a zero
    std::string name;
    Sources sources = Sources::Any;
    bool or_more = false;  // further sources may follow
    bool alternatives = false;
    std::vector<UPat> src;
  };

  UPat();                              // any node
  UPat(Ops op);                        // NOLINT(google-explicit-constructor): an op is a pattern
  UPat(OpSet ops);                     // NOLINT(google-explicit-constructor)
  static UPat var(std::string name);   // any node, named
  static UPat cvar(std::string name);  // a CONST, named
  static UPat number(double value);
  /// Whichever of them fits, each way it does. Throws AstError where it is said to be over sources.
  static UPat any(std::vector<UPat> of);

  UPat named(std::string name) const;
  UPat of_type(const std::vector<DType>& types) const;
  UPat with_arg(UOpArg arg) const;
  UPat over(std::vector<UPat> sources) const;
  UPat over_any_order(std::vector<UPat> sources) const;
  UPat over_each(UPat source) const;
  UPat or_more() const;
  /// It, or a CAST of it.
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

/// Elementwise patterns; both orders where the op commutes.
UPat alu(Ops op, std::vector<UPat> of);
inline UPat operator+(const UPat& a, const UPat& b) { return alu(Ops::Add, {a, b}); }
inline UPat operator*(const UPat& a, const UPat& b) { return alu(Ops::Mul, {a, b}); }
inline UPat operator-(const UPat& a, const UPat& b) { return alu(Ops::Sub, {a, b}); }

/// Whether CONST `value` is what UPat::number(wanted) means.
bool is_number(const Scalar& value, double wanted);

}  // namespace touchstone

#include "touchstone/uop/upat.h"

#include <cmath>

namespace touchstone {

UPat::UPat() : UPat(Parts{}) {}
UPat::UPat(GraphOp op) : UPat(OpSet(op)) {}
UPat::UPat(OpSet ops) {
  Parts parts;
  parts.ops = ops;
  parts_ = std::make_shared<const Parts>(std::move(parts));
}

UPat UPat::var(std::string name) { return UPat().named(std::move(name)); }
UPat UPat::cvar(std::string name) { return UPat(GraphOp::Const).named(std::move(name)); }

UPat UPat::number(double value) {
  Parts parts;
  parts.ops = GraphOp::Const;
  parts.number = value;
  return UPat(std::move(parts));
}

UPat UPat::any(std::vector<UPat> of) {
  Parts parts;
  parts.ops = OpSet();
  for (const UPat& p : of) parts.ops = parts.ops | p.parts().ops;
  parts.alternatives = true;
  parts.src = std::move(of);
  return UPat(std::move(parts));
}

UPat UPat::named(std::string name) const {
  Parts parts = *parts_;
  parts.name = std::move(name);
  return UPat(std::move(parts));
}

UPat UPat::of_type(const std::vector<DType>& types) const {
  Parts parts = *parts_;
  for (const DType d : types) parts.dtypes |= 1U << static_cast<unsigned>(d);
  return UPat(std::move(parts));
}

UPat UPat::with_arg(UOpArg arg) const {
  Parts parts = *parts_;
  parts.arg = std::move(arg);
  return UPat(std::move(parts));
}

// Alternatives are stored in place of sources.
UPat::Parts UPat::without_sources() const {
  if (parts_->alternatives)
    throw AstError(str() + " is a set of alternatives; give the sources of each of them");
  return *parts_;
}
UPat UPat::over(std::vector<UPat> sources) const {
  Parts parts = without_sources();
  parts.sources = Sources::Ordered;
  parts.src = std::move(sources);
  return UPat(std::move(parts));
}
UPat UPat::over_any_order(std::vector<UPat> sources) const {
  Parts parts = without_sources();
  parts.sources = Sources::Shuffled;
  parts.src = std::move(sources);
  return UPat(std::move(parts));
}
UPat UPat::over_each(UPat source) const {
  Parts parts = without_sources();
  parts.sources = Sources::Each;
  parts.src = {std::move(source)};
  return UPat(std::move(parts));
}
UPat UPat::or_more() const {
  Parts parts = *parts_;
  parts.or_more = true;
  return UPat(std::move(parts));
}

UPat UPat::or_casted() const { return any({*this, UPat(GraphOp::Cast).over({*this})}); }
UPat UPat::or_casted(std::string name_of_cast) const {
  return any({*this, UPat(GraphOp::Cast).over({*this}).named(std::move(name_of_cast))});
}

std::string UPat::str() const {
  const Parts& p = *parts_;
  std::string text;
  if (p.number) {
    text = fmt::format("{}", *p.number);
  } else if (p.alternatives) {
    text = "any";
  } else if (p.ops == OpSet::all()) {
    text = p.name.empty() ? "_" : "";
  } else {
    for (const GraphOpInfo& row : graph_op_table)
      if (p.ops.has(row.op)) text += (text.empty() ? "" : "|") + std::string(row.name);
  }
  if (!p.name.empty()) text += (text.empty() ? "" : ":") + p.name;
  if (p.sources == Sources::Any && !p.alternatives) return text;
  text += p.sources == Sources::Shuffled ? "{" : "(";
  for (std::size_t i = 0; i < p.src.size(); ++i) text += (i > 0 ? ", " : "") + p.src[i].str();
  if (p.or_more || p.sources == Sources::Each) text += ", ...";
  return text + (p.sources == Sources::Shuffled ? "}" : ")");
}

UPat alu(GraphOp op, std::vector<UPat> of) {
  return info(op).commutes ? UPat(op).over_any_order(std::move(of)) : UPat(op).over(std::move(of));
}

bool is_number(const Scalar& value, double wanted) {
  if (is_integer(value.dtype()) || is_bool(value.dtype())) {
    if (std::nearbyint(wanted) != wanted) return false;
    if (is_unsigned(value.dtype()) || is_bool(value.dtype()))
      return wanted >= 0 && wanted < 0x1p64 && static_cast<std::uint64_t>(wanted) == value.bits();
    return wanted >= -0x1p63 && wanted < 0x1p63 &&
           static_cast<std::int64_t>(wanted) == value.to_int64();
  }
  const double is = value.to_double();
  return is == wanted && std::signbit(is) == std::signbit(wanted);
}

}  // namespace touchstone

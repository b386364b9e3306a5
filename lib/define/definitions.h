#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "touchstone/define/library.h"

namespace touchstone::define {

/// The text of a non-array parameter: "2", "[1,2]", "f16".
struct Word {
  std::string text;
};
using Given = std::variant<Array, Sizes, Word>;

struct Parameter {
  std::string name;
  bool is_array = false, required = false;
  std::string fallback;  // default of an optional value
};

/// The arguments of one call by parameter name. Numbers are Arrays that are a `number`. Members
/// throw ParseError if an argument is of another kind.
class Arguments {
 public:
  explicit Arguments(std::map<std::string, Given, std::less<>> given, const Way& way = {})
      : given_(std::move(given)), way_(way) {}
  Array array(std::string_view name) const;
  std::optional<Array> maybe(std::string_view name) const;  // an array, or nullopt if missing
  std::int64_t integer(std::string_view name) const;
  int axis(std::string_view name) const;
  double real(std::string_view name) const;
  bool flag(std::string_view name) const;                   // 0 or 1
  Sizes sizes(std::string_view name) const;                 // a list or a single number
  Axes axes(std::string_view name, const Array& of) const;  // or `all`
  DType dtype(std::string_view name) const;
  std::string word(std::string_view name) const;
  std::optional<DType> maybe_dtype(std::string_view name) const;
  const auto& given() const { return given_; }
  /// The place of a word, or a number, among `words`.
  std::size_t choice(std::string_view name, std::span<const std::string_view> words) const;
  const Way& way() const { return way_; }

  /// The same call, of a definition with these parameters.
  Arguments of(std::vector<Parameter> parameters) const {
    Arguments call = *this;
    call.parameters_ = std::move(parameters);
    return call;
  }
  /// The name of its parameter there; empty behind the last one.
  std::string_view parameter(std::size_t place) const {
    return place < parameters_.size() ? std::string_view(parameters_[place].name) : "";
  }

 private:
  const Given* find(std::string_view name) const;
  std::map<std::string, Given, std::less<>> given_;
  Way way_;
  std::vector<Parameter> parameters_;
};

/// A named operation. Its signature is printed and used to parse calls: "x" is a required array,
/// "b?" an optional one, "axis=-1" a value with its default, "to=..." a required value. Without
/// `make`, the summary is a formula of the parameters, computed in float32 for narrow arrays if
/// `is_loose`; `called` (text.h) makes either.
struct Definition {
  std::string group, signature, summary;
  Array (*make)(const Arguments&);
  /// Other implementations may compute exp, log, a root or a mean differently, round out-of-range
  /// casts differently, or give either zero.
  bool is_loose = false;

  std::string_view name() const;
};
std::vector<Parameter> parameters(const Definition& definition);
/// The parameter with this name, or the one that libraries call so: `dim` is `axis`. Throws
/// ParseError with the nearest one.
const Parameter& parameter(const Definition& definition, std::span<const Parameter> known,
                           std::string_view name);
Given default_of(const Parameter& parameter);

/// Formulas, activations, losses, recurrent cells and complex numbers.
std::span<const Definition> layer_definitions();

/// By group; the elementwise ops of the op table first.
std::span<const Definition> definitions();
/// Looks up a name, or what libraries call it: `clip` is `clamp`. Throws ParseError with the right
/// one, or the nearest one.
const Definition& definition(std::string_view name);

}  // namespace touchstone::define

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

/// The text of a parameter that is no array: "2", "[1,2]", "f16".
struct Word {
  std::string text;
};
using Given = std::variant<Array, Sizes, Word>;

/// The arguments of one use of a definition, by the names of its parameters. Numbers are Arrays
/// that are a `number`. Members throw ParseError where an argument is of another kind.
class Call {
 public:
  explicit Call(std::map<std::string, Given, std::less<>> given) : given_(std::move(given)) {}
  Array array(std::string_view name) const;
  std::optional<Array> maybe(std::string_view name) const;  // an array, or nothing
  std::int64_t integer(std::string_view name) const;
  int axis(std::string_view name) const;
  bool flag(std::string_view name) const;                   // 0 or 1
  Sizes sizes(std::string_view name) const;                 // a list, or one number
  Axes axes(std::string_view name, const Array& of) const;  // or `all`
  DType dtype(std::string_view name) const;
  std::optional<DType> maybe_dtype(std::string_view name) const;

 private:
  const Given* find(std::string_view name) const;
  std::map<std::string, Given, std::less<>> given_;
};

/// One named operation. Its signature is what is printed and what calls are read by: "x" is an
/// array that must be given, "b?" one that may be, "axis=-1" a value with what it is where left
/// out, "to=..." one that must be given.
struct Definition {
  std::string group, signature, summary;
  Array (*make)(const Call&);
  /// Functions of that name compute exp, log, a root or a mean by themselves, round a cast out of
  /// range as they like, or give either zero.
  bool is_loose = false;

  std::string_view name() const;
};
struct Parameter {
  std::string name;
  bool is_array = false, required = false;
  std::string fallback;  // of a value that may be left out
};
std::vector<Parameter> parameters(const Definition& definition);

/// By group; elementwise operations of the op table first.
std::span<const Definition> definitions();
/// Throws ParseError with the nearest name.
const Definition& definition(std::string_view name);

}  // namespace touchstone::define

#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/define/array.h"

namespace touchstone::define {

/// A parsed formula such as "relu(matmul(a[8,16], b[16,4]) + c[4])": inputs with sizes and, unless
/// float32, a type (x[64,128]:f16), later by name only; numbers; + - * / % @ (matmul) and
/// comparisons with the usual precedence; parentheses; definitions with arguments by position or
/// name (axis=1, stride=[2,1]).
struct Formula {
  Array value;
  std::vector<std::string> inputs;  // inputs[i] is the name of buffer i + 1
  bool is_loose = false;            // it uses a loose definition
  std::set<std::string> called;     // the definitions
  std::vector<Array> sound;         // conditions of the forms, of type bool
  LazyOpPtr kernel(Numbers numbers = Numbers::Rounded) const {
    return define::kernel(value, numbers);
  }
};

/// The default profile for judging results of functions with these names: "library" if loose, else
/// "glibc" (docs/oracle.md).
constexpr std::string_view usual_profile(bool is_loose) { return is_loose ? "library" : "glibc"; }

/// The shape for an input written without sizes: for the one of that name, or by order.
struct InputShape {
  Sizes shape;
  DType dtype = DType::Float32;
  std::string name = {};
};

struct CompositeForm;
struct Stores;
/// The form of each definition that is not computed as it says (forms.h).
using ChosenForms = std::map<std::string, const CompositeForm*, std::less<>>;

/// Parses a formula. An input without sizes takes the shape of its name, or the next one if shapes
/// have no names. Throws ParseError that shows the position, for any invalid text.
Formula parse(std::string_view text, std::span<const InputShape> shapes = {},
              const ChosenForms& forms = {}, Stores* stores = nullptr);

class Arguments;
struct Definition;
/// The value of a call, as a formula with the definitions that it used.
Formula called(const Definition& definition, const Arguments& call, const ChosenForms& forms = {});

inline constexpr std::size_t kLongestText = 65'536;
inline constexpr int kDeepestNesting = 100;

}  // namespace touchstone::define

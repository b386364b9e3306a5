#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/define/array.h"

namespace touchstone::define {

/// A formula as text, as "relu(matmul(a[8,16], b[16,4]) + c[4])": inputs with their sizes and,
/// where it is not float32, their type (x[64,128]:f16), in later places by name alone; numbers;
/// + - * / % @ (matmul) and comparisons with the usual precedence; parentheses; definitions with
/// arguments by place or by name (axis=1, stride=[2,1]).
struct Formula {
  Array value;
  std::vector<std::string> inputs;  // inputs[i] is the name of buffer i + 1
  bool is_loose = false;            // a definition stands in it that is
  LazyOpPtr kernel() const { return define::kernel(value); }
};

/// The name of the profile under which what functions of these names give is judged where none is
/// named: "library" for what is loose, else "glibc" (docs/oracle.md).
constexpr std::string_view usual_profile(bool is_loose) { return is_loose ? "library" : "glibc"; }

/// The array that an input without sizes stands for.
struct InputShape {
  Sizes shape;
  DType dtype = DType::Float32;
};

/// An input may stand without sizes where it has those of `shapes`, the first input the first of
/// them. Throws ParseError that shows the place: text of any kind ends in a formula or in that.
Formula parse(std::string_view text, std::span<const InputShape> shapes = {});

inline constexpr std::size_t kLongestText = 65'536;
inline constexpr int kDeepestNesting = 100;

}  // namespace touchstone::define

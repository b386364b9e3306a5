#include <algorithm>

#include <fmt/format.h>

#include "touchstone/fuzz/draw/program_draw.h"
#include "touchstone/fuzz/judge/edges.h"
#include "touchstone/fuzz/judge/values.h"

namespace touchstone::fuzz {

std::string ProgramDraw::words(const Sizes& sizes) {
  return sizes.empty() ? "()" : fmt::format("{}", fmt::join(sizes, ","));
}

std::string ProgramDraw::draw() {
  for (std::uint64_t types = 1 + (smooth_ ? 0 : chooser_.below(3)); types > 0; --types)
    types_.push_back(smooth_ ? DType::Float64 : any_type());
  !smooth_&& chooser_.chance(1, 32) ? summed_shards() : first_value();
  for (std::uint64_t more = 1 + chooser_.below(8); more > 0; --more) step();
  return text_;
}

void ProgramDraw::first_value() {
  Sizes shape;
  for (std::uint64_t rank = chooser_.below(4); rank > 0; --rank) {
    constexpr std::int64_t kSizes[] = {2, 3, 1, 4, 2, 3, 1, 0};
    shape.push_back(kSizes[chooser_.below(smooth_ ? 7 : 8)]);
    if (product(shape) > most_inputs()) shape.back() = 1;
  }
  const bool splits = !smooth_ && !shape.empty() && chooser_.chance(1, 12);
  if (splits)  // then a reduce rounds differently
    shape[static_cast<std::size_t>(chooser_.index(shape.size()))] = 16;
  often_constant_ = !smooth_ && chooser_.chance(1, 8);
  if (!smooth_ && chooser_.chance(1, often_constant_ ? 2 : 12))
    constant({shape, types_[0]});
  else
    input(shape, types_[0], splits && chooser_.chance(1, 2) ? kAnyNumbers : kAnyFamily);
}

void ProgramDraw::summed_shards() {
  const DType dtype = is_float(types_[0]) ? types_[0] : DType::Float32;
  const ProgramType all{{chooser_.between(3, 5), chooser_.between(2, 9)}, dtype};
  const int shards = input(all.shape, dtype, kAnyNumbers);
  emit(fmt::format("reduce_sum %{} 0", shards), {{1, all.shape[1]}, dtype});
}

DType ProgramDraw::any_type() {
  constexpr DType kSimplestFirst[] = {
      DType::Float32, DType::Int32,  DType::Bool,    DType::Float16,    DType::Int8,
      DType::UInt8,   DType::Int64,  DType::Float64, DType::BFloat16,   DType::UInt32,
      DType::Int16,   DType::UInt64, DType::UInt16,  DType::Float8E4M3, DType::Float8E5M2};
  return kSimplestFirst[chooser_.below(kDTypeCount)];
}

int ProgramDraw::emit(const std::string& statement, ProgramType result) {
  if (!text_.empty()) text_ += "; ";
  text_ += statement;
  known_.push_back(std::move(result));
  return last();
}

int ProgramDraw::input(const Sizes& shape, DType dtype, std::uint64_t wanted) {
  std::string values;
  const std::int64_t n = std::clamp<std::int64_t>(product(shape), 1, smooth_ ? 64 : 7);
  // Small numbers; any; edges of the type; zeros of both signs and ones; neutral and absorbing
  // elements.
  const std::uint64_t family = smooth_                ? 0
                               : wanted == kAnyFamily ? chooser_.below(kAnyFamily)
                                                      : wanted;
  static constexpr std::string_view kSigned[] = {"0", "-0.0", "1", "0"};
  for (std::int64_t i = 0; i < n; ++i) {
    if (smooth_)  // no two alike, none near a kink
      values += fmt::format(" {}", static_cast<double>(chooser_.between(-12, 12)) / 8 + 0.03 +
                                       0.001 * static_cast<double>(i + std::int64_t{7} * last()));
    else if (family == 3)
      values += " " + chooser_.pick(edge_values(dtype)).str();
    else if (family == kInfinite)
      values += " " + (chooser_.chance(1, 6) && is_float(dtype)
                           ? "nan"
                           : chooser_.pick(neutral_values(dtype)).str());
    else if (family == kZeros && is_float(dtype))
      values += fmt::format(" {}", kSigned[chooser_.below(4)]);
    else if (family == kAnyNumbers && !is_bool(dtype))
      values += " " + any_number(dtype).str();
    else if (is_float(dtype))
      values += fmt::format(" {}", static_cast<double>(chooser_.between(-8, 8)) / 4);
    else if (is_bool(dtype))
      values += chooser_.chance(1, 2) ? " 1" : " 0";
    else
      values += fmt::format(" {}", Scalar::from_int(dtype, chooser_.between(-4, 9)).str());
  }
  return emit(fmt::format("{} {}:{}", name(dtype), words(shape), values), {shape, dtype});
}

Scalar ProgramDraw::any_number(DType dtype) {
  const std::uint64_t bits = chooser_.below(std::uint64_t{1} << 53);
  if (is_float(dtype))
    return Scalar::from_double(dtype, (static_cast<double>(bits) * 0x1p-52 - 1) * 4);
  return Scalar::from_bits(dtype, (bits * 0x9e3779b97f4a7c15U) >> (64 - 8 * itemsize(dtype)));
}

int ProgramDraw::constant(const ProgramType& wanted) {
  return chooser_.chance(1, 2) ? constant(wanted, chooser_.pick(edge_values(wanted.dtype)).str())
                               : usual_constant(wanted);
}

int ProgramDraw::usual_constant(const ProgramType& wanted) {
  static constexpr std::string_view kUsual[] = {"0", "1", "-1", "-0.0", "2"};
  return constant(wanted, std::string(kUsual[chooser_.below(5)]));
}

int ProgramDraw::constant(const ProgramType& wanted, std::string value) {
  if (!is_float(wanted.dtype) && value == "-0.0") value = "0";
  if (value == "-1" && !is_float(wanted.dtype) && info(wanted.dtype).kind != DTypeKind::Signed)
    value = "1";
  if (is_bool(wanted.dtype)) value = chooser_.chance(1, 2) ? "1" : "0";
  return emit(fmt::format("const {} {}: {}", name(wanted.dtype), words(wanted.shape), value),
              wanted);
}

int ProgramDraw::operand(const ProgramType& wanted) {
  if (!smooth_ && chooser_.chance(often_constant_ ? 4 : 1, 6)) return constant(wanted);
  std::vector<int> fitting;
  for (int i = last(); i >= 0; --i)
    if (type(i) == wanted) fitting.push_back(i);
  if (fitting.empty() || chooser_.chance(1, 3))
    return product(wanted.shape) > most_inputs() && !fitting.empty() ? fitting[0]
                                                                     : input_like(wanted);
  return chooser_.pick(fitting);
}

int ProgramDraw::input_like(const ProgramType& wanted, std::uint64_t family) {
  Sizes small = wanted.shape;
  for (std::size_t i = 0; i < small.size() && product(small) > most_inputs(); ++i) small[i] = 1;
  const int from = input(small, wanted.dtype, family);
  if (small == wanted.shape) return from;
  return emit(fmt::format("expand %{} {}", from, words(wanted.shape)), wanted);
}

void ProgramDraw::step() {
  const int x = chooser_.chance(1, 4) ? chooser_.index(known_.size()) : last();
  using Make = void (ProgramDraw::*)(int);
  static constexpr Make kAll[] = {
      &ProgramDraw::unary,   &ProgramDraw::binary,    &ProgramDraw::movement,
      &ProgramDraw::reduce,  &ProgramDraw::choice,    &ProgramDraw::settle,
      &ProgramDraw::special, &ProgramDraw::meet,      &ProgramDraw::broadcast,
      &ProgramDraw::folded,  &ProgramDraw::gathered,  &ProgramDraw::carried,
      &ProgramDraw::padded,  &ProgramDraw::exchanged, &ProgramDraw::reread};
  static constexpr std::size_t kWhich[] = {0, 1, 2, 2, 3,  1,  4,  5,  2, 6,
                                           7, 8, 3, 9, 10, 11, 12, 13, 14};
  const std::size_t which = kWhich[chooser_.below(std::size(kWhich))];
  const bool out = (left_out_ >> (2 * which) & 3) == 3;
  (this->*kAll[out ? 0 : which])(x);
}

std::string draw_program(Chooser& chooser, const ProgramKind& kind) {
  return ProgramDraw(chooser, kind).draw();
}

}  // namespace touchstone::fuzz

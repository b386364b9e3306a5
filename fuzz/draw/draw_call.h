#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/fuzz/cases/call.h"
#include "touchstone/fuzz/choice/chooser.h"

namespace touchstone::fuzz {

using CallSizes = std::vector<std::int64_t>;

// How a call's numbers are drawn; one way for all inputs, so that ties and edges meet.
enum class Numbers : std::uint8_t { Plain, Fine, Ties, Edges };

struct Drawing {
  Chooser& chooser;
  Call call{};
  DType dtype = DType::Float64;
  Numbers numbers = Numbers::Plain;

  std::int64_t between(std::int64_t low, std::int64_t high) { return chooser.between(low, high); }
  bool chance(std::uint64_t times, std::uint64_t of) { return chooser.chance(times, of); }

  void any_type(bool floats_alone = false) {
    static const std::vector<DType> kFloats = {
        DType::Float64, DType::Float32, DType::Float64,    DType::Float16, DType::BFloat16,
        DType::Float32, DType::Float64, DType::Float8E4M3, DType::Float64, DType::Float8E5M2};
    static const std::vector<DType> kWhole = {DType::Int32,  DType::Bool,  DType::Int64,
                                              DType::UInt8,  DType::Int8,  DType::UInt64,
                                              DType::UInt32, DType::Int16, DType::UInt16};
    dtype = floats_alone || !chance(1, 3) ? chooser.pick(kFloats) : chooser.pick(kWhole);
  }
  CallSizes shape(int least = 0, int most = 3) {
    CallSizes sizes;
    static const std::vector<std::int64_t> kSizes = {2, 3, 1, 4, 2, 3, 5, 2, 1, 0, 3, 4};
    for (std::int64_t rank = between(least, most); rank > 0; --rank)
      sizes.push_back(chooser.pick(kSizes));
    return sizes;
  }
  std::string value(DType of) {
    const auto k = between(0, 32);
    if (is_bool(of)) return k % 2 == 0 ? "1" : "0";
    if (!is_float(of)) {
      std::int64_t n = (k + 1) / 2;
      if (!is_unsigned(of) && k % 2 == 0) n = -n;
      if (numbers == Numbers::Ties) n = n % 2;
      if (numbers != Numbers::Edges || !chance(1, 2)) return fmt::format("{}", n);
      const int digits = info(of).digits;
      const std::uint64_t most =
          (digits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << digits) - 1);
      const auto off = static_cast<std::uint64_t>(between(0, 2));
      if (is_unsigned(of) || chance(1, 2)) return fmt::format("{}", most - off);
      return fmt::format("{}",
                         -static_cast<std::int64_t>(most) - 1 + static_cast<std::int64_t>(off));
    }
    const std::int64_t eighths = (k + 1) / 2;
    double x = static_cast<double>(eighths) / 8 * (k % 2 == 0 ? -1 : 1);
    x += static_cast<double>(between(0, 2)) * (x < 0 ? -1 : 1) / 2;
    if (numbers == Numbers::Fine) x += static_cast<double>(between(0, 999)) / 1370;
    if (numbers == Numbers::Ties) x = static_cast<double>(k % 3) - 1;
    if (numbers == Numbers::Edges && chance(1, 3)) {
      static const std::vector<std::string> kEdges = {"0.0", "-0.0", "inf", "-inf", "nan", "1.0"};
      if (chance(1, 4)) return Scalar::from_double(of, chance(1, 2) ? 30.5 : -300).str();
      return chooser.pick(kEdges);
    }
    return Scalar::from_double(of, x).str();
  }
  static std::int64_t count(const CallSizes& shape) {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  }
  CallInput& input(const CallSizes& shape, DType of) {
    CallInput x;
    x.dtype = of;
    x.shape = shape;
    static const std::vector<std::string> kWays = {"",     "", "turned",   "flipped", "cut",
                                                   "wide", "", "computed", "",        ""};
    x.via = chooser.pick(kWays);
    for (std::int64_t i = std::max<std::int64_t>(1, count(shape)); i > 0; --i)
      x.values.push_back(value(of));
    if (x.via == "wide" && !shape.empty() && shape[0] > 0)
      for (std::size_t row = x.values.size() / static_cast<std::size_t>(shape[0]), i = row;
           i < x.values.size(); ++i)
        x.values[i] = x.values[i - row];
    call.inputs.push_back(std::move(x));
    return call.inputs.back();
  }
  CallInput& input(const CallSizes& shape) { return input(shape, dtype); }
  // Integers below `size`, some counted from the end if that is allowed.
  void positions(const CallSizes& shape, std::int64_t size, bool from_end = true) {
    const DType of = from_end || chance(1, 2) ? DType::Int64 : DType::Int32;
    CallInput& at = input(shape, of);
    at.via = at.via == "wide" ? "" : at.via;
    for (std::string& v : at.values) {
      const std::int64_t p = size == 0 ? 0 : between(0, size - 1);
      v = fmt::format("{}", from_end && chance(1, 4) ? p - size : p);
    }
  }
  void mask(const CallSizes& shape) { input(shape, DType::Bool); }
  // Restricts the last input to [low, high].
  void in_range(double low, double high) {
    CallInput& x = call.inputs.back();
    for (std::string& v : x.values)
      v = Scalar::from_double(x.dtype,
                              low + (high - low) * static_cast<double>(between(0, 40)) / 40)
              .str();
    x.via = x.via == "wide" ? "" : x.via;
  }
  std::int64_t axis(std::size_t rank) {
    const auto n = static_cast<std::int64_t>(rank);
    const std::int64_t a = n == 0 ? 0 : between(0, n - 1);
    return n > 0 && chance(1, 3) ? a - n : a;
  }
  std::int64_t set_axis(const CallSizes& shape, std::string_view key = "axis") {
    const std::int64_t a = axis(shape.size());
    call.set(key, fmt::format("{}", a));
    return a < 0 ? a + static_cast<std::int64_t>(shape.size()) : a;
  }
  CallSizes axes(std::size_t rank) {
    CallSizes all;
    for (std::size_t i = 0; i < rank; ++i)
      if (chance(1, 2))
        all.push_back(static_cast<std::int64_t>(i) -
                      (chance(1, 3) ? static_cast<std::int64_t>(rank) : 0));
    if (all.size() > 1 && chance(1, 4)) std::swap(all[0], all[1]);
    return all;
  }
  // A shape that broadcasts to another.
  CallSizes part_of(const CallSizes& whole) {
    CallSizes part(
        whole.begin() + (chance(1, 3) ? between(0, static_cast<std::int64_t>(whole.size())) : 0),
        whole.end());
    for (std::int64_t& size : part)
      if (chance(1, 4)) size = 1;
    return part;
  }
  void set(std::string_view key, std::int64_t n) { call.set(key, fmt::format("{}", n)); }
  void maybe(std::string_view key, std::initializer_list<std::string_view> values) {
    if (!chance(1, 2)) return;
    const auto at = chooser.below(values.size());
    call.set(key, std::string(*(values.begin() + static_cast<std::ptrdiff_t>(at))));
  }
  std::string number() {
    if (is_bool(dtype) || (!is_float(dtype) && !chance(1, 3)))
      return fmt::format("{}", between(0, 7));
    if (!is_float(dtype) || chance(2, 3))
      return Scalar::from_double(DType::Float64, static_cast<double>(between(-12, 12)) / 4).str();
    return fmt::format("{}", between(-3, 3));
  }
};

/// Functions, with blanks between, and how their calls are drawn; `floats`: floats only.
struct DrawnCall {
  std::string_view names;
  void (*draw)(Drawing& d);
  bool floats = false;
};
/// The first of a few draws that is a call, else `otherwise`.
Call drawn(Chooser& chooser, std::string_view otherwise,
           const std::function<void(Drawing& d)>& draw);
std::span<const DrawnCall> drawn_movements();
std::span<const DrawnCall> drawn_layers();
std::span<const DrawnCall> drawn_signatures();

}  // namespace touchstone::fuzz

#include "touchstone/interp/oracle/profile.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/base/json_fault.h"
#include "touchstone/base/suggest.h"
#include "touchstone/ops/kernel_json.h"

namespace touchstone {
namespace {

using Json = nlohmann::ordered_json;

// Documented error bounds: CUDA C++ Programming Guide, appendix on mathematical functions; OpenCL C
// 3.0, 7.4 (full profile); Vulkan 1.3, precision of GLSL.std.450; the GNU C library's manual, 19.7.
std::array<Profile, 8> make_builtin() {
  Profile glibc;
  Profile ieee;
  ieee.name = "ieee";
  ieee.exp2 = ieee.log2 = ieee.sin = {};
  ieee.functions = {};
  ieee.forms = {"definition"};
  Profile cuda;
  cuda.name = "cuda";
  cuda.exp2 = cuda.sin = {2, 0};
  cuda.log2 = {1, 0};
  cuda.functions = errors_of(&FunctionInfo::error);
  Profile opencl;
  opencl.name = "opencl";
  opencl.exp2 = opencl.log2 = opencl.sqrt = {3, 0};
  opencl.sin = {4, 0};
  opencl.recip = opencl.div = {2.5, 0};
  opencl.functions = errors_of(&FunctionInfo::opencl);
  opencl.flushes_inputs = opencl.flushes_outputs = true;
  opencl.max = MaxOfNan::Either;
  opencl.casts_saturate = false;
  Profile vulkan = opencl;
  vulkan.name = "vulkan";
  vulkan.exp2 = {3, 2};
  vulkan.log2 = {3, 0};
  vulkan.sqrt = {2.5, 0};
  vulkan.sin = {0, 0};
  vulkan.sin_absolute = 0x1p-11;
  vulkan.sin_domain = 3.14159265358979;
  vulkan.error_of(NamedFunction::Exp) = {3, 2};
  for (const auto f :
       {NamedFunction::Asin, NamedFunction::Acos, NamedFunction::Atan, NamedFunction::Atan2})
    vulkan.error_of(f) = {4096, 0};
  vulkan.zeros_alike = true;
  Profile fastmath = glibc;
  fastmath.name = "fastmath";
  fastmath.exp2 = fastmath.log2 = fastmath.sin = {4, 0};
  fastmath.functions = opencl.functions;
  fastmath.sqrt = fastmath.recip = fastmath.div = {3, 0};
  fastmath.flushes_inputs = fastmath.flushes_outputs = true;
  fastmath.finite_only = fastmath.reassociates = true;
  fastmath.zeros_alike = true;
  fastmath.max = MaxOfNan::Either;
  fastmath.casts_saturate = false;
  Profile tensorcore = cuda;
  tensorcore.name = "tensorcore";
  tensorcore.product_digits = 11;  // TF32 stores 10 of them, and may truncate instead of rounding
  tensorcore.truncates_sums = true;
  // EXP2, LOG2, RECIP and DIV as libraries implement them with their own exp, log, sigmoid or mean:
  // these multiply by log2(e) and ln(2) of the kernel's type. Constant and product are off by 0.85
  // |x| units in the last place of 2^x. exp2 and sin of CUDA err by 2, sin of NumPy by 3.1. A mean
  // is often a product with 1/n, off by half a unit in 1/n and in the product.
  Profile library = glibc;
  library.name = "library";
  library.exp2 = {2, 1};
  library.sin = {4, 0};
  library.log2 = {3, 0};
  library.recip = {1, 0};
  library.div = {1.5, 0};
  library.functions = cuda.functions;
  library.casts_saturate = false;
  library.zeros_alike = true;
  // A library that computes a whole function may round once, as if its operations were exact.
  library.excess = DType::Float64;
  return {ieee, glibc, library, cuda, opencl, vulkan, fastmath, tensorcore};
}

constexpr std::array<std::pair<std::string_view, FunctionError Profile::*>, 6> kFunctions = {{
    {"exp2", &Profile::exp2},
    {"log2", &Profile::log2},
    {"sin", &Profile::sin},
    {"sqrt", &Profile::sqrt},
    {"recip", &Profile::recip},
    {"div", &Profile::div},
}};
constexpr std::array<std::pair<std::string_view, MaxOfNan>, 3> kMax = {{
    {"nan wins", MaxOfNan::NanWins},
    {"number wins", MaxOfNan::NumberWins},
    {"either", MaxOfNan::Either},
}};
constexpr std::array<std::pair<std::string_view, Float8Overflow>, 4> kFloat8 = {{
    {"as defined", Float8Overflow::AsDefined},
    {"saturates", Float8Overflow::Saturates},
    {"infinity", Float8Overflow::Infinity},
    {"either", Float8Overflow::Either},
}};
constexpr std::array<std::pair<std::string_view, Outside>, 3> kOutside = {{
    {"zero", Outside::Zero},
    {"clamps", Outside::Clamps},
    {"anything", Outside::Anything},
}};
struct SumName {
  std::string_view name;
  SumOrder order;
  bool has_block;
};
constexpr std::array<SumName, 8> kSums = {{
    {"any", SumOrder::Any, false},
    {"sequential", SumOrder::Sequential, false},
    {"exact", SumOrder::Exact, false},
    {"pairwise", SumOrder::Pairwise, true},
    {"halves", SumOrder::Halves, true},
    {"numpy", SumOrder::Numpy, false},
    {"lanes", SumOrder::Lanes, true},
    {"folded", SumOrder::Folded, true},
}};
constexpr auto kMembers = std::to_array<std::string_view>({"name",
                                                           "base",
                                                           "ulp",
                                                           "sin_domain",
                                                           "sin_absolute",
                                                           "flush",
                                                           "contracts",
                                                           "reassociates",
                                                           "finite_only",
                                                           "zeros_alike",
                                                           "max",
                                                           "casts_saturate",
                                                           "sum",
                                                           "truncates_sums",
                                                           "accumulator",
                                                           "accumulator_digits",
                                                           "product_digits",
                                                           "excess",
                                                           "float8_overflow",
                                                           "outside",
                                                           "forms",
                                                           "stores",
                                                           "most_mean",
                                                           "most_variance",
                                                           "source"});
constexpr std::array<std::string_view, 4> kFlush = {"never", "inputs", "outputs", "both"};
constexpr std::array<std::pair<std::string_view, bool Profile::*>, 6> kSwitches = {{
    {"contracts", &Profile::contracts},
    {"reassociates", &Profile::reassociates},
    {"finite_only", &Profile::finite_only},
    {"zeros_alike", &Profile::zeros_alike},
    {"casts_saturate", &Profile::casts_saturate},
    {"truncates_sums", &Profile::truncates_sums},
}};

[[noreturn]] void fail(std::string_view member, std::string_view wanted, const Json& got) {
  std::string shown = got.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 60);
  throw ParseError(fmt::format("profile: \"{}\" must be {}, not {}", member, wanted, shown));
}

double number(std::string_view member, const Json& value) {
  constexpr const char* kWanted = "a number of at least 0";
  if (!value.is_number()) fail(member, kWanted, value);
  const auto x = value.get<double>();
  if (!(x >= 0 && x <= 1e6)) fail(member, "a number from 0 to a million", value);
  return x;
}

std::string text(std::string_view member, const Json& value) {
  if (!value.is_string()) fail(member, "a string", value);
  return value.get<std::string>();
}

DType float_type(std::string_view member, const Json& value) {
  try {
    const DType type = parse_dtype(text(member, value));
    if (is_float(type)) return type;
  } catch (const DTypeError& e) {
    throw ParseError(fmt::format("profile: \"{}\": {}", member, e.what()));
  }
  fail(member, "a float type", value);
}

FunctionError function_error(std::string_view member, const Json& value) {
  if (value.is_number()) return {number(member, value), 0};
  if (!value.is_array() || value.size() != 2)
    fail(member, "a number of ULP, or [ULP, ULP for each unit of |x|]", value);
  return {number(member, value[0]), number(member, value[1])};
}

FunctionError* error_named(Profile& p, std::string_view key) {
  for (const auto& [name, member] : kFunctions)
    if (key == name) return &(p.*member);
  const auto named = function_from_name(key);
  return named ? &p.error_of(*named) : nullptr;
}

void read_ulp(Profile& p, const Json& value) {
  if (!value.is_object()) fail("ulp", "an object, as {\"exp2\": 2}", value);
  for (const auto& [key, error] : value.items()) {
    FunctionError* const place = error_named(p, key);
    if (place == nullptr)
      throw ParseError(fmt::format(
          "profile: \"ulp\" has no '{}'; known: exp2, log2, sin, sqrt, recip, div and the named "
          "functions (exp, tanh, ...)",
          key));
    *place = function_error("ulp." + key, error);
  }
}

template <class Enum, std::size_t N>
Enum one_of(const std::array<std::pair<std::string_view, Enum>, N>& names, std::string_view member,
            const Json& value) {
  std::string wanted;
  for (std::size_t i = 0; i < N; ++i) {
    if (value == names[i].first) return names[i].second;
    wanted += fmt::format("{}\"{}\"", i == 0 ? "" : i + 1 == N ? " or " : ", ", names[i].first);
  }
  fail(member, wanted, value);
}
template <class Enum, std::size_t N>
std::string_view name_of(const std::array<std::pair<std::string_view, Enum>, N>& names,
                         Enum value) {
  return std::ranges::find(names, value, &std::pair<std::string_view, Enum>::second)->first;
}

std::int64_t count(std::string_view member, const Json& value) {
  if (!value.is_number_integer() || value.get<std::int64_t>() < 1 ||
      value.get<std::int64_t>() > (std::int64_t{1} << 40))
    fail(member, "a whole number of at least 1", value);
  return value.get<std::int64_t>();
}

constexpr std::int64_t kMostFolded = 1 << 16;

void read_sum(Profile& p, const Json& value) {
  constexpr const char* kWanted =
      "\"any\", \"sequential\", \"exact\", \"numpy\", {\"pairwise\": terms per run}, "
      "{\"halves\": terms per run}, {\"lanes\": count} or {\"folded\": a power of 2}";
  const bool object = value.is_object() && value.size() == 1;
  for (const auto& [name, order, has_block] : kSums) {
    if (has_block ? !object || !value.contains(name) : value != name) continue;
    p.order = order;
    p.block = has_block                  ? count(fmt::format("sum.{}", name), *value.begin())
              : order == SumOrder::Numpy ? 128
                                         : 1;
    if (order == SumOrder::Folded &&
        (!std::has_single_bit(static_cast<std::uint64_t>(p.block)) || p.block > kMostFolded))
      fail("sum.folded", "a power of 2 of at most 65536", *value.begin());
    return;
  }
  fail("sum", kWanted, value);
}

void read_excess(Profile& p, const Json& value) {
  constexpr const char* kWanted =
      "\"none\", \"float32\", \"float64\" or {\"to\": one of these, \"rounds\": \"each op\" or "
      "\"stores\"}";
  const bool object = value.is_object();
  if (object)
    for (const auto& [key, ignored] : value.items())
      if (key != "to" && key != "rounds") fail("excess", kWanted, value);
  const Json to = object ? value.value("to", Json()) : value;
  if (to == "none")
    p.excess.reset();
  else if (to == "float32" || to == "float64")
    p.excess = parse_dtype(to.get<std::string>());
  else
    fail("excess", kWanted, value);
  const Json rounds = object ? value.value("rounds", Json("stores")) : Json("stores");
  if (rounds != "each op" && rounds != "stores") fail("excess", kWanted, value);
  p.excess_each_op = p.excess && rounds == "each op";
}

void read_member(Profile& p, const std::string& key, const Json& value) {
  for (const auto& [name, member] : kSwitches)
    if (key == name) {
      if (!value.is_boolean()) fail(key, "true or false", value);
      p.*member = value.get<bool>();
      return;
    }
  if (key == "name") {
    p.name = text(key, value);
  } else if (key == "ulp") {
    read_ulp(p, value);
  } else if (key == "sin_domain") {
    p.sin_domain = value.is_null() ? std::numeric_limits<double>::infinity() : number(key, value);
  } else if (key == "sin_absolute") {
    p.sin_absolute = number(key, value);
  } else if (key == "flush") {
    const auto which = std::ranges::find(kFlush, text(key, value)) - kFlush.begin();
    if (which == std::ssize(kFlush)) fail(key, "never, inputs, outputs or both", value);
    p.flushes_inputs = (which & 1) != 0;
    p.flushes_outputs = (which & 2) != 0;
  } else if (key == "max") {
    p.max = one_of(kMax, key, value);
  } else if (key == "float8_overflow") {
    p.float8 = one_of(kFloat8, key, value);
  } else if (key == "outside") {
    p.outside = one_of(kOutside, key, value);
  } else if (key == "forms") {
    if (!value.is_array() || !std::ranges::all_of(value, &Json::is_string))
      fail(key, "a list of strings", value);
    p.forms = value.get<std::vector<std::string>>();
  } else if (key == "excess") {
    read_excess(p, value);
  } else if (key == "sum") {
    read_sum(p, value);
  } else if (key == "stores") {
    if (!value.is_object()) fail(key, "an object of stages and float types", value);
    p.stores.clear();
    for (const auto& [stage, type] : value.items())
      p.stores.emplace_back(stage == "P"   ? "weights"
                            : stage == "S" ? "scores"
                                           : stage,
                            float_type(key, type));
  } else if (key == "accumulator") {
    p.accumulator.reset();
    if (!value.is_null()) p.accumulator = float_type(key, value);
  } else if (key == "most_mean" || key == "most_variance") {
    std::optional<double>& limit = key == "most_mean" ? p.most_mean : p.most_variance;
    limit = value.is_null() ? std::nullopt : std::optional(number(key, value));
  } else if (key == "product_digits" || key == "accumulator_digits") {
    if (!value.is_number_integer() || value.get<std::int64_t>() < 0 ||
        value.get<std::int64_t>() > 53)
      fail(key, "a whole number from 0 to 53", value);
    (key == "product_digits" ? p.product_digits : p.accumulator_digits) = value.get<int>();
  } else if (key == "source") {  // documents the source of each figure; ignored
    const bool list = value.is_array() && std::ranges::all_of(value, &Json::is_string);
    if (!list && !value.is_string()) fail(key, "a string, or a list of strings", value);
  } else if (key != "base") {
    const std::string_view shown = std::string_view(key).substr(0, 40);
    throw ParseError(fmt::format("profile: there is no member '{}'{}; known: {}", shown,
                                 did_you_mean(shown, kMembers), fmt::join(kMembers, " ")));
  }
}

}  // namespace

std::span<const Profile> builtin_profiles() {
  static const auto* const all =
      new std::array<Profile, 8>(make_builtin());  // outlives all threads
  return *all;
}

Profile Profile::named(std::string_view wanted) {
  std::vector<std::string_view> names;
  for (const Profile& p : builtin_profiles()) {
    if (p.name == wanted) return p;
    names.push_back(p.name);
  }
  const std::string_view shown = wanted.substr(0, 40);
  throw ParseError(fmt::format("there is no profile '{}'{}; known: {}", shown,
                               did_you_mean(shown, names), fmt::join(names, ", ")));
}

Profile Profile::from_json(std::string_view text_of_it) {
  const Json json = read_json<Json>(text_of_it, "profile: not JSON");
  if (!json.is_object()) throw ParseError("profile: expected a JSON object");
  Profile p;
  if (json.contains("base")) p = named(text("base", json["base"]));
  p.name = "custom";
  for (const auto& [key, value] : json.items()) read_member(p, key, value);
  return p;
}

std::string Profile::to_json() const {
  Json ulp = Json::object();
  const auto add = [&](std::string_view key, const FunctionError& e) {
    if (e.ulp_per_x == 0)
      ulp[std::string(key)] = e.ulp;
    else
      ulp[std::string(key)] = {e.ulp, e.ulp_per_x};
  };
  for (const auto& [key, member] : kFunctions) add(key, this->*member);
  for (const FunctionInfo& row : function_table)
    if (!row.exact) add(row.name, error_of(row.function));
  Json out = {{"name", name}, {"ulp", ulp}};
  out["sin_domain"] = std::isinf(sin_domain) ? Json() : Json(sin_domain);
  out["sin_absolute"] = sin_absolute;
  out["flush"] = kFlush[(flushes_inputs ? 1U : 0U) + (flushes_outputs ? 2U : 0U)];
  for (const auto& [key, member] : kSwitches) out[std::string(key)] = this->*member;
  out["max"] = name_of(kMax, max);
  for (const auto& [key, sums, has_block] : kSums)
    if (sums == order) out["sum"] = has_block ? Json{{key, block}} : Json(key);
  out["accumulator"] = accumulator ? Json(touchstone::name(*accumulator)) : Json();
  out["accumulator_digits"] = accumulator_digits;
  out["product_digits"] = product_digits;
  if (excess)
    out["excess"] = {{"to", touchstone::name(*excess)},
                     {"rounds", excess_each_op ? "each op" : "stores"}};
  else
    out["excess"] = "none";
  out["float8_overflow"] = name_of(kFloat8, float8);
  out["outside"] = name_of(kOutside, outside);
  if (!forms.empty()) out["forms"] = forms;
  for (const auto& [stage, type] : stores) out["stores"][stage] = touchstone::name(type);
  out["most_mean"] = most_mean ? Json(*most_mean) : Json();
  out["most_variance"] = most_variance ? Json(*most_variance) : Json();
  return out.dump(2);
}

}  // namespace touchstone

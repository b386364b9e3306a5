#include "touchstone/fuzz/cases/call.h"

#include <algorithm>
#include <charconv>

#include "touchstone/base/error.h"
#include "touchstone/fuzz/cases/program.h"

namespace touchstone::fuzz {
namespace {

constexpr std::string_view kCall = "call ";
constexpr std::int64_t kMostCallElements = 4096;
constexpr std::string_view kVias[] = {"", "turned", "flipped", "cut", "wide", "computed"};

std::int64_t elements_of(const std::vector<std::int64_t>& shape) {
  std::int64_t n = 1;
  for (const std::int64_t size : shape) {
    if (size < 0 || size > kMostCallElements) throw ParseError(fmt::format("a size of {}", size));
    n *= size;
    if (n > kMostCallElements)
      throw ParseError(fmt::format("more than {} elements", kMostCallElements));
  }
  return n;
}

CallInput parse_call_input(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos)
    throw ParseError(fmt::format("'{}': expected TYPE SHAPE: VALUES", text.substr(0, 40)));
  const std::vector<std::string_view> words = split(text.substr(0, colon), ' ');
  if (words.size() != 2)
    throw ParseError(fmt::format("'{}': expected TYPE SHAPE: VALUES", text.substr(0, 40)));
  CallInput input;
  const std::size_t at = words[0].find('@');
  const std::optional<DType> dtype = dtype_from_name(words[0].substr(0, at));
  if (!dtype) throw ParseError(fmt::format("'{}' is not a type", words[0].substr(0, 40)));
  input.dtype = *dtype;
  if (at != words[0].npos) input.via = words[0].substr(at + 1);
  if (std::ranges::find(kVias, input.via) == std::end(kVias))
    throw ParseError(fmt::format("'{}': expected one of {}", input.via, fmt::join(kVias, " ")));
  input.shape = numbers_of(words[1]);
  elements_of(input.shape);
  for (const std::string_view value : split(text.substr(colon + 1), ' ')) {
    (void)Scalar::parse(input.dtype, value);
    input.values.emplace_back(value);
  }
  if (input.values.empty()) throw ParseError("a tensor has no values");
  return input;
}

}  // namespace

bool is_call(std::string_view text) { return text.starts_with(kCall); }

std::string listed(const std::vector<std::int64_t>& numbers) {
  return numbers.empty() ? "()" : fmt::format("{}", fmt::join(numbers, ","));
}

std::vector<std::int64_t> numbers_of(std::string_view word) {
  std::vector<std::int64_t> out;
  if (word == "()") return out;
  for (const std::string_view part : split(word, ',')) out.push_back(number(part));
  if (out.empty()) throw ParseError("a list has no numbers; write ()");
  return out;
}

std::int64_t CallInput::size() const { return elements_of(shape); }

Scalar CallInput::at(std::int64_t element) const {
  if (via == "wide" && !shape.empty() && size() > 0) element %= size() / shape[0];
  return Scalar::parse(dtype, values[static_cast<std::size_t>(element) % values.size()]);
}

Call Call::parse(std::string_view text) {
  if (!is_call(text)) throw ParseError("expected 'call NAME ...'");
  const std::vector<std::string_view> parts = split(text.substr(kCall.size()), '|');
  const std::vector<std::string_view> words =
      parts.empty() ? std::vector<std::string_view>() : split(parts[0], ' ');
  if (words.empty()) throw ParseError("a call has no name");
  Call call;
  call.name = words[0];
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    if (equals == words[i].npos || equals == 0 || equals + 1 == words[i].size())
      throw ParseError(fmt::format("'{}': expected KEY=VALUE", words[i].substr(0, 40)));
    if (call.has(words[i].substr(0, equals)))
      throw ParseError(fmt::format("'{}' is given twice", words[i].substr(0, equals)));
    call.args.emplace_back(words[i].substr(0, equals), words[i].substr(equals + 1));
  }
  for (std::size_t i = 1; i < parts.size(); ++i) call.inputs.push_back(parse_call_input(parts[i]));
  return call;
}

std::string Call::str() const {
  std::string text = std::string(kCall) + name;
  for (const auto& [key, value] : args) text += fmt::format(" {}={}", key, value);
  for (const CallInput& x : inputs)
    text += fmt::format(" | {}{}{} {}: {}", touchstone::name(x.dtype), x.via.empty() ? "" : "@",
                        x.via, listed(x.shape), fmt::join(x.values, " "));
  return text;
}

std::optional<std::string_view> Call::arg(std::string_view key) const {
  for (const auto& [k, value] : args)
    if (k == key) return value;
  return std::nullopt;
}

std::string_view Call::required(std::string_view key) const {
  if (const auto given = arg(key)) return *given;
  throw ParseError(fmt::format("{} wants {}=...", name.substr(0, 40), key));
}

std::int64_t Call::whole(std::string_view key, std::int64_t otherwise) const {
  const auto given = arg(key);
  return given ? number(*given) : otherwise;
}

double Call::real(std::string_view key, double otherwise) const {
  const auto given = arg(key);
  return given ? Scalar::parse(DType::Float64, *given).to_double() : otherwise;
}

std::vector<std::int64_t> Call::list(std::string_view key,
                                     const std::vector<std::int64_t>& otherwise) const {
  const auto given = arg(key);
  return given ? numbers_of(*given) : otherwise;
}

void Call::set(std::string_view key, std::string value) {
  for (auto& [k, v] : args)
    if (k == key) {
      v = std::move(value);
      return;
    }
  args.emplace_back(key, std::move(value));
}

void Call::set(std::string_view key, const std::vector<std::int64_t>& numbers) {
  set(key, listed(numbers));
}

}  // namespace touchstone::fuzz

// The arguments of a call, converted to the types of their parameters.
#include <algorithm>
#include <charconv>
#include <limits>

#include "touchstone/base/suggest.h"
#include "touchstone/define/parts.h"

namespace touchstone::define {
namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// As our words are written: nearest_exact for nearest-exact, dcr for DCR.
std::string lowered(std::string_view word) {
  std::string out;
  for (const char c : word)
    out += c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

[[noreturn]] void wrong_kind(std::string_view name, std::string_view wanted) {
  throw ParseError(fmt::format("{} is {}", name, wanted));
}

}  // namespace

const Given* Arguments::find(std::string_view name) const {
  const auto it = given_.find(name);
  return it == given_.end() ? nullptr : &it->second;
}

std::optional<Array> Arguments::maybe(std::string_view name) const {
  const Given* given = find(name);
  if (given == nullptr) return std::nullopt;
  const auto* array = std::get_if<Array>(given);
  if (array == nullptr) wrong_kind(name, "an array or a number");
  return *array;
}
Array Arguments::array(std::string_view name) const {
  std::optional<Array> found = maybe(name);
  if (!found) throw ParseError(fmt::format("{} is missing", name));
  return *found;
}
std::int64_t Arguments::integer(std::string_view name) const {
  const Array x = array(name);
  const auto value = x.is_number() ? whole_number(x.node()->number) : std::nullopt;
  if (!value) wrong_kind(name, "a whole number below 2^63");
  return *value;
}
int Arguments::axis(std::string_view name) const {
  const std::int64_t value = integer(name);
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max())
    wrong_kind(name, "a whole number below 2^31");
  return static_cast<int>(value);
}
double Arguments::real(std::string_view name) const {
  const Array x = array(name);
  if (!x.is_number()) wrong_kind(name, "a number");
  return Scalar::parse(DType::Float64, x.node()->number).to_double();
}
std::size_t Arguments::choice(std::string_view name,
                              std::span<const std::string_view> words) const {
  const Given* given = find(name);
  const auto* word = given == nullptr ? nullptr : std::get_if<Word>(given);
  const auto* number = given == nullptr ? nullptr : std::get_if<Array>(given);
  std::string_view text;
  if (word != nullptr) text = word->text;
  if (number != nullptr && number->is_number()) text = number->node()->number;
  const std::string lower = lowered(text);
  auto found = std::ranges::find(words, lower);
  if (found == words.end()) found = std::ranges::find(words, our_word(lower));
  if (found == words.end())
    throw ParseError(
        fmt::format("{} is one of {}{}", name, fmt::join(words, ", "), did_you_mean(text, words)));
  return static_cast<std::size_t>(found - words.begin());
}
bool Arguments::flag(std::string_view name) const {
  const Given* given = find(name);
  if (const auto* word = given == nullptr ? nullptr : std::get_if<Word>(given)) {
    if (word->text != "true" && word->text != "false") wrong_kind(name, "0 or 1");
    return word->text == "true";
  }
  const std::int64_t value = integer(name);
  if (value != 0 && value != 1) wrong_kind(name, "0 or 1");
  return value == 1;
}
Sizes Arguments::sizes(std::string_view name) const {
  const Given* given = find(name);
  const auto* list = given == nullptr ? nullptr : std::get_if<Sizes>(given);
  if (list != nullptr) return *list;
  if (given != nullptr && std::holds_alternative<Word>(*given))
    wrong_kind(name, "a whole number, or a list of them");
  return {integer(name)};
}
Axes Arguments::axes(std::string_view name, const Array& of) const {
  const Given* given = find(name);
  if (given != nullptr)
    if (const auto* word = std::get_if<Word>(given)) {
      if (word->text != "all") wrong_kind(name, "an axis, a list of axes, or all");
      return all_axes(of);
    }
  Axes axes;
  for (const std::int64_t axis : sizes(name)) axes.push_back(axis_of(of, axis));
  return axes;
}
std::optional<DType> Arguments::maybe_dtype(std::string_view name) const {
  const Given* given = find(name);
  const auto* word = given == nullptr ? nullptr : std::get_if<Word>(given);
  if (word == nullptr) wrong_kind(name, "an element type, as f32");
  if (word->text == "own") return std::nullopt;
  return element_type(word->text);
}
std::string Arguments::word(std::string_view name) const {
  const Given* given = find(name);
  const auto* word = given == nullptr ? nullptr : std::get_if<Word>(given);
  if (word == nullptr) wrong_kind(name, "a word");
  return lowered(word->text);
}
DType Arguments::dtype(std::string_view name) const {
  const std::optional<DType> found = maybe_dtype(name);
  if (!found) wrong_kind(name, "an element type, as f32");
  return *found;
}

}  // namespace touchstone::define

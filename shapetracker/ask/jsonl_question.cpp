#include "touchstone/shapetracker/ask/jsonl_question.h"

#include <cmath>
#include <map>
#include <utility>

#include "touchstone/base/json_line.h"
#include "touchstone/base/suggest.h"
#include "touchstone/shapetracker/limits.h"

namespace touchstone::shapetracker::question {
namespace {

// Marks an integer beyond 64 bits that is kept as a string: JSON text never contains it.
constexpr char kLarge = '\x7f';

bool is_large(const json& value) {
  return value.is_string() && value.get_ref<const std::string&>().starts_with(kLarge);
}

/// Only for the reader. It passes integers beyond 64 bits on as text if they fit a long double: up
/// to 4,932 digits.
using Wide = nlohmann::basic_json<std::map, std::vector, std::string, bool, std::int64_t,
                                  std::uint64_t, long double>;

/// Builds the value of a line; limits nesting to that of questions and rejects duplicate members.
class LineReader final : public nlohmann::json_sax<Wide> {
 public:
  json take() { return std::move(root_); }

  bool null() override { return put(json()); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(std::int64_t value) override { return put(value); }
  bool number_unsigned(std::uint64_t value) override {
    return std::in_range<std::int64_t>(value) ? put(value) : put(kLarge + std::to_string(value));
  }
  bool number_float(long double value, const std::string& text) override {
    if (text.find_first_of(".eE") == text.npos) return put(kLarge + text);
    if (!std::isfinite(static_cast<double>(value))) out_of_range();
    return put(static_cast<double>(value));
  }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(Wide::binary_t&) override { return false; }  // JSON has none

  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    if (open_.back()->contains(name))
      throw ParseError(fmt::format("\"{}\" is given twice", name.substr(0, Limits::kQuotedText)));
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& e) override {
    constexpr int kOutOfRange = 406;
    if (e.id == kOutOfRange) out_of_range();
    throw ParseError(fmt::format("not JSON: invalid or missing at byte {}", position));
  }

 private:
  [[noreturn]] static void out_of_range() {
    throw ParseError("a number exceeds the range of a float");
  }
  json& place(json value) {
    if (open_.empty()) return root_ = std::move(value);
    json& parent = *open_.back();
    if (parent.is_object()) return parent[key_] = std::move(value);
    return parent.emplace_back(std::move(value));
  }
  bool put(json value) {
    place(std::move(value));
    return true;
  }
  bool open(json empty) {
    if (std::cmp_greater_equal(open_.size(), Limits::kQuestionDepth))
      throw ParseError(fmt::format("nested more than {} brackets deep", Limits::kQuestionDepth));
    open_.push_back(&place(std::move(empty)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  json root_;
  std::vector<json*> open_;  // open lists and objects, innermost last
  std::string key_;
};

}  // namespace

void wrong(const std::string& where, const std::string& expected, const json& found) {
  // Quotes are truncated: a number or text may be as long as the line.
  std::string text = is_large(found)         ? found.get<std::string>().substr(1)
                     : found.is_structured() ? (found.is_array() ? "a list" : "an object")
                                             : ascii_json_line(found);
  if (text.size() > Limits::kQuotedText) text = text.substr(0, Limits::kQuotedText) + "..";
  throw ParseError(fmt::format("{}: expected {}, found {}", where, expected, text));
}

json parse_line(std::string_view line) {
  LineReader reader;
  Wide::sax_parse(line.begin(), line.end(), &reader);
  return reader.take();
}

namespace {

// A name as in the question, truncated.
std::string json_name(const std::string& name) { return ascii_json_line(json(name.substr(0, 40))); }

std::int64_t number(const json& value, const std::string& where) {
  if (!value.is_number_integer()) wrong(where, "a 64-bit integer", value);
  return value.get<std::int64_t>();
}

const json& list(const json& value, const std::string& where, const char* what) {
  if (!value.is_array()) wrong(where, what, value);
  return value;
}

template <typename T>
std::vector<T> numbers(const json& value, const std::string& where) {
  std::vector<T> out;
  out.reserve(list(value, where, "a list of integers").size());
  for (const json& n : value) {
    const std::int64_t found = number(n, where);
    if (static_cast<std::int64_t>(static_cast<int>(found)) != found && std::is_same_v<T, int>)
      wrong(where, "an axis", n);
    out.push_back(static_cast<T>(found));
  }
  return out;
}

// A number, or an expression over the variables as a string.
sint entry(const json& value, const std::string& where, const Names& names) {
  if (names.empty() || !value.is_string() || is_large(value)) return number(value, where);
  const std::string& text = value.get_ref<const std::string&>();
  if (text.size() > Limits::kExpressionText)
    wrong(where, "an expression of at most 200 characters", value);
  try {
    return symbolic::parse(text, names);
  } catch (const Error& e) {
    throw ParseError(fmt::format("{}: {}", where, e.what()));
  }
}

std::vector<sint> entries(const json& value, const std::string& where, const Names& names) {
  std::vector<sint> out;
  out.reserve(list(value, where, "a list of integers").size());
  for (const json& n : value) out.push_back(entry(n, where, names));
  return out;
}

std::vector<std::pair<sint, sint>> pairs(const json& value, const std::string& where,
                                         const Names& names) {
  std::vector<std::pair<sint, sint>> out;
  for (const json& pair : list(value, where, "a list of pairs")) {
    if (!pair.is_array() || pair.size() != 2) wrong(where, "a pair of integers", pair);
    const sint begin = entry(pair[0], where, names);  // in order: the first error is reported
    out.emplace_back(begin, entry(pair[1], where, names));
  }
  return out;
}

View view(const json& value, const std::string& where, const Names& names) {
  constexpr const char* kWhat = "a view as [shape, strides, offset, mask]";
  if (list(value, where, kWhat).size() != 4)
    throw ParseError(fmt::format("{}: expected {}, found {} entries", where, kWhat, value.size()));
  std::optional<Mask> mask;
  if (!value[3].is_null()) mask = pairs(value[3], where + ": mask", names);
  const std::vector<sint> shape = entries(value[0], where + ": shape", names);
  const std::vector<sint> strides = entries(value[1], where + ": strides", names);
  return View::strided(shape, strides, entry(value[2], where + ": offset", names), std::move(mask));
}

// A list of views or operations.
const json& parts(const json& value, const std::string& where, const char* what) {
  if (list(value, where, what).size() > Limits::kQuestionParts)
    throw ParseError(fmt::format("{}: expected at most {}, found {}", where, Limits::kQuestionParts,
                                 value.size()));
  return value;
}

template <auto Move, class Argument>
Movement moved(const std::string& where, Argument argument) {
  return {where, [v = std::move(argument)](const ShapeTracker& st) { return (st.*Move)(v); }};
}

// [shape, strides, offset]
Movement as_strided(const json& value, const std::string& where, const std::string& at,
                    const Names& names) {
  constexpr const char* kWhat = "[shape, strides, offset]";
  if (list(value, at, kWhat).size() != 3) wrong(at, kWhat, value);
  return {where, [shape = entries(value[0], at + ": shape", names),
                  strides = entries(value[1], at + ": strides", names),
                  offset = entry(value[2], at + ": offset", names)](const ShapeTracker& st) {
            return st.as_strided(shape, strides, offset);
          }};
}

Movement movement(const json& value, const std::string& where, const Names& names) {
  constexpr const char* kWhat = "an operation as [\"permute\",[1,0]]";
  if (list(value, where, kWhat).size() != 2 || !value[0].is_string())
    wrong(where, kWhat, value.size() == 2 ? value[0] : value);
  const std::string& op = value[0].get_ref<const std::string&>();
  const json& arg = value[1];
  const std::string at = where + ": " + op;
  if (op == "permute") return moved<&ShapeTracker::permute>(where, numbers<int>(arg, at));
  if (op == "reshape") return moved<&ShapeTracker::reshape>(where, entries(arg, at, names));
  if (op == "expand") return moved<&ShapeTracker::expand>(where, entries(arg, at, names));
  if (op == "pad") return moved<&ShapeTracker::pad>(where, pairs(arg, at, names));
  if (op == "shrink") return moved<&ShapeTracker::shrink>(where, pairs(arg, at, names));
  if (op == "stride") return moved<&ShapeTracker::stride>(where, numbers<std::int64_t>(arg, at));
  if (op == "flip") return moved<&ShapeTracker::flip>(where, numbers<int>(arg, at));
  if (op == "as_strided") return as_strided(arg, where, at, names);
  constexpr std::string_view kOps[] = {"permute", "reshape", "expand", "pad",
                                       "shrink",  "stride",  "flip",   "as_strided"};
  if (op.size() > 40) wrong(where, "an operation", value[0]);
  throw ParseError(fmt::format("{}: there is no operation '{}'{}; known: {}", where, op,
                               did_you_mean(op, kOps), fmt::join(kOps, ", ")));
}

}  // namespace

Names variables(const json& value) {
  if (!value.is_object()) wrong("vars", "an object as {\"n\":[2,9]}", value);
  Names names;
  for (const auto& [name, range] : value.items()) {
    const std::string where = "vars: " + json_name(name);
    if (!range.is_array() || range.size() != 2)
      wrong(where, "the lower and the upper bound as [2,9]", range);
    const std::int64_t low = number(range[0], where), high = number(range[1], where);
    if (low > high)
      throw ParseError(
          fmt::format("{}: the range is empty: {} is greater than {}", where, low, high));
    try {
      names.emplace(name, symbolic::variable(name, low, high));
    } catch (const Error& e) {
      throw ParseError(fmt::format("{}: {}", where, e.what()));
    }
  }
  return names;
}

std::vector<View> views(const json& value, const Names& names) {
  std::vector<View> out;
  for (const json& entry : parts(value, "views", "a list of views")) {
    const std::string where = fmt::format("views[{}]", out.size());
    out.push_back(within(where, [&] { return view(entry, where, names); }));
  }
  if (out.empty()) throw ParseError("views: expected at least one view, found an empty list");
  return out;
}

Shape shape(const json& value, const std::string& where, const Names& names) {
  return entries(value, where, names);
}

std::vector<Movement> movements(const json& value, const Names& names) {
  std::vector<Movement> out;
  for (const json& entry : parts(value, "ops", "a list of operations"))
    out.push_back(movement(entry, fmt::format("ops[{}]", out.size()), names));
  return out;
}

bool flag(const json& question, const char* name) {
  const auto found = question.find(name);
  if (found != question.end() && !found->is_boolean()) wrong(name, "true or false", *found);
  return found != question.end() && found->get<bool>();
}

}  // namespace touchstone::shapetracker::question

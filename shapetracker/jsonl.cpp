#include "touchstone/shapetracker/jsonl.h"

#include <chrono>
#include <set>

#include <nlohmann/json.hpp>

#include "touchstone/base/suggest.h"
#include "touchstone/shapetracker/invert.h"
#include "touchstone/shapetracker/reason.h"
#include "touchstone/shapetracker/reduce.h"
#include "touchstone/shapetracker/simplify.h"
#include "touchstone/view/shapetracker.h"

namespace touchstone::shapetracker {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int kDeepest = 6;              // of brackets; the question's own go to 5
constexpr std::size_t kMostParts = 256;  // views, operations: a limit to the work of one line

[[noreturn]] void wrong(const std::string& where, const std::string& expected, const json& found) {
  // What is quoted is cut: a number or a text may be as long as the line.
  constexpr std::size_t kShown = 40;
  std::string text = found.is_structured()
                         ? (found.is_array() ? "a list" : "an object")
                         : found.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > kShown) text = text.substr(0, kShown) + "..";
  throw ParseError(fmt::format("{}: expected {}, found {}", where, expected, text));
}

// ---- in ------------------------------------------------------------------------------------

json parse_line(std::string_view line) {
  std::set<std::string> seen;
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    const bool opens =
        event == json::parse_event_t::array_start || event == json::parse_event_t::object_start;
    if (opens && depth >= kDeepest)
      throw ParseError(fmt::format("nested more than {} brackets deep", kDeepest));
    if (event == json::parse_event_t::key && depth == 1 &&
        !seen.insert(value.get<std::string>()).second)
      throw ParseError(fmt::format("\"{}\" is there twice", value.get<std::string>()));
    return true;
  };
  try {
    return json::parse(line, watch);
  } catch (const json::parse_error& e) {
    throw ParseError(fmt::format("not JSON: wrong or missing at byte {}", e.byte));
  } catch (const json::out_of_range&) {
    throw ParseError("not JSON that can be read: a number is beyond a float's range");
  }
}

// A name as the question has it, cut.
std::string json_name(const std::string& name) {
  return json(name.substr(0, 40)).dump(-1, ' ', true, json::error_handler_t::replace);
}

std::int64_t number(const json& value, const std::string& where) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX})
    wrong(where, "an integer of 64 bits", value);
  if (!value.is_number_integer()) wrong(where, "an integer of 64 bits", value);
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

/// The variables of a question, with which entries of views may be written.
using Names = std::map<std::string, symbolic::Node>;

// {"n":[2,9]}: both ends inclusive.
Names variables(const json& value) {
  if (!value.is_object()) wrong("vars", "an object as {\"n\":[2,9]}", value);
  Names names;
  for (const auto& [name, range] : value.items()) {
    const std::string where = "vars: " + json_name(name);
    if (!range.is_array() || range.size() != 2)
      wrong(where, "the least and the largest value as [2,9]", range);
    const std::int64_t low = number(range[0], where), high = number(range[1], where);
    if (low > high)
      throw ParseError(fmt::format("{}: the range is empty; {} is above {}", where, low, high));
    try {
      names.emplace(name, symbolic::variable(name, low, high));
    } catch (const Error& e) {
      throw ParseError(fmt::format("{}: {}", where, e.what()));
    }
  }
  return names;
}

// A number, or an expression of the variables as a string.
sint entry(const json& value, const std::string& where, const Names& names) {
  if (names.empty() || !value.is_string()) return number(value, where);
  constexpr std::size_t kLongest = 200;
  const std::string& text = value.get_ref<const std::string&>();
  if (text.size() > kLongest) wrong(where, "an expression of at most 200 letters", value);
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
    out.emplace_back(entry(pair[0], where, names), entry(pair[1], where, names));
  }
  return out;
}

View view(const json& value, const std::string& where, const Names& names) {
  constexpr const char* kWhat = "a view as [shape, strides, offset, mask]";
  if (list(value, where, kWhat).size() != 4)
    throw ParseError(fmt::format("{}: expected {}, found {} entries", where, kWhat, value.size()));
  std::optional<Mask> mask;
  if (!value[3].is_null()) mask = pairs(value[3], where + ": mask", names);
  return View::strided(entries(value[0], where + ": shape", names),
                       entries(value[1], where + ": strides", names),
                       entry(value[2], where + ": offset", names), std::move(mask));
}

// An error in one part says which.
template <typename Make>
auto within(const std::string& where, const Make& make) {
  try {
    return make();
  } catch (const ParseError&) {
    throw;  // says it
  } catch (const OverflowError& e) {
    throw OverflowError(where + ": " + e.what());
  } catch (const Error& e) {
    throw ShapeError(where + ": " + e.what());
  }
}

// A list of views or operations.
const json& parts(const json& value, const std::string& where, const char* what) {
  if (list(value, where, what).size() > kMostParts)
    throw ParseError(
        fmt::format("{}: expected at most {}, found {}", where, kMostParts, value.size()));
  return value;
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

/// A movement operation with its argument read.
struct Movement {
  std::string where;
  std::function<ShapeTracker(const ShapeTracker&)> apply;
};

Movement movement(const json& value, const std::string& where, const Names& names) {
  constexpr const char* kWhat = "an operation as [\"permute\",[1,0]]";
  if (list(value, where, kWhat).size() != 2 || !value[0].is_string())
    wrong(where, kWhat, value.size() == 2 ? value[0] : value);
  const std::string& op = value[0].get_ref<const std::string&>();
  const json& arg = value[1];
  const std::string at = where + ": " + op;
  if (op == "permute")
    return {where, [v = numbers<int>(arg, at)](const ShapeTracker& st) { return st.permute(v); }};
  if (op == "reshape")
    return {where, [v = entries(arg, at, names)](const ShapeTracker& st) { return st.reshape(v); }};
  if (op == "expand")
    return {where, [v = entries(arg, at, names)](const ShapeTracker& st) { return st.expand(v); }};
  if (op == "pad")
    return {where, [v = pairs(arg, at, names)](const ShapeTracker& st) { return st.pad(v); }};
  if (op == "shrink")
    return {where, [v = pairs(arg, at, names)](const ShapeTracker& st) { return st.shrink(v); }};
  if (op == "stride")
    return {where,
            [v = numbers<std::int64_t>(arg, at)](const ShapeTracker& st) { return st.stride(v); }};
  constexpr std::string_view kOps[] = {"permute", "reshape", "expand", "pad", "shrink", "stride"};
  if (op.size() > 40) wrong(where, "an operation", value[0]);
  throw ParseError(fmt::format("{}: there is no operation '{}'{}; known: {}", where, op,
                               did_you_mean(op, kOps), fmt::join(kOps, ", ")));
}

// ---- reduce --------------------------------------------------------------------------------

struct Reduced {
  std::vector<View> before;
  std::vector<View> after;
  std::optional<MergeResult> whole;  // of all of `before`
  std::int64_t ns = 0;
};

// The stack with every address `by` higher; where nothing is read there is nothing to move.
std::vector<View> moved(std::vector<View> stack, std::int64_t by) {
  const View& base = stack.front();
  if (by == 0 || base.nothing_valid()) return stack;
  stack.front() = View::trusted(base.shape(), base.strides(), base.offset() + by, base.mask());
  return stack;
}

std::int64_t nanoseconds_since(Clock::time_point start) {
  return std::chrono::nanoseconds(Clock::now() - start).count();
}

// As a ShapeTracker asks, in the words of the question.
void require_within(const std::vector<View>& stack) {
  for (std::size_t i = 1; i < stack.size(); ++i) {
    if (stack[i].nothing_valid()) continue;
    const auto [low, high] = address_range(stack[i]);
    const std::int64_t size = stack[i - 1].size().as_int();
    if (low.as_int() < 0 || high.as_int() >= size)
      throw ShapeError(
          fmt::format("views[{}]: reads elements {} to {} of views[{}], which has {}; "
                      "mask or shrink it",
                      i, low.as_int(), high.as_int(), i - 1, size));
  }
}

bool is_concrete(const View& view) { return view.is_concrete(); }

// With variables the addresses must not be negative: how far to move them is no number.
Reduced reduce_symbolic(std::vector<View> stack) {
  const ShapeTracker tracker = within("views", [&] { return ShapeTracker(stack); });
  const auto start = Clock::now();
  Reduction reduced = shapetracker::reduce(tracker.views());
  const std::int64_t ns = nanoseconds_since(start);
  return {std::move(stack), std::move(reduced.views), std::move(reduced.whole), ns};
}

Reduced reduce_question(std::vector<View> stack) {
  if (!std::ranges::all_of(stack, is_concrete)) return reduce_symbolic(std::move(stack));
  require_within(stack);
  const View& base = stack.front();
  const std::int64_t lowest =
      base.nothing_valid() ? 0 : std::min<std::int64_t>(address_range(base).first.as_int(), 0);
  const std::int64_t up =
      within("views[0]: lowest address", [&] { return checked_sub(0, lowest); });
  const ShapeTracker tracker = within("views[0]", [&] { return ShapeTracker(moved(stack, up)); });
  const auto start = Clock::now();
  const Reduction reduced = shapetracker::reduce(tracker.views());
  const std::int64_t ns = nanoseconds_since(start);
  return {std::move(stack), moved(reduced.views, -up), reduced.whole, ns};
}

Reduced apply(const json& base, const json& ops, const Names& names) {
  ShapeTracker tracker =
      within("base", [&] { return ShapeTracker::contiguous(entries(base, "base", names)); });
  std::vector<Movement> movements;
  for (const json& entry : parts(ops, "ops", "a list of operations"))
    movements.push_back(movement(entry, fmt::format("ops[{}]", movements.size()), names));
  const auto start = Clock::now();
  for (const Movement& m : movements)
    tracker = within(m.where, [&] { return merge_outermost(m.apply(tracker)); });
  Reduction reduced = shapetracker::reduce(tracker.views());
  const std::int64_t ns = nanoseconds_since(start);
  return {tracker.views(), std::move(reduced.views), std::move(reduced.whole), ns};
}

// What `single` is, and what proves it.
std::string why(const Reduced& reduced) {
  const bool single = reduced.after.size() == 1;
  if (single && reduced.before.size() == 1) return "one view";
  const std::vector<View>& stack = single || reduced.whole ? reduced.before : reduced.after;
  Reason because;
  if (reduced.whole) {
    const Explanation explained = explain_merge(stack, *reduced.whole);
    because = {explained.result.answer == MergeAnswer::Merged,
               explained.result.answer != MergeAnswer::OverBudget, reason(stack, explained)};
  } else {
    because = reason(stack);  // with variables
  }
  if (!because.decided && !single) return because.text;
  return single ? fmt::format("{} views are one: {}", stack.size(), because.text)
                : "no single view: " + because.text;
}

// ---- out -----------------------------------------------------------------------------------

using Out = fmt::memory_buffer;

void put(Out& out, std::string_view text) { out.append(text); }

void put(Out& out, std::int64_t value) { fmt::format_to(std::back_inserter(out), "{}", value); }

std::string json_text(std::string_view text) {
  return json(text).dump(-1, ' ', true, json::error_handler_t::replace);
}

void put(Out& out, const sint& value) {
  if (value.is_int())
    put(out, value.as_int());
  else
    put(out, json_text(value.str()));
}

void put(Out& out, const Range& range) {
  put(out, "[");
  put(out, range.first);
  put(out, ",");
  put(out, range.second);
  put(out, "]");
}

void put(Out& out, const View& view);

template <typename T>
void put(Out& out, const std::vector<T>& values) {
  put(out, "[");
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) put(out, ",");
    put(out, values[i]);
  }
  put(out, "]");
}

void put(Out& out, const View& view) {
  put(out, "[");
  put(out, view.shape());
  put(out, ",");
  put(out, view.strides());
  put(out, ",");
  put(out, view.offset());
  put(out, ",");
  if (view.mask())
    put(out, *view.mask());
  else
    put(out, "null");
  put(out, "]");
}

// `,"inverse":..,"bijection":..` for the stack as reduced.
void put_inverse(Out& out, const std::vector<View>& stack) {
  Inverse inverse;
  const View& base = stack.front();
  // An address below 0 is outside [0, N), so there is nothing to invert.
  if (base.nothing_valid() || address_range(base).first.as_int() >= 0)
    inverse = invert(ShapeTracker(stack));
  put(out, ",\"inverse\":");
  if (inverse.tracker)
    put(out, inverse.tracker->views());
  else
    put(out, "null");
  put(out, inverse.bijection ? ",\"bijection\":true" : ",\"bijection\":false");
}

std::string answer(const json& question) {
  if (!question.is_object())
    wrong("question", "an object, {\"views\":[..]} or {\"base\":[..],\"ops\":[..]}", question);
  const auto stack = question.find("views"), base = question.find("base"),
             ops = question.find("ops");
  const bool has_views = stack != question.end(), has_base = base != question.end();
  if (has_views == has_base) throw ParseError("expected either \"views\" or \"base\" with \"ops\"");
  if (has_base && ops == question.end()) throw ParseError("ops: missing beside \"base\"");
  if (has_views && ops != question.end())
    throw ParseError("ops: go with \"base\", not with \"views\"");
  const auto inverse = question.find("invert");
  if (inverse != question.end() && !inverse->is_boolean())
    wrong("invert", "true or false", *inverse);
  const auto vars = question.find("vars");
  const Names names = vars == question.end() ? Names() : variables(*vars);
  const Reduced reduced =
      has_views ? reduce_question(views(*stack, names)) : apply(*base, *ops, names);
  Out out;
  put(out, "{\"views\":");
  put(out, reduced.after);
  put(out, ",\"single\":");
  if (reduced.after.size() == 1)
    put(out, reduced.after.front());
  else
    put(out, "null");
  put(out, ",\"why\":");
  put(out, json_text(why(reduced)));
  put(out, ",\"ns\":");
  put(out, reduced.ns);
  if (inverse != question.end() && inverse->get<bool>()) put_inverse(out, reduced.after);
  put(out, "}");
  return fmt::to_string(out);
}

}  // namespace

std::string answer_json(std::string_view question) {
  try {
    return answer(parse_line(question));
  } catch (const Error& e) {
    return "{\"error\":" + json_text(e.what()) + "}";
  } catch (const std::bad_alloc&) {
    return "{\"error\":\"out of memory\"}";
  }
}

}  // namespace touchstone::shapetracker

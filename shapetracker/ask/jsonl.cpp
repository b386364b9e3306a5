#include "touchstone/shapetracker/ask/jsonl.h"

#include <chrono>

#include "touchstone/base/json_line.h"
#include "touchstone/shapetracker/ask/access.h"
#include "touchstone/shapetracker/ask/check.h"
#include "touchstone/shapetracker/ask/jsonl_question.h"
#include "touchstone/shapetracker/ask/reason.h"
#include "touchstone/shapetracker/index/shortest_index.h"
#include "touchstone/shapetracker/invert/invert.h"
#include "touchstone/shapetracker/merge/reduce.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone {

static void to_json(nlohmann::ordered_json& out, const sint& value) {
  if (value.is_int())
    out = value.as_int();
  else
    out = value.str();
}

}  // namespace touchstone

namespace touchstone::shapetracker {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using question::flag;
using question::Movement;
using question::Names;
using question::parse_line;
using question::variables;
using question::views;
using question::within;
using question::wrong;
using Clock = std::chrono::steady_clock;

// ---- reduce --------------------------------------------------------------------------------

struct Reduced {
  std::vector<View> before;
  std::vector<View> after;
  std::optional<MergeResult> whole;  // of all of `before`
  bool limited = false;              // fewer views may exist
  std::int64_t ns = 0;
};

// The stack with every address moved up by `by`; nothing to move if nothing is read.
std::vector<View> moved(std::vector<View> stack, std::int64_t by) {
  const View& base = stack.front();
  if (by == 0 || base.nothing_valid()) return stack;
  stack.front() = View::trusted(base.shape(), base.strides(), base.offset() + by, base.mask());
  return stack;
}

std::int64_t nanoseconds_since(Clock::time_point start) {
  return std::chrono::nanoseconds(Clock::now() - start).count();
}

// The check of ShapeTracker, with errors in terms of the question.
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

// With variables, addresses must not be negative: the offset to move them by is symbolic.
Reduced reduce_symbolic(std::vector<View> stack) {
  const ShapeTracker tracker = within("views", [&] { return ShapeTracker(stack); });
  const auto start = Clock::now();
  Reduction reduced = shapetracker::reduce(tracker.views());
  const std::int64_t ns = nanoseconds_since(start);
  return {std::move(stack), std::move(reduced.views), std::move(reduced.whole), reduced.limited,
          ns};
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
  return {std::move(stack), moved(reduced.views, -up), reduced.whole, reduced.limited, ns};
}

Reduced apply(const json& base, const json& ops, const Names& names) {
  ShapeTracker tracker = within(
      "base", [&] { return ShapeTracker::contiguous(question::shape(base, "base", names)); });
  const std::vector<Movement> movements = question::movements(ops, names);
  const auto start = Clock::now();
  for (const Movement& m : movements)
    tracker = within(m.where, [&] { return merge_outermost(m.apply(tracker)); });
  Reduction reduced = shapetracker::reduce(tracker.views());
  const std::int64_t ns = nanoseconds_since(start);
  return {tracker.views(), std::move(reduced.views), std::move(reduced.whole), reduced.limited, ns};
}

/// The reason why a `single` view exists or not.
struct Proof {
  std::string why;
  std::optional<Witness> witness{};  // if there is no single view,
  symbolic::Values values{};         // for these values of the variables,
  std::vector<View> stack{};         // for this concrete stack
};

Proof proof_of(const Reduced& reduced) {
  const bool single = reduced.after.size() == 1;
  if (single && reduced.before.size() == 1) return {"one view"};
  const std::vector<View>& stack = single || reduced.whole ? reduced.before : reduced.after;
  const std::string merged = fmt::format("{} views are one: ", stack.size());
  constexpr const char* kNone = "no single view: ";
  if (reduced.whole) {
    Explanation explained = explain_merge(stack, *reduced.whole);
    const std::string text = reason(stack, explained);
    if (single) return {merged + text};
    if (explained.result.answer == MergeAnswer::OverBudget) return {text};
    return {kNone + text, std::move(explained.witness), {}, stack};
  }
  SymbolicReason because = symbolic_reason(stack);  // with variables
  if (single) return {merged + because.text};
  if (!because.decided) return {because.text};
  return {kNone + because.text, std::move(because.witness), std::move(because.values),
          std::move(because.bound)};
}

// ---- out -----------------------------------------------------------------------------------

template <typename T>
ordered_json or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

ordered_json value_of(const View& view) {
  return ordered_json::array({view.shape(), view.strides(), view.offset(), or_null(view.mask())});
}

ordered_json value_of(const std::vector<View>& views) {
  ordered_json list = ordered_json::array();
  for (const View& view : views) list.push_back(value_of(view));
  return list;
}

// Adds `"inverse":..,"bijection":..` for the reduced stack.
void add_inverse(ordered_json& out, const std::vector<View>& stack) {
  Inverse inverse;
  const View& base = stack.front();
  // An address below 0 is outside [0, N), so there is no inverse.
  if (base.nothing_valid() || address_range(base).first.as_int() >= 0)
    inverse = invert(ShapeTracker(stack));
  out["inverse"] = inverse.tracker ? value_of(inverse.tracker->views()) : ordered_json();
  out["bijection"] = inverse.bijection;
}

// A step of the index with the resulting change of the address, which the strides would have to
// match.
ordered_json step(const Proof& proof, std::size_t from) {
  const auto& points = proof.witness->points;
  return {
      {"from", points[from]},
      {"to", points[from + 1]},
      {"step", *evaluate(proof.stack, points[from + 1]) - *evaluate(proof.stack, points[from])}};
}

const char* kind_name(Witness::Kind kind) {
  switch (kind) {
    case Witness::Kind::Hole: return "hole";
    case Witness::Kind::Bend: return "bend";
    case Witness::Kind::TooFar: return "too far";
    case Witness::Kind::NoAxis: return "no axis";
  }
  return "";
}

// `{"kind":"bend","points":[..],"reads":[..],"needs":[..]}`: indices, the address or null read at
// each, and the requirements that no single view can meet at once.
ordered_json witness(const Proof& proof) {
  const auto& [kind, points] = *proof.witness;
  ordered_json out = {{"kind", kind_name(kind)}};
  if (!proof.values.empty()) out["values"] = proof.values;
  out["points"] = points;
  ordered_json& reads = out["reads"] = ordered_json::array();
  for (const auto& point : points) reads.push_back(or_null(evaluate(proof.stack, point)));
  if (kind == Witness::Kind::Bend)
    out["needs"] = {step(proof, 0), step(proof, 2)};
  else if (kind == Witness::Kind::Hole)
    out["needs"] = ordered_json::array({{{"at", points.back()}, {"valid", true}}});
  return out;
}

// `{"indices":["idx0"],"index":"..","valid":"..",..}`: the cheapest address and condition found,
// with their costs.
ordered_json expressions(const Reduced& reduced) {
  const PlainIndex expr = cheapest_index(ShapeTracker::trusted(reduced.after), reduced.before);
  const IndexCost costs = cost(expr);
  return {{"indices", expr.indices},
          {"index", bounded_text(expr.exprs, expr.index)},
          {"valid", bounded_text(expr.exprs, expr.valid)},
          {"divisions", costs.divisions},
          {"modulos", costs.modulos},
          {"parts", costs.steps}};
}

// Adds `"real_strides":[4,null],"real_offset":0`; null for an axis without a real stride.
void add_strides(ordered_json& out, const std::vector<View>& stack) {
  const ShapeTracker tracker = ShapeTracker::trusted(stack);
  ordered_json& strides_of = out["real_strides"] = ordered_json::array();
  for (const auto& stride : real_strides(tracker)) strides_of.push_back(or_null(stride));
  out["real_offset"] = real_offset(tracker);
}

ordered_json answer(const json& question) {
  if (!question.is_object())
    wrong("question", "an object, {\"views\":[..]} or {\"base\":[..],\"ops\":[..]}", question);
  const auto stack = question.find("views"), base = question.find("base"),
             ops = question.find("ops");
  const bool has_views = stack != question.end(), has_base = base != question.end();
  if (has_views == has_base) throw ParseError("expected either \"views\" or \"base\" with \"ops\"");
  if (has_base && ops == question.end()) throw ParseError("ops: missing; \"base\" needs it");
  if (has_views && ops != question.end()) throw ParseError("ops: needs \"base\", not \"views\"");
  const bool inverse = flag(question, "invert"), expr = flag(question, "expr"),
             strides = flag(question, "real_strides");
  const auto vars = question.find("vars");
  const Names names = vars == question.end() ? Names() : variables(*vars);
  const Reduced reduced =
      has_views ? reduce_question(views(*stack, names)) : apply(*base, *ops, names);
  const Proof proof = proof_of(reduced);
  ordered_json out = {{"views", value_of(reduced.after)}};
  out["single"] = reduced.after.size() == 1 ? value_of(reduced.after.front()) : ordered_json();
  out["why"] = proof.why;
  if (proof.witness) out["witness"] = witness(proof);
  if (reduced.limited) out["limited"] = true;
  out["ns"] = reduced.ns;
  if (inverse) add_inverse(out, reduced.after);
  if (strides) add_strides(out, reduced.after);
  if (expr) out["expr"] = expressions(reduced);
  return out;
}

}  // namespace

std::string answer_json(std::string_view line) {
  try {
    if (line.find_first_not_of(" \t\r") == std::string::npos)
      throw ParseError("the line is blank; give a question, as {\"base\":[2],\"ops\":[]}");
    return ascii_json_line(answer(parse_line(line)));
  } catch (const Error& e) {
    return ascii_json_line(ordered_json{{"error", e.what()}});
  } catch (const std::bad_alloc&) {
    return ascii_json_line(ordered_json{{"error", "out of memory"}});
  }
}

}  // namespace touchstone::shapetracker

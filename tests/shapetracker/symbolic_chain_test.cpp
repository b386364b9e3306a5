// Chains of movement operations with up to four variables, against their defined addresses at every
// combination of values.
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <optional>

#include "symbolic_chains.h"
#include "touchstone/shapetracker/ask/access.h"
#include "touchstone/shapetracker/index/index_expr.h"
#include "touchstone/shapetracker/index/plain_index.h"
#include "touchstone/shapetracker/index/shortest_index.h"
#include "touchstone/shapetracker/invert/movement_ops.h"
#include "touchstone/shapetracker/merge/simplify.h"
#include "touchstone/shapetracker/symbolic/symbolic_merge.h"

namespace touchstone {
namespace {

using model::Array;
using model::Ints;
using model::materialise;
using model::SymbolicChain;
using symbolic::Node;
using symbolic::Values;

// Expects the tracker, reshaped, to read the chain's addresses.
void expect_same(const SymbolicChain& chain, const ShapeTracker& tracker, const std::string& what) {
  for (std::size_t i = 0; i < chain.bindings.size(); ++i)
    if (const Array found = materialise(tracker.bind(chain.bindings[i])); found != chain.arrays[i])
      RC_FAIL(fmt::format("{}: {} with {}: {}", chain.text(), what,
                          shapetracker::str(chain.bindings[i]), tracker.str()));
}

RC_GTEST_PROP(SymbolicChain, ReadsWhatItsOperationsDefine,
              (const touchstone::testing::VariableChain& drawn)) {
  const SymbolicChain chain(drawn);
  expect_same(chain, chain.tracker, "as composed");
  RC_ASSERT(chain.tracker.max_size() >= chain.largest());
}

/// A size that parses to another spelling of itself, which is rare.
bool is_another_size(const ShapeError& error) {
  return std::string(error.what()).starts_with("expand: ");
}

TEST(SymbolicChain, OfTwoHundredOperationsIsNearlyAlwaysReadAsDrawn) {
  constexpr int kChains = 1'000;
  int otherwise = 0;
  for (std::uint64_t seed = 0; seed < kChains; ++seed) {
    fuzz::RandomChooser chooser(seed * 7919 + 13, 0);
    try {
      (void)testing::Chain::of(fuzz::draw_symbolic_chain(chooser, 200)).tracker();
    } catch (const ShapeError& error) {
      EXPECT_TRUE(is_another_size(error)) << error.what();
      ++otherwise;
    }
  }
  EXPECT_LE(otherwise, kChains / 200);
}

// Two hundred operations; the variables' bounds allow many of them.
RC_GTEST_PROP(SymbolicChain, OfTwoHundredOperationsReadsWhatTheyDefine, (std::uint64_t seed)) {
  fuzz::RandomChooser chooser(seed, 0);
  const auto drawn = fuzz::draw_symbolic_chain(chooser, 200);
  std::optional<SymbolicChain> read;
  try {
    read.emplace(touchstone::testing::Chain::of(drawn));
  } catch (const ShapeError& error) {
    RC_ASSERT(is_another_size(error));
    RC_DISCARD("one size of products of quotients, as drawn and as read");
  }
  const SymbolicChain& chain = *read;
  for (std::size_t i = 0; i < chain.bindings.size(); ++i) {
    const ShapeTracker bound = chain.tracker.bind(chain.bindings[i]);
    RC_ASSERT(materialise(bound) == chain.arrays[i]);
    RC_ASSERT(materialise(simplify(bound)) == chain.arrays[i]);
  }
  (void)bounded_text(expr_idxs(chain.tracker).index);  // any length
  RC_ASSERT(chain.tracker.str().size() < 1'000'000);
}

// The values of the tracker's own variables.
Values own_values(const ShapeTracker& tracker, const Values& binding) {
  Values own;
  for (const Node& variable : tracker.vars())
    own.emplace(variable_name(variable), binding.at(variable_name(variable)));
  return own;
}

// Addresses above 2^33: the same chain over a buffer with larger strides.
RC_GTEST_PROP(SymbolicChain, FarApartReadsTheSameFurtherApart,
              (const touchstone::testing::VariableChain& drawn)) {
  const SymbolicChain chain(drawn);
  constexpr std::int64_t kApart = (std::int64_t{1} << 33) + 7;
  std::vector<View> views = chain.tracker.views();
  const View& base = views.front();
  Strides strides;
  for (const sint& stride : base.strides()) strides.push_back(stride * kApart);
  views.front() =
      View::trusted(base.shape(), std::move(strides), base.offset() * kApart, base.mask());
  const ShapeTracker far = ShapeTracker::trusted(views);
  const ShapeTracker simple = simplify(far);
  const IndexExpr expr = shapetracker::shortest_idxs(far, axis_indices(far));
  for (std::size_t b = 0; b < chain.bindings.size(); ++b) {
    const Array found = materialise(far.bind(chain.bindings[b]));
    RC_ASSERT(materialise(simple.bind(chain.bindings[b])) == found);
    for (std::size_t i = 0; i < found.address.size(); i += 1 + found.address.size() / 10) {
      const std::int64_t near = chain.arrays[b].address[i];
      RC_ASSERT(found.address[i] == (near < 0 ? -1 : near * kApart));
      Values values = own_values(far, chain.bindings[b]);
      const Ints index = model::unravel(static_cast<std::int64_t>(i), found.shape);
      for (std::size_t a = 0; a < index.size(); ++a)
        values[fmt::format("{}{}", index_prefix(far), a)] = index[a];
      const bool valid = symbolic::evaluate(expr.valid, values) != 0;
      if ((valid ? symbolic::evaluate(expr.index, values) : -1) != found.address[i])
        RC_FAIL(fmt::format("{}: {} if {}", far.str(), render(expr.index), render(expr.valid)));
    }
  }
}

RC_GTEST_PROP(SymbolicChain, MinifiedReadsTheSameElementsInOrder,
              (const touchstone::testing::VariableChain& drawn)) {
  const SymbolicChain chain(drawn);
  std::vector<View> views = chain.tracker.views();
  const View small = views.back().minify();
  RC_ASSERT(small.rank() <= std::max(views.back().rank(), 1));
  if (small.is_concrete()) RC_ASSERT(small.minify() == small);
  views.back() = small;
  const ShapeTracker minified = ShapeTracker::trusted(views);
  for (std::size_t i = 0; i < chain.bindings.size(); ++i)
    if (materialise(minified.bind(chain.bindings[i])).address != chain.arrays[i].address)
      RC_FAIL(chain.text() + ": " + minified.str());
}

RC_GTEST_PROP(SymbolicChain, ConsecutiveIsRowMajorWithEveryValue,
              (const touchstone::testing::VariableChain& drawn)) {
  const SymbolicChain chain(drawn);
  if (!chain.tracker.consecutive()) return;
  for (const Array& array : chain.arrays)
    for (std::size_t i = 0; i < array.address.size(); ++i)
      RC_ASSERT(array.address[i] == array.address[0] + static_cast<std::int64_t>(i));
}

// In every other chain, gives variables the names that axes would have.
SymbolicChain maybe_with_taken_names(const touchstone::testing::Chain& chain) {
  return SymbolicChain(chain.text().size() % 2 == 0 ? chain : model::with_taken_names(chain));
}

// Evaluates by the operators' definitions.
std::int64_t value_of(const symbolic::Exprs& exprs, symbolic::Expr e, const Values& values) {
  using symbolic::ExprOp;
  if (exprs.is_constant(e)) return *exprs.value(e).small();
  if (exprs.op(e) == ExprOp::Variable) return values.at(exprs.name(e));
  if (exprs.op(e) == ExprOp::And)  // arguments after a false condition are not evaluated
    return static_cast<std::int64_t>(std::ranges::all_of(
        exprs.args(e), [&](symbolic::Expr arg) { return value_of(exprs, arg, values) != 0; }));
  Ints args;
  for (const symbolic::Expr arg : exprs.args(e)) args.push_back(value_of(exprs, arg, values));
  const auto floored = [&] {
    if (args[1] == 0) throw Error("division by zero in " + render(exprs, e));
    return args[0] / args[1] - (args[0] % args[1] != 0 && (args[0] < 0) != (args[1] < 0) ? 1 : 0);
  };
  switch (exprs.op(e)) {
    case ExprOp::Add: return args[0] + args[1];
    case ExprOp::Sub: return args[0] - args[1];
    case ExprOp::Neg: return -args[0];
    case ExprOp::Mul: return args[0] * args[1];
    case ExprOp::Div: return floored();
    case ExprOp::Mod: return args[0] - floored() * args[1];
    case ExprOp::Ge: return static_cast<std::int64_t>(args[0] >= args[1]);
    case ExprOp::Lt: return static_cast<std::int64_t>(args[0] < args[1]);
    case ExprOp::Min: return std::ranges::min(args);
    case ExprOp::Max: return std::ranges::max(args);
    default: throw Error("an operator that no index is written with: " + render(exprs, e));
  }
}

// The values of the variables and of a flat element's indices.
Values values_at(const ShapeTracker& tracker, const Values& binding, const Array& array,
                 std::int64_t flat) {
  const std::string prefix = index_prefix(tracker);
  Values values = own_values(tracker, binding);
  const std::size_t variables = values.size();
  const Ints index = model::unravel(flat, array.shape);
  for (std::size_t a = 0; a < index.size(); ++a) values[fmt::format("{}{}", prefix, a)] = index[a];
  values[prefix] = flat;
  RC_ASSERT(values.size() == variables + index.size() + 1);  // all names differ
  return values;
}

RC_GTEST_PROP(SymbolicChain, ExpressionsGiveTheAddresses,
              (const touchstone::testing::VariableChain& drawn)) {
  const SymbolicChain chain = maybe_with_taken_names(drawn);
  const IndexExpr by_axis = expr_idxs(chain.tracker), flat = expr_node(chain.tracker);
  const shapetracker::PlainIndex plain = shapetracker::plain_index(chain.tracker.views());
  for (std::size_t b = 0; b < chain.bindings.size(); ++b)
    for (std::int64_t i = 0; i < std::ssize(chain.arrays[b].address);
         i += 1 + std::ssize(chain.arrays[b].address) / 20) {
      const Values values = values_at(chain.tracker, chain.bindings[b], chain.arrays[b], i);
      const std::int64_t wanted = chain.arrays[b].address[static_cast<std::size_t>(i)];
      for (const IndexExpr& expr : {by_axis, flat}) {
        const std::int64_t found = symbolic::evaluate(expr.valid, values) != 0
                                       ? symbolic::evaluate(expr.index, values)
                                       : -1;
        if (found != wanted)
          RC_FAIL(fmt::format("{} with {}: {} where {}", chain.text(), shapetracker::str(values),
                              render(expr.index), render(expr.valid)));
      }
      const std::int64_t valid = value_of(plain.exprs, plain.valid, values);
      if ((valid != 0 ? value_of(plain.exprs, plain.index, values) : -1) != wanted)
        RC_FAIL(fmt::format("{} with {}: {} where {}", chain.text(), shapetracker::str(values),
                            render(plain.exprs, plain.index), render(plain.exprs, plain.valid)));
    }
}

// If all strides are known, they and the offset give every address; an unmasked axis does not
// affect validity.
RC_GTEST_PROP(SymbolicChain, StridesAndOffsetSayTheAddresses,
              (const touchstone::testing::VariableChain& drawn)) {
  const SymbolicChain chain = maybe_with_taken_names(drawn);
  const auto strides = real_strides(chain.tracker, true);
  const sint offset = real_offset(chain.tracker);
  const bool known = std::ranges::all_of(strides, [](const auto& s) { return s.has_value(); });
  for (std::size_t b = 0; b < chain.bindings.size(); ++b) {
    const Array& array = chain.arrays[b];
    for (std::int64_t i = 0; i < std::ssize(array.address); ++i) {
      const std::int64_t here = array.address[static_cast<std::size_t>(i)];
      Ints index = model::unravel(i, array.shape);
      std::int64_t address = known && here >= 0 ? offset.evaluate(chain.bindings[b]) : 0;
      for (std::size_t axis = 0; axis < index.size(); ++axis) {
        if (known && here >= 0) address += index[axis] * strides[axis]->evaluate(chain.bindings[b]);
        if (++index[axis] < array.shape[axis]) {
          const std::int64_t there = array.at(index);
          if (here >= 0 && there >= 0 && strides[axis] &&
              there - here != strides[axis]->evaluate(chain.bindings[b]))
            RC_FAIL(
                fmt::format("{}: axis {} has stride {}", chain.text(), axis, strides[axis]->str()));
          if ((here < 0) != (there < 0) && !axis_is_masked(chain.tracker, static_cast<int>(axis)))
            RC_FAIL(fmt::format("{}: axis {} is masked", chain.text(), axis));
        }
        --index[axis];
      }
      if (known && here >= 0 && address != here)
        RC_FAIL(fmt::format("{}: offset {}", chain.text(), offset.str()));
    }
  }
}

// Returned operations reproduce the tracker's addresses; there may be none.
RC_GTEST_PROP(SymbolicChain, MovementOpsAreTakenAndGiveTheAddresses,
              (const touchstone::testing::VariableChain& drawn)) {
  const SymbolicChain chain(drawn);
  std::vector<MovementOp> ops;
  try {
    ops = to_movement_ops(chain.tracker);
  } catch (const ShapeError& error) {
    RC_TAG(std::string("none found"));
    if (std::string(error.what()).find("are proved correct") == std::string::npos)
      RC_FAIL(chain.text() + ": " + error.what());
    if (std::getenv("TOUCHSTONE_SHOW") != nullptr)
      std::printf("%s: %s\n", chain.text().c_str(), error.what());
    return;
  }
  ShapeTracker made = ShapeTracker::contiguous({chain.tracker.real_size()});
  std::string story;
  try {
    for (const MovementOp& op : ops) {
      story += ", " + op.str();
      made = apply(made, op);
    }
  } catch (const ShapeError& error) {
    RC_FAIL(chain.text() + story + ": " + error.what());
  }
  expect_same(chain, made, story);
}

// Substitutes variables for each other simultaneously, and numbers for some.
RC_GTEST_PROP(SymbolicChain, SubstitutedReadsAsWithTheValuesOfTheExpressions,
              (const touchstone::testing::VariableChain& drawn)) {
  const SymbolicChain chain(drawn);
  std::map<std::string, Node> replacements;
  for (const auto& [name, low, high] : chain.variables) {
    const Node other = symbolic::variable("n", low, high);
    switch (*rc::gen::inRange(0, 4)) {
      case 0: replacements.emplace(name, Node(*rc::gen::inRange(low, high + 1))); break;
      case 1: replacements.emplace(name, other); break;
      case 2:
        replacements.emplace(name, Node(high + low) - symbolic::variable("m", low, high));
        break;
      default: break;
    }
  }
  const ShapeTracker put = chain.tracker.substitute(replacements);
  for (std::size_t i = 0; i < chain.bindings.size(); ++i) {
    // The values of the substituted variables that match this binding.
    for (std::int64_t n = 0; n <= 5; ++n)
      for (std::int64_t m = 0; m <= 5; ++m) {
        Values inner = chain.bindings[i];
        inner["n"] = n;
        inner["m"] = m;
        bool same = true;
        for (const auto& [name, low, high] : chain.variables) {
          const auto found = replacements.find(name);
          const Node node =
              found == replacements.end() ? symbolic::variable(name, low, high) : found->second;
          for (const Node& variable : symbolic::variables(node)) {
            const std::int64_t value = inner.at(symbolic::variable_name(variable));
            same = same && variable.min() <= value && value <= variable.max();
          }
          same = same && symbolic::evaluate(node, inner) == chain.bindings[i].at(name);
        }
        if (same && materialise(put.bind(inner)) != chain.arrays[i])
          RC_FAIL(chain.text() + ": " + put.str());
      }
  }
}

}  // namespace
}  // namespace touchstone

// Chains of movement operations with up to four variables, against the addresses that they define
// with every combination of their values.
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "symbolic_chains.h"
#include "touchstone/shapetracker/movement_ops.h"
#include "touchstone/shapetracker/symbolic_merge.h"

namespace touchstone {
namespace {

using model::Array;
using model::Draws;
using model::Ints;
using model::materialise;
using model::SymbolicChain;
using symbolic::Node;
using symbolic::Values;

// A tracker that must read what the chain defines, reshaped.
void expect_same(const SymbolicChain& chain, const ShapeTracker& tracker, const std::string& what) {
  for (std::size_t i = 0; i < chain.bindings.size(); ++i)
    if (const Array found = materialise(tracker.bind(chain.bindings[i])); found != chain.arrays[i])
      RC_FAIL(fmt::format("{}: {} with {}: {}", chain.text(), what,
                          shapetracker::str(chain.bindings[i]), tracker.str()));
}

RC_GTEST_PROP(SymbolicChain, ReadsWhatItsOperationsDefine, ()) {
  Draws draws(*model::any_draws(200));
  const SymbolicChain chain = model::any_symbolic_chain(draws, 7);
  expect_same(chain, chain.tracker, "as composed");
  RC_ASSERT(chain.tracker.max_size() >= chain.largest());
}

RC_GTEST_PROP(SymbolicChain, MinifiedReadsTheSameElementsInOrder, ()) {
  Draws draws(*model::any_draws(200));
  const SymbolicChain chain = model::any_symbolic_chain(draws, 7);
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

RC_GTEST_PROP(SymbolicChain, ConsecutiveIsRowMajorWithEveryValue, ()) {
  Draws draws(*model::any_draws(200));
  const SymbolicChain chain = model::any_symbolic_chain(draws, 3);
  if (!chain.tracker.consecutive()) return;
  for (const Array& array : chain.arrays)
    for (std::size_t i = 0; i < array.address.size(); ++i)
      RC_ASSERT(array.address[i] == array.address[0] + static_cast<std::int64_t>(i));
}

// What was found, for how many: an answer may be that there is none.
RC_GTEST_PROP(SymbolicChain, MovementOpsAreTakenAndGiveTheAddresses, ()) {
  Draws draws(*model::any_draws(200));
  const SymbolicChain chain = model::any_symbolic_chain(draws, 7);
  std::vector<MovementOp> ops;
  try {
    ops = to_movement_ops(chain.tracker);
  } catch (const ShapeError& error) {
    RC_TAG(std::string("none found"));
    if (std::string(error.what()).find("no operations found") == std::string::npos)
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

// Variables put for each other at once, and numbers for some of them.
RC_GTEST_PROP(SymbolicChain, SubstitutedReadsAsWithTheValuesOfTheExpressions, ()) {
  Draws draws(*model::any_draws(200));
  const SymbolicChain chain = model::any_symbolic_chain(draws);
  std::map<std::string, Node> replacements;
  for (const auto& [name, low, high] : chain.variables) {
    const Node other = symbolic::variable("n", low, high);
    switch (draws.below(4)) {
      case 0:
        replacements.emplace(name, Node(draws.between(low, high)));
        break;
      case 1:
        replacements.emplace(name, other);
        break;
      case 2:
        replacements.emplace(name, Node(high + low) - symbolic::variable("m", low, high));
        break;
      default:
        break;
    }
  }
  const ShapeTracker put = chain.tracker.substitute(replacements);
  for (std::size_t i = 0; i < chain.bindings.size(); ++i) {
    // The values of the variables that are put in, wherever they are those of this binding.
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

// Any text as an expression: refused with an error of ours, or simplified to a text that reads back
// with the same values, within its bounds.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>

#include <fmt/format.h>

#include "touchstone/base/error.h"
#include "touchstone/symbolic/expr/evaluate.h"
#include "touchstone/symbolic/expr/expr.h"
#include "touchstone/symbolic/node/compiled_node.h"

using namespace touchstone;
using namespace touchstone::symbolic;

namespace {

void require(bool holds, const char* what, const std::string& text) {
  if (holds) return;
  fmt::print(stderr, "{}: {}\n", what, text);
  std::abort();
}

/// Values at a few points of the box x in [0, 7], y in [-3, 4], z any.
std::optional<Int> value(const Context& c, Node node, int x, int y, int z) {
  CompiledNode program(c, node.id());
  std::vector<Int> point;
  for (const Id id : program.variables())
    point.emplace_back(*c[id].name == "x" ? x : *c[id].name == "y" ? y : z);
  return program.run(point);
}

void check(const std::string& text) {
  static Context context;
  context.clear();
  const std::map<std::string, Node> names = {{"x", context.variable("x", 0, 7)},
                                             {"y", context.variable("y", -3, 4)},
                                             {"z", context.variable("z", Interval{})}};
  const Node node = parse(text, names, context);
  Exprs exprs;
  const Expr written = parse_expr(exprs, text);
  require(exprs.size(written) > 0, "not kept as written", text);
  if (size(node) > 10'000) return;
  const std::string shown = render(node);
  const Node again = parse(shown, names, context);
  const Interval bounds = context[node.id()].bounds;
  Evaluator as_written(exprs, {written}, {"x", "y", "z"});
  for (const int x : {0, 3, 7})
    for (const int y : {-3, 0, 1}) {
      const int z = 5 * x - 9;
      as_written.at(std::vector<Int>{x, y, z});
      const std::optional<Int>& v = as_written.value(written);
      if (!v) continue;  // then neither form need have a value, or the same
      require(v == value(context, node, x, y, z), "another value", text);
      require(v == value(context, again, x, y, z), "reads back with another value", text);
      require(!bounds.lo || *bounds.lo <= *v, "below its bounds", text);
      require(!bounds.hi || *bounds.hi >= *v, "above its bounds", text);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    check(std::string(reinterpret_cast<const char*>(data), size));
  } catch (const Error&) {
    return 0;
  }
  return 0;
}

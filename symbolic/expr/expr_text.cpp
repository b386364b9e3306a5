#include "touchstone/symbolic/expr/text_writer.h"
#include "touchstone/symbolic/number/limits.h"

namespace touchstone::symbolic {

std::string render(const Exprs& exprs, Expr root) {
  return TextWriter<Exprs, Expr>(exprs, nullptr, kLimits.text_parts).write(root).text;
}

MarkedText render_marked(const Exprs& exprs, Expr root, const Path& path) {
  return TextWriter<Exprs, Expr>(exprs, &path, kLimits.text_parts).write(root);
}

}  // namespace touchstone::symbolic

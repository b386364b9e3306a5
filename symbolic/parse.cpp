#include "touchstone/symbolic/canonical_builder.h"

namespace touchstone::symbolic {

Node parse(const std::string& text, const std::map<std::string, Node>& names) {
  Context* context = &Context::shared();
  for (const auto& [name, node] : names)
    if (!node.is_constant()) context = node.context();
  for (const auto& [name, node] : names)
    if (!node.is_constant() && node.context() != context)
      throw Error(fmt::format("parse: \"{}\" is of another context than the other names", name));
  return parse(text, names, *context);
}

Node parse(const std::string& text, const std::map<std::string, Node>& names, Context& context) {
  const std::lock_guard lock(context.mutex());
  CanonicalBuilder builder(names, context);
  return context.handle(read_expression(text, builder));
}

}  // namespace touchstone::symbolic

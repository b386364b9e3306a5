#include "touchstone/symbolic/read/canonical_builder.h"
#include "touchstone/symbolic/write/stable_form.h"

namespace touchstone::symbolic {

Node parse(const std::string& text, const std::map<std::string, Node>& names) {
  Context* context = &Context::shared();
  for (const auto& [name, node] : names)
    if (!node.is_constant()) context = node.context();
  for (const auto& [name, node] : names)
    if (!node.is_constant() && node.context() != context)
      throw Error(
          fmt::format("parse: \"{}\" belongs to another context than the other names", name));
  return parse(text, names, *context);
}

Node parse(const std::string& text, const std::map<std::string, Node>& names, Context& context) {
  const std::lock_guard lock(context.mutex());
  Tape tape;
  tape.read(text, names);
  if (tape.comparable())
    if (const auto known = context.recall(tape.words(), tape.hash())) return context.handle(*known);
  CanonicalBuilder builder(names, context);
  const Id id = stable_form(builder, builder.build(tape, text), &tape);
  if (tape.comparable()) context.remember(tape.words(), tape.hash(), id);
  return context.handle(id);
}

}  // namespace touchstone::symbolic

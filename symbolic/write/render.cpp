#include <limits>

#include "touchstone/symbolic/expr/text_writer.h"
#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/simplify/simplifier.h"
#include "touchstone/symbolic/write/form_tree.h"
#include "touchstone/symbolic/write/stable_form.h"

namespace touchstone::symbolic {

std::string render(const List<Form>& forms, int root, std::string memory) {
  const std::size_t parts = forms[static_cast<std::size_t>(root)].size;
  if (parts > kLimits.text_parts)
    throw Error(
        fmt::format("render: the text would have {} parts, since shared parts are written "
                    "out; use lower",
                    parts));
  const FormTree tree(forms);
  TextWriter<FormTree, int> writer(tree, nullptr, std::numeric_limits<std::size_t>::max());
  return writer.write(root, std::move(memory)).text;
}

std::string render(Node node) {
  Extractor e(*node.context(), Extractor::For::Text);
  const int root = e.extract(shown_form(node).id());
  return render(e.forms(), root);
}

std::size_t size(Node node) {
  Context& c = *node.context();
  node = shown_form(node);
  constexpr std::size_t kTooLarge = 0xffffffff;  // too large to be memoized
  const std::lock_guard lock(c.mutex());
  if (const std::size_t known = c.known_size(node.id()); known > 0 && known < kTooLarge)
    return known;
  Extractor e(c, Extractor::For::Text);
  const int root = e.extract(node.id());
  const std::size_t found = e.forms()[static_cast<std::size_t>(root)].size;
  c.keep_size(node.id(), found);
  return found;
}

std::vector<LoweredStep> lower(Node node) {
  node = shown_form(node);
  Id opened = 0;
  {
    const std::lock_guard lock(node.context()->mutex());
    opened = Simplifier(*node.context()).without_truncations(node.id());
  }
  Extractor e(*node.context(), Extractor::For::Code);
  const int root = e.extract(opened);
  const List<Form>& forms = e.forms();
  std::vector<int> place(forms.size(), -1);
  std::vector<bool> used(forms.size(), false);
  used[static_cast<std::size_t>(root)] = true;
  for (std::size_t i = static_cast<std::size_t>(root) + 1; i-- > 0;)
    if (used[i])
      for (const int a : forms[i].args) used[static_cast<std::size_t>(a)] = true;
  std::vector<LoweredStep> steps;
  std::map<std::int64_t, int> constants;
  for (std::size_t i = 0; i <= static_cast<std::size_t>(root); ++i) {
    if (!used[i]) continue;
    const Form& f = forms[i];
    LoweredStep s;
    s.op = f.op;
    if (f.op == ExprOp::Constant) {
      if (!f.value.small())
        throw OverflowError(fmt::format("lower: {} does not fit in 64 bits", f.value.str()));
      s.value = *f.value.small();
      const auto [at, fresh] = constants.emplace(s.value, static_cast<int>(steps.size()));
      place[i] = at->second;
      if (!fresh) continue;
    }
    if (f.name) s.name = *f.name;
    for (const int a : f.args) s.args.push_back(place[static_cast<std::size_t>(a)]);
    if (f.bounds.lo) s.min = f.bounds.lo->small();
    if (f.bounds.hi) s.max = f.bounds.hi->small();
    place[i] = static_cast<int>(steps.size());
    steps.push_back(std::move(s));
  }
  return steps;
}

}  // namespace touchstone::symbolic

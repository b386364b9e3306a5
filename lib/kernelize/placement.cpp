// Copies to and from several devices; allreduce.
#include <algorithm>

#include "touchstone/kernelize/elements.h"
#include "touchstone/kernelize/multi.h"
#include "touchstone/kernelize/rules.h"
#include "touchstone/shapetracker/view/sint_bounds.h"

namespace touchstone::kernelize {
namespace {

bool is_tuple(const UOp& device) {
  return std::holds_alternative<std::vector<std::string>>(device.arg());
}
std::size_t count_of(const UOp& x) { return x.device().size(); }

symbolic::Values numbered(std::size_t i) {
  return {{std::string(kDeviceNumber), static_cast<std::int64_t>(i)}};
}

// A movement argument with the device number set to i.
UOpArg at_device(const UOpArg& arg, std::size_t i) {
  const symbolic::Values values = numbered(i);
  const auto bound = [&](const sint& s) { return s.is_int() ? s : shapetracker::bind(s, values); };
  if (const auto* shape = std::get_if<Shape>(&arg)) {
    Shape now;
    for (const sint& s : *shape) now.push_back(bound(s));
    return now;
  }
  if (const auto* mask = std::get_if<Mask>(&arg)) {
    Mask now;
    for (const auto& [begin, end] : *mask) now.emplace_back(bound(begin), bound(end));
    return now;
  }
  if (const auto* st = std::get_if<ShapeTracker>(&arg)) return st->bind(values);
  return arg;
}

bool uses_number(const UOp& movement) {
  return !same(at_device(movement.arg(), 0), movement.arg());
}

// Applies `movement` to x on device number i.
UOp moved(const UOp& movement, const UOp& x, std::size_t i) {
  return UOp::make(movement.op(), movement.dtype(), {x}, at_device(movement.arg(), i),
                   movement.tag());
}

UOp copy_of_constant_to_all(const Match& m) {
  return UOp::constant(m[0].value(), m[0].shape(), m[1]);
}

UOp copy_to_all(const Match& m) {
  const UOp &x = m[0], &to = m[1];
  if (!is_tuple(to) || !x.device_node() || is_tuple(x.device_node())) return {};
  std::vector<UOp> all;
  for (const std::string& name : to.device()) all.push_back(x.copy_to(UOp::device(name)));
  return UOp::mstack(std::move(all));
}

// The device of x to copy from: the target itself if x is there.
std::size_t source_for(const UOp& x, const std::string& target, std::size_t otherwise) {
  const std::vector<std::string> names = x.device();
  const auto own = std::ranges::find(names, target);
  return own != names.end() ? static_cast<std::size_t>(own - names.begin())
                            : otherwise % names.size();
}

UOp copy_from_several(const Match& m) {
  const UOp &x = m[0], &to = m[1];
  if (x.op() == GraphOp::Multi || !x.device_node() || !is_tuple(x.device_node()) ||
      x.device_node() == to)
    return {};
  std::vector<UOp> all;
  for (const std::string& name : to.device())
    all.push_back(x.mselect(source_for(x, name, all.size())).copy_to(UOp::device(name)));
  return is_tuple(to) ? UOp::mstack(std::move(all)) : all[0];
}

UOp selected_of_stack(const Match& m) {
  return m[0].src(static_cast<std::size_t>(m.root().arg_as<std::int64_t>()));
}

UOp selected_of_moved(const Match& m) {
  const UOp &u = m.root(), &v = m[0];
  const auto which = static_cast<std::size_t>(u.arg_as<std::int64_t>());
  return moved(v, v.src(0).mselect(which), which);
}

UOp selected_of_constant(const Match& m) {
  const UOp &u = m.root(), &c = m[0];
  const auto which = static_cast<std::size_t>(u.arg_as<std::int64_t>());
  const UOp at = UOp::make(GraphOp::View, UOpType::none(), {u.device_node()},
                           at_device(c.src(0).arg(), which));
  return UOp::make(GraphOp::Const, c.dtype(), {at}, c.arg(), c.tag());
}

UOp stack_of_moved(const Match& m) {
  const UOp& u = m.root();
  const UOp& first = u.src(0);
  if (!is_movement(first.op())) return {};
  std::vector<UOp> src;
  for (const UOp& s : u.src()) {
    if (s.op() != first.op() || s.src().empty() || !same(s.arg(), first.arg()) ||
        s.src(0).st() == nullptr || s.src(0).shape() != first.src(0).shape())
      return {};
    src.push_back(s.src(0));
  }
  return first.with_src({UOp::mstack(std::move(src))});
}

UOp stack_of_constants(const Match& m) {
  const UOp& u = m.root();
  for (const UOp& s : u.src())
    if (s.op() != GraphOp::Const || s.arg() != u.src(0).arg()) return {};
  return UOp::constant(u.src(0).value(), u.shape(), u.device_node());
}

bool is_file(const UOp& x) {
  const std::vector<std::string> of = x.device();
  return of.size() == 1 && (of[0].starts_with("DISK") || of[0].starts_with("NPY"));
}

// Shrinks each device's part before the copy, so that fewer elements travel.
UOp shrunk_stack(const Match& m) {
  const UOp &u = m.root(), &stack = m[0];
  if (!uses_number(u) || !certainly_lt(u.size(), stack.size())) return {};
  std::vector<UOp> src;
  for (std::size_t i = 0; i < stack.src().size(); ++i) {
    const UOp& s = stack.src(i);
    if (s.op() != GraphOp::Copy || is_file(s.src(0)))
      src.push_back(moved(u, s, i).contiguous());
    else
      src.push_back(s.with_src({moved(u, s.src(0), i), s.src(1)}));
  }
  return UOp::mstack(std::move(src));
}

// True for all elements of a buffer in order: contiguous() of that is the view itself.
bool is_whole_buffer(const UOp& view) {
  const UOp& x = view.src(0);
  return x.op() == GraphOp::Buffer && view.tracker().is_contiguous() &&
         certainly_eq(view.tracker().size(), x.size());
}

UOp stored_stack(const Match& m) {
  bool any = false;
  std::vector<UOp> src;
  for (const UOp& s : m.root().src()) {
    const bool bare = s.op() == GraphOp::Const ||
                      (s.op() == GraphOp::View && !s.src().empty() && !is_whole_buffer(s));
    any = any || bare;
    src.push_back(bare ? s.contiguous() : s);
  }
  return any ? m.root().with_src(std::move(src)) : UOp();
}

UOp in_order(const UOp& x, GraphOp op, const UOp& to) {
  UOp all;
  for (std::size_t i = 0; i < count_of(x); ++i) {
    const UOp one = x.mselect(i).copy_to(to);
    all = all ? all.alu(op, {one}) : one;
  }
  return all;
}

// Chunk i is combined along the ring from device i on, then sent around once more.
UOp by_ring(const UOp& x, GraphOp op) {
  const std::vector<std::string> names = x.device();
  const std::size_t n = names.size();
  const auto on = [&](std::size_t i) { return UOp::device(names[i % n]); };
  const std::int64_t count = x.size().as_int();
  const UOp flat = x.reshape({count});
  std::vector<UOp> chunks;
  std::size_t i = 0;
  for (const auto& [begin, end] : ring_chunks(count, n)) {
    const std::size_t first = i++;
    if (begin == end) continue;
    const UOp chunk = flat.shrink({{begin, end}});
    UOp sum = chunk.mselect(first);
    for (std::size_t step = 1; step < n; ++step)
      sum = sum.copy_to(on(first + step)).alu(op, {chunk.mselect((first + step) % n)});
    std::vector<UOp> held(n);
    held[(first + n - 1) % n] = sum;
    for (std::size_t step = 0; step + 1 < n; ++step)
      held[(first + step) % n] = sum = sum.copy_to(on(first + step));
    chunks.push_back(UOp::mstack(std::move(held)));
  }
  return side_by_side(chunks, 0).reshape(x.shape());
}

UOp allreduced(const Match& m) {
  const UOp &u = m.root(), &to = m[1];
  const KernelizeOptions& options = m.context<Simplifying>().config.kernelize;
  for (const sint& s : m[0].shape())
    if (!s.is_int())
      throw ShapeError(fmt::format("ALLREDUCE of {}: its shape must be of numbers",
                                   str(std::span<const sint>(m[0].shape()))));
  const GraphOp op = u.arg_as<UOpReduce>().op;
  const UOp x = m[0].contiguous();
  const bool ring = to == m[0].device_node() && x.size() != sint(0) &&
                    (options.ring >= 2 || (options.ring == 1 && count_of(x) > 2 &&
                                           x.size().as_int() > options.ring_allreduce_threshold));
  return ring ? by_ring(x, op) : in_order(x, op, to);
}

const UOp& a_and_b() {
  static const UOp two = UOp::device(std::vector<std::string>{"A", "B"});
  return two;
}
UOp on(const UOp& device, const Shape& shape) {
  return as_shape(UOp::new_buffer(device, max_elements(shape), DType::Float32), shape);
}
UOp one(const char* name) { return UOp::device(name); }

std::vector<RewriteRule> of_copies() {
  const UPat x = UPat::var("x"), to = UPat(GraphOp::Device).named("d");
  return {
      {"copy of a constant to all", UPat(GraphOp::Copy).over({UPat::cvar("c"), to}),
       copy_of_constant_to_all, "it is already there",
       [] {
         const UOp c = on(one("C"), {2}).const_like(1.0);
         return Examples{{c.copy_to(a_and_b()), UOp::constant(c.value(), {2}, a_and_b())}};
       }},
      {"copy to all", UPat(GraphOp::Copy).over({x, to}), copy_to_all, "one copy per device",
       [] {
         const UOp c = on(one("C"), {2});
         return Examples{
             {c.copy_to(a_and_b()), UOp::mstack({c.copy_to(one("A")), c.copy_to(one("B"))})},
             {c.copy_to(one("A")), {}},
             {on(a_and_b(), {2}).copy_to(a_and_b()), {}}};
       }},
      {"copy from several", UPat(GraphOp::Copy).over({x, to}), copy_from_several,
       "from the device itself if it has the value, else from the first",
       [] {
         const UOp a = on(a_and_b(), {2});
         const UOp others = UOp::device(std::vector<std::string>{"B", "C"});
         return Examples{{a.copy_to(one("C")), a.mselect(0).copy_to(one("C"))},
                         {a.copy_to(one("B")), a.mselect(1).copy_to(one("B"))},
                         {a.copy_to(others), UOp::mstack({a.mselect(1).copy_to(one("B")),
                                                          a.mselect(1).copy_to(one("C"))})},
                         {a.copy_to(a_and_b()), {}}};
       }},
      {"selected of a stack", UPat(GraphOp::MSelect).over({UPat(GraphOp::MStack).named("x")}),
       selected_of_stack, "it is the value stacked there",
       [] {
         const UOp a = on(one("A"), {2}), b = on(one("B"), {2});
         return Examples{{UOp::mstack({a, b}).mselect(1), b},
                         {on(a_and_b(), {2}).base().mselect(0), {}}};
       }},
      {"selected of a moved tensor",
       UPat(GraphOp::MSelect)
           .over({UPat(OpSet::of(GraphOpGroup::Movement)).over({UPat::var("s")}).named("x")}),
       selected_of_moved, "the same for one device whose number is known",
       [] {
         const UOp a = UOp::new_buffer(a_and_b(), 4, DType::Float32);
         return Examples{{a.reshape({2, 2}).mselect(1), a.mselect(1).reshape({2, 2})},
                         {part_of(a, 0, 2).mselect(1), a.mselect(1).shrink({{2, 4}})},
                         {a.mselect(1), {}}};
       }},
      {"selected of a constant", UPat(GraphOp::MSelect).over({UPat::cvar("c")}),
       selected_of_constant, "it is everywhere",
       [] {
         const UOp c = on(a_and_b(), {2}).const_like(1.0);
         return Examples{{c.mselect(1), UOp::constant(c.value(), {2}, one("B"))}};
       }},
      {"stack of moved tensors", UPat(GraphOp::MStack), stack_of_moved,
       "the stack is moved, if all are moved alike",
       [] {
         const UOp a = on(one("A"), {4}), b = on(one("B"), {4});
         return Examples{{UOp::mstack({a.reshape({2, 2}), b.reshape({2, 2})}),
                          UOp::mstack({a, b}).reshape({2, 2})},
                         {UOp::mstack({a.shrink({{0, 2}}), b.shrink({{2, 4}})}), {}},
                         {UOp::mstack({a, b}), {}}};
       }},
      {"stack of constants", UPat(GraphOp::MStack), stack_of_constants,
       "the constant, if all are equal",
       [] {
         const UOp a = on(one("A"), {4}).const_like(1.0), b = on(one("B"), {4}).const_like(1.0);
         return Examples{{UOp::mstack({a, b}), UOp::constant(a.value(), {4}, a_and_b())},
                         {UOp::mstack({a, b.const_like(2.0)}), {}}};
       }},
      {"shrink of a stack",
       UPat(OpSet{GraphOp::Shrink, GraphOp::View}).over({UPat(GraphOp::MStack).named("x")}),
       shrunk_stack, "each device's part, before the copy, unless it is copied from a file",
       [] {
         const UOp c = on(one("C"), {4}), file = on(one("DISK:f"), {4});
         const auto to_both = [](const UOp& x) {
           return UOp::mstack({x.copy_to(one("A")), x.copy_to(one("B"))});
         };
         const UOp a = on(one("A"), {4}), b = on(one("B"), {4});
         const Mask first = {{0, 2}}, second = {{2, 4}};
         return Examples{
             {part_of(to_both(c), 0, 2),
              UOp::mstack({c.shrink(first).copy_to(one("A")), c.shrink(second).copy_to(one("B"))})},
             {part_of(to_both(file), 0, 2),
              UOp::mstack({file.copy_to(one("A")).shrink(first).contiguous(),
                           file.copy_to(one("B")).shrink(second).contiguous()})},
             {part_of(UOp::mstack({a, b}), 0, 2),
              UOp::mstack({a.shrink(first).contiguous(), b.shrink(second).contiguous()})},
             {UOp::mstack({a, b}).shrink(first), {}}};
       }},
  };
}

}  // namespace

std::vector<std::pair<std::int64_t, std::int64_t>> ring_chunks(std::int64_t count,
                                                               std::size_t devices) {
  std::int64_t factor = 32;
  while (factor > 1 && count % factor != 0) factor /= 2;
  const auto n = static_cast<std::int64_t>(devices);
  const std::int64_t each = count / factor / n, left = count / factor % n;
  std::vector<std::pair<std::int64_t, std::int64_t>> chunks;
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t end = begin + (each + (i < left ? 1 : 0)) * factor;
    chunks.emplace_back(begin, end);
    begin = end;
  }
  return chunks;
}

PatternMatcher allreduce_rules() {
  return PatternMatcher({
      {"allreduce",
       UPat(GraphOp::Allreduce).over({UPat::var("x"), UPat(GraphOp::Device).named("d")}),
       allreduced,
       "few elements, or two devices: all are copied to all, and combined in the order of the "
       "devices; otherwise chunks go round a ring",
       [] {
         const UOp a = on(a_and_b(), {4}), c = a.contiguous(), there = one("C");
         return Examples{
             {a.allreduce(GraphOp::Add, there),
              c.mselect(0).copy_to(there).alu(GraphOp::Add, {c.mselect(1).copy_to(there)})},
             {a.allreduce(GraphOp::Max, a_and_b()),
              c.mselect(0).copy_to(a_and_b()).alu(GraphOp::Max,
                                                  {c.mselect(1).copy_to(a_and_b())})}};
       }},
  });
}

PatternMatcher placement_rules() { return PatternMatcher(of_copies()); }

PatternMatcher stored_stacks() {
  return PatternMatcher({
      {"stack of tensors without memory", UPat(GraphOp::MStack), stored_stack,
       "a stack needs memory",
       [] {
         const UOp a = on(one("A"), {4}), b = on(one("B"), {2});
         const UOp v = a.view(ShapeTracker::contiguous({4}).shrink({{0, 2}}));
         const UOp c = b.const_like(1.0);
         const UOp whole =
             UOp::new_buffer(one("A"), 2, DType::Float32).view(ShapeTracker::contiguous({2, 1}));
         const UOp d = UOp::constant(c.value(), {2, 1}, one("B"));
         return Examples{{UOp::mstack({v, b}), UOp::mstack({v.contiguous(), b})},
                         {UOp::mstack({v, c}), UOp::mstack({v.contiguous(), c.contiguous()})},
                         {UOp::mstack({a, on(one("B"), {4})}), {}},
                         {UOp::mstack({whole, d}), UOp::mstack({whole, d.contiguous()})}};
       }},
  });
}

}  // namespace touchstone::kernelize

#include "touchstone/fuzz/judge/shrink.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <set>

#include "touchstone/fuzz/judge/smaller_views.h"
#include "touchstone/interp/device/interpreted.h"

namespace touchstone::fuzz {
namespace {

using Candidates = std::vector<KernelCase>;
using Sources = std::vector<LazyOpPtr>;

Device& reference() {
  static const std::unique_ptr<Device> device = make_interpreted_device("SHRINK");
  return *device;
}

LazyOpPtr stored(const LazyOpPtr& value) {
  return LazyOp::store(ShapeTracker::contiguous(value->shape()), value);
}

LazyOpPtr over(const LazyOpPtr& node, const Sources& src) {
  return src == node->src() ? node : with_src(node, src);
}

// Keeps the buffers that are read, numbered from 1 in order of first use and cut to the part read,
// and the values of the remaining variables.
KernelCase renumbered(const LazyOpPtr& kernel, const std::vector<HostArray>& inputs,
                      const symbolic::Values& values = {}) {
  std::map<int, int> places;
  KernelCase out;
  out.kernel = rebuild(kernel, [&](const LazyOpPtr& node, const Sources& src) {
    if (!is_load(node->op())) return over(node, src);
    MemBuffer b = node->buffer();
    const auto [it, fresh] = places.try_emplace(b.idx, static_cast<int>(places.size()) + 1);
    if (fresh) out.inputs.push_back(inputs[static_cast<std::size_t>(b.idx) - 1]);
    b.idx = it->second;
    return LazyOp::make(node->op(), src, b);
  });
  for (const symbolic::Node& v : variables_of(out.kernel))
    out.values[symbolic::variable_name(v)] = values.at(symbolic::variable_name(v));
  for (const BufferSpec& spec : buffers_of(out.concrete())) {
    if (spec.idx == 0) continue;
    HostArray& input = out.inputs[static_cast<std::size_t>(spec.idx) - 1];
    input.shape = {spec.size};
    input.bytes.resize(static_cast<std::size_t>(spec.size) * itemsize(input.dtype));
  }
  return out;
}

// The case with every node made anew; nothing if ill-typed.
template <class Change>
std::optional<KernelCase> rebuilt(const KernelCase& c, const std::vector<HostArray>& inputs,
                                  const Change& change) {
  try {
    return renumbered(rebuild(c.kernel, change), inputs, c.values);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// The case with one node replaced.
std::optional<KernelCase> with_node(const KernelCase& c, const LazyOp* old,
                                    const LazyOpPtr& replacement,
                                    const std::vector<HostArray>& inputs) {
  return rebuilt(c, inputs, [&](const LazyOpPtr& node, const Sources& src) {
    return node.get() == old ? replacement : over(node, src);
  });
}

// A node with this argument, its views changed by `view(tracker, op)`.
template <class ChangeView>
LazyOpPtr with_views(const LazyOpPtr& node, const Sources& src, const ChangeView& view, OpArg arg) {
  if (node->op() == Op::Store) return stored(src[0]);
  if (auto* b = std::get_if<MemBuffer>(&arg)) {
    b->st = view(b->st, node->op());
    if (b->checked) b->checked = view(*b->checked, Op::Load);
  }
  if (auto* k = std::get_if<ConstBuffer>(&arg)) k->st = view(k->st, node->op());
  return LazyOp::make(node->op(), src, std::move(arg));
}

void add(Candidates& out, std::optional<KernelCase> c) {
  if (c) out.push_back(std::move(*c));
}

// A node replaced by a plain buffer of the reference's values; nothing if they are an error, as for
// checked positions.
std::optional<KernelCase> frozen(const KernelCase& c, const LazyOpPtr& node) {
  const KernelCase part = renumbered(stored(node), c.inputs, c.values);
  std::vector<HostArray> inputs = c.inputs;
  try {
    inputs.push_back(answer_of(part, reference()));
  } catch (const Error&) {
    return std::nullopt;
  }
  reference().forget_runners();
  const LazyOpPtr load = LazyOp::load(static_cast<int>(inputs.size()), node->dtype(),
                                      ShapeTracker::contiguous(node->shape()));
  return with_node(c, node.get(), load, inputs);
}

// A variable with a maximum of `most` and another value.
std::optional<KernelCase> rebounded(const KernelCase& c, const symbolic::Node& variable,
                                    std::int64_t most, std::int64_t value) {
  const std::string name = symbolic::variable_name(variable);
  const std::map<std::string, symbolic::Node> now{
      {name, symbolic::variable(name, variable.min().value_or(0), most)}};
  KernelCase at = c;
  at.values[name] = value;
  const auto substitute = [&](const ShapeTracker& st, Op) { return st.substitute(now); };
  return rebuilt(at, c.inputs, [&](const LazyOpPtr& node, const Sources& src) {
    return with_views(node, src, substitute, node->arg());
  });
}

// Replaces all variables or one by numbers, or makes one smaller.
void variables(const KernelCase& c, Candidates& out) {
  if (c.values.empty()) return;
  out.push_back(renumbered(c.concrete(), c.inputs));
  for (const symbolic::Node& v : variables_of(c.kernel)) {
    const std::string name = symbolic::variable_name(v);
    const std::int64_t value = c.values.at(name), least = v.min().value_or(0);
    if (c.values.size() > 1)
      out.push_back(renumbered(bind_variables(c.kernel, {{name, value}}), c.inputs, c.values));
    for (const std::int64_t at : {least, (least + value) / 2, value - 1, value})
      for (const std::int64_t most : {at, at + 1})
        if (at >= least && most > least && most < v.max().value_or(0))
          add(out, rebounded(c, v, most, at));
  }
}

// Operand i in place of each of two nodes of one operation.
std::optional<KernelCase> without_both(const KernelCase& c, const LazyOp* one, const LazyOp* other,
                                       std::size_t i) {
  return rebuilt(c, c.inputs, [&](const LazyOpPtr& node, const Sources& src) {
    return node.get() == one || node.get() == other ? src[i] : over(node, src);
  });
}

// Some faults need two equal parts of a kernel.
void pairs(const KernelCase& c, const std::vector<LazyOpPtr>& order, Candidates& out) {
  const auto is_like = [](const LazyOpPtr& n, std::size_t i) {
    return n->src()[i]->dtype() == n->dtype();
  };
  for (std::size_t a = 0; a < order.size(); ++a) {
    const LazyOpPtr& one = order[a];
    if (!is_elementwise(one->op())) continue;
    for (std::size_t b = a + 1; b < order.size(); ++b)
      for (std::size_t i = 0; one->op() == order[b]->op() && i < one->src().size(); ++i)
        if (is_like(one, i) && is_like(order[b], i))
          add(out, without_both(c, one.get(), order[b].get(), i));
  }
}

void structural(const KernelCase& c, Candidates& out) {
  const std::vector<LazyOpPtr> order = toposort(c.kernel);
  for (const LazyOpPtr& node : order)
    if (node->op() != Op::Store && node != c.kernel->src()[0])
      out.push_back(renumbered(stored(node), c.inputs, c.values));
  for (const LazyOpPtr& node : order) {
    if (node->op() == Op::Store) continue;
    for (const LazyOpPtr& operand : node->src())
      if (operand->dtype() == node->dtype() && operand->shape() == node->shape())
        add(out, with_node(c, node.get(), operand, c.inputs));
    const bool leaf = node->src().empty();
    const bool plain = node->op() == Op::Load && node->buffer().st.is_contiguous();
    if (!leaf || !plain) add(out, frozen(c, node));
  }
  pairs(c, order, out);
  // One operand replaced by another, buffers by constants.
  for (const LazyOpPtr& node : order) {
    for (std::size_t i = 0; i < node->src().size(); ++i)
      for (const LazyOpPtr& other : node->src()) {
        std::vector<LazyOpPtr> src = node->src();
        if (other == src[i] || other->dtype() != src[i]->dtype()) continue;
        src[i] = other;
        add(out, with_node(c, node.get(), with_src(node, src), c.inputs));
      }
    if (!is_load(node->op())) continue;
    if (node->op() == Op::Gather && node->buffer().checked)
      add(out, with_node(c, node.get(),
                         LazyOp::gather(node->buffer().idx, node->dtype(), node->buffer().st,
                                        node->src()[0]),
                         c.inputs));
    const ShapeTracker st =
        node->op() == Op::Load
            ? node->buffer().st
            : ShapeTracker().reshape(Shape(node->shape().size(), 1)).expand(node->shape());
    for (const int value : {0, 1})
      add(out, with_node(c, node.get(),
                         LazyOp::constant(Scalar::from_int(node->dtype(), value), st), c.inputs));
  }
}

bool is_plain(DType d) { return d == DType::Float32 || d == DType::Int32 || is_bool(d); }

HostArray converted(const HostArray& array, DType to) {
  HostArray out{to, array.shape, {}};
  for (std::size_t i = 0; i < array.bytes.size() / itemsize(array.dtype); ++i) {
    const Scalar before = Scalar::from_bits(array.dtype, bits_at(array, i));
    const std::uint64_t made = convert(before, to).bits();
    out.bytes.append(reinterpret_cast<const char*>(&made), itemsize(to));
  }
  return out;
}

// Replaces a type everywhere; nothing if an operation does not take the new one.
std::optional<KernelCase> retyped(const KernelCase& c, DType from, DType to) {
  std::vector<HostArray> inputs = c.inputs;
  for (HostArray& input : inputs)
    if (input.dtype == from) input = converted(input, to);
  return rebuilt(c, inputs, [&](const LazyOpPtr& node, const Sources& src) {
    if (node->op() == Op::Store) return stored(src[0]);
    if (is_reduce(node->op())) return LazyOp::reduce(node->op(), src[0], node->reduce_arg().axes);
    OpArg arg = node->arg();
    if (auto* b = std::get_if<MemBuffer>(&arg); b != nullptr && b->dtype == from) b->dtype = to;
    if (auto* k = std::get_if<ConstBuffer>(&arg); k != nullptr && k->value.dtype() == from)
      k->value = convert(k->value, to);
    if (auto* k = std::get_if<CastArg>(&arg); k != nullptr && k->to == from) k->to = to;
    return LazyOp::make(node->op(), src, std::move(arg));
  });
}

void types(const KernelCase& c, Candidates& out) {
  std::set<DType> there;
  for (const LazyOpPtr& node : toposort(c.kernel)) there.insert(node->dtype());
  for (const DType d : there)
    if (!is_plain(d)) add(out, retyped(c, d, is_float(d) ? DType::Float32 : DType::Int32));
}

// Merges two buffers of a type.
void buffers(const KernelCase& c, Candidates& out) {
  for (int a = 1; a <= static_cast<int>(c.inputs.size()); ++a)
    for (int b = a + 1; b <= static_cast<int>(c.inputs.size()); ++b) {
      std::vector<HostArray> inputs = c.inputs;
      HostArray& kept = inputs[static_cast<std::size_t>(a) - 1];
      const HostArray& gone = inputs[static_cast<std::size_t>(b) - 1];
      if (kept.dtype != gone.dtype) continue;
      if (gone.bytes.size() > kept.bytes.size()) {
        kept.bytes += gone.bytes.substr(kept.bytes.size());
        kept.shape = {gone.size()};
      }
      const LazyOpPtr kernel = rebuild(c.kernel, [&](const LazyOpPtr& node, const Sources& src) {
        if (!is_load(node->op()) || node->buffer().idx != b) return over(node, src);
        MemBuffer buffer = node->buffer();
        buffer.idx = a;
        return LazyOp::make(node->op(), src, std::move(buffer));
      });
      out.push_back(renumbered(kernel, inputs, c.values));
    }
}

// Cuts every view to [begin, end) on one axis, unless of size 1 there. `compact`: closes the gaps.
std::optional<KernelCase> cut(const KernelCase& c, std::size_t axis, std::int64_t begin,
                              std::int64_t end, bool compact) {
  const auto cut_view = [&](const ShapeTracker& st, Op op) {
    const std::size_t cut_axis = axis + static_cast<std::size_t>(position_axes(op));
    if (st.shape()[cut_axis] == sint(1)) return st;
    Mask keep;
    for (std::size_t i = 0; i < st.shape().size(); ++i)
      keep.emplace_back(i == cut_axis ? sint(begin) : sint(0),
                        i == cut_axis ? sint(end) : st.shape()[i]);
    ShapeTracker part = st.shrink(keep);
    return compact ? compacted(part) : part;
  };
  return rebuilt(c, c.inputs, [&](const LazyOpPtr& node, const Sources& src) {
    return with_views(node, src, cut_view, node->arg());
  });
}

// Removes an axis of size 1 from every view and reduce.
std::optional<KernelCase> without_axis(const KernelCase& c, std::size_t axis) {
  const auto drop = [&](const ShapeTracker& st, Op op) {
    Shape shape = st.shape();
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis) + position_axes(op));
    return st.reshape(shape);
  };
  return rebuilt(c, c.inputs, [&](const LazyOpPtr& node, const Sources& src) {
    OpArg arg = node->arg();
    if (auto* r = std::get_if<ReduceArg>(&arg)) {
      std::erase(r->axes, static_cast<int>(axis));
      if (r->axes.empty()) return src[0];
      for (int& a : r->axes) a -= a > static_cast<int>(axis) ? 1 : 0;
    }
    return with_views(node, src, drop, std::move(arg));
  });
}

void dimensional(const KernelCase& c, Candidates& out) {
  std::vector<std::int64_t> sizes(c.kernel->shape().size(), 1);
  for (const LazyOpPtr& node : toposort(c.kernel))
    for (std::size_t i = 0; i < sizes.size(); ++i)  // symbolic sizes stay
      sizes[i] = node->shape()[i].is_int() && sizes[i] >= 0
                     ? std::max(sizes[i], node->shape()[i].as_int())
                     : -1;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const std::int64_t n = sizes[axis];
    if (n == 1) add(out, without_axis(c, axis));
    if (n <= 1) continue;
    const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n) - 1));
    for (const auto& [begin, end] : {std::pair{std::int64_t{0}, n / 2},
                                     {n / 2, n},
                                     {std::int64_t{0}, (n + 1) / 2},
                                     {std::int64_t{1}, n},
                                     {std::int64_t{0}, power},
                                     {std::int64_t{0}, n - 1}})
      for (std::size_t other = axis; other < sizes.size(); ++other) {
        // Equal axes are cut together: for some faults a single cut hides it.
        if (sizes[other] != n) continue;
        for (const bool compact : {false, true}) {
          const std::optional<KernelCase> one = cut(c, axis, begin, end, compact);
          if (one) add(out, other == axis ? one : cut(*one, other, begin, end, compact));
        }
      }
  }
}

// Views with variables become contiguous.
void plain_views(const KernelCase& c, Candidates& out) {
  for (const LazyOpPtr& node : toposort(c.kernel)) {
    const ShapeTracker st = ShapeTracker::contiguous(node->shape());
    if (node->op() == Op::Const && node->constant().st != st)
      add(out, with_node(c, node.get(), LazyOp::constant(node->constant().value, st), c.inputs));
    if (node->op() == Op::Load && node->buffer().st != st)
      add(out,
          with_node(c, node.get(), LazyOp::load(node->buffer().idx, node->dtype(), st), c.inputs));
  }
}

void views(const KernelCase& c, Candidates& out) {
  if (!c.values.empty()) return plain_views(c, out);
  for (const LazyOpPtr& node : toposort(c.kernel)) {
    if (node->op() == Op::Const && !node->constant().st.is_contiguous()) {
      const auto with = [&](ShapeTracker st) {
        add(out, with_node(c, node.get(), LazyOp::constant(node->constant().value, std::move(st)),
                           c.inputs));
      };
      with(ShapeTracker::contiguous(node->shape()));
      for (const ShapeTracker& st : simpler_views(node->constant().st)) with(st);
    }
    if (is_load(node->op()) && !node->buffer().st.is_contiguous())
      for (const ShapeTracker& st : simpler_views(node->buffer().st)) {
        std::vector<HostArray> inputs = c.inputs;
        HostArray& input = inputs[static_cast<std::size_t>(node->buffer().idx) - 1];
        const auto needed = static_cast<std::size_t>(st.real_size()) * itemsize(input.dtype);
        if (needed > input.bytes.size()) continue;
        MemBuffer simpler{node->buffer().idx, node->dtype(), st, node->buffer().checked};
        const LazyOpPtr changed = LazyOp::make(node->op(), node->src(), simpler);
        add(out, with_node(c, node.get(), changed, inputs));
        // Elements read elsewhere may be 0, which hides as much as cutting them off.
        const std::uint64_t one = Scalar::from_int(input.dtype, 1).bits();
        const std::size_t width = itemsize(input.dtype);
        for (std::size_t at = 0; at < input.bytes.size(); at += width)
          std::memcpy(input.bytes.data() + at, &one, width);
        add(out, with_node(c, node.get(), changed, inputs));
      }
  }
}

// Sets elements of an input to 0 or 1: all, halves and smaller parts, down to single ones.
void values(const KernelCase& c, Candidates& out) {
  for (std::size_t b = 0; b < c.inputs.size(); ++b) {
    const std::size_t width = itemsize(c.inputs[b].dtype);
    const auto count = static_cast<std::size_t>(c.inputs[b].size());
    for (std::size_t part = count; part > 0; part = part == 1 ? 0 : (part + 1) / 2)
      for (const int value : {0, 1}) {
        const std::uint64_t bits = Scalar::from_int(c.inputs[b].dtype, value).bits();
        for (std::size_t begin = 0; begin < std::min(count, 32 * part); begin += part) {
          KernelCase changed = c;
          for (std::size_t i = begin; i < std::min(begin + part, count); ++i)
            std::memcpy(changed.inputs[b].bytes.data() + i * width, &bits, width);
          out.push_back(std::move(changed));
        }
      }
  }
}

constexpr auto kPasses = {variables, structural, types, buffers, dimensional, views, values};

}  // namespace

CaseSize size_of(const KernelCase& c) {
  CaseSize size;
  size.views = 4 * c.values.size();
  for (const LazyOpPtr& node : toposort(c.kernel)) {
    ++size.nodes;
    size.elements += 1 + elements(node->shape()).max().value_or(0) +
                     static_cast<std::int64_t>(node->shape().size());
    for (const sint& s : node->shape()) size.elements += s.max().value_or(0);
    if (!is_plain(node->dtype())) ++size.views;
    const auto count = [&](const ShapeTracker& st) {
      size.views += st.views().size() - 1;
      for (const View& v : st.views())
        size.views += (v.mask() ? 1U : 0U) + (v.is_contiguous() ? 0U : 1U);
    };
    if (is_load(node->op())) count(node->buffer().st);
    if (node->op() == Op::Const) count(node->constant().st);
  }
  for (const HostArray& input : c.inputs) {
    size.buffer_bytes += static_cast<std::int64_t>(input.bytes.size());
    for (std::size_t i = 0; i < input.bytes.size() / itemsize(input.dtype); ++i) {
      const std::uint64_t bits = bits_at(input, i);
      const bool one = bits == Scalar::from_int(input.dtype, 1).bits();
      size.plain += bits == 0 ? 0U : one ? 1U : 2U;
    }
  }
  return size;
}

void smaller_cases(const KernelCase& c, const std::function<bool(std::vector<KernelCase>)>& take) {
  for (const auto pass : kPasses) {
    Candidates candidates;
    pass(c, candidates);
    if (!take(std::move(candidates))) return;
  }
}

Shrunk shrink(const KernelCase& c, const std::function<bool(const KernelCase&)>& fails,
              int most_runs) {
  Shrunk result{c, 0};
  CaseSize size = size_of(c);
  for (bool progress = true; progress;) {
    progress = false;
    bool spent = false;
    smaller_cases(result.smallest, [&](Candidates candidates) {
      for (KernelCase& candidate : candidates) {
        const CaseSize smaller = size_of(candidate);
        if (!(smaller < size)) continue;
        spent = result.runs == most_runs;
        if (spent) return false;
        ++result.runs;
        if (!fails(candidate)) continue;
        result.smallest = std::move(candidate);
        size = smaller;
        progress = true;
        return false;
      }
      return true;
    });
    if (spent) break;
  }
  return result;
}

Reproducer record(const KernelCase& c, Device& candidate) {
  return {c, answer_of(c, candidate), {}};
}

ShrunkRun shrink_failure(const Reproducer& failing, Device& candidate, int most_runs,
                         const std::function<void(int)>& progress) {
  ShrunkRun result{failing, 0};
  const auto fails = [&](const KernelCase& smaller) {
    ++result.runs;
    if (progress) progress(result.runs);
    Reproducer answered = record(smaller, candidate);
    if (judge(answered).outcome != Outcome::Fail) return false;
    result.smallest = std::move(answered);
    return true;
  };
  shrink(failing.run, fails, most_runs);
  return result;
}

}  // namespace touchstone::fuzz

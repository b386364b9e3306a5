#include "touchstone/fuzz/shrink.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "touchstone/interp/interpreted.h"

namespace touchstone::fuzz {
namespace {

using Candidates = std::vector<KernelCase>;

Device& reference() {
  static const std::unique_ptr<Device> device = make_interpreted_device("SHRINK");
  return *device;
}

LazyOpPtr stored(const LazyOpPtr& value) {
  return LazyOp::store(ShapeTracker::contiguous(value->shape()), value);
}

// Buffers that are still read, numbered from 1 in order of first use and cut to what is reached.
KernelCase renumbered(const LazyOpPtr& kernel, const std::vector<HostArray>& inputs) {
  std::map<int, int> places;
  KernelCase out;
  out.kernel = rebuild(kernel, [&](const LazyOpPtr& node, const std::vector<LazyOpPtr>& src) {
    if (node->op() != Op::Load) return src == node->src() ? node : with_src(node, src);
    MemBuffer b = node->buffer();
    const auto [it, fresh] = places.try_emplace(b.idx, static_cast<int>(places.size()) + 1);
    if (fresh) out.inputs.push_back(inputs[static_cast<std::size_t>(b.idx) - 1]);
    b.idx = it->second;
    return LazyOp::make(Op::Load, {}, b);
  });
  for (const BufferSpec& spec : buffers_of(out.kernel)) {
    if (spec.idx == 0) continue;
    HostArray& input = out.inputs[static_cast<std::size_t>(spec.idx) - 1];
    input.shape = {spec.size};
    input.bytes.resize(static_cast<std::size_t>(spec.size) * itemsize(input.dtype));
  }
  return out;
}

// The case with one node replaced; nothing where that is ill-typed.
std::optional<KernelCase> with_node(const KernelCase& c, const LazyOp* old,
                                    const LazyOpPtr& replacement, std::vector<HostArray> inputs) {
  try {
    const LazyOpPtr kernel =
        rebuild(c.kernel, [&](const LazyOpPtr& node, const std::vector<LazyOpPtr>& src) {
          if (node.get() == old) return replacement;
          return src == node->src() ? node : with_src(node, src);
        });
    return renumbered(kernel, inputs);
  } catch (const Error&) {
    return std::nullopt;
  }
}

void add(Candidates& out, std::optional<KernelCase> c) {
  if (c) out.push_back(std::move(*c));
}

// A node's value as a plain buffer with what the reference computes for it.
std::optional<KernelCase> frozen(const KernelCase& c, const LazyOpPtr& node) {
  const KernelCase part = renumbered(stored(node), c.inputs);
  std::vector<HostArray> inputs = c.inputs;
  inputs.push_back(answer_of(part, reference()));
  reference().forget_runners();
  const LazyOpPtr load = LazyOp::load(static_cast<int>(inputs.size()), node->dtype(),
                                      ShapeTracker::contiguous(node->shape()));
  return with_node(c, node.get(), load, std::move(inputs));
}

void structural(const KernelCase& c, Candidates& out) {
  const std::vector<LazyOpPtr> order = toposort(c.kernel);
  for (const LazyOpPtr& node : order)
    if (node->op() != Op::Store && node != c.kernel->src()[0])
      out.push_back(renumbered(stored(node), c.inputs));
  for (const LazyOpPtr& node : order) {
    if (node->op() == Op::Store) continue;
    for (const LazyOpPtr& operand : node->src())
      if (operand->dtype() == node->dtype() && operand->shape() == node->shape())
        add(out, with_node(c, node.get(), operand, c.inputs));
    const bool leaf = node->src().empty();
    const bool plain = node->op() == Op::Load && node->buffer().st.is_contiguous();
    if (!leaf || !plain) add(out, frozen(c, node));
  }
}

// Every view of the kernel cut to `keep` on one axis, where it is not of size 1 there.
std::optional<KernelCase> cut(const KernelCase& c, std::size_t axis, std::int64_t begin,
                              std::int64_t end) {
  const auto cut_view = [&](const ShapeTracker& st) {
    if (st.shape()[axis] == sint(1)) return st;
    Mask keep;
    for (std::size_t i = 0; i < st.shape().size(); ++i)
      keep.emplace_back(i == axis ? sint(begin) : sint(0), i == axis ? sint(end) : st.shape()[i]);
    return st.shrink(keep);
  };
  try {
    const LazyOpPtr kernel =
        rebuild(c.kernel, [&](const LazyOpPtr& node, const std::vector<LazyOpPtr>& src) {
          if (node->op() == Op::Store) return stored(src[0]);
          OpArg arg = node->arg();
          if (auto* b = std::get_if<MemBuffer>(&arg)) b->st = cut_view(b->st);
          if (auto* k = std::get_if<ConstBuffer>(&arg)) k->st = cut_view(k->st);
          return LazyOp::make(node->op(), src, std::move(arg));
        });
    return renumbered(kernel, c.inputs);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// An axis of size 1 taken out of every view and reduce.
std::optional<KernelCase> without_axis(const KernelCase& c, std::size_t axis) {
  const auto drop = [&](const ShapeTracker& st) {
    Shape shape = st.shape();
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    return st.reshape(shape);
  };
  try {
    const LazyOpPtr kernel = rebuild(
        c.kernel, [&](const LazyOpPtr& node, const std::vector<LazyOpPtr>& src) -> LazyOpPtr {
          if (node->op() == Op::Store) return stored(src[0]);
          OpArg arg = node->arg();
          if (auto* b = std::get_if<MemBuffer>(&arg)) b->st = drop(b->st);
          if (auto* k = std::get_if<ConstBuffer>(&arg)) k->st = drop(k->st);
          if (auto* r = std::get_if<ReduceArg>(&arg)) {
            std::vector<int> axes;
            for (const int a : r->axes)
              if (a != static_cast<int>(axis))
                axes.push_back(a > static_cast<int>(axis) ? a - 1 : a);
            if (axes.empty()) return src[0];
            r->axes = axes;
          }
          return LazyOp::make(node->op(), src, std::move(arg));
        });
    return renumbered(kernel, c.inputs);
  } catch (const Error&) {
    return std::nullopt;
  }
}

void dimensional(const KernelCase& c, Candidates& out) {
  std::vector<std::int64_t> sizes(c.kernel->shape().size(), 1);
  for (const LazyOpPtr& node : toposort(c.kernel))
    for (std::size_t i = 0; i < sizes.size(); ++i)
      sizes[i] = std::max(sizes[i], node->shape()[i].as_int());
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const std::int64_t n = sizes[axis];
    if (n == 1) add(out, without_axis(c, axis));
    if (n <= 1) continue;
    for (const auto& [begin, end] : {std::pair{std::int64_t{0}, n / 2},
                                     {n / 2, n},
                                     {std::int64_t{1}, n},
                                     {std::int64_t{0}, n - 1}})
      for (std::size_t other = axis; other < sizes.size(); ++other) {
        // Two axes at once where they are equal: of some faults one alone would hide it.
        if (sizes[other] != n) continue;
        const std::optional<KernelCase> one = cut(c, axis, begin, end);
        if (one) add(out, other == axis ? one : cut(*one, other, begin, end));
      }
  }
}

void values(const KernelCase& c, Candidates& out) {
  for (std::size_t b = 0; b < c.inputs.size(); ++b) {
    const std::size_t width = itemsize(c.inputs[b].dtype);
    const auto count = static_cast<std::size_t>(c.inputs[b].size());
    for (const int value : {0, 1}) {
      const std::uint64_t bits = Scalar::from_int(c.inputs[b].dtype, value).bits();
      KernelCase all = c;
      for (std::size_t i = 0; i < count; ++i)
        std::memcpy(all.inputs[b].bytes.data() + i * width, &bits, width);
      out.push_back(std::move(all));
      for (std::size_t i = 0; i < std::min<std::size_t>(count, 32); ++i) {
        KernelCase one = c;
        std::memcpy(one.inputs[b].bytes.data() + i * width, &bits, width);
        out.push_back(std::move(one));
      }
    }
  }
}

}  // namespace

CaseSize size_of(const KernelCase& c) {
  CaseSize size;
  for (const LazyOpPtr& node : toposort(c.kernel)) {
    ++size.nodes;
    size.elements +=
        1 + elements(node->shape()).as_int() + static_cast<std::int64_t>(node->shape().size());
    const auto count = [&](const ShapeTracker& st) {
      size.views += st.views().size() - 1;
      for (const View& v : st.views())
        size.views += (v.mask() ? 1U : 0U) + (v.is_contiguous() ? 0U : 1U);
    };
    if (node->op() == Op::Load) count(node->buffer().st);
    if (node->op() == Op::Const) count(node->constant().st);
  }
  for (const HostArray& input : c.inputs) {
    size.buffer_bytes += static_cast<std::int64_t>(input.bytes.size());
    const std::size_t width = itemsize(input.dtype);
    for (std::size_t i = 0; i < input.bytes.size(); i += width) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, input.bytes.data() + i, width);
      const bool one = bits == Scalar::from_int(input.dtype, 1).bits();
      size.plain += bits == 0 ? 0U : one ? 1U : 2U;
    }
  }
  return size;
}

void smaller_cases(const KernelCase& c, const std::function<bool(std::vector<KernelCase>)>& take) {
  for (const auto pass : {structural, dimensional, values}) {
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
    for (const auto pass : {structural, dimensional, values}) {
      Candidates candidates;
      pass(result.smallest, candidates);
      for (KernelCase& candidate : candidates) {
        const CaseSize smaller = size_of(candidate);
        if (!(smaller < size)) continue;
        if (result.runs == most_runs) return result;
        ++result.runs;
        if (!fails(candidate)) continue;
        result.smallest = std::move(candidate);
        size = smaller;
        progress = true;
        break;
      }
      if (progress) break;
    }
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

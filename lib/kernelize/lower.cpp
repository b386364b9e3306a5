// Builds a kernel's AST from its nodes.
#include <algorithm>
#include <unordered_map>

#include "touchstone/device/config.h"
#include "touchstone/kernelize/kernelize.h"
#include "touchstone/kernelize/rules.h"
#include "touchstone/kernelize/view_pool.h"
#include "touchstone/shapetracker/merge/simplify.h"
#include "touchstone/uop/graph_op.h"
#include "touchstone/uop/kernel_graph.h"
#include "touchstone/uop/spec.h"

namespace touchstone {
namespace {

constexpr OpSet kMemory{GraphOp::Buffer, GraphOp::Assign, GraphOp::MSelect, GraphOp::MStack};

bool is_leaf(const UOp& u) { return kMemory.has(u.op()) || u.op() == GraphOp::Const; }

// True for nodes that only pass on their first source.
bool looks_through(const UOp& u) {
  return group(u.op()) == GraphOpGroup::Ask || u.op() == GraphOp::Bind;
}

// Translates ops that have no LazyOp of the same name.
LazyOpPtr node_of(const UOp& u, std::vector<LazyOpPtr> of, int first_axis) {
  const DType d = u.dtype().base;
  switch (u.op()) {
    case GraphOp::Cast: return LazyOp::cast(of[0], d);
    case GraphOp::Bitcast: return LazyOp::cast(of[0], d, true);
    case GraphOp::Function: return LazyOp::function(u.arg_as<NamedFunction>(), std::move(of));
    case GraphOp::CmpNe: return LazyOp::unary(Op::Neg, LazyOp::binary(Op::CmpEq, of[0], of[1]));
    case GraphOp::And:
    case GraphOp::Or:
      if (!is_bool(d)) break;
      return LazyOp::binary(u.op() == GraphOp::And ? Op::Mul : Op::Max, of[0], of[1]);
    case GraphOp::ReduceAxis: {
      const auto& [op, axes, fused] = u.arg_as<UOpReduce>();
      if (op == GraphOp::Mul) break;
      std::vector<int> last;
      for (std::size_t i = 0; i < axes.size(); ++i)
        last.push_back(first_axis + static_cast<int>(i));
      return LazyOp::reduce(op == GraphOp::Max ? Op::ReduceMax : Op::ReduceSum, of[0],
                            std::move(last));
    }
    default:
      if (const std::optional<Op> op = info(u.op()).kernel)
        return LazyOp::make(*op, std::move(of), {});
      break;
  }
  throw AstError(u.line() + ": kernels do not support this op");
}

class Lowering {
 public:
  Lowering(const UOp& assign, Assigns assigns)
      : own_(assign.src(0)), in_place_(assigns == Assigns::InPlace) {
    const UOpKernelPtr& kernel = assign.src(1).arg_as<UOpKernelPtr>();
    if (kernel->ast.op() == GraphOp::BufferView) {  // a device that cannot alias part of its memory
      const auto& [first, size] = kernel->ast.arg_as<Mask>()[0];
      root_ = kernel->ast.src(0).shrink({{first, first + size}}).bitcast(kernel->ast.dtype());
      return;
    }
    if (kernel->ast.op() != GraphOp::Sink)
      throw AstError(kernel->ast.line() + " is not a kernel that computes");
    root_ = kernel->ast.src(0);
    if (root_.op() == GraphOp::Assign && root_.src(1).op() != GraphOp::Kernel)
      root_ = UOp(root_.src(1));
  }

  LoweredKernel run() {
    const int extra = count_axes();
    Shape shape;
    for (const sint& s : root_.shape())
      if (extra == 0 || s != sint(1)) shape.push_back(s);
    shape.insert(shape.end(), static_cast<std::size_t>(extra), sint(1));
    const ShapeTracker* whole = views_.intern(ShapeTracker::contiguous(shape));
    open(root_, whole, extra);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      if (frame.operands.size() == operands_of(frame.node)) {
        close();
        continue;
      }
      const std::size_t next = frame.operands.size();
      descend(UOp(frame.node.src(next)), frame.inner, frame.extra);
    }
    out_.ast = LazyOp::store(*whole, std::move(result_));
    return std::move(out_);
  }

 private:
  struct Key {
    const UOpNode* node;
    const ShapeTracker* st;
    int extra;
    bool padded;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& k) const {
      return static_cast<std::size_t>(
          hash_mix(hash_mix(reinterpret_cast<std::uintptr_t>(k.node),
                            reinterpret_cast<std::uintptr_t>(k.st)),
                   2 * static_cast<std::uint64_t>(k.extra) + (k.padded ? 1 : 0)));
    }
  };
  struct Frame {
    UOp node;
    const ShapeTracker* outer;  // how the node is seen
    const ShapeTracker* inner;  // how its sources are seen
    int outer_extra, extra;     // trailing axes of size 1 for reduces below
    bool padded = false;        // must be 0 outside the mask of `outer`, unlike its ops' result
    std::vector<LazyOpPtr> operands;
  };

  static std::size_t operands_of(const UOp& u) {
    return u.op() == GraphOp::ReduceAxis || u.op() == GraphOp::Gather ? 1 : u.src().size();
  }
  ShapeTracker leaf(ShapeTracker st) const { return merges_ ? simplify(st) : st; }

  // Counts, for each node, the axes that reduces below it add; returns the root's.
  int count_axes() const {
    UOpMap<int> need;
    for (const UOp& u : root_.toposort([&](const UOp& u) { return !kMemory.has(u.op()); })) {
      int most = 0;
      for (const UOp& s : u.src())
        if (const int* of = need.find(s)) most = std::max(most, *of);
      if (u.op() == GraphOp::ReduceAxis)
        most += static_cast<int>(u.arg_as<UOpReduce>().axes.size());
      need.set(u, most);
    }
    const int* of_root = need.find(root_);
    return of_root == nullptr ? 0 : *of_root;  // realized values are only copied
  }

  // The view of a reduce's source; its reduced axes replace as many axes of size 1.
  const ShapeTracker* under_reduce(const UOp& r, const ShapeTracker& st, int extra) {
    const std::size_t reduced = r.arg_as<UOpReduce>().axes.size();
    Shape kept = st.shape();
    kept.resize(kept.size() - static_cast<std::size_t>(extra));
    const ShapeTracker terms = kernelize::terms_of(r, st.reshape(kept));
    Shape shape = terms.shape();
    shape.insert(shape.end(), static_cast<std::size_t>(extra) - reduced, sint(1));
    const ShapeTracker st_of_terms = terms.reshape(shape);
    return views_.intern(merges_ ? merge_outermost(st_of_terms) : st_of_terms);
  }

  void give(LazyOpPtr value) {
    if (frames_.empty())
      result_ = std::move(value);
    else
      frames_.back().operands.push_back(std::move(value));
  }

  void open(const UOp& u, const ShapeTracker* outer, int extra, bool padded = false) {
    if (u.op() == GraphOp::ReduceAxis) {
      const int k = static_cast<int>(u.arg_as<UOpReduce>().axes.size());
      frames_.push_back({u, outer, under_reduce(u, *outer, extra), extra, extra - k, padded, {}});
    } else if (is_elementwise(u.op())) {
      frames_.push_back({u, outer, outer, extra, extra, padded, {}});
    } else {
      descend(u, outer, extra);
    }
  }

  // Goes through movement to `u`, what it moves, as seen through `st`; returns whether it masks u.
  bool look_through(UOp& u, const ShapeTracker*& st) {
    bool masked = false;
    for (;;) {
      if (looks_through(u)) {
        u = UOp(u.src(0));
      } else if (is_movement(u.op()) && !u.src().empty()) {
        UOp from = u.src(0);
        while (is_movement(from.op()) && from.op() != GraphOp::View && u.op() != GraphOp::View)
          from = UOp(from.src(0));
        if (u.op() != GraphOp::View && from.op() == GraphOp::View && !from.src().empty())
          from = UOp(from.src(0));
        st = views_.through(u.tracker(), st, merges_);
        masked = masked || u.tracker().masked();
        u = from;
      } else {
        return masked;
      }
    }
  }

  void descend(UOp u, const ShapeTracker* st, int extra) {
    const bool masked = look_through(u, st);
    const bool padded = masked && makes_something_of_zeros(u);
    const Key key{u.address(), st, extra, padded};
    if (const auto it = made_.find(key); it != made_.end()) return give(it->second);
    if (!is_leaf(u)) return open_computed(u, st, extra, padded);
    LazyOpPtr leaf = leaf_of(u, *st);
    made_.emplace(key, leaf);
    give(std::move(leaf));
  }

  // True if padding the loads of u differs from padding u.
  bool makes_something_of_zeros(const UOp& u) {
    if (unsafe_.empty())
      for (const UOp& n : root_.toposort([](const UOp& at) { return !kMemory.has(at.op()); })) {
        bool unsafe = !info(n.op()).keeps_zero;
        for (const UOp& s : n.src())
          if (const bool* of = unsafe_.find(s); of != nullptr && n.op() != GraphOp::Gather)
            unsafe = unsafe || *of;  // a GATHER masks its table's view
        unsafe_.set(n, unsafe);
      }
    const bool* const known = unsafe_.find(u);
    return known != nullptr && *known;
  }

  void open_computed(const UOp& u, const ShapeTracker* st, int extra, bool padded) {
    if (u.op() != GraphOp::ReduceAxis && !is_elementwise(u.op()))
      throw AstError(u.line() + " does not belong in a kernel");
    open(u, st, extra, padded);
  }

  LazyOpPtr leaf_of(const UOp& u, const ShapeTracker& st) {
    if (u.op() == GraphOp::Const) {
      const ShapeTracker own = u.src().empty() ? ShapeTracker() : u.tracker();
      return LazyOp::constant(u.value(), leaf(u.src().empty() ? st : own + st));
    }
    MemBuffer read = memory_of(u, st);
    return LazyOp::load(read.idx, read.dtype, std::move(read.st));
  }

  MemBuffer memory_of(const UOp& u, const ShapeTracker& st) {
    ShapeTracker simple = leaf(st);
    if (in_place_ && u == own_) check_self(simple);
    const auto at = std::ranges::find(out_.inputs, u);
    const int number = static_cast<int>(at - out_.inputs.begin()) + 1;
    if (at == out_.inputs.end()) out_.inputs.push_back(u);
    return {number, u.dtype().base, std::move(simple)};
  }

  // `st` with a new first axis that selects one of `rows` rows, each of shape `row`.
  static ShapeTracker with_rows(const ShapeTracker& st, const sint& rows, const Shape& row) {
    std::vector<View> views;
    sint size = elements(row);
    for (const View& v : st.views()) {
      Shape shape = v.shape();
      Strides strides = v.strides();
      std::optional<Mask> mask = v.mask();
      shape.insert(shape.begin(), rows);
      strides.insert(strides.begin(), size);
      if (mask) mask->insert(mask->begin(), {sint(0), rows});
      views.push_back(View::strided(shape, strides, v.offset(), mask));
      size = v.size();
    }
    return ShapeTracker(std::move(views));
  }

  LazyOpPtr gathered(const UOp& u, LazyOpPtr position, const ShapeTracker& outer) {
    const auto& [seen, checked] = u.arg_as<UOpGather>();
    const ShapeTracker* st = views_.intern(with_rows(outer, seen.shape()[0], u.shape()));
    st = views_.through(seen, st, merges_);
    UOp table = u.src(1);
    look_through(table, st);
    MemBuffer read = memory_of(table, *st);
    if (checked) read.checked = leaf(*checked + outer);
    return LazyOp::make(Op::Gather, {std::move(position)}, std::move(read));
  }

  // Requires that each element is read where it is written.
  static void check_self(const ShapeTracker& st) {
    if (st.is_contiguous()) return;
    if (st.views().size() == 1) {
      const View& v = st.views()[0];
      Mask once;
      for (std::size_t i = 0; i < v.shape().size(); ++i)
        once.emplace_back(
            0, v.strides()[i] == sint(0) && v.shape()[i] != sint(0) ? sint(1) : v.shape()[i]);
      if (!v.mask() && v.shrink(once).is_contiguous()) return;
      if (v.mask()) {
        const View all = View::contiguous(v.shape());
        if (View::strided(v.shape(), all.strides(), all.offset(), v.mask()) == v) return;
      }
    }
    throw AstError(
        "self operand of augmented assign must be contiguous: " + st.str() +
        " is read from the buffer that is written; write a += a.T.contiguous(), not a += a.T");
  }

  void close() {
    Frame done = std::move(frames_.back());
    frames_.pop_back();
    const int first = static_cast<int>(done.outer->shape().size()) - done.outer_extra;
    LazyOpPtr value = done.node.op() == GraphOp::Gather
                          ? gathered(done.node, std::move(done.operands[0]), *done.outer)
                          : node_of(done.node, std::move(done.operands), first);
    if (done.padded) value = kernelize::where_valid(*done.outer, std::move(value));
    made_.emplace(Key{done.node.address(), done.outer, done.outer_extra, done.padded}, value);
    give(std::move(value));
  }

  UOp own_, root_;
  const bool in_place_, merges_ = Config::current().on(Switch::MergeViews);
  LoweredKernel out_;
  LazyOpPtr result_;
  std::vector<Frame> frames_;
  kernelize::ViewPool views_;
  std::unordered_map<Key, LazyOpPtr, KeyHash> made_;
  UOpMap<bool> unsafe_;
};

}  // namespace

LoweredKernel lower_kernel(const UOp& assign, Assigns assigns) {
  LoweredKernel kernel = Lowering(assign, assigns).run();
#ifndef NDEBUG
  type_verify(kernel_graph(kernel.ast), SpecLevel::Kernel);
#endif
  return kernel;
}

}  // namespace touchstone

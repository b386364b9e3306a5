// Kernels as contractions have them, for the area `kernel`.
#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <numeric>

#include "touchstone/fuzz/draw/draw_kernel.h"
#include "touchstone/fuzz/judge/values.h"

namespace touchstone::fuzz {
namespace {

constexpr std::int64_t kMostTerms = 2048;

/// Two operands with a common axis, each with a little computation before they meet; code for rows,
/// tiles and lanes shares and precomputes much of it. Sometimes a batch of these, with parts of
/// their own; the batch size may be a variable and 0.
class ContractionDraw {
 public:
  explicit ContractionDraw(Chooser& chooser) : chooser_(chooser) {}

  KernelCase draw() {
    constexpr DType kTypes[] = {
        DType::Float32, DType::Int32, DType::Float32,  DType::Float64,    DType::Float16,
        DType::Float32, DType::UInt8, DType::BFloat16, DType::Float8E4M3, DType::Float8E5M2};
    dtype_ = kTypes[chooser_.below(std::size(kTypes))];
    draw_sizes();
    const LazyOpPtr a = part(with_batch({Rows, Contracted})),
                    b = shared_ ? shared_part() : part({Columns, Contracted});
    constexpr Op kTerms[] = {Op::Mul, Op::Add, Op::Mul, Op::Max};
    const Op op = kTerms[chooser_.below(std::size(kTerms))];
    const LazyOpPtr term =
        chooser_.chance(1, 2) ? LazyOp::binary(op, a, b) : LazyOp::binary(op, b, a);
    std::vector<int> axes{place_[Contracted]};
    if (chooser_.chance(1, 8)) axes.push_back(place_[Rows]);
    std::ranges::sort(axes);
    for (const int axis : axes) shape_[static_cast<std::size_t>(axis)] = 1;
    LazyOpPtr result =
        LazyOp::reduce(chooser_.chance(1, 6) ? Op::ReduceMax : Op::ReduceSum, term, axes);
    if (chooser_.chance(1, 2)) result = LazyOp::binary(Op::Add, result, leaf({Columns}));
    if (chooser_.chance(1, 2)) result = LazyOp::unary(unary_op(), result);
    KernelCase c{LazyOp::store(ShapeTracker::contiguous(result->shape()), result), {}};
    if (!all_) c.values["n"] = chooser_.chance(1, 2) ? 0 : chooser_.between(1, sizes_[Batch]);
    c.inputs = draw_inputs(chooser_, draw_family(chooser_), c.concrete());
    return c;
  }

 private:
  enum Role : std::uint8_t { Rows, Columns, Contracted, Batch };

  // Sizes around those of lanes and tiles; the axes in any order.
  void draw_sizes() {
    constexpr std::int64_t kSizes[] = {4, 2, 8, 3, 16, 1, 5, 12, 17, 33};
    for (const Role role : {Rows, Columns, Contracted})
      sizes_[role] = kSizes[chooser_.below(std::size(kSizes))];
    if (chooser_.chance(1, 2)) sizes_[Batch] = chooser_.between(2, 4);
    all_ = !batched() || !chooser_.chance(1, 3);
    if (!all_)  // large enough for lanes and for arrays precomputed ahead of loops
      for (const Role role : {Columns, Contracted})
        sizes_[role] = std::max<std::int64_t>(sizes_[role], 8);
    while (std::accumulate(sizes_.begin(), sizes_.end(), std::int64_t{1}, std::multiplies()) >
           kMostTerms)
      *std::ranges::max_element(sizes_) /= 2;
    shape_.resize(batched() ? 4 : 3);
    for (std::size_t i = shape_.size() - 1; i > 0; --i)
      std::swap(place_[i], place_[chooser_.below(i + 1)]);
    if (!all_ && chooser_.chance(1, 2)) place_ = {0, 3, 1, 2};  // between rows and columns
    shared_ = all_ && batched() && chooser_.chance(1, 2);
    if (shared_) place_ = {1, 2, 3, 0};
    for (const Role role : {Rows, Columns, Contracted}) shape_[at(role)] = sizes_[role];
    if (batched()) shape_[at(Batch)] = sizes_[Batch];
  }
  bool batched() const { return sizes_[Batch] > 1; }
  std::vector<Role> with_batch(std::vector<Role> roles) {
    if (batched() && std::ranges::count(roles, Batch) == 0 && chooser_.chance(1, 2))
      roles.push_back(Batch);
    return roles;
  }
  std::size_t at(Role role) const { return static_cast<std::size_t>(place_[role]); }

  Op unary_op() {
    std::vector<Op> ops;
    for (const OpInfo& row : op_table)
      if (is_elementwise(row.op) && row.arity == 1 && row.op != Op::Cast && row.op != Op::Noop &&
          takes(row.op, dtype_))
        ops.push_back(row.op);
    return chooser_.pick(ops);
  }

  // A computation over leaves with some or all of these axes.
  LazyOpPtr part(const std::vector<Role>& roles) {
    LazyOpPtr x = leaf(roles);
    for (std::uint64_t steps = chooser_.below(4); steps > 0; --steps) {
      if (chooser_.chance(1, 2)) {
        x = LazyOp::unary(unary_op(), x);
        continue;
      }
      constexpr Op kOps[] = {Op::Add, Op::Mul, Op::Max};
      std::vector<Role> some = roles;
      if (chooser_.chance(1, 2)) some = {chooser_.pick(roles)};
      x = LazyOp::binary(kOps[chooser_.below(3)], x, leaf(with_batch(some)));
    }
    return x;
  }

  // The part shared by the batch, and each member's own.
  LazyOpPtr shared_part() {
    LazyOpPtr x = leaf({Columns, Contracted});
    if (chooser_.chance(1, 2)) x = LazyOp::unary(unary_op(), x);
    return LazyOp::binary(chooser_.chance(1, 2) ? Op::Add : Op::Mul, x,
                          leaf({Batch, Columns}, false));
  }

  // A buffer with these axes, viewed along the kernel's axes; perhaps transposed, padded at one end
  // of an axis, or of a narrower type.
  LazyOpPtr leaf(std::vector<Role> roles, bool turns = true) {
    std::ranges::sort(roles, {}, [&](Role role) { return place_[role]; });
    Padding padding(roles.size(), {sint(0), sint(0)});
    std::vector<std::int64_t> stored;
    for (const Role role : roles) stored.push_back(shape_[at(role)]);
    const auto padded = static_cast<std::size_t>(chooser_.index(roles.size()));
    if (stored[padded] > 1 && chooser_.chance(1, 4)) {
      --stored[padded];
      padding[padded] =
          chooser_.chance(1, 2) ? std::pair{sint(1), sint(0)} : std::pair{sint(0), sint(1)};
    }
    const bool transposed = turns && chooser_.chance(1, 2);
    if (transposed) std::ranges::reverse(stored);
    ShapeTracker st = ShapeTracker::contiguous({stored.begin(), stored.end()});
    std::vector<int> order(stored.size());
    std::iota(order.begin(), order.end(), 0);
    if (transposed) std::ranges::reverse(order);
    st = st.permute(order);
    st = st.pad(padding);
    Shape ones(shape_.size(), sint(1)), whole;
    for (const Role role : roles) ones[at(role)] = sint(shape_[at(role)]);
    for (const std::int64_t size : shape_) whole.emplace_back(size);
    st = st.reshape(ones).expand(whole);
    if (all_ && chooser_.chance(1, 6)) st = padded_where_it_repeats(st);
    if (!all_) {
      Mask some;
      for (const sint& size : whole) some.emplace_back(0, size);
      some[at(Batch)].second = symbolic::variable("n", 0, sizes_[Batch]);
      st = st.shrink(some);
    }
    if (!chooser_.chance(1, 8)) return LazyOp::load(++buffers_, dtype_, st);
    constexpr DType kNarrow[] = {DType::Int8, DType::Float8E4M3, DType::Float8E5M2};
    return LazyOp::cast(LazyOp::load(++buffers_, kNarrow[chooser_.below(3)], st), dtype_);
  }

  // Broadcast along an axis except at one end.
  ShapeTracker padded_where_it_repeats(ShapeTracker st) {
    const auto axis = static_cast<std::size_t>(chooser_.index(shape_.size()));
    if (shape_[axis] < 2) return st;
    const std::int64_t off = chooser_.between(1, shape_[axis] - 1);
    Mask kept;
    for (const std::int64_t size : shape_) kept.emplace_back(0, size);
    Padding padding(shape_.size(), {sint(0), sint(0)});
    if (chooser_.chance(1, 2)) {
      kept[axis].first = off;
      padding[axis].first = off;
    } else {
      kept[axis].second = shape_[axis] - off;
      padding[axis].second = off;
    }
    st = st.shrink(kept);
    return st.pad(padding);
  }

  Chooser& chooser_;
  DType dtype_ = DType::Float32;
  std::array<std::int64_t, 4> sizes_{1, 1, 1, 1};  // by role
  std::array<int, 4> place_{0, 1, 2, 3};           // of a role among the axes
  std::vector<std::int64_t> shape_;                // by axis; 1 where it was reduced
  bool all_ = true;                                // of a batch
  bool shared_ = false;                            // the batch shares some of the columns' part
  int buffers_ = 0;
};

}  // namespace

KernelCase draw_contraction(Chooser& chooser) { return ContractionDraw(chooser).draw(); }

}  // namespace touchstone::fuzz

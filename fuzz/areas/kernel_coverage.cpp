#include "touchstone/fuzz/areas/kernel_coverage.h"

#include <algorithm>
#include <set>

#include "touchstone/ops/node_order.h"

namespace touchstone::fuzz {
namespace {

constexpr std::string_view kFeatures[] = {"plain",       "mask",   "no elements",
                                          "edge values", "shared", "symbolic size"};
constexpr std::string_view kMovement[] = {
    "none", "permuted", "expanded", "flipped or stepped", "padded", "several views"};

std::vector<Op> coverage_ops() {
  std::vector<Op> ops;
  for (const OpInfo& row : op_table)
    if (row.op != Op::Noop && (is_elementwise(row.op) || is_reduce(row.op))) ops.push_back(row.op);
  return ops;
}

int place_of(Op op) {
  static const std::vector<Op> ops = coverage_ops();
  return static_cast<int>(std::ranges::find(ops, op) - ops.begin());
}

// The operand's last operand, counted only with op and operand: chains of three.
constexpr std::size_t kBelow = 7;
constexpr std::size_t kVerdict = 6;

bool compares(Op op) { return op == Op::CmpLt || op == Op::CmpEq; }

/// Whether a node of this op, or a leaf if none, may have that type.
bool gives(std::optional<Op> op, DType type) {
  if (!op || *op == Op::Cast) return true;
  return compares(*op) ? is_bool(type) : takes(*op, type);
}

bool chain_is_feasible(Op op, Op operand, std::optional<Op> below) {
  if (is_reduce(operand) && (is_reduce(op) || (below && is_reduce(*below)))) return false;
  for (const DTypeInfo& type : dtype_table) {
    if (!takes(op, type.dtype) || !gives(operand, type.dtype)) continue;
    for (const DTypeInfo& inner : dtype_table) {
      const bool changes = operand == Op::Cast || compares(operand);
      if (!changes && inner.dtype != type.dtype) continue;
      if (takes(operand, inner.dtype) && gives(below, inner.dtype)) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<Dimension> kernel_dimensions() {
  std::vector<Dimension> d{{"op", {}},
                           {"operand", {}},
                           {"dtype", {}},
                           {"movement", {}},
                           {"rank", {"0", "1", "2", "3", "4"}},
                           {"feature", {}},
                           {"verdict", {"PASS", "WEAK", "SKIPPED"}},
                           {"below", {}}};
  for (const Op op : coverage_ops()) d[0].values.emplace_back(touchstone::name(op));
  d[1].values = d[0].values;
  d[1].values.insert(d[1].values.end(), {"LOAD", "CONST"});
  d[kBelow].values = d[1].values;
  for (const DTypeInfo& row : dtype_table) d[2].values.emplace_back(row.name);
  for (const std::string_view m : kMovement) d[3].values.emplace_back(m);
  for (const std::string_view f : kFeatures) d[5].values.emplace_back(f);
  return d;
}

// `dtype` is the type of the last operand, whose op is `operand`.
bool kernel_row_is_feasible(std::span<const int> row) {
  static const std::vector<Op> ops = coverage_ops();
  const auto op_at = [&](int i) -> std::optional<Op> {
    if (i < 0 || i >= std::ssize(ops)) return std::nullopt;
    return ops[static_cast<std::size_t>(i)];
  };
  const std::optional<Op> op = op_at(row[0]), operand = op_at(row[1]);
  if (row[kVerdict] == 2) return false;  // a failure is no coverage goal
  if (row[kBelow] >= 0)
    return op && operand &&
           std::ranges::all_of(row.subspan(2, kBelow - 2), [](int v) { return v < 0; }) &&
           chain_is_feasible(*op, *operand, op_at(row[kBelow]));
  const bool reduces = op && is_reduce(*op);
  if (reduces && operand && is_reduce(*operand)) return false;
  const bool no_axis = row[4] == 0;
  if (no_axis && (reduces || row[3] > 0)) return false;
  if (no_axis && (row[5] == 1 || row[5] == 2 || row[5] == 5)) return false;
  if (row[3] == 4 && row[5] == 0) return false;  // padding has a mask
  for (const DTypeInfo& type : dtype_table) {
    if (row[2] >= 0 && &type != &dtype_table[static_cast<std::size_t>(row[2])]) continue;
    if (op && !takes(*op, type.dtype)) continue;
    if (gives(operand, type.dtype)) return true;
  }
  return false;
}

std::vector<CoverageRow> kernel_rows(const KernelCase& c, Ending ending) {
  std::set<int> movement, features;
  std::set<int> buffers;
  const std::vector<LazyOpPtr> order = toposort(c.concrete());
  for (const LazyOpPtr& node : order) {
    const bool loads = is_load(node->op());
    if (!loads && node->op() != Op::Const) continue;
    const ShapeTracker& st = loads ? node->buffer().st : node->constant().st;
    if (loads && !buffers.insert(node->buffer().idx).second) features.insert(4);
    if (st.is_contiguous()) movement.insert(0);
    if (st.views().size() > 1) movement.insert(5);
    for (const View& v : st.views()) {
      if (v.mask()) features.insert(1), movement.insert(4);
      std::int64_t last = INT64_MAX;
      for (std::size_t i = 0; i < v.shape().size(); ++i) {
        const std::int64_t s = v.strides()[i].as_int(), n = v.shape()[i].as_int();
        if (n == 0) features.insert(2);
        if (s == 0 && n > 1) movement.insert(2);
        if (s < 0) movement.insert(3);
        if (s > last) movement.insert(1);
        if (s != 0) last = s < 0 ? -s : s;
      }
    }
  }
  for (const HostArray& input : c.inputs)
    for (std::size_t i = 0; i < input.bytes.size() / itemsize(input.dtype); ++i) {
      const double value = Scalar::from_bits(input.dtype, bits_at(input, i)).to_double();
      if (is_float(input.dtype) && !(value > -1e300 && value < 1e300)) features.insert(3);
    }
  if (!c.values.empty()) features.insert(5);
  if (features.empty()) features.insert(0);
  if (movement.empty()) movement.insert(0);
  std::vector<CoverageRow> rows;
  for (const LazyOpPtr& node : order) {
    const int op = place_of(node->op());
    if (node->src().empty() || op >= std::ssize(coverage_ops())) continue;
    const LazyOpPtr& operand = node->src().back();
    const auto place = [](const LazyOpPtr& n) {  // leaves follow the ops
      return n->op() == Op::Const ? place_of(Op::Load) + 1 : place_of(n->op());
    };
    const int below = place(operand);
    if (!operand->src().empty() && ending != Ending::Skipped) {
      CoverageRow chain(kBelow + 1, -1);
      chain[0] = op;
      chain[1] = below;
      chain[kBelow] = place(operand->src().back());
      rows.push_back(std::move(chain));
    }
    const int rank = std::min(static_cast<int>(node->shape().size()), 4);
    if (ending == Ending::Skipped) {  // nothing was checked in combination
      for (const auto& [dimension, value] : {std::pair<std::size_t, int>{0, op},
                                             {1, below},
                                             {2, static_cast<int>(operand->dtype())},
                                             {4, rank}}) {
        CoverageRow skipped(kBelow + 1, -1);
        skipped[dimension] = value;
        skipped[kVerdict] = 2;
        rows.push_back(std::move(skipped));
      }
      continue;
    }
    for (const int m : movement)
      for (const int f : features)
        rows.push_back({op, below, static_cast<int>(operand->dtype()), m, rank, f,
                        ending == Ending::Pass   ? 0
                        : ending == Ending::Weak ? 1
                                                 : -1,
                        -1});
  }
  return rows;
}

}  // namespace touchstone::fuzz

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <unordered_map>

#include "touchstone/base/error.h"
#include "touchstone/base/hash.h"
#include "touchstone/fuzz/areas.h"
#include "touchstone/fuzz/draw_kernel.h"
#include "touchstone/fuzz/kernel_backend.h"
#include "touchstone/fuzz/reference_check.h"
#include "touchstone/fuzz/shrink.h"
#include "touchstone/fuzz/view_case.h"
#include "touchstone/interp/interpreted.h"
#include "touchstone/ops/index_fault.h"
#include "touchstone/ops/kernel_json.h"
#include "touchstone/ops/node_order.h"

namespace touchstone::fuzz {
namespace {

using foreign::Answer;

/// Which elements of each input some index of the kernel reads.
std::vector<std::vector<bool>> read_elements(const KernelCase& c) {
  std::vector<std::vector<bool>> read;
  for (const HostArray& input : c.inputs)
    read.emplace_back(static_cast<std::size_t>(input.size()), false);
  const LazyOpPtr kernel = c.concrete();
  for (const LazyOp* node : ordered_nodes(kernel)) {
    if (!is_load(node->op())) continue;
    std::vector<bool>& of = read[static_cast<std::size_t>(node->buffer().idx) - 1];
    for (const std::int64_t cell : addresses_of(node->buffer().st.views()).cells)
      if (cell >= 0) of[static_cast<std::size_t>(cell)] = true;
  }
  return read;
}

// Whether every device must have the same positions: they are of integers, and nothing open.
bool positions_are_exact(const LazyOpPtr& kernel) {
  const auto is_divisor = [](const LazyOp& n) {
    return n.op() == Op::Const && !n.constant().st.masked() && is_integer(n.dtype()) &&
           n.constant().value.to_int64() > 0;
  };
  const auto is_exact = [&](const LazyOpPtr& n) {
    if (n->op() == Op::Cast) return !is_float(n->src()[0]->dtype());
    if ((n->op() == Op::Div || n->op() == Op::Mod) && !is_divisor(*n->src()[1])) return false;
    return !is_float(n->dtype()) &&
           std::ranges::none_of(n->src(), [](const LazyOpPtr& s) { return is_float(s->dtype()); });
  };
  return std::ranges::all_of(toposort(kernel), [&](const LazyOpPtr& n) {
    return n->op() != Op::Gather || std::ranges::all_of(toposort(n->src()[0]), is_exact);
  });
}

// Samples the costly checks by the hash of a case's text.
class SampleChoice {
 public:
  explicit SampleChoice(const std::string& text)
      : hash_(hash_bytes(text)), mixed_(hash_mix(0x5a17, hash_)) {}
  bool one_in(std::uint64_t every) const { return mixed_ % every == 0; }
  std::size_t variant(std::size_t of) const { return hash_ / 64 % of; }
  std::uint64_t other() const { return mixed_ / 4096; }

 private:
  std::uint64_t hash_, mixed_;
};

// Of the end alone, which is the hash of the kernel: few cases share it.
struct TextHash {
  std::size_t operator()(const std::string& text) const {
    constexpr std::size_t kEnd = 40;
    return hash_bytes(std::string_view(text).substr(text.size() - std::min(text.size(), kEnd)));
  }
};

struct Known {
  KernelCase drawn;
  SampleChoice choice;
  bool varies = true;  // the chosen variant may answer otherwise
};

class KernelArea final : public Area {
 public:
  explicit KernelArea(KernelBackends backends) : backends_(std::move(backends)) {}

  std::string_view name() const override { return "kernel"; }
  std::string draw(Chooser& chooser) override {
    KernelCase c = draw_kernel_case(chooser, Checks::Drawn);
    std::string text = case_to_json(c);
    if (known_.size() >= kMostKnown) known_.clear();
    known_.emplace(text, Known{std::move(c), SampleChoice(text)});
    return text;
  }

  void prepare(std::span<const std::string> cases) override {
    Cases batch;
    std::vector<LazyOpPtr> kernels, slow;
    std::vector<std::vector<LazyOpPtr>> varied(backends_.variants.size());
    for (const std::string& text : cases) {
      auto drawn = known_.extract(text);
      auto& [c, choice, differs] =
          !drawn.empty() ? batch.insert(std::move(drawn)).position->second
                         : batch.try_emplace(text, Known{case_from_json(text), SampleChoice(text)})
                               .first->second;
      kernels.push_back(c.kernel);
      if (varies(choice, Effort::Sampled)) {
        const std::size_t v = choice.variant(varied.size());
        differs = backends_.variants[v]->differs_on(c.kernel);
        if (differs) varied[v].push_back(c.kernel);
      }
      if (is_slow(choice, Effort::Sampled)) slow.push_back(c.kernel);
    }
    known_ = std::move(batch);
    reference_->forget_runners();
    backends_.candidate->prepare(kernels);
    for (std::size_t v = 0; v < varied.size(); ++v) backends_.variants[v]->prepare(varied[v]);
    if (backends_.slow) backends_.slow->prepare(slow);
  }

  Checked check(const std::string& text, Effort effort) override {
    const auto drawn = known_.find(text);
    std::optional<Known> read;
    if (drawn == known_.end()) read = Known{case_from_json(text), SampleChoice(text)};
    const Known& known = read ? *read : drawn->second;
    Checked result;
    try {
      result = judged(known, effort);
    } catch (const IndexError& e) {
      result = positions_are_exact(known.drawn.kernel) ? Checked::fail("checked", e.what())
                                                       : Checked{Ending::Skipped, {}};
    } catch (const Error& e) {
      result = Checked::fail("refused", e.what());
    }
    if (effort == Effort::Full && result.ending == Ending::Fail && looking_for_.empty())
      looking_for_ = result.failure.relation;
    return result;
  }

  std::vector<std::string> smaller(const std::string& text) override {
    std::vector<std::string> texts;
    smaller_cases(case_from_json(text), [&](const std::vector<KernelCase>& candidates) {
      for (const KernelCase& c : candidates) texts.push_back(case_to_json(c));
      return true;
    });
    return texts;
  }

  Measure measure(const std::string& text) override {
    const CaseSize s = size_of(case_from_json(text));
    return {static_cast<std::int64_t>(s.nodes), s.elements, static_cast<std::int64_t>(s.views),
            s.buffer_bytes, static_cast<std::int64_t>(s.plain)};
  }

  Extent extent(const std::string& text) override {
    const KernelCase c = case_from_json(text);
    Extent extent;
    for (const LazyOpPtr& node : toposort(c.kernel)) {
      extent.ops += node->src().empty() || node->op() == Op::Store ? 0 : 1;
      for (const sint& size : node->shape())
        extent.dim = std::max(extent.dim, size.max().value_or(0));
    }
    return extent;
  }

  std::vector<Dimension> dimensions() const override;
  bool feasible(std::span<const int> row) const override;
  std::vector<CoverageRow> coverage(const std::string& text, Ending ending) override;

 private:
  static constexpr std::size_t kMostKnown = 4096;

  // A case read back means what was drawn: `round trip` holds that.
  KernelCase case_of(const std::string& text) const {
    const auto known = known_.find(text);
    return known != known_.end() ? known->second.drawn : case_from_json(text);
  }

  bool wanted(std::string_view relation) const {
    return looking_for_.empty() || looking_for_ == relation;
  }
  bool varies(const SampleChoice& choice, Effort effort) const {
    return !backends_.variants.empty() &&
           (effort == Effort::Full ? wanted("options") : choice.one_in(backends_.vary_every));
  }

  bool is_slow(const SampleChoice& choice, Effort effort) const {
    return backends_.slow != nullptr &&
           (effort == Effort::Full ? wanted("slow") : choice.one_in(64));
  }

  const HostArray& right_answer(const KernelCase& c) {
    if (!right_) right_ = answer_of(c, *reference_);
    return *right_;
  }

  // The reference's bits, but for those of a NaN, are legal.
  bool is_right(const KernelCase& c, const HostArray& output) {
    const HostArray& right = right_answer(c);
    if (right.bytes == output.bytes) return true;
    if (!is_float(output.dtype) || right.bytes.size() != output.bytes.size()) return false;
    const std::size_t width = itemsize(output.dtype);
    for (std::size_t i = 0; i < right.bytes.size(); i += width)
      if (std::memcmp(&right.bytes[i], &output.bytes[i], width) != 0 &&
          !(is_nan(right, i) && is_nan(output, i)))
        return false;
    return true;
  }

  static bool is_nan(const HostArray& array, std::size_t byte) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &array.bytes[byte], itemsize(array.dtype));
    return std::isnan(Scalar::from_bits(array.dtype, bits).to_double());
  }

  std::optional<Checked> legal(const KernelCase& c, const HostArray& output, KernelBackend& backend,
                               const std::string& relation, Ending* ending) {
    const Verdict v = judge({c, output, {}}, backend.profile(c.kernel));
    if (v.outcome == Outcome::Fail) return Checked::fail(relation, v.str());
    if (ending != nullptr)
      *ending = v.outcome == Outcome::Pass   ? Ending::Pass
                : v.outcome == Outcome::Weak ? Ending::Weak
                                             : Ending::Skipped;
    return std::nullopt;
  }

  Checked judged(const Known& known, Effort effort) {
    const auto& [c, choice, differs] = known;
    right_.reset();
    if (const std::optional<IndexFault> fault = fault_of(c)) return faulted(c, *fault);
    const Answer answer = backends_.candidate->run(c);
    if (answer.kind == Answer::Kind::Broken) return Checked::fail("broken", answer.why);
    if (answer.kind == Answer::Kind::Unusable) return Checked::fail("unusable", answer.why);
    if (answer.kind == Answer::Kind::Unsupported) return {Ending::Skipped, {}};
    Checked result;
    if (backends_.judge_all || effort == Effort::Full || choice.one_in(16) ||
        !is_right(c, answer.output))
      if (auto wrong = legal(c, answer.output, *backends_.candidate, "verdict", &result.ending))
        return *wrong;
    if (result.ending == Ending::Skipped) right_answer(c);  // throws what it is that cannot be run
    if (effort == Effort::Full ? wanted("round trip") : choice.one_in(16))
      if (auto wrong = round_trip(c)) return *wrong;
    if (effort == Effort::Full ? wanted("threads") : choice.one_in(512))
      if (auto what = threads_differ(c, choice.other())) return Checked::fail("threads", *what);
    if (effort == Effort::Full ? wanted("refuses") : choice.one_in(24))
      if (auto what = not_refused(c, right_answer(c), choice.other()))
        return Checked::fail("refuses", *what);
    if (effort == Effort::Full ? wanted("poison") : choice.one_in(5))
      if (auto wrong = poisoned(c, answer.output)) return *wrong;
    if (is_slow(choice, effort))
      if (auto wrong = other(c, answer.output, *backends_.slow, "slow")) return *wrong;
    if (varies(choice, effort) && (differs || effort == Effort::Full))
      for (std::size_t v = 0; v < backends_.variants.size(); ++v) {
        if (effort != Effort::Full && v != choice.variant(backends_.variants.size())) continue;
        if (auto wrong = other(c, answer.output, *backends_.variants[v], "options")) return *wrong;
      }
    return result;
  }

  // Of the reference, where positions are checked and one of them is outside.
  std::optional<IndexFault> fault_of(const KernelCase& c) {
    if (std::ranges::none_of(ordered_nodes(c.kernel), [](const LazyOp* n) {
          return n->op() == Op::Gather && n->buffer().checked;
        }))
      return std::nullopt;
    try {
      (void)right_answer(c);
      return std::nullopt;
    } catch (const IndexError& e) {
      return e.fault();
    }
  }

  // There is no right answer but this error; a process says in its own words that it gives none.
  Checked faulted(const KernelCase& c, const IndexFault& wanted) {
    const Checked open{Ending::Skipped, {}};
    try {
      const Answer answer = backends_.candidate->run(c);
      if (answer.kind == Answer::Kind::Broken) return Checked::fail("broken", answer.why);
      if (answer.kind != Answer::Kind::Output || !positions_are_exact(c.kernel)) return open;
      return Checked::fail("checked", fmt::format("there is an answer, and no error: {}",
                                                  IndexError(wanted).what()));
    } catch (const IndexError& e) {
      if (e.fault() == wanted) return {};
      if (!positions_are_exact(c.kernel)) return open;
      return Checked::fail("checked",
                           fmt::format("{}, and not: {}", e.what(), IndexError(wanted).what()));
    }
  }

  // The answer of another backend is legal, too.
  std::optional<Checked> other(const KernelCase& c, const HostArray& output, KernelBackend& backend,
                               const std::string& relation) {
    const Answer answer = backend.run(c);
    if (answer.output.bytes == output.bytes || is_right(c, answer.output)) return std::nullopt;
    auto wrong = legal(c, answer.output, backend, relation, nullptr);
    if (wrong) wrong->failure.detail += "\non " + backend.name();
    return wrong;
  }

  static std::optional<Checked> round_trip(const KernelCase& c) {
    const std::string once = to_json(kernel_file(c.kernel));
    const KernelFile again = kernel_from_json(once);
    if (same(again.ast, c.kernel) && to_json(kernel_file(again.ast)) == once) return std::nullopt;
    return Checked::fail("round trip", "kernel.json reads back as another kernel:\n" +
                                           str(c.kernel) + str(again.ast));
  }

  // Elements that no index reads become NaN, or all ones, and memory beside the buffers is guarded:
  // the answer must be as legal as before.
  std::optional<Checked> poisoned(const KernelCase& c, const HostArray& output) {
    const std::vector<std::vector<bool>> read = read_elements(c);
    KernelCase poison = c;
    for (std::size_t b = 0; b < poison.inputs.size(); ++b) {
      HostArray& input = poison.inputs[b];
      const std::size_t width = itemsize(input.dtype);
      const char fill = is_bool(input.dtype) ? '\1' : '\xff';
      for (std::size_t i = 0; i < read[b].size(); ++i)
        if (!read[b][i]) std::memset(input.bytes.data() + i * width, fill, width);
    }
    const Answer answer = backends_.candidate->run_guarded(poison);
    if (answer.kind == Answer::Kind::Broken) return Checked::fail("broken", answer.why);
    if (answer.kind != Answer::Kind::Output || answer.output.bytes == output.bytes)
      return std::nullopt;
    return legal(c, answer.output, *backends_.candidate, "poison", nullptr);
  }

  using Cases = std::unordered_map<std::string, Known, TextHash>;

  KernelBackends backends_;
  std::optional<HostArray> right_;  // the reference's answer to the case that is checked
  std::unique_ptr<Device> reference_ = make_interpreted_device("REFERENCE", 1);
  Cases known_;  // drawn of late
  // The relation that the first case checked in full broke: others, which compile each case several
  // times over, are not checked of the smaller ones.
  std::string looking_for_;
};

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

// The operand's last operand. It counts with op and operand alone: chains of three.
constexpr std::size_t kBelow = 7;
constexpr std::size_t kVerdict = 6;

bool compares(Op op) { return op == Op::CmpLt || op == Op::CmpEq; }

/// Whether a node of this op, or a leaf where there is none, may be of that type.
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

std::vector<Dimension> KernelArea::dimensions() const {
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

// `dtype` is that of the last operand, which `operand` is the op of.
bool KernelArea::feasible(std::span<const int> row) const {
  static const std::vector<Op> ops = coverage_ops();
  const auto op_at = [&](int i) -> std::optional<Op> {
    if (i < 0 || i >= std::ssize(ops)) return std::nullopt;
    return ops[static_cast<std::size_t>(i)];
  };
  const std::optional<Op> op = op_at(row[0]), operand = op_at(row[1]);
  if (row[kVerdict] == 2) return false;  // no aim, and no gap where it does not occur
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

std::vector<CoverageRow> KernelArea::coverage(const std::string& text, Ending ending) {
  const KernelCase c = case_of(text);
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
    for (std::size_t i = 0; i < input.bytes.size(); i += itemsize(input.dtype)) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, input.bytes.data() + i, itemsize(input.dtype));
      const double value = Scalar::from_bits(input.dtype, bits).to_double();
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
    const auto place = [](const LazyOpPtr& n) {  // leaves come after the ops
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
    if (ending == Ending::Skipped) {  // nothing of it was checked together
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

}  // namespace

std::unique_ptr<Area> make_kernel_area(KernelBackends backends) {
  return std::make_unique<KernelArea>(std::move(backends));
}

}  // namespace touchstone::fuzz

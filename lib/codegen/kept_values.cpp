#include "touchstone/codegen/kept_values.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "touchstone/codegen/c_functions.h"
#include "touchstone/uop/step_reader.h"

namespace touchstone::codegen {

namespace {

constexpr int kNone = -1;

class Keeper : StepReader {
 public:
  explicit Keeper(const LinearKernel& kernel) : StepReader(kernel) {
    std::vector<int> open;
    for (int i = 0; i < count(); ++i) {
      if (uop(i).kind == StepKind::EndLoop) open.pop_back();
      loops_.push_back(open);
      if (uop(i).kind == StepKind::Loop) open.push_back(i);
    }
  }

  /// A value in an earlier loop that is kept, and the equal value in the last loop.
  struct Pair {
    int first = kNone, again = kNone;
    int first_index = kNone, index = kNone;  // of its element in the output
    int output = kNone;
  };

  std::optional<Pair> find() const {
    const int store = only_store();
    if (store == kNone || loops_[at(store)].empty()) return std::nullopt;
    const int last = loops_[at(store)].back();
    const auto elements = elements_of(uop(store).src[1], {last});
    if (!elements || last == kernel_.split) return std::nullopt;
    for (int again = store - 1; again > last; --again) {
      if (!is_costly(again, uop(store).dtype)) continue;
      for (int first = last - 1; first > uop(store).src[0]; --first) {
        Pair pair{first, again, kNone, uop(store).src[1], uop(store).src[0]};
        if (!are_siblings(first, last) || !is_same(first, again, pair)) continue;
        const auto own = elements_of(pair.first_index, inner_loops(first, last));
        if (own == elements) return pair;
      }
    }
    return std::nullopt;
  }

 private:
  int only_store() const {
    int store = kNone;
    for (int i = 0; i < count(); ++i) {
      if (uop(i).kind != StepKind::Store) continue;
      if (store != kNone) return kNone;
      store = i;
    }
    return store;
  }

  bool is_costly(int i, DType type) const {
    const Op* const op = std::get_if<Op>(&uop(i).arg);
    return op != nullptr && uop(i).dtype == type && is_float(type) &&
           (is_function(*op) || *op == Op::Div || *op == Op::Recip || *op == Op::Sqrt);
  }

  // True if a step is inside loops nested in those around `loop`.
  bool are_siblings(int step, int loop) const {
    const std::vector<int>&round = loops_[at(loop)], own = loops_[at(step)];
    return own.size() > round.size() && std::equal(round.begin(), round.end(), own.begin());
  }
  std::vector<int> inner_loops(int step, int loop) const {
    const std::vector<int>& own = loops_[at(step)];
    return {own.begin() + static_cast<std::ptrdiff_t>(loops_[at(loop)].size()), own.end()};
  }

  // True if both are the same value, for the elements at pair.first_index and pair.index.
  bool is_same(int first, int again, Pair& pair) const {
    if (first == again) return true;
    const LinearStep &a = uop(first), &b = uop(again);
    if (a.kind != b.kind || a.dtype != b.dtype || a.arg != b.arg || a.src.size() != b.src.size())
      return false;
    if (a.kind == StepKind::Load) {
      if (a.src.size() != 2 || a.src[0] != b.src[0] || b.src[1] != pair.index) return false;
      if (pair.first_index == kNone) pair.first_index = a.src[1];
      return a.src[1] == pair.first_index;
    }
    if (a.kind != StepKind::Alu && a.kind != StepKind::Cast && a.kind != StepKind::Bitcast)
      return false;
    for (std::size_t s = 0; s < a.src.size(); ++s)
      if (!is_same(a.src[s], b.src[s], pair)) return false;
    return true;
  }

  // The number of distinct elements, starting at `base`, that an index takes over the iterations of
  // `loops`.
  struct Elements {
    std::multiset<int> base;  // steps before the loops, added
    std::int64_t count = 0;
    bool operator==(const Elements&) const = default;
  };
  std::optional<Elements> elements_of(int index, const std::vector<int>& loops) const {
    if (index == kNone || loops.empty()) return std::nullopt;
    Elements out;
    std::vector<std::pair<std::int64_t, int>> strides;
    if (!add_terms(index, 1, loops, out, strides) || strides.size() != loops.size())
      return std::nullopt;
    std::ranges::sort(strides);
    out.count = 1;
    for (const auto& [stride, loop] : strides) {
      const auto end = turns(loop);
      if (stride != out.count || !end || *end < 1 || loop == kernel_.split ||
          __builtin_mul_overflow(out.count, *end, &out.count))
        return std::nullopt;
    }
    std::set<int> each;
    for (const auto& [stride, loop] : strides) each.insert(loop);
    if (each.size() != loops.size()) return std::nullopt;
    return out;
  }

  bool add_terms(int index, std::int64_t times, const std::vector<int>& loops, Elements& out,
                 std::vector<std::pair<std::int64_t, int>>& strides) const {
    if (std::ranges::count(loops, index) > 0) {
      strides.emplace_back(times, index);
      return true;
    }
    if (index < loops.front()) {
      if (times != 1) return false;
      out.base.insert(index);
      return true;
    }
    const IndexOp* const op = std::get_if<IndexOp>(&uop(index).arg);
    if (op == nullptr) return false;
    const Operands& src = uop(index).src;
    if (*op == IndexOp::Add)
      return add_terms(src[0], times, loops, out, strides) &&
             add_terms(src[1], times, loops, out, strides);
    if (*op != IndexOp::Mul) return false;
    for (std::size_t s = 0; s < 2; ++s)
      if (const auto factor = number(src[s]);
          factor && !__builtin_mul_overflow(times, *factor, &times))
        return add_terms(src[1 - s], times, loops, out, strides);
    return false;
  }

  std::vector<std::vector<int>> loops_;  // around each step, outermost first
};

// Rewrites a kernel so that one value of a pair is stored, and read instead of the other.
class Replacement : StepWriter {
 public:
  explicit Replacement(const LinearKernel& kernel) : StepWriter(kernel) {}

  /// Returns the previous number of each step in `origin`.
  LinearKernel run(const Keeper::Pair& pair, std::vector<int>& origin) {
    const std::vector<bool> unused = unused_after(pair.again);
    for (int i = 0; i < count(); ++i) {
      if (unused[at(i)]) continue;
      const DType type = uop(i).dtype;
      if (i == pair.again)
        now_[at(i)] =
            add({StepKind::Load, type, {now_[at(pair.output)], now_[at(pair.index)]}, {}});
      else
        copy(i);
      if (i == pair.first)
        add({StepKind::Store,
             type,
             {now_[at(pair.output)], now_[at(pair.first_index)], now_[at(i)]},
             {}});
      origin.resize(made_.size(), i);
    }
    return finish();
  }

 private:
  // The steps that become unused when `again` is read instead of computed.
  std::vector<bool> unused_after(int again) const {
    std::vector<int> users(kernel_.steps.size(), 0);
    for (const LinearStep& u : kernel_.steps)
      for (const int s : u.src) ++users[at(s)];
    std::vector<bool> unused(kernel_.steps.size(), false);
    std::vector<int> open{again};
    while (!open.empty()) {
      const LinearStep& u = uop(open.back());
      open.pop_back();
      for (const int s : u.src) {
        const StepKind kind = uop(s).kind;
        if (--users[at(s)] > 0 || (kind != StepKind::Load && kind != StepKind::Alu &&
                                   kind != StepKind::Cast && kind != StepKind::Bitcast))
          continue;
        unused[at(s)] = true;
        open.push_back(s);
      }
    }
    return unused;
  }
};

}  // namespace

std::vector<int> keep_values_in_output(LinearKernel& kernel) {
  std::vector<int> origin;
  if (const auto pair = Keeper(kernel).find()) {
    kernel = Replacement(kernel).run(*pair, origin);
  } else {
    origin.resize(kernel.steps.size());
    std::iota(origin.begin(), origin.end(), 0);
  }
  return origin;
}

}  // namespace touchstone::codegen

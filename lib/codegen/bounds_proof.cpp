#include "touchstone/codegen/bounds_proof.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "touchstone/symbolic/node/node.h"
#include "touchstone/uop/step_reader.h"

namespace touchstone {

namespace {

using symbolic::Node;

constexpr std::int64_t kMostPoints = 1 << 14;
constexpr int kMostTerms = 8;  // of a sum bounded term by term

bool within(Node index, std::int64_t size) {
  return index.min().value_or(-1) >= 0 && index.max().value_or(size) < size;
}

// Tries all values of its variables, if there are few.
bool is_never(Node condition) {
  const std::vector<Node> all = symbolic::variables(condition);
  std::int64_t points = 1;
  symbolic::Values values;
  for (const Node& v : all) {
    const auto low = v.min(), high = v.max();
    if (!low || !high || *high - *low >= kMostPoints) return false;
    values[symbolic::variable_name(v)] = *low;
    if ((points *= *high - *low + 1) > kMostPoints) return false;
  }
  while (true) {
    if (symbolic::evaluate(condition, values) != 0) return false;
    std::size_t i = 0;
    for (; i < all.size(); ++i) {
      std::int64_t& value = values[symbolic::variable_name(all[i])];
      if (++value <= *all[i].max()) break;
      value = *all[i].min();
    }
    if (i == all.size()) return true;
  }
}

// The number of elements of a buffer or array.
std::int64_t size_of(const LinearKernel& kernel, int memory) {
  const LinearStep& step = kernel.steps[static_cast<std::size_t>(memory)];
  const int number = std::get<int>(step.arg);  // of lanes, or of the buffer
  if (step.kind != StepKind::DefineGlobal) return number;
  return std::ranges::find(kernel.buffers, number, &BufferSpec::idx)->size;
}

class Prover : StepReader {
 public:
  Prover(const LinearKernel& kernel, std::span<const Node> variables)
      : StepReader(kernel), variables_(variables), nodes_(kernel.steps.size()) {}

  std::vector<Unproved> run() {
    std::vector<Unproved> found;
    for (int i = 0; i < count(); ++i) {
      read(i, uop(i));
      const auto access = access_of(uop(i));
      if (!access) continue;
      if (std::string why = unproved(*access); !why.empty()) found.push_back({i, std::move(why)});
    }
    return found;
  }

 private:
  Node& node(int step) { return nodes_[at(step)]; }

  // Bounds of a step's value; nullopt if unbounded or beyond 64 bits.
  struct Range {
    std::optional<std::int64_t> low, high;

    void take(std::int64_t at_least, std::int64_t at_most) {
      low = std::max(low.value_or(at_least), at_least);
      high = std::min(high.value_or(at_most), at_most);
    }
  };
  // The intersection of the node's own bounds and those from the operands of a sum or product,
  // which are expanded here to be bounded term by term.
  Range range_of(int i, int depth = kMostTerms) {
    Range range{node(i).min(), node(i).max()};
    const LinearStep& step = uop(i);
    if (depth == 0 || step.kind != StepKind::Index) return range;
    const IndexOp op = std::get<IndexOp>(step.arg);
    if (op != IndexOp::Add && op != IndexOp::Mul) return range;
    const Range a = range_of(step.src[0], depth - 1), b = range_of(step.src[1], depth - 1);
    if (!a.low || !a.high || !b.low || !b.high) return range;
    if (op == IndexOp::Add) {
      std::int64_t low = 0, high = 0;
      if (!__builtin_add_overflow(*a.low, *b.low, &low) &&
          !__builtin_add_overflow(*a.high, *b.high, &high))
        range.take(low, high);
      return range;
    }
    std::array<std::int64_t, 4> corners{};
    std::size_t k = 0;
    for (const std::int64_t x : {*a.low, *a.high})
      for (const std::int64_t y : {*b.low, *b.high})
        if (__builtin_mul_overflow(x, y, &corners[k++])) return range;
    const auto [low, high] = std::ranges::minmax(corners);
    range.take(low, high);
    return range;
  }

  void read(int i, const LinearStep& step) {
    switch (step.kind) {
      case StepKind::Loop:
        open_.push_back(assumed_.size());
        return bound(i, node(step.src[0]), node(step.src[1]));
      case StepKind::EndLoop: assumed_.resize(open_.back()); return open_.pop_back();
      case StepKind::Const:
        if (step.dtype == DType::Int64)
          node(i) = Node(static_cast<std::int64_t>(std::get<Scalar>(step.arg).bits()));
        return;
      case StepKind::DefineVar: node(i) = parameter(std::get<std::string>(step.arg)); return;
      case StepKind::Index:
        if (const int size = size_of_digit(step); size != -1) return bound(i, 0, node(size));
        node(i) = index(step);
        return;
      default:  // a value loaded from memory
        if (is_integer(step.dtype) || is_bool(step.dtype))
          node(i) = symbolic::variable(fmt::format("x{}", i), std::nullopt, std::nullopt);
    }
  }

  Node parameter(const std::string& name) const {
    const auto known = std::ranges::find(variables_, name, symbolic::variable_name);
    return known != variables_.end() ? *known
                                     : symbolic::variable(name, std::nullopt, std::nullopt);
  }

  // A new variable, or several, for a value in [begin, end).
  void bound(int i, Node begin, Node end) {
    node(i) = counter(i, begin, end);
    if (uop(i).kind != StepKind::Loop || !is_only_divided(i))
      assumed_.push_back(symbolic::lt(node(i), end));
  }

  static bool divides(const LinearStep& step) {
    const IndexOp* const op = std::get_if<IndexOp>(&step.arg);
    return op != nullptr && (*op == IndexOp::Div || *op == IndexOp::Mod);
  }

  // True for a counter that is used by size_of_digit alone.
  bool is_only_divided(int loop) const {
    return radix_of(loop).empty() && std::ranges::none_of(kernel_.steps, [&](const LinearStep& s) {
             return s.kind != StepKind::EndLoop && std::ranges::find(s.src, loop) != s.src.end() &&
                    (!divides(s) || s.src[1] == loop);
           });
  }

  Node counter(int step, Node begin, Node end) {
    const std::string name = fmt::format("c{}", counters_++);
    if (const std::vector<std::int64_t> radix = radix_of(step); !radix.empty())
      return in_digits(name, radix, begin, end);
    const auto least = begin.min(), most = end.max();
    if (least && most && *most - 1 < *least) return symbolic::variable(name, *least, *least);
    return symbolic::variable(name, least, most ? std::optional(*most - 1) : std::nullopt);
  }

  // The size of a digit of a merged loop's counter c whose divisors are not all constant: s of
  // c / u % s if s is a factor of the loop's end; also of c / u if the end is u * s. In the loop
  // its end is positive, hence no factor is 0. -1: none.
  int size_of_digit(const LinearStep& step) {
    if (!divides(step)) return -1;
    const bool rest = std::get<IndexOp>(step.arg) == IndexOp::Mod;
    const LinearStep& quotient = rest ? uop(step.src[0]) : step;
    const bool divided = divides(quotient) && std::get<IndexOp>(quotient.arg) == IndexOp::Div;
    const int loop = divided ? quotient.src[0] : step.src[0];
    const int unit = divided ? quotient.src[1] : -1;
    if (uop(loop).kind != StepKind::Loop || number(uop(loop).src[0]) != 0 ||
        !radix_of(loop).empty() || (unit != -1 && node(unit).min().value_or(-1) < 0))
      return -1;
    const int end = uop(loop).src[1];
    for (int left = end; left != -1;) {
      const LinearStep& l = uop(left);
      const IndexOp* const op = std::get_if<IndexOp>(&l.arg);
      const bool product = op != nullptr && *op == IndexOp::Mul;
      const int factor = product ? l.src[1] : left;
      left = product ? l.src[0] : -1;
      if (node(factor).min().value_or(-1) >= 0 &&
          (rest ? factor == step.src[1] : node(unit) * node(factor) == node(end)))
        return factor;
    }
    return -1;
  }

  // The divisors of a counter, if each divides the next.
  std::vector<std::int64_t> radix_of(int loop) const {
    std::vector<std::int64_t> radix;
    for (const LinearStep& step : kernel_.steps) {
      const IndexOp* const op = std::get_if<IndexOp>(&step.arg);
      if (op == nullptr || step.src[0] != loop) continue;
      const bool divides = *op == IndexOp::Div || *op == IndexOp::Mod || *op == IndexOp::FloorDiv ||
                           *op == IndexOp::FloorMod;
      if (!divides) continue;
      const std::optional<std::int64_t> by = number(step.src[1]);
      if (!by) return {};
      radix.push_back(*by);
    }
    std::ranges::sort(radix);
    radix.erase(std::ranges::unique(radix).begin(), radix.end());
    std::int64_t last = 1;
    for (const std::int64_t r : radix)
      if (r <= 1 || r % std::exchange(last, r) != 0) return {};
    return radix;
  }

  // Writes a counter that starts at 0 as the sum of its digits, so that its quotients are sums of
  // some of them.
  Node in_digits(const std::string& name, const std::vector<std::int64_t>& radix, Node begin,
                 Node after) {
    const auto end = after.max();
    if (begin.constant() != 0 || !end || *end < 1)
      return symbolic::variable(name, begin.min(), std::nullopt);
    Node sum = 0, others = 0;
    std::int64_t unit = 1;
    for (std::size_t i = 0; i <= radix.size(); ++i) {
      const std::int64_t most = (*end - 1) / unit;
      const std::int64_t digits = i < radix.size() ? std::min(most, radix[i] / unit - 1) : most;
      const Node part = symbolic::variable(fmt::format("{}d{}", name, i), 0, digits) * Node(unit);
      sum = sum + part;
      if (i != 0) others = others + part;
      if (i < radix.size()) unit = radix[i];
    }
    // The first digit as the counter less the others: where all have its weights, they cancel.
    joined_.emplace(fmt::format("{}d0", name), symbolic::variable(name, 0, *end - 1) - others);
    return sum;
  }

  // A divisor may be 0, which gives 0.
  Node index(const LinearStep& step) {
    const ExprOp op = info(std::get<IndexOp>(step.arg)).step;
    std::vector<Node> args;
    for (const int s : step.src) args.push_back(node(s));
    if (op != ExprOp::Div && op != ExprOp::Mod) return symbolic::step_node(op, args);
    const Node by = args[1];
    if (by.constant() == 0) return 0;
    const bool never_0 = by.min().value_or(0) > 0 || by.max().value_or(0) < 0;
    const Node divided = symbolic::step_node(op, args);
    return never_0 ? divided : symbolic::where(ne(by, Node(0)), divided, 0);
  }

  std::string unproved(const StepAccess& access) {
    const Node index = node(access.index);
    const std::int64_t size = size_of(kernel_, access.memory);
    if (const Range range = range_of(access.index);
        range.low.value_or(-1) >= 0 && range.high.value_or(size) < size)
      return {};
    std::vector<Node> facts = assumed_;
    if (access.valid != -1) facts.push_back(node(access.valid));
    if (proves_inside(index, facts, size)) return {};
    if (!joined_.empty()) {
      std::vector<Node> of_counters;
      for (const Node fact : facts) of_counters.push_back(symbolic::substitute(fact, joined_));
      if (proves_inside(symbolic::substitute(index, joined_), of_counters, size)) return {};
    }
    const Node known = symbolic::simplify_under(index, facts);
    const bool low = known.min().value_or(-1) < 0;
    const auto end = low ? known.min() : known.max();
    return fmt::format("the index {} of step {} may be {}, but its memory has {} element{}",
                       render(known), access.memory,
                       end   ? fmt::to_string(*end)
                       : low ? "negative"
                             : "of any size",
                       size, size == 1 ? "" : "s");
  }

  std::span<const Node> variables_;
  std::vector<Node> nodes_;  // of int64 steps
  std::vector<Node> assumed_;
  std::vector<std::size_t> open_;       // for each open loop: the facts before it
  std::map<std::string, Node> joined_;  // the first digits of counters
  int counters_ = 0;
};

// Guards the loads of an access list.
class Guard : StepWriter {
 public:
  using StepWriter::StepWriter;

  LinearKernel run(const std::vector<Unproved>& loads) {
    auto next = loads.begin();
    for (int i = 0; i < count(); ++i) {
      LinearStep step = renumbered(i);
      if (next != loads.end() && next->step == i) {
        guard(step, size_of(kernel_, uop(i).src[0]));
        ++next;
      }
      now_[at(i)] = add(std::move(step));
    }
    return finish();
  }

 private:
  void guard(LinearStep& load, std::int64_t size) {
    const int least = constant(0), end = constant(size);
    const int from = index(IndexOp::Le, least, load.src[1]);
    int inside = index(IndexOp::And, from, index(IndexOp::Lt, load.src[1], end));
    if (load.src.size() == 3) inside = index(IndexOp::And, load.src[2], inside);
    load.src = {load.src[0], load.src[1], inside};
  }
};

}  // namespace

bool proves_inside(Node index, std::span<const Node> facts, std::int64_t size) {
  if (within(index, size)) return true;
  if (within(symbolic::simplify_under(index, facts), size)) return true;
  std::vector<Node> all(facts.begin(), facts.end());
  all.push_back(logical_or(lt(index, Node(0)), ge(index, Node(size))));
  const Node outside = symbolic::ands(all);
  return outside.constant() == 0 || is_never(outside);
}

std::vector<Unproved> unproved_accesses(const LinearKernel& kernel,
                                        std::span<const symbolic::Node> variables) {
  return Prover(kernel, variables).run();
}

LinearKernel guarded(LinearKernel kernel, std::span<const symbolic::Node> variables) {
  const std::vector<Unproved> open = unproved_accesses(kernel, variables);
  if (open.empty()) return kernel;
  for (const Unproved& access : open)
    if (const LinearStep& step = kernel.steps[static_cast<std::size_t>(access.step)];
        step.kind != StepKind::Load)
      throw AstError(
          fmt::format("{}: step {}, {}: {}", kernel.name, access.step, str(step), access.why));
  return Guard(kernel).run(open);
}

}  // namespace touchstone

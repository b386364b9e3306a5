#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "touchstone/base/interrupt.h"
#include "touchstone/interp/device/program.h"

namespace touchstone::interp {

/// Elements per block: enough to amortise the walk over nodes, few enough to stay in cache.
inline constexpr std::int64_t kBlockElements = 4096;

/// Result blocks that a repeating reduce keeps.
inline constexpr std::int64_t kKeptBlocks = 64;

/// Block size for a program: smaller for thousands of nodes, so that all blocks together hold no
/// more than those of 2,048 nodes.
inline std::int64_t block_elements(const KernelProgram& program) {
  constexpr std::int64_t kMost = 2048 * kBlockElements, kLeast = 32;
  std::int64_t nodes = 1;
  for (const Region& region : program.regions) nodes += std::ssize(region.nodes);
  return std::clamp(kMost / nodes, kLeast, kBlockElements);
}

/// Runs a program block by block over a domain of values. Uses a few blocks of memory for each
/// node, whatever the kernel's size. A Domain has
///   Block                                      a run of its elements
///   load(node, runs, count, Block& out)        LOAD, or GATHER, of `count` elements, as runs of
///                                              addresses
///   positions(node, block, first, span<int64> out)  the positions of a GATHER, from element
///                                              `first` on; throws IndexError for one outside of a
///                                              checked GATHER, or records it for later
///   open_unless_known(node, block, Block& out) optional: opens the elements of a GATHER whose
///                                              positions are not single numbers
///   constant(node, runs, count, Block& out)    CONST; the same
///   apply(node, operands, count, Block& out)   an elementwise op
///   reducer(node) -> unique_ptr<Reducer>       with feed(block, first, count) and
///                                              finish(Block& out, at)
///   prepare(node, count, Block& out)           allocates a reduce's results
///   repeat(Block& from, run, Block& out, at)   copies results along a run to out[at] on; only for
///                                              programs made with Repeats::Kept
///   copy(Block& from, Block& out, at)          copies a block; only for Repeats::KeptFunctions
///   spread(Block& from, ratio, skipped, count, Block& out)  out[i] = from[(skipped + i) / ratio];
///                                              the same
template <class Domain>
class Evaluator {
 public:
  using Block = typename Domain::Block;

  Evaluator(const KernelProgram& program, Domain& domain)
      : program_(program), domain_(domain), elements_(block_elements(program)) {
    for (const Region& region : program.regions) {
      std::vector<NodeState> states;
      for (const ProgramNode& node : region.nodes) {
        states.emplace_back();
        if (is_reduce(node.op)) states.back().reducer = domain.reducer(node);
      }
      states_.push_back(std::move(states));
    }
    if constexpr (kSpreads) find_alike();
  }

  /// Calls sink(first, block) for the blocks of the kernel's value, in order.
  template <class Sink>
  void run(Sink&& sink) {
    run(0, program_.regions[0].size, sink);
  }
  /// The same for elements [begin, end) of the value.
  template <class Sink>
  void run(std::int64_t begin, std::int64_t end, Sink&& sink) {
    // Whole rows, so that reduces of rows compute the same blocks.
    const std::vector<std::int64_t>& shape = program_.regions[0].shape;
    std::int64_t row = 1;
    for (std::size_t i = shape.size(); i-- > 0 && row * shape[i] <= elements_ && shape[i] > 0;)
      if ((row *= shape[i]) > 1) break;
    const std::int64_t most = elements_ / row * row;
    for (std::int64_t first = begin; first < end; first += most) {
      const std::int64_t count = std::min(most, end - first);
      sink(first, evaluate(0, first, count));
    }
  }

  /// Offers reduces of region 0 to `share` from now on: `share(node, out, i, first, last)` either
  /// computes element i of `out` from terms [first, last) of the node's region, or returns false.
  using Share =
      std::function<bool(const ProgramNode&, Block&, std::int64_t, std::int64_t, std::int64_t)>;
  void share_reduces(Share share) { share_ = std::move(share); }

  /// Feeds elements [begin, end) of a reduce's region, which belong to one result.
  template <class Reducer>
  void feed(const ProgramNode& node, Reducer& reducer, std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin; first < end; first += elements_) {
      const std::int64_t count = std::min(elements_, end - first);
      reducer.feed(evaluate(node.region, first, count), 0, count);
    }
  }

 private:
  // The latest results of a repeating reduce, from `first` on.
  struct Kept {
    Block block;
    std::int64_t first = 0, count = 0;
    std::vector<AddressRun> runs;
  };
  struct NodeState {
    Block block;  // an element for each run of equal elements, of runs [first, first + count)
    std::int64_t first = -1, count = 0;
    std::vector<std::pair<std::size_t, std::size_t>> alike;  // region and node
    Block spread;  // an element for each shorter run of `spread_run` elements, from spread_first on
    std::int64_t spread_run = 0, spread_first = 0;
    Kept kept;
    Block values;                                             // of Groups: one row's terms
    std::vector<std::int64_t> numbers;                        // of the targets
    std::vector<std::pair<std::int64_t, std::int64_t>> keys;  // with their terms, sorted
    decltype(std::declval<Domain&>().reducer(std::declval<const ProgramNode&>())) reducer;
  };

  const Block& evaluate(int region_id, std::int64_t first, std::int64_t count) {
    Interrupt::poll();
    const Region& region = program_.regions[static_cast<std::size_t>(region_id)];
    std::vector<NodeState>& states = states_[static_cast<std::size_t>(region_id)];
    // The operand's elements for n runs of a user, from run `at` on, each of `run` equal elements:
    // its own runs are as long or longer.
    const auto operand = [&](int i, std::int64_t run, std::int64_t at, std::int64_t n) {
      NodeState& state = states[static_cast<std::size_t>(i)];
      const std::int64_t ratio = region.nodes[static_cast<std::size_t>(i)].run / run;
      if constexpr (kSpreads)
        if (ratio > 1) {
          // Of a single value, those of other elements are alike.
          const bool same = state.spread_first == at ||
                            region.nodes[static_cast<std::size_t>(i)].run >= region.size;
          if (state.spread_run != run || !same || state.spread.count() != n)
            domain_.spread(state.block, ratio, at - state.first * ratio, n, state.spread);
          state.spread_run = run;
          state.spread_first = at;
          return &std::as_const(state.spread);
        }
      return &std::as_const(state.block);
    };
    struct EqualRuns {  // runs [at, at + n) of `run` equal elements
      std::int64_t run, at, n;
    };
    // Those that have the elements [first, first + count).
    const auto runs_in_node = [&](std::size_t i) {
      const std::int64_t run = kSpreads ? region.nodes[i].run : 1, at = first / run;
      return EqualRuns{run, at, (first + count - 1) / run - at + 1};
    };
    // 1 for nodes to compute: their block holds other elements, and a user needs them.
    std::vector<std::uint8_t> open(region.nodes.size(), kSpreads ? 0 : 1);
    open.back() = 1;
    for (std::size_t i = open.size(); kSpreads && i-- > 0;) {
      if (open[i] == 0) continue;
      const auto [run, at, n] = runs_in_node(i);
      NodeState& state = states[i];
      const auto holds = [&](const NodeState& x) { return x.first == at && x.count == n; };
      for (std::size_t k = 0; k < state.alike.size() && !holds(state); ++k) {
        const NodeState& other = states_[state.alike[k].first][state.alike[k].second];
        if (!holds(other)) continue;
        state.block = other.block;
        state.first = at;
        state.count = n;
      }
      open[i] = holds(state) ? 0 : 1;
      for (const int s : region.nodes[i].src)
        if (open[i] != 0) open[static_cast<std::size_t>(s)] = 1;
    }
    std::vector<const Block*> operands;
    std::vector<AddressRun> one;
    for (std::size_t i = 0; i < region.nodes.size(); ++i) {
      if (open[i] == 0) continue;
      const ProgramNode& node = region.nodes[i];
      NodeState& state = states[i];
      const auto [run, at, n] = runs_in_node(i);
      state.first = -1;
      state.spread_run = 0;
      // The addresses of one element of each run, as strided runs.
      const auto runs_of = [&, each = run, begin = at, end = at + n](const Addresses& all,
                                                                     std::vector<AddressRun>& out) {
        if (each == 1) return all.runs(first, count, out);
        out.clear();
        for (std::int64_t k = begin; k < end; ++k) {
          all.runs(k * each, 1, one);
          const std::int64_t step =
              out.empty() ? 0 : one[0].base - out.back().at(out.back().count - 1);
          if (out.empty() || !one[0].valid() || !out.back().valid() ||
              (out.back().count > 1 && step != out.back().stride)) {
            out.push_back(one[0]);
          } else {
            ++out.back().count;
            out.back().stride = step;
          }
        }
      };
      Block& out = state.block;
      if (node.op == Op::Load || node.op == Op::Const) {
        runs_of(node.addresses, runs_);
        node.op == Op::Load ? domain_.load(node, runs_, n, out)
                            : domain_.constant(node, runs_, n, out);
      } else if (node.op == Op::Gather) {
        const Block& from = *operand(node.src[0], 1, first, count);
        positions_.resize(static_cast<std::size_t>(count));
        domain_.positions(node, from, first, positions_);
        gathered_runs(node, positions_, first, runs_);
        domain_.load(node, runs_, count, out);
        if constexpr (requires { domain_.open_unless_known(node, from, out); })
          domain_.open_unless_known(node, from, out);
      } else if (is_reduce(node.op) || node.kept) {
        domain_.prepare(node, n, out);
        if (node.repeats) {
          runs_of(node.results, state.kept.runs);
          repeat(region_id, node, state);
        } else {
          reduce_all(region_id, node, *state.reducer, {first, first + count}, first, out);
        }
      } else {
        operands.clear();
        for (const int s : node.src) operands.push_back(operand(s, run, at, n));
        domain_.apply(node, operands, n, out);
      }
      state.first = at;
      state.count = n;
    }
    return *operand(static_cast<int>(states.size()) - 1, 1, first, count);
  }

  // Lets regions over the same elements copy each other's results.
  void find_alike() {
    for (const auto& [pair, found] : alike_nodes(program_)) {
      const auto a = static_cast<std::size_t>(pair.first),
                 b = static_cast<std::size_t>(pair.second);
      for (std::size_t j = 0; j < found.size(); ++j) {
        if (found[j] < 0 || program_.regions[b].nodes[j].src.empty()) continue;
        const auto i = static_cast<std::size_t>(found[j]);
        states_[a][i].alike.emplace_back(b, j);
        states_[b][j].alike.emplace_back(a, i);
      }
    }
  }

  static constexpr bool kSpreads = requires(Domain domain, Block b) {
    domain.spread(b, 1, 0, 1, b);
  };

  // Elements [begin, end) of a node.
  struct Elements {
    std::int64_t begin, end;
  };

  // Copies the results kept.runs of a repeating node from the kept ones, computing missing ones.
  void repeat(int region_id, const ProgramNode& node, NodeState& state) {
    std::int64_t at = 0;
    if constexpr (requires { domain_.repeat(state.kept.block, AddressRun(), state.block, at); }) {
      for (AddressRun run : state.kept.runs) {
        keep(region_id, node, state, {run.least(), run.most() + 1});
        run.base -= state.kept.first;
        domain_.repeat(state.kept.block, run, state.block, at);
        at += run.count;
      }
    }
  }

  void keep(int region_id, const ProgramNode& node, NodeState& state, Elements wanted) {
    Kept& kept = state.kept;
    const std::int64_t end = kept.first + kept.count;
    if (wanted.begin >= kept.first && wanted.end <= end) return;
    const std::int64_t most = node.groups ? node.distinct : kKeptBlocks * elements_;
    if (node.groups) {  // whole rows
      const std::int64_t row = node.groups->targets;
      wanted = {wanted.begin / row * row, (wanted.end + row - 1) / row * row};
    }
    if (kept.count == 0) domain_.prepare(node, std::min(node.distinct, most), kept.block);
    const bool goes_on = kept.count > 0 && wanted.begin >= kept.first && wanted.begin <= end &&
                         wanted.end <= kept.first + most;
    if (goes_on)
      wanted.begin = end;
    else
      kept.first = wanted.begin;
    if (node.kept)
      copy_all(node.region, wanted, kept.first, kept.block);
    else if (node.groups)
      group_all(node, state, wanted, kept.first);
    else
      reduce_all(region_id, node, *state.reducer, wanted, kept.first, kept.block);
    kept.count = wanted.end - kept.first;
  }

  void copy_all(int region, Elements wanted, std::int64_t origin, Block& out) {
    if constexpr (requires { domain_.copy(out, out, origin); })
      for (std::int64_t first = wanted.begin; first < wanted.end; first += elements_)
        domain_.copy(evaluate(region, first, std::min(elements_, wanted.end - first)), out,
                     first - origin);
  }

  // The integers of a region's elements.
  std::vector<std::int64_t> integers(const ProgramNode& node, int region, Elements wanted) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(wanted.end - wanted.begin));
    for (std::int64_t first = wanted.begin; first < wanted.end; first += elements_) {
      const std::int64_t count = std::min(elements_, wanted.end - first);
      domain_.positions(node, evaluate(region, first, count), first,
                        std::span(all).subspan(static_cast<std::size_t>(first - wanted.begin),
                                               static_cast<std::size_t>(count)));
    }
    return all;
  }

  // Computes rows of a reduce by groups; element `origin` goes to the first of the kept ones.
  void group_all(const ProgramNode& node, NodeState& state, Elements wanted, std::int64_t origin) {
    if constexpr (requires { state.reducer->clone(); }) {
      const Groups& groups = *node.groups;
      const bool by_key = groups.keys >= 0, has_first = groups.first >= 0;
      if (by_key && state.numbers.empty())
        state.numbers = integers(node, groups.numbers, {0, groups.targets});
      domain_.prepare(node, node.terms, state.values);
      for (std::int64_t row = wanted.begin / groups.targets; row < wanted.end / groups.targets;
           ++row) {
        const Elements terms{row * node.terms, (row + 1) * node.terms};
        copy_all(node.region, terms, terms.begin, state.values);
        if (by_key && (groups.keys_of_rows || state.keys.empty())) {
          state.keys.clear();
          const Elements all = groups.keys_of_rows ? terms : Elements{0, node.terms};
          const std::vector<std::int64_t> keys = integers(node, groups.keys, all);
          for (std::size_t j = has_first ? 1 : 0; j < keys.size(); ++j)
            state.keys.emplace_back(keys[j], static_cast<std::int64_t>(j));
          std::ranges::sort(state.keys);
        }
        const auto reducer = domain_.reducer(node);
        const Block* const none = groups.none >= 0 ? &evaluate(groups.none, 0, 1) : nullptr;
        const auto pass = [&](auto& made, std::int64_t count) {  // terms that are `none`
          if (none != nullptr && count > 0) made.feed(*none, 0, 1);
          made.skip(none != nullptr && count > 0 ? count - 1 : count);
        };
        const auto finish = [&](auto&& made, std::int64_t end, std::int64_t at) {
          pass(made, node.terms - end);
          made.finish(state.kept.block, row * groups.targets + at - origin);
        };
        const Block* first = nullptr;
        std::int64_t end = 0;
        for (std::int64_t t = 0; t < groups.targets; ++t) {
          if (!by_key) {
            const std::int64_t next = groups.ends[static_cast<std::size_t>(t)];
            if (next > end) reducer->feed(state.values, end, next - end);
            end = next;
            finish(*reducer->clone(), end, t);
            continue;
          }
          end = 0;
          if (has_first) {
            if (t % elements_ == 0)
              first = &evaluate(groups.first, row * groups.targets + t,
                                std::min(elements_, groups.targets - t));
            reducer->feed(*first, t % elements_, 1);
            end = 1;
          }
          const std::int64_t number = state.numbers[static_cast<std::size_t>(t)];
          for (auto at = std::ranges::lower_bound(state.keys, std::pair(number, std::int64_t{0}));
               at != state.keys.end() && at->first == number; ++at) {
            pass(*reducer, at->second - end);
            reducer->feed(state.values, at->second, 1);
            end = at->second + 1;
          }
          finish(*reducer, end, t);
        }
      }
    }
  }

  // Reduces each of `wanted`; element `origin` goes to out[0].
  template <class Reducer>
  void reduce_all(int region_id, const ProgramNode& node, Reducer& reducer, Elements wanted,
                  std::int64_t origin, Block& out) {
    if (region_id == 0 && share_ && shared(node, wanted, origin, out)) return;
    reduce(node, reducer, wanted, origin, out);
  }

  bool shared(const ProgramNode& node, Elements wanted, std::int64_t origin, Block& out) {
    for (std::int64_t i = wanted.begin; i < wanted.end; ++i)
      if (!share_(node, out, i - origin, i * node.terms, (i + 1) * node.terms)) return false;
    return wanted.begin < wanted.end;
  }

  template <class Reducer>
  void reduce(const ProgramNode& node, Reducer& reducer, Elements wanted, std::int64_t origin,
              Block& out) {
    if (node.terms == 0) {
      for (std::int64_t i = wanted.begin; i < wanted.end; ++i) reducer.finish(out, i - origin);
      return;
    }
    const std::int64_t begin = wanted.begin * node.terms, end = wanted.end * node.terms;
    for (std::int64_t chunk = begin; chunk < end;) {
      const std::int64_t taken = std::min(elements_, end - chunk);
      const Block& values = evaluate(node.region, chunk, taken);
      for (std::int64_t at = chunk; at < chunk + taken;) {
        const std::int64_t next_output = (at / node.terms + 1) * node.terms;
        const std::int64_t stop = std::min(next_output, chunk + taken);
        reducer.feed(values, at - chunk, stop - at);
        if (stop == next_output) reducer.finish(out, at / node.terms - origin);
        at = stop;
      }
      chunk += taken;
    }
  }

  const KernelProgram& program_;
  Domain& domain_;
  std::int64_t elements_;  // block size
  std::vector<std::vector<NodeState>> states_;
  std::vector<AddressRun> runs_;
  std::vector<std::int64_t> positions_;
  Share share_;
};

}  // namespace touchstone::interp

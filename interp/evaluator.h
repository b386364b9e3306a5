#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "touchstone/base/interrupt.h"
#include "touchstone/interp/program.h"

namespace touchstone::interp {

/// Elements handled at once: enough to amortise the walk over nodes, few enough to stay in cache.
inline constexpr std::int64_t kBlockElements = 4096;

/// Runs a program block by block over a domain of values. Memory is a few blocks a node, whatever
/// the kernel's size. A Domain has
///   Block                                            a run of its elements
///   load(node, addresses, Block& out)                LOAD; address -1 is masked out
///   constant(node, addresses, Block& out)            CONST; the same
///   apply(node, operands, count, Block& out)         an elementwise op
///   reducer(node) -> unique_ptr<Reducer>             with feed(block, first, count) and
///                                                    finish(Block& out, at)
///   prepare(node, count, Block& out)                 room for a reduce's results
template <class Domain>
class Evaluator {
 public:
  using Block = typename Domain::Block;

  Evaluator(const Program& program, Domain& domain) : program_(program), domain_(domain) {
    for (const Region& region : program.regions) {
      std::vector<NodeState> states;
      for (const ProgramNode& node : region.nodes) {
        states.emplace_back();
        if (is_reduce(node.op)) states.back().reducer = domain.reducer(node);
      }
      states_.push_back(std::move(states));
    }
  }

  /// Calls sink(first, block) for the blocks of the kernel's value, in order.
  template <class Sink>
  void run(Sink&& sink) {
    run(0, program_.regions[0].size, sink);
  }
  /// The same for elements [begin, end) of the value.
  template <class Sink>
  void run(std::int64_t begin, std::int64_t end, Sink&& sink) {
    for (std::int64_t first = begin; first < end; first += kBlockElements) {
      const std::int64_t count = std::min(kBlockElements, end - first);
      sink(first, evaluate(0, first, count));
    }
  }

  /// From now on the terms of a reduce of the value may be taken elsewhere: `share(node, out, i,
  /// first, last)` either does element i of `out` from terms [first, last) of the node's region, or
  /// returns false.
  using Share =
      std::function<bool(const ProgramNode&, Block&, std::int64_t, std::int64_t, std::int64_t)>;
  void share_reduces(Share share) { share_ = std::move(share); }

  /// Feeds elements [begin, end) of a reduce's region, which belong to one result.
  template <class Reducer>
  void feed(const ProgramNode& node, Reducer& reducer, std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin; first < end; first += kBlockElements) {
      const std::int64_t count = std::min(kBlockElements, end - first);
      reducer.feed(evaluate(node.region, first, count), 0, count);
    }
  }

 private:
  struct NodeState {
    Block block;
    decltype(std::declval<Domain&>().reducer(std::declval<const ProgramNode&>())) reducer;
  };

  const Block& evaluate(int region_id, std::int64_t first, std::int64_t count) {
    Interrupt::poll();
    const Region& region = program_.regions[static_cast<std::size_t>(region_id)];
    std::vector<NodeState>& states = states_[static_cast<std::size_t>(region_id)];
    std::vector<const Block*> operands;
    for (std::size_t i = 0; i < region.nodes.size(); ++i) {
      const ProgramNode& node = region.nodes[i];
      Block& out = states[i].block;
      if (node.op == Op::Load || node.op == Op::Const) {
        addresses_.resize(static_cast<std::size_t>(count));
        node.addresses.read(first, addresses_);
        node.op == Op::Load ? domain_.load(node, addresses_, out)
                            : domain_.constant(node, addresses_, out);
      } else if (is_reduce(node.op)) {
        domain_.prepare(node, count, out);
        if (region_id == 0 && share_ && shared(node, first, count, out)) continue;
        reduce(node, *states[i].reducer, first, count, out);
      } else {
        operands.clear();
        for (const int s : node.src) operands.push_back(&states[static_cast<std::size_t>(s)].block);
        domain_.apply(node, operands, count, out);
      }
    }
    return states.back().block;
  }

  bool shared(const ProgramNode& node, std::int64_t first, std::int64_t count, Block& out) {
    for (std::int64_t i = 0; i < count; ++i)
      if (!share_(node, out, i, (first + i) * node.terms, (first + i + 1) * node.terms))
        return false;
    return count > 0;
  }

  template <class Reducer>
  void reduce(const ProgramNode& node, Reducer& reducer, std::int64_t first, std::int64_t count,
              Block& out) {
    if (node.terms == 0) {
      for (std::int64_t i = 0; i < count; ++i) reducer.finish(out, i);
      return;
    }
    const std::int64_t begin = first * node.terms, end = (first + count) * node.terms;
    for (std::int64_t chunk = begin; chunk < end;) {
      const std::int64_t taken = std::min(kBlockElements, end - chunk);
      const Block& values = evaluate(node.region, chunk, taken);
      for (std::int64_t at = chunk; at < chunk + taken;) {
        const std::int64_t next_output = (at / node.terms + 1) * node.terms;
        const std::int64_t stop = std::min(next_output, chunk + taken);
        reducer.feed(values, at - chunk, stop - at);
        if (stop == next_output) reducer.finish(out, at / node.terms - first);
        at = stop;
      }
      chunk += taken;
    }
  }

  const Program& program_;
  Domain& domain_;
  std::vector<std::vector<NodeState>> states_;
  std::vector<std::int64_t> addresses_;
  Share share_;
};

}  // namespace touchstone::interp

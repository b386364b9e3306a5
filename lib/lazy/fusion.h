#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "touchstone/lazy/lazy_buffer.h"

namespace touchstone::lazy {

/// The bases that still have to be computed for some outputs, numbered, and for each the decision
/// whether it gets memory of its own or is computed inside the kernels that read it.
struct Graph {
  struct Node {
    LazyBuffer* buffer = nullptr;  // a base that is neither realized nor a constant
    std::vector<int> srcs;         // one a source of buffer: the node of its base, -1 where none
    std::vector<int> users;        // nodes that read it, each once, in order of discovery
    bool realize = false;          // gets memory
    int reduce = -1;               // realized nodes: the reduce its kernel holds, -1 for none
  };
  std::vector<Node> nodes;     // in the order a depth-first walk from the outputs meets them
  std::vector<int> bottom_up;  // every node after its sources
  std::vector<int> outputs;    // -1 where an output needs no work
};

/// Numbers the graph above `outputs`; no decision is taken yet.
Graph discover(std::span<const LazyBufferPtr> outputs);

/// One rule that decides what gets memory; each reads what the ones before it decided.
struct FusionRule {
  std::string_view name;
  void (*apply)(Graph&);
};
std::span<const FusionRule> fusion_rules();

// The rules, in order.

/// Outputs, loads (RAND, FROM and what it copies, CONTIGUOUS), and what contiguous() asked for.
void realize_what_must(Graph& graph);
/// A base that a view makes larger, so that it is not computed again for every copy. A view that
/// only pads does not count: its new elements are never computed.
void realize_before_expand(Graph& graph);
/// A base seen through a mask, if an op between it and its realized inputs does not map zeros to
/// zero: inside one kernel the mask ends up at the inputs, and f(0) would stand where 0 belongs.
void realize_before_unsafe_pad(Graph& graph);
/// Pairs each reduce with the one realized node that its kernel will compute, if all ways there are
/// contiguous, of the same size, and meet no other reduce; otherwise the reduce gets memory, or the
/// last of the contiguous elementwise ops that follow it one after the other.
void pair_reduces(Graph& graph);

}  // namespace touchstone::lazy

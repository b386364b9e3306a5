#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "touchstone/device/config.h"
#include "touchstone/lazy/lazy_buffer.h"

namespace touchstone::lazy {

/// The source of a GATHER that is read at the positions in the other; it is always in memory.
inline constexpr std::size_t kTable = 1;

/// The bases that still have to be computed for some outputs, numbered, and for each the decision
/// whether it gets memory of its own or is computed inside the kernels that read it.
struct Graph {
  struct Node {
    LazyBuffer* buffer = nullptr;  // a base that is neither realized nor a constant
    std::vector<int> srcs;         // one a source of buffer: the node of its base, -1 where none
    std::vector<int> users;        // nodes that read it, each once, in order of discovery
    bool realize = false;          // gets memory
    bool for_expand = false;       // that is only because a view makes it larger
    int reduce = -1;               // realized nodes: the reduce its kernel holds, -1 for none
    Shape loop;                    // where the reduce is computed in the order of its reader
  };
  std::vector<Node> nodes;     // in the order a depth-first walk from the outputs meets them
  std::vector<int> bottom_up;  // every node after its sources
  std::vector<int> outputs;    // -1 where an output needs no work
  Config config;               // which rules do what
};

/// Numbers the graph above `outputs`; no decision is taken yet.
Graph discover(std::span<const LazyBufferPtr> outputs, const Config& config = Config::current());

/// One rule that decides what gets memory; each reads what the ones before it decided.
struct FusionRule {
  std::string_view name;
  void (*apply)(Graph&);
};
std::span<const FusionRule> fusion_rules();

// The rules, in order.

/// Outputs, loads (RAND, FROM and what it copies, CONTIGUOUS), the tables of GATHERs, and what
/// contiguous() asked for; at PUSH_CONTIGUOUS the only elementwise op that reads it, instead.
void realize_what_must(Graph& graph);
/// Bases that the switches that are off would have merged into their reader.
void realize_what_is_not_merged(Graph& graph);
/// A base that a view makes larger, so that it is not computed again for every copy. A view that
/// only pads does not count: its new elements are never computed.
void realize_before_expand(Graph& graph);
/// Every base seen through a mask where SHUFFLE_PAD_OPS is off. Where it is on, the mask ends up at
/// the inputs, and a kernel computes where(valid, x, 0) of an x that would be something else of
/// zeros.
void realize_before_pad(Graph& graph);
/// Pairs each reduce with the one realized node that its kernel will compute, if all ways there are
/// contiguous (or what PUSH_PERMUTES and PUSH_RESHAPES allow), of the same size, and meet no other
/// reduce; otherwise the reduce gets memory, or the last of the contiguous elementwise ops that
/// follow it one after the other.
void pair_reduces(Graph& graph);
/// Takes the memory back from what has it because of an expand, where computing it again is cheap:
/// at most kMostRecomputed ops, none of them a function, a division or a remainder, all on one
/// buffer, which is then read instead.
void recompute_before_expand(Graph& graph);
inline constexpr int kMostRecomputed = 3;
/// A base that several kernels would compute, each more than kMostShared nodes for it. Sources are
/// decided first, so that what all kernels together compute, and with it the time to schedule them,
/// is at most kMostShared times the sources of the graph's nodes.
void realize_what_is_long_and_shared(Graph& graph);
inline constexpr int kMostShared = 16;
/// Parts of a kernel of more than kMostInKernel nodes, so that none has more: where the least
/// memory is needed for it. Compilers take more than twice the time for twice as many.
void realize_what_is_too_long(Graph& graph);
inline constexpr int kMostInKernel = 2048;

/// How a reader may see the elements of a reduce, of shape `kept`, all once each: axis order[i] of
/// `digits` as its axis i, where `digits` is `kept` in other factors. Sizes 1 are left out of both.
struct Reordering {
  Shape digits;
  std::vector<int> order;
};
/// nullopt where the view repeats, leaves out or masks elements, or is not concrete.
std::optional<Reordering> reordering(const ShapeTracker& st);

}  // namespace touchstone::lazy

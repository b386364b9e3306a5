#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "touchstone/device/config.h"
#include "touchstone/kernelize/limits.h"
#include "touchstone/lazy/lazy_buffer.h"

namespace touchstone::lazy {

using kernelize::kMostInKernel;
using kernelize::kMostRecomputed;
using kernelize::kMostShared;
using kernelize::kMostViews;

/// The index of a GATHER's table among its sources; the table is always in memory.
inline constexpr std::size_t kTable = 1;

/// The bases that must be computed for some outputs, numbered, each with the decision whether it is
/// realized (gets its own memory) or computed inside the kernels that read it.
struct Graph {
  struct Node {
    LazyBuffer* buffer = nullptr;  // a base that is neither realized nor a constant
    std::vector<int> srcs;         // one per source of buffer: the node of its base, -1 if none
    std::vector<int> users;        // distinct nodes that read it, in order of discovery
    bool realize = false;          // gets its own memory
    bool for_expand = false;       // realized only because a view expands it
    int reduce = -1;               // realized nodes: the reduce in its kernel, -1 for none
    Shape loop;                    // set if the reduce runs in its reader's order
  };
  std::vector<Node> nodes;     // in depth-first order from the outputs
  std::vector<int> bottom_up;  // every node after its sources
  std::vector<int> outputs;    // -1 if an output needs no work
  Config config;               // enables and configures rules
};

/// Numbers the graph above `outputs`; makes no decisions.
Graph discover(std::span<const LazyBufferPtr> outputs, const Config& config = Config::current());

/// A rule that decides what is realized, based on the decisions of earlier rules.
struct FusionRule {
  std::string_view name;
  void (*apply)(Graph&);
};
std::span<const FusionRule> fusion_rules();

// The rules, in order.

/// Realizes outputs, loads (RAND, FROM and its source, CONTIGUOUS), tables of GATHERs, and bases
/// marked by contiguous() or, with PUSH_CONTIGUOUS, the single elementwise op that reads such a
/// base.
void realize_what_must(Graph& graph);
/// Realizes bases that a disabled switch would have merged into their reader.
void realize_what_is_not_merged(Graph& graph);
/// Realizes a base that a view expands, so that it is not recomputed for every copy. Views that
/// only pad do not count: padding is never computed.
void realize_before_expand(Graph& graph);
/// Realizes every base seen through a mask if SHUFFLE_PAD_OPS is off. If it is on, masks are pushed
/// to the inputs, and a kernel computes where(valid, x, 0) for an x that does not map zeros to
/// zero.
void realize_before_pad(Graph& graph);
/// Pairs each reduce with the one realized node whose kernel will compute it: all paths from the
/// reduce must lead to that node, be contiguous (or what PUSH_PERMUTES and PUSH_RESHAPES allow),
/// keep the size, and meet no other reduce. Otherwise realizes the reduce, or the last op of the
/// contiguous elementwise chain after it.
void pair_reduces(Graph& graph);
/// Undoes the realization of nodes realized because of an expand if recomputing is cheap: at most
/// kMostRecomputed ops, no function, division or remainder, all on one buffer, which is read
/// instead.
void recompute_before_expand(Graph& graph);
/// Realizes a base that several kernels would compute with more than kMostShared nodes each.
/// Sources are decided first, so the total work of all kernels, and the scheduling time, is at most
/// kMostShared times the number of sources in the graph.
void realize_what_is_long_and_shared(Graph& graph);
/// Splits kernels of more than kMostInKernel nodes where that needs the least memory, since compile
/// time grows faster than linearly.
void realize_what_is_too_long(Graph& graph);

/// A view that reads each element of a reduce of shape `kept` exactly once: its axis i is axis
/// order[i] of `digits`, a refactoring of `kept`. Axes of size 1 are omitted from both.
struct Reordering {
  Shape digits;
  std::vector<int> order;
};
/// nullopt if the view repeats, omits or masks elements, or is not concrete.
std::optional<Reordering> reordering(const ShapeTracker& st);

}  // namespace touchstone::lazy

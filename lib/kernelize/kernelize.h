#pragma once

#include <optional>
#include <span>
#include <vector>

#include "touchstone/device/config.h"
#include "touchstone/ops/lazy_op.h"
#include "touchstone/uop/rewrite.h"

namespace touchstone {

/// How an ASSIGN affects readers of the old value.
enum class Assigns : std::uint8_t {
  /// The kernel writes into its target's memory. Readers of the old value must run before it; if
  /// they cannot, that is an error.
  InPlace,
  /// Memories are exchanged afterwards (LazyBuffer::assign): readers keep the old value.
  Exchanged
};

/// Which rules decide what gets memory (kernelize/grouping.h): those of tinygrad@v0.8.0 with the
/// switches of `Switch`, without simplification; those of June 2025; or these with any number of
/// reduces per kernel.
enum class Policy : std::uint8_t { Lazy, Kernelize, Ranges };

/// Splits a tensor graph into kernels by rewriting and returns the replacement of each changed
/// node; realized nodes become views of ASSIGN(BUFFER, KERNEL). `sink`: SINK over the results.
/// Options: config.kernelize, config.reduceop_split_threshold. Recorders see the named passes:
/// devices (if a node is on several), simplify (with FUSE_ARANGE: fuse aranges, simplify),
/// barriers, tidy barriers, drop tags, kernels. A MULTI of the sink stays above the replacements of
/// its shards; a kernel for a tuple of devices runs on each, with the device number as the variable
/// kDeviceNumber. Throws AstError if the graph breaks the rules of spec.h or assigns wait for each
/// other. Without `policy`: Ranges if that is config.scheduler, else Kernelize.
RewriteMap kernelize_graph(const UOp& sink, const Config& config = Config::current(),
                           Assigns assigns = Assigns::InPlace, std::optional<Policy> policy = {});

/// Returns the ASSIGN(BUFFER, KERNEL) nodes of a kernelized graph in an execution order: first
/// ready, first out. Throws AstError if they wait for each other.
std::vector<UOp> order_of_kernels(const UOp& sink);

/// The AST of a computing kernel (not COPY, CUSTOM, BUFFER_VIEW), and its inputs.
struct LoweredKernel {
  LazyOpPtr ast;            // a valid kernel; inputs[i] is buffer i + 1
  std::vector<UOp> inputs;  // distinct BUFFERs, or ASSIGNs to them
};
/// Pushes all views to the loads; a reduce seen through a view becomes a reduce of its source seen
/// through equally many more axes, so any views are accepted. With Assigns::InPlace, a kernel that
/// reads the buffer it writes must read each element where it writes it; otherwise throws AstError
/// "self operand of augmented assign must be contiguous", with the remedy. Throws AstError for a
/// node without a kernel op (ops/op.h).
LoweredKernel lower_kernel(const UOp& assign, Assigns assigns = Assigns::InPlace);

}  // namespace touchstone

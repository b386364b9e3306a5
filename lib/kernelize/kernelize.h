#pragma once

#include <span>
#include <vector>

#include "touchstone/device/config.h"
#include "touchstone/ops/lazy_op.h"
#include "touchstone/uop/rewrite.h"

namespace touchstone {

/// What an ASSIGN does to whoever reads the old value.
enum class Assigns : std::uint8_t {
  /// The kernel writes into the memory of its target: readers of the old value come before it, or
  /// there is an error.
  InPlace,
  /// Memories are exchanged afterwards (LazyBuffer::assign): the old value stays for who reads it.
  Exchanged
};

/// A graph of tensors parted into kernels by rewriting. What becomes of each node that changed:
/// what gets memory becomes a view of ASSIGN(BUFFER, KERNEL). `sink`: SINK over what is wanted.
/// Options: config.kernelize, config.reduceop_split_threshold. The passes, by name, are shown to
/// recorders: devices (where a node is on several), simplify (with FUSE_ARANGE: fuse aranges,
/// simplify), barriers, tidy barriers, drop tags, kernels. A MULTI of the sink stays above what its
/// shards became; kernels of a tuple of devices are those of each, with its number as the variable
/// kDeviceNumber. Throws AstError where the graph breaks the rules of spec.h, or assigns wait for
/// each other.
RewriteMap kernelize_graph(const UOp& sink, const Config& config = Config::current(),
                           Assigns assigns = Assigns::InPlace);

/// ASSIGN(BUFFER, KERNEL) nodes of a kernelized graph in an order in which they can run: those that
/// are ready first in, first out. Throws AstError where they wait for each other.
std::vector<UOp> order_of_kernels(const UOp& sink);

/// The AST of a kernel that computes (not COPY, CUSTOM, BUFFER_VIEW), and what it reads.
struct LoweredKernel {
  LazyOpPtr ast;            // a valid kernel; inputs[i] is buffer i + 1
  std::vector<UOp> inputs;  // BUFFERs, or ASSIGNs of them, each once
};
/// All views are pushed to what is loaded; a reduce that is seen through a view becomes a reduce of
/// its source seen through as many more axes, so that no graph is refused for its views. With
/// Assigns::InPlace a kernel that reads the buffer it writes must read the elements where it writes
/// them: else AstError "self operand of augmented assign must be contiguous", with how to mend it.
/// Throws AstError where a node is no op of kernels (ops/op.h).
LoweredKernel lower_kernel(const UOp& assign, Assigns assigns = Assigns::InPlace);

}  // namespace touchstone

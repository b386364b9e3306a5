#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "touchstone/uop/uop.h"

namespace touchstone {

/// Derived facts of a node, computed at first use.
struct UOpFacts {
  std::shared_ptr<const ShapeTracker> st;  // shared along chains of equal shape; may be null
  std::string wrong;                       // why st is null where one is required
  const UOpNode* device = nullptr;         // a DEVICE node below this one, or null
  UOp chosen;                              // the device, if no source has it: of MSELECT, MSTACK
};

/// A node as stored in the table. Internal to lib/uop.
struct UOpNode {
  GraphOp op = GraphOp::Sink;
  UOpType dtype;
  std::vector<UOp> src;
  UOpArg arg;
  std::optional<std::int64_t> tag;
  std::uint64_t hash = 0;
  OpSet src_ops;
  mutable std::atomic<std::uint32_t> references{1};
  UOpNode* next = nullptr;  // in the same bucket
  mutable std::atomic<const UOpFacts*> facts{nullptr};
  mutable std::shared_ptr<const UOpMetadata> metadata;  // guarded by its shard's lock

  ~UOpNode() { delete facts.load(std::memory_order_relaxed); }

  /// Makes a handle of a node that is kept alive elsewhere.
  static UOp handle(const UOpNode* node) {
    node->references.fetch_add(1, std::memory_order_relaxed);
    return UOp(node);
  }
};

/// The facts of `node`, computing those below as needed.
const UOpFacts& facts_of(const UOpNode* node);

inline GraphOp UOp::op() const { return node_->op; }
inline UOpType UOp::dtype() const { return node_->dtype; }
inline const std::vector<UOp>& UOp::src() const { return node_->src; }
inline const UOp& UOp::src(std::size_t i) const { return node_->src[i]; }
inline const UOpArg& UOp::arg() const { return node_->arg; }
inline std::optional<std::int64_t> UOp::tag() const { return node_->tag; }
inline std::uint64_t UOp::hash() const { return node_->hash; }
inline OpSet UOp::src_ops() const { return node_->src_ops; }
inline void UOp::retain() const noexcept {
  if (node_ != nullptr) node_->references.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace touchstone

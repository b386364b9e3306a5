// The weak table of all nodes, which makes equal nodes identical.
#include <array>
#include <mutex>

#include "touchstone/base/hash.h"
#include "touchstone/uop/uop.h"

namespace touchstone {
namespace {

constexpr std::size_t kShards = 64;

std::uint64_t address_hash(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

struct Shard {
  std::mutex mutex;
  std::vector<UOpNode*> buckets = std::vector<UOpNode*>(64);
  std::size_t count = 0;

  UOpNode*& bucket(std::uint64_t hash) { return buckets[(hash >> 6) & (buckets.size() - 1)]; }

  void insert(UOpNode* node) {
    if (++count > buckets.size()) grow();
    UOpNode*& first = bucket(node->hash);
    node->next = first;
    first = node;
  }

  void erase(const UOpNode* node) {
    UOpNode** at = &bucket(node->hash);
    while (*at != node) at = &(*at)->next;
    *at = node->next;
    --count;
  }

  void grow() {
    std::vector<UOpNode*> old(2 * buckets.size());
    old.swap(buckets);
    for (UOpNode* node : old)
      while (node != nullptr) {
        UOpNode* const next = node->next;
        UOpNode*& first = bucket(node->hash);
        node->next = first;
        first = node;
        node = next;
      }
  }
};

std::array<Shard, kShards>& shards() {
  static auto* const only = new std::array<Shard, kShards>;  // outlives every static node
  return *only;
}
Shard& shard_of(std::uint64_t hash) { return shards()[hash & (kShards - 1)]; }

std::uint64_t hash_of(const sint& s) { return s.hash(); }
std::uint64_t hash_of(int i) { return static_cast<std::uint64_t>(i); }
std::uint64_t hash_of(const std::string& s) { return hash_bytes(s); }
std::uint64_t hash_of(const std::pair<sint, sint>& p) {
  return hash_mix(p.first.hash(), p.second.hash());
}
template <class T>
std::uint64_t hash_of(const std::vector<T>& items) {
  std::uint64_t h = items.size();
  for (const T& item : items) h = hash_mix(h, hash_of(item));
  return h;
}

struct ArgHash {
  std::uint64_t operator()(std::monostate) const { return 0; }
  std::uint64_t operator()(std::int64_t i) const { return static_cast<std::uint64_t>(i); }
  std::uint64_t operator()(const Scalar& s) const {
    return hash_mix(static_cast<std::uint64_t>(s.dtype()), s.bits());
  }
  std::uint64_t operator()(const ShapeTracker& st) const { return st.hash(); }
  std::uint64_t operator()(const UOpReduce& r) const {
    return hash_mix(hash_of(r.axes), static_cast<std::uint64_t>(r.op) * 2 + (r.fused ? 1 : 0));
  }
  std::uint64_t operator()(const UOpVariable& v) const {
    return hash_mix(hash_mix(hash_bytes(v.name), static_cast<std::uint64_t>(v.min)),
                    static_cast<std::uint64_t>(v.max));
  }
  std::uint64_t operator()(const UOpFill& f) const {
    return hash_mix(hash_mix(hash_bytes(f.name), static_cast<std::uint64_t>(f.id)),
                    hash_of(f.shape));
  }
  std::uint64_t operator()(NamedFunction f) const { return static_cast<std::uint64_t>(f); }
  std::uint64_t operator()(const UOpGather& g) const {
    return hash_mix(g.table.hash(), g.checked ? g.checked->hash() : 0);
  }
  std::uint64_t operator()(const UOpKernelPtr& k) const {
    return k == nullptr ? 0 : address_hash(k->ast.address());
  }
  std::uint64_t operator()(const auto& other) const { return hash_of(other); }
};

std::uint64_t hash_of(const UOpArg& arg) {
  return hash_mix(arg.index(), std::visit(ArgHash{}, arg));
}

std::uint64_t hash_of_parts(const UOpNode& n) {
  const auto form =
      static_cast<std::uint64_t>(n.dtype.base) * 4 + static_cast<std::uint64_t>(n.dtype.form);
  std::uint64_t h = hash_mix(static_cast<std::uint64_t>(n.op), form);
  if (n.dtype.is_image()) {
    h = hash_mix(h, static_cast<std::uint64_t>(n.dtype.storage));
    h = hash_mix(h, static_cast<std::uint64_t>(n.dtype.height));
    h = hash_mix(h, static_cast<std::uint64_t>(n.dtype.width));
  }
  h = hash_mix(h, n.tag ? static_cast<std::uint64_t>(*n.tag) + 1 : 0);
  h = hash_mix(h, hash_of(n.arg));
  for (const UOp& s : n.src) h = hash_mix(h, address_hash(s.address()));
  return h;
}

bool same_parts(const UOpNode& a, const UOpNode& b) {
  return a.hash == b.hash && a.op == b.op && a.dtype == b.dtype && a.tag == b.tag &&
         a.src == b.src && same(a.arg, b.arg);
}

// This thread's nodes without handles, destroyed one at a time, so that long chains do not recurse.
thread_local std::vector<const UOpNode*>* doomed = nullptr;

}  // namespace

bool same(const UOpArg& a, const UOpArg& b) {
  const auto* x = std::get_if<UOpKernelPtr>(&a);
  const auto* y = std::get_if<UOpKernelPtr>(&b);
  if (x == nullptr || y == nullptr) return a == b;
  if (*x == *y) return true;
  return *x != nullptr && *y != nullptr && (*x)->ast == (*y)->ast &&
         (*x)->metadata == (*y)->metadata;
}

UOp UOp::make(GraphOp op, UOpType dtype, std::vector<UOp> src, UOpArg arg,
              std::optional<std::int64_t> tag) {
  auto made = std::make_unique<UOpNode>();
  made->op = op;
  made->dtype = dtype;
  for (const UOp& s : src) {
    if (!s) throw AstError(fmt::format("{}: a source is null", name(op)));
    made->src_ops.add(s.op());
  }
  made->src = std::move(src);
  made->arg = std::move(arg);
  made->tag = tag;
  made->hash = hash_of_parts(*made);
  Shard& shard = shard_of(made->hash);
  const std::lock_guard lock(shard.mutex);
  for (UOpNode* known = shard.bucket(made->hash); known != nullptr; known = known->next)
    if (same_parts(*known, *made)) return UOpNode::handle(known);  // nodes in the table are alive
  shard.insert(made.get());
  return UOp(made.release());
}

// A count reaches 0 only under the lock, so that nodes found in the table are alive.
void UOp::release() noexcept {
  const UOpNode* const node = std::exchange(node_, nullptr);
  std::uint32_t count = node->references.load(std::memory_order_relaxed);
  while (count > 1)
    if (node->references.compare_exchange_weak(count, count - 1, std::memory_order_acq_rel)) return;
  {
    Shard& shard = shard_of(node->hash);
    const std::lock_guard lock(shard.mutex);
    if (node->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    shard.erase(node);
  }
  if (doomed != nullptr) {
    doomed->push_back(node);
    return;
  }
  std::vector<const UOpNode*> list{node};
  doomed = &list;
  while (!list.empty()) {
    const UOpNode* const last = list.back();
    list.pop_back();
    delete last;  // sources without other owners are added to the list
  }
  doomed = nullptr;
}

std::shared_ptr<const UOpMetadata> UOp::metadata() const {
  const std::lock_guard lock(shard_of(node_->hash).mutex);
  return node_->metadata;
}

void UOp::set_metadata(UOpMetadata metadata) const {
  auto fresh = std::make_shared<const UOpMetadata>(std::move(metadata));
  const std::lock_guard lock(shard_of(node_->hash).mutex);
  node_->metadata.swap(fresh);
}

void UOp::add_metadata(std::span<const UOpOrigin> more) const {
  const std::shared_ptr<const UOpMetadata> known = metadata();
  UOpMetadata all = known == nullptr ? UOpMetadata() : *known;
  const std::size_t before = all.size();
  for (const UOpOrigin& origin : more) {
    bool there = false;
    for (const UOpOrigin& old : all) there = there || old == origin;
    if (!there) all.push_back(origin);
  }
  if (all.size() != before) set_metadata(std::move(all));
}

std::int64_t living_uops() {
  std::int64_t count = 0;
  for (Shard& shard : shards()) {
    const std::lock_guard lock(shard.mutex);
    count += static_cast<std::int64_t>(shard.count);
  }
  return count;
}

}  // namespace touchstone

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "touchstone/symbolic/node/node.h"
#include "touchstone/symbolic/number/arena.h"
#include "touchstone/symbolic/number/congruence.h"
#include "touchstone/symbolic/number/interval.h"
#include "touchstone/symbolic/number/small_vector.h"

namespace touchstone::symbolic {

using Id = std::uint32_t;

/// The kinds of nodes. Other operators are expressed with them: `a or b` is 1 - And(1-a, 1-b),
/// min(a, b) is -Max(-a, -b), where(c, a, b) is b + Select(c, a-b), so that equal functions meet in
/// one form and the linear part of an expression stays visible. A term that occurs only in b and
/// may divide by 0 is guarded as Select(not c, term).
enum class NodeKind : std::uint8_t {
  Constant,
  Variable,
  Product,   // atoms, sorted; powers repeat the atom; a long sum may be a factor
  Digit,     // (args[0] // lo) % (hi / lo); lo >= 1, lo divides hi; hi = 0 stands for infinity
  Div,       // args[0] // args[1], the divisor not constant
  Mod,       // args[0] % args[1], the divisor not constant
  Negative,  // args[0] < 0
  Zero,      // args[0] == 0
  And,       // two or more 0/1 expressions, sorted
  Select,    // args[1] where args[0], else 0
  Max,       // max(0, args...): plain args, then minima of several, ordered by coefficients
  Sum,       // constant + the sum of coefficient * atom, atoms sorted, no coefficient 0
  TruncDiv,  // C's quotient of args[0] and args[1]; the signs are open, first coefficients positive
  TruncMod,  // its remainder, with the sign of args[0]
};

inline bool truncates(NodeKind kind) {
  return kind == NodeKind::TruncDiv || kind == NodeKind::TruncMod;
}
/// True for divisions by args[1], which may be 0.
inline bool has_divisor(NodeKind kind) {
  return kind == NodeKind::Div || kind == NodeKind::Mod || truncates(kind);
}

/// coefficient * atom; the atom is a node other than a constant or a sum.
struct Term {
  Int coef;
  Id atom = 0;
  bool operator==(const Term&) const = default;
};

using Terms = SmallVector<Term>;
using Ids = SmallVector<Id>;

/// A read-only view of one node, valid as long as its context holds the node.
struct NodeData {
  NodeKind kind;
  bool boolean;                 // its bounds lie within [0, 1]
  std::uint64_t hash;           // of the structure alone: equal in every run
  std::span<const Term> terms;  // Sum
  std::span<const Id> args;     // all kinds except Constant, Variable, Sum
  const Int& first;   // Constant: the value. Sum: the constant. Digit: lo. Variable: modulus
  const Int& second;  // Digit: hi. Variable: residue
  const Interval& bounds;
  const std::string* name;  // Variable

  bool is_quotient() const { return kind == NodeKind::Digit && second.is_zero(); }  // by a number
  bool is_digit() const { return kind == NodeKind::Digit && !second.is_zero(); }    // a finite one
};

/// Owns the nodes: an arena with one copy of each. Ids increase with time, so a node's id is above
/// those of its parts. Thread-safe: building takes the lock; nodes that a thread was handed are
/// read without it, since nodes never change or move. Nodes of different contexts must not be
/// mixed, except constants, which are copied.
class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// The context of the free functions; lives as long as the process.
  static Context& shared();

  /// Like the free functions of node.h, in this context.
  Node constant(std::int64_t value);
  Node variable(const std::string& name, std::optional<std::int64_t> min,
                std::optional<std::int64_t> max);
  Node variable(const std::string& name, const Interval& bounds);  // bounds of any length

  /// Number of nodes created.
  std::size_t size() const;
  /// Bytes held: nodes, their lists, the hash table and the memos.
  std::size_t bytes() const;
  /// Drops all nodes except the constant 0; every other handle becomes invalid. Keeps the memory
  /// for reuse. No other thread may use the context meanwhile.
  void clear();
  /// The handle of a node.
  Node handle(Id id) { return Node(this, id); }
  std::mutex& mutex() { return mutex_; }

  /// Sort key for `compare` (order.h): the node's kind, the kinds along its first parts, then the
  /// first letters of a name; for deep nodes, part of the hash.
  std::uint64_t key(Id id) const { return at(id).key; }

  /// Bit set of the variables below the node: disjoint sets mean no common variable. From the
  /// ninth variable on, variables share bits by order of creation, so use it only to skip useless
  /// work.
  std::uint8_t variables_in(Id id) const { return at(id).variables; }
  NodeKind kind(Id id) const { return at(id).kind; }
  /// Levels below the node; 255 also stands for more.
  std::uint8_t height(Id id) const { return at(id).height; }
  const Interval& bounds(Id id) const { return at(id).bounds; }
  /// The name; only for variables.
  const std::string& name(Id id) const { return *at(id).parts.name; }

  [[gnu::always_inline]] NodeData operator[](Id id) const {
    const Stored& n = at(id);
    const bool sum = n.kind == NodeKind::Sum;
    return {n.kind,
            n.boolean,
            n.hash,
            sum ? std::span(n.parts.terms, n.count) : std::span<const Term>(),
            sum ? std::span<const Id>() : args_of(n),
            n.first,
            n.second,
            n.bounds,
            n.kind == NodeKind::Variable ? n.parts.name : nullptr};
  }

  // Memo of results, for the holder of the lock. Results are functions of the nodes alone, so a
  // lookup never changes them; an entry may be dropped at any time.
  /// The result of an operation on nodes.
  std::optional<Id> recall(ExprOp op, std::span<const Id> args) const;
  void remember(ExprOp op, std::span<const Id> args, Id result);
  /// The node built earlier from the same tape (tape.h).
  std::optional<Id> recall(std::span<const std::uint32_t> words, std::uint64_t hash) const;
  void remember(std::span<const std::uint32_t> words, std::uint64_t hash, Id result);
  /// The size of a node's text, 0 if unknown; saturates.
  std::size_t known_size(Id id) const { return id < sizes_.size() ? sizes_[id] : 0; }
  void keep_size(Id id, std::size_t size);

  // The rest is for the simplifier. The caller holds the lock and passes parts in canonical order
  // and form: these functions only find the node, or add it with its bounds.
  /// The congruence that all values of a node satisfy, in addition to its bounds.
  Congruence congruence(Id id) const;
  /// True if the node or one of its atoms has a congruence not implied by its coefficients.
  bool strided(Id id) const { return at(id).strided; }
  /// True if the node contains a division, guarded or not, whose divisor may be 0.
  bool partial(Id id) const { return at(id).partial; }
  /// The congruence of a node for `make`, derived from its parts.
  Congruence congruence(NodeKind kind, std::span<const Id> args, const Int& lo,
                        const Int& hi) const;
  Id make_constant(const Int& value);
  Id make_variable(const std::string& name, const Interval& bounds,
                   const Congruence& congruence = {});
  /// The hash table slot for a sum that is not a node yet; valid until another node is created.
  struct Place {
    std::size_t slot = 0, nodes = 0;
  };
  /// `hash` is the sum's hash_sum, `place` comes from find_sum.
  Id make_sum(const Int& constant, std::span<const Term> terms, const Interval& bounds,
              std::uint64_t hash, Place place);
  /// The existing node of the sum, which is then canonical.
  std::optional<Id> find_sum(const Int& constant, std::span<const Term> terms, std::uint64_t hash,
                             Place& place) const;
  std::uint64_t hash_sum(const Int& constant, std::span<const Term> terms) const;
  /// True if `make` with these arguments would find an existing node.
  bool has(NodeKind kind, std::span<const Id> args) const;
  Id make(NodeKind kind, std::span<const Id> args, const Interval& bounds, const Int& lo = 0,
          const Int& hi = 0, const Congruence& congruence = {});

 private:
  static constexpr std::uint32_t kFirstChunk = 256;  // chunk k holds 2^k nodes, from k = 8
  static constexpr std::size_t kInPlace = 2;         // up to this many args are stored inline

  struct Stored {
    std::uint64_t hash = 0;
    std::uint64_t key = 0;
    Int first, second;
    Interval bounds;
    union {
      const Term* terms;        // Sum
      const Id* args;           // more than kInPlace
      Id in_place[kInPlace];    // at most that
      const std::string* name;  // Variable
    } parts = {nullptr};
    std::uint32_t count = 0;  // of terms or args
    NodeKind kind = NodeKind::Constant;
    bool boolean : 1 = false;
    bool strided : 1 = false;
    bool partial : 1 = false;
    std::uint8_t height = 0;     // levels below it, at most 255
    std::uint8_t variables = 0;  // one bit a name; beyond eight, names share bits
  };
  static_assert(sizeof(Stored) <= 64);
  struct Slot {
    Id id;
    std::uint32_t hash;  // the low half
  };

  [[gnu::always_inline]] const Stored& at(Id id) const {
    if (id < kFirstChunk) return first_[id];
    const std::uint32_t n = id + kFirstChunk;
    const int chunk = 31 - __builtin_clz(n);
    return chunks_[static_cast<std::size_t>(chunk)].get()[n - (1U << chunk)];
  }
  static std::span<const Id> args_of(const Stored& n) {
    return {n.count <= kInPlace ? n.parts.in_place : n.parts.args, n.count};
  }
  /// The slot of the node with this hash for which `same` holds, or the free slot for it.
  template <class Same>
  std::size_t find(std::uint64_t hash, const Same& same) const;
  std::uint64_t hash_of(NodeKind kind, std::span<const Id> args, const Int& lo,
                        const Int& hi) const;
  std::size_t find_slot(std::uint64_t hash, NodeKind kind, std::span<const Id> args, const Int& lo,
                        const Int& hi) const;
  std::size_t find_sum_slot(std::uint64_t hash, const Int& constant,
                            std::span<const Term> terms) const;
  /// Storage for a node with this hash; `kept` commits it.
  Stored& fresh(std::uint64_t hash, NodeKind kind);
  Id kept(Stored& node, std::size_t slot);
  void drop_numbers();
  /// Sets key, height, variables and partial.
  void rank(Stored& node);
  void grow_table();

  struct Result {
    std::array<Id, 3> args;
    std::uint32_t use;  // use count of the table, and the operation
    Id result;
  };
  std::size_t place_of(ExprOp op, const std::array<Id, 3>& args) const;

  struct FreeNodes {
    void operator()(Stored* nodes) const;
  };
  mutable std::mutex mutex_;
  std::array<std::unique_ptr<Stored, FreeNodes>, 32> chunks_;
  const Stored* first_ = nullptr;  // the first chunk
  std::size_t count_ = 0;
  unsigned variables_ = 0;   // number of names seen
  bool big_ = false;         // some node holds a heap number
  std::vector<Slot> table_;  // open addressing
  /// A variable name. Variables of one name share a bit, whatever their bounds.
  struct Name {
    std::string text;
    std::uint32_t use = 0;  // value of use_ when its bit was assigned
    std::uint8_t bit = 0;
  };
  std::unordered_map<std::string, std::unique_ptr<Name>> names_;
  std::vector<Result> results_;  // direct-mapped by hash
  std::uint32_t use_ = 1;        // number of times the context was cleared
  struct Known {
    std::uint64_t hash;
    const std::uint32_t* words;
    std::uint32_t count, result;
  };
  std::vector<Known> tapes_;  // direct-mapped by hash; free entries have no words
  std::size_t tapes_kept_ = 0, tape_words_ = 0;
  std::vector<std::uint32_t> sizes_;
  std::vector<std::pair<Id, Congruence>> strides_;  // of strided nodes except sums, by id
  Arena lists_;
};

/// `parse` of node.h in this context; `names` may be empty.
Node parse(const std::string& text, const std::map<std::string, Node>& names, Context& context);

/// The nodes reachable from `root`, including it, parts before wholes; empty if there are more than
/// `most`. Iterative.
List<Id> reachable(const Context& context, Id root,
                   std::size_t most = static_cast<std::size_t>(-1));

}  // namespace touchstone::symbolic

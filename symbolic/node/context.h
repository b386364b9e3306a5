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
enum class ExprOp : std::uint8_t;  // expr.h

/// The kinds of nodes. Everything else of the language is written with these: `a or b` is
/// 1 - And(1-a, 1-b), min(a, b) is -Max(-a, -b), where(c, a, b) is b + Select(c, a-b), so that
/// equal functions meet in one form and the linear part of an expression stays visible. A term of b
/// alone that may divide by 0 is guarded: it is Select(not c, term).
enum class Kind : std::uint8_t {
  Constant,
  Variable,
  Product,   // atoms, sorted; a power repeats its atom; a long sum may stand as one
  Digit,     // (args[0] // lo) % (hi / lo); lo >= 1, lo divides hi; hi = 0 stands for infinity
  Div,       // args[0] // args[1], the divisor not constant
  Mod,       // args[0] % args[1], the divisor not constant
  Negative,  // args[0] < 0
  Zero,      // args[0] == 0
  And,       // two or more 0/1 expressions, sorted
  Select,    // args[1] where args[0], else 0
  Max,       // max(0, args...): plain args, then minima of several, each by coefficients
  Sum,       // constant + the sum of coefficient * atom, atoms sorted, no coefficient 0
};

/// coefficient * atom, where the atom is a node that is neither a constant nor a sum.
struct Term {
  Int coef;
  Id atom = 0;
  bool operator==(const Term&) const = default;
};

using Terms = SmallVector<Term>;
using Ids = SmallVector<Id>;

/// One node, as it is read; immutable. Stays valid as long as its context holds the node.
struct NodeData {
  Kind kind;
  bool boolean;                 // 0 and 1 are its only values, by its bounds
  std::uint64_t hash;           // of the structure alone: equal in every run
  std::span<const Term> terms;  // Sum
  std::span<const Id> args;     // all but Constant, Variable, Sum
  const Int& first;   // Constant: the value. Sum: the constant. Digit: lo. Variable: modulus
  const Int& second;  // Digit: hi. Variable: residue
  const Interval& bounds;
  const std::string* name;  // Variable
};

/// Where nodes live: an arena with one copy of every node. Ids grow with time, so a node's id is
/// above those of its parts. All names of one context may be used from any thread: building takes
/// the context's lock, and a node that a thread was handed is read without one, since nodes never
/// change or move. Nodes of different contexts do not mix, except that constants are copied.
class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// The context of the free functions; it lives as long as the process.
  static Context& shared();

  /// Like the free functions of node.h, in this context.
  Node constant(std::int64_t value);
  Node variable(const std::string& name, std::optional<std::int64_t> min,
                std::optional<std::int64_t> max);
  Node variable(const std::string& name, const Interval& bounds);  // of any length

  /// Nodes made so far.
  std::size_t size() const;
  /// Bytes held for them: nodes, their lists, the table that finds them, what is remembered.
  std::size_t bytes() const;
  /// Forgets all nodes but the constant 0, so that no handle but that one may be used any more; the
  /// memory is kept for what comes next. Not while another thread uses the context.
  void clear();
  /// The handle of a node.
  Node handle(Id id) { return Node(this, id); }
  std::mutex& mutex() { return mutex_; }

  /// The first things that `compare` (order.h) looks at, as one number: the node's kind, the kinds
  /// down its first parts, then the first letters of a name; of a deep node, a part of its hash.
  std::uint64_t key(Id id) const { return at(id).key; }

  /// Variables below the node, as bits: where two nodes have no bit in common, they have no
  /// variable in common. Of eight variables on, some share a bit, by the order in which they were
  /// made: to be used only to leave out what would find nothing.
  std::uint8_t variables_in(Id id) const { return at(id).variables; }
  Kind kind(Id id) const { return at(id).kind; }
  /// Levels below the node; 255 stands for more, too.
  std::uint8_t height(Id id) const { return at(id).height; }
  const Interval& bounds(Id id) const { return at(id).bounds; }
  /// The name of a variable; of no other node.
  const std::string& name(Id id) const { return *at(id).parts.name; }

  [[gnu::always_inline]] NodeData operator[](Id id) const {
    const Stored& n = at(id);
    const bool sum = n.kind == Kind::Sum;
    return {n.kind,
            n.boolean,
            n.hash,
            sum ? std::span(n.parts.terms, n.count) : std::span<const Term>(),
            sum ? std::span<const Id>() : args_of(n),
            n.first,
            n.second,
            n.bounds,
            n.kind == Kind::Variable ? n.parts.name : nullptr};
  }

  // Memo of results, for the holder of the lock. Results are functions of the nodes alone, so
  // it changes none of them which are remembered; an entry may be lost at any time.
  /// The result of an operation on nodes.
  std::optional<Id> recall(ExprOp op, std::span<const Id> args) const;
  void remember(ExprOp op, std::span<const Id> args, Id result);
  /// The node of an expression that was built before, by its tape (tape.h).
  std::optional<Id> recall(std::span<const std::uint32_t> words, std::uint64_t hash) const;
  void remember(std::span<const std::uint32_t> words, std::uint64_t hash, Id result);
  /// The size of a node's text, 0 where it is not known; saturates.
  std::size_t known_size(Id id) const { return id < sizes_.size() ? sizes_[id] : 0; }
  void keep_size(Id id, std::size_t size);

  // The rest is for the simplifier. The caller holds the lock, and has put the parts in canonical
  // order and form: these functions only look the node up, or add it with its bounds.
  /// The congruence that all values of a node obey, beside its bounds.
  Congruence congruence(Id id) const;
  /// Some atom of the node, or it itself, has a congruence that its coefficients do not tell.
  bool strided(Id id) const { return at(id).strided; }
  /// Somewhere in the node, guarded or not, stands a division by what may be 0.
  bool partial(Id id) const { return at(id).partial; }
  /// The congruence of a node that `make` makes, as it follows from its parts.
  Congruence congruence(Kind kind, std::span<const Id> args, const Int& lo, const Int& hi) const;
  Id make_constant(const Int& value);
  Id make_variable(const std::string& name, const Interval& bounds,
                   const Congruence& congruence = {});
  /// Where a sum that is no node yet would be found, until another node is made.
  struct Place {
    std::size_t slot = 0, nodes = 0;
  };
  /// `hash` is hash_sum of the same, `place` what find_sum gave for it.
  Id make_sum(const Int& constant, std::span<const Term> terms, const Interval& bounds,
              std::uint64_t hash, Place place);
  /// The sum, where it is a node already, and so is canonical as it stands.
  std::optional<Id> find_sum(const Int& constant, std::span<const Term> terms, std::uint64_t hash,
                             Place& place) const;
  std::uint64_t hash_sum(const Int& constant, std::span<const Term> terms) const;
  /// Whether `make` of the same would find a node.
  bool has(Kind kind, std::span<const Id> args) const;
  Id make(Kind kind, std::span<const Id> args, const Interval& bounds, const Int& lo = 0,
          const Int& hi = 0, const Congruence& congruence = {});

 private:
  static constexpr std::uint32_t kFirstChunk = 256;  // chunk k holds 2^k nodes, from k = 8
  static constexpr std::size_t kInPlace = 2;         // so many args need no list

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
    Kind kind = Kind::Constant;
    bool boolean : 1 = false;
    bool strided : 1 = false;
    bool partial : 1 = false;
    std::uint8_t height = 0;     // levels below it, at most 255
    std::uint8_t variables = 0;  // a bit a name; beyond eight, names share bits
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
  /// The slot of the node with this hash for which `same` holds, or the free one it would take.
  template <class Same>
  std::size_t find(std::uint64_t hash, const Same& same) const;
  std::uint64_t hash_of(Kind kind, std::span<const Id> args, const Int& lo, const Int& hi) const;
  std::size_t find_slot(std::uint64_t hash, Kind kind, std::span<const Id> args, const Int& lo,
                        const Int& hi) const;
  std::size_t find_sum_slot(std::uint64_t hash, const Int& constant,
                            std::span<const Term> terms) const;
  /// Room for a node with this hash; `kept` makes it one.
  Stored& fresh(std::uint64_t hash, Kind kind);
  Id kept(Stored& node, std::size_t slot);
  void drop_numbers();
  /// Fills in key, height, variables and partial.
  void rank(Stored& node);
  void grow_table();

  struct Result {
    std::array<Id, 3> args;
    std::uint32_t use;  // of the table, and the operation
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
  unsigned variables_ = 0;   // names met so far
  bool big_ = false;         // some node holds a number on the heap
  std::vector<Slot> table_;  // open addressing
  /// A name of variables. Those of one name share a bit, whatever their bounds.
  struct Name {
    std::string text;
    std::uint32_t use = 0;  // the use_ that its bit is of
    std::uint8_t bit = 0;
  };
  std::unordered_map<std::string, std::unique_ptr<Name>> names_;
  std::vector<Result> results_;  // each in the one place its hash gives it
  std::uint32_t use_ = 1;        // counts the times the context was emptied
  struct Known {
    std::uint64_t hash;
    const std::uint32_t* words;
    std::uint32_t count, result;
  };
  std::vector<Known> tapes_;  // each in the one place its hash gives it; none has no words
  std::size_t tapes_kept_ = 0, tape_words_ = 0;
  std::vector<std::uint32_t> sizes_;
  std::vector<std::pair<Id, Congruence>> strides_;  // of strided nodes but sums, by id
  Arena lists_;
};

/// `parse` of node.h, in this context, also where there are no names.
Node parse(const std::string& text, const std::map<std::string, Node>& names, Context& context);

/// The nodes below and including `root`, parts before wholes. Iterative. Where there are more than
/// `most`, none.
List<Id> reachable(const Context& context, Id root,
                   std::size_t most = static_cast<std::size_t>(-1));

}  // namespace touchstone::symbolic

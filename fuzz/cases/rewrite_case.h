#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/fuzz/engine/area.h"
#include "touchstone/uop/uop.h"

namespace touchstone::fuzz {

/// A graph of UOps, and what is done to it: passes of rules, one after the other.
///
///   CONST:i32=i32/1; NEG:i32 ^1; 40*SIN:f32 ^1 %0; SINK ^40..1 | top | m@ADD{x, 1} -> NEG(x) if
///   x!=m
///
/// A node is OP, its type unless it has none (f32, f32* of a pointer, f32.2x3 of an image), =ARG,
/// #TAG, @ORIGIN (metadata) and its sources: %0 the first node, ^1 the one before, ^40..1 forty of
/// them. N*NODE is N nodes; the ARG i counts them. ARG is an integer, TYPE/VALUE, or (shape).
///
/// A pass is `top` or `bottom` (graph_rewrite), `map` or `map bottom` (graph_rewrite_map, composed
/// with the maps right before), each followed by rules, or `substitute %0=%2 ...`.
struct RewriteCase {
  struct Node {
    std::int64_t times = 1;
    Ops op = Ops::Sink;
    UOpType type;
    UOpArg arg;
    bool counts = false;  // the argument is the number of the repetition
    std::optional<std::int64_t> tag;
    std::string origin;
    struct Source {
      bool back = false;  // so many nodes before this one, else from the first
      std::int64_t from = 0, to = 0;
    };
    std::vector<Source> src;
  };

  /// NAME@HEAD:TYPES=ARG over sources. HEAD: `_`, ops with + between, `#number`, `?` (one of the
  /// patterns that follow in brackets) or `~` (the one that follows, or a CAST of it, which is what
  /// the name names). Sources: (in order), {in any order}, [each of them]; `...` at the end: more
  /// may follow.
  struct Pattern {
    enum class Kind : std::uint8_t { Plain, Number, OneOf, Casted };
    enum class Sources : std::uint8_t { Any, Ordered, Shuffled, Each };
    Kind kind = Kind::Plain;
    std::string name;
    std::vector<Ops> ops;  // none: any
    std::vector<DType> types;
    std::optional<UOpArg> arg;
    double number = 0;
    Sources sources = Sources::Any;
    bool or_more = false;
    std::vector<Pattern> of;
  };

  /// What a rule makes: a name, NAME.0 (its first source), `null`, or OP:TYPE=ARG#TAG over such; no
  /// TYPE: that of the root.
  struct Result {
    enum class Kind : std::uint8_t { Null, Name, Source, Make };
    Kind kind = Kind::Null;
    std::string name;
    Ops op = Ops::Sink;
    std::optional<UOpType> type;
    UOpArg arg;
    std::optional<std::int64_t> tag;
    std::vector<Result> of;
  };

  /// Where it does not hold, or a name has no node, a rule gives null.
  struct Guard {
    enum class Kind : std::uint8_t { None, Differ, IsOp };
    Kind kind = Kind::None;
    std::string a, b;
    Ops op = Ops::Sink;
  };

  struct Rule {
    Pattern pattern;
    Result result;
    Guard guard;
    std::string str() const;
  };

  struct Pass {
    enum class Kind : std::uint8_t { Rewrite, Map, Substitute };
    Kind kind = Kind::Rewrite;
    bool bottom_up = false;
    std::vector<Rule> rules;
    std::vector<std::pair<std::int64_t, std::int64_t>> substitutes;
  };

  std::vector<Node> nodes;
  std::vector<Pass> passes;

  /// Throws ParseError saying what is wrong.
  static RewriteCase parse(std::string_view text);
  std::string str() const;

  /// Every node of the graph, in order, with metadata where it says so and none elsewhere; the last
  /// is what is rewritten. Throws ParseError where a source does not come before, or there are more
  /// than kMostNodes nodes or kMostSources sources.
  std::vector<UOp> build() const;
  static constexpr std::int64_t kMostNodes = 4000, kMostSources = 8000;
};

/// The names of a pattern, each once, in the order of reading.
std::vector<std::string> names_of(const RewriteCase::Pattern& pattern);
/// The names that a rule's function is called with: those of its pattern, then others it asks for.
std::vector<std::string> names_of(const RewriteCase::Rule& rule);
/// The node that a result says; null where it says null, or a name has no node. `named`: nodes of
/// `names`, null where there is none.
UOp made_by(const RewriteCase::Rule& rule, const UOp& root, const std::vector<std::string>& names,
            const std::vector<UOp>& named);

/// A case: rules that fit parts of the graph more often than chance would have them.
std::string draw_rewrite(Chooser& chooser);
/// Smaller cases, the boldest first, and how large one is.
std::vector<std::string> smaller_rewrites(const RewriteCase& c);
Measure measure_of(const RewriteCase& c);
Extent extent_of(const RewriteCase& c);

}  // namespace touchstone::fuzz

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/fuzz/engine/area.h"
#include "touchstone/uop/uop.h"

namespace touchstone::fuzz {

/// A graph of UOps and the rewriting passes applied to it in sequence.
///
///   CONST:i32=i32/1; NEG:i32 ^1; 40*SIN:f32 ^1 %0; SINK ^40..1 | top | m@ADD{x, 1} -> NEG(x) if
///   x!=m
///
/// A node is OP, its type unless it has none (f32, f32* of a pointer, f32.2x3 of an image), =ARG,
/// #TAG, @ORIGIN (metadata) and its sources: %0 the first node, ^1 the previous one, ^40..1 the
/// previous forty. N*NODE is N nodes; the ARG i is the number of the copy. ARG is an integer,
/// TYPE/VALUE, or (shape).
///
/// A pass is `top` or `bottom` (graph_rewrite), `map` or `map bottom` (graph_rewrite_map, composed
/// with the maps directly before), each followed by rules, or `substitute %0=%2 ...`.
struct RewriteCase {
  struct Node {
    std::int64_t times = 1;
    GraphOp op = GraphOp::Sink;
    UOpType type;
    UOpArg arg;
    bool counts = false;  // the argument is the number of the copy
    std::optional<std::int64_t> tag;
    std::string origin;
    struct Source {
      bool back = false;  // counts back from this node, else from the first
      std::int64_t from = 0, to = 0;
    };
    std::vector<Source> src;
  };

  /// NAME@HEAD:TYPES=ARG over sources. HEAD: `_`, ops joined by +, `#number`, `?` (one of the
  /// following patterns in brackets) or `~` (the following pattern, or a CAST of it; the name
  /// refers to the cast). Sources: (in order), {in any order}, [each of them]; a final `...` allows
  /// more.
  struct Pattern {
    enum class Kind : std::uint8_t { Plain, Number, OneOf, Casted };
    enum class Sources : std::uint8_t { Any, Ordered, Shuffled, Each };
    Kind kind = Kind::Plain;
    std::string name;
    std::vector<GraphOp> ops;  // none: any
    std::vector<DType> types;
    std::optional<UOpArg> arg;
    double number = 0;
    Sources sources = Sources::Any;
    bool or_more = false;
    std::vector<Pattern> of;
  };

  /// A rule's result: a name, NAME.0 (its first source), `null`, or OP:TYPE=ARG#TAG over results;
  /// without TYPE, the root's type.
  struct Result {
    enum class Kind : std::uint8_t { Null, Name, Source, Make };
    Kind kind = Kind::Null;
    std::string name;
    GraphOp op = GraphOp::Sink;
    std::optional<UOpType> type;
    UOpArg arg;
    std::optional<std::int64_t> tag;
    std::vector<Result> of;
  };

  /// If it does not hold, or a name has no node, the rule returns null.
  struct Guard {
    enum class Kind : std::uint8_t { None, Differ, IsOp };
    Kind kind = Kind::None;
    std::string a, b;
    GraphOp op = GraphOp::Sink;
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

  /// Builds the graph's nodes in order, with metadata only where the text has it; the last is the
  /// root to rewrite. Throws ParseError if a source does not come before its user, or there are
  /// more than kMostNodes nodes or kMostSources sources.
  std::vector<UOp> build() const;
  static constexpr std::int64_t kMostNodes = 4000, kMostSources = 8000;
};

/// The names of a pattern, each once, in reading order; that of a cast follows those it may cast.
std::vector<std::string> names_of(const RewriteCase::Pattern& pattern);
/// The names a rule's function is called with: the pattern's, then others it uses.
std::vector<std::string> names_of(const RewriteCase::Rule& rule);
/// The node a result describes; null for `null` or if a name has no node. `named`: the nodes of
/// `names`, null if unbound.
UOp made_by(const RewriteCase::Rule& rule, const UOp& root, const std::vector<std::string>& names,
            const std::vector<UOp>& named);

/// Draws a case whose rules match its graph more often than chance.
std::string draw_rewrite(Chooser& chooser);
/// Smaller cases, the boldest first, and the size of one.
std::vector<std::string> smaller_rewrites(const RewriteCase& c);
Measure measure_of(const RewriteCase& c);
Extent extent_of(const RewriteCase& c);

}  // namespace touchstone::fuzz

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "touchstone/shapetracker/view/shapetracker.h"
#include "touchstone/symbolic/access/access.h"
#include "touchstone/symbolic/notation/notation.h"

// Layouts, views, affine maps and index expressions as one type, with its algebra
// (docs/layouts.md).

namespace touchstone {

using symbolic::Finding;

/// A map from integer points to tuples of integers. A point is in the domain if each input is in
/// its range, all conditions hold and no result divides by 0. Symbols stand for unknown numbers: an
/// answer about a map with symbols is about all their values. Immutable.
class Map {
 public:
  using Node = symbolic::Node;
  struct Input {
    std::string name;
    std::optional<std::int64_t> lo, hi;  // inclusive; nullopt: open
    Node node{};                         // the variable, or the number if there is one value only
    std::optional<sint> extent() const;  // of [0, extent), as a number
  };
  /// A mode of a layout: index times stride, for indices in [0, size).
  struct Mode {
    std::int64_t size, stride;
  };

  /// Reads a text (docs/notations.md); `symbols` names variables that are unknown numbers instead
  /// of inputs. Throws ParseError.
  static Map read(const symbolic::Question& text, symbolic::Language from,
                  const std::vector<std::string>& symbols = {});
  static Map of(const symbolic::Translation& text, const std::vector<std::string>& symbols = {});
  /// An input for each axis; padding is outside the domain.
  static Map of(const ShapeTracker& tracker);
  /// From its parts; conditions that always hold are dropped.
  static Map made(std::vector<Input> inputs, std::vector<Input> symbols,
                  const std::vector<Node>& conditions, std::vector<Node> results);
  /// A layout of CuTe, an input for each list of modes.
  static Map of_modes(const std::vector<std::vector<Mode>>& modes);

  const std::vector<Input>& inputs() const { return inputs_; }
  const std::vector<Input>& symbols() const { return symbols_; }
  const std::vector<Node>& conditions() const { return conditions_; }
  const std::vector<Node>& results() const { return results_; }
  /// The flat index of several inputs changes the first input fastest, as in CuTe.
  bool first_fastest() const { return first_fastest_; }
  /// The results as the text has them, in the notation of `simplify`; empty if the map was made
  /// another way.
  const std::vector<std::string>& texts() const { return texts_; }

  /// The map with symbols replaced by numbers.
  Map bind(const symbolic::Values& values) const;
  /// The map with another name for a symbol.
  Map renamed(const std::string& symbol, const std::string& name) const;
  /// The map of the flat index of its inputs. Throws ShapeError if a range is not [0, n) with a
  /// number n.
  Map flat() const;
  /// For each input its weight in the flat index and its size. Throws as `flat`.
  struct Place {
    std::int64_t weight, size;
  };
  std::vector<Place> places() const;
  /// The flat index as a sum of the inputs; of one input, the input. Throws as `flat`.
  Node flat_index() const;
  /// The map where a condition holds, too: in the notation of `simplify`, over inputs and symbols;
  /// or "i=0..7".
  Map restricted(const std::string& condition) const;
  /// With other results, over the same domain.
  Map with_results(std::vector<Node> results) const;
  /// The same expressions over the whole box. They may have been simplified under the conditions.
  Map without_conditions() const;
  /// `after` at the results of *this, where they are in its domain. A single result is the flat
  /// index of several inputs. Throws ShapeError if numbers of results and inputs disagree.
  Map then(const Map& after) const;
  /// The same map as a function of the other's inputs: input by input if the ranges agree, else by
  /// the flat index. Throws ShapeError if neither fits.
  Map over_inputs_of(const Map& other) const;

  /// The box of the points, once conditions on single inputs are ranges. Extents may be symbolic.
  struct Box {
    struct Side {
      std::optional<std::int64_t> lo, hi;
      std::optional<sint> extent;  // of [0, extent)
    };
    std::vector<Side> sides;
    std::vector<Node> rest;  // the other conditions
    bool empty = false;
    /// The number of points of the box; nullopt if it is open or beyond 2^62.
    std::optional<std::int64_t> count() const;
  };
  Box box() const;
  /// The same map with inputs from 0, their conditions as ranges; `lows` has the former first
  /// values. nullopt if an input has a value below 0 of unknown size, or the domain is empty.
  struct FromZero;
  std::optional<FromZero> from_zero() const;

  /// "[i, j] -> [i*4 + j] for i in [0, 7], j in [0, 3]"
  std::string str() const;
  /// One question for each result, with the conditions as assumptions.
  std::vector<symbolic::Question> questions() const;

 private:
  void add_condition(Node condition);
  void simplify();
  Map substituted(const std::map<std::string, Node>& replacements) const;

  std::vector<Input> inputs_, symbols_;
  std::vector<Node> conditions_, results_;
  std::vector<std::string> texts_;
  bool first_fastest_ = false;
};

struct Map::FromZero {
  Map map;
  std::vector<std::int64_t> lows;
};

namespace maps {

/// A condition as of < 0, of == 0 or of != 0.
struct Test {
  enum { Less, Equal, Unequal, Other } kind = Other;
  symbolic::Node of{};
};
Test test_of(const symbolic::Node& condition);

/// A text with names replaced by other texts. Throws ParseError.
std::string text_with(const std::string& text, const std::map<std::string, std::string>& by);

/// An input or a symbol with bounds.
Map::Input input(const std::string& name, std::optional<std::int64_t> lo,
                 std::optional<std::int64_t> hi);

}  // namespace maps
}  // namespace touchstone

#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "touchstone/symbolic/ask/question.h"
#include "touchstone/symbolic/expr/evaluate.h"

// What the author of a kernel asks of an index: does it leave int32, is it in bounds, how wide may
// a load be, how many segments and banks does a warp touch (docs/notations.md).

namespace touchstone::symbolic {

/// Yes: proved, or tried at every point. No: `at` is a point where it fails. Open: neither.
struct Finding {
  enum class Verdict : std::uint8_t { Yes, No, Open };
  Verdict verdict = Verdict::Open;
  std::string what;               // in words
  std::map<std::string, Int> at;  // of No
};

/// The worst and the best case of a warp.
struct WarpFinding {
  std::int64_t worst = 0, best = 0;
  std::map<std::string, Int> at;  // the worst: the other variables, and the first lane
  bool all = false;               // every point was tried, else a sample
};

/// An index as written, over its variables.
class Access {
 public:
  /// Throws ParseError as `answer` does.
  explicit Access(Question question);

  /// Does every part stay in the type? Without `parts`, those of the index as it is written here;
  /// else the given ones, as another language's text computes them (Translation::parts), each in
  /// the type that the text declares for it. Unsigned ones have wrapped around already.
  Finding fits(int bits, bool is_signed, std::vector<GuardedPart> parts) const;
  /// Is no divisor 0 where it is divided by?
  Finding divides() const;
  /// Is the index in [0, size) at every point that the assumptions leave?
  Finding inside(const Int& size) const;
  /// Without the assumptions, too? Yes: they are redundant as a guard.
  Finding inside_unguarded(const Int& size) const;
  /// Are `width` neighbours along a variable, from a multiple of width, consecutive and the first a
  /// multiple of width?
  Finding vector(const std::string& variable, int width) const;
  /// The segments of `segment` bytes that lanes k*lanes .. k*lanes + lanes - 1 of a variable touch,
  /// with elements of `bytes` bytes.
  WarpFinding segments(const std::string& lane, int lanes, int bytes, int segment) const;
  /// The largest number of different words in one bank, of `banks` banks of 4 bytes, that the lanes
  /// read: 1 is without conflict.
  WarpFinding bank_conflicts(const std::string& lane, int lanes, int bytes, int banks) const;
  /// The indices of the lanes of each warp; false if it is a sample.
  bool each_warp(const std::string& lane, int lanes,
                 const std::function<void(const std::vector<Int>&)>& f) const;

  const Question& question() const { return question_; }

 private:
  using Point = std::vector<Int>;
  /// The multiples of `step` among the values of a variable.
  struct Steps {
    std::size_t place = 0;
    int step = 1;
    bool before = false;  // the one before the range, too, if the range begins between two
  };
  /// Points of the box that the assumptions leave, until `f` is false. False if it is a sample.
  bool each_point(const std::function<bool(const Point&)>& f, const Steps& steps,
                  bool guarded = true) const;
  std::map<std::string, Int> named(const Point& point) const;
  std::size_t place_of(const std::string& variable) const;
  Finding within(const Question& question, Expr part, const Interval& wanted, bool guarded) const;
  std::vector<GuardedPart> own_parts() const;
  /// True if all conditions hold at the point that `values` is at.
  bool met(const Evaluator& values) const;
  WarpFinding warps(const std::string& lane, int lanes,
                    const std::function<std::int64_t(const std::vector<Int>&)>& cost) const;

  Question question_;
  Exprs exprs_;
  Expr index_;
  std::vector<Expr> conditions_;
  std::vector<std::string> names_;
};

/// The largest number of different words of 4 bytes in one of `banks` banks.
std::int64_t words_in_one_bank(const std::vector<Int>& indices, int bytes, int banks);
/// "x = 3, y = 0"
std::string point_text(const std::map<std::string, Int>& point);

}  // namespace touchstone::symbolic

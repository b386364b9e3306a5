#pragma once

#include <cstddef>
#include <cstdint>

namespace touchstone::shapetracker {

/// Limits of the searches for shorter stacks, inverses and merges for all values. Past a limit the
/// answer is "not decided" or the unchanged stack, never wrong. Points, elements and entries are
/// enumerated.
struct Limits {
  // One view for a stack (merge.h). After boxes come lists, bits and points; past all of them the
  // merge is not decided.
  static constexpr int kBoxes = 2000;                    // of indices
  static constexpr int kLastBoxes = 100'000;             // if no other method applies
  static constexpr std::int64_t kPoints = 1 << 22;       // of the outermost view: half a second
  static constexpr std::int64_t kFewPoints = 1 << 16;    // above: lists and bits first
  static constexpr std::int64_t kRunPoints = 1 << 14;    // of a part of a stack; above: not merged
  static constexpr std::int64_t kSums = 1 << 21;         // in a list for half of the axes
  static constexpr std::int64_t kSumPairs = 1 << 22;     // of two lists, in one range
  static constexpr int kSumBoxes = 20'000;               // instead of lists that are too long
  static constexpr std::int64_t kBits = 100'000'000;     // elements of the inner view
  static constexpr std::int64_t kFewBits = 4'000'000;    // above: lists before bits
  static constexpr std::int64_t kBitWords = 1 << 25;     // of all sets: 256 MiB
  static constexpr std::int64_t kBitWork = 300'000'000;  // words visited: about a second
  static constexpr std::size_t kCarryJumps = 7;          // 3^7 sums; above: the box is split

  // Fewer views for a stack (reduce.h). Past these the stack may keep unnecessary views.
  static constexpr std::size_t kLongestRun = 16;      // except the whole stack
  static constexpr int kHardPairs = 3;                // beyond the box budget, for each stack
  static constexpr std::size_t kLongestTwoViews = 8;  // views that may become two
  static constexpr std::int64_t kLookups = 1 << 19;   // of an index in a view, for each stack
  static constexpr std::size_t kFailedRuns = 512;     // remembered; then all are forgotten
  static constexpr std::size_t kReducedStacks = 256;  // the same

  // Two views for three or more (two_views.h).
  static constexpr int kOriginBoxes = 1000;            // until a valid point is found
  static constexpr std::int64_t kPositions = 4096;     // of a group; above: in windows
  static constexpr std::int64_t kWindow = 256;         // positions
  static constexpr std::int64_t kWindowTurns = 3;      // of a digit; with fewer it is measured
  static constexpr std::int64_t kWindowReads = 2000;   // charged for a group read in windows
  static constexpr std::int64_t kWorth = 7;            // tried as the step of an axis with gaps
  static constexpr std::size_t kDigitSteps = 4;        // candidate steps of the finest digit
  static constexpr std::int64_t kDigitWork = 1 << 18;  // entries of tables
  static constexpr std::int64_t kGapPositions = 64;    // of a table with gaps: all sizes tried
  static constexpr std::int64_t kSamples = 48;         // elements compared first
  static constexpr int kLineBoxes = 4000;              // along a common index; then of all
  static constexpr int kCompareBoxes = 8000;           // then element by element
  static constexpr std::int64_t kCompareElements = 1 << 22;  // above: the two views are rejected

  // One view for all values of variables (symbolic_merge.h): past these "not decided".
  static constexpr std::size_t kVariables = 6;
  static constexpr std::size_t kChoices = 8;     // of ends that are a minimum or maximum
  static constexpr std::int64_t kGridReach = 8;  // values of a variable in a grid
  static constexpr std::size_t kCorners = 32;    // if the signs of slopes depend on variables

  // Inverses (invert.h): past these none is found; the bijection test counts elements.
  static constexpr std::int64_t kInverseElements = 1 << 16;  // of a map read as a table
  static constexpr std::int64_t kCountedElements = 1 << 22;  // above: not reported as a bijection
  static constexpr std::int64_t kFirstElements = 64;         // that refute most candidates
  static constexpr int kCandidates = 64;
  static constexpr int kInverseNodes = 2000;              // orders of the strides of one view
  static constexpr std::int64_t kTableSteps = 2'000'000;  // of the search in a table
  static constexpr std::size_t kOrderedDigits = 4;        // 4! orders; above: only the given one
  static constexpr std::size_t kStages = 40;              // views of a table inverted in steps

  // Questions (check.h, jsonl.h).
  static constexpr std::int64_t kCheckPoints = 1 << 20;  // above: the check is incomplete
  static constexpr std::size_t kQuestionParts = 256;     // views, operations; above: an error
  static constexpr int kQuestionDepth = 6;               // of brackets; valid questions reach 5
  static constexpr std::size_t kExpressionText = 200;    // letters; above: an error
  static constexpr std::size_t kQuotedText = 40;         // letters; above: cut
};

}  // namespace touchstone::shapetracker

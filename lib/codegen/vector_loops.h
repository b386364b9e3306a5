#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "touchstone/uop/linear_kernel.h"

namespace touchstone::codegen {

/// What a step is of in a loop over lanes that becomes vectors.
enum class LaneValue : std::uint8_t {
  Same,    // one value for all lanes, or a statement of one
  Index,   // an index that grows by one from lane to lane
  Twice,   // one that grows by two
  Mask,    // whether bounds of such indices hold, all of some
  Vector,  // an element a lane, or a statement about such
};

/// Loops over lanes that can be written as vectors: innermost ones of a fixed count, whose
/// values are of one type, float32 or float64; which load side by side, or every second element,
/// and store side by side; and compute by
/// +, -, *, /, negation, maxima and fused products, and choose by the mask of a load between it and
/// one other value. Nothing in them is read that another lane writes. What is cut off a load by a
/// mask is at its ends, so that all of a vector is there where the ends are.
struct VectorLoops {
  struct Loop {
    std::int64_t lanes = 0;
    DType type = DType::Float32;
  };
  std::map<int, Loop> loops;       // by step
  std::map<int, LaneValue> steps;  // those inside of them
  /// Accumulators whose lanes are written in such loops only, lane by lane: they need no memory.
  std::set<int> accumulators;
  /// Of these, those that other loops read.
  std::set<int> read_elsewhere;
  /// Of the others, which are in memory, those of few vectors that such a loop reads or writes.
  std::set<int> in_memory;
  /// Masked loads that only such choices read.
  std::set<int> in_choices;
};
VectorLoops vector_loops(const LinearKernel& kernel);

/// An innermost loop over elements of the output that lie side by side, which is taken in chunks
/// where there is reason to.
struct Chunks {
  int loop = -1, store = -1;  // -1: none
  int base = -1;              // the step that is added to the loop's counter; -1: nothing
  /// What is read side by side of buffers that have as many elements as the output.
  struct Stream {
    int buffer = -1, base = -1;  // steps
    bool operator==(const Stream&) const = default;
  };
  std::vector<Stream> streams;
  std::int64_t bytes = 0;  // that a run of the loop writes
  bool functions = false;  // there are some in it
  /// No cache keeps the output (LinearKernel::past_cache): a chunk is written past the caches, so
  /// that none is fetched first.
  bool past = false;
  /// There are sines in it, short where all arguments of the chunk are near 0; else the chunk is
  /// computed again.
  bool near = false;
};
Chunks chunks_of(const LinearKernel& kernel);
/// Whether a step is such a sine.
bool is_short_near_zero(const LinearStep& step, MathLevel math);

/// Widths of the vectors that hold so many lanes, the widest first: powers of two, of at most
/// `kVectorBytes` each.
inline constexpr std::int64_t kVectorBytes = 64;
std::vector<std::int64_t> vector_widths(std::int64_t lanes, DType type);

}  // namespace touchstone::codegen

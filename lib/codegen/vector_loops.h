#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "touchstone/uop/linear_kernel.h"

namespace touchstone::codegen {

/// The role of a step in a loop over lanes that becomes vectors.
enum class LaneValue : std::uint8_t {
  Same,    // one value for all lanes, or a single statement
  Index,   // an index that grows by one per lane
  Twice,   // an index that grows by two per lane
  Mask,    // bounds on such indices, combined by and
  Vector,  // one element per lane, or a statement on such
};

/// Loops over lanes that can be vectorized: innermost, with a fixed count, and values of a single
/// type, float32 or float64. They load adjacent or every second element and store adjacent ones;
/// compute with +, -, *, /, negation, maxima and fused products; and select by a load's mask
/// between it and one other value. No lane reads what another lane writes. Masks cut off only ends
/// of a load, so if both ends of a vector are valid, all of it is.
struct VectorLoops {
  struct Loop {
    std::int64_t lanes = 0;
    DType type = DType::Float32;
  };
  std::map<int, Loop> loops;       // by step
  std::map<int, LaneValue> steps;  // those inside of them
  /// Accumulators whose lanes are written only lane by lane in such loops: they need no memory.
  std::set<int> accumulators;
  /// Those of them that other loops read.
  std::set<int> read_elsewhere;
  /// Other accumulators, in memory, of few vectors, that such a loop reads or writes.
  std::set<int> in_memory;
  /// Masked loads used only by such selects.
  std::set<int> in_choices;
};
VectorLoops vector_loops(const LinearKernel& kernel);

/// An innermost loop over adjacent output elements, split into chunks if useful.
struct Chunks {
  int loop = -1, store = -1;  // -1: none
  int base = -1;              // added to the loop counter; -1: nothing
  /// A contiguous read of a buffer with as many elements as the output.
  struct Stream {
    int buffer = -1, base = -1;  // steps
    bool operator==(const Stream&) const = default;
  };
  std::vector<Stream> streams;
  std::int64_t bytes = 0;  // written by one run of the loop
  bool functions = false;  // the loop calls functions
  /// No cache holds the output (LinearKernel::past_cache): chunks are written with non-temporal
  /// stores, to avoid fetching its lines.
  bool past = false;
  /// The loop has sines, which use a short form if all arguments of the chunk are near 0; otherwise
  /// the chunk is recomputed.
  bool near = false;
};
Chunks chunks_of(const LinearKernel& kernel);
/// True if a step is such a sine.
bool is_short_near_zero(const LinearStep& step, MathLevel math);

inline constexpr std::int64_t kVectorBytes = 64;
/// The vector widths that hold so many lanes, widest first: powers of two of at most
/// `kVectorBytes`.
std::vector<std::int64_t> vector_widths(std::int64_t lanes, DType type);

}  // namespace touchstone::codegen

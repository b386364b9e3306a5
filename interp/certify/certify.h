#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/dtype/dtype.h"

// Checks a unary function of a float type on every input against an independent second path, and
// records the result.

namespace touchstone {

enum class CertifiedOp : std::uint8_t { Exp2, Log2, Sin, Sqrt, Recip };

/// The outcome of one block of inputs, which are given by their bits.
struct BlockRecord {
  std::uint64_t hash = 0;  // of the outputs, little-endian, NaNs as one pattern; 0: not checked yet
  std::vector<std::uint32_t> undecided;  // too near a tie for the second path; MPFR decided
  std::vector<std::uint32_t> disputed;   // the second path disagreed, MPFR confirmed the output
  std::vector<std::uint32_t> wrong;      // MPFR refuted the output
};

/// Records of all blocks, in the order of the input bits.
struct Certificate {
  CertifiedOp op = CertifiedOp::Exp2;
  DType dtype = DType::Float32;
  std::string compiler, libm, version;  // that produced the outputs
  std::vector<BlockRecord> blocks;

  static constexpr std::uint64_t kBlockInputs = 1 << 20;
  /// MPFR checks one in this many inputs whatever the second path says, and every input of types
  /// with at most one block.
  static constexpr std::uint64_t kSampleStride = 1 << 12;

  std::uint64_t inputs() const;        // of the type
  std::uint64_t block_inputs() const;  // of one block
  std::uint64_t mpfr_per_block() const;
  std::size_t done() const;  // number of blocks
  bool complete() const { return done() == blocks.size(); }
  std::uint64_t wrong() const;
  /// Hash of all outputs in order: the content hash of the block hashes. Equal for every correctly
  /// rounding implementation. Empty unless complete.
  std::string outputs() const;
};

/// Parses "exp2 log2 sin sqrt recip", in either case. Throws ParseError.
CertifiedOp parse_certified_op(std::string_view name);
std::string_view name(CertifiedOp op);

/// A certificate without checked blocks; the caller sets `version`. Throws DTypeError for types
/// other than float32, float16, bfloat16.
Certificate empty_certificate(CertifiedOp op, DType dtype, std::string version);

enum class Finding : std::uint8_t { Right, Undecided, Wrong };

/// The second path's finding on one output; all values by their bits.
Finding second_opinion(CertifiedOp op, DType dtype, std::uint32_t input, std::uint32_t output);

/// Checks one block. Reads only its arguments; may run in many threads.
BlockRecord certify_block(CertifiedOp op, DType dtype, std::uint64_t block);

/// Checks the `blocks` that have no record yet in `threads` threads, until an Interrupt is
/// requested or `again` returns false, which the caller's thread calls several times a second.
/// Records are complete or absent.
void certify(Certificate& certificate, std::span<const std::uint64_t> blocks, int threads,
             const std::function<bool(const Certificate&)>& again);

std::string to_json(const Certificate& certificate);
/// Throws ParseError naming the problem.
Certificate certificate_from_json(std::string_view text);
/// Adds the blocks of `other` that are missing. Throws Error if the two differ in op, type,
/// compiler, library, version or a common block.
void merge(Certificate& into, const Certificate& other);

}  // namespace touchstone

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/dtype/dtype.h"

// Every input of a unary function of one float type, its output held against a second path that
// shares nothing with the first, and the record of it.

namespace touchstone {

enum class CertifiedOp : std::uint8_t { Exp2, Log2, Sin, Sqrt, Recip };

/// The outcome of one block of inputs. Inputs are the patterns of their bits.
struct BlockRecord {
  std::uint64_t hash = 0;  // of the outputs, little-endian, NaNs as one pattern; 0: not checked yet
  std::vector<std::uint32_t> undecided;  // too near a tie for the second path: MPFR decided
  std::vector<std::uint32_t> disputed;   // the second path said wrong, MPFR says right
  std::vector<std::uint32_t> wrong;      // MPFR says wrong
};

/// Inputs by the block, blocks in the order of the bits.
struct Certificate {
  CertifiedOp op = CertifiedOp::Exp2;
  DType dtype = DType::Float32;
  std::string compiler, libm, version;  // that made the outputs
  std::vector<BlockRecord> blocks;

  static constexpr std::uint64_t kBlockInputs = 1 << 20;
  /// One input of each so many is checked by MPFR, whatever the second path says; of types with no
  /// more than one block every input is.
  static constexpr std::uint64_t kSampleStride = 1 << 12;

  std::uint64_t inputs() const;        // of the type
  std::uint64_t block_inputs() const;  // of one block
  std::uint64_t mpfr_per_block() const;
  std::size_t done() const;  // blocks
  bool complete() const { return done() == blocks.size(); }
  std::uint64_t wrong() const;
  /// Of all outputs, in order: the content hash of the hashes of the blocks. Any implementation
  /// that rounds correctly has it. Empty unless complete.
  std::string outputs() const;
};

/// "exp2 log2 sin sqrt recip", in either case. Throws ParseError.
CertifiedOp parse_certified_op(std::string_view name);
std::string_view name(CertifiedOp op);

/// With no block checked. `version` is the caller's. Throws DTypeError for types but float32,
/// float16, bfloat16.
Certificate empty_certificate(CertifiedOp op, DType dtype, std::string version);

enum class Finding : std::uint8_t { Right, Undecided, Wrong };

/// The second path's finding on one output, all by their bits.
Finding second_opinion(CertifiedOp op, DType dtype, std::uint32_t input, std::uint32_t output);

/// Checks one block. Reads nothing but its arguments; may run in many threads.
BlockRecord certify_block(CertifiedOp op, DType dtype, std::uint64_t block);

/// Checks those of `blocks` that have no record yet, in `threads` threads, until an Interrupt is
/// asked for or `again` returns false; that is called in the caller's thread, some times a second.
/// Records are whole or absent.
void certify(Certificate& certificate, std::span<const std::uint64_t> blocks, int threads,
             const std::function<bool(const Certificate&)>& again);

std::string to_json(const Certificate& certificate);
/// Throws ParseError naming what is wrong.
Certificate certificate_from_json(std::string_view text);
/// Takes over the blocks of `other` that are missing here. Throws Error where the two are of
/// different ops, types, compilers, libraries or versions, or differ in a block.
void merge(Certificate& into, const Certificate& other);

}  // namespace touchstone

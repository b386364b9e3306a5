#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "touchstone/device/config.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/lazy/lazy_buffer.h"

/// The ways in which the areas lazy and kernelize run a program.
namespace touchstone::fuzz {

/// Devices of the reference's, on which programs run.
inline constexpr const char* kHere = "FUZZ";
inline constexpr const char* kThere = "FUZZ:1";

/// When statements are computed, where, and what may be merged: none of it may change a bit of the
/// result.
struct Mode {
  std::string name;
  bool realize_each = false;     // every statement at once: each in a kernel of its own
  bool as_written = false;       // where the program says realize, contiguous, copy, away, back
  bool contiguous_each = false;  // every statement gets memory of its own, all in one schedule
  bool jit = false;              // noted on other values, replayed on these
  bool symbolic = false;         // sizes are variables
  bool from_host = false;        // inputs are read where they lie on the host, at any strides
  std::string device = kHere;    // the other one is NAME:1
  Config config = Config(Config::kDefaultOpt);
  std::int64_t scheduled_split = 0;  // the threshold of schedules alone; 0: that of config

  std::string other() const { return device + ":1"; }
  Config scheduled() const {
    Config made = config;
    if (scheduled_split != 0) made.reduceop_split_threshold = scheduled_split;
    return made;
  }
};

/// `text` chooses switches; `splits`: sums may be split.
std::vector<Mode> lazy_modes(const std::string& text, bool splits);
/// The same by rewriting, with the switches of that.
std::vector<Mode> kernelize_modes(const std::string& text, bool splits);

/// Sizes that are variables: up to four, each all sizes that equal its value.
class SymbolicSizes {
 public:
  SymbolicSizes() = default;
  /// Each up to two more than it is, so that what is stored is more than what is read.
  SymbolicSizes(const Program& program, const std::string& text);

  bool any() const { return !sizes_.empty(); }
  const symbolic::Values& values() const { return values_; }
  /// Each another one of its range.
  symbolic::Values others() const;
  /// An input as a part of a longer one.
  LazyBufferPtr input(const ProgramStep& s, const std::string& device) const;
  Shape of(const std::vector<std::int64_t>& sizes) const;
  MovementOp of(MovementOp op) const;

 private:
  struct Size {
    std::int64_t value;
    sint n;
  };
  const Size* known(std::int64_t value) const;
  sint of(const sint& size) const;

  std::vector<Size> sizes_;
  symbolic::Values values_;
};

/// The first element in which two results differ; bits of a NaN are all the same.
std::optional<std::string> first_difference(DType dtype, const std::string& right,
                                            const std::string& got);

/// The program's inputs. `turn`: 0 for the values of the program; else they are given out from
/// another one on.
std::vector<LazyBufferPtr> inputs_of(const Program& program, const Mode& mode, std::size_t turn);

/// The values of all statements, not yet computed.
std::vector<LazyBufferPtr> build_all(const Program& program, const Mode& mode,
                                     std::span<const LazyBufferPtr> inputs,
                                     const SymbolicSizes& symbolic = {});
/// The value of the last statement, not yet computed. Nobody holds what is between.
LazyBufferPtr build(const Program& program, const Mode& mode, std::span<const LazyBufferPtr> inputs,
                    const SymbolicSizes& symbolic = {});

}  // namespace touchstone::fuzz

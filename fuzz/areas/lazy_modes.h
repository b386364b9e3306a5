#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "touchstone/device/config.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/lazy/lazy_buffer.h"

// The modes in which the areas lazy and kernelize run a program.
namespace touchstone::fuzz {

/// Reference devices on which programs run.
inline constexpr const char* kHere = "FUZZ";
inline constexpr const char* kThere = "FUZZ:1";

/// When and where statements are computed, and what may be merged. None of it may change a bit of
/// the result.
struct Mode {
  std::string name;
  bool realize_each = false;     // every statement at once, in its own kernel
  bool as_written = false;       // where the program says realize, contiguous, copy, away, back
  bool contiguous_each = false;  // every statement in its own memory, in one schedule
  bool jit = false;              // captured on other values, replayed on these
  bool symbolic = false;         // sizes are variables
  bool from_host = false;        // inputs are read in host memory, at any strides
  std::string device = kHere;    // the other one is NAME:1
  Config config = Config(Config::kDefaultOpt);
  std::int64_t scheduled_split = 0;  // the split threshold of schedules; 0: that of config

  std::string other() const { return device + ":1"; }
  Config scheduled() const {
    Config made = config;
    if (scheduled_split != 0) made.reduceop_split_threshold = scheduled_split;
    return made;
  }
};

/// `text` chooses switches; `splits`: sums may be split.
std::vector<Mode> lazy_modes(const std::string& text, bool splits);
/// The same for scheduling by rewriting, with its switches.
std::vector<Mode> kernelize_modes(const std::string& text, bool splits);

/// Variable sizes: up to four variables, each standing for all sizes that equal its value.
class SymbolicSizes {
 public:
  SymbolicSizes() = default;
  /// Each variable ranges up to two above its value, so that buffers are larger than the part read.
  SymbolicSizes(const TensorProgram& program, const std::string& text);

  bool any() const { return !sizes_.empty(); }
  const symbolic::Values& values() const { return values_; }
  /// Different values within the ranges.
  symbolic::Values others() const;
  /// An input as part of a larger one.
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

/// The first element in which two results differ; all NaNs are equal. `whose`: the right one.
std::optional<std::string> first_difference(DType dtype, const std::string& right,
                                            const std::string& got,
                                            std::string_view whose = "by definition");

/// An input's values in a buffer of a device.
LazyBufferPtr stored_input(const ProgramStep& input, const std::string& device);

/// The program's inputs. `turn`: 0 for the program's own values, else they are rotated by that
/// many.
std::vector<LazyBufferPtr> inputs_of(const TensorProgram& program, const Mode& mode,
                                     std::size_t turn);

/// The values of all statements, unrealized.
std::vector<LazyBufferPtr> build_all(const TensorProgram& program, const Mode& mode,
                                     std::span<const LazyBufferPtr> inputs,
                                     const SymbolicSizes& symbolic = {});
/// The value of the last statement, unrealized; intermediate values are not kept alive.
LazyBufferPtr build(const TensorProgram& program, const Mode& mode,
                    std::span<const LazyBufferPtr> inputs, const SymbolicSizes& symbolic = {});

}  // namespace touchstone::fuzz

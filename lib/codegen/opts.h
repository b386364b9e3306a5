#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace touchstone {

/// Loop layout options. Only Sums changes results: it sets the order of float sums, which the
/// kernel declares (profile_json).
enum class OptKind : std::uint8_t {
  Reorder,
  Lanes,
  Block,
  Stage,
  Pack,
  Tile,
  Sums,
  Unroll,
  Parallel,
  Prefetch,
  Peel
};
inline constexpr std::size_t kOptKinds = static_cast<std::size_t>(OptKind::Peel) + 1;

/// A kind, its textual name and arguments, and its effect.
struct OptInfo {
  OptKind kind;
  std::string_view name;
  std::string_view arguments;  // "...": one per output axis
  std::string_view effect;
};

/// All kinds in the order in which they are applied.
std::span<const OptInfo> opt_table();
const OptInfo& info(OptKind kind);

/// One decision. Axes are numbered as in `axes_of_opts` (layout.h).
struct Opt {
  OptKind kind = OptKind::Lanes;
  std::vector<std::int64_t> args;
  bool operator==(const Opt&) const = default;
};

/// A list of opts; each kind at most once, in any order.
using Opts = std::vector<Opt>;

/// Formats as `lanes(16) block(0,8) stage(24576)`; `none` if empty.
std::string str(const Opts& opts);
/// Parses what str() writes. Throws ParseError naming the opt and the fault, with the nearest name
/// if it is unknown.
Opts parse_opts(std::string_view text);

/// The opt of a kind in a list, nullptr if absent.
const Opt* find(const Opts& opts, OptKind kind);

}  // namespace touchstone

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace touchstone {

/// Ways in which the loops of a kernel are laid out. None changes a result but Sums, which is the
/// order of float sums that the kernel declares (profile_json).
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

/// A kind, its name and arguments in text, and what it does.
struct OptInfo {
  OptKind kind;
  std::string_view name;
  std::string_view arguments;  // "..." as many as the output has axes
  std::string_view effect;
};

/// All kinds, in the order in which a list of opts is applied.
std::span<const OptInfo> opt_table();
const OptInfo& info(OptKind kind);

/// One decision. Axes are numbered as those of `axes_of_opts` (layout.h).
struct Opt {
  OptKind kind = OptKind::Lanes;
  std::vector<std::int64_t> args;
  bool operator==(const Opt&) const = default;
};

/// A list of them; each kind at most once, their order does not matter.
using Opts = std::vector<Opt>;

/// As `lanes(16) block(0,8) stage(24576)`; `none` where there are none.
std::string str(const Opts& opts);
/// Reads what str() writes. Throws ParseError naming the opt, what is wrong with it, and the
/// nearest name where it is unknown.
Opts parse_opts(std::string_view text);

/// The opt of a kind in a list, nullptr where it has none.
const Opt* find(const Opts& opts, OptKind kind);

}  // namespace touchstone

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "touchstone/base/rows.h"
namespace touchstone {

/// Optimisations of the lazy stack. A switch changes only the number and speed of kernels, never
/// the results.
enum class Switch : std::uint8_t {
  MergeViews,
  RemoveMovementNops,
  MergeElementwiseIntoReduce,
  ShuffleMovementOps,
  MergeElementwiseOps,
  MergeOneReduceIntoElementwise,
  MergeChainBehindReduce,
  ShufflePadOps,
  SimplifySumReshapeExpandSum,
  RecomputeBeforeExpand,
  PushPermutes,
  PushContiguous,
  PushReshapes
};
inline constexpr int kSwitchCount = 13;

struct OptionInfo;

struct SwitchInfo {
  Switch id;
  std::string_view name;  // also its environment variable, after TOUCHSTONE_
  int level;              // on from this OPT level up
  std::string_view meaning;
};

// clang-format off
inline constexpr std::array<SwitchInfo, kSwitchCount> switch_table = {{
    {Switch::MergeViews, "MERGE_VIEWS", 0,
     "views of views are replaced by fewer equivalent ones"},
    {Switch::RemoveMovementNops, "REMOVE_MOVEMENT_NOPS", 1,
     "a movement that moves nothing makes no view, and contiguous() of it no copy"},
    {Switch::MergeElementwiseIntoReduce, "MERGE_ELEMENTWISE_INTO_REDUCE", 1,
     "a reduce computes its elementwise operands"},
    {Switch::ShuffleMovementOps, "SHUFFLE_MOVEMENT_OPS", 1,
     "movement passes through elementwise work to the loads"},
    {Switch::MergeElementwiseOps, "MERGE_ELEMENTWISE_OPS", 1,
     "consecutive elementwise ops are one kernel"},
    {Switch::MergeOneReduceIntoElementwise, "MERGE_ONE_REDUCE_INTO_ELEMENTWISE", 2,
     "elementwise work that depends on one reduce runs in its kernel"},
    {Switch::MergeChainBehindReduce, "MERGE_CHAIN_BEHIND_REDUCE", 2,
     "if that work branches, the reduce still runs the ops before the branch"},
    {Switch::ShufflePadOps, "SHUFFLE_PAD_OPS", 2,
     "padding also passes through ops, as where(valid, x, 0) if they change zeros"},
    {Switch::SimplifySumReshapeExpandSum, "SIMPLIFY_SUM_RESHAPE_EXPAND_SUM", 2,
     "a reduce over equal copies is a product, or the copy itself"},
    {Switch::RecomputeBeforeExpand, "RECOMPUTE_BEFORE_EXPAND", 2,
     "a few cheap ops on one buffer are recomputed for every copy, not stored"},
    {Switch::PushPermutes, "PUSH_PERMUTES", 3,
     "a reduce is computed in the order in which it is read"},
    {Switch::PushContiguous, "PUSH_CONTIGUOUS", 3,
     "contiguous() moves to the only elementwise op that reads it"},
    {Switch::PushReshapes, "PUSH_RESHAPES", 4,
     "a reduce is computed in the shape in which it is read"},
}};
// clang-format on

static_assert(rows_follow_enum(switch_table, &SwitchInfo::id, Switch::PushReshapes),
              "switch_table needs one row per Switch, in the order of Switch");

/// How a tensor graph becomes kernels. All schedulers give the same bits if each op rounds to its
/// own type and sums are exact or in source order, as on the reference device.
enum class Scheduler : std::uint8_t {
  Lazy,       // grouping by the switches (lib/kernelize/grouping.h)
  Kernelize,  // rewriting of a graph of UOps (lib/kernelize)
  Ranges,     // Kernelize, fusing reduces where that saves more work than it costs
  Check       // all of them, comparing results bit for bit
};
inline constexpr std::array<std::string_view, 4> scheduler_names = {"lazy", "kernelize", "ranges",
                                                                    "check"};

/// Options of the rewriting scheduler.
struct KernelizeOptions {
  bool fuse_arange = false;          // fuse reduces that only count into their users
  bool fuse_conv_bw = false;         // compute a reduce of a viewed reduce in one kernel
  bool split_reduceop = true;        // split large reduces in two if no bit changes
  bool dont_realize_expand = false;  // do not realize a value because it is expanded
  bool dont_group_reduces = false;   // do not look for ops to fuse after a reduce
  int reduceop_split_size = 22;      // log2 of the most elements between the two, 1..40
  int ring = 1;  // ring allreduce: 0 never, 1 for many elements on 3 or more devices, 2 always
  std::int64_t ring_allreduce_threshold = 256'000;  // most elements without a ring
  int max_kernel_buffers = 0;  // most buffers per kernel, at least 3; 0: no limit
  bool operator==(const KernelizeOptions&) const = default;
};

/// All options of the lazy stack.
struct Config {
  static constexpr int kDefaultOpt = 2;
  static constexpr int kMostOpt = 4;

  /// Sets exactly the switches up to level `opt`, 0..4. Throws Error.
  explicit Config(int opt = kDefaultOpt);
  /// The defaults, overridden by environment variables, all prefixed with TOUCHSTONE_: OPT, the
  /// switches (0 or 1), the names in option_table, SCHEDULER (lazy, kernelize, ranges, check;
  /// default ranges, but lazy if OPT or a switch is set, since those concern fusion), GRAPH and
  /// TRACE (a file). With TOUCHSTONE_LINEAGE_ENV=1, names without the prefix are read if the
  /// prefixed one is unset. Throws ParseError naming the variable and its allowed values.
  static Config from_environment();
  /// True if an environment variable sets the option.
  static bool is_set(std::string_view option);
  /// The configuration of this thread: the innermost ConfigScope's, otherwise from_environment() as
  /// of its first use in the program.
  static const Config& current();

  bool on(Switch s) const { return (switches >> static_cast<unsigned>(s) & 1U) != 0; }
  Config& set(Switch s, bool to);
  /// Throws ParseError for a value outside the option's range.
  Config& set(const OptionInfo& option, std::int64_t value);

  bool operator==(const Config&) const = default;

  int opt = kDefaultOpt;       // the level that set the switches
  std::uint32_t switches = 0;  // bit i: switch_table[i]
  bool lazy = true;            // false: run each op as it is built
  bool lazycache = true;       // reuse the LazyBuffer of an equal op on the same sources
  bool memory_planner = true;  // reuse memory of buffers that die within a schedule
  bool lru = true;             // allocators keep freed memory for buffers of the same size
  bool jit = true;             // TinyJit captures and replays
  /// Terms per result from which a reduce is split in two, at least 1.
  std::int64_t reduceop_split_threshold = 32768;
  Scheduler scheduler = Scheduler::Lazy;
  KernelizeOptions kernelize;
  int debug = 0;  // 1 schedules, 2 a line per kernel, 3 ASTs, 4 code, 5 addresses, 6 memory plans
  std::string graph;  // file for a Graphviz graph of everything scheduled
  std::string trace;  // file for a trace of all runs in Chrome's format
};

/// A numeric option; 0 or 1 for bool members.
struct OptionInfo {
  using Member =
      std::variant<bool Config::*, int Config::*, std::int64_t Config::*, bool KernelizeOptions::*,
                   int KernelizeOptions::*, std::int64_t KernelizeOptions::*>;
  std::string_view name;  // also its environment variable, after TOUCHSTONE_
  std::int64_t least, most;
  bool or_zero;   // 0 is allowed even if below `least`
  bool rewrites;  // used by the rewriting scheduler
  Member member;
};

// clang-format off
inline constexpr std::array<OptionInfo, 16> option_table = {{
    // name                       least most       or 0   rewrites
    {"LAZY",                      0,    1,         false, false, &Config::lazy},
    {"LAZYCACHE",                 0,    1,         false, false, &Config::lazycache},
    {"MEMORY_PLANNER",            0,    1,         false, false, &Config::memory_planner},
    {"LRU",                       0,    1,         false, false, &Config::lru},
    {"JIT",                       0,    1,         false, false, &Config::jit},
    {"DEBUG",                     0,    6,         false, false, &Config::debug},
    {"REDUCEOP_SPLIT_THRESHOLD",  1,    INT64_MAX, false, true,  &Config::reduceop_split_threshold},
    {"FUSE_ARANGE",               0,    1,         false, true,  &KernelizeOptions::fuse_arange},
    {"FUSE_CONV_BW",              0,    1,         false, true,  &KernelizeOptions::fuse_conv_bw},
    {"SPLIT_REDUCEOP",            0,    1,         false, true,  &KernelizeOptions::split_reduceop},
    {"DONT_REALIZE_EXPAND",       0,    1,         false, true,  &KernelizeOptions::dont_realize_expand},
    {"DONT_GROUP_REDUCES",        0,    1,         false, true,  &KernelizeOptions::dont_group_reduces},
    {"REDUCEOP_SPLIT_SIZE",       1,    40,        false, true,  &KernelizeOptions::reduceop_split_size},
    {"RING",                      0,    2,         false, true,  &KernelizeOptions::ring},
    {"RING_ALLREDUCE_THRESHOLD",  0,    INT64_MAX, false, true,  &KernelizeOptions::ring_allreduce_threshold},
    {"MAX_KERNEL_BUFFERS",        3,    1 << 20,   true,  true,  &KernelizeOptions::max_kernel_buffers},
}};
// clang-format on

/// Sets this thread's Config::current() for its lifetime. Scopes nest.
class ConfigScope {
 public:
  explicit ConfigScope(Config config);
  ~ConfigScope();
  ConfigScope(const ConfigScope&) = delete;
  ConfigScope& operator=(const ConfigScope&) = delete;

 private:
  Config config_;
  const Config* previous_;
};

/// Looks up a name such as "lazy"; throws ParseError that lists the names.
Scheduler scheduler_named(std::string_view name);
/// Looks up a name; nullopt if unknown.
std::optional<Switch> switch_named(std::string_view name);
/// Looks up a name; null if unknown.
const OptionInfo* option_named(std::string_view name);

}  // namespace touchstone

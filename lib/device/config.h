#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace touchstone {

/// Switches of the lazy stack for fewer or cheaper kernels. Results never depend on a switch,
/// only which kernels there are and how fast they run.
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
  std::string_view name;  // also of its environment variable, behind TOUCHSTONE_
  int level;              // on at this OPT and above
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

constexpr bool switch_rows_follow_enum() {
  for (std::size_t i = 0; i < switch_table.size(); ++i)
    if (switch_table[i].id != static_cast<Switch>(i)) return false;
  return static_cast<int>(Switch::PushReshapes) + 1 == kSwitchCount;
}
static_assert(switch_rows_follow_enum(),
              "switch_table needs one row per Switch, in the order of Switch");

/// Which way leads from a graph of tensors to kernels. All give the same bits where each op rounds
/// to its own type and sums are exact or in the order of their terms, as on the reference.
enum class Scheduler : std::uint8_t {
  Lazy,       // fusion of LazyBuffers (lib/lazy/fusion.h)
  Kernelize,  // rewriting of a graph of UOps (lib/kernelize)
  Ranges,     // the same, with kernels of as many reduces as cost no more work than they save
  Check       // every one of them; what they compute is compared bit for bit
};
inline constexpr std::array<std::string_view, 4> scheduler_names = {"lazy", "kernelize", "ranges",
                                                                    "check"};

/// Options of the scheduler that rewrites.
struct KernelizeOptions {
  bool fuse_arange = false;    // reduces that only count go into what reads them
  bool fuse_conv_bw = false;   // a reduce of a reduce through a view is computed in one kernel
  bool split_reduceop = true;  // large reduces are two, where no bit can change
  bool dont_realize_expand = false;  // being expanded is no reason for memory
  bool dont_group_reduces = false;   // reduces do not look for what may follow them in their kernel
  int reduceop_split_size = 22;      // bits: elements between the two at most, 1..40
  int ring = 1;  // allreduce as a ring: 0 never, 1 of many elements on 3 devices or more, 2 always
  std::int64_t ring_allreduce_threshold = 256'000;  // elements that are no ring yet
  int max_kernel_buffers = 0;  // buffers that a kernel may have, at least 3; 0: any number
  bool operator==(const KernelizeOptions&) const = default;
};

/// The options of the lazy stack, as one value.
struct Config {
  static constexpr int kDefaultOpt = 2;
  static constexpr int kMostOpt = 4;

  /// Exactly the switches up to level `opt`, 0..4. Throws Error.
  explicit Config(int opt = kDefaultOpt);
  /// The defaults, with what environment variables say: TOUCHSTONE_ and OPT, the name of a switch
  /// (0 or 1) or of option_table, SCHEDULER (lazy, kernelize, ranges, check; by default ranges, but
  /// lazy where OPT or a switch is set, which are of fusion), GRAPH or TRACE (a file).
  /// Where TOUCHSTONE_LINEAGE_ENV is 1 the names without TOUCHSTONE_ are read, too, where those
  /// with it are not set. Throws ParseError that names the variable and what it takes.
  static Config from_environment();
  /// Whether a variable of the environment sets the option.
  static bool is_set(std::string_view option);
  /// Of this thread: what the innermost ConfigScope says, or from_environment() as the program
  /// first asked for it.
  static const Config& current();

  bool on(Switch s) const { return (switches >> static_cast<unsigned>(s) & 1U) != 0; }
  Config& set(Switch s, bool to);
  /// Throws ParseError for a value that the option does not take.
  Config& set(const OptionInfo& option, std::int64_t value);

  bool operator==(const Config&) const = default;

  int opt = kDefaultOpt;       // where the switches began
  std::uint32_t switches = 0;  // bit i: switch_table[i]
  bool lazy = true;            // false: every op runs as it is built
  bool lazycache = true;       // the same op on the same sources is the same LazyBuffer
  bool memory_planner = true;  // buffers that die in a schedule are used again in it
  bool lru = true;             // allocators keep freed memory for the next buffer of its size
  bool jit = true;             // TinyJit captures and replays
  /// Terms for one result from which a reduce is split in two, at least 1.
  std::int64_t reduceop_split_threshold = 32768;
  Scheduler scheduler = Scheduler::Lazy;
  KernelizeOptions kernelize;
  int debug = 0;  // 1 schedules, 2 a line a kernel, 3 ASTs, 4 code, 5 addresses, 6 plans of memory
  std::string graph;  // Graphviz of all that is scheduled goes to this file
  std::string trace;  // the times of all runs go to this file, in Chrome's format
};

/// An option that is a number, for bool members 0 or 1.
struct OptionInfo {
  using Member =
      std::variant<bool Config::*, int Config::*, std::int64_t Config::*, bool KernelizeOptions::*,
                   int KernelizeOptions::*, std::int64_t KernelizeOptions::*>;
  std::string_view name;  // also of its environment variable, behind TOUCHSTONE_
  std::int64_t least, most;
  bool or_zero;   // 0 is taken below `least`, too
  bool rewrites;  // the scheduler that rewrites asks for it
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

/// While it lives, Config::current() of this thread is `config`. Scopes nest.
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

/// By name, "lazy"; throws ParseError that lists them.
Scheduler scheduler_named(std::string_view name);
/// By name; nullopt where there is none.
std::optional<Switch> switch_named(std::string_view name);
/// By name; null where there is none.
const OptionInfo* option_named(std::string_view name);

}  // namespace touchstone

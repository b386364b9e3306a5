#include "touchstone/cuda/grid.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <charconv>
#include <ranges>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "touchstone/base/error.h"
#include "touchstone/codegen/bounds_proof.h"
#include "touchstone/cuda/team.h"
#include "touchstone/uop/step_reader.h"

namespace touchstone::cuda {

namespace {

constexpr int kMostThreads = 1024;  // per block, on every device

constexpr std::int64_t kMostDirect = (std::int64_t{1} << 31) - kMostThreads;
constexpr int kMostTogether = 1024;  // blocks that share a row
constexpr std::int64_t kTurnBlocks = 4096;
constexpr std::int64_t kCheckingBlocks = 16;

// The loops around the store that can be merged: their steps, outermost first.
std::vector<int> loops_of_grid(const LinearKernel& kernel) {
  std::vector<int> open;
  for (int i = 0; i < static_cast<int>(kernel.steps.size()); ++i) {
    const LinearStep& step = kernel.steps[static_cast<std::size_t>(i)];
    if (step.kind == StepKind::Loop) open.push_back(i);
    if (step.kind == StepKind::EndLoop) open.pop_back();
    if (step.kind == StepKind::Store) break;
  }
  const auto first_sum = std::ranges::find(kernel.steps, StepKind::DefineAcc, &LinearStep::kind);
  std::erase_if(open, [&](int loop) { return loop > first_sum - kernel.steps.begin(); });
  // Steps after the end of a loop must stay after all of its iterations.
  const auto ends = [&](int loop) {
    return std::ranges::find_if(kernel.steps,
                                [&](const LinearStep& s) {
                                  return s.kind == StepKind::EndLoop && s.src[0] == loop;
                                }) -
           kernel.steps.begin();
  };
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto end = ends(open[i]);
    if (end + static_cast<std::ptrdiff_t>(i) + 1 != std::ssize(kernel.steps)) {
      open.resize(i);
      break;
    }
  }
  return open;
}

class Mapper : StepWriter {
 public:
  /// Merges at most that many loops.
  Mapper(const LinearKernel& kernel, const GridOpts& opts, std::size_t most)
      : StepWriter(kernel), opts_(opts), most_(most) {}

  GridKernel run() {
    GridKernel grid;
    grid.opts = opts_;
    grid.linear = kernel_;
    std::vector<int> loops = loops_of_grid(kernel_);
    loops.resize(std::min(loops.size(), most_));
    int i = 0;
    const int first = loops.empty() ? static_cast<int>(kernel_.steps.size()) : loops[0];
    for (; i < first; ++i) copy_once(i);
    int split = -1;
    if (!loops.empty()) {
      split = open(loops);
      grid.iterations = iterations_;
      const std::size_t last = kernel_.steps.size() - loops.size();
      for (; i < static_cast<int>(last); ++i)
        if (std::ranges::find(loops, i) == loops.end()) copy_once(i);
      if (vector_ != -1) add({StepKind::EndLoop, DType::Int64, {vector_}, {}});
      add({StepKind::EndLoop, DType::Int64, {split}, {}});
    } else {
      grid.iterations = 1;
    }
    grid.linear.steps = std::move(made_);
    grid.linear.split = split;
    return grid;
  }

 private:
  int& place(int i) { return now_[at(i)]; }

  // A size may be copied already.
  void copy_once(int i) {
    if (place(i) == -1) copy(i);
  }

  // Sizes consist of constants and variables only.
  void copy_size(int i) {
    if (place(i) != -1) return;
    for (const int s : uop(i).src) copy_size(s);
    copy(i);
  }

  // A digit of a counter: the number of its values, the step with that number, and its position in
  // the loop's number.
  struct Digit {
    int size;
    std::optional<std::int64_t> known;
  };

  int open(const std::vector<int>& loops) {
    std::vector<Digit> sizes;
    for (const int loop : loops) {
      copy_size(uop(loop).src[1]);
      sizes.push_back({place(uop(loop).src[1]), number(uop(loop).src[1])});
    }
    // Digits of an iteration's number, most significant first.
    std::vector<Digit> digits = sizes;
    if (opts_.vector > 1) split_last(digits);
    const bool patched = opts_.patch != 0;
    if (patched) split_patch(digits);
    int total = digits[0].size;
    iterations_ = digits[0].known;
    for (std::size_t i = 1; i < digits.size(); ++i) {
      total = index(IndexOp::Mul, total, digits[i].size);
      std::int64_t product = 0;
      if (!iterations_ || !digits[i].known ||
          __builtin_mul_overflow(*iterations_, *digits[i].known, &product))
        iterations_ = std::nullopt;
      else
        iterations_ = product;
    }
    if (iterations_) total = constant(*iterations_);
    std::string name = "g";
    while (std::ranges::any_of(kernel_.steps, [&](const LinearStep& s) {
      const auto* const used = std::get_if<std::string>(&s.arg);
      return used != nullptr && *used == name;
    }))
      name += '_';
    std::vector<int> units(digits.size(), -1);  // steps; -1: 1
    for (std::size_t i = digits.size() - 1; i-- > 0;) {
      const Digit& inner = digits[i + 1];
      if (units[i + 1] == -1)
        units[i] = inner.size;
      else if (const auto unit = value_of(units[i + 1]); unit && inner.known)
        units[i] = constant(*unit * *inner.known);
      else
        units[i] = index(IndexOp::Mul, units[i + 1], inner.size);
    }
    const int zero = constant(0);
    const int split = add({StepKind::Loop, DType::Int64, {zero, total}, name});
    std::vector<int> counters;
    for (std::size_t i = 0; i < digits.size(); ++i) {
      int counter = units[i] == -1 ? split : index(IndexOp::Div, split, units[i]);
      if (i > 0) counter = index(IndexOp::Mod, counter, digits[i].size);
      counters.push_back(counter);
    }
    if (patched) join_patch(counters);
    if (opts_.vector > 1) counters.back() = open_vector(counters.back(), name);
    for (std::size_t i = 0; i < loops.size(); ++i) place(loops[i]) = counters[i];
    return split;
  }

  std::optional<std::int64_t> value_of(int made) const { return constant_of(made_[at(made)]); }

  void split_last(std::vector<Digit>& digits) {
    const auto size = digits.back().known;
    if (!size || *size % opts_.vector != 0)
      throw AstError(
          fmt::format("vector({}): must divide the size of the last loop over the output, {}",
                      opts_.vector, size ? fmt::to_string(*size) : "a variable"));
    digits.back() = {constant(*size / opts_.vector), *size / opts_.vector};
  }

  int open_vector(int outer, const std::string& name) {
    const int width = constant(opts_.vector), zero = constant(0);
    vector_ = add({StepKind::Loop, DType::Int64, {zero, width, width}, name + "v"});
    return index(IndexOp::Add, index(IndexOp::Mul, outer, width), vector_);
  }

  // Splits the last two digits a, b into a / rows, b / columns, a % rows, b % columns.
  void split_patch(std::vector<Digit>& digits) {
    const std::int64_t columns = opts_.patch, rows = opts_.threads / opts_.patch;
    const std::size_t n = digits.size();
    if (n < 2 || !digits[n - 1].known || !digits[n - 2].known ||
        *digits[n - 1].known % columns != 0 || *digits[n - 2].known % rows != 0)
      throw AstError(
          fmt::format("patch({}): the last two loops over the output must have multiples of {} and "
                      "{} iterations",
                      opts_.patch, rows, columns));
    const std::int64_t a = *digits[n - 2].known / rows, b = *digits[n - 1].known / columns;
    digits.resize(n - 2);
    for (const std::int64_t size : {a, b, rows, columns}) digits.push_back({constant(size), size});
  }

  void join_patch(std::vector<int>& counters) {
    const std::int64_t columns = opts_.patch, rows = opts_.threads / opts_.patch;
    const std::size_t n = counters.size();
    const auto join = [&](int outer, std::int64_t size, int inner) {
      return index(IndexOp::Add, index(IndexOp::Mul, outer, constant(size)), inner);
    };
    const int a = join(counters[n - 4], rows, counters[n - 2]);
    const int b = join(counters[n - 3], columns, counters[n - 1]);
    counters.resize(n - 4);
    counters.insert(counters.end(), {a, b});
  }

  GridOpts opts_;
  std::size_t most_;
  std::optional<std::int64_t> iterations_;
  int vector_ = -1;
};

// The opts of a grid by name; the first is always written.
struct GridOpt {
  std::string_view name;
  std::variant<int GridOpts::*, bool GridOpts::*> member;
};
constexpr std::array<GridOpt, 8> kGridOpts = {{{"threads", &GridOpts::threads},
                                               {"team", &GridOpts::team},
                                               {"vector", &GridOpts::vector},
                                               {"patch", &GridOpts::patch},
                                               {"columns", &GridOpts::columns},
                                               {"blocks", &GridOpts::blocks},
                                               {"run", &GridOpts::run},
                                               {"warp", &GridOpts::warp}}};

int value_of(const GridOpts& opts, const GridOpt& row) {
  return std::visit([&](auto member) { return static_cast<int>(opts.*member); }, row.member);
}

void check(const GridOpts& opts) {
  const auto refuse = [](std::string_view what, int value, std::string_view why) {
    throw AstError(fmt::format("{}({}): {}", what, value, why));
  };
  if (opts.threads < 1 || opts.threads > kMostThreads)
    refuse("threads", opts.threads, "must be from 1 to 1024, the threads of a block");
  if (opts.vector < 1 || opts.vector > 16 || !std::has_single_bit(unsigned(opts.vector)))
    refuse("vector", opts.vector, "must be 1, 2, 4, 8 or 16");
  if (opts.patch < 0 || (opts.patch != 0 && opts.threads % opts.patch != 0))
    refuse("patch", opts.patch, "must divide the number of threads");
  if (opts.columns < 1 || opts.threads % opts.columns != 0)
    refuse("columns", opts.columns, "must divide the number of threads");
  if (opts.blocks < 0 || opts.blocks > kMostTogether)
    refuse("blocks", opts.blocks, "must be from 0 to 1024");
  if (!opts.team && (opts.columns != 1 || opts.blocks != 0))
    refuse(opts.blocks != 0 ? "blocks" : "columns", opts.blocks != 0 ? opts.blocks : opts.columns,
           "needs team(1)");
  if (opts.columns != 1 && opts.blocks != 0)
    refuse("columns", opts.columns, "excludes blocks(...)");
  if (opts.run < 0 || (opts.run != 0 && (opts.blocks == 0 || opts.threads % opts.run != 0)))
    refuse("run", opts.run, "needs blocks(...), and must divide the number of threads");
  if (opts.warp < 1 || opts.warp > 32 || !std::has_single_bit(unsigned(opts.warp)))
    refuse("warp", opts.warp, "must be a power of 2 up to 32");
  if (opts.team && (opts.vector > 1 || opts.patch != 0))
    refuse("team", 1, "excludes vector(...) and patch(...)");
}

}  // namespace

bool GridKernel::waits() const {
  return std::ranges::any_of(meeting, [](Meeting m) { return m != Meeting::None; });
}

bool is_direct(const GridKernel& grid) {
  return grid.iterations && *grid.iterations < kMostDirect && !grid.linear.checks();
}

std::int64_t blocks_of(const GridKernel& grid) {
  if (grid.opts.blocks != 0) return grid.opts.blocks;
  if (grid.linear.split == -1) return 1;
  const std::int64_t most = grid.linear.checks() ? kCheckingBlocks
                            : is_direct(grid)    ? kMostDirect
                                                 : kTurnBlocks;
  if (!grid.iterations) return most;
  const std::int64_t each = grid.opts.team ? grid.opts.columns : grid.opts.threads;
  return std::clamp((*grid.iterations + each - 1) / each, std::int64_t{1}, most);
}

std::int64_t scratch_bytes(const GridKernel& grid) {
  if (grid.opts.blocks == 0) return 0;
  std::int64_t bytes = 8 * kScratchHead;
  for (std::size_t i = 0; i < grid.linear.steps.size(); ++i)
    if (const LinearStep& s = grid.linear.steps[i]; s.kind == StepKind::DefineAcc && grid.shared[i])
      bytes += std::int64_t{8} * std::get<int>(s.arg);  // each array is aligned to 8
  return bytes;
}

std::string str(const GridOpts& opts) {
  std::string text;
  for (const GridOpt& row : kGridOpts)
    if (const int value = value_of(opts, row); text.empty() || value != value_of({}, row))
      text += fmt::format("{}{}({})", text.empty() ? "" : " ", row.name, value);
  return text;
}

GridOpts parse_grid_opts(std::string_view text) {
  GridOpts opts;
  const auto skip = [&] {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0)
      text.remove_prefix(1);
  };
  for (skip(); !text.empty(); skip()) {
    const std::size_t open = text.find('('), close = text.find(')');
    const std::string_view name = text.substr(0, open);
    int value = 0;
    const bool whole =
        open != std::string_view::npos && close != std::string_view::npos && open < close;
    const std::string_view digits = whole ? text.substr(open + 1, close - open - 1) : "";
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (!whole || error != std::errc() || end != digits.data() + digits.size())
      throw ParseError(fmt::format(
          "'{}': an opt of a grid must be a name and a number, as in threads(256)", text));
    const auto row = std::ranges::find(kGridOpts, name, &GridOpt::name);
    if (row == kGridOpts.end())
      throw ParseError(
          fmt::format("there is no opt '{}' of a grid; known: {}", name,
                      fmt::join(kGridOpts | std::views::transform(&GridOpt::name), ", ")));
    if (const auto* const number = std::get_if<int GridOpts::*>(&row->member))
      opts.*(*number) = value;
    else
      opts.team = value != 0;
    text.remove_prefix(close + 1);
  }
  return opts;
}

GridKernel map_to_grid(const LinearKernel& kernel, const GridOpts& opts,
                       std::span<const symbolic::Node> variables, std::size_t most) {
  check(opts);
  GridKernel grid = Mapper(kernel, opts, most).run();
  verify(grid.linear);
  grid.linear = guarded(std::move(grid.linear), variables);
  share_in_teams(grid);
  return grid;
}

}  // namespace touchstone::cuda

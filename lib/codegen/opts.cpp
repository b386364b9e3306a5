#include "touchstone/codegen/opts.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "touchstone/base/error.h"
#include "touchstone/base/rows.h"
#include "touchstone/base/suggest.h"

namespace touchstone {

namespace {

// clang-format off
constexpr std::array<OptInfo, kOptKinds> kOpts = {{
    {OptKind::Reorder,  "reorder",  "axis,...",
     "order of the loops over the output's axes"},
    {OptKind::Lanes,    "lanes",    "count",
     "compute this many neighbours along the last axis side by side, each with its own "
     "accumulator"},
    {OptKind::Block,    "block",    "axis,rows",
     "run this many rows along the axis together, so that they share the loads of their lanes or "
     "sums"},
    {OptKind::Stage,    "stage",    "bytes",
     "compute the values that lanes or rows share in advance, into arrays of this many bytes in "
     "all"},
    {OptKind::Pack,     "pack",     "axis,bytes",
     "run the axes from this one on inside the tiles of lanes, where they share the copies of a "
     "tile"},
    {OptKind::Tile,     "tile",     "row axis,column axis,rows,columns",
     "write the output tile by tile, and first copy the loads that cross its order"},
    {OptKind::Sums,     "sums",     "count",
     "run each reduce as this many sums side by side (maxima and integers of 256 terms as at "
     "least 64), folded at its end; sums(count,1): also if its terms are not adjacent in memory"},
    {OptKind::Unroll,   "unroll",   "count",
     "the innermost loop of a reduce takes this many terms per iteration; with lanes but without "
     "stage(...), loops of at most this many terms in all are unrolled"},
    {OptKind::Parallel, "parallel", "loop",
     "threads share the iterations of this loop over the output, counted from outside"},
    {OptKind::Prefetch, "prefetch", "count",
     "prefetch the reads of a tile this many tiles ahead along its columns, and those of a round "
     "of running sums this many rounds ahead"},
    {OptKind::Peel,     "peel",     "first,last",
     "the loop over the last axis of an output without reduces runs in three parts, with this "
     "many elements at its beginning and end: the middle part skips the masks that these settle"},
}};
// clang-format on

constexpr std::size_t kMostArguments = 64;

static_assert(rows_follow_enum(kOpts, &OptInfo::kind, OptKind::Peel),
              "kOpts needs one row per OptKind, in the order of OptKind");

std::size_t arguments_of(const OptInfo& opt) {
  return static_cast<std::size_t>(std::ranges::count(opt.arguments, ',')) + 1;
}

void skip_space(std::string_view& text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0)
    text.remove_prefix(1);
}

std::int64_t read_number(std::string_view& text, std::string_view name) {
  skip_space(text);
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range)
    throw ParseError(fmt::format("a number in {}(...) does not fit in 64 bits", name));
  if (error != std::errc())
    throw ParseError(fmt::format("expected a whole number in {}(...), at '{}'", name, text));
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  skip_space(text);
  return number;
}

const OptInfo& opt_named(std::string_view name) {
  const auto found = std::ranges::find(kOpts, name, &OptInfo::name);
  if (found != kOpts.end()) return *found;
  std::vector<std::string_view> names;
  for (const OptInfo& opt : kOpts) names.push_back(opt.name);
  throw ParseError(fmt::format("there is no opt '{}'{}; known: {}", name, did_you_mean(name, names),
                               fmt::join(names, ", ")));
}

Opt read_opt(std::string_view& text) {
  const std::size_t end = text.find_first_of("( \t\n");
  const OptInfo& opt = opt_named(text.substr(0, end));
  text.remove_prefix(opt.name.size());
  skip_space(text);
  if (text.empty() || text.front() != '(')
    throw ParseError(fmt::format("expected '(' after {0}: {0}({1})", opt.name, opt.arguments));
  Opt read{opt.kind, {}};
  do {
    text.remove_prefix(1);
    read.args.push_back(read_number(text, opt.name));
    if (read.args.size() > kMostArguments)
      throw ParseError(fmt::format("{}(...) has more than {} numbers", opt.name, kMostArguments));
  } while (!text.empty() && text.front() == ',');
  if (text.empty() || text.front() != ')')
    throw ParseError(
        fmt::format("expected ')' at the end of {0}: {0}({1})", opt.name, opt.arguments));
  text.remove_prefix(1);
  const bool apart = opt.kind == OptKind::Sums && read.args.size() == 2;
  if (opt.kind != OptKind::Reorder && !apart && read.args.size() != arguments_of(opt))
    throw ParseError(fmt::format("{}({}) has {} numbers; it takes {}: {}({})", opt.name,
                                 fmt::join(read.args, ","), read.args.size(), arguments_of(opt),
                                 opt.name, opt.arguments));
  return read;
}

}  // namespace

std::span<const OptInfo> opt_table() { return kOpts; }

const OptInfo& info(OptKind kind) { return kOpts[static_cast<std::size_t>(kind)]; }

std::string str(const Opts& opts) {
  if (opts.empty()) return "none";
  std::string text;
  for (const Opt& opt : opts)
    text += fmt::format("{}{}({})", text.empty() ? "" : " ", info(opt.kind).name,
                        fmt::join(opt.args, ","));
  return text;
}

Opts parse_opts(std::string_view text) {
  Opts opts;
  skip_space(text);
  if (text.starts_with("none")) {
    text.remove_prefix(4);
    skip_space(text);
    if (!text.empty()) throw ParseError("'none' cannot be combined with other opts");
    return opts;
  }
  while (!text.empty()) {
    Opt opt = read_opt(text);
    if (find(opts, opt.kind) != nullptr)
      throw ParseError(fmt::format("{}(...) is given twice", info(opt.kind).name));
    opts.push_back(std::move(opt));
    skip_space(text);
  }
  return opts;
}

const Opt* find(const Opts& opts, OptKind kind) {
  const auto found = std::ranges::find(opts, kind, &Opt::kind);
  return found == opts.end() ? nullptr : &*found;
}

}  // namespace touchstone

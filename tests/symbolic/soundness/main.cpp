// Trees by the million against their simplified form: docs/measured/symbolic.md.
#include <chrono>
#include <functional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "checker.h"
#include "random_trees.h"
#include "small_trees.h"

namespace touchstone::symbolic {
namespace {

struct Options {
  std::uint64_t from = 0, count = 0, every = 1, seed = 1;
  int set = 0;
  Show show;
  bool stable = false;
};

class Progress {
 public:
  explicit Progress(const Checker& checker) : checker_(checker) {}
  /// Prints at most a line every ten seconds.
  void at(std::uint64_t index, std::uint64_t end) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::seconds(10)) return;
    last_ = now;
    fmt::print(stderr, "{} of {}, {} wrong; go on with --from {}\n", index, end,
               checker_.tally().wrong, index);
  }

 private:
  const Checker& checker_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

int report(const Tally& t, const Options& o) {
  const auto share = [](std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  };
  fmt::print("{} trees, {} values compared, {} wrong\n", t.trees, t.points, t.wrong);
  fmt::print("{} refused, as they divide by zero everywhere\n", t.refused);
  fmt::print("{} printed forms read back as another form ({:.4f} %)\n", t.reread,
             share(t.reread, t.trees));
  fmt::print("{} have another form with operands swapped ({:.4f} %)\n", t.swapped,
             share(t.swapped, t.trees));
  fmt::print("{} printed forms are larger than the tree ({:.4f} %)\n", t.longer,
             share(t.longer, t.trees));
  if (t.bounded > 0)
    fmt::print("bounds exact for {} of {} trees that have a value ({:.2f} %)\n", t.exact, t.bounded,
               share(t.exact, t.bounded));
  const bool stable = t.reread == 0 && t.swapped == 0;
  return t.wrong == 0 && (stable || !o.stable) ? 0 : 1;
}

int run_small(const Options& o) {
  const SmallTrees trees(o.set);
  Checker checker(SmallTrees::variables(), o.show);
  Progress progress(checker);
  const std::uint64_t end =
      o.count == 0 ? trees.count() : std::min(trees.count(), o.from + o.count);
  for (std::uint64_t i = o.from; i < end; i += o.every) {
    checker.check(trees.at(i));
    progress.at(i, end);
  }
  return report(checker.tally(), o);
}

int run_random(const Options& o) {
  Checker checker({}, o.show);
  Progress progress(checker);
  for (std::uint64_t i = o.from; i < o.from + o.count; i += o.every) {
    const RandomTree tree(o.seed, i);
    checker.use(tree.variables());
    checker.check(tree.sample());
    progress.at(i, o.from + o.count);
  }
  return report(checker.tally(), o);
}

}  // namespace
}  // namespace touchstone::symbolic

int main(int argc, char** argv) {
  using namespace touchstone::symbolic;
  Options o;
  CLI::App app("Simplifies trees and compares their values, bounds and printed forms");
  app.require_subcommand(1);
  const auto add = [&](const char* name, const char* what) {
    CLI::App* sub = app.add_subcommand(name, what);
    sub->add_option("--from", o.from, "Number of the first tree");
    sub->add_option("--count", o.count, "Trees to look at from there");
    sub->add_option("--every", o.every, "Take one tree in so many")->check(CLI::PositiveNumber);
    sub->add_option("--reread", o.show.reread, "Trees to print that read back as another form");
    sub->add_option("--swapped", o.show.swapped, "Trees to print that differ when swapped");
    sub->add_option("--longer", o.show.longer, "Trees to print that come out larger");
    sub->add_flag("--stable", o.stable, "Fail where one reads back otherwise, or differs swapped");
    sub->add_option("--inexact", o.show.inexact, "Trees to print whose bounds are too wide");
    return sub;
  };
  CLI::App* small = add("small", "All trees of at most seven nodes");
  small->add_option("--set", o.set, "Of operators and constants, 0 or 1")->check(CLI::Range(0, 1));
  CLI::App* random = add("random", "Trees that the fuzzer draws");
  random->add_option("--seed", o.seed, "Of all trees");
  CLI11_PARSE(app, argc, argv);
  return small->parsed() ? run_small(o) : run_random(o);
}

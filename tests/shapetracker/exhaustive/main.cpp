// Merges against enumeration, by the million: docs/measured/views.md.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "../chains.h"
#include "../pairs.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone::model {
namespace {

/// Counts questions. wrong: answers that differ from enumeration; missed: among these, existing
/// views that were not found.
struct Tally {
  std::int64_t asked = 0, merged = 0, wrong = 0, missed = 0;

  void count(const std::optional<View>& found, const std::optional<View>& wanted,
             const std::string& question) {
    ++asked;
    merged += wanted.has_value();
    if (found == wanted) return;
    (found ? wrong : missed) += 1;
    fmt::print("{}: found {}, wanted {}\n", question, found ? found->str() : "none",
               wanted ? wanted->str() : "none");
  }
  int report() const {
    fmt::print("{} asked, {} are one view, {} wrong, {} missed\n", asked, merged, wrong, missed);
    return wrong + missed == 0 ? 0 : 1;
  }
};

/// Counts through all combinations of digits.
class Odometer {
 public:
  explicit Odometer(Ints sizes) : sizes_(std::move(sizes)), digits_(sizes_.size(), 0) {}
  const Ints& digits() const { return digits_; }
  bool next() {
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      if (++digits_[i] < sizes_[i]) return true;
      digits_[i] = 0;
    }
    return false;
  }

 private:
  Ints sizes_, digits_;
};

/// Tests every `every`-th pair.
class Sample {
 public:
  Sample(std::int64_t every, Tally& tally) : every_(every), tally_(tally) {}

  // Tests inner under every view of the shape with strides in [-most, most], at all offsets.
  void ask(const View& inner, const Ints& outer_shape, std::int64_t most) {
    const std::int64_t size = inner.size().as_int();
    Odometer steps(Ints(outer_shape.size(), 2 * most + 1));
    do {
      Ints strides;
      std::int64_t low = 0, high = 0;
      for (std::size_t i = 0; i < outer_shape.size(); ++i) {
        strides.push_back(steps.digits()[i] - most);
        (strides.back() < 0 ? low : high) += strides.back() * (outer_shape[i] - 1);
      }
      for (std::int64_t offset = -low; offset + high < size; ++offset) {
        if (handed_++ % every_ != 0) continue;
        const View outer = strided(outer_shape, strides, offset);
        tally_.count(merge(inner, outer), merge_by_enumeration(inner, outer),
                     outer.str() + " on " + inner.str());
      }
    } while (steps.next());
  }

 private:
  std::int64_t every_, handed_ = 0;
  Tally& tally_;
};

// Inner shapes (2..3)^3 with strides -1 to 2; outer shapes (2, 2, 2) and (3, 2), strides -5 to 5.
void all_small(std::int64_t every, Tally& tally) {
  Sample sample(every, tally);
  Odometer digits({2, 2, 2, 4, 4, 4});
  do {
    const Ints& d = digits.digits();
    const View inner = strided({2 + d[0], 2 + d[1], 2 + d[2]}, {d[3] - 1, d[4] - 1, d[5] - 1}, 60);
    sample.ask(inner, {2, 2, 2}, 5);
    sample.ask(inner, {3, 2}, 5);
  } while (digits.next());
}

// Six inner shapes with every non-empty mask and five sets of strides; outer shapes (2, 2), (3, 2)
// and (5,), strides -4 to 4.
void all_masked(std::int64_t every, Tally& tally) {
  Sample sample(every, tally);
  for (const Ints& shape : std::vector<Ints>{{4}, {6}, {2, 3}, {3, 2}, {2, 2, 2}, {3, 4}}) {
    const Ints row_major = concrete(row_major_strides(to_shape(shape)));
    std::vector<Ints> sets(5);
    for (std::size_t i = 0; i < shape.size(); ++i) {
      sets[0].push_back(row_major[i]);
      sets[1].push_back(row_major[shape.size() - 1 - i]);
      sets[2].push_back(row_major[i] * (i % 2 == 0 ? -1 : 1));
      sets[3].push_back(i % 2 == 0 ? 1 : -1);
      sets[4].push_back(i % 2 == 0 ? 0 : 3);
    }
    Ints ranges;
    for (const std::int64_t size : shape) ranges.push_back(size * size);
    for (const Ints& strides : sets) {
      Odometer digits(ranges);
      do {
        Mask mask;
        bool proper = true;
        for (std::size_t i = 0; i < shape.size(); ++i) {
          const std::int64_t begin = digits.digits()[i] % shape[i];
          const std::int64_t end = digits.digits()[i] / shape[i] + 1;
          proper = proper && begin < end;
          mask.emplace_back(begin, end);
        }
        if (!proper) continue;
        const View inner = strided(shape, strides, 60, mask);
        sample.ask(inner, {2, 2}, 4);
        sample.ask(inner, {3, 2}, 4);
        sample.ask(inner, {5}, 4);
      } while (digits.next());
    }
  }
}

void random_pairs(std::int64_t count, std::uint64_t seed, Tally& tally) {
  for (std::int64_t i = 0; i < count; ++i) {
    fuzz::RandomChooser chooser(hash_mix(seed, 0), static_cast<std::uint64_t>(i));
    const std::string drawn = fuzz::draw_chain(chooser, {.strided = 2});
    const std::vector<View> stack = stack_of(fuzz::ViewCase::parse(drawn));
    tally.count(merge(stack.front(), stack.back()),
                merge_by_enumeration(stack.front(), stack.back()), drawn);
  }
}

// Chains of 2 to 8 operations: merged to one view exactly if one exists.
void random_chains(std::int64_t count, std::uint64_t seed, Tally& tally) {
  for (std::int64_t i = 0; i < count; ++i) {
    const Chain chain = chain_at(seed, static_cast<std::uint64_t>(i), of_length({}, 2, 8));
    const ShapeTracker simple = simplify(chain.tracker);
    const bool one = simple.views().size() == 1;
    tally.count(one ? std::optional(simple.views()[0]) : std::nullopt, only_view(chain.array),
                chain.story);
  }
}

int run(int argc, char** argv) {
  CLI::App app{"Merges of views against enumeration."};
  app.require_subcommand(1);
  std::int64_t every = 1, count = 1'000'000;
  std::uint64_t seed = 1;
  CLI::App* small = app.add_subcommand("small", "all pairs with an inner shape of (2..3)^3");
  CLI::App* masked = app.add_subcommand("masked", "all masks of six inner shapes");
  CLI::App* random = app.add_subcommand("random", "random pairs");
  CLI::App* chains = app.add_subcommand("chains", "random chains of 2 to 8 operations");
  for (CLI::App* verb : {small, masked})
    verb->add_option("--every", every, "one pair in N")->check(CLI::PositiveNumber);
  for (CLI::App* verb : {random, chains}) {
    verb->add_option("--count", count, "how many")->check(CLI::PositiveNumber);
    verb->add_option("--seed", seed, "of the random numbers");
  }
  CLI11_PARSE(app, argc, argv);
  Tally tally;
  if (*small) all_small(every, tally);
  if (*masked) all_masked(every, tally);
  if (*random) random_pairs(count, seed, tally);
  if (*chains) random_chains(count, seed, tally);
  return tally.report();
}

}  // namespace
}  // namespace touchstone::model

int main(int argc, char** argv) { return touchstone::model::run(argc, argv); }

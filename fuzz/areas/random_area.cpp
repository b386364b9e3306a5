#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "touchstone/base/error.h"
#include "touchstone/device/threefry.h"
#include "touchstone/fuzz/areas/areas.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/fuzz/engine/last_parsed.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/tensor/generator.h"

namespace touchstone::fuzz {
namespace {

constexpr const char* kRandomDevice = "FUZZ-RANDOM";

/// "uniform seed 7 first 12 count 40", for integers "in -3..9": elements of a stream from `first`
/// on.
struct StreamCase {
  std::size_t kind = 0;
  std::uint64_t seed = 0, first = 0;
  std::int64_t count = 0, low = 0, high = 1;  // high: the last one

  static StreamCase parse(std::string_view text);
  std::string str() const;
};
constexpr std::string_view kKinds[] = {"bits", "uniform", "integers", "shuffle"};
constexpr std::int64_t kMostCount = 600;

StreamCase StreamCase::parse(std::string_view text) {
  const auto words = split(text, ' ');
  const auto kind = words.empty() ? std::end(kKinds) : std::ranges::find(kKinds, words[0]);
  const bool integers = kind == kKinds + 2;
  if (kind == std::end(kKinds) || words.size() != (integers ? 9U : 7U) || words[1] != "seed" ||
      words[3] != "first" || words[5] != "count")
    throw ParseError(
        "a stream must be 'bits seed 7 first 12 count 40', or 'integers' with 'in -3..9'");
  StreamCase c;
  c.kind = static_cast<std::size_t>(kind - kKinds);
  c.seed = number<std::uint64_t>(words[2]);
  c.first = number<std::uint64_t>(words[4]);
  c.count = number(words[6]);
  if (c.count < 0 || c.count > kMostCount || c.first > UINT64_MAX - kMostCount)
    throw ParseError(fmt::format("at most {} elements", kMostCount));
  if (!integers) return c;
  const std::size_t dots = words[8].find("..");
  if (words[7] != "in" || dots == words[8].npos)
    throw ParseError("integers must be 'in LOW..HIGH'");
  c.low = number(words[8].substr(0, dots));
  c.high = number(words[8].substr(dots + 2));
  if (c.high < c.low || c.high == INT64_MAX ||
      static_cast<std::uint64_t>(c.high) - static_cast<std::uint64_t>(c.low) >= std::uint64_t{1}
                                                                                    << 32)
    throw ParseError("the range of integers is empty, or has more than 2^32 numbers");
  return c;
}

std::string StreamCase::str() const {
  std::string out = fmt::format("{} seed {} first {} count {}", kKinds[kind], seed, first, count);
  if (kind == 2) out += fmt::format(" in {}..{}", low, high);
  return out;
}

/// Word `at` of the stream: Threefry-2x32-20 as in its paper, round by round.
std::uint32_t word(std::uint64_t seed, std::uint64_t at) {
  constexpr unsigned kTurns[] = {13, 15, 26, 6, 17, 29, 16, 24};  // table 2
  const std::uint64_t counter = at / 2;
  std::uint64_t key[3] = {seed & 0xffffffff, seed >> 32, 0};
  key[2] = 0x1BD11BDA ^ key[0] ^ key[1];
  std::uint64_t x = (counter & 0xffffffff) + key[0], y = (counter >> 32) + key[1];
  for (unsigned round = 0; round < 20; ++round) {
    x = (x + y) & 0xffffffff;
    y &= 0xffffffff;
    const unsigned turn = kTurns[round % 8];
    y = ((y << turn | y >> (32 - turn)) & 0xffffffff) ^ x;
    if (round % 4 == 3) {
      const unsigned n = round / 4 + 1;
      x += key[n % 3];
      y += key[(n + 1) % 3] + n;
    }
  }
  return static_cast<std::uint32_t>(at % 2 == 0 ? x : y);
}

// Positions where blocks of words and 32-bit counters begin and end.
std::uint64_t draw_place(Chooser& chooser) {
  const std::uint64_t edge = std::uint64_t{1} << chooser.pick<int>({0, 3, 4, 8, 31, 32, 33, 40});
  switch (chooser.below(4)) {
    case 0: return chooser.below(40);
    case 1: return edge + chooser.below(8);
    case 2: return edge < 40 ? edge : edge - 1 - chooser.below(40);
    default: return chooser.below(std::uint64_t{1} << 60);
  }
}

class RandomArea final : public Area {
 public:
  RandomArea() {
    static const bool added = [] {
      Device::add(kRandomDevice, [] { return make_interpreted_device(kRandomDevice, 1); });
      return true;
    }();
    (void)added;
  }

  std::string_view name() const override { return "random"; }

  std::string draw(Chooser& chooser) override {
    StreamCase c;
    c.kind = chooser.below(std::size(kKinds));
    c.seed = chooser.chance(1, 4) ? chooser.below(3) : chooser.below(UINT64_MAX);
    c.first = draw_place(chooser);
    c.count = static_cast<std::int64_t>(chooser.below(chooser.chance(1, 4) ? kMostCount : 40));
    if (c.kind == 2) {
      const std::uint64_t range = std::uint64_t{1} << chooser.below(33);
      c.low = chooser.between(-300, 300);
      if (chooser.chance(1, 4)) c.low *= std::int64_t{1} << 40;
      c.high = c.low + static_cast<std::int64_t>(chooser.below(range));
    }
    return c.str();
  }

  Checked check(const std::string& text, Effort) override {
    const StreamCase& c = cases_.of(text);
    std::vector<std::uint32_t> words;
    for (std::int64_t i = 0; i < c.count; ++i)
      words.push_back(word(c.seed, c.first + static_cast<std::uint64_t>(i)));
    try {
      return c.kind == 0   ? bits(c, words)
             : c.kind == 1 ? uniform(c, words)
             : c.kind == 2 ? integers(c, words)
                           : shuffle(c);
    } catch (const Error& e) {
      return Checked::fail("refused", e.what());
    }
  }

  std::vector<std::string> smaller(const std::string& text) override {
    const StreamCase& c = cases_.of(text);
    std::vector<std::string> out;
    const auto with = [&](auto change) {
      StreamCase less = c;
      change(less);
      out.push_back(less.str());
    };
    for (const std::int64_t n : {c.count / 2, c.count - 1})
      if (n >= 0 && n < c.count) with([&](StreamCase& s) { s.count = n; });
    for (const std::uint64_t n : {std::uint64_t{0}, c.first / 2, c.first - 1})
      if (n < c.first) with([&](StreamCase& s) { s.first = n; });
    for (const std::uint64_t n : {std::uint64_t{0}, c.seed / 2})
      if (n < c.seed) with([&](StreamCase& s) { s.seed = n; });
    if (c.kind == 2) {
      with([](StreamCase& s) { s.high -= s.low, s.low = 0; });
      if (c.high > c.low) with([](StreamCase& s) { s.high = s.low + (s.high - s.low) / 2; });
    }
    return out;
  }

  Measure measure(const std::string& text) override {
    const StreamCase& c = cases_.of(text);
    const auto bits = [](std::uint64_t n) { return static_cast<std::int64_t>(n >> 1); };
    return {c.count, bits(c.first), bits(c.seed), c.high - c.low, std::abs(c.low)};
  }

  Extent extent(const std::string& text) override { return {1, cases_.of(text).count}; }

 private:
  static Checked differs(const char* relation, std::int64_t at, const std::string& wanted,
                         const std::string& got) {
    return Checked::fail(relation, fmt::format("element {} is {}, not {}", at, got, wanted));
  }

  static Checked bits(const StreamCase& c, const std::vector<std::uint32_t>& words) {
    std::vector<std::uint32_t> got(words.size());
    random_bits(c.seed, c.first, got);
    for (std::size_t i = 0; i < words.size(); ++i)
      if (got[i] != words[i])
        return differs("bits", static_cast<std::int64_t>(i), std::to_string(words[i]),
                       std::to_string(got[i]));
    return {};
  }

  static Checked uniform(const StreamCase& c, const std::vector<std::uint32_t>& words) {
    std::vector<float> host(words.size());
    random_uniform(c.seed, c.first, host);
    Generator generator(c.seed, c.first);
    const TensorOptions there{.dtype = DType::Float32, .device = kRandomDevice};
    const std::vector<float> drawn = generator.uniform({c.count}, 0, 1, there).read<float>();
    if (generator.position() != c.first + words.size())
      return Checked::fail("uniform",
                           fmt::format("the place after it is {}", generator.position()));
    for (std::size_t i = 0; i < words.size(); ++i) {
      const double right = std::ldexp(words[i] / 256, -24);
      for (const float got : {host[i], drawn[i]})
        if (static_cast<double>(got) != right)
          return differs("uniform", static_cast<std::int64_t>(i), std::to_string(right),
                         std::to_string(got));
    }
    return {};
  }

  static Checked integers(const StreamCase& c, const std::vector<std::uint32_t>& words) {
    Generator generator(c.seed, c.first);
    const TensorOptions there{.dtype = DType::Int64, .device = kRandomDevice};
    const auto got = generator.randint({c.count}, c.low, c.high + 1, there).read<std::int64_t>();
    const long double range = static_cast<long double>(c.high - c.low) + 1;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto right =
          c.low + static_cast<std::int64_t>(std::floor(words[i] * range / 4294967296.0L));
      if (got[i] != right)
        return differs("integers", static_cast<std::int64_t>(i), std::to_string(right),
                       std::to_string(got[i]));
    }
    return {};
  }

  static Checked shuffle(const StreamCase& c) {
    Generator one(c.seed, c.first), two(c.seed, c.first);
    const std::vector<std::int64_t> order = one.permutation(c.count);
    if (two.permutation(c.count) != order)
      return Checked::fail("shuffle", "equal streams give two orders");
    std::vector<std::int64_t> sorted = order, all(order.size());
    std::iota(all.begin(), all.end(), 0);
    std::ranges::sort(sorted);
    if (sorted != all) return Checked::fail("shuffle", "a number is there twice, or missing");
    return {};
  }

  LastParsed<StreamCase> cases_;
};

}  // namespace

std::unique_ptr<Area> make_random_area() { return std::make_unique<RandomArea>(); }

}  // namespace touchstone::fuzz

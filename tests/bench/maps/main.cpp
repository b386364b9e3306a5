// Maps beside isl: the same drawn questions to both, answers compared, times in one run.
//   maps_bench [MAPS] [SEED]
#include <algorithm>
#include <chrono>
#include <cstdio>

#include <isl/aff.h>
#include <isl/ctx.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/set.h>

#include "../../maps/drawn.h"
#include "touchstone/maps/layout.h"

namespace {

using touchstone::Map;
namespace maps = touchstone::maps;
using Clock = std::chrono::steady_clock;
using maps::Verdict;

struct Times {
  std::vector<double> ours, theirs;
  int wrong = 0, open = 0;
};

template <class F>
auto timed(std::vector<double>& to, const F& f) {
  const auto start = Clock::now();
  auto r = f();
  to.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  return r;
}

double at(std::vector<double> t, double part) {
  std::ranges::sort(t);
  return t.empty() ? 0 : t[static_cast<std::size_t>(part * static_cast<double>(t.size() - 1))];
}

isl_map* isl_of(isl_ctx* ctx, const Map& m) {
  return isl_map_read_from_str(ctx, maps::written(m, "isl").c_str());
}

isl_stat count_point(isl_point* p, void* user) {
  isl_point_free(p);
  ++*static_cast<std::int64_t*>(user);
  return isl_stat_ok;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t wanted = argc > 1 ? std::atoll(argv[1]) : 2000;
  maps::drawn::Draw d(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
  isl_ctx* const ctx = isl_ctx_alloc();
  isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE);
  Times equal, injective, count;
  const auto judge = [&](Times& t, Verdict ours, bool theirs, const Map& m) {
    t.open += ours == Verdict::Open;
    if (ours == Verdict::Open || (ours == Verdict::Yes) == theirs) return;
    ++t.wrong;
    std::printf("wrong: %s\n", m.str().c_str());
  };
  for (std::int64_t n = 0; n < wanted; ++n) {
    const auto sizes = d.box();
    const auto draw = [&] {
      auto q = maps::drawn::question(sizes, d.sum(sizes.size()).text);
      if (d.below(5) == 0) q.assumptions.push_back(d.condition(sizes.size()).text);
      return q;
    };
    const auto q = draw(), r = d.below(2) == 0 ? q : draw();
    const Map a = Map::read(q, touchstone::symbolic::Language::Touchstone);
    const Map b = Map::read(r, touchstone::symbolic::Language::Touchstone);
    if (!maps::image(a) || !maps::image(b)) continue;  // no points
    isl_map* const x = isl_of(ctx, a);
    isl_map* const y = isl_of(ctx, b);
    if (!x || !y) {
      std::printf("isl cannot read %s\n", maps::written(x ? b : a, "isl").c_str());
      return 1;
    }
    judge(equal, timed(equal.ours, [&] { return maps::same(a, b).verdict; }),
          timed(equal.theirs, [&] { return isl_map_is_equal(x, y) == isl_bool_true; }), a);
    judge(injective, timed(injective.ours, [&] { return maps::injective(a).verdict; }),
          timed(injective.theirs, [&] { return isl_map_is_injective(x) == isl_bool_true; }), a);
    const auto seen = timed(count.ours, [&] { return maps::image(a); });
    const std::int64_t theirs = timed(count.theirs, [&] {
      isl_set* const range = isl_map_range(isl_map_copy(x));
      std::int64_t points = 0;
      isl_set_foreach_point(range, count_point, &points);
      isl_set_free(range);
      return points;
    });
    const std::int64_t ours = seen && seen->distinct ? *seen->distinct : 0;
    judge(count, Verdict::Yes, ours == theirs, a);
    isl_map_free(x);
    isl_map_free(y);
  }
  std::printf(
      "%lld maps       ours us: median   99%%      isl us: median   99%%   wrong undecided\n",
      static_cast<long long>(wanted));
  const auto row = [](const char* name, const Times& t) {
    std::printf("%-22s %9.1f %9.1f   %9.1f %9.1f   %d %d\n", name, at(t.ours, 0.5),
                at(t.ours, 0.99), at(t.theirs, 0.5), at(t.theirs, 0.99), t.wrong, t.open);
  };
  row("equal", equal);
  row("injective", injective);
  row("distinct results", count);
  isl_ctx_free(ctx);
  // Questions of everyday size, each asked many times; the text is read each time for `read`.
  struct Question {
    const char* name;
    std::function<bool()> ask;
  };
  const auto cute = [](const char* text) {
    return Map::read({{}, {}, text}, touchstone::symbolic::Language::Cute);
  };
  const Map tile = cute("(32,32):(32,1)"), blocked = cute("((4,8),(4,8)):((1,128),(4,16))"),
            swizzle = cute("Swizzle<3,3,3> o (8,64):(64,1)"),
            big = cute("(4096,(64,64)):(4096,(1,64))");
  const Question questions[] = {
      {"read (32,32):(32,1)", [&] { return !cute("(32,32):(32,1)").results().empty(); }},
      {"equal, flat", [&] { return maps::same(blocked, tile).verdict == Verdict::No; }},
      {"injective, blocked", [&] { return maps::injective(blocked).verdict == Verdict::Yes; }},
      {"bijective, 16M points", [&] { return maps::bijective(big).verdict == Verdict::Yes; }},
      {"inverse, blocked", [&] { return maps::inverse(blocked).map.has_value(); }},
      {"compose, split axes",
       [&] { return !cute("(3,4):(1,5)").then(cute("(10,2):(16,4)")).results().empty(); }},
      {"distinct, blocked", [&] { return maps::image(blocked)->distinct == 1024; }},
      {"bijective, swizzle", [&] { return maps::bijective(swizzle).verdict == Verdict::Yes; }},
  };
  for (const Question& q : questions) {
    std::vector<double> t;
    for (int k = 0; k < 200; ++k)
      if (!timed(t, q.ask)) return std::printf("%s: another answer\n", q.name), 1;
    std::printf("%-26s %8.1f us\n", q.name, at(t, 0.5));
  }
  return equal.wrong + injective.wrong + count.wrong > 0;
}

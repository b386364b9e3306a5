#include "touchstone/interp/oracle/find_order.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <vector>

#include <nlohmann/json.hpp>

#include "touchstone/interp/device/scalar_named.h"
#include "touchstone/interp/oracle/unrounded.h"
#include "touchstone/interp/oracle/verdict.h"

namespace touchstone {
namespace {

using namespace interp;

// a + b rounded to odd: the last digit records lost bits, so that rounding again, to a type of at
// least two digits fewer, is a single rounding.
double add_to_odd(double a, double b) {
  const double sum = a + b, part = sum - a;
  const double lost = (a - (sum - part)) + (b - part);
  if (lost == 0 || !std::isfinite(sum) || (std::bit_cast<std::uint64_t>(sum) & 1) != 0) return sum;
  return std::nextafter(sum, lost > 0 ? HUGE_VAL : -HUGE_VAL);
}

// Sums in a type of at most 24 digits, or in double for terms that are doubles.
struct ReplayedSum {
  DType accumulator;

  double round(double x) const {
    return with_storage(accumulator, [&]<class A>(std::type_identity<A>) -> double {
      if constexpr (is_float_storage<A>)
        return static_cast<double>(scalar::detail::computing(convert<A>(x)));
      else
        return x;
    });
  }
  double add(double a, double b) const {
    return accumulator == DType::Float64 ? a + b : round(add_to_odd(a, b));
  }
  double in_turn(std::span<const double> v) const {
    double sum = 0;
    for (const double x : v) sum = add(sum, x);
    return sum;
  }
  double halves(std::span<const double> v, std::size_t run) const {
    if (v.size() <= run || v.size() < 2) return in_turn(v);
    const std::size_t half = v.size() / 2;
    return add(halves(v.first(half), run), halves(v.subspan(half), run));
  }
  std::vector<double> lanes(std::span<const double> v, std::size_t k) const {
    std::vector<double> sums(std::min(k, v.size()));
    for (std::size_t i = 0; i < v.size(); ++i)
      sums[i % sums.size()] = add(sums[i % sums.size()], v[i]);
    return sums;
  }
  // Adds the upper half to the lower half repeatedly, as vector units do.
  double folded(std::vector<double> v) const {
    while (v.size() > 1) {
      const std::size_t half = (v.size() + 1) / 2;
      for (std::size_t i = half; i < v.size(); ++i) v[i - half] = add(v[i - half], v[i]);
      v.resize(half);
    }
    return v.empty() ? 0 : v[0];
  }
  // NumPy's order: 8,192 terms at a time, by halves at multiples of 8 down to 128 terms, which are
  // summed in 8 lanes combined as a tree.
  double numpy(std::span<const double> v) const {
    constexpr std::size_t kBuffer = 8192;
    if (v.size() > kBuffer) {
      double sum = 0;
      for (std::size_t i = 0; i < v.size(); i += kBuffer)
        sum = add(sum, numpy(v.subspan(i, std::min(kBuffer, v.size() - i))));
      return sum;
    }
    if (v.size() < 8) return in_turn(v);
    if (v.size() > 128) {
      const std::size_t half = v.size() / 2 - v.size() / 2 % 8;
      return add(numpy(v.first(half)), numpy(v.subspan(half)));
    }
    const std::size_t whole = v.size() - v.size() % 8;
    double sum = halves(lanes(v.first(whole), 8), 1);
    for (const double x : v.subspan(whole)) sum = add(sum, x);
    return sum;
  }
};

struct UsualOrder {
  std::string name;
  Profile declared;  // as in a profile; Any: not declarable
  std::function<double(const ReplayedSum&, std::span<const double>)> sum;
};

Profile declared(SumOrder order, std::size_t block) {
  Profile p;
  p.order = order;
  p.block = static_cast<std::int64_t>(block);
  return p;
}

std::vector<UsualOrder> usual_orders(std::size_t terms) {
  std::vector<UsualOrder> all{
      {"sequential", declared(SumOrder::Sequential, 1), &ReplayedSum::in_turn},
      {"sequential from the last", Profile(), [](const ReplayedSum& s, std::span<const double> v) {
         return s.in_turn(std::vector<double>(v.rbegin(), v.rend()));
       }}};
  for (std::size_t k = 2; k <= 1024 && k < terms; k *= 2) {
    all.push_back({fmt::format("lanes of {}, those in turn", k), declared(SumOrder::Lanes, k),
                   [k](const ReplayedSum& s, std::span<const double> v) {
                     return s.in_turn(s.lanes(v, k));
                   }});
    all.push_back(
        {fmt::format("lanes of {}, those folded", k), declared(SumOrder::Lanes, k),
         [k](const ReplayedSum& s, std::span<const double> v) { return s.folded(s.lanes(v, k)); }});
    all.push_back({fmt::format("lanes of {}, those pairwise", k), declared(SumOrder::Lanes, k),
                   [k](const ReplayedSum& s, std::span<const double> v) {
                     return s.halves(s.lanes(v, k), 1);
                   }});
    all.push_back({fmt::format("blocks of {}, those in turn", k), Profile(),
                   [k](const ReplayedSum& s, std::span<const double> v) {
                     std::vector<double> blocks;
                     for (std::size_t i = 0; i < v.size(); i += k)
                       blocks.push_back(s.in_turn(v.subspan(i, std::min(k, v.size() - i))));
                     return s.in_turn(blocks);
                   }});
  }
  for (const std::size_t run : {1U, 2U, 4U, 8U, 16U, 32U, 64U, 128U, 256U})
    if (run < terms)
      all.push_back(
          {fmt::format("pairwise, runs of {}", run), declared(SumOrder::Halves, run),
           [run](const ReplayedSum& s, std::span<const double> v) { return s.halves(v, run); }});
  all.push_back({"pairwise as NumPy", declared(SumOrder::Numpy, 128), &ReplayedSum::numpy});
  return all;
}

// The sums to replay: the exact terms of some elements, and the type of a rounded product.
struct Replay {
  std::vector<std::vector<double>> terms;
  std::vector<std::int64_t> elements;
  DType term = DType::Float32;
  bool products = false;
};

bool matches(const Replay& replay, const UsualOrder& order, DType accumulator, bool rounds_products,
             const Buffer& output) {
  const ReplayedSum sums{accumulator}, of_products{replay.term};
  for (std::size_t i = 0; i < replay.terms.size(); ++i) {
    std::vector<double> v = replay.terms[i];
    if (rounds_products)
      for (double& x : v) x = of_products.round(x);
    const double sum = order.sum(sums, v);
    const bool same = with_storage(output.dtype(), [&]<class T>(std::type_identity<T>) {
      const T got = static_cast<const T*>(output.memory())[replay.elements[i]];
      return scalar::cmpeq(got, convert<T>(sum));
    });
    if (!same) return false;
  }
  return true;
}

// Sets the order that reproduces the bits, and its declaration.
void find_bits(const Replay& replay, DType own, const Profile& profile, const Buffer& output,
               FoundOrder& found, Profile& declared) {
  std::vector<DType> accumulators{own};
  for (const DType d : {replay.term, DType::Float32, profile.accumulator.value_or(own)})
    if (std::ranges::find(accumulators, d) == accumulators.end() && d != DType::Float64)
      accumulators.push_back(d);
  for (const UsualOrder& order : usual_orders(replay.terms[0].size()))
    for (const DType accumulator : accumulators)
      for (const bool rounds : {true, false}) {
        if (!rounds && !replay.products) continue;
        if (!matches(replay, order, accumulator, rounds, output)) continue;
        found.bits = fmt::format("{} in {}{}", order.name, name(accumulator),
                                 !replay.products ? ""
                                 : rounds         ? ", products rounded"
                                                  : ", fused");
        declared = order.declared;
        return;
      }
}

// The first declared order under which every element is legal: `first`, then others by height.
std::string legal_order(const LazyOpPtr& kernel, std::span<Buffer* const> inputs,
                        const Buffer& output, Profile profile, const Profile& first) {
  const Profile tried[] = {first,
                           declared(SumOrder::Pairwise, 1),
                           declared(SumOrder::Pairwise, 8),
                           declared(SumOrder::Pairwise, 32),
                           declared(SumOrder::Pairwise, 128),
                           declared(SumOrder::Lanes, 32),
                           declared(SumOrder::Lanes, 8)};
  for (const Profile& p : tried) {
    if (p.order == SumOrder::Any) continue;
    profile.order = p.order;
    profile.block = p.block;
    if (judge(kernel, inputs, output, profile).wrong != 0) continue;
    return nlohmann::json::parse(profile.to_json()).at("sum").dump();
  }
  return {};
}

}  // namespace

std::string FoundOrder::str() const {
  std::string text = "no common order gives these bits";
  if (!bits.empty())
    text = fmt::format("{} gives the bits of all {} elements looked at", bits, elements);
  if (declare.empty()) return text + "; no single order explains every element";
  return text + fmt::format(
                    "; every element is explained by {}: a profile with \"sum\": {} makes a "
                    "sharper verdict",
                    declare, declare);
}

std::optional<FoundOrder> find_order(const LazyOpPtr& kernel, std::span<Buffer* const> inputs,
                                     const Buffer& output, const Profile& profile) {
  const KernelProgram program = make_program(kernel);
  const ProgramNode* sum = only_sum(program);
  if (sum == nullptr || sum->terms < 3) return std::nullopt;
  for (const ProgramNode& node : program.regions[0].nodes)
    if (&node != sum && node.op != Op::Cast && node.op != Op::Noop) return std::nullopt;
  Replay replay;
  replay.term = sum->dtype;
  for (const ProgramNode& node : program.regions[static_cast<std::size_t>(sum->region)].nodes)
    replay.products = replay.products || node.op == Op::Mul;
  if (sum->dtype == DType::Float64 && replay.products) return std::nullopt;  // products not exact
  constexpr std::int64_t kElements = 32, kMostTerms = std::int64_t{1} << 20;
  const std::int64_t size = program.regions[0].size;
  const std::int64_t count = std::min({kElements, size, kMostTerms / sum->terms});
  FoundOrder found;
  Profile first;
  found.elements = count;
  if (count > 0) {
    for (std::int64_t i = 0; i < count; ++i) replay.elements.push_back(i * size / count);
    replay.terms = exact_terms(program, *sum, inputs, replay.elements);
    find_bits(replay, sum->accumulator, profile, output, found, first);
  }
  found.declare = legal_order(kernel, inputs, output, profile, first);
  return found;
}

}  // namespace touchstone

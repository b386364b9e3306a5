#include "touchstone/maps/layout.h"

#include <algorithm>
#include <bit>

#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone::maps {

using symbolic::Node;

namespace {

std::optional<Axes> any_axes(const Map& zero_based) {
  if (auto a = axes_of(zero_based)) return a;
  return probed_axes(zero_based);
}

std::string result_name(const Map& map, std::size_t r) {
  std::string name = map.results().size() == 1 ? "y" : fmt::format("y{}", r);
  const auto taken = [&](const auto& list) {
    return std::ranges::any_of(list, [&](const Map::Input& i) { return i.name == name; });
  };
  while (taken(map.symbols())) name += '_';
  return name;
}

// By the digits that the results show.
std::optional<Inverse> inverse_of_digits(const Map& map, const Map::FromZero& base) {
  const auto axes = any_axes(base.map);
  const auto steps = axes ? decoding(*axes, true) : std::nullopt;
  if (!steps) return std::nullopt;
  const std::size_t results = axes->offset.size();
  Inverse r;
  r.injective = decoding(*axes).has_value();
  std::vector<Node> y, digits(axes->axes.size()), conditions;
  std::vector<Map::Input> inputs;
  for (std::size_t k = 0; k < results; ++k) {
    sint lo = axes->offset[k], hi = lo;
    bool open = false;
    for (const Axis& a : axes->axes) {
      const auto size = magnitude(a.strides[k]);
      open = open || !size || !a.size;
      if (open) break;
      (size->second ? lo : hi) = (size->second ? lo : hi) + a.strides[k] * (*a.size - sint(1));
    }
    const bool low = !open && lo.is_int(), high = !open && hi.is_int();
    inputs.push_back(input(result_name(map, k), low ? std::optional(lo.as_int()) : std::nullopt,
                           high ? std::optional(hi.as_int()) : std::nullopt));
    y.push_back(inputs.back().node);
  }
  std::vector<bool> decoded(results, false);
  for (const DecodeStep& step : *steps) {
    const std::size_t k = step.result;
    decoded[k] = true;
    Node rest = y[k] - axes->offset[k].node();
    for (std::size_t a = 0; a < digits.size(); ++a) {
      const Axis& axis = axes->axes[a];
      if (std::ranges::find(step.axes, a) == step.axes.end())
        rest = rest - digits[a] * axis.strides[k].node();
      else if (magnitude(axis.strides[k])->second)  // counts from the other end
        rest = rest - axis.strides[k].node() * (axis.size->node() - Node(1));
    }
    for (std::size_t i = step.axes.size(); i-- > 0;) {
      const Axis& axis = axes->axes[step.axes[i]];
      const auto [stride, negative] = *magnitude(axis.strides[k]);
      if (negative && !axis.size) return std::nullopt;
      Node digit = symbolic::floor_div(rest, stride.node());
      rest = symbolic::floor_mod(rest, stride.node());
      if (axis.size) conditions.push_back(symbolic::lt(digit, axis.size->node()));
      if (axis.size && i + 1 == step.axes.size()) conditions.push_back(symbolic::ge(digit, 0));
      digits[step.axes[i]] = negative ? axis.size->node() - Node(1) - digit : digit;
    }
    conditions.push_back(symbolic::eq(rest, 0));
  }
  for (std::size_t k = 0; k < results; ++k) {
    if (decoded[k]) continue;
    Node value = axes->offset[k].node();
    for (std::size_t a = 0; a < digits.size(); ++a)
      value = value + digits[a] * axes->axes[a].strides[k].node();
    conditions.push_back(symbolic::eq(value, y[k]));
  }
  std::vector<Node> values(map.inputs().size(), 0);
  for (std::size_t a = 0; a < digits.size(); ++a)
    values[axes->axes[a].input] =
        values[axes->axes[a].input] + digits[a] * Node(axes->axes[a].place);
  if (!axes->whole)
    for (std::size_t i = 0; i < values.size(); ++i)
      if (const auto& hi = base.map.inputs()[i].hi)
        conditions.push_back(symbolic::le(values[i], *hi));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = values[i] + Node(base.lows[i]);
    const Map::Input& of = map.inputs()[i];
    if (of.lo && of.hi) continue;  // its digits have sizes
    if (of.lo) conditions.push_back(symbolic::ge(values[i], *of.lo));
    if (of.hi) conditions.push_back(symbolic::le(values[i], *of.hi));
  }
  r.map = Map::made(std::move(inputs), map.symbols(), conditions, std::move(values));
  r.gaps = !r.map->conditions().empty();
  return r;
}

// A map of bits: the sum over GF(2) of the bases of all bits that are set.
std::vector<Node> values_of(const Bases& bases, std::span<const Node> inputs, std::size_t results) {
  constexpr int kBits = 62;
  std::vector<Node> all;
  for (std::size_t r = 0; r < results; ++r) {
    std::vector<Node> parity(kBits, 0);
    std::vector<int> count(kBits, 0);
    for (std::size_t v = 0; v < bases.size(); ++v)
      for (std::size_t j = 0; j < bases[v].size(); ++j)
        for (int o = 0; o < kBits; ++o)
          if ((bases[v][j][r] >> o & 1) != 0) {
            const Node bit =
                symbolic::floor_mod(symbolic::floor_div(inputs[v], std::int64_t{1} << j), 2);
            parity[static_cast<std::size_t>(o)] = parity[static_cast<std::size_t>(o)] + bit;
            ++count[static_cast<std::size_t>(o)];
          }
    Node sum = 0;
    for (std::size_t o = 0; o < kBits; ++o)
      if (count[o] > 0)
        sum = sum + (count[o] > 1 ? symbolic::floor_mod(parity[o], 2) : parity[o]) *
                        Node(std::int64_t{1} << o);
    all.push_back(sum);
  }
  return all;
}

// By elimination over GF(2).
std::optional<Inverse> inverse_of_bits(const Map& map) {
  const auto bases = bases_of(map);
  if (!bases) return std::nullopt;
  const std::size_t results = map.results().size();
  std::vector<int> width(results, 0);
  for (const auto& of_input : *bases)
    for (const auto& b : of_input)
      for (std::size_t r = 0; r < results; ++r)
        width[r] =
            std::max(width[r], static_cast<int>(std::bit_width(static_cast<std::uint64_t>(b[r]))));
  int total = 0;
  for (const int w : width) total += w;
  struct Row {
    std::uint64_t out, in;  // packed results, and the input bits that make them
  };
  std::vector<Row> rows;
  std::vector<std::pair<std::size_t, int>> place;  // input and bit of each bit of `in`
  bool injective = true;
  for (std::size_t v = 0; v < bases->size(); ++v)
    for (std::size_t j = 0; j < (*bases)[v].size(); ++j) {
      Row row{0, std::uint64_t{1} << place.size()};
      place.emplace_back(v, static_cast<int>(j));
      if (total > 62 || place.size() > 62) return std::nullopt;
      for (std::size_t r = results; r-- > 0;)
        row.out = row.out << width[r] | static_cast<std::uint64_t>((*bases)[v][j][r]);
      const auto reduce = [](Row& a, const Row& by) {
        if ((a.out & std::bit_floor(by.out)) != 0) a.out ^= by.out, a.in ^= by.in;
      };
      for (const Row& known : rows) reduce(row, known);
      injective = injective && row.out != 0;
      if (row.out == 0) continue;
      for (Row& known : rows) reduce(known, row);
      rows.push_back(row);
    }
  Inverse r;
  r.injective = injective;
  Bases back;
  std::vector<Map::Input> inputs;
  std::vector<Node> y;
  int below = 0;
  for (std::size_t k = 0; k < results; ++k) {
    inputs.push_back(input(result_name(map, k), 0, (std::int64_t{1} << width[k]) - 1));
    y.push_back(inputs.back().node);
    auto& of_result = back.emplace_back();
    for (int o = 0; o < width[k]; ++o, ++below) {
      std::vector<std::int64_t> to(map.inputs().size(), 0);
      for (const Row& row : rows)
        if (std::bit_floor(row.out) == std::uint64_t{1} << below)
          for (std::size_t b = 0; b < place.size(); ++b)
            if ((row.in >> b & 1) != 0) to[place[b].first] |= std::int64_t{1} << place[b].second;
      of_result.push_back(std::move(to));
    }
  }
  const std::vector<Node> values = values_of(back, y, map.inputs().size());
  r.gaps = std::ssize(rows) < total;
  std::vector<Node> conditions;
  if (r.gaps) {
    const std::vector<Node> again = values_of(*bases, values, results);
    for (std::size_t k = 0; k < results; ++k) conditions.push_back(symbolic::eq(again[k], y[k]));
  }
  r.map = Map::made(std::move(inputs), {}, conditions, values);
  return r;
}

}  // namespace

Inverse inverse(const Map& map) {
  if (map.box().empty) throw ShapeError("inverse: no point is in the domain");
  if (const auto base = map.from_zero())
    if (auto r = inverse_of_digits(map, *base)) return *r;
  if (auto r = inverse_of_bits(map)) return *r;
  return {std::nullopt, injective(map).verdict == Verdict::Yes, false};
}

std::optional<Bases> bases_of(const Map& map) {
  const Map::Box box = map.box();
  if (box.empty || !box.rest.empty() || !map.symbols().empty()) return std::nullopt;
  Bases bases;
  std::vector<std::int64_t> p(map.inputs().size(), 0);
  for (const auto& s : box.sides)
    if (s.lo != 0 || !s.hi || !std::has_single_bit(static_cast<std::uint64_t>(*s.hi) + 1))
      return std::nullopt;
  const auto table = table_of(map);
  if (!table || std::ranges::any_of(table->values, [](std::int64_t v) { return v < 0; }))
    return std::nullopt;
  Values values(map);
  for (std::size_t v = 0; v < p.size(); ++v) {
    bases.emplace_back();
    for (std::int64_t bit = 1; bit <= *box.sides[v].hi; bit *= 2) {
      p[v] = bit;
      const auto& at = values.at(p);
      if (!at) return std::nullopt;
      bases.back().push_back(*at);
    }
    p[v] = 0;
  }
  for (std::size_t k = 0; k < table->size(); ++k) {
    std::vector<std::int64_t> sum(table->results, 0);
    for (std::size_t v = 0; v < p.size(); ++v)
      for (std::size_t j = 0; j < bases[v].size(); ++j)
        if ((table->point(k)[v] >> j & 1) != 0)
          for (std::size_t r = 0; r < sum.size(); ++r) sum[r] ^= bases[v][j][r];
    if (!std::ranges::equal(sum, table->value(k))) return std::nullopt;
  }
  return bases;
}

std::optional<Layout> layout_of(const Map& map) {
  const auto base = map.from_zero();
  if (!base || map.results().size() != 1) return std::nullopt;
  for (const std::int64_t low : base->lows)
    if (low != 0) return std::nullopt;
  auto axes = any_axes(base->map);
  if (!axes || !axes->is_numeric() || !axes->whole) return std::nullopt;
  const Axes all = joined(*axes, false);
  Layout r;
  r.modes.resize(map.inputs().size());
  r.offset = all.offset[0].as_int();
  for (const Axis& a : all.axes)
    r.modes[a.input].push_back({a.size->as_int(), a.strides[0].as_int()});
  for (auto& m : r.modes)
    if (m.empty()) m.push_back({1, 0});
  return r;
}

namespace {

Layout needed_layout(const Map& map, const std::string& what) {
  auto l = layout_of(map);
  if (!l || l->offset != 0)
    throw ShapeError(fmt::format("{}: {} is no layout: {}", what, map.str(),
                                 l ? "it has an offset" : "not a sum of digits times strides"));
  return *l;
}

std::vector<Map::Mode> all_modes(const Layout& l) {
  std::vector<Map::Mode> r;
  for (const auto& modes : l.modes)
    for (const Map::Mode& m : modes)
      if (m.size != 1) r.push_back(m);
  return r;
}

std::int64_t points_of(const Layout& l) {
  std::int64_t n = 1;
  for (const Map::Mode& m : all_modes(l)) n = checked_mul(n, m.size);
  return n;
}

std::int64_t end_of(const Layout& l) {
  std::int64_t n = 1;
  for (const Map::Mode& m : all_modes(l)) n = checked_add(n, checked_mul(m.size - 1, m.stride));
  return n;
}

std::string cute_text(const Layout& l) {
  std::vector<std::string> shape, stride;
  for (const auto& modes : l.modes) {
    std::vector<std::int64_t> sizes, strides;
    for (const Map::Mode& m : modes) sizes.push_back(m.size), strides.push_back(m.stride);
    const auto text = [](const auto& v) {
      const std::string all = fmt::format("{}", fmt::join(v, ","));
      return v.size() == 1 ? all : "(" + all + ")";
    };
    shape.push_back(text(sizes));
    stride.push_back(text(strides));
  }
  const auto whole = [](const std::vector<std::string>& v) {
    return v.size() == 1 ? v[0] : fmt::format("({})", fmt::join(v, ","));
  };
  const std::string r = whole(shape) + ":" + whole(stride);
  return l.offset == 0 ? r : fmt::format("{} o {}", l.offset, r);
}

}  // namespace

Map complement(const Map& map, std::int64_t size) {
  std::vector<Map::Mode> modes = all_modes(needed_layout(map, "complement"));
  std::erase_if(modes, [](const Map::Mode& m) { return m.stride == 0; });
  std::ranges::sort(modes, {}, [](const Map::Mode& m) { return std::pair(m.stride, m.size); });
  std::vector<Map::Mode> rest;
  std::int64_t current = 1;
  for (const Map::Mode& m : modes) {
    if (m.stride <= 0 || m.stride % current != 0)
      throw ShapeError(fmt::format(
          "complement: there is none, because stride {} is no multiple of {}", m.stride, current));
    if (m.stride != current) rest.push_back({m.stride / current, current});
    current = checked_mul(m.stride, m.size);
  }
  if (const std::int64_t more = ceil_div(size, current); more > 1 || rest.empty())
    rest.push_back({more, current});
  return coalesced(Map::of_modes({rest}));
}

Map divided(const Map& map, const Map& tiler) {
  const Map whole = map.flat();
  const Layout of_map = needed_layout(whole, "divide"), by = needed_layout(tiler, "divide");
  return Map::of_modes({all_modes(by), layout_of(complement(tiler, points_of(of_map)))->modes[0]})
      .then(whole);
}

Map product(const Map& map, const Map& tiler) {
  const Layout own = needed_layout(map, "product"), by = needed_layout(tiler, "product");
  const Map rest =
      tiler.flat().then(complement(map, checked_mul(points_of(own), end_of(by))).flat());
  return Map::of_modes({all_modes(own), needed_layout(rest, "product").modes[0]});
}

Map coalesced(const Map& map) {
  std::vector<Map::Mode> modes = all_modes(needed_layout(map.flat(), "coalesce"));
  if (modes.empty()) modes.push_back({1, 0});
  return Map::of_modes({modes});
}

namespace {

// Digits of the flat index, as of (i*3 + j)//2.
std::optional<ShapeTracker> views_of_flat(const Map& map) {
  Shape shape;
  for (const Map::Input& i : map.inputs())
    if (const auto extent = i.extent())
      shape.push_back(*extent);
    else
      return std::nullopt;
  if (shape.size() < 2 || map.first_fastest() || !map.conditions().empty()) return std::nullopt;
  const auto line = views_of(map.flat());
  return line ? std::optional(simplify(line->reshape(shape))) : std::nullopt;
}

}  // namespace

std::optional<ShapeTracker> views_of(const Map& map) {
  const Map::Box box = map.box();
  if (map.results().size() != 1 || !box.rest.empty()) return std::nullopt;
  std::vector<sint> shape;
  bool symbolic = false;
  for (std::size_t v = 0; v < map.inputs().size(); ++v) {
    if (map.inputs()[v].lo.value_or(0) != 0 || map.inputs()[v].hi == INT64_MAX) return std::nullopt;
    symbolic = symbolic || (box.sides[v].extent && !box.sides[v].extent->is_int());
  }
  auto axes = any_axes(symbolic ? map : map.without_conditions());
  if (!axes) return views_of_flat(map);
  axes = joined(*std::move(axes), false);
  Shape digits, covered;
  Strides strides;
  Mask keep, ranges;
  Padding around;
  bool masked = box.empty, one_each = true;
  const std::size_t inputs = map.inputs().size();
  for (std::size_t v = 0, k = 0; v < inputs; ++v) {
    const std::size_t first = k;
    while (k < axes->axes.size() && axes->axes[k].input == v) ++k;
    one_each = one_each && k <= first + 1;
    sint all = 1;
    for (std::size_t j = k; j-- > first;) {
      const Axis& a = axes->axes[j];
      if (!a.size) return std::nullopt;
      digits.push_back(*a.size);
      strides.push_back(a.strides[0]);
      all = all * *a.size;
    }
    const Map::Input& in = map.inputs()[v];
    sint size = in.hi ? sint(*in.hi + 1) : box.sides[v].extent.value_or(0);
    if (box.sides[v].extent && !box.sides[v].extent->is_int()) size = *box.sides[v].extent;
    shape.push_back(size);
    covered.push_back(all);
    keep.emplace_back(0, size);
    const std::int64_t lo = box.sides[v].lo.value_or(0);
    const sint end = box.empty                        ? sint(lo)
                     : box.sides[v].extent && lo == 0 ? *box.sides[v].extent
                     : box.sides[v].hi                ? sint(*box.sides[v].hi + 1)
                                                      : size;
    ranges.emplace_back(lo, end);
    around.emplace_back(lo, size - end);
    masked = masked || lo != 0 || end != size;
  }
  try {
    if (covered == shape && one_each) {
      // Only valid addresses need be in the buffer.
      Strides own(inputs, 0);
      for (const Axis& a : axes->axes) own[a.input] = a.strides[0];
      return ShapeTracker({View::strided(shape, own, axes->offset[0], ranges)});
    }
    ShapeTracker t({View::strided(digits, strides, axes->offset[0])});
    t = t.reshape(covered);
    if (covered != shape) t = t.shrink(keep);
    if (masked) t = t.shrink(ranges).pad(around);
    return simplify(t);
  } catch (const ShapeError&) {  // below the buffer
    return std::nullopt;
  }
}

namespace {

// Swizzle<B, M, S> o layout, if a swizzle of the results leaves one.
std::optional<std::string> swizzled_text(const Map& map) {
  if (map.results().size() != 1) return std::nullopt;
  const auto bases = bases_of(map);
  if (!bases) return std::nullopt;
  constexpr int kMost = 8;
  for (int b = 1; b <= kMost; ++b)
    for (int m = 0; m <= kMost; ++m)
      for (int s = b; s <= kMost; ++s) {
        Layout l;
        std::int64_t used = 0;
        bool apart = true;
        for (const auto& of_input : *bases) {
          std::vector<Map::Mode>& modes = l.modes.emplace_back();
          for (const auto& basis : of_input) {
            const std::int64_t mask = (std::int64_t{1} << b) - 1,
                               to = basis[0] ^ ((basis[0] >> (m + s) & mask) << m);
            apart = apart && (to & used) == 0;
            used |= to;
            if (!modes.empty() && modes.back().stride * modes.back().size == to)
              modes.back().size *= 2;
            else
              modes.push_back({2, to});
          }
          if (modes.empty()) modes.push_back({1, 0});
        }
        if (apart) return fmt::format("Swizzle<{},{},{}> o {}", b, m, s, cute_text(l));
      }
  return std::nullopt;
}

// A pattern whose left side has the modes by decreasing stride: "a b -> b a, a=4, b=8".
std::optional<std::string> pattern_text(const Layout& l) {
  std::vector<Map::Mode> order;
  for (const auto& modes : l.modes)
    for (const Map::Mode& m : modes)
      if (m.size > 1) order.push_back(m);
  constexpr std::size_t kLetters = 26;
  std::ranges::sort(order,
                    [](const Map::Mode& a, const Map::Mode& b) { return a.stride > b.stride; });
  std::int64_t next = 1;
  for (std::size_t k = order.size(); k-- > 0; next = checked_mul(next, order[k].size))
    if (order[k].stride != next || order.size() > kLetters) return std::nullopt;
  if (l.offset != 0 || order.empty()) return std::nullopt;
  const auto name = [&](const Map::Mode& m) {
    const auto at = std::ranges::find(order, m.stride, &Map::Mode::stride);
    return static_cast<char>('a' + (at - order.begin()));
  };
  std::string left, right, sizes;
  for (const Map::Mode& m : order) {
    left += fmt::format("{}{}", left.empty() ? "" : " ", name(m));
    sizes += fmt::format(", {}={}", name(m), m.size);
  }
  for (const auto& modes : l.modes) {
    std::string group;
    std::size_t count = 0;
    for (std::size_t k = modes.size(); k-- > 0;)
      if (modes[k].size > 1) group += fmt::format("{}{}", count++ > 0 ? " " : "", name(modes[k]));
    right += fmt::format(" {}", count == 1 ? group : count == 0 ? "1" : "(" + group + ")");
  }
  return fmt::format("{} ->{}{}", left, right, sizes);
}

std::string bases_text(const Map& map, const Bases& bases) {
  std::string text;
  for (std::size_t v = 0; v < bases.size(); ++v)
    for (std::size_t j = 0; j < bases[v].size(); ++j)
      text += fmt::format("{}{}={} -> ({})", text.empty() ? "" : ", ", map.inputs()[v].name,
                          std::int64_t{1} << j, fmt::join(bases[v][j], ", "));
  return text;
}

}  // namespace

std::string written(const Map& map, const std::string& notation) {
  const auto none = [&](const std::string& why) -> Error {
    return Error(fmt::format("{} has no form as {}: {}", map.str(), notation, why));
  };
  if (notation == "cute" || notation == "cutlass") {
    if (const auto l = layout_of(map)) return cute_text(*l);
    if (const auto text = swizzled_text(map)) return *text;
    throw none("it is no sum of digits times strides, nor a swizzle of one");
  }
  if (notation == "einops" || notation == "rearrange") {
    const auto l = layout_of(map);
    if (const auto text = l ? pattern_text(*l) : std::nullopt) return *text;
    throw none("it does not only permute axes");
  }
  if (notation == "triton" || notation == "linear") {
    if (const auto bases = bases_of(map)) return bases_text(map, *bases);
    throw none("its bits are not sums of bits of inputs with 2^k values");
  }
  if (notation == "view" || notation == "strides") {
    const auto views = views_of(map);
    if (!views) throw none("no stack of views was found");
    if (notation == "view") return views->str();
    const View& v = views->views()[0];
    if (views->views().size() > 1 || v.mask()) throw none("it needs several views, or a mask");
    const auto list = [](const auto& all) {
      std::string text;
      for (const sint& s : all) text += (text.empty() ? "" : ", ") + s.str();
      return all.size() == 1 ? text + "," : text;
    };
    return fmt::format("shape=({}), strides=({}), offset={}", list(v.shape()), list(v.strides()),
                       v.offset().str());
  }
  const symbolic::Language to = symbolic::parse_language(notation);
  if (map.box().empty) throw none("no point is in its domain");
  const std::vector<symbolic::Question> questions = map.questions();
  std::vector<std::string> texts, symbols;
  for (const symbolic::Question& q : questions) texts.push_back(q.text);
  for (const Map::Input& s : map.symbols()) symbols.push_back(s.name);
  return symbolic::written(texts, questions.at(0), to, {}, symbols);
}

}  // namespace touchstone::maps

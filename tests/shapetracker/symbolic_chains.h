#pragma once

#include <algorithm>

#include "draws.h"
#include "model.h"
#include "touchstone/view/shapetracker.h"

namespace touchstone::model {

/// A chain of movement operations whose numbers hold up to four variables: the tracker, and for
/// every combination of their values the array of addresses that the operations define, worked out
/// with the numbers alone.
struct SymbolicChain {
  struct Variable {
    std::string name;
    std::int64_t low, high;
  };
  std::vector<Variable> variables;
  ShapeTracker tracker;
  std::vector<symbolic::Values> bindings;
  std::vector<Array> arrays;  // one a binding
  std::string story;

  std::string text() const { return story + " -> " + tracker.str(); }
  std::int64_t largest() const {
    std::int64_t most = 0;
    for (const Array& array : arrays) most = std::max(most, count(array.shape));
    return most;
  }
};

/// Draws chains, one operation after the other. What the bounds leave open is left out.
class SymbolicChainMaker {
 public:
  SymbolicChainMaker(Draws& draws, std::vector<std::string> names)
      : draws_(draws), names_(std::move(names)) {}

  SymbolicChain make(std::int64_t operations) {
    declare();
    start();
    for (; operations > 0; --operations) step();
    return std::move(chain_);
  }

 private:
  using Op = std::function<ShapeTracker(const ShapeTracker&)>;
  using Move = std::function<Array(const Array&, const symbolic::Values&)>;
  static constexpr std::int64_t kMostElements = 160;

  void declare() {
    const std::int64_t count = draws_.between(1, std::ssize(names_));
    chain_.bindings = {{}};
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t low = draws_.between(0, 2),
                         high = low + draws_.between(1, 3 - (count > 2));
      const std::string& name = names_[static_cast<std::size_t>(i)];
      chain_.variables.push_back({name, low, high});
      nodes_.push_back(symbolic::variable(name, low, high));
      std::vector<symbolic::Values> all;
      for (const symbolic::Values& values : chain_.bindings)
        for (std::int64_t value = low; value <= high; ++value) {
          all.push_back(values);
          all.back().emplace(name, value);
        }
      chain_.bindings = std::move(all);
      chain_.story += fmt::format("{} in {}..{}, ", name, low, high);
    }
  }

  // A number that is small, never negative.
  sint number(std::int64_t most) {
    const sint v = any_variable(), w = any_variable();
    switch (draws_.below(8)) {
      case 0:
      case 1:
        return v;
      case 2:
        return v + draws_.between(0, 2);
      case 3:
        return v * 2;
      case 4:
        return certainly_le(w, v) ? v - w : v + w;
      case 5:  // the rest up to a largest value
        return certainly_le(1, v) ? v - 1 : sint(*v.max()) - v;
      default:
        return draws_.between(draws_.one_in(6) ? 0 : 1, most);
    }
  }
  sint any_variable() {
    return sint(nodes_[static_cast<std::size_t>(draws_.below(std::ssize(nodes_)))]);
  }

  void start() {
    Shape shape;
    for (std::int64_t rank = draws_.between(0, 3); rank > 0; --rank)
      shape.push_back(draws_.one_in(5) ? sint(1) : number(4));
    while (!shape.empty() && View::contiguous(shape).max_size() > kMostElements) shape.pop_back();
    chain_.tracker = ShapeTracker::contiguous(shape);
    for (const symbolic::Values& values : chain_.bindings)
      chain_.arrays.push_back(Array::contiguous(put(shape, values)));
    chain_.story += str(std::span<const sint>(shape));
  }

  static Ints put(const Shape& shape, const symbolic::Values& values) {
    Ints numbers;
    for (const sint& size : shape) numbers.push_back(size.evaluate(values));
    return numbers;
  }

  void apply(const std::string& story, const Op& op, const Move& move) {
    try {
      ShapeTracker next = op(chain_.tracker);
      if (next.max_size() > kMostElements) return;
      chain_.tracker = std::move(next);
    } catch (const ShapeError&) {  // the bounds leave open whether it may be done
      return;
    }
    for (std::size_t i = 0; i < chain_.arrays.size(); ++i)
      chain_.arrays[i] = move(chain_.arrays[i], chain_.bindings[i]);
    chain_.story += " " + story;
  }

  void step() {
    switch (draws_.below(9)) {
      case 0:
        return permute();
      case 1:
        return expand();
      case 2:
        return pad();
      case 3:
        return shrink();
      case 4:
        return stride();
      case 5:
        return flip();
      case 6:
        return as_strided();
      default:
        return reshape();
    }
  }

  void permute() {
    std::vector<int> order(chain_.tracker.shape().size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[static_cast<std::size_t>(draws_.below(static_cast<int>(i)))]);
    apply(
        fmt::format("permute ({})", fmt::join(order, ", ")),
        [&](const ShapeTracker& st) { return st.permute(order); },
        [&](const Array& array, const symbolic::Values&) {
          Ints wanted;
          for (const int axis : order)
            wanted.push_back(array.shape[static_cast<std::size_t>(axis)]);
          return array.remap(wanted, [&](const Ints& index) {
            Ints source(index.size());
            for (std::size_t i = 0; i < order.size(); ++i)
              source[static_cast<std::size_t>(order[i])] = index[i];
            return source;
          });
        });
  }

  // Neighbours joined, an axis split by a factor, ones put in and left out.
  void reshape() {
    Shape shape;
    for (const sint& size : chain_.tracker.shape()) {
      if (size == sint(1) && draws_.one_in(2)) continue;
      if (draws_.one_in(6)) shape.emplace_back(1);
      if (!shape.empty() && draws_.one_in(2)) {
        shape.back() = shape.back() * size;
        continue;
      }
      const sint factor = draws_.one_in(2) ? sint(draws_.between(2, 3)) : any_variable();
      if (draws_.one_in(3) && certainly_le(1, factor) && floor_div(size, factor) * factor == size) {
        const bool first = draws_.one_in(2);
        shape.push_back(first ? factor : floor_div(size, factor));
        shape.push_back(first ? floor_div(size, factor) : factor);
        continue;
      }
      shape.push_back(size);
    }
    apply(
        "reshape " + str(std::span<const sint>(shape)),
        [&](const ShapeTracker& st) { return st.reshape(shape); },
        [&](const Array& array, const symbolic::Values& values) {
          return Array{put(shape, values), array.address};
        });
  }

  void expand() {
    Shape shape = chain_.tracker.shape();
    for (sint& size : shape)
      if (size == sint(1)) size = number(3);
    apply(
        "expand " + str(std::span<const sint>(shape)),
        [&](const ShapeTracker& st) { return st.expand(shape); },
        [&](const Array& array, const symbolic::Values& values) {
          return array.remap(put(shape, values), [&](Ints index) {
            for (std::size_t i = 0; i < index.size(); ++i)
              if (array.shape[i] == 1) index[i] = 0;
            return index;
          });
        });
  }

  void pad() {
    Padding padding;
    for (std::size_t i = 0; i < chain_.tracker.shape().size(); ++i)
      padding.emplace_back(draws_.one_in(3) ? number(2) : sint(0),
                           draws_.one_in(3) ? number(2) : sint(0));
    std::string story = "pad";
    for (const auto& [before, after] : padding)
      story += fmt::format(" {}:{}", before.str(), after.str());
    apply(
        story, [&](const ShapeTracker& st) { return st.pad(padding); },
        [&](const Array& array, const symbolic::Values& values) {
          Ints wanted = array.shape;
          for (std::size_t i = 0; i < wanted.size(); ++i)
            wanted[i] += padding[i].first.evaluate(values) + padding[i].second.evaluate(values);
          return array.remap(wanted, [&](Ints index) {
            for (std::size_t i = 0; i < index.size(); ++i)
              index[i] -= padding[i].first.evaluate(values);
            return index;
          });
        });
  }

  void shrink() {
    Mask keep;
    for (const sint& size : chain_.tracker.shape()) {
      sint begin = 0, end = size;
      if (draws_.one_in(2)) begin = number(2);
      if (draws_.one_in(3)) end = draws_.one_in(2) ? size - number(2) : begin + number(2);
      if (!certainly_le(begin, end)) end = size;
      if (!certainly_le(begin, size)) begin = 0;
      keep.emplace_back(begin, end);
    }
    std::string story = "shrink";
    for (const auto& [begin, end] : keep) story += fmt::format(" {}:{}", begin.str(), end.str());
    apply(
        story, [&](const ShapeTracker& st) { return st.shrink(keep); },
        [&](const Array& array, const symbolic::Values& values) {
          Ints wanted;
          for (const auto& [begin, end] : keep)
            wanted.push_back(end.evaluate(values) - begin.evaluate(values));
          return array.remap(wanted, [&](Ints index) {
            for (std::size_t i = 0; i < index.size(); ++i)
              index[i] += keep[i].first.evaluate(values);
            return index;
          });
        });
  }

  void stride_by(const std::string& story, const Ints& steps, const Op& op) {
    apply(story, op, [&](const Array& array, const symbolic::Values&) {
      Ints wanted;
      for (std::size_t i = 0; i < steps.size(); ++i)
        wanted.push_back((array.shape[i] + std::abs(steps[i]) - 1) / std::abs(steps[i]));
      return array.remap(wanted, [&](Ints index) {
        for (std::size_t i = 0; i < index.size(); ++i)
          index[i] = steps[i] > 0 ? index[i] * steps[i] : array.shape[i] - 1 + index[i] * steps[i];
        return index;
      });
    });
  }

  void stride() {
    Ints steps;
    for (std::size_t i = 0; i < chain_.tracker.shape().size(); ++i)
      steps.push_back(draws_.between(1, draws_.one_in(2) ? 3 : 1) * (draws_.one_in(3) ? -1 : 1));
    stride_by(fmt::format("stride ({})", fmt::join(steps, ", ")), steps,
              [&](const ShapeTracker& st) { return st.stride(steps); });
  }

  void flip() {
    std::vector<int> axes;
    Ints steps(chain_.tracker.shape().size(), 1);
    for (std::size_t i = steps.size(); i-- > 0;) {
      if (!draws_.one_in(2)) continue;
      axes.push_back(static_cast<int>(i));
      steps[i] = -1;
    }
    stride_by(fmt::format("flip ({})", fmt::join(axes, ", ")), steps,
              [&](const ShapeTracker& st) { return st.flip(axes); });
  }

  // Strides of 0, negative ones and overlaps among them.
  void as_strided() {
    Shape shape;
    Strides strides;
    sint low = 0;
    for (std::int64_t rank = draws_.between(0, 3); rank > 0; --rank) {
      shape.push_back(number(3));
      strides.push_back(draws_.one_in(3) ? any_variable() : sint(draws_.between(-2, 3)));
      if (draws_.one_in(4)) strides.back() = sint(0) - strides.back();
      if (!certainly_le(0, strides.back())) low = low - strides.back() * (shape.back() - 1);
    }
    const sint offset = low + draws_.between(0, 1);
    std::string story = fmt::format("as_strided {} {} {}", str(std::span<const sint>(shape)),
                                    str(std::span<const sint>(strides)), offset.str());
    apply(
        story, [&](const ShapeTracker& st) { return st.as_strided(shape, strides, offset); },
        [&](const Array& array, const symbolic::Values& values) {
          const Ints steps = put(strides, values);
          const Array flat{{count(array.shape)}, array.address};
          return flat.remap(put(shape, values), [&](const Ints& index) {
            std::int64_t k = offset.evaluate(values);
            for (std::size_t i = 0; i < index.size(); ++i) k += index[i] * steps[i];
            return Ints{k};
          });
        });
  }

  Draws& draws_;
  std::vector<std::string> names_;
  std::vector<symbolic::Node> nodes_;
  SymbolicChain chain_;
};

inline SymbolicChain any_symbolic_chain(Draws& draws, std::int64_t operations = 5,
                                        std::vector<std::string> names = {"n", "m", "k", "j"}) {
  return SymbolicChainMaker(draws, std::move(names)).make(draws.between(0, operations));
}

}  // namespace touchstone::model

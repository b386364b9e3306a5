#include <algorithm>
#include <numeric>

#include "touchstone/base/error.h"
#include "touchstone/fuzz/cases/far_case.h"

namespace touchstone::fuzz {
namespace {

using Sizes = std::vector<std::int64_t>;

class FarDraw {
 public:
  explicit FarDraw(Chooser& chooser) : chooser_(chooser) {}

  std::string draw() {
    constexpr DType kTypes[] = {DType::UInt8, DType::Int8,  DType::Int16, DType::UInt8,
                                DType::Int32, DType::Int64, DType::UInt16};
    case_.dtype = kTypes[chooser_.below(std::size(kTypes))];
    start();
    for (std::uint64_t steps = chooser_.below(5); steps > 0; --steps) step();
    if (shape_.size() == 2 && shape_[1] <= 8 && chooser_.chance(1, 2)) return rows();
    window();
    program();
    return case_.str();
  }

 private:
  std::int64_t most() const {
    return (std::int64_t{5} << 30) / static_cast<std::int64_t>(itemsize(case_.dtype));
  }

  // Slightly below or above 2^31 or 2^32 elements, or bytes.
  std::int64_t round_edge() {
    std::int64_t n = std::int64_t{1} << (31 + chooser_.below(2));
    if (chooser_.chance(1, 2)) n /= static_cast<std::int64_t>(itemsize(case_.dtype));
    if (n > most() - 64) n = most() - 64;
    return n + chooser_.between(-40, 40);
  }

  void start() {
    const std::int64_t n = round_edge();
    const auto way = chooser_.below(4);
    const std::int64_t rows = chooser_.between(2, 5), columns = chooser_.between(2, 6);
    if (way == 0) shape_ = {n};
    if (way == 1) shape_ = {rows, n / rows + 1};
    if (way == 2) shape_ = {n / columns + 1, columns};
    if (way == 3) {
      constexpr std::int64_t kWide[] = {65536, 46341, 4096, 1000};
      const std::int64_t wide = kWide[chooser_.below(4)];
      shape_ = {chooser_.between(1, 2), n / wide + 1, wide};
      if (product() > most()) shape_[0] = 1;
    }
    while (product() > most()) --*std::ranges::max_element(shape_);
    case_.chain.base = {shape_.begin(), shape_.end()};
  }

  std::int64_t product() const {
    return std::accumulate(shape_.begin(), shape_.end(), std::int64_t{1}, std::multiplies<>());
  }

  void add(MovementOp op) { case_.chain.ops.push_back(std::move(op)); }

  void step() {
    using Step = void (FarDraw::*)();
    static constexpr Step kSteps[] = {&FarDraw::permute, &FarDraw::stride, &FarDraw::pad,
                                      &FarDraw::divide,  &FarDraw::merge,  &FarDraw::halve};
    (this->*kSteps[chooser_.below(std::size(kSteps))])();
  }

  void permute() {
    const MovementOp op{.kind = MovementOp::Kind::Permute,
                        .order = chooser_.order<int>(shape_.size())};
    Sizes moved;
    for (const int axis : op.order) moved.push_back(shape_[static_cast<std::size_t>(axis)]);
    shape_ = moved;
    add(op);
  }

  void stride() {
    MovementOp op{.kind = MovementOp::Kind::Stride};
    for (std::int64_t& size : shape_) {
      constexpr std::int64_t kSteps[] = {1, -1, 2, -2, 3, 65537, -1000003};
      op.steps.push_back(kSteps[chooser_.below(size > 1 << 21 ? 7 : 5)]);
      size = (size - 1) / std::abs(op.steps.back()) + 1;
    }
    add(op);
  }

  void pad() {
    MovementOp op{.kind = MovementOp::Kind::Pad};
    for (std::int64_t& size : shape_) {
      std::int64_t a = chooser_.between(0, 2);
      const std::int64_t b = chooser_.between(0, 2);
      // Keeps the element count within 64 bits, also after another such step.
      if (chooser_.chance(1, 6) && product() / size < std::int64_t{1} << 16) a = round_edge();
      op.ends.emplace_back(a, b);
      size += a + b;
    }
    add(op);
  }

  // Splits an axis by a divisor.
  void divide() {
    const auto axis = static_cast<std::size_t>(chooser_.index(shape_.size()));
    for (const std::int64_t by : {65536, 1000, 256, 5, 3, 2}) {
      if (shape_[axis] % by != 0 || shape_[axis] == by || chooser_.chance(1, 3)) continue;
      shape_[axis] /= by;
      shape_.insert(shape_.begin() + static_cast<std::ptrdiff_t>(axis) + 1, by);
      return reshape();
    }
  }

  void merge() {
    if (shape_.size() < 2) return;
    const auto axis = static_cast<std::size_t>(chooser_.index(shape_.size() - 1));
    shape_[axis] *= shape_[axis + 1];
    shape_.erase(shape_.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
    reshape();
  }

  void reshape() {
    add({.kind = MovementOp::Kind::Reshape, .shape = {shape_.begin(), shape_.end()}});
  }

  // The last part of an axis.
  void halve() {
    MovementOp op{.kind = MovementOp::Kind::Shrink};
    const auto axis = static_cast<std::size_t>(chooser_.index(shape_.size()));
    for (std::size_t i = 0; i < shape_.size(); ++i) {
      const std::int64_t from = i == axis ? shape_[i] / 2 : 0;
      op.ends.emplace_back(from, shape_[i]);
      shape_[i] -= from;
    }
    add(op);
  }

  // A few elements of each axis: at its end, around an edge, or anywhere.
  void window() {
    MovementOp op{.kind = MovementOp::Kind::Shrink};
    std::int64_t left = kMostFar / 4;
    for (std::int64_t& size : shape_) {
      const std::int64_t width = std::min({size, chooser_.between(1, 9), left});
      std::int64_t from = size - width;
      const std::int64_t edge = (std::int64_t{1} << (31 + chooser_.below(2))) - width / 2;
      const auto way = chooser_.below(4);
      if (way == 0 && edge > 0 && edge < from) from = edge;
      if (way == 1) from = chooser_.between(0, from);
      op.ends.emplace_back(from, from + width);
      left = std::max<std::int64_t>(left / width, 1);
      size = width;
    }
    add(op);
  }

  void program() {
    using Kernel = FarCase::Kernel;
    constexpr Kernel kAll[] = {Kernel::Load, Kernel::Sum, Kernel::Max, Kernel::Neg};
    case_.program = kAll[chooser_.below(4)];
    if (case_.program != Kernel::Sum && case_.program != Kernel::Max) return;
    for (std::size_t i = 0; i < shape_.size(); ++i)
      if (chooser_.chance(1, 2)) case_.axes.push_back(static_cast<int>(i));
    if (case_.axes.empty()) case_.program = Kernel::Load;
  }

  std::string rows() {
    case_.program = FarCase::Kernel::Rows;
    for (std::int64_t i = 0; i < shape_[1]; ++i) {
      const auto way = chooser_.below(4);
      case_.rows.push_back(way == 0   ? shape_[0] - chooser_.between(0, 3)
                           : way == 1 ? chooser_.between(-2, 3)
                                      : chooser_.between(0, shape_[0] - 1));
    }
    return case_.str();
  }

  Chooser& chooser_;
  FarCase case_;
  Sizes shape_;
};

}  // namespace

std::string draw_far(Chooser& chooser) {
  for (int tries = 0; tries < 8; ++tries) {
    std::string text = FarDraw(chooser).draw();
    try {
      (void)FarCase::parse(text).kernel();
      return text;
    } catch (const OverflowError&) {
      continue;  // the address of padding does not fit in 64 bits
    }
  }
  return "uint8 | 4294967297 | load";
}

}  // namespace touchstone::fuzz

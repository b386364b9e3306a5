#include <algorithm>
#include <numeric>

#include "touchstone/base/error.h"
#include "touchstone/fuzz/cases/far_case.h"
#include "touchstone/fuzz/index/movement_draw.h"

namespace touchstone::fuzz {
namespace {

class FarDraw {
  using Sizes = MovementDraw::Sizes;

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

  void permute() { add(draw_.permute()); }

  void stride() {
    constexpr std::int64_t kSteps[] = {1, -1, 2, -2, 3, 65537, -1000003};
    add(draw_.stride(
        [&](std::int64_t size) { return kSteps[chooser_.below(size > 1 << 21 ? 7 : 5)]; }));
  }

  void pad() {
    const auto ends = [&](std::int64_t size) {
      std::int64_t a = chooser_.between(0, 2);
      const std::int64_t b = chooser_.between(0, 2);
      // Keeps the element count within 64 bits, also after another such step.
      if (chooser_.chance(1, 6) && product() / size < std::int64_t{1} << 16) a = round_edge();
      return std::pair{a, b};
    };
    add(draw_.ends(MovementOp::Kind::Pad, ends));
  }

  // Splits an axis by a divisor.
  void divide() {
    const auto axis = static_cast<std::size_t>(chooser_.index(shape_.size()));
    for (const std::int64_t by : {65536, 1000, 256, 5, 3, 2}) {
      if (shape_[axis] % by != 0 || shape_[axis] == by || chooser_.chance(1, 3)) continue;
      Sizes to = shape_;
      to[axis] /= by;
      to.insert(to.begin() + static_cast<std::ptrdiff_t>(axis) + 1, by);
      return add(draw_.reshape(std::move(to)));
    }
  }

  void merge() {
    if (shape_.size() < 2) return;
    const auto axis = static_cast<std::size_t>(chooser_.index(shape_.size() - 1));
    Sizes to = shape_;
    to[axis] *= to[axis + 1];
    to.erase(to.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
    add(draw_.reshape(std::move(to)));
  }

  // The last part of an axis.
  void halve() {
    const std::int64_t* const axis =
        &shape_[static_cast<std::size_t>(chooser_.index(shape_.size()))];
    add(draw_.ends(MovementOp::Kind::Shrink, [&](const std::int64_t& size) {
      return std::pair{&size == axis ? size / 2 : 0, std::int64_t{0}};
    }));
  }

  // A few elements of each axis: at its end, around an edge, or anywhere.
  void window() {
    std::int64_t left = kMostFar / 4;
    add(draw_.ends(MovementOp::Kind::Shrink, [&](std::int64_t size) {
      const std::int64_t width = std::min({size, chooser_.between(1, 9), left});
      std::int64_t from = size - width;
      const std::int64_t edge = (std::int64_t{1} << (31 + chooser_.below(2))) - width / 2;
      const auto way = chooser_.below(4);
      if (way == 0 && edge > 0 && edge < from) from = edge;
      if (way == 1) from = chooser_.between(0, from);
      left = std::max<std::int64_t>(left / width, 1);
      return std::pair{from, size - from - width};
    }));
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
  MovementDraw draw_{chooser_, shape_};
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

#include "touchstone/codegen/block_builder.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "touchstone/base/hash.h"

namespace touchstone::codegen {

namespace {

using Number = std::optional<std::int64_t>;

// The value of a op b if its known operands determine it. Overflow of 64 bits and division by 0 are
// left to the code.
Number decided(IndexOp op, Number a, Number b) {
  if (op == IndexOp::And && (a == 0 || b == 0)) return 0;
  if (op == IndexOp::Or && (a.value_or(0) != 0 || b.value_or(0) != 0)) return 1;
  if (op == IndexOp::Not) return a ? Number(*a == 0) : std::nullopt;
  if (!a || !b) return std::nullopt;
  std::int64_t result = 0;
  switch (op) {
    case IndexOp::Add:
      return __builtin_add_overflow(*a, *b, &result) ? std::nullopt : Number(result);
    case IndexOp::Sub:
      return __builtin_sub_overflow(*a, *b, &result) ? std::nullopt : Number(result);
    case IndexOp::Mul:
      return __builtin_mul_overflow(*a, *b, &result) ? std::nullopt : Number(result);
    case IndexOp::Lt: return *a < *b;
    case IndexOp::Le: return *a <= *b;
    case IndexOp::Eq: return *a == *b;
    case IndexOp::Ne: return *a != *b;
    case IndexOp::And: return *a != 0 && *b != 0;
    case IndexOp::Or: return *a != 0 || *b != 0;
    case IndexOp::Min: return std::min(*a, *b);
    case IndexOp::Max: return std::max(*a, *b);
    case IndexOp::Div:
    case IndexOp::Mod:  // of non-negative numbers
      if (*a < 0 || *b <= 0) return std::nullopt;
      return op == IndexOp::Div ? *a / *b : *a % *b;
    case IndexOp::FloorDiv:
    case IndexOp::FloorMod:
    case IndexOp::Not:
    case IndexOp::Where: break;
  }
  return std::nullopt;
}

}  // namespace

BlockBuilder::BlockBuilder() : blocks_(1), made_(128) {
  values_.reserve(64);
  block_of_.reserve(64);
}

int BlockBuilder::home(const LinearStep& uop) const {
  int deepest = 0;
  for (const int s : uop.src) {
    const int b = block_of_[static_cast<std::size_t>(s)];
    if (block(b).depth > block(deepest).depth) deepest = b;
  }
  if (uop.kind != StepKind::Load && uop.kind != StepKind::Check) return deepest;
  int b = open_;
  while (b != deepest && block(b).runs) b = block(b).parent;
  return b;
}

int BlockBuilder::append(LinearStep uop, int b) {
  const int value = static_cast<int>(values_.size());
  values_.push_back(std::move(uop));
  block_of_.push_back(b);
  block(b).items.push_back(value);
  return value;
}

int BlockBuilder::value(LinearStep uop) {
  const int b = home(uop);
  const std::uint64_t hash = hash_mix(hash_of(uop), static_cast<std::uint64_t>(b));
  std::size_t at = place_of(uop, b, hash);
  if (made_[at].value != -1) return made_[at].value;
  if (2 * ++shared_ > made_.size()) {
    make_room();
    at = place_of(uop, b, hash);
  }
  const int made = append(std::move(uop), b);
  made_[at] = {made, hash};
  return made;
}

std::size_t BlockBuilder::place_of(const LinearStep& uop, int b, std::uint64_t hash) const {
  const std::size_t mask = made_.size() - 1;
  std::size_t at = hash & mask;
  for (; made_[at].value != -1; at = (at + 1) & mask) {
    const auto value = static_cast<std::size_t>(made_[at].value);
    if (made_[at].hash == hash && block_of_[value] == b && values_[value] == uop) break;
  }
  return at;
}

void BlockBuilder::make_room() {
  std::vector<Made> old(2 * made_.size());
  old.swap(made_);
  const std::size_t mask = made_.size() - 1;
  for (const Made& entry : old) {
    if (entry.value == -1) continue;
    std::size_t at = entry.hash & mask;
    while (made_[at].value != -1) at = (at + 1) & mask;
    made_[at] = entry;
  }
}

int BlockBuilder::here(LinearStep uop) { return append(std::move(uop), open_); }

int BlockBuilder::int_const(std::int64_t value) {
  return constant(Scalar::from_int(DType::Int64, value));
}

int BlockBuilder::constant(const Scalar& scalar) {
  return value({StepKind::Const, scalar.dtype(), {}, scalar});
}

std::optional<std::int64_t> BlockBuilder::known(int value) const {
  const LinearStep& made = uop(value);
  if (made.kind != StepKind::Const || made.dtype != DType::Int64) return std::nullopt;
  return std::get<Scalar>(made.arg).to_int64();
}

int BlockBuilder::index(IndexOp op, Operands src) {
  if (op == IndexOp::Where && src[1] == src[2]) return src[1];
  if (op == IndexOp::Where && known(src[0])) return src[*known(src[0]) != 0 ? 1 : 2];
  std::array<std::optional<std::int64_t>, 3> numbers;
  for (std::size_t k = 0; k < src.size(); ++k) numbers[k] = known(src[k]);
  if (const auto number = decided(op, numbers[0], numbers[1])) return int_const(*number);
  return value({StepKind::Index, DType::Int64, src, op});
}

int BlockBuilder::alu(Op op, DType dtype, Operands src) {
  if (op == Op::Where) {
    const auto truth = [&](int value) -> std::optional<bool> {
      const LinearStep& made = uop(value);
      if (made.kind != StepKind::Const || made.dtype != DType::Bool) return std::nullopt;
      return std::get<Scalar>(made.arg).to_int64() != 0;
    };
    if (const auto holds = truth(src[0])) return src[*holds ? 1 : 2];
    if (truth(src[1]) == true && truth(src[2]) == false) return src[0];
  }
  return value({StepKind::Alu, dtype, src, op});
}

int BlockBuilder::open_loop(const Range& range, std::string name) {
  const int b = static_cast<int>(blocks_.size());
  blocks_.emplace_back();
  block(b).parent = open_;
  block(b).depth = block(open_).depth + 1;
  block(b).runs = range.runs;
  open_ = b;
  Operands src{range.begin, range.end};
  if (range.copies != -1) src.push_back(range.copies);
  const int counter = here({StepKind::Loop, DType::Int64, src, std::move(name)});
  block(b).counter = counter;
  return counter;
}

// A loop joins its parent only now, so that values hoisted out of it precede it.
void BlockBuilder::close_loop() {
  assert(open_ != 0);
  here({StepKind::EndLoop, DType::Int64, {block(open_).counter}, {}});
  const int closed = open_;
  open_ = block(closed).parent;
  block(open_).items.push_back(-1 - closed);
}

int BlockBuilder::go_out_to(int depth) {
  const int from = open_;
  while (block(open_).depth > depth) open_ = block(open_).parent;
  return from;
}

int BlockBuilder::certain_depth() const {
  int b = open_;
  while (block(b).runs && b != 0) b = block(b).parent;
  return block(b).depth;
}

void BlockBuilder::resume(int block) { open_ = block; }

bool BlockBuilder::is_visible(int value) const {
  const int made_in = block_of_[static_cast<std::size_t>(value)];
  int b = open_;
  while (b != made_in && b != 0) b = block(b).parent;
  return b == made_in;
}

int BlockBuilder::depth(int value) const {
  return block(block_of_[static_cast<std::size_t>(value)]).depth;
}

LinearKernel BlockBuilder::finish(int split_value) {
  assert(open_ == 0);
  LinearKernel kernel;
  kernel.steps.reserve(values_.size());
  std::vector<int> number(values_.size(), -1);
  std::vector<std::pair<int, std::size_t>> path{{0, 0}};  // a block and its next item
  while (!path.empty()) {
    auto& [b, next] = path.back();
    if (next == block(b).items.size()) {
      path.pop_back();
      continue;
    }
    const int item = block(b).items[next++];
    if (item < 0) {
      path.emplace_back(-1 - item, 0);
      continue;
    }
    LinearStep& uop = values_[static_cast<std::size_t>(item)];
    for (int& s : uop.src) s = number[static_cast<std::size_t>(s)];
    number[static_cast<std::size_t>(item)] = static_cast<int>(kernel.steps.size());
    kernel.steps.push_back(std::move(uop));
  }
  if (split_value >= 0) kernel.split = number[static_cast<std::size_t>(split_value)];
  numbers_ = std::move(number);
  return kernel;
}

}  // namespace touchstone::codegen

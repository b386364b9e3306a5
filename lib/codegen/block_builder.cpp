#include "touchstone/codegen/block_builder.h"

#include <cassert>

namespace touchstone::codegen {

BlockBuilder::BlockBuilder() : blocks_(1) {}

int BlockBuilder::home(const UOp& uop) const {
  int deepest = 0;
  for (const int s : uop.src) {
    const int b = block_of_[static_cast<std::size_t>(s)];
    if (block(b).depth > block(deepest).depth) deepest = b;
  }
  if (uop.kind != UOps::Load) return deepest;
  int b = open_;
  while (b != deepest && block(b).runs) b = block(b).parent;
  return b;
}

int BlockBuilder::append(UOp uop, int b) {
  const int value = static_cast<int>(values_.size());
  values_.push_back(std::move(uop));
  block_of_.push_back(b);
  block(b).items.push_back(value);
  return value;
}

int BlockBuilder::value(UOp uop) {
  const int b = home(uop);
  const auto found = block(b).made.find(uop);
  if (found != block(b).made.end()) return found->second;
  const int value = append(uop, b);
  block(b).made.emplace(std::move(uop), value);
  return value;
}

int BlockBuilder::here(UOp uop) { return append(std::move(uop), open_); }

int BlockBuilder::int_const(std::int64_t value) {
  return constant(Scalar::from_int(DType::Int64, value));
}

int BlockBuilder::constant(const Scalar& scalar) {
  return value({UOps::Const, scalar.dtype(), {}, scalar});
}

int BlockBuilder::index(IndexOp op, std::vector<int> src) {
  return value({UOps::Index, DType::Int64, std::move(src), op});
}

int BlockBuilder::alu(Op op, DType dtype, std::vector<int> src) {
  return value({UOps::Alu, dtype, std::move(src), op});
}

int BlockBuilder::open_loop(int begin, int end, std::string name, bool runs) {
  const int b = static_cast<int>(blocks_.size());
  blocks_.emplace_back();
  block(b).parent = open_;
  block(b).depth = block(open_).depth + 1;
  block(b).runs = runs;
  open_ = b;
  const int counter = here({UOps::Loop, DType::Int64, {begin, end}, std::move(name)});
  block(b).counter = counter;
  return counter;
}

// A loop joins its parent only now: what was hoisted out of it meanwhile stands before it.
void BlockBuilder::close_loop() {
  assert(open_ != 0);
  here({UOps::EndLoop, DType::Int64, {block(open_).counter}, {}});
  const int closed = open_;
  open_ = block(closed).parent;
  block(open_).items.push_back(-1 - closed);
}

int BlockBuilder::go_out_to(int depth) {
  const int from = open_;
  while (block(open_).depth > depth) open_ = block(open_).parent;
  return from;
}

void BlockBuilder::resume(int block) { open_ = block; }

int BlockBuilder::depth(int value) const {
  return block(block_of_[static_cast<std::size_t>(value)]).depth;
}

LinearKernel BlockBuilder::finish(int split_value) const {
  assert(open_ == 0);
  LinearKernel kernel;
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
    UOp uop = values_[static_cast<std::size_t>(item)];
    for (int& s : uop.src) s = number[static_cast<std::size_t>(s)];
    number[static_cast<std::size_t>(item)] = static_cast<int>(kernel.uops.size());
    kernel.uops.push_back(std::move(uop));
  }
  if (split_value >= 0) kernel.split = number[static_cast<std::size_t>(split_value)];
  return kernel;
}

}  // namespace touchstone::codegen

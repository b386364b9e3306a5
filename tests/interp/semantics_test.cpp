#include "touchstone/interp/oracle/semantics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels.h"
#include "touchstone/base/file.h"

// The examples of docs/semantics.md, run on the CPU device for every type they mention.

namespace touchstone {
namespace {

std::vector<std::string> split(const std::string& text, const std::string& by) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  for (std::size_t at = 0; (at = text.find(by, from)) != std::string::npos; from = at + by.size())
    parts.push_back(text.substr(from, at - from));
  parts.push_back(text.substr(from));
  return parts;
}

// least, most, tiny and their negations; otherwise as Scalar parses.
Scalar value(DType d, const std::string& word) {
  const bool minus = word.starts_with('-');
  const std::string bare = minus ? word.substr(1) : word;
  if (bare == "least" || bare == "most" || bare == "tiny")
    return with_storage(d, [&]<class T>(std::type_identity<T>) -> Scalar {
      if constexpr (is_float_storage<T>) {
        const std::uint64_t bits = bare == "tiny" ? 1 : kLargestBits<T>;
        const bool negative = minus != (bare == "least");
        return Scalar::from_bits(d,
                                 bits | (negative ? std::uint64_t{1} << (8 * sizeof(T) - 1) : 0));
      } else {
        using Limits = std::numeric_limits<T>;
        return Scalar::of(bare == "least" ? Limits::min() : Limits::max());
      }
    });
  return Scalar::parse(d, word);
}

BufferPtr one(const Scalar& x) {
  return with_storage(x.dtype(), [&]<class T>(std::type_identity<T>) -> BufferPtr {
    auto b = std::make_shared<Buffer>(test::reference(), x.dtype(), 1);
    const std::uint64_t bits = x.bits();
    b->copy_in(std::as_bytes(std::span(&bits, 1)).first(sizeof(T)));
    return b;
  });
}

Scalar first(const LazyOpPtr& kernel, std::vector<BufferPtr> inputs) {
  const LazyOpPtr stored = test::store(kernel);
  inputs.insert(inputs.begin(), test::buffer(kernel->dtype(), 1));
  run_kernel(test::reference(), stored, test::raw(inputs));
  return inputs[0]->at(0);
}

Scalar device_answer(Op op, DType d, const std::vector<Scalar>& operands) {
  if (is_reduce(op)) {
    const auto count = static_cast<std::int64_t>(operands.size());
    const auto terms = std::make_shared<Buffer>(test::reference(), d, count);
    std::vector<std::byte> bytes;
    for (const Scalar& x : operands) {
      const std::uint64_t bits = x.bits();
      const auto part = std::as_bytes(std::span(&bits, 1)).first(itemsize(d));
      bytes.insert(bytes.end(), part.begin(), part.end());
    }
    terms->copy_in(bytes);
    return first(LazyOp::reduce(op, LazyOp::load(1, d, ShapeTracker::contiguous({count})), {0}),
                 {terms});
  }
  std::vector<BufferPtr> inputs;
  std::vector<LazyOpPtr> src;
  for (const Scalar& x : operands) {
    inputs.push_back(one(x));
    src.push_back(
        LazyOp::load(static_cast<int>(inputs.size()), x.dtype(), ShapeTracker::contiguous({1})));
  }
  return first(src.size() == 1   ? LazyOp::unary(op, src[0])
               : src.size() == 2 ? LazyOp::binary(op, src[0], src[1])
                                 : LazyOp::ternary(op, src[0], src[1], src[2]),
               inputs);
}

bool same(const Scalar& a, const Scalar& b) {
  return a == b || (a.dtype() == b.dtype() && a.is_nan() && b.is_nan());
}

TEST(Semantics, ExamplesHoldForEveryTypeOfTheClass) {
  int run = 0;
  for (const SemanticsCell& cell : semantics_table()) {
    ASSERT_FALSE(cell.examples.empty()) << name(cell.op);
    for (const std::string& example : split(std::string(cell.examples), "; "))
      for (const DTypeInfo& type : dtype_table) {
        if ((cell.classes & class_of(type.dtype)) == 0) continue;
        const std::vector<std::string> sides = split(example, " = ");
        ASSERT_EQ(sides.size(), 2U) << example;
        if (type.kind == DTypeKind::Float && !type.infinities &&
            sides[0].find("inf") != std::string::npos)
          continue;
        std::string words = sides[1];
        if (words.starts_with('[')) words = words.substr(1, words.size() - 2);
        std::vector<Scalar> operands;
        if (!sides[0].empty())
          for (const std::string& word : split(sides[0], ", "))
            operands.push_back(
                value(cell.op == Op::Where && operands.empty() ? DType::Bool : type.dtype, word));
        const bool compares = cell.op == Op::CmpLt || cell.op == Op::CmpEq;
        const Scalar want = value(compares ? DType::Bool : type.dtype, words);
        const Scalar got = device_answer(cell.op, type.dtype, operands);
        EXPECT_TRUE(same(got, want))
            << name(cell.op) << ' ' << type.name << ": " << example << " gave " << got.str();
        ++run;
      }
  }
  EXPECT_GT(run, 850);
}

TEST(Semantics, ExamplesOfCastsHold) {
  for (const CastCell& cell : cast_table())
    for (const std::string& example : split(std::string(cell.examples), "; ")) {
      const std::vector<std::string> words = split(example, " ");  // X FROM to TO = Y
      ASSERT_EQ(words.size(), 6U) << example;
      const DType from = parse_dtype(words[1]), to = parse_dtype(words[3]);
      EXPECT_NE(cell.from & class_of(from), 0) << example;
      EXPECT_NE(cell.to & class_of(to), 0) << example;
      const Scalar x = value(from, words[0]);
      const LazyOpPtr load = LazyOp::load(1, from, ShapeTracker::contiguous({1}));
      const Scalar got = first(LazyOp::cast(load, to), {one(x)});
      EXPECT_TRUE(same(got, value(to, words[5]))) << example << " gave " << got.str();
    }
}

TEST(Semantics, PageIsTheTables) {
  EXPECT_EQ(read_file(TOUCHSTONE_SOURCE_DIR "/docs/semantics.md"), semantics_page())
      << "write it anew: touchstone bits --docs > docs/semantics.md";
}

}  // namespace
}  // namespace touchstone

#include "touchstone/interp/certify/certify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <set>

#include <gmock/gmock.h>

#include "../support/traced_draws.h"
#include "scalar_reference.h"
#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/interp/certify/second_path.h"
#include "touchstone/interp/device/scalar_ops.h"

namespace touchstone {
namespace {

using test::Real;
using testing::HasSubstr;

constexpr CertifiedOp kOps[] = {CertifiedOp::Exp2, CertifiedOp::Log2, CertifiedOp::Sin,
                                CertifiedOp::Sqrt, CertifiedOp::Recip};
constexpr DType kTypes[] = {DType::Float32, DType::Float16, DType::BFloat16};

std::string file_name(CertifiedOp op, DType dtype) {
  return fmt::format("{}-{}.json", name(op), name(dtype));
}

// ---- the second path

template <class F, class G>
void expect_within_bound(F second, G mpfr, double x) {
  const interp::DoubleDouble got = second(x);
  Real want(0, 200), argument(x), difference(0, 200);
  mpfr(want.get(), argument.get(), MPFR_RNDN);
  mpfr_sub_d(difference.get(), want.get(), got.hi, MPFR_RNDN);
  mpfr_sub_d(difference.get(), difference.get(), got.lo, MPFR_RNDN);
  mpfr_div(difference.get(), difference.get(), want.get(), MPFR_RNDN);
  // A quarter of the claim; the rest is margin for arguments not drawn.
  ASSERT_LT(std::abs(mpfr_get_d(difference.get(), MPFR_RNDN)), interp::kSecondPathError / 4) << x;
}

TEST(SecondPath, StaysWithinItsBound) {
  test::TracedDraws random(3);
  for (int i = 0; i < 20'000; ++i) {
    expect_within_bound(interp::second_exp2, mpfr_exp2, random.uniform(-149.0F, 128.0F));
    expect_within_bound(interp::second_exp2, mpfr_exp2, random.uniform(-1.0F, 1.0F) / 32);
    const float any = test::of_bits<float>(random.bits() >> 33);
    if (std::isfinite(any) && any > 0) {
      if (any != 1) expect_within_bound(interp::second_log2, mpfr_log2, any);
      expect_within_bound(interp::second_sin, mpfr_sin, any);
      expect_within_bound(interp::second_sin, mpfr_sin, -any);
    }
    const float one = 1 + random.uniform(-1.0F, 1.0F) / static_cast<float>(1u << (i % 22));
    if (one != 1) expect_within_bound(interp::second_log2, mpfr_log2, one);
    expect_within_bound(interp::second_sin, mpfr_sin, random.uniform(-400.0F, 400.0F));
  }
}

// Among all float32, the nearest to a multiple of pi / 2.
TEST(SecondPath, ReducesTheHardestAngles) {
  for (const float x : {0x1.f0ac5ep+101F, 0x1.29a0f4p+5F, 0x1.5fdbbep+1F, 0x1.921fb6p+0F,
                        0x1.921fb4p+0F, 0x1.921fb6p+1F, 0x1.fffffep+127F, 0.5F, 0x1.fffffep-2F})
    expect_within_bound(interp::second_sin, mpfr_sin, x);
}

// ---- the checker must be able to refuse

std::uint32_t scalar_output(CertifiedOp op, DType dtype, std::uint32_t input) {
  return with_storage(dtype, [&]<class T>(std::type_identity<T>) -> std::uint32_t {
    if constexpr (is_float_storage<T>) {
      const T x = test::of_bits<T>(input);
      const T y = op == CertifiedOp::Exp2   ? scalar::exp2(x)
                  : op == CertifiedOp::Log2 ? scalar::log2(x)
                  : op == CertifiedOp::Sin  ? scalar::sin(x)
                  : op == CertifiedOp::Sqrt ? scalar::sqrt(x)
                                            : scalar::recip(x);
      return static_cast<std::uint32_t>(Scalar::of(y).bits());
    } else {
      return 0;
    }
  });
}

TEST(Certify, RefusesTheNeighboursAndTheOtherSign) {
  test::TracedDraws random(5);
  for (const DType d : kTypes)
    for (const CertifiedOp op : kOps)
      for (int i = 0; i < 5'000; ++i) {
        const std::uint32_t mask = d == DType::Float32 ? 0xffffffff : 0xffff;
        const auto x = static_cast<std::uint32_t>(random.bits()) & mask;
        const std::uint32_t y = scalar_output(op, d, x);
        const auto context = [&] {
          return fmt::format("{} {} {:x} {:x}", name(op), name(d), x, y);
        };
        ASSERT_EQ(second_opinion(op, d, x, y), Finding::Right) << context();
        if (Scalar::from_bits(d, y).is_nan()) {
          ASSERT_EQ(second_opinion(op, d, x, 0), Finding::Wrong) << context();
          continue;
        }
        const std::uint32_t sign = (mask >> 1) + 1;
        ASSERT_EQ(second_opinion(op, d, x, y ^ sign), Finding::Wrong) << context();
        ASSERT_EQ(second_opinion(op, d, x, y + 1), Finding::Wrong) << context();
        if ((y & ~sign) != 0) {
          ASSERT_EQ(second_opinion(op, d, x, y - 1), Finding::Wrong) << context();
        }
        ASSERT_EQ(second_opinion(op, d, x, mask >> 1), Finding::Wrong) << context();  // NaN
      }
}

// If a value is too near a tie for double, the wrong neighbour is refused too.
TEST(Certify, TellsTheHardestRoundings) {
  for (const float x : {0x1.853a6ep-9F, -0x1.e7526ep-6F, 0x1.0f0af8p-11F}) {
    const auto bits = static_cast<std::uint32_t>(Scalar::of(x).bits());
    const auto y = static_cast<std::uint32_t>(Scalar::of(scalar::exp2(x)).bits());
    EXPECT_EQ(second_opinion(CertifiedOp::Exp2, DType::Float32, bits, y), Finding::Right);
    EXPECT_EQ(second_opinion(CertifiedOp::Exp2, DType::Float32, bits, y - 1), Finding::Wrong);
    EXPECT_EQ(second_opinion(CertifiedOp::Exp2, DType::Float32, bits, y + 1), Finding::Wrong);
  }
}

// ---- records

TEST(Certify, GoesOnWhereItWasEnded) {
  const std::uint64_t blocks[] = {0x3f8, 0x3f9, 0x400};
  Certificate whole = empty_certificate(CertifiedOp::Sqrt, DType::Float32, "1");
  certify(whole, blocks, 3, [](const Certificate&) { return true; });
  EXPECT_EQ(whole.done(), 3U);
  EXPECT_EQ(whole.wrong(), 0U);
  EXPECT_EQ(whole.outputs(), "");

  Certificate ended = empty_certificate(CertifiedOp::Sqrt, DType::Float32, "1");
  certify(ended, std::span(blocks).first(1), 1, [](const Certificate&) { return false; });
  Certificate again = certificate_from_json(to_json(ended));
  certify(again, blocks, 2, [](const Certificate&) { return true; });
  EXPECT_EQ(to_json(again), to_json(whole));
}

TEST(Certify, MergesPartsOfOneKind) {
  Certificate a = empty_certificate(CertifiedOp::Sin, DType::Float32, "1"), b = a;
  a.blocks[3].hash = 17;
  a.blocks[3].undecided = {0x300001};
  b.blocks[4].hash = 18;
  b.blocks[4].wrong = {0x400001, 0x400002};
  merge(a, certificate_from_json(to_json(b)));
  EXPECT_EQ(a.done(), 2U);
  EXPECT_EQ(a.wrong(), 2U);
  EXPECT_EQ(a.blocks[4].wrong, b.blocks[4].wrong);
  EXPECT_EQ(certificate_from_json(to_json(a)).blocks[3].undecided, a.blocks[3].undecided);
  b.blocks[3].hash = 19;
  EXPECT_THROW(merge(a, b), Error);
  b = empty_certificate(CertifiedOp::Sin, DType::Float32, "2");
  EXPECT_THROW(merge(a, b), Error);
}

TEST(Certify, RefusesBadRecords) {
  const std::string good = to_json(empty_certificate(CertifiedOp::Sin, DType::Float16, "1"));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  const std::pair<std::string, const char*> kCases[] = {
      {"", "certificate"},
      {"[]", "certificate"},
      {with("certificate-1", "certificate-0"), "not a certificate of format"},
      {with("\"sin\"", "\"sine\""), "did you mean 'sin'?"},
      {with("float16", "float64"), "float64"},
      {with("\"undecided\": []", "\"undecided\": [\"10000\"]"), "not an input"},
      {with("\"wrong\": []", "\"wrong\": [\"xyz\"]"), "not a hexadecimal number"},
      {with("\"block_hashes\": [", "\"block_hashes\": [\"1\","), "2 block hashes"},
      {with("\"dtype\"", "\"dtypes\""), "dtype"},
  };
  for (const auto& [text, part] : kCases) {
    try {
      certificate_from_json(text);
      ADD_FAILURE() << text << " was read";
    } catch (const ParseError& e) {
      EXPECT_THAT(e.what(), HasSubstr(part));
    }
  }
}

// ---- the certificates of docs/certificates: complete, clean, and valid for this build

TEST(Certificates, AreThereForEveryOpAndHoldForBlocksDrawnAnew) {
  test::TracedDraws random(std::random_device{}());
  for (const DType d : kTypes)
    for (const CertifiedOp op : kOps) {
      const Certificate c =
          certificate_from_json(read_file(std::filesystem::path(TOUCHSTONE_SOURCE_DIR) / "docs" /
                                          "certificates" / file_name(op, d)));
      ASSERT_EQ(c.op, op);
      ASSERT_EQ(c.dtype, d);
      ASSERT_TRUE(c.complete());
      EXPECT_EQ(c.wrong(), 0U);
      const std::size_t block = random.below(c.blocks.size());
      const BlockRecord now = certify_block(op, d, block);
      EXPECT_EQ(now.hash, c.blocks[block].hash) << name(op) << ' ' << name(d) << " block " << block;
      EXPECT_EQ(now.undecided, c.blocks[block].undecided);
      EXPECT_EQ(now.disputed, c.blocks[block].disputed);
      EXPECT_TRUE(now.wrong.empty());
    }
}

}  // namespace
}  // namespace touchstone

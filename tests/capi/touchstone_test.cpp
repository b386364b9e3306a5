#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <touchstone.h>

#include "../support/judged_outputs.h"

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* handle) const {
    Free(handle);
  }
};
using Scope = std::unique_ptr<touchstone_scope, Freed<touchstone_scope_free>>;
using Simplified = std::unique_ptr<touchstone_simplified, Freed<touchstone_simplified_free>>;
using Proof = std::unique_ptr<touchstone_proof, Freed<touchstone_proof_free>>;
using View = std::unique_ptr<touchstone_view, Freed<touchstone_view_free>>;
using Kernel = std::unique_ptr<touchstone_kernel, Freed<touchstone_kernel_free>>;
using Verdict = std::unique_ptr<touchstone_verdict, Freed<touchstone_verdict_free>>;

// The object from `make`, which must succeed.
template <class Owner, class Make>
Owner made_by(const Make& make) {
  typename Owner::pointer made = nullptr;
  EXPECT_EQ(make(&made), TOUCHSTONE_STATUS_OK) << touchstone_error();
  return Owner(made);
}

Scope scope() { return made_by<Scope>(touchstone_scope_new); }

Simplified simplified(const Scope& scope, const std::string& text) {
  return made_by<Simplified>(
      [&](auto** made) { return touchstone_simplify(scope.get(), text.c_str(), made); });
}

Proof proof(const char* rule) {
  return made_by<Proof>([&](auto** made) { return touchstone_prove(rule, nullptr, made); });
}

View view(const std::vector<std::int64_t>& shape) {
  return made_by<View>(
      [&](auto** made) { return touchstone_view_new(shape.data(), shape.size(), made); });
}

Kernel formula(const char* text) {
  return made_by<Kernel>([&](auto** made) { return touchstone_kernel_formula(text, made); });
}

std::int64_t at(const View& view, const std::vector<std::int64_t>& index) {
  std::int64_t element = -2;
  EXPECT_EQ(touchstone_view_at(view.get(), index.data(), index.size(), &element),
            TOUCHSTONE_STATUS_OK)
      << touchstone_error();
  return element;
}

// Arrays of floats as a kernel's buffers, output first.
struct Arrays {
  explicit Arrays(std::vector<std::vector<float>> arrays) : values(std::move(arrays)) {
    for (std::vector<float>& v : values) {
      pointers.push_back(v.data());
      sizes.push_back(v.size() * sizeof(float));
    }
  }
  touchstone_status eval(const Kernel& kernel) {
    return touchstone_eval(kernel.get(), pointers.data(), sizes.data(), pointers.size());
  }
  Verdict check(const Kernel& kernel, const char* profile = nullptr) {
    touchstone_verdict* made = nullptr;
    EXPECT_EQ(touchstone_check(kernel.get(), profile, pointers.data(), sizes.data(),
                               pointers.size(), &made),
              TOUCHSTONE_STATUS_OK)
        << touchstone_error();
    return Verdict(made);
  }
  std::vector<std::vector<float>> values;
  std::vector<void*> pointers;
  std::vector<std::size_t> sizes;
};

#define EXPECT_WRONG(call, text)            \
  EXPECT_EQ(call, TOUCHSTONE_STATUS_INPUT); \
  EXPECT_THAT(touchstone_error(), HasSubstr(text))

TEST(CApi, JudgesAFormulaAsTheCommandDoes) {
  for (const touchstone::test::JudgedOutput& of : touchstone::test::judged_outputs()) {
    const Kernel kernel = formula(of.formula.c_str());
    std::vector<std::vector<float>> buffers = of.inputs;
    buffers.insert(buffers.begin(), of.right);
    EXPECT_EQ(touchstone_verdict_outcome(Arrays(buffers).check(kernel).get()), TOUCHSTONE_PASS);
    const Verdict strict = Arrays(buffers).check(kernel, "ieee");
    EXPECT_THAT(touchstone_verdict_text(strict.get()), HasSubstr("under ieee (named by the "));
    EXPECT_EQ(touchstone_verdict_outcome(strict.get()), TOUCHSTONE_FAIL);
    buffers[0] = of.wrong;
    EXPECT_THAT(touchstone_verdict_text(Arrays(buffers).check(kernel).get()),
                HasSubstr(touchstone::test::kUnderLibrary));
  }
}

TEST(CApi, SimplifiesUnderRangesAndConditions) {
  const Scope s = scope();
  ASSERT_EQ(touchstone_scope_variable(s.get(), "a", "0", "10"), TOUCHSTONE_STATUS_OK);
  ASSERT_EQ(touchstone_scope_variable(s.get(), "b", "0", "3"), TOUCHSTONE_STATUS_OK);
  const Simplified x = simplified(s, "(a*4 + b)//4");
  EXPECT_STREQ(touchstone_simplified_text(x.get()), "a");
  EXPECT_STREQ(touchstone_simplified_low(x.get()), "0");
  EXPECT_STREQ(touchstone_simplified_high(x.get()), "10");
  EXPECT_EQ(touchstone_simplified_size(x.get()), 1U);
  ASSERT_EQ(touchstone_scope_assume(s.get(), "a < 3"), TOUCHSTONE_STATUS_OK);
  EXPECT_STREQ(touchstone_simplified_high(simplified(s, "(a*4 + b)//4").get()), "2");
  ASSERT_EQ(touchstone_scope_variable(s.get(), "a", "-5", "1"), TOUCHSTONE_STATUS_OK);
  EXPECT_STREQ(touchstone_simplified_low(simplified(s, "a").get()), "-5");
  EXPECT_STREQ(touchstone_simplified_text(x.get()), "a") << "a result outlives later questions";
}

TEST(CApi, CertifiesAndVerifies) {
  using Certificate = std::unique_ptr<touchstone_certificate, Freed<touchstone_certificate_free>>;
  const Scope s = scope();
  ASSERT_EQ(touchstone_scope_variable(s.get(), "a", "0", "10"), TOUCHSTONE_STATUS_OK);
  ASSERT_EQ(touchstone_scope_assume(s.get(), "a < 9"), TOUCHSTONE_STATUS_OK);
  touchstone_certificate* out = nullptr;
  ASSERT_EQ(touchstone_certify(s.get(), "a*4//4 + 7//2", &out), TOUCHSTONE_STATUS_OK);
  const Certificate made(out);
  EXPECT_EQ(touchstone_certificate_right(made.get()), 1);
  EXPECT_STREQ(touchstone_certificate_reason(made.get()), "");
  EXPECT_STREQ(touchstone_certificate_claim(made.get()),
               "a*4//4 + 7//2 = a + 3 where a in [0, 10], a < 9");

  std::string json = touchstone_certificate_json(made.get());
  ASSERT_EQ(touchstone_verify(json.c_str(), &out), TOUCHSTONE_STATUS_OK);
  const Certificate read(out);
  EXPECT_EQ(touchstone_certificate_right(read.get()), 1);
  EXPECT_STREQ(touchstone_certificate_claim(read.get()), touchstone_certificate_claim(made.get()));
  const auto at = json.find("\"result\":\"a + 3\"");
  ASSERT_NE(at, std::string::npos) << json;
  json[json.find('3', at)] = '4';
  ASSERT_EQ(touchstone_verify(json.c_str(), &out), TOUCHSTONE_STATUS_OK);
  const Certificate wrong(out);
  EXPECT_EQ(touchstone_certificate_right(wrong.get()), 0);
  EXPECT_THAT(touchstone_certificate_reason(wrong.get()), HasSubstr("is wrong"));

  EXPECT_WRONG(touchstone_verify("{}", &out), "not a derivation");
  EXPECT_WRONG(touchstone_verify(nullptr, &out), "json is NULL");
  EXPECT_WRONG(touchstone_certify(nullptr, "a", &out), "scope is NULL");
  EXPECT_WRONG(touchstone_certify(s.get(), "a +", &out), "column");
  EXPECT_EQ(touchstone_certificate_right(nullptr), 0);
  EXPECT_EQ(touchstone_certificate_json(nullptr), nullptr);
}

TEST(CApi, OpenEndsAndLargeNumbers) {
  const Scope s = scope();
  const std::string large = "1" + std::string(40, '0');
  ASSERT_EQ(touchstone_scope_variable(s.get(), "n", "0", nullptr), TOUCHSTONE_STATUS_OK);
  ASSERT_EQ(touchstone_scope_variable(s.get(), "m", "0", large.c_str()), TOUCHSTONE_STATUS_OK);
  EXPECT_EQ(touchstone_simplified_high(simplified(s, "n + 1").get()), nullptr);
  EXPECT_STREQ(touchstone_simplified_low(simplified(s, "n + 1").get()), "1");
  EXPECT_EQ(touchstone_simplified_high(simplified(s, "m*10").get()), large + "0");
}

TEST(CApi, RefusesWhatIsNoExpressionAndKeepsTheScope) {
  const Scope s = scope();
  ASSERT_EQ(touchstone_scope_variable(s.get(), "a", "0", "10"), TOUCHSTONE_STATUS_OK);
  auto* out = reinterpret_cast<touchstone_simplified*>(1);
  EXPECT_WRONG(touchstone_simplify(s.get(), "a +", &out), "column");
  EXPECT_WRONG(touchstone_simplify(s.get(), "a + c", &out), "c");
  EXPECT_WRONG(touchstone_simplify(s.get(), nullptr, &out), "expression is NULL");
  EXPECT_WRONG(touchstone_simplify(nullptr, "a", &out), "scope is NULL");
  EXPECT_WRONG(touchstone_simplify(s.get(), "a", nullptr), "simplified is NULL");
  EXPECT_EQ(out, reinterpret_cast<touchstone_simplified*>(1));
  EXPECT_WRONG(touchstone_scope_variable(s.get(), "a", "x", "1"), "'x' is not a whole number");
  EXPECT_WRONG(touchstone_scope_variable(s.get(), "a", "", "1"), "not a whole number");
  EXPECT_WRONG(touchstone_scope_variable(s.get(), "a", "3", "-3"), "the range [3, -3] is empty");
  EXPECT_WRONG(touchstone_scope_variable(s.get(), "a", std::string(5000, '9').c_str(), nullptr),
               "more than 4933 bytes");
  EXPECT_WRONG(touchstone_scope_variable(s.get(), nullptr, "0", "1"), "name is NULL");
  EXPECT_STREQ(touchstone_simplified_high(simplified(s, "a").get()), "10");
}

TEST(CApi, ProvesAndRefutesRules) {
  const Proof good = proof("(c*x + y)//c -> x ; 0 <= y and y < c");
  EXPECT_EQ(touchstone_proof_verdict(good.get()), TOUCHSTONE_PROVED);
  EXPECT_THAT(touchstone_proof_text(good.get()), HasSubstr("by "));
  const Proof bad = proof("x//2*2 -> x");
  EXPECT_EQ(touchstone_proof_verdict(bad.get()), TOUCHSTONE_REFUTED);
  EXPECT_THAT(touchstone_proof_text(bad.get()), HasSubstr("x = "));
  touchstone_proof* out = nullptr;
  EXPECT_WRONG(touchstone_prove("x", nullptr, &out), "->");
  EXPECT_EQ(out, nullptr);
}

TEST(CApi, DecidesClaims) {
  const Scope s = scope();
  ASSERT_EQ(touchstone_scope_variable(s.get(), "x", nullptr, nullptr), TOUCHSTONE_STATUS_OK);
  const auto decided = [&](const char* claim) {
    return made_by<Proof>([&](auto** made) { return touchstone_decide(s.get(), claim, 0, made); });
  };
  const Proof good = decided("x*x%3 < 2");
  EXPECT_EQ(touchstone_proof_verdict(good.get()), TOUCHSTONE_PROVED);
  EXPECT_THAT(touchstone_proof_certificate(good.get()), HasSubstr("x*x%3"));
  const Proof bad = decided("x*x%5 < 2");
  EXPECT_EQ(touchstone_proof_verdict(bad.get()), TOUCHSTONE_REFUTED);
  EXPECT_STREQ(touchstone_proof_text(bad.get()), "false at x = 2");
}

TEST(CApi, AnswersQuestionsAboutMaps) {
  touchstone_map_answer* out = nullptr;
  const auto answer = [&](const char* question) -> std::string {
    if (touchstone_map_ask(question, &out) != TOUCHSTONE_STATUS_OK) return "error";
    const std::string json = touchstone_map_answer_json(out);
    touchstone_map_answer_free(out);
    out = nullptr;
    return json;
  };
  const std::string equal = answer(R"q({"operation":"equal","maps":["4:1","(2,2):(1,2)"]})q");
  EXPECT_THAT(equal, HasSubstr("\"answer\":\"yes\""));
  const std::string checked =
      answer(R"({"operation":"check-index","maps":"i*4","vars":{"i":[0,9]},"size":"36"})");
  EXPECT_THAT(checked, HasSubstr("i*4 is 36 at i = 9"));
  EXPECT_WRONG(touchstone_map_ask("{}", &out), "no operation ''");
  EXPECT_WRONG(touchstone_map_ask("[", &out), "a question about maps");
  EXPECT_EQ(touchstone_map_answer_json(nullptr), nullptr);
}

TEST(CApi, FollowsViewsThroughMovement) {
  const View v = view({4, 6});
  const int order[] = {1, 0};
  ASSERT_EQ(touchstone_view_permute(v.get(), order, 2), TOUCHSTONE_STATUS_OK);
  for (std::int64_t i = 0; i < 6; ++i)
    for (std::int64_t j = 0; j < 4; ++j) EXPECT_EQ(at(v, {i, j}), j * 6 + i);
  const std::int64_t padding[] = {1, 0, 0, 2};
  ASSERT_EQ(touchstone_view_pad(v.get(), padding, 2), TOUCHSTONE_STATUS_OK);
  for (std::int64_t i = 0; i < 7; ++i)
    for (std::int64_t j = 0; j < 6; ++j)
      EXPECT_EQ(at(v, {i, j}), i < 1 || j >= 4 ? -1 : j * 6 + i - 1);
  EXPECT_STREQ(touchstone_view_index(v.get()), "idx0 + idx1*6 - 1");
  const std::int64_t ranges[] = {1, 7, 0, 4}, steps[] = {-2, 1};
  ASSERT_EQ(touchstone_view_shrink(v.get(), ranges, 2), TOUCHSTONE_STATUS_OK);
  ASSERT_EQ(touchstone_view_stride(v.get(), steps, 2), TOUCHSTONE_STATUS_OK);
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 4; ++j) EXPECT_EQ(at(v, {i, j}), j * 6 + 5 - 2 * i);
  EXPECT_STREQ(touchstone_view_valid(v.get()), "1");

  std::vector<std::int64_t> shape(2), strides(2), mask(4);
  std::int64_t offset = 0;
  ASSERT_EQ(touchstone_view_parts(v.get()), 1U);
  ASSERT_EQ(touchstone_view_rank(v.get(), 0), 2U);
  ASSERT_EQ(touchstone_view_part(v.get(), 0, shape.data(), strides.data(), &offset, mask.data()),
            TOUCHSTONE_STATUS_OK);
  EXPECT_THAT(shape, ElementsAre(3, 4));
  EXPECT_THAT(strides, ElementsAre(-2, 6));
  EXPECT_EQ(offset, 5);
  EXPECT_THAT(mask, ElementsAre(0, 3, 0, 4));
  EXPECT_EQ(touchstone_view_part(v.get(), 0, nullptr, nullptr, nullptr, nullptr),
            TOUCHSTONE_STATUS_OK);
}

TEST(CApi, MergesViewsWhereTheyAreOne) {
  const View v = view({6});
  touchstone_view* copied = nullptr;
  const std::int64_t pad[] = {2, 2}, ten[] = {5, 2}, flat[] = {10}, middle[] = {2, 8};
  ASSERT_EQ(touchstone_view_pad(v.get(), pad, 1), TOUCHSTONE_STATUS_OK);
  ASSERT_EQ(touchstone_view_reshape(v.get(), ten, 2), TOUCHSTONE_STATUS_OK);
  ASSERT_EQ(touchstone_view_copy(v.get(), &copied), TOUCHSTONE_STATUS_OK);
  const View copy(copied);
  ASSERT_EQ(touchstone_view_reshape(v.get(), flat, 1), TOUCHSTONE_STATUS_OK);
  ASSERT_EQ(touchstone_view_shrink(v.get(), middle, 1), TOUCHSTONE_STATUS_OK);
  EXPECT_EQ(touchstone_view_rank(copy.get(), touchstone_view_parts(copy.get()) - 1), 2U);
  ASSERT_EQ(touchstone_view_simplify(v.get()), TOUCHSTONE_STATUS_OK);
  EXPECT_EQ(touchstone_view_parts(v.get()), 1U);
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(at(v, {i}), i);
}

TEST(CApi, SaysWhyAStackIsNoView) {
  const View v = view({4, 6});
  const int order[] = {1, 0};
  const std::int64_t flat[] = {24};
  ASSERT_EQ(touchstone_view_permute(v.get(), order, 2), TOUCHSTONE_STATUS_OK);
  ASSERT_EQ(touchstone_view_reshape(v.get(), flat, 1), TOUCHSTONE_STATUS_OK);
  ASSERT_EQ(touchstone_view_simplify(v.get()), TOUCHSTONE_STATUS_OK);
  EXPECT_EQ(touchstone_view_parts(v.get()), 2U);
  EXPECT_THAT(touchstone_view_reason(v.get()), HasSubstr("("));
  for (std::int64_t i = 0; i < 24; ++i) EXPECT_EQ(at(v, {i}), i % 4 * 6 + i / 4);
}

TEST(CApi, ViewsThatFailStayAsTheyWere) {
  const View v = view({2, 3});
  const std::int64_t five[] = {5}, outside[] = {2, 0}, one[] = {0};
  const int order[] = {0, 0};
  std::int64_t element = 7;
  EXPECT_WRONG(touchstone_view_reshape(v.get(), five, 1), "6");
  EXPECT_WRONG(touchstone_view_permute(v.get(), order, 2), "permute");
  EXPECT_WRONG(touchstone_view_reshape(v.get(), nullptr, 1), "shape is NULL");
  EXPECT_WRONG(touchstone_view_reshape(v.get(), five, SIZE_MAX), "axes");
  EXPECT_WRONG(touchstone_view_at(v.get(), outside, 2, &element), "index 2 of axis 0");
  EXPECT_WRONG(touchstone_view_at(v.get(), one, 1, &element), "1 indices given for (2, 3)");
  EXPECT_WRONG(touchstone_view_part(v.get(), 1, nullptr, nullptr, nullptr, nullptr), "part 1");
  EXPECT_EQ(element, 7);
  EXPECT_EQ(at(v, {1, 2}), 5);
  const std::int64_t shape[] = {2}, strides[] = {-3};
  touchstone_view* out = nullptr;
  EXPECT_WRONG(touchstone_view_strided(shape, strides, 1, 0, &out), "");
  EXPECT_EQ(touchstone_view_strided(shape, strides, 1, 3, &out), TOUCHSTONE_STATUS_OK);
  const View strided(out);
  EXPECT_EQ(at(strided, {0}), 3);
  EXPECT_EQ(at(strided, {1}), 0);
  const std::int64_t huge[] = {INT64_MAX, INT64_MAX};
  EXPECT_WRONG(touchstone_view_new(huge, 2, &out), "");
  EXPECT_EQ(at(view({}), {}), 0);
}

TEST(CApi, EvaluatesFormulas) {
  const Kernel k = formula("a[3] * b[3] + 1");
  ASSERT_EQ(touchstone_kernel_buffers(k.get()), 3U);
  EXPECT_EQ(touchstone_kernel_elements(k.get(), 2), 3U);
  EXPECT_EQ(touchstone_kernel_bytes(k.get(), 0), 12U);
  EXPECT_STREQ(touchstone_kernel_type(k.get(), 1), "float32");
  EXPECT_EQ(touchstone_kernel_type(k.get(), 3), nullptr);
  EXPECT_EQ(touchstone_kernel_bytes(k.get(), 3), 0U);
  Arrays arrays({{0, 0, 0}, {1, 2, 3}, {4, -5, 0.5F}});
  ASSERT_EQ(arrays.eval(k), TOUCHSTONE_STATUS_OK) << touchstone_error();
  EXPECT_THAT(arrays.values[0], ElementsAre(5, -9, 2.5F));
}

TEST(CApi, EvaluatesBuffersOfAnyAlignment) {
  const Kernel k = formula("a[2] + a");
  std::vector<char> bytes(32);
  const float in[] = {1.5F, -2};
  std::memcpy(bytes.data() + 17, in, sizeof in);
  void* const buffers[] = {bytes.data() + 1, bytes.data() + 17};
  const std::size_t sizes[] = {8, 8};
  ASSERT_EQ(touchstone_eval(k.get(), buffers, sizes, 2), TOUCHSTONE_STATUS_OK);
  float out[2] = {};
  std::memcpy(out, bytes.data() + 1, sizeof out);
  EXPECT_THAT(out, ElementsAre(3, -4));
}

TEST(CApi, KernelsTravelAsText) {
  const Kernel k = formula("sum(x[2,3])");
  touchstone_kernel* read = nullptr;
  ASSERT_EQ(touchstone_kernel_json(touchstone_kernel_text(k.get()), nullptr, nullptr, 0, &read),
            TOUCHSTONE_STATUS_OK)
      << touchstone_error();
  const Kernel again(read);
  EXPECT_STREQ(touchstone_kernel_text(again.get()), touchstone_kernel_text(k.get()));
  Arrays arrays({{0}, {1, 2, 3, 4, 5, 6}});
  ASSERT_EQ(arrays.eval(again), TOUCHSTONE_STATUS_OK);
  EXPECT_EQ(arrays.values[0][0], 21);
  touchstone_kernel* out = nullptr;
  const char* const names[] = {"n"};
  const std::int64_t values[] = {3};
  EXPECT_WRONG(touchstone_kernel_json("{", nullptr, nullptr, 0, &out), "");
  EXPECT_WRONG(touchstone_kernel_json(touchstone_kernel_text(k.get()), names, values, 1, &out),
               "no variable 'n'");
  EXPECT_WRONG(touchstone_kernel_formula("softmax(", &out), "");
  EXPECT_WRONG(touchstone_kernel_formula(std::string(100'000, '(').c_str(), &out), "65536 bytes");
  EXPECT_EQ(out, nullptr);
}

TEST(CApi, RefusesBuffersThatDoNotFit) {
  const Kernel k = formula("a[3] + b[3]");
  Arrays few({{0, 0, 0}, {1, 2, 3}}), shorter({{0, 0, 0}, {1, 2, 3}, {1, 2}});
  EXPECT_WRONG(few.eval(k), "2 buffers given, but the kernel has 3");
  EXPECT_WRONG(shorter.eval(k), "buffer 2 has 8 bytes");
  Arrays null({{7, 7, 7}, {1, 2, 3}, {1, 2, 3}});
  null.pointers[1] = nullptr;
  EXPECT_WRONG(null.eval(k), "buffer 1 is NULL");
  EXPECT_THAT(null.values[0], ElementsAre(7, 7, 7));
  const Kernel flag = formula("where(c[1]:bool, a[1], b[1])");
  const char two = 2;
  float f = 0;
  void* const buffers[] = {&f, const_cast<char*>(&two), &f, &f};
  const std::size_t sizes[] = {4, 1, 4, 4};
  EXPECT_WRONG(touchstone_eval(flag.get(), buffers, sizes, 4), "neither 0 nor 1");
}

TEST(CApi, JudgesOutputs) {
  const Kernel k = formula("a[4] * b[4]");
  Arrays good({{2, 6, 12, 20}, {1, 2, 3, 4}, {2, 3, 4, 5}});
  const Verdict pass = good.check(k);
  EXPECT_EQ(touchstone_verdict_outcome(pass.get()), TOUCHSTONE_PASS);
  EXPECT_EQ(touchstone_verdict_checked(pass.get()), 4U);
  EXPECT_EQ(touchstone_verdict_first(pass.get()), -1);
  Arrays bad({{2, 6, std::nextafter(12.0F, 13.0F), 21}, {1, 2, 3, 4}, {2, 3, 4, 5}});
  const Verdict fail = bad.check(k, "ieee");
  EXPECT_EQ(touchstone_verdict_outcome(fail.get()), TOUCHSTONE_FAIL);
  EXPECT_EQ(touchstone_verdict_wrong(fail.get()), 2U);
  EXPECT_EQ(touchstone_verdict_first(fail.get()), 2);
  EXPECT_THAT(touchstone_verdict_text(fail.get()), HasSubstr("FAIL: 2 of 4 elements"));
  touchstone_verdict* out = nullptr;
  EXPECT_WRONG(
      touchstone_check(k.get(), "nosuch", good.pointers.data(), good.sizes.data(), 3, &out),
      "nosuch");
  EXPECT_EQ(out, nullptr);
}

// Each function computes y = 2 x[5] and does something more.
TEST(CApi, AFunctionMayNotWriteBesideItsBuffers) {
  const auto verdict = [](touchstone_function function) {
    touchstone_verdict* found = nullptr;
    EXPECT_EQ(touchstone_judge("x[5] * 2", nullptr, function, nullptr, &found),
              TOUCHSTONE_STATUS_OK);
    std::string text = touchstone_verdict_text(found);
    touchstone_verdict_free(found);
    return text;
  };
  static const auto doubled = [](void* const* buffers) {
    auto* const y = static_cast<float*>(buffers[0]);
    auto* const x = static_cast<float*>(buffers[1]);
    for (int i = 0; i < 5; ++i) y[i] = 2 * x[i];
    return std::pair(y, x);
  };
  EXPECT_THAT(verdict([](void* const* b, void*) { doubled(b); }), testing::StartsWith("PASS"));
  EXPECT_THAT(verdict([](void* const* b, void*) { doubled(b).second[4] = 7; }),
              testing::StartsWith("FAIL: it changed buffer 1, which is an input"));
  EXPECT_THAT(verdict([](void* const* b, void*) { doubled(b).first[6] = 7; }),
              testing::StartsWith("FAIL: it wrote to buffer 0 past its end"));
  EXPECT_THAT(verdict([](void* const* b, void*) { doubled(b).first[-1] = 7; }),
              testing::StartsWith("FAIL: it wrote to buffer 0 before its beginning"));
  EXPECT_DEATH(verdict([](void* const* b, void*) { doubled(b).first[10000] = 7; }), "");
  EXPECT_DEATH(verdict([](void* const* b, void*) { doubled(b).second[-10000] = 7; }), "");
}

TEST(CApi, ProfilesAllowWhatADeviceDeclares) {
  const Kernel k = formula("a[3] * b[3]");
  const float tiny = std::numeric_limits<float>::denorm_min();
  Arrays flushed({{0, 2, 3}, {tiny, 1, 1}, {1, 2, 3}});
  EXPECT_EQ(touchstone_verdict_outcome(flushed.check(k).get()), TOUCHSTONE_FAIL);
  EXPECT_EQ(touchstone_verdict_outcome(
                flushed.check(k, R"({"name": "flushing", "flush": "both"})").get()),
            TOUCHSTONE_PASS);
}

TEST(CApi, ErrorsBelongToTheirThread) {
  touchstone_view* out = nullptr;
  EXPECT_WRONG(touchstone_view_new(nullptr, 1, &out), "shape is NULL");
  std::string other = "unset";
  std::thread([&] { other = touchstone_error(); }).join();
  EXPECT_EQ(other, "");
  EXPECT_EQ(view({}) != nullptr, true);
  EXPECT_STREQ(touchstone_error(), "shape is NULL") << "success leaves the text";
}

TEST(CApi, LongWorkEndsWhereItIsInterrupted) {
  const Kernel k = formula("a[4] + 1");
  Arrays arrays({{0, 0, 0, 0}, {1, 2, 3, 4}});
  touchstone_interrupt(1);
  EXPECT_EQ(arrays.eval(k), TOUCHSTONE_STATUS_INTERRUPTED);
  EXPECT_STREQ(touchstone_error(), "interrupted");
  touchstone_interrupt(0);
  EXPECT_EQ(arrays.eval(k), TOUCHSTONE_STATUS_OK);
  EXPECT_THAT(arrays.values[0], ElementsAre(2, 3, 4, 5));
}

TEST(CApi, ThreadsWorkAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      const Kernel k = formula("a[2] * 2");
      Arrays arrays({{0, 0}, {static_cast<float>(t), 1}});
      const Scope s = scope();
      for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(arrays.eval(k), TOUCHSTONE_STATUS_OK);
        EXPECT_EQ(arrays.values[0][0], static_cast<float>(2 * t));
        EXPECT_STREQ(touchstone_simplified_text(simplified(s, "7//2").get()), "3");
      }
    });
  for (std::thread& t : threads) t.join();
}

TEST(CApi, NothingOfNothing) {
  touchstone_scope_free(nullptr);
  touchstone_simplified_free(nullptr);
  touchstone_proof_free(nullptr);
  touchstone_view_free(nullptr);
  touchstone_kernel_free(nullptr);
  touchstone_verdict_free(nullptr);
  EXPECT_EQ(touchstone_simplified_text(nullptr), nullptr);
  EXPECT_EQ(touchstone_simplified_low(nullptr), nullptr);
  EXPECT_EQ(touchstone_simplified_high(nullptr), nullptr);
  EXPECT_EQ(touchstone_simplified_size(nullptr), 0U);
  EXPECT_EQ(touchstone_proof_verdict(nullptr), TOUCHSTONE_UNKNOWN);
  EXPECT_EQ(touchstone_proof_text(nullptr), nullptr);
  EXPECT_EQ(touchstone_view_parts(nullptr), 0U);
  EXPECT_EQ(touchstone_view_index(nullptr), nullptr);
  EXPECT_EQ(touchstone_view_valid(nullptr), nullptr);
  EXPECT_EQ(touchstone_view_reason(nullptr), nullptr);
  EXPECT_EQ(touchstone_kernel_buffers(nullptr), 0U);
  EXPECT_EQ(touchstone_kernel_text(nullptr), nullptr);
  EXPECT_EQ(touchstone_verdict_outcome(nullptr), TOUCHSTONE_UNUSABLE);
  EXPECT_EQ(touchstone_verdict_text(nullptr), nullptr);
  EXPECT_EQ(touchstone_verdict_first(nullptr), -1);
  EXPECT_WRONG(touchstone_scope_new(nullptr), "scope is NULL");
  EXPECT_WRONG(touchstone_eval(nullptr, nullptr, nullptr, 0), "kernel is NULL");
}

}  // namespace

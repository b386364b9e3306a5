#include "touchstone/judging/judging.h"

#include <gtest/gtest.h>

#include <gmock/gmock.h>

#include "touchstone/base/error.h"

namespace touchstone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Judging, HoldsTheFormulaAsGivenAndItsInputs) {
  const std::vector<define::InputShape> shapes{{{2, 3}, DType::Float16}};
  const Judging j = formula_to_judge("softmax(x) + y[3]", shapes).judging;
  EXPECT_EQ(j.definition, "softmax(x) + y[3]");
  EXPECT_EQ(j.inputs, (std::vector<Judging::Input>{{"x", DType::Float16, {2, 3}},
                                                   {"y", DType::Float32, {3}}}));
  EXPECT_EQ(j.str(), "under library (the formula names library functions)");
  EXPECT_EQ(formula_to_judge("x[2] + 1").judging.str(), "under glibc (the default)");
}

TEST(Judging, ReadsBackFromItsJson) {
  for (KernelToJudge k : {formula_to_judge("softmax(x[2,3])"), formula_to_judge("x[4]:f16 * 2")}) {
    Profile mine = Profile::named("cuda");
    mine.name = "mine";
    for (const std::optional<ChosenProfile>& chosen :
         {std::optional<ChosenProfile>(), {{mine, "named by --profile"}}}) {
      k.judging = k.judging.under(chosen);
      Judging wanted = k.judging;
      if (wanted.from != "the default") wanted.from = "stored in suite/random";
      EXPECT_EQ(judging_from_json(judging_json(k), k, "suite/random"), wanted);
    }
  }
}

TEST(Judging, ExplainsWhichStageANodeIs) {
  const KernelToJudge k = formula_to_judge("softmax(x[2,3])");
  const std::unique_ptr<Device> host = make_interpreted_device();
  Buffer x(*host, DType::Float32, 6);
  x.write(std::span<const float>(std::array<float, 6>{1, 2, 3, 4, 5, 6}));
  Buffer* const inputs[] = {nullptr, &x};
  std::vector<std::string> stages;
  for (const ExplainedNode& n :
       explain(k.ast, inputs, std::array<std::int64_t, 4>{1, 2, 0, 0}, k.judging))
    if (n.text.ends_with(')')) stages.push_back(n.text.substr(n.text.find(" = ") + 3));
  EXPECT_THAT(stages, ElementsAre("exp(%2) float32, in float64 (exponentials)",
                                  "REDUCE_SUM(3 terms) float32, in float64 (sum)"));
}

TEST(Judging, IsNotForAnotherKernel) {
  const KernelToJudge k = formula_to_judge("softmax(x[2,3])");
  EXPECT_EQ(judging_from_json(judging_json(k), formula_to_judge("exp(x[2])"), "."), Judging());
}

TEST(Judging, RefusesTextThatIsNoJudging) {
  const KernelToJudge k = formula_to_judge("exp(x[2])");
  const std::string good = judging_json(k);
  const auto with = [&](const std::string& old, const std::string& now) {
    std::string text = good;
    return text.replace(text.find(old), old.size(), now);
  };
  for (const auto& [text, says] :
       {std::pair<std::string, std::string>{"", "judging.json: "},
        {"[]", "judging.json: "},
        {with("g\": 1", "g\": 2"), "has version 2, but this program reads version 1"},
        {with("\"library\"", "\"libary\""), "did you mean 'library'?"},
        {with("\"library\"", "7"), "expected a JSON object"},
        {with("\"library\"", R"({"name":"cuda","max":"either"})"), "name of a built-in profile"},
        {with("float32", "float33"), "float33"}})
    try {
      judging_from_json(text, k, ".");
      ADD_FAILURE() << text;
    } catch (const ParseError& e) {
      EXPECT_THAT(e.what(), HasSubstr(says));
    }
}

}  // namespace
}  // namespace touchstone

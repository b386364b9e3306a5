#include "touchstone/tensor/check_finite.h"

#include "tensor_check.h"

namespace touchstone {
namespace {

class Finite : public OnDevice {
 protected:
  static std::string said(const std::function<void()>& f) {
    try {
      f();
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }
};
TOUCHSTONE_ON_DEVICES(Finite);

TEST_P(Finite, TheFirstKernelThatMakesANaNIsNamed) {
  const Tensor x = make({1, 4, -1, 9}, {4});
  const CheckFinite check;
  const Tensor fine = (x * 2).contiguous();
  EXPECT_EQ(said([&] { (void)fine.realize(); }), "");
  const Tensor root = fine.sqrt().contiguous();
  const std::string message = said([&] { (void)(root + 1).sum().realize(); });
  EXPECT_NE(message.find("element 2 of kernel E_4 on " + device()), std::string::npos) << message;
  EXPECT_NE(message.find("is nan"), std::string::npos) << message;
  EXPECT_NE(message.find("1 input(s) are finite"), std::string::npos) << message;
}

TEST_P(Finite, InfinitiesMayBeAllowedAndInputsExplainWhatFollows) {
  const Tensor x = make({1, 0}, {2});
  {
    const CheckFinite check;
    EXPECT_NE(said([&] { (void)x.reciprocal().realize(); }).find("is inf"), std::string::npos);
  }
  const CheckFinite check(CheckFinite::Infinities::Allowed);
  const Tensor inverse = x.reciprocal().contiguous();
  EXPECT_EQ(said([&] { (void)inverse.realize(); }), "");
  EXPECT_EQ(said([&] { (void)(inverse - inverse).contiguous().realize(); }), "");
  // Integers and bools are always finite.
  EXPECT_EQ(said([&] { (void)(x > 0).contiguous().realize(); }), "");
}

TEST_P(Finite, OutsideOfTheScopeNothingIsSaid) {
  { const CheckFinite check; }
  EXPECT_EQ(said([&] { (void)make({-1}, {1}).sqrt().realize(); }), "");
}

}  // namespace
}  // namespace touchstone

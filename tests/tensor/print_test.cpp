// Texts as NumPy 1.24 prints the same arrays.
#include "touchstone/tensor/print.h"

#include "tensor_check.h"

namespace touchstone {
namespace {

const char* const kTail32 = ", dtype=float32, device=CPU)";

TEST(Print, AMatrixHasAlignedRowsAndItsShapeDtypeAndDevice) {
  register_devices();
  EXPECT_EQ(str(Tensor::from({{1.0F, 2.5F}, {3.0F, 4.0F}})),
            std::string("Tensor([[1. , 2.5],\n        [3. , 4. ]], shape=(2, 2)") + kTail32);
  EXPECT_EQ(str(Tensor::from({true, false})),
            "Tensor([ True, False], shape=(2,), dtype=bool, device=CPU)");
  EXPECT_EQ(str(Tensor::from(3.5)), "Tensor(3.5, shape=(), dtype=float64, device=CPU)");
  EXPECT_EQ(str(Tensor::from({-7, 10})), "Tensor([-7, 10], shape=(2,), dtype=int32, device=CPU)");
  EXPECT_EQ(str(Tensor::zeros({2, 2, 2})),
            std::string("Tensor([[[0., 0.],\n         [0., 0.]],\n\n        [[0., 0.],\n         "
                        "[0., 0.]]], shape=(2, 2, 2)") +
                kTail32);
  EXPECT_EQ(str(Tensor::zeros({0, 3})), std::string("Tensor([], shape=(0, 3)") + kTail32);
}

// The part between "Tensor(" and ", shape".
std::string values_of(const Tensor& x) {
  const std::string text = str(x);
  return text.substr(7, text.find(", shape") - 7);
}

TEST(Print, FloatsHaveTheirFewestDigitsOrAnExponent) {
  register_devices();
  EXPECT_EQ(values_of(Tensor::from({1e10, 1.5})), "[1.0e+10, 1.5e+00]");
  EXPECT_EQ(values_of(Tensor::from({1e-5, 1.0})), "[1.e-05, 1.e+00]");
  EXPECT_EQ(values_of(Tensor::from({1e10})), "[1.e+10]");
  EXPECT_EQ(values_of(Tensor::from({std::nan(""), HUGE_VAL, -1.0})), "[nan, inf, -1.]");
  EXPECT_EQ(values_of(Tensor::from({1.0 / 3})), "[0.33333333]");
  EXPECT_EQ(values_of(Tensor::from({-0.0, 1e5, 123456.75})), "[    -0.  , 100000.  , 123456.75]");
  EXPECT_EQ(values_of(Tensor::from({0.1, 0.2}).half()), "[0.1, 0.2]");
  EXPECT_EQ(values_of(Tensor::from({16777.1F, 1.0F / 3 * 1e4F})), "[16777.1   ,  3333.3335]");
}

TEST(Print, ManyElementsShowTheEndsOfEachAxis) {
  register_devices();
  EXPECT_EQ(values_of(Tensor::arange(2000)), "[   0,    1,    2, ..., 1997, 1998, 1999]");
  EXPECT_EQ(values_of(Tensor::arange(1000)).find("..."), std::string::npos);
  const std::string text = values_of(Tensor::arange(1200).reshape({30, 40}));
  EXPECT_TRUE(text.starts_with("[[   0,    1,    2, ...,   37,   38,   39],\n        [  40,"))
      << text;
  EXPECT_NE(text.find("  119],\n        ...,\n        [1080, 1081,"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("1197, 1198, 1199]]")) << text;
}

TEST(Print, LongRowsGoOnInTheNextLine) {
  register_devices();
  std::istringstream lines(values_of(Tensor::arange(100)));
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 76U) << line;
  EXPECT_GT(count, 4U);
}

TEST(Print, AStreamAGradientAndALazyBuffer) {
  register_devices();
  std::ostringstream out;
  out << Tensor::from(2.0).set_requires_grad();
  EXPECT_EQ(out.str(), "Tensor(2., shape=(), dtype=float64, device=CPU, requires_grad=True)");
  EXPECT_EQ(str(Tensor::none()), "Tensor(none)");
  const Tensor a = Tensor::from({1.0F, 2.0F});
  EXPECT_EQ(str(*a.lazy()), "LazyBuffer(realized, shape=(2,), dtype=float32, device=CPU)");
  EXPECT_EQ(str(*(a * a).lazy()),
            "LazyBuffer(MUL of (2,) (2,), shape=(2,), dtype=float32, device=CPU)");
  const auto items = schedule(std::vector{(a * a).lazy()});
  ASSERT_EQ(items.size(), 1U);
  std::ostringstream kernel;
  kernel << items[0].ast;
  EXPECT_EQ(kernel.str(), str(items[0].ast));
  EXPECT_NE(kernel.str().find("MUL"), std::string::npos);
  const std::string view = str(*a.flip({0}).lazy());
  EXPECT_NE(view.find("view="), std::string::npos) << view;
}

}  // namespace
}  // namespace touchstone

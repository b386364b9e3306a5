// Every differentiable operation against central differences, first and second derivatives.
#include "gradient_table.h"

#include <fstream>
#include <numeric>
#include <regex>
#include <set>

#include "../support/sanitized.h"
#include "tensor_check.h"

namespace touchstone {
namespace {

using Tensors = std::vector<Tensor>;

// Distinct values within and across operands, away from the operations' edges.
Doubles apart(std::int64_t count, const Drawn& d, std::size_t operand, std::uint64_t seed) {
  const double step = (d.high - d.low) / 128;
  std::vector<double> grid;
  for (double x = d.low; x < d.high; x += step)
    grid.push_back(x + step * (0.31 + 0.13 * static_cast<double>(operand)));
  const Doubles order = some(static_cast<std::int64_t>(grid.size()), 0, 1, seed + operand);
  std::vector<std::size_t> at(grid.size());
  std::iota(at.begin(), at.end(), 0);
  std::ranges::sort(at, {}, [&](std::size_t i) { return order[i]; });
  Doubles values;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
    values.push_back(grid[at.at(i)]);
  return values;
}

Tensors tensors(const std::vector<Doubles>& values, const std::vector<Shape>& shapes) {
  Tensors all;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    all.push_back(Tensor::from<double>(values[i], shapes[i]).set_requires_grad());
  return all;
}

// A weighted sum whose weights have no symmetry.
Tensor weighted(const Tensor& out, std::uint64_t seed) {
  return (out * Tensor::from<double>(some(out.elements(), 0.5, 1.5, seed), out.shape())).sum();
}
Tensor weighted(const Tensors& outs, std::uint64_t seed) {
  Tensor sum = Tensor::zeros({}, {DType::Float64, "CPU"});
  for (const Tensor& out : outs) sum = sum + weighted(out, ++seed);
  return sum;
}

bool near(double got, double wanted, double tolerance) {
  return std::abs(got - wanted) <= tolerance * std::max(1.0, std::abs(wanted));
}

// Checks a function, its directional derivative, and that of its gradient.
void check(const GradientRow& row) {
  const Drawn d = row.draw();
  const auto seed = static_cast<std::uint64_t>(any_in(1, 1000));
  constexpr double kStep = 1e-5;
  std::vector<Doubles> x, before, after, direction;
  for (std::size_t i = 0; i < d.shapes.size(); ++i) {
    x.push_back(apart(max_elements(d.shapes[i]), d, i, seed));
    direction.push_back(some(static_cast<std::int64_t>(x[i].size()), -1, 1, seed + 77 + i));
    before.push_back(x[i]);
    after.push_back(x[i]);
    for (std::size_t j = 0; j < x[i].size(); ++j) {
      before[i][j] -= kStep * direction[i][j];
      after[i][j] += kStep * direction[i][j];
    }
  }
  const Tensors along = tensors(direction, d.shapes);
  const auto slope = [&](const Tensors& gradient) {
    Tensor sum = Tensor::zeros({}, {DType::Float64, "CPU"});
    for (std::size_t i = 0; i < gradient.size(); ++i)
      sum = sum + (gradient[i].detach() * along[i].detach()).sum();
    return sum;
  };
  struct At {
    Tensors xs;
    Tensor value;  // weighted sum of the result
    Tensors gradient;
    Tensor mixed;  // weighted sum of the gradient
  };
  const auto at = [&](const std::vector<Doubles>& values) {
    const Tensors xs = tensors(values, d.shapes);
    const Tensor value = weighted(d.f(xs), 9);
    const Tensors gradient = gradients(value, xs, CreateGraph::Yes);
    return At{xs, value, gradient, weighted(gradient, 20)};
  };
  const At here = at(x), left = at(before), right = at(after);
  const Tensor first = slope(here.gradient);
  const Tensor second = here.mixed.requires_grad() ? slope(gradients(here.mixed, here.xs))
                                                   : Tensor::zeros({}, {DType::Float64, "CPU"});
  Tensors wanted = {first, second, left.value, right.value, left.mixed, right.mixed};
  for (Tensor& t : wanted) t = t.contiguous();
  realize(wanted);
  const auto number = [&](std::size_t i) { return wanted[i].item<double>(); };
  const double difference = (number(3) - number(2)) / (2 * kStep),
               change = (number(5) - number(4)) / (2 * kStep);
  if (!near(number(0), difference, 1e-5))
    RC_FAIL(fmt::format("gradient {}, difference {}", number(0), difference));
  if (!near(number(1), change, 1e-5))
    RC_FAIL(fmt::format("second derivative {}, difference of gradients {}", number(1), change));
  for (std::size_t i = 0; i < d.shapes.size(); ++i) {
    RC_ASSERT(here.gradient[i].shape() == d.shapes[i]);
    RC_ASSERT(here.gradient[i].dtype() == DType::Float64);
  }
}

TEST(GradientTable, EqualsCentralDifferencesOnAnyShape) {
  register_devices();
  for (const GradientRow& row : gradient_rows()) {
    const int cases = row.name == "conv/pairs" ? 100 : 5;
    expect_holds(row.name, test::kSanitized ? 2 : cases, [&] { check(row); });
  }
}

// Names of functions in a header that return tensors.
std::set<std::string> operations(const std::string& path) {
  std::ifstream file(std::string(TOUCHSTONE_SOURCE_DIR) + "/lib/tensor/" + path);
  EXPECT_TRUE(file.is_open()) << path;
  const std::regex declaration(
      R"(^\s*(?:static )?(?:const )?(?:Tensor|std::vector<Tensor>|Sorted)&? (operator[^ (]+|[a-z_0-9]+)\()");
  std::set<std::string> names;
  bool is_public = true;
  for (std::string line; std::getline(file, line);) {
    if (line == " private:") is_public = false;
    if (line == " public:" || line.starts_with("};")) is_public = true;
    if (std::smatch found; is_public && std::regex_search(line, found, declaration))
      names.insert(found[1]);
  }
  return names;
}

TEST(GradientTableNames, AreAllPublicOperations) {
  std::set<std::string> declared, covered, excused;
  for (const char* header :
       {"tensor.h", "conv.h", "einsum.h", "indexing.h", "functional.h", "generator.h"})
    declared.merge(operations(header));
  EXPECT_GT(declared.size(), 120u);
  for (const GradientRow& row : gradient_rows()) {
    const std::string name(row.name);  // operator/ keeps its slash
    const std::size_t slash = name.find('/', name.starts_with("operator/") ? 9 : 0);
    covered.insert(name.substr(0, slash));
  }
  for (const WithoutGradient& row : without_gradient()) excused.insert(std::string(row.name));
  for (const std::string& name : declared)
    EXPECT_TRUE(covered.contains(name) != excused.contains(name))
        << name << " is in " << (covered.contains(name) ? "both" : "neither")
        << " of the tables of gradient_table.cpp; give it a row in one";
  for (const auto& all : {covered, excused})
    for (const std::string& name : all)
      EXPECT_TRUE(declared.contains(name)) << name << " is no public operation";
}

}  // namespace
}  // namespace touchstone

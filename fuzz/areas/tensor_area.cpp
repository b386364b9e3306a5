#include <algorithm>
#include <cmath>

#include "touchstone/base/error.h"
#include "touchstone/device/device.h"
#include "touchstone/fuzz/areas/areas.h"
#include "touchstone/fuzz/areas/call_check.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/fuzz/engine/last_parsed.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/tensor/functional.h"
#include "touchstone/tensor/indexing.h"
#include "touchstone/tensor/tensor.h"

namespace touchstone::fuzz {
namespace {

constexpr const char* kDevice = "FUZZ";
using InputValues = std::vector<std::vector<double>>;  // of each input

Tensor strided(const Tensor& x, const std::vector<std::int64_t>& steps) {
  std::vector<Slice> slices;
  for (const std::int64_t step : steps) slices.push_back({.step = step});
  return x.slice(slices);
}

struct Statement {
  std::string_view name;
  Tensor (*apply)(const std::vector<Tensor>& x);
};
constexpr Statement kStatements[] = {
    {"neg", [](const std::vector<Tensor>& x) { return -x[0]; }},
    {"square", [](const std::vector<Tensor>& x) { return x[0].square(); }},
    {"sin", [](const std::vector<Tensor>& x) { return x[0].sin(); }},
    {"exp2s", [](const std::vector<Tensor>& x) { return (x[0] * 0.5).exp2(); }},
    {"sqrtp", [](const std::vector<Tensor>& x) { return (x[0].square() + 0.5).sqrt(); }},
    {"recipp", [](const std::vector<Tensor>& x) { return (x[0].square() + 0.5).reciprocal(); }},
    {"log2p", [](const std::vector<Tensor>& x) { return (x[0].square() + 0.5).log2(); }},
    {"tanh", [](const std::vector<Tensor>& x) { return x[0].tanh(); }},
    {"sigmoid", [](const std::vector<Tensor>& x) { return x[0].sigmoid(); }},
    {"gelu", [](const std::vector<Tensor>& x) { return x[0].gelu(); }},
    {"relu", [](const std::vector<Tensor>& x) { return x[0].relu(); }},
    {"abs", [](const std::vector<Tensor>& x) { return x[0].abs(); }},
    {"add", [](const std::vector<Tensor>& x) { return x[0] + x[1]; }},
    {"sub", [](const std::vector<Tensor>& x) { return x[0] - x[1]; }},
    {"mul", [](const std::vector<Tensor>& x) { return x[0] * x[1]; }},
    {"maximum", [](const std::vector<Tensor>& x) { return maximum(x[0], x[1]); }},
    {"minimum", [](const std::vector<Tensor>& x) { return minimum(x[0], x[1]); }},
    {"matmul", [](const std::vector<Tensor>& x) { return x[0].matmul(x[1]); }},
    {"contiguous", [](const std::vector<Tensor>& x) { return x[0].contiguous(); }},
    {"select", [](const std::vector<Tensor>& x) { return Tensor::where(x[0] < x[1], x[0], x[2]); }},
};

/// The weighted sum of the last value's elements.
Tensor evaluate(const TensorProgram& program, const std::vector<Tensor>& inputs, bool early) {
  std::vector<Tensor> values;
  std::size_t next = 0;
  for (const ProgramStep& s : program.steps) {
    std::vector<Tensor> x;
    for (const int o : s.of) x.push_back(values[static_cast<std::size_t>(o)]);
    if (s.name == "input") {
      values.push_back(inputs[next++]);
    } else if (is_movement(s.name)) {
      values.push_back(apply_movement(x[0], s.movement, strided));
    } else if (s.name == "realize") {
      values.push_back(early ? x[0].realize() : x[0]);
    } else if (s.name == "rows") {
      std::vector<std::int64_t> at;
      for (const int row : axes_of(s)) at.push_back(row);
      const Shape shape{static_cast<std::int64_t>(at.size())};
      values.push_back(take(x[0], Tensor::from(at, shape, kDevice) * std::int64_t{1}, 0));
    } else if (s.name == "softmax") {
      values.push_back(softmax(x[0], axes_of(s)[0]));
    } else if (s.name == "reduce_sum" || s.name == "mean" || s.name == "reduce_max") {
      const std::vector<int> axes = axes_of(s);
      values.push_back(axes.empty()             ? x[0]
                       : s.name == "reduce_sum" ? x[0].sum(axes, KeepDim::Yes)
                       : s.name == "mean"       ? x[0].mean(axes, KeepDim::Yes)
                                                : x[0].max(axes, KeepDim::Yes));
    } else {
      const auto* const found = std::ranges::find(kStatements, s.name, &Statement::name);
      if (found == std::end(kStatements))
        throw ParseError(fmt::format("the statement '{}' belongs to area lazy", s.name));
      values.push_back(found->apply(x));
    }
    if (early) values.back().realize();
  }
  const Tensor& last = values.back();
  std::vector<double> weights(static_cast<std::size_t>(last.elements()));
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = 1 + 0.37 * static_cast<double>(i % 5);
  return (last * Tensor::from(weights, last.shape(), kDevice)).sum();
}

class TensorArea final : public Area {
 public:
  TensorArea() {
    Device::add(kDevice, [] { return make_interpreted_device(kDevice, 1); });
  }
  std::string_view name() const override { return "tensor"; }
  std::string draw(Chooser& chooser) override {
    if (!chooser.chance(3, 4)) return draw_program(chooser, {.gradients = true});
    return (chooser.chance(1, 3) ? draw_kernel_call(chooser) : draw_call(chooser)).str();
  }

  Checked check(const std::string& text, Effort effort) override {
    if (is_call(text)) {
      const Checked c = check_call(calls_.of(text), text, effort, kDevice);
      Device::get(kDevice).forget_runners();
      return c;
    }
    const TensorProgram& program = programs_.of(text);
    for (const ProgramType& t : program.types())
      if (t.dtype != DType::Float64) throw ParseError("programs of area tensor must be in float64");
    try {
      const Checked c = check(program, text, effort);
      Device::get(kDevice).forget_runners();
      return c;
    } catch (const ParseError&) {
      throw;
    } catch (const Error& e) {
      return Checked::fail("refused", e.what());
    }
  }

  std::vector<std::string> smaller(const std::string& text) override {
    return is_call(text) ? smaller_calls(calls_.of(text))
                         : smaller_programs(programs_.of(text), {.gradients = true});
  }
  Measure measure(const std::string& text) override {
    if (!is_call(text)) return measure_of(programs_.of(text));
    const Call& call = calls_.of(text);
    require_call(call);
    return measure_of(call);
  }
  Extent extent(const std::string& text) override {
    return is_call(text) ? extent_of(calls_.of(text)) : extent_of(programs_.of(text));
  }
  std::vector<Dimension> dimensions() const override {
    return program_dimensions({.gradients = true});
  }
  std::vector<CoverageRow> coverage(const std::string& text, Ending /*ending*/) override {
    if (is_call(text)) return {};
    return program_coverage(programs_.of(text), {.gradients = true});
  }

 private:
  static std::vector<Tensor> tensors(const TensorProgram& program, const InputValues& values) {
    std::vector<Tensor> out;
    for (const ProgramStep& s : program.steps)
      if (s.name == "input")
        out.push_back(
            Tensor::from(values[out.size()], Shape(s.shape.begin(), s.shape.end()), kDevice));
    return out;
  }

  static double value(const TensorProgram& program, const InputValues& values, bool early = false) {
    return evaluate(program, tensors(program, values), early).item<double>();
  }

  static Checked check(const TensorProgram& program, const std::string& text, Effort effort) {
    InputValues values;
    for (const ProgramStep& s : program.steps) {
      if (s.name != "input") continue;
      std::size_t n = 1;
      for (const std::int64_t size : s.shape) n *= static_cast<std::size_t>(size);
      values.emplace_back();
      for (std::size_t i = 0; i < n; ++i) values.back().push_back(value_of(s, i).to_double());
    }
    std::vector<Tensor> inputs = tensors(program, values);
    for (Tensor& t : inputs) t.set_requires_grad();
    const Tensor result = evaluate(program, inputs, false);
    const double f = result.item<double>();
    const double early = value(program, values, true);
    if (!(f == early || (std::isnan(f) && std::isnan(early))))
      return Checked::fail("early", fmt::format("{} where each statement is realized at once, {} "
                                                "where all are at the end",
                                                early, f));
    if (!(std::abs(f) < 1e6)) return {Ending::Skipped, {}};
    result.backward();
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const std::optional<Tensor> grad = inputs[k].grad();
      const std::vector<double> told =
          grad ? grad->read<double>() : std::vector<double>(values[k].size(), 0.0);
      if (told.size() != values[k].size())
        return Checked::fail("gradient", fmt::format("input {} has {} elements, its gradient {}", k,
                                                     values[k].size(), told.size()));
      for (std::size_t i = 0; i < told.size(); ++i) {
        // A sample of long inputs, chosen by the text.
        if (effort == Effort::Sampled && told.size() > 3 &&
            hash_mix(hash_bytes(text), 64 * k + i) % told.size() > 1)
          continue;
        if (auto wrong = differs(program, values, k, i, f, told[i])) return *wrong;
      }
    }
    return {};
  }

  // Compares with a derivative on which two-sided differences at two distances agree.
  static std::optional<Checked> differs(const TensorProgram& program, InputValues values,
                                        std::size_t k, std::size_t i, double f, double told) {
    const double x = values[k][i], h = 1.0 / 4096;
    const auto at = [&](double offset) {
      values[k][i] = x + offset;
      return value(program, values);
    };
    const double up = at(h), down = at(-h), up2 = at(h / 2), down2 = at(-h / 2);
    const double wide = (up - down) / (2 * h), narrow = (up2 - down2) / h;
    const double right = (4 * narrow - wide) / 3;
    const double bend = std::abs((up - f) / h - (f - down) / h);  // large at a kink
    const double scale = 1 + std::abs(right) + std::abs(f);
    if (!std::isfinite(right) || bend > 0.05 * (1 + std::abs(right)) ||
        std::abs(wide - narrow) > 1e-3 * scale)
      return std::nullopt;
    if (std::abs(told - right) <= 1e-5 * scale + 2 * std::abs(wide - narrow)) return std::nullopt;
    return Checked::fail(
        "gradient",
        fmt::format("d/d(element {} of input {}) is {}, by differences {}", i, k, told, right));
  }

  LastParsed<Call> calls_;
  LastParsed<TensorProgram> programs_;
};

}  // namespace

std::unique_ptr<Area> make_tensor_area() { return std::make_unique<TensorArea>(); }

}  // namespace touchstone::fuzz

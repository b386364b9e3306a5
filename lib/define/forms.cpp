#include "touchstone/define/forms.h"

#include <algorithm>
#include <set>

#include "touchstone/base/suggest.h"
#include "touchstone/define/definitions.h"

namespace touchstone::define {
namespace {

// exp neither overflows nor loses digits to subnormal results.
Array is_small(const Array& x) {
  const bool is_double = !x.is_number() && x.dtype() == DType::Float64;
  return less(abs(wide(x)), Array::number(is_double ? "600" : "64"));
}
Array x_is_small(const Arguments& c) { return is_small(c.array("x")); }

// Whose square root scales both factors.
Array scale_is_positive(const Arguments& c) {
  const Array zero = Array::number("0");
  return less(zero, c.maybe("scale").value_or(Array(1)));
}

constexpr std::string_view kNorms = "layer_norm batch_norm group_norm instance_norm rms_norm";
constexpr std::string_view kStatistics = "layer_norm group_norm instance_norm";
constexpr std::string_view kMeans =
    "mean var std avg_pool1d avg_pool2d avg_pool3d "
    "adaptive_avg_pool1d adaptive_avg_pool2d embedding_bag";
constexpr std::string_view kConvolutions =
    "linear conv1d conv2d conv3d conv_transpose1d "
    "conv_transpose2d conv_transpose3d";

constexpr CompositeForm kForms[] = {
    {kNorms, "folded", "x*s + (b - mean*s), s = r*w", {.scaling = Scaling::Folded}},
    {kNorms, "divided", "(x - mean) / sqrt(var + eps) * w + b", {.scaling = Scaling::Divided}},
    {kNorms, "scale first", "(x - mean) * (r*w) + b", {.scaling = Scaling::ScaleFirst}},
    {kNorms, "shifted", "(x*r - mean*r) * w + b", {.scaling = Scaling::Shifted}},
    {kStatistics, "running", "mean = sum(x * (1/n)), for running means", {.running = true}},
    {kStatistics, "running, folded", "both", {.scaling = Scaling::Folded, .running = true}},
    {kStatistics, "running, shifted", "both", {.scaling = Scaling::Shifted, .running = true}},
    {kMeans, "reciprocal", "sum * (1/n)", {.reciprocal = true}},
    {kMeans, "running", "sum(x * (1/n)), for running means", {.running = true}},
    {"quantize fake_quantize", "reciprocal", "x * (1/scale)", {.reciprocal = true}},
    {"hardswish hardsigmoid", "reciprocal", "x relu6(x + 3) * (1/6)", {.reciprocal = true}},
    {"hardswish hardsigmoid", "gate first", "x * min(max(x/6 + 1/2, 0), 1)", {.gate_first = true}},
    {"kl_div", "factored", "t * (log(t) - x)", {.factored = true}},
    {"softmax masked_softmax", "reciprocal", "e * (1 / sum(e))", {.reciprocal = true}},
    {"softmax masked_softmax", "base 2", "e = exp2(x*log2(e) - max*log2(e))", {.base2 = true}},
    {"softmax masked_softmax", "base 2, reciprocal", "both", {.reciprocal = true, .base2 = true}},
    {"softmax log_softmax logsumexp cross_entropy",
     "unshifted",
     "without subtracting the maximum, where |x| < 64 (float64: 600)",
     {.unshifted = true},
     x_is_small},
    {"log_softmax cross_entropy", "sum first", "x - (max + log(sum))", {.sum_first = true}},
    {kConvolutions, "bias first", "b is the first term of the sum", {.bias_first = true}},
    {kConvolutions,
     "narrow product",
     "the product rounded to a narrow type before b is added",
     {.narrow_product = true}},
    {"softmax masked_softmax log_softmax logsumexp cross_entropy nll_loss mse_loss l1_loss "
     "smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits kl_div "
     "hinge_embedding_loss margin_ranking_loss soft_margin_loss poisson_nll_loss gaussian_nll_loss "
     "triplet_margin_loss cosine_embedding_loss multilabel_soft_margin_loss multi_margin_loss "
     "layer_norm group_norm instance_norm rms_norm batch_norm rnn_cell lstm_cell lstm_cell_c "
     "gru_cell rope",
     "narrow stages",
     "exponentials, sums, logarithms, losses, gates, or mean and r, may be rounded to a narrow "
     "type",
     {.narrow_stages = true}},
    {kStatistics,
     "narrow stages, folded",
     "both",
     {.scaling = Scaling::Folded, .narrow_stages = true}},
    {"interpolate",
     "float positions",
     "nearest elements by floor(i * (in / out)) in float32",
     {.float_positions = true}},
    {"attention", "late", "(e v) / sum(e)", {.late = true}},
    {"attention", "late, reciprocal", "(e v) * (1 / sum(e))", {.reciprocal = true, .late = true}},
    {"attention attention_scores",
     "divided scores",
     "(q k^T) / sqrt(d)",
     {.scale_at = ScaleAt::Divided}},
    {"attention attention_scores",
     "scaled queries",
     "(q*scale) k^T",
     {.scale_at = ScaleAt::Queries}},
    {"attention attention_scores",
     "scaled both",
     "(q*s) (k*s)^T, s*s = scale",
     {.scale_at = ScaleAt::Both},
     scale_is_positive},
    {"attention", "late, divided scores", "both", {.scale_at = ScaleAt::Divided, .late = true}},
    {"attention", "late, scaled queries", "both", {.scale_at = ScaleAt::Queries, .late = true}},
    {"attention", "late, base 2", "late, with exp2 in place of exp", {.base2 = true, .late = true}},
    {"attention",
     "late, base 2, reciprocal",
     "with 1 / sum(e)",
     {.reciprocal = true, .base2 = true, .late = true}},
    {"attention", "narrow weights", "softmax rounded to the type of v", {.narrow_weights = true}},
    {"attention",
     "late, narrow weights",
     "e rounded to the type of v",
     {.late = true, .narrow_weights = true}},
    {"attention",
     "late, base 2, narrow weights",
     "with exp2 in place of exp",
     {.base2 = true, .late = true, .narrow_weights = true}},
    {"attention attention_scores",
     "narrow stages",
     "scores and weights rounded",
     {.narrow_stages = true}},
    {"attention attention_scores",
     "narrow stages, divided scores",
     "both",
     {.scale_at = ScaleAt::Divided, .narrow_stages = true}},
    {"attention attention_scores",
     "narrow stages, scaled both",
     "q*s and k*s rounded, too",
     {.scale_at = ScaleAt::Both, .narrow_stages = true},
     scale_is_positive},
    {"attention attention_scores",
     "narrow stages, scaled queries",
     "q*scale rounded, too",
     {.scale_at = ScaleAt::Queries, .narrow_stages = true}},
    {"binary_cross_entropy_with_logits",
     "textbook",
     "max(x, 0) - x t + log1p(exp(-|x|))",
     {.entropy = Entropy::Textbook}},
    {"binary_cross_entropy_with_logits",
     "parts",
     "t softplus(-x) + (1 - t) softplus(x)",
     {.entropy = Entropy::Parts}},
    {"binary_cross_entropy",
     "textbook",
     "log(1 - p): digits of a small p are lost",
     {.entropy = Entropy::Textbook},
     nullptr,
     false},
    {"mean var std softmax log_softmax logsumexp layer_norm group_norm instance_norm "
     "rms_norm batch_norm cross_entropy avg_pool1d avg_pool2d avg_pool3d "
     "adaptive_avg_pool1d adaptive_avg_pool2d prod cumprod embedding_bag quantize "
     "fake_quantize masked_softmax",
     "own type",
     "each operation rounds to the narrow type",
     {.own_type = true},
     nullptr,
     false},
    {"var std layer_norm group_norm instance_norm",
     "moments",
     "var = (sum(x*x) - n*mean^2) / n: digits cancel",
     {.moments = true},
     nullptr,
     false},
    {"cumsum",
     "subtracts",
     "the total less the later terms: digits cancel",
     {.subtracts = true},
     nullptr,
     false},
    {"matmul linear",
     "strassen",
     "one level of Strassen's product",
     {.rearranged = Rearranged::Strassen},
     nullptr,
     false},
    {"conv1d conv2d",
     "winograd 2",
     "Winograd's F(2,3), tiles of 2 outputs: windows of 3",
     {.rearranged = Rearranged::WinogradTwo},
     nullptr,
     false},
    {"conv1d conv2d",
     "winograd 4",
     "Winograd's F(4,3), tiles of 4 outputs: windows of 3",
     {.rearranged = Rearranged::WinogradFour},
     nullptr,
     false},
    {"conv1d conv2d",
     "fourier",
     "a product of Fourier transforms",
     {.rearranged = Rearranged::Fourier},
     nullptr,
     false},
};

constexpr CompositeForm kDefinition{"", "definition", "as the definition says", {}};
// Of all definitions, together with each other form.
constexpr std::string_view kExactNumbers = "exact numbers";

bool is_of(const CompositeForm& form, std::string_view name) {
  std::string_view rest = form.of;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (rest.substr(0, end) == name) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

struct Choices {
  std::string composite;
  std::vector<const CompositeForm*> forms;  // the first is the one usually taken
};

std::vector<Choices> choices_of(const Formula& formula, std::span<const std::string> named) {
  std::vector<Choices> all;
  for (const std::string& name : formula.called) {
    Choices one{name, {}};
    const auto wanted = [&](const CompositeForm& form) {
      return std::ranges::find(named, form.name) != named.end();
    };
    if (named.empty() || wanted(kDefinition)) one.forms.push_back(&kDefinition);
    for (const CompositeForm& form : kForms)
      if (is_of(form, name) && (named.empty() ? form.by_default : wanted(form)))
        one.forms.push_back(&form);
    if (one.forms.empty()) one.forms.push_back(&kDefinition);
    if (one.forms.size() > 1 || one.forms[0] != &kDefinition) all.push_back(std::move(one));
  }
  return all;
}

// Every way to choose one form of each, those nearest to the first ones first.
std::vector<std::vector<std::size_t>> picks_of(const std::vector<Choices>& all) {
  std::vector<std::vector<std::size_t>> picks{std::vector<std::size_t>(all.size())};
  // Each pass changes one more choice, later than those changed before.
  for (std::size_t begin = 0; begin < picks.size() && picks.size() < kMostForms; ++begin) {
    std::size_t first = all.size();
    while (first > 0 && picks[begin][first - 1] == 0) --first;
    for (std::size_t i = first; i < all.size(); ++i)
      for (std::size_t k = 1; k < all[i].forms.size() && picks.size() < kMostForms; ++k) {
        picks.push_back(picks[begin]);
        picks.back()[i] = k;
      }
  }
  return picks;
}

Formula parse_in_stages(std::string_view text, std::span<const InputShape> shapes, Stores& stages) {
  Formula made = parse(text, shapes, {}, &stages);
  for (const auto& [name, type] : stages.types)
    if (!stages.known.contains(name))
      throw ParseError(fmt::format(
          "profile: \"stores\": {} has no stage '{}'; it has {}", text, name,
          stages.known.empty() ? "none" : fmt::format("{}", fmt::join(stages.known, ", "))));
  return made;
}

}  // namespace

std::span<const CompositeForm> composite_forms() { return kForms; }

void require_form(std::string_view name) {
  std::set<std::string_view> known{kDefinition.name, kExactNumbers};
  for (const CompositeForm& form : kForms) known.insert(form.name);
  const std::vector<std::string_view> names(known.begin(), known.end());
  if (!known.contains(name))
    throw ParseError(fmt::format("there is no form '{}'{}; known: {}", name,
                                 did_you_mean(name, names), fmt::join(names, "; ")));
}

LazyOpPtr in_stages(std::string_view text, std::span<const InputShape> shapes,
                    std::span<const std::pair<std::string, DType>> stores) {
  Stores stages{{stores.begin(), stores.end()}};
  return parse_in_stages(text, shapes, stages).kernel();
}

std::set<std::string> stages_of(std::string_view text, std::span<const InputShape> shapes) {
  Stores stages;
  parse(text, shapes, {}, &stages);
  return stages.known;
}

std::vector<FormulaForm> forms_of(std::string_view text, std::span<const InputShape> shapes,
                                  std::span<const std::string> named,
                                  std::span<const std::pair<std::string, DType>> stores) {
  Stores stages{{stores.begin(), stores.end()}};
  for (const std::string& name : named) require_form(name);
  const Formula definition = parse_in_stages(text, shapes, stages);
  const std::vector<Choices> all = choices_of(definition, named);
  const Numbers numbers = named.empty() || std::ranges::find(named, kExactNumbers) != named.end()
                              ? Numbers::MayBeExact
                              : Numbers::Rounded;
  std::vector<LazyOpPtr> known;
  if (named.empty()) known.push_back(definition.kernel());
  std::vector<FormulaForm> out;
  for (const std::vector<std::size_t>& pick : picks_of(all)) {
    ChosenForms chosen;
    FormulaForm made;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const CompositeForm* form = all[i].forms[pick[i]];
      if (form == &kDefinition) continue;
      chosen.emplace(all[i].composite, form);
      made.name +=
          fmt::format("{}{}: {}", made.name.empty() ? "" : ", ", all[i].composite, form->name);
    }
    try {
      const Formula formula = parse(text, shapes, chosen, &stages);
      made.kernel = formula.kernel(numbers);
      if (named.empty() && made.name.empty()) made.name = kExactNumbers;
      if (named.empty())
        for (const Array& condition : formula.sound) made.sound.push_back(kernel(condition));
    } catch (const Error&) {  // beyond a kernel's limits, which the definition keeps
      continue;
    }
    const auto is_same = [&](const LazyOpPtr& k) { return same(k, made.kernel); };
    if (std::ranges::any_of(known, is_same)) continue;
    known.push_back(made.kernel);
    out.push_back(std::move(made));
  }
  return out;
}

}  // namespace touchstone::define

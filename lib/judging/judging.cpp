// Verdicts on definitions: in each of their forms, in the user's words.
#include "touchstone/judging/judging.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/base/fp_guard.h"
#include "touchstone/base/json_fault.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/interp/device/threads.h"
#include "touchstone/interp/oracle/declared_profile.h"
#include "touchstone/interp/oracle/envelope.h"
#include "touchstone/interp/oracle/subkernel.h"
#include "touchstone/interp/oracle/unrounded.h"
#include "touchstone/judging/cause.h"

namespace touchstone {
namespace {

constexpr int kJudgingVersion = 1;
using JudgingJson = nlohmann::ordered_json;

void collect_inputs(const define::ArrayNode& node, const std::vector<std::string>& names,
                    std::vector<Judging::Input>& inputs, std::set<const define::ArrayNode*>& seen) {
  if (!seen.insert(&node).second) return;
  if (const auto i = static_cast<std::size_t>(node.buffer) - 1; node.op == Op::Load)
    inputs.at(i) = {names.at(i), node.dtype, node.shape};
  for (const auto& s : node.src) collect_inputs(*s, names, inputs, seen);
}

}  // namespace

std::string ChosenProfile::str() const { return fmt::format("under {} ({})", profile.name, from); }

std::string ChosenProfile::str(const Verdict& verdict) const {
  const bool of_elements = verdict.outcome == Outcome::Fail && verdict.checked > 0;
  if (!of_elements) return verdict.str();
  return fmt::format("{} {}{}{}", verdict.str(), str(), verdict.cause.empty() ? "" : "; ",
                     verdict.cause);
}

Judging Judging::of(std::string definition, bool is_loose) {
  Judging made;
  made.definition = std::move(definition);
  made.profile = Profile::named(define::usual_profile(is_loose));
  if (is_loose) made.from = "the formula names library functions";
  return made;
}

Judging Judging::under(const std::optional<ChosenProfile>& chosen) const {
  Judging out = *this;
  if (chosen) static_cast<ChosenProfile&>(out) = *chosen;
  for (const std::string& form : out.profile.forms) define::require_form(form);
  return out;
}

KernelToJudge formula_to_judge(std::string_view text, std::span<const define::InputShape> shapes) {
  const define::Formula formula = define::parse(text, shapes);
  KernelToJudge made{kernel_file(formula.kernel()),
                     Judging::of(std::string(text), formula.is_loose)};
  made.judging.inputs.resize(formula.inputs.size());
  std::set<const define::ArrayNode*> seen;
  collect_inputs(*formula.value.node(), formula.inputs, made.judging.inputs, seen);
  return made;
}

Profile own_profile(std::string_view json) {
  Profile profile = Profile::from_json(json);
  if (is_builtin_name(profile.name) && profile != Profile::named(profile.name))
    throw ParseError(
        fmt::format("profile: '{}' is the name of a built-in profile; give this one another name",
                    profile.name));
  return profile;
}

std::string judging_json(const KernelToJudge& kernel) {
  const Judging& j = kernel.judging;
  JudgingJson inputs = JudgingJson::array();
  for (const Judging::Input& input : j.inputs)
    inputs.push_back({{"name", input.name}, {"dtype", name(input.dtype)}, {"shape", input.shape}});
  const JudgingJson profile = is_builtin_name(j.profile.name)
                                  ? JudgingJson(j.profile.name)
                                  : JudgingJson::parse(j.profile.to_json());
  const JudgingJson out{{"touchstone_judging", kJudgingVersion},
                        {"kernel", kernel_hash(kernel)},
                        {"definition", j.definition},
                        {"inputs", inputs},
                        {"profile", profile},
                        {"profile_from", j.from}};
  return out.dump(1, ' ', true, JudgingJson::error_handler_t::replace) + "\n";
}

Judging judging_from_json(std::string_view text, const KernelFile& kernel,
                          std::string_view folder) {
  Judging read;
  try {
    require_shallow_json(text);
    const auto json = JudgingJson::parse(text);
    if (const auto& version = json.at("touchstone_judging"); version != kJudgingVersion)
      throw ParseError(fmt::format("has version {}, but this program reads version {}",
                                   version.dump(), kJudgingVersion));
    if (json.at("kernel") != kernel_hash(kernel)) return {};
    read.definition = json.at("definition").get<std::string>();
    for (const auto& input : json.at("inputs"))
      read.inputs.push_back({input.at("name").get<std::string>(),
                             parse_dtype(input.at("dtype").get<std::string>()),
                             input.at("shape").get<define::Sizes>()});
    const auto& profile = json.at("profile");
    read.profile = profile.is_string() ? Profile::named(profile.get<std::string>())
                                       : own_profile(profile.dump());
    if (json.at("profile_from") != read.from) read.from = fmt::format("stored in {}", folder);
  } catch (const JudgingJson::exception& e) {
    throw ParseError(fmt::format("judging.json: {}", json_fault(e.what())));
  } catch (const Error& e) {
    throw ParseError(fmt::format("judging.json: {}", e.what()));
  }
  return read;
}

namespace {

constexpr std::size_t kLongestSubject = 60;
constexpr std::size_t kMostOperands = 3;
constexpr int kMostSpecials = 64;

// True if each element of a kernel of bool is.
bool all_true(const LazyOpPtr& kernel, std::span<Buffer* const> inputs) {
  std::int64_t count = 1;
  for (const sint& size : kernel->shape()) count *= size.as_int();
  const std::unique_ptr<Device> host = make_interpreted_device();
  Buffer ones(*host, DType::Bool, count);
  ones.copy_in(std::vector<std::byte>(static_cast<std::size_t>(count), std::byte{1}));
  return judge(kernel, inputs, ones, {}, {}, Sampling::all()).outcome == Outcome::Pass;
}

bool passes(const Verdict& v) { return v.outcome == Outcome::Pass && !v.suspect(); }

// True if the definition allows the first NaN and infinities of a candidate: a form adds none.
bool allows_specials(const LazyOpPtr& definition, std::span<Buffer* const> inputs,
                     const Buffer& candidate, const Profile& profile) {
  if (!is_float(candidate.dtype())) return true;
  int seen = 0;
  for (std::int64_t i = 0; i < candidate.size() && seen < kMostSpecials; ++i) {
    const Scalar value = candidate.at(i);
    if (std::isfinite(value.to_double())) continue;
    ++seen;
    if (!is_legal_at(definition, inputs, i, value, profile)) return false;
  }
  return true;
}

// Calls sink(run, i, open) for elements whose result is legal: open if all larger ones, or NaN, are
// legal, too. `prepare` takes the number of runs, which are concurrent.
template <class Sink>
void each_legal(const LazyOpPtr& kernel, std::span<Buffer* const> inputs, const Profile& profile,
                const Sampling& sampling, const std::function<void(std::size_t)>& prepare,
                const std::function<Scalar(std::int64_t)>& result, const Sink& sink) {
  static interp::Threads threads;
  const FpGuard guard;
  interp::legal_results_in_runs(
      kernel, inputs, profile, {}, sampling, threads, prepare,
      [&](std::size_t run, std::int64_t first, const interp::LegalBlock& block) {
        with_storage(block.dtype(), [&]<class T>(std::type_identity<T>) {
          for (std::int64_t i = 0; i < block.count(); ++i) {
            const interp::Legal<T> legal = block.get<T>(i);
            const T x = result(first + i).as<T>();
            if (legal.accepts(x)) sink(run, first + i, legal.is_open_at(x));
          }
        });
      });
}

// True if the form allows all larger results, or NaN, in an element where the definition does not.
bool opens_more(const LazyOpPtr& form, const LazyOpPtr& definition, std::span<Buffer* const> inputs,
                const Buffer& candidate, const Judging& judging) {
  std::vector<std::vector<std::int64_t>> open;
  each_legal(
      form, inputs, judging.profile, judging.sampling, [&](std::size_t runs) { open.resize(runs); },
      [&](std::int64_t i) { return candidate.at(i); },
      [&](std::size_t run, std::int64_t i, bool is_open) {
        constexpr std::size_t kMost = 64;
        if (is_open && open[run].size() < kMost) open[run].push_back(i);
      });
  for (const auto& run : open)
    for (const std::int64_t i : run) {
      bool too = false;  // or the definition does not allow it at all
      each_legal(
          interp::one_element(definition, interp::place_of(i, definition)), inputs, judging.profile,
          {}, [](std::size_t) {}, [&](std::int64_t) { return candidate.at(i); },
          [&](std::size_t, std::int64_t, bool is_open) { too = is_open; });
      if (!too) return true;
    }
  return false;
}

// The best verdict among the forms; `found`: that on the definition as it stands.
Verdict in_forms(const LazyOpPtr& definition, Verdict found, std::span<Buffer* const> inputs,
                 const Buffer& candidate, const Judging& judging) {
  const std::vector<std::string>& named = judging.profile.forms;
  bool is_found = named.empty();
  const std::vector<std::int64_t> samples = samples_of(found, candidate.size());
  for (const define::FormulaForm& form :
       define::forms_of(judging.definition, shapes_of(judging), named, judging.profile.stores)) {
    if (form.name == "exact numbers" && !judging.profile.excess) continue;  // the definition again
    // Another form has the same exact values, and these errors, but not the stage to name.
    if (is_found && found.suspect() &&
        (found.evidence->suspicion->test == "inner" || found.evidence->suspicion->test == "terms"))
      break;
    const auto allows = [&](std::int64_t i, const Scalar& value) {
      return is_legal_at(form.kernel, inputs, i, value, judging.profile);
    };
    // A form that could not tell a number from those a quarter larger and smaller does not make it
    // right.
    const auto is_vague = [&](std::int64_t i) {
      const DType dtype = candidate.dtype();
      const double x = is_float(dtype) && i >= 0 ? candidate.at(i).to_double() : 0;
      return x != 0 && allows(i, Scalar::from_double(dtype, 1.25 * x)) &&
             allows(i, Scalar::from_double(dtype, 0.8 * x));
    };
    const auto is_legal = [&](std::int64_t i) { return allows(i, candidate.at(i)); };
    if (found.outcome == Outcome::Fail && is_found && !std::ranges::all_of(samples, is_legal))
      continue;
    const auto holds = [&](const LazyOpPtr& condition) { return all_true(condition, inputs); };
    if (!std::ranges::all_of(form.sound, holds)) continue;
    Verdict verdict = judge(form.kernel, inputs, candidate, judging.profile, {}, judging.sampling);
    // Right by a form that cannot tell is better than wrong, but not if it allows every number in
    // an element that was wrong.
    const bool is_better =
        (verdict.outcome == Outcome::Pass
             ? found.outcome != Outcome::Pass || passes(verdict)
             : verdict.outcome == Outcome::Weak && !is_vague(found.index) &&
                   (found.outcome == Outcome::Fail ||
                    (found.outcome == Outcome::Weak && verdict.weak < found.weak))) &&
        allows_specials(definition, inputs, candidate, judging.profile) &&
        (!is_found || !opens_more(form.kernel, definition, inputs, candidate, judging));
    if (is_found && !is_better) continue;
    verdict.form = form.name;
    found = std::move(verdict);
    is_found = true;
    if (passes(found)) break;
  }
  if (found.outcome == Outcome::Fail) found.form.clear();
  return found;
}

// "x = 0.5, y = 2.0": the elements of the inputs that one element depends on, if they are few.
std::string operands_of(const LazyOpPtr& kernel, std::span<Buffer* const> inputs,
                        std::int64_t index, const Judging& judging) {
  const LazyOpPtr one = interp::one_element(kernel, interp::place_of(index, kernel));
  std::vector<std::string> said;
  for (const LazyOpPtr& node : interp::nodes_of(one)) {
    if (node->op() == Op::Gather) return {};
    if (node->op() != Op::Load) continue;
    if (std::ranges::any_of(node->shape(), [](const sint& size) { return size != 1; })) return {};
    const auto& load = std::get<MemBuffer>(node->arg());
    const auto number = static_cast<std::size_t>(load.idx);
    const auto element = load.st.at(std::vector<std::int64_t>(node->shape().size(), 0));
    if (!element) continue;  // padding
    said.push_back(fmt::format("{} = {}",
                               number <= judging.inputs.size() ? judging.inputs[number - 1].name
                                                               : fmt::format("input {}", number),
                               inputs[number]->at(*element).str()));
  }
  std::ranges::sort(said);
  said.erase(std::unique(said.begin(), said.end()), said.end());
  return said.size() > kMostOperands ? std::string() : fmt::format("{}", fmt::join(said, ", "));
}

// "exactly 0.25; 3.2 ULP above it": the real number that one element of an elementwise formula of
// functions stands for, beside the candidate's, if both are finite.
std::string exact_of(const LazyOpPtr& kernel, std::span<Buffer* const> inputs, std::int64_t index,
                     const Scalar& got) {
  constexpr double kFarOff = 1e6;  // in ULP: no error of rounding
  const LazyOpPtr one = interp::one_element(kernel, interp::place_of(index, kernel));
  bool has_function = false;
  for (const LazyOpPtr& n : interp::nodes_of(one)) {
    if (is_reduce(n->op()) || n->op() == Op::Gather) return {};
    has_function = has_function || n->op() == Op::Function || n->op() == Op::Exp2 ||
                   n->op() == Op::Log2 || n->op() == Op::Sin;
  }
  if (!has_function || !is_float(got.dtype()) || !std::isfinite(got.to_double())) return {};
  static const std::unique_ptr<Device> host = make_interpreted_device();
  Buffer output(*host, got.dtype(), 1);
  const std::uint64_t bits = got.bits();
  output.copy_in(std::as_bytes(std::span(&bits, 1)).first(output.bytes()));
  const interp::ElementRun element{0, 1};
  const interp::Hypothesis none{};
  try {
    const interp::Unrounded u = interp::evaluate_unrounded(interp::make_program(one), inputs,
                                                           output, {&element, 1}, {&none, 1}, {});
    const double exact = u.before_cast[0];
    if (!std::isfinite(exact)) return {};
    const DTypeInfo& type = info(got.dtype());
    int exponent = 0;
    std::frexp(exact, &exponent);
    if (exact == 0) exponent = type.min_exponent + 1;
    const double ulp = std::ldexp(1.0, std::max(exponent, type.min_exponent + 1) - type.digits);
    // In float64 `exact` is rounded, its difference from the candidate is not.
    const double off = (exact == u.exact[0] ? u.candidate[0] : got.to_double() - exact) / ulp;
    const std::string text = fmt::format("exactly {:.{}g}", exact, type.digits > 24 ? 17 : 9);
    return std::abs(off) > kFarOff ? text
                                   : fmt::format("{}; {:.3g} ULP {} it", text, std::abs(off),
                                                 off > 0 ? "above" : "below");
  } catch (const AstError&) {
    return {};  // not a function of real numbers
  }
}

// Names the definition, its axes and the operands.
void say_in_words_of(const Judging& judging, const LazyOpPtr& kernel, const define::Sizes& shape,
                     std::span<Buffer* const> inputs, const Buffer& candidate, Verdict& failed) {
  failed.operands = operands_of(kernel, inputs, failed.index, judging);
  if (!failed.operands.empty())
    if (const std::string exact =
            exact_of(kernel, inputs, failed.index, candidate.at(failed.index));
        !exact.empty())
      failed.operands += fmt::format(" ({})", exact);
  if (!has_formula(judging)) return;
  failed.at = place_in(shape, failed.index);
  failed.subject = judging.definition.size() <= kLongestSubject ? judging.definition : "the result";
}

}  // namespace

bool has_formula(const Judging& judging) {
  return !judging.inputs.empty() || judging.definition.find('(') != std::string::npos;
}

define::Sizes output_shape(const Judging& judging, const LazyOpPtr& kernel) {
  if (has_formula(judging))
    return define::parse(judging.definition, shapes_of(judging)).value.shape();
  define::Sizes sizes;
  for (const sint& size : kernel->shape()) sizes.push_back(size.as_int());
  return sizes;
}

std::vector<define::InputShape> shapes_of(const Judging& judging) {
  std::vector<define::InputShape> shapes;
  for (const Judging::Input& input : judging.inputs) shapes.push_back({input.shape, input.dtype});
  return shapes;
}

bool is_legal_at(const LazyOpPtr& kernel, std::span<Buffer* const> inputs, std::int64_t index,
                 const Scalar& value, const Profile& profile) {
  const LazyOpPtr one = interp::one_element(kernel, interp::place_of(index, kernel));
  static const std::unique_ptr<Device> host = make_interpreted_device();
  Buffer output(*host, value.dtype(), 1);
  const std::uint64_t bits = value.bits();
  output.copy_in(std::as_bytes(std::span(&bits, 1)).first(output.bytes()));
  const Outcome outcome = judge(one, inputs, output, profile).outcome;
  return outcome == Outcome::Pass || outcome == Outcome::Weak;
}

LazyOpPtr in_stages(const LazyOpPtr& kernel, const Judging& judging) {
  if (!has_formula(judging) || judging.profile.stores.empty()) return kernel;
  return define::in_stages(judging.definition, shapes_of(judging), judging.profile.stores);
}

std::int64_t element_at(const LazyOpPtr& kernel, std::span<const std::int64_t> at,
                        const Judging& judging) {
  const define::Sizes shape = output_shape(judging, kernel);
  const std::string element = fmt::format("element ({})", fmt::join(at, ", "));
  std::int64_t flat = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i >= at.size() && shape[i] != 1)
      throw ShapeError(
          fmt::format("{}: the output has shape {}; give an index for each axis, as {}", element,
                      define::str(shape), fmt::join(define::Sizes(shape.size(), 0), ",")));
    const std::int64_t index = i < at.size() ? at[i] : 0;
    if (index < 0 || index >= shape[i])
      throw ShapeError(
          fmt::format("{}: axis {} of the output has {} elements", element, i, shape[i]));
    flat = flat * shape[i] + index;
  }
  // A kernel has axes of size 1 behind those of its formula.
  if (std::any_of(at.begin() + static_cast<std::ptrdiff_t>(std::min(at.size(), shape.size())),
                  at.end(), [](std::int64_t index) { return index != 0; }))
    throw ShapeError(fmt::format("{}: the output has shape {}", element, define::str(shape)));
  return flat;
}

std::vector<ExplainedNode> explain(const LazyOpPtr& kernel, std::span<Buffer* const> inputs,
                                   std::span<const std::int64_t> place, const Judging& judging) {
  const std::vector<std::int64_t> at = interp::place_of(element_at(kernel, place, judging), kernel);
  std::vector<ExplainedNode> nodes =
      explain(in_stages(kernel, judging), inputs, at, judging.profile);
  if (!has_formula(judging)) return nodes;
  const std::vector<define::InputShape> shapes = shapes_of(judging);
  const auto is_explained = [&](const LazyOpPtr& n) {
    return std::ranges::any_of(nodes, [&](const ExplainedNode& e) { return same(e.node, n); });
  };
  // A stage is what a profile that stores it would round.
  for (const std::string& stage : define::stages_of(judging.definition, shapes)) {
    auto stores = judging.profile.stores;
    std::erase_if(stores, [&](const auto& s) { return s.first == stage; });
    stores.emplace_back(stage, DType::BFloat16);
    const LazyOpPtr rounded = define::in_stages(judging.definition, shapes, stores);
    for (const LazyOpPtr& n : interp::nodes_of(interp::one_element(rounded, at))) {
      if (n->op() != Op::Cast || n->dtype() != DType::BFloat16 || is_explained(n)) continue;
      for (ExplainedNode& e : nodes)
        if (same(e.node, n->src()[0])) e.text += fmt::format(" ({})", stage);
    }
  }
  return nodes;
}

Verdict judge(const LazyOpPtr& given, std::span<Buffer* const> inputs, const Buffer& candidate,
              const Judging& judging, const symbolic::Values& values) {
  const LazyOpPtr kernel = in_stages(given, judging);
  Verdict found = judge(kernel, inputs, candidate, judging.profile, values, judging.sampling);
  if (found.outcome == Outcome::Unusable) return found;
  const bool is_statistical = found.outcome == Outcome::Fail && found.index < 0;
  const std::vector<std::string>& forms = judging.profile.forms;
  const bool is_strict = forms == std::vector<std::string>{"definition"};
  const bool is_named = !forms.empty() && !is_strict;
  const bool is_worth = found.outcome == Outcome::Fail || found.suspect() || is_cheap(kernel);
  if (is_statistical) return found;
  const bool has_forms = has_formula(judging) && !is_strict;
  if (passes(found) && !(has_forms && is_named)) return found;
  const HostViews host_inputs(inputs);
  const HostView host_output(candidate);
  const std::vector<Buffer*>& in = host_inputs.get();
  const Buffer& out = *host_output.get();
  if (has_forms && (is_named || is_worth))
    found = in_forms(kernel, std::move(found), in, out, judging);
  if (passes(found)) return found;
  const LazyOpPtr concrete = values.empty() ? kernel : bind_variables(kernel, values);
  const define::Sizes shape = output_shape(judging, concrete);
  add_cause(concrete, in, out, shape, judging, found);
  if (found.outcome == Outcome::Fail) say_in_words_of(judging, concrete, shape, in, out, found);
  return found;
}

}  // namespace touchstone

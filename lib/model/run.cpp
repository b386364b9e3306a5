#include "touchstone/model/run.h"

#include <algorithm>
#include <cctype>

#include <fmt/ranges.h>

#include "touchstone/base/error.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/base/suggest.h"
#include "touchstone/define/text.h"
#include "touchstone/model/step.h"

namespace touchstone::model {
namespace {

constexpr std::int64_t kMostIterations = 100'000;
constexpr std::int64_t kMostElements = std::int64_t{1} << 28;  // of one value
constexpr int kMostComposed = 200;                             // operations in one formula
constexpr int kMostNested = 6;  // reduces in one another of a formula of several operations

const Row& row_of(const Operation& op) {
  if (const Row* row = row_named(op.kind)) return *row;
  const std::vector<std::string_view> known = operators();
  throw ParseError(
      fmt::format("operator '{}' is not supported{}", op.kind, did_you_mean(op.kind, known)));
}

// True if the operation runs graphs of its own.
bool is_control(const Operation& op) {
  static const std::set<std::string, std::less<>> kinds{
      "If", "Loop", "Scan", "stablehlo.while", "stablehlo.if", "stablehlo.case"};
  return kinds.contains(op.kind);
}

constexpr const char* kNoCase = "this case of the operator is not supported";

std::string shape_text(const Sizes& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

// A name for each value that a formula can use.
class Names {
 public:
  const std::string& of(const std::string& value) {
    std::string& name = names_[value];
    if (!name.empty()) return name;
    for (const char c : value) {  // "__" is kept for names made here
      const char letter = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
      if (letter != '_' || name.empty() || name.back() != '_') name += letter;
    }
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) name = "v" + name;
    const std::string first = name;
    int& count = counts_[first];
    while (is_word(name) || !used_.insert(name).second) name = fmt::format("{}x{}", first, ++count);
    return name;
  }

 private:
  static bool is_word(const std::string& name) {
    return name == "inf" || name == "None" || name == "nan" || name == "True" || name == "False" ||
           dtype_from_name(name);
  }
  std::map<std::string, std::string, std::less<>> names_;
  std::map<std::string, int, std::less<>> counts_;
  std::set<std::string, std::less<>> used_;
};

// The names in a formula's text that may be operands: not those of calls, parameters and parts.
std::set<std::string, std::less<>> words_of(std::string_view text) {
  std::set<std::string, std::less<>> words;
  for (std::size_t at = 0; at < text.size();) {
    const auto letter = [&](std::size_t i) {
      return i < text.size() &&
             (std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '_');
    };
    const std::size_t begin = at;
    while (letter(at)) ++at;
    const std::string_view word = text.substr(begin, at - begin);
    if (word.empty()) {
      ++at;
      continue;
    }
    const std::string_view next =
        text.substr(std::min(text.find_first_not_of(' ', at), text.size()));
    if (!next.starts_with('(') && (!next.starts_with('=') || next.starts_with("==")))
      words.emplace(word);
  }
  return words;
}

using Operands = std::map<std::string, const HostArray*, std::less<>>;  // by name in the formula

// The operands that the text uses, as inputs of a formula.
std::vector<define::InputShape> shapes_of(std::string_view text, const Operands& operands) {
  std::vector<define::InputShape> shapes;
  for (const std::string& word : words_of(text))
    if (const auto it = operands.find(word); it != operands.end())
      shapes.push_back({it->second->shape, it->second->dtype, word});
  return shapes;
}

BufferPtr buffer_of(Device& device, const HostArray& array) {
  auto buffer = std::make_shared<Buffer>(device, array.dtype, array.size());
  buffer->copy_in(std::as_bytes(std::span(array.bytes)));
  return buffer;
}

HostArray evaluated(const std::string& text, const Operands& operands, Device& device) {
  if (const auto it = operands.find(text); it != operands.end()) return *it->second;
  const define::Formula formula = define::parse(text, shapes_of(text, operands));
  HostArray out{formula.value.dtype(), formula.value.shape(), {}};
  if (out.size() > kMostElements)
    throw ParseError(fmt::format("it has {} elements; the limit is {}", out.size(), kMostElements));
  out.bytes.resize(static_cast<std::size_t>(out.size()) * itemsize(out.dtype));
  if (out.size() == 0) return out;
  std::vector<BufferPtr> buffers{std::make_shared<Buffer>(device, out.dtype, out.size())};
  for (const std::string& name : formula.inputs)
    buffers.push_back(buffer_of(device, *operands.at(name)));
  std::vector<Buffer*> raw;
  for (const BufferPtr& b : buffers) raw.push_back(b.get());
  run_kernel(device, formula.kernel(), raw);
  device.forget_runners();
  buffers[0]->copy_out(std::as_writable_bytes(std::span(out.bytes)));
  return out;
}

// Values of a graph inside those of the graph around it.
struct Scope {
  const Scope* outer = nullptr;
  Values values;
  std::map<std::string, std::string, std::less<>> missing;

  const HostArray* find(const std::string& name) const {
    for (const Scope* s = this; s != nullptr; s = s->outer) {
      if (const auto it = s->values.find(name); it != s->values.end()) return &it->second;
      if (s->missing.contains(name)) return nullptr;
    }
    return nullptr;
  }
  const HostArray& get(const std::string& name) const {
    if (const HostArray* found = find(name)) return *found;
    for (const Scope* s = this; s != nullptr; s = s->outer)
      if (const auto it = s->missing.find(name); it != s->missing.end())
        throw ParseError(fmt::format("its input '{}' has no value: {}", name, it->second));
    throw ParseError(fmt::format("its input '{}' has no value", name));
  }
};

// The operands of an operation, and the formulas of its outputs.
struct Prepared {
  Step step;
  Texts texts;
  Operands operands;
};

using Lookup = std::function<const HostArray*(const std::string&)>;

/// device: computes the operation; null: it is judged, and `own` has the values of its outputs that
/// are known.
std::unique_ptr<Prepared> prepare(const Operation& op, int version, Names& names,
                                  const Lookup& value, const Lookup& own, Device* device) {
  std::vector<const HostArray*> x;
  std::vector<std::string> words;
  Operands operands;
  for (const std::string& in : op.inputs) {
    x.push_back(in.empty() ? nullptr : value(in));
    words.push_back(in.empty() ? "" : names.of(in));
    if (x.back() != nullptr) operands[words.back()] = x.back();
  }
  std::string id = names.of(op.outputs.empty() ? op.place : op.outputs[0]);
  auto out = std::make_unique<Prepared>(Prepared{
      Step(op, version, std::move(x), std::move(words), std::move(id)), {}, std::move(operands)});
  Step& step = out->step;
  const auto add_constants = [&] {
    for (const auto& [name, array] : step.constants) out->operands[name] = &array;
  };
  if (own)
    for (const std::string& name : op.outputs)
      step.own.push_back(name.empty() ? nullptr : own(name));
  if (device != nullptr)
    step.settle = [&](const std::string& text) {
      add_constants();
      return step.constant(evaluated(text, out->operands, *device));
    };
  out->texts = row_of(op)(step);
  step.settle = {};
  add_constants();
  return out;
}

class Runner {
 public:
  Runner(const ModelProgram& program, Device& device) : program_(program), device_(device) {}

  void run(const std::vector<Operation>& operations, Scope& scope,
           const std::function<bool(const Operation&)>& wanted = {}) {
    for (const Operation& op : operations) {
      if (wanted && !wanted(op)) continue;
      Interrupt::poll();
      std::string why = kNoCase;
      try {
        operate(op, scope);
      } catch (const Interrupted&) {
        throw;
      } catch (const Error& e) {
        why = e.what();
      } catch (const std::out_of_range&) {
        why = "an operand or attribute has too few entries";
      } catch (const std::length_error&) {
        why = "an operand or attribute has a size out of range";
      } catch (const std::bad_alloc&) {
        why = "there is not enough memory for it";
      }
      for (const std::string& out : op.outputs)
        if (!out.empty() && !scope.values.contains(out))
          scope.missing[out] = why.starts_with(op.place) || why.starts_with("its input")
                                   ? why
                                   : op.place + ": " + why;
    }
  }

 private:
  void operate(const Operation& op, Scope& scope) {
    if (op.kind == "If") return choose(op, scope);
    if (op.kind == "Loop") return loop(op, scope);
    if (op.kind == "Scan") return scan(op, scope);
    if (op.kind == "stablehlo.while") return loop_while(op, scope);
    if (op.kind == "stablehlo.if" || op.kind == "stablehlo.case") return choose_region(op, scope);
    const auto prepared = prepare(
        op, program_.version, names_, [&](const std::string& name) { return &scope.get(name); }, {},
        &device_);
    const Prepared& p = *prepared;
    for (std::size_t i = 0; i < op.outputs.size() && i < p.texts.outputs.size(); ++i)
      if (!op.outputs[i].empty() && !p.texts.outputs[i].empty())
        scope.values[op.outputs[i]] =
            evaluated(p.texts.parts + p.texts.outputs[i], p.operands, device_);
  }

  const Graph& graph_of(const Operation& op, std::string_view attribute) const {
    const auto it = op.attributes.find(attribute);
    const auto* graph = it == op.attributes.end()
                            ? nullptr
                            : std::get_if<std::shared_ptr<const Graph>>(&it->second);
    if (graph == nullptr) throw ParseError(fmt::format("it has no graph '{}'", attribute));
    return **graph;
  }

  std::vector<HostArray> run_graph(const Graph& graph, const Scope& outer,
                                   std::vector<HostArray> inputs) {
    struct Deeper {
      explicit Deeper(int& of) : depth(of) { ++depth; }
      ~Deeper() { --depth; }
      int& depth;
    };
    const Deeper deeper(depth_);
    if (depth_ > 32) throw ParseError("graphs are nested too deeply");
    Scope scope{&outer, {graph.constants.begin(), graph.constants.end()}, {}};
    if (inputs.size() != graph.inputs.size())
      throw ParseError(
          fmt::format("its graph takes {} inputs, not {}", graph.inputs.size(), inputs.size()));
    for (std::size_t i = 0; i < inputs.size(); ++i)
      scope.values[graph.inputs[i].name] = std::move(inputs[i]);
    run(graph.operations, scope);
    std::vector<HostArray> out;
    for (const std::string& name : graph.outputs) out.push_back(scope.get(name));
    return out;
  }

  void choose(const Operation& op, Scope& scope) {
    const bool yes = reals_of(scope.get(op.inputs.at(0))).at(0) != 0;
    std::vector<HostArray> out =
        run_graph(graph_of(op, yes ? "then_branch" : "else_branch"), scope, {});
    for (std::size_t i = 0; i < op.outputs.size() && i < out.size(); ++i)
      scope.values[op.outputs[i]] = std::move(out[i]);
  }

  void choose_region(const Operation& op, Scope& scope) {
    const auto index = static_cast<std::int64_t>(reals_of(scope.get(op.inputs.at(0))).at(0));
    std::int64_t regions = 0;
    while (op.attributes.contains(fmt::format("region{}", regions))) ++regions;
    const bool is_if = op.kind == "stablehlo.if";
    const std::int64_t chosen = is_if                           ? (index != 0 ? 0 : 1)
                                : index < 0 || index >= regions ? regions - 1
                                                                : index;
    give(op, run_graph(graph_of(op, fmt::format("region{}", chosen)), scope, {}), scope);
  }
  void loop_while(const Operation& op, Scope& scope) {
    std::vector<HostArray> state;
    for (const std::string& in : op.inputs) state.push_back(scope.get(in));
    for (std::int64_t step = 0;; ++step) {
      if (step == kMostIterations)
        throw ParseError(fmt::format("it runs more than {} times", kMostIterations));
      const std::vector<HostArray> goes = run_graph(graph_of(op, "region0"), scope, state);
      if (reals_of(goes.at(0)).at(0) == 0) break;
      state = run_graph(graph_of(op, "region1"), scope, std::move(state));
    }
    give(op, std::move(state), scope);
  }
  static void give(const Operation& op, std::vector<HostArray> values, Scope& scope) {
    for (std::size_t i = 0; i < op.outputs.size() && i < values.size(); ++i)
      scope.values[op.outputs[i]] = std::move(values[i]);
  }

  // Slices stacked along a new first axis.
  static void stack(HostArray& to, const HostArray& slice, bool first) {
    if (first) {
      to = {slice.dtype, slice.shape, {}};
      to.shape.insert(to.shape.begin(), 0);
    }
    if (Sizes(to.shape.begin() + 1, to.shape.end()) != slice.shape || to.dtype != slice.dtype)
      throw ParseError("the results of its steps have different shapes");
    ++to.shape[0];
    to.bytes += slice.bytes;
  }

  void loop(const Operation& op, Scope& scope) {
    const Graph& body = graph_of(op, "body");
    const auto given = [&](std::size_t i) { return i < op.inputs.size() && !op.inputs[i].empty(); };
    const std::int64_t most =
        given(0) ? static_cast<std::int64_t>(exact_of(scope.get(op.inputs[0])).at(0))
                 : kMostIterations;
    bool goes = !given(1) || reals_of(scope.get(op.inputs[1])).at(0) != 0;
    std::vector<HostArray> state;
    for (std::size_t i = 2; i < op.inputs.size(); ++i) state.push_back(scope.get(op.inputs[i]));
    const std::size_t carried = state.size();
    std::vector<HostArray> scans(op.outputs.size() > carried ? op.outputs.size() - carried : 0);
    std::int64_t step = 0;
    for (; goes && step < most; ++step) {
      if (step == kMostIterations)
        throw ParseError(fmt::format("it runs more than {} times", kMostIterations));
      std::vector<HostArray> in{array_of(Sizes{step}, {}), {DType::Bool, {}, std::string(1, '\1')}};
      in.insert(in.end(), state.begin(), state.end());
      std::vector<HostArray> out = run_graph(body, scope, std::move(in));
      if (out.size() != 1 + carried + scans.size())
        throw ParseError("its body has another number of outputs");
      goes = reals_of(out[0]).at(0) != 0;
      for (std::size_t i = 0; i < carried; ++i) state[i] = std::move(out[i + 1]);
      for (std::size_t i = 0; i < scans.size(); ++i)
        stack(scans[i], out[1 + carried + i], step == 0);
    }
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (op.outputs[i].empty()) continue;
      if (i >= carried && step == 0)
        throw ParseError("it runs no step, so that the shape of its results is unknown");
      scope.values[op.outputs[i]] = std::move(i < carried ? state[i] : scans[i - carried]);
    }
  }

  void scan(const Operation& op, Scope& scope) {
    const Graph& body = graph_of(op, "body");
    const std::size_t first = program_.version < 9 ? 1 : 0;  // of inputs; before it: lengths
    Step attributes(op, program_.version, {}, {}, "");
    const auto count = static_cast<std::size_t>(attributes.whole("num_scan_inputs", 0));
    if (first == 1 || op.inputs.size() < count || count == 0)
      throw ParseError("this version of Scan is not supported");
    for (const char* name :
         {"scan_input_axes", "scan_output_axes", "scan_input_directions", "scan_output_directions"})
      for (const std::int64_t v : attributes.list(name))
        if (v != 0) throw ParseError(fmt::format("{} other than 0 are not supported", name));
    const std::size_t carried = op.inputs.size() - count;
    std::vector<HostArray> state, scans(op.outputs.size() - std::min(carried, op.outputs.size()));
    for (std::size_t i = 0; i < carried; ++i) state.push_back(scope.get(op.inputs[i]));
    const std::int64_t steps = scope.get(op.inputs[carried]).shape.at(0);
    for (std::int64_t step = 0; step < steps; ++step) {
      std::vector<HostArray> in = state;
      for (std::size_t i = carried; i < op.inputs.size(); ++i) {
        const HostArray& x = scope.get(op.inputs[i]);
        if (x.shape.empty() || x.shape[0] != steps)
          throw ParseError("its inputs have different lengths");
        const std::size_t bytes = x.bytes.size() / static_cast<std::size_t>(steps);
        in.push_back({x.dtype, Sizes(x.shape.begin() + 1, x.shape.end()),
                      x.bytes.substr(static_cast<std::size_t>(step) * bytes, bytes)});
      }
      std::vector<HostArray> out = run_graph(body, scope, std::move(in));
      if (out.size() != carried + scans.size())
        throw ParseError("its body has another number of outputs");
      for (std::size_t i = 0; i < carried; ++i) state[i] = std::move(out[i]);
      for (std::size_t i = 0; i < scans.size(); ++i) stack(scans[i], out[carried + i], step == 0);
    }
    for (std::size_t i = 0; i < op.outputs.size(); ++i)
      if (!op.outputs[i].empty() && (i < carried || steps > 0))
        scope.values[op.outputs[i]] = std::move(i < carried ? state[i] : scans[i - carried]);
  }

  const ModelProgram& program_;
  Device& device_;
  Names names_;
  int depth_ = 0;
};

Scope start_of(const ModelProgram& program, const Values& inputs) {
  Scope scope;
  scope.values = {program.graph.constants.begin(), program.graph.constants.end()};
  for (const auto& [name, array] : inputs) scope.values[name] = array;
  return scope;
}

// The formulas that define values from those that are there.
class Composer {
 public:
  Composer(const ModelProgram& program, const Scope& known, const Values& actual,
           const Values& reference)
      : program_(program), known_(known), actual_(actual), reference_(reference) {
    for (const Operation& op : program.graph.operations)
      for (const std::string& out : op.outputs) producers_[out] = &op;
  }

  struct Composed {
    std::string parts;
    std::vector<std::string> texts;
    std::vector<Texts> slices;
    std::size_t axis = 0;
    std::string otherwise;
    Operands operands;
    int operations = 0;
  };

  /// The formulas of the operation's outputs.
  Composed compose(const Operation& op) {
    Composed out;
    done_.clear();
    kept_.clear();
    const Texts texts = add(op, out);
    out.parts += texts.parts;
    out.texts = texts.outputs;
    out.slices = texts.slices;
    out.axis = texts.axis;
    out.otherwise = texts.otherwise;
    return out;
  }

 private:
  const HostArray* there(const std::string& name) const {
    if (const auto it = actual_.find(name); it != actual_.end()) return &it->second;
    return producers_.contains(name) ? nullptr : known_.find(name);
  }
  const HostArray* value(const std::string& name) const {
    if (const HostArray* found = there(name)) return found;
    const auto it = reference_.find(name);
    if (it == reference_.end()) throw ParseError(fmt::format("its input '{}' has no value", name));
    return &it->second;
  }

  Texts add(const Operation& op, Composed& to) {
    if (++to.operations > kMostComposed)
      throw ParseError(
          fmt::format("more than {} operations lie between values that are given", kMostComposed));
    kept_.push_back(prepare(
        op, program_.version, names_, [&](const std::string& name) { return value(name); },
        [&](const std::string& name) {
          const auto it = actual_.find(name);
          return it == actual_.end() ? nullptr : &it->second;
        },
        nullptr));
    const Prepared& p = *kept_.back();
    std::string all = p.texts.parts;
    for (const std::string& text : p.texts.outputs) all += " " + text;
    for (const Texts& part : p.texts.slices) all += " " + part.parts + part.outputs[0];
    const auto words = words_of(all);
    for (const auto& [name, array] : p.step.constants) to.operands[name] = &array;
    for (const std::string& in : op.inputs)
      if (!in.empty() && words.contains(names_.of(in))) define(in, to);
    return p.texts;
  }
  void define(const std::string& name, Composed& to) {
    if (!done_.insert(name).second) return;
    if (const HostArray* array = there(name)) {
      to.operands[names_.of(name)] = array;
      return;
    }
    const Operation& op = *producers_.at(name);
    if (is_control(op)) {  // whole numbers are exact
      const HostArray* known = value(name);
      if (is_float(known->dtype))
        throw ParseError(fmt::format("its input '{}' is computed by graphs: give its value", name));
      to.operands[names_.of(name)] = known;
      return;
    }
    const Texts texts = add(op, to);
    to.parts += texts.parts;
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (op.outputs[i] != name) continue;
      if (i >= texts.outputs.size() || texts.outputs[i].empty())
        throw ParseError(fmt::format("its input '{}' has no formula", name));
      const std::string& text = texts.outputs[i];  // may begin with parts of its own
      const std::size_t end = text.rfind("; "), begin = end == std::string::npos ? 0 : end + 2;
      to.parts +=
          fmt::format("{}{} = {}; ", text.substr(0, begin), names_.of(name), text.substr(begin));
    }
  }

  const ModelProgram& program_;
  const Scope& known_;
  const Values &actual_, &reference_;
  std::map<std::string, const Operation*, std::less<>> producers_;
  Names names_;
  std::set<std::string, std::less<>> done_;
  std::vector<std::unique_ptr<Prepared>> kept_;  // what operands point to
};

Verdict unusable(const std::string& why) {
  Verdict verdict;
  verdict.outcome = Outcome::Unusable;
  verdict.why = why;
  return verdict;
}

// The text without parts that it does not use.
std::string used_parts(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find("; ", begin)) != std::string::npos; begin = end + 2)
    parts.push_back(text.substr(begin, end - begin));
  std::string out = text.substr(begin);
  std::set<std::string, std::less<>> used = words_of(out);
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    const std::size_t equals = part->find(" = ");
    if (!used.contains(part->substr(0, equals))) continue;
    out.insert(0, *part + "; ");
    used.merge(words_of(std::string_view(*part).substr(equals + 3)));
  }
  return out;
}

// Place `at` of an array along an axis.
HostArray slice(const HostArray& array, std::size_t axis, std::int64_t at) {
  HostArray out{array.dtype, array.shape, {}};
  out.shape[axis] = 1;
  std::size_t inner = itemsize(array.dtype);
  for (std::size_t i = axis + 1; i < array.shape.size(); ++i)
    inner *= static_cast<std::size_t>(array.shape[i]);
  const std::size_t step = inner * static_cast<std::size_t>(array.shape[axis]);
  for (std::size_t k = inner * static_cast<std::size_t>(at); step > 0 && k < array.bytes.size();
       k += step)
    out.bytes += array.bytes.substr(k, inner);
  return out;
}

Verdict judge_formula(JudgedValue& to, const std::string& text, const Operands& operands,
                      HostArray& candidate, const JudgeOptions& options) {
  const auto shapes = shapes_of(text, operands);
  const define::Formula formula = define::parse(text, shapes);
  const DType dtype = formula.value.dtype();
  if (is_unsigned(candidate.dtype) && is_float(dtype) &&
      itemsize(candidate.dtype) == itemsize(dtype) && itemsize(dtype) < 4)
    candidate.dtype = dtype;  // its bits
  if (candidate.dtype != formula.value.dtype() || candidate.shape != formula.value.shape())
    return unusable(fmt::format("it is {} of {}, and the operation gives {} of {}",
                                name(candidate.dtype), shape_text(candidate.shape),
                                name(formula.value.dtype()), shape_text(formula.value.shape())));
  if (candidate.size() == 0) return Verdict();
  if (to.operations > 1 && formula.value.node()->reduces > kMostNested)
    throw ParseError(fmt::format(
        "{} operations lie between it and the values that are given, with {} sums and maxima in "
        "one another; more than {} are not judged as one: give more values",
        to.operations, formula.value.node()->reduces, kMostNested));
  const KernelToJudge kernel = formula_to_judge(text, shapes);
  Judging judging = kernel.judging.under(options.profile);
  judging.sampling = options.sampling;
  to.profile = judging;
  Device& cpu = Device::get("CPU");
  std::vector<BufferPtr> buffers{nullptr};
  for (const std::string& word : formula.inputs)
    buffers.push_back(buffer_of(cpu, *operands.at(word)));
  std::vector<Buffer*> raw;
  for (const BufferPtr& b : buffers) raw.push_back(b.get());
  const BufferPtr output = buffer_of(cpu, candidate);
  const auto work = [&] { return touchstone::judge(kernel.ast, raw, *output, judging); };
  return options.within ? options.within(kernel, work) : work();
}

void judge_value(JudgedValue& to, const Composer::Composed& by, std::size_t output,
                 HostArray& candidate, const JudgeOptions& options) {
  to.operations = by.operations;
  if (output > 0 || by.slices.empty()) {
    to.formula = used_parts(by.parts + by.texts[output]);
    to.verdict = judge_formula(to, to.formula, by.operands, candidate, options);
    if (to.verdict->outcome != Outcome::Fail || by.otherwise.empty() || options.profile) return;
    JudgeOptions other = options;
    other.profile = ChosenProfile{own_profile(by.otherwise), "what the operation leaves open"};
    JudgedValue again = to;
    again.verdict = judge_formula(again, to.formula, by.operands, candidate, other);
    if (again.verdict->outcome != Outcome::Fail) to = std::move(again);
    return;
  }
  if (by.axis >= candidate.shape.size() ||
      candidate.shape[by.axis] != static_cast<std::int64_t>(by.slices.size())) {
    to.verdict = unusable(fmt::format("it has the shape {}", shape_text(candidate.shape)));
    return;
  }
  std::vector<Verdict> verdicts;
  for (std::size_t k = 0; k < by.slices.size(); ++k) {
    const auto place = static_cast<std::int64_t>(k);
    to.formula = used_parts(by.parts + by.slices[k].parts + by.slices[k].outputs[0]);
    HostArray part = slice(candidate, by.axis, place);
    verdicts.push_back(judge_formula(to, to.formula, by.operands, part, options));
    if (by.axis < verdicts.back().at.size()) verdicts.back().at[by.axis] = place;
    if (verdicts.back().outcome == Outcome::Fail) break;
  }
  to.verdict = combine(verdicts);
}

}  // namespace

void require_inputs(const ModelProgram& program, const Values& inputs) {
  std::map<std::string, std::int64_t, std::less<>> sizes;
  for (const Argument& a : program.graph.inputs) {
    const auto it = inputs.find(a.name);
    if (it == inputs.end())
      throw ParseError(
          fmt::format("no array for the model's input '{0}'; give it as {0}=FILE", a.name));
    const HostArray& x = it->second;
    if (a.dtype && *a.dtype != x.dtype)
      throw ParseError(fmt::format("input '{}' is {}, and the model takes {}", a.name,
                                   name(x.dtype), name(*a.dtype)));
    if (!a.shape) continue;
    bool fits = x.shape.size() == a.shape->size();
    for (std::size_t i = 0; fits && i < x.shape.size(); ++i) {
      const auto& size = (*a.shape)[i];
      if (const auto* number = std::get_if<std::int64_t>(&size))
        fits = *number == x.shape[i];
      else if (const std::string& word = std::get<std::string>(size); word != "?")
        fits = sizes.emplace(word, x.shape[i]).first->second == x.shape[i];
    }
    if (fits) continue;
    std::vector<std::string> wanted;
    for (const auto& size : *a.shape)
      wanted.push_back(std::holds_alternative<std::string>(size)
                           ? std::get<std::string>(size)
                           : fmt::format("{}", std::get<std::int64_t>(size)));
    throw ParseError(
        fmt::format("input '{}' has the shape {}, and the model takes [{}]{}", a.name,
                    shape_text(x.shape), fmt::join(wanted, ","),
                    sizes.empty() ? "" : " (a size with a name is the same everywhere)"));
  }
  for (const auto& [name, array] : inputs)
    if (std::ranges::find(program.graph.inputs, name, &Argument::name) ==
            program.graph.inputs.end() &&
        !program.graph.constants.contains(name)) {
      std::vector<std::string_view> known;
      for (const Argument& a : program.graph.inputs) known.push_back(a.name);
      throw ParseError(fmt::format("the model has no input '{}'; it has {}{}", name,
                                   fmt::join(known, ", "), did_you_mean(name, known)));
    }
}

bool is_supported(const Operation& op) { return is_control(op) || row_named(op.kind) != nullptr; }

std::vector<std::string> computed_names(const ModelProgram& program) {
  std::vector<std::string> names;
  for (const Operation& op : program.graph.operations)
    for (const std::string& out : op.outputs)
      if (!out.empty()) names.push_back(out);
  return names;
}

Computed run(const ModelProgram& program, const Values& inputs, Device& device,
             const std::set<std::string, std::less<>>& only) {
  require_inputs(program, inputs);
  Scope scope = start_of(program, inputs);
  Runner(program, device).run(program.graph.operations, scope);
  for (auto it = scope.values.begin(); it != scope.values.end();)
    it = only.empty() || only.contains(it->first) ? std::next(it) : scope.values.erase(it);
  return {std::move(scope.values), std::move(scope.missing)};
}

std::vector<JudgedValue> judge(const ModelProgram& program, const Values& inputs, Values actual,
                               const JudgeOptions& options) {
  require_inputs(program, inputs);
  const std::vector<Operation>& operations = program.graph.operations;
  const std::vector<std::string> names = computed_names(program);
  for (const auto& [name, array] : actual)
    if (std::ranges::find(names, name) == names.end() && !inputs.contains(name) &&
        !program.graph.constants.contains(name)) {
      const std::vector<std::string_view> known(names.begin(), names.end());
      throw ParseError(fmt::format("no operation of the model computes '{}'{}", name,
                                   did_you_mean(name, known)));
    }
  for (auto& [name, array] : actual) {  // bits of floats that NumPy lacks
    const auto type = program.graph.types.find(name);
    if (type != program.graph.types.end() && is_unsigned(array.dtype) && is_float(type->second) &&
        itemsize(array.dtype) == itemsize(type->second))
      array.dtype = type->second;
  }
  // Values that operations need and `actual` lacks come from the reference.
  std::set<std::string, std::less<>> needed;
  for (auto op = operations.rbegin(); op != operations.rend(); ++op) {
    const auto wanted = [&](const std::string& out) {
      return actual.contains(out) || needed.contains(out);
    };
    if (!std::ranges::any_of(op->outputs, wanted)) continue;
    if (is_control(*op)) needed.insert(op->outputs.begin(), op->outputs.end());
    for (const std::string& in : op->inputs)
      if (!in.empty() && !actual.contains(in)) needed.insert(in);
    for (const auto& [key, a] : op->attributes)  // graphs may read any value around them
      if (std::holds_alternative<std::shared_ptr<const Graph>>(a))
        for (const std::string& name : names)
          if (!actual.contains(name)) needed.insert(name);
  }
  Scope scope = start_of(program, inputs);
  for (const auto& [name, array] : actual) scope.values[name] = array;
  const Scope known = start_of(program, inputs);
  Runner runner(program, Device::get("CPU"));
  Scope reference{&scope, {}, {}};
  runner.run(operations, reference, [&](const Operation& op) {
    return std::ranges::any_of(op.outputs, [&](const std::string& out) {
      return needed.contains(out) && (is_control(op) || !actual.contains(out));
    });
  });
  Composer composer(program, known, actual, reference.values);
  std::vector<JudgedValue> judged;
  for (const Operation& op : operations)
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      const auto candidate = actual.find(op.outputs[i]);
      if (op.outputs[i].empty() || candidate == actual.end()) continue;
      Interrupt::poll();
      JudgedValue value{&op, op.outputs[i], {}, {}, {}, {}};
      try {
        if (is_control(op)) {  // the values inside its graph are not known
          const auto computed = reference.values.find(op.outputs[i]);
          if (computed == reference.values.end() || !(computed->second == candidate->second))
            throw ParseError(
                "it differs from the reference, and the values inside its graph are not known");
          value.verdict = Verdict();
          value.verdict->checked = value.verdict->determined = candidate->second.size();
        } else {
          const Composer::Composed by = composer.compose(op);
          if (i >= by.texts.size() || (by.texts[i].empty() && (i > 0 || by.slices.empty())))
            throw ParseError(kNoCase);
          judge_value(value, by, i, candidate->second, options);
        }
      } catch (const Interrupted&) {
        throw;
      } catch (const Error& e) {
        value.why = e.what();
      } catch (const std::out_of_range&) {
        value.why = "an operand or attribute has too few entries";
      } catch (const std::length_error&) {
        value.why = "an operand or attribute has a size out of range";
      } catch (const std::bad_alloc&) {
        value.why = "there is not enough memory for it";
      }
      judged.push_back(std::move(value));
      if (options.seen && !options.seen(judged.back())) return judged;
    }
  return judged;
}

}  // namespace touchstone::model

#include <cstring>
#include <map>

#include <nlohmann/json.hpp>

#include "touchstone/cli/explore/answers.h"
#include "touchstone/codegen/traced.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/fuzz/cases/uop_program.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/interp/oracle/envelope.h"
#include "touchstone/interp/oracle/explain.h"
#include "touchstone/judging/judging.h"
#include "touchstone/kernelize/kernelize.h"
#include "touchstone/ops/flop_counter.h"
#include "touchstone/ops/node_order.h"
#include "touchstone/uop/uop_map.h"

namespace touchstone::explore {

struct KernelRun {
  struct Kernel {
    LazyOpPtr ast;
    std::vector<BufferPtr> buffers;  // by number, output first
    std::vector<std::string> names;  // of the inputs
    std::vector<std::int64_t> shape;
  };
  std::unique_ptr<Device> device = make_interpreted_device("CPU", 1);
  std::vector<Kernel> kernels;
  Judging judging;

  Judging under(const std::string& profile) const {
    if (profile.empty()) return judging;
    return judging.under({{Profile::named(profile), "named by the question"}});
  }
};

namespace {

constexpr std::int64_t kMostElements = 1 << 20;
constexpr std::int64_t kMostFlops = 20'000'000;

void set(Buffer& buffer, const std::vector<Scalar>& values) {
  const std::size_t width = itemsize(buffer.dtype());
  std::vector<std::byte> bytes(buffer.bytes());
  for (std::size_t i = 0; i < static_cast<std::size_t>(buffer.size()) && !values.empty(); ++i) {
    const std::uint64_t bits = values[i % values.size()].bits();
    std::memcpy(bytes.data() + i * width, &bits, width);
  }
  buffer.copy_in(bytes);
}

std::vector<Scalar> parse_values(DType dtype, const std::string& text) {
  std::vector<Scalar> values;
  for (const std::string_view word : fuzz::split(text, ' '))
    values.push_back(Scalar::parse(dtype, word));
  if (values.empty()) throw ParseError("an input needs at least one value");
  return values;
}

// Sevenths between -4 and 4 in scrambled order; for integers small ones, of both signs if the type
// allows.
std::vector<Scalar> drawn_values(DType dtype, std::size_t number) {
  constexpr std::uint64_t kPeriod = 57;
  std::vector<Scalar> values;
  for (std::uint64_t i = 0; i < kPeriod; ++i) {
    const auto k = static_cast<std::int64_t>((i * 22 + number * 13 + 5) % kPeriod) - 28;
    if (is_float(dtype))
      values.push_back(Scalar::from_double(dtype, static_cast<double>(k) / 7));
    else if (is_bool(dtype))
      values.push_back(Scalar::from_bits(dtype, static_cast<std::uint64_t>(k & 1)));
    else
      values.push_back(Scalar::from_int(dtype, is_unsigned(dtype) ? (k < 0 ? -k : k) : k / 3));
  }
  return values;
}

void require_feasible(const LazyOpPtr& kernel, std::int64_t& flops) {
  for (const BufferSpec& spec : buffers_of(kernel))
    if (spec.size > kMostElements)
      throw Error(
          fmt::format("buffer {} has {} elements; the limit of a page is {}. touchstone eval runs "
                      "larger kernels",
                      spec.idx, spec.size, kMostElements));
  const sint cost = get_lazyop_info(kernel).flops;
  flops = checked_add(flops, cost.is_int() ? cost.as_int() : kMostFlops + 1);
  if (flops > kMostFlops)
    throw Error(fmt::format(
        "it takes {} operations; the limit of a page is {}. touchstone eval runs larger kernels",
        flops, kMostFlops));
}

std::vector<Buffer*> borrowed(const std::vector<BufferPtr>& buffers) {
  std::vector<Buffer*> out;
  for (const BufferPtr& b : buffers) out.push_back(b.get());
  return out;
}

void run_formula(KernelRun& run, const std::string& text, const Json& inputs) {
  const KernelToJudge formula = formula_to_judge(text);
  run.judging = formula.judging;
  KernelRun::Kernel k{formula.ast, {}, {}, {}};
  for (const Judging::Input& input : formula.judging.inputs) k.names.push_back(input.name);
  std::int64_t flops = 0;
  require_feasible(k.ast, flops);
  k.shape = concrete(k.ast->shape());
  for (const auto& [name, value] : inputs.items())
    if (std::ranges::find(k.names, name) == k.names.end())
      throw ParseError(fmt::format("the formula has no input '{}'", name));
  k.buffers.resize(k.names.size() + 1);
  for (const BufferSpec& spec : formula.buffers) {
    const auto i = static_cast<std::size_t>(spec.idx);
    k.buffers[i] = std::make_shared<Buffer>(*run.device, spec.dtype, spec.size);
    if (i == 0) continue;
    const std::string& name = k.names[i - 1];
    set(*k.buffers[i], inputs.contains(name)
                           ? parse_values(spec.dtype, text_in(inputs, name.c_str()))
                           : drawn_values(spec.dtype, i));
  }
  run.kernels.push_back(std::move(k));
}

// Runs a program's kernels in sequence; keeps its buffers by node.
class ProgramRun {
 public:
  ProgramRun(KernelRun& run, const std::string& text)
      : run_(run),
        program_(fuzz::TensorProgram::parse(text)),
        graph_(fuzz::UOpProgram::parse(text)) {
    (void)program_.types();
    for (std::size_t i = 0; i < program_.steps.size(); ++i)
      if (program_.steps[i].name == "input") inputs_.set(graph_.values[i].base(), i);
  }

  void operator()() {
    std::int64_t flops = 0;
    const UOp sink = result_of(kernelize_graph(graph_.sink), graph_.sink);
    for (const UOp& assign : order_of_kernels(sink)) {
      const LoweredKernel lowered = lower_kernel(assign);
      require_feasible(lowered.ast, flops);
      KernelRun::Kernel k{lowered.ast, {}, {}, concrete(lowered.ast->shape())};
      k.buffers.resize(lowered.inputs.size() + 1);
      for (const BufferSpec& spec : buffers_of(lowered.ast)) {
        const auto i = static_cast<std::size_t>(spec.idx);
        const UOp node = (i == 0 ? assign.src(0) : lowered.inputs[i - 1]).buf_uop();
        k.buffers[i] = buffer(node, spec);
        if (i > 0)
          k.names.push_back(*names_.find(node));
        else
          names_.set(node, fmt::format("kernel {}", run_.kernels.size() + 1));
      }
      run_.kernels.push_back(std::move(k));
    }
  }

 private:
  BufferPtr buffer(const UOp& node, const BufferSpec& spec) {
    if (const BufferPtr* known = buffers_.find(node)) return *known;
    const std::int64_t size = std::max(spec.size, node.arg_as<std::int64_t>());
    auto made = std::make_shared<Buffer>(*run_.device, spec.dtype, size);
    if (const std::size_t* input = inputs_.find(node)) {
      std::vector<Scalar> values;
      for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i)
        values.push_back(fuzz::value_of(program_.steps[*input], i));
      set(*made, values);
      names_.set(node, fmt::format("%{}", *input));
    }
    buffers_.set(node, made);
    return made;
  }

  KernelRun& run_;
  fuzz::TensorProgram program_;
  fuzz::UOpProgram graph_;
  UOpMap<std::size_t> inputs_;
  UOpMap<BufferPtr> buffers_;
  UOpMap<std::string> names_;
};

// A program starts with the element type of an input and a colon.
bool is_program(const std::string& text) {
  return text.find(':') != std::string::npos && text.find('(') > text.find(':');
}

std::string bits_of(const Scalar& s) {
  return fmt::format("0x{:0{}x}", s.bits(), 2 * itemsize(s.dtype()));
}

Json shown(const Buffer& buffer) {
  Json out = Json::array();
  for (std::int64_t i = 0; i < std::min(buffer.size(), kMostShown); ++i) {
    const Scalar s = buffer.at(i);
    out.push_back({s.str(), bits_of(s)});
  }
  return out;
}

// Every line ends with a line end.
std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// The node of each line of str(kernel), by its place in ordered_nodes: lines number nodes on first
// visit, operands in order, and print `see` for repeated ones.
std::vector<int> nodes_of_lines(const LazyOpPtr& kernel) {
  std::map<const LazyOp*, int> places;
  for (const LazyOp* node : ordered_nodes(kernel))
    places.emplace(node, static_cast<int>(places.size()));
  std::map<const LazyOp*, bool> seen;
  std::vector<int> out;
  std::vector<const LazyOp*> open{kernel.get()};
  while (!open.empty()) {
    const LazyOp* const node = open.back();
    open.pop_back();
    out.push_back(places.at(node));
    if (!seen.emplace(node, true).second) continue;
    for (auto s = node->src().rbegin(); s != node->src().rend(); ++s) open.push_back(s->get());
  }
  return out;
}

void add_values(const KernelRun::Kernel& k, const Profile& profile, Json& out) {
  Json inputs = Json::array();
  for (std::size_t i = 1; i < k.buffers.size(); ++i)
    if (k.buffers[i])
      inputs.push_back({{"name", k.names[i - 1]},
                        {"dtype", name(k.buffers[i]->dtype())},
                        {"size", k.buffers[i]->size()},
                        {"values", shown(*k.buffers[i])}});
  out["inputs"] = std::move(inputs);
  Json output = shown(*k.buffers[0]);
  const std::vector<Buffer*> buffers = borrowed(k.buffers);
  interp::legal_results(
      k.ast, buffers, profile, {}, [&](std::int64_t first, const interp::LegalBlock& block) {
        with_storage(block.dtype(), [&]<class T>(std::type_identity<T>) {
          for (std::int64_t i = 0; i < block.count() && first + i < kMostShown; ++i) {
            const interp::Legal<T> x = block.get<T>(i);
            const LegalScalars legal{Scalar::of(x.lo), Scalar::of(x.hi), x.number, x.nan, x.any};
            output[static_cast<std::size_t>(first + i)].push_back(legal.str());
          }
        });
      });
  out["output"] = std::move(output);
}

}  // namespace

std::shared_ptr<const KernelRun> run_kernels(const std::string& text, const Json& inputs) {
  if (!inputs.is_object()) throw ParseError("\"inputs\": expected an object as {\"x\":\"1 2\"}");
  auto run = std::make_shared<KernelRun>();
  if (is_program(text))
    ProgramRun(*run, text)();
  else
    run_formula(*run, text, inputs);
  for (const KernelRun::Kernel& k : run->kernels)
    run_kernel(*run->device, k.ast, borrowed(k.buffers));
  return run;
}

Json code_json(const LazyOpPtr& kernel) {
  Json out = {{"ast", lines_of(str(kernel))}, {"node", nodes_of_lines(kernel)}};
  try {
    const TracedKernel traced = linearize_traced(kernel);
    const TracedC c = render_c_traced(traced.linear, traced.linear.name);
    std::vector<std::string> steps = lines_of(str(traced.linear));
    steps.erase(steps.begin());  // the kernel's head
    out["uops"] = std::move(steps);
    out["nodes"] = traced.nodes;
    out["c"] = lines_of(c.text);
    out["lines"] = c.lines;
  } catch (const Error& e) {
    out["uops"] = out["nodes"] = out["lines"] = Json::array();
    out["c"] = {fmt::format("/* no C code: {} */", e.what())};
  }
  return out;
}

Json kernel_answer(const KernelRun& run, const std::string& profile) {
  const Judging judging = run.under(profile);
  Json kernels = Json::array();
  for (const KernelRun::Kernel& k : run.kernels) {
    Json out = {{"name", kernel_name(k.ast)}, {"shape", k.shape}, {"dtype", name(k.ast->dtype())}};
    out.update(code_json(k.ast));
    add_values(k, judging.profile, out);
    kernels.push_back(std::move(out));
  }
  return {{"profile", judging.profile.name},
          {"profile_from", judging.from},
          {"kernels", std::move(kernels)}};
}

Json element_answer(const KernelRun& run, const Json& question, const std::string& profile) {
  const Json number = question.value("kernel", Json(0));
  if (!number.is_number_integer() || number.get<std::int64_t>() < 0 ||
      number.get<std::uint64_t>() >= run.kernels.size())
    throw ParseError(fmt::format("\"kernel\": there are {}", run.kernels.size()));
  const KernelRun::Kernel& k = run.kernels[number.get<std::size_t>()];
  std::vector<std::int64_t> at;
  const Json said = question.value("at", Json::array());
  if (!said.is_array()) throw ParseError("\"at\": expected an index per axis, as [3,7]");
  for (const Json& i : said) {
    if (!i.is_number_integer()) throw ParseError("\"at\": expected an index per axis, as [3,7]");
    at.push_back(i.get<std::int64_t>());
  }
  Json nodes = Json::array();
  for (const ExplainedNode& n :
       explain(k.ast, borrowed(k.buffers), at, run.under(profile).profile)) {
    Json terms = Json::array();
    for (const ExplainedNode::Term& t : n.terms) terms.push_back({t.what, t.amount});
    nodes.push_back({{"text", n.text},
                     {"reference", fmt::format("{} ({})", bits_of(n.reference), n.reference.str())},
                     {"exact", n.exact},
                     {"legal", n.legal.str()},
                     {"radius", n.radius ? Json(*n.radius) : Json(nullptr)},
                     {"terms", std::move(terms)}});
  }
  return {{"nodes", std::move(nodes)}};
}

}  // namespace touchstone::explore

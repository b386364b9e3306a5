#include "touchstone/cli/models/program_kernels.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/cli/program/answer_lines.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/fuzz/cases/uop_program.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/kernelize/kernelize.h"
#include "touchstone/lazy/schedule.h"
#include "touchstone/ops/flop_counter.h"
#include "touchstone/uop/graph_op.h"

namespace touchstone::cli {
namespace {

// An elementwise op that kernels lack counts as one operation an element, like an existing one.
UOp countable(const UOp& u) {
  constexpr OpSet kLacking{GraphOp::Or,  GraphOp::And, GraphOp::Shl,
                           GraphOp::Shr, GraphOp::Pow, GraphOp::Threefry};
  if (!kLacking.has(u.op()) || is_bool(u.dtype().base)) return {};
  return u.src(0).alu(GraphOp::Add, {u.src(1)});
}
UOp reduce_countable(const UOp& u) {
  if (u.op() != GraphOp::ReduceAxis || u.arg_as<UOpReduce>().op != GraphOp::Mul) return {};
  UOpReduce arg = u.arg_as<UOpReduce>();
  arg.op = GraphOp::Add;
  return u.with_arg(std::move(arg));
}

// Replaces them in this kernel, not in kernels it reads from.
UOp all_countable(const UOp& root) {
  RewriteMap map;
  for (const UOp& u : root.toposort([](const UOp& at) { return at.op() != GraphOp::Assign; })) {
    std::vector<UOp> src;
    for (const UOp& s : u.src()) src.push_back(result_of(map, s));
    const UOp same = src == u.src() ? u : u.with_src(std::move(src));
    UOp made = countable(same);
    if (!made) made = reduce_countable(same);
    map.set(u, made ? made : same);
  }
  return result_of(map, root);
}

void count_kernel(ProgramKernels& out, const UOp& assign) {
  const UOpKernelPtr& kernel = assign.src(1).arg_as<UOpKernelPtr>();
  if (kernel->ast.op() == GraphOp::Copy) {
    ++out.copies;
    return;
  }
  auto counted = std::make_shared<UOpKernel>(UOpKernel{all_countable(kernel->ast), {}});
  out.add(
      lower_kernel(assign.src(0).assign(assign.src(1).with_arg(UOpKernelPtr(std::move(counted)))))
          .ast);
}

ProgramKernels by_rewriting(const fuzz::UOpProgram& program, const Config& config) {
  ProgramKernels out;
  const UOp sink = result_of(kernelize_graph(program.sink, config), program.sink);
  for (const UOp& assign : order_of_kernels(sink)) count_kernel(out, assign);
  return out;
}

MovementOp movement_of(const UOp& u) {
  using Kind = MovementOp::Kind;
  static constexpr std::pair<GraphOp, Kind> kKinds[] = {{GraphOp::Reshape, Kind::Reshape},
                                                        {GraphOp::Expand, Kind::Expand},
                                                        {GraphOp::Permute, Kind::Permute},
                                                        {GraphOp::Pad, Kind::Pad},
                                                        {GraphOp::Shrink, Kind::Shrink}};
  const auto row = std::ranges::find(kKinds, u.op(), &std::pair<GraphOp, Kind>::first);
  if (row == std::end(kKinds))
    throw AstError(u.line() +
                   ": movement of LazyBuffers does not support it; use --scheduler kernelize");
  MovementOp op{.kind = row->second};
  if (const auto* shape = std::get_if<Shape>(&u.arg())) op.shape = *shape;
  if (const auto* order = std::get_if<std::vector<int>>(&u.arg())) op.order = *order;
  if (const auto* ends = std::get_if<Mask>(&u.arg())) op.ends = *ends;
  return op;
}

class ByFusion {
 public:
  /// The computed sources of the sink.
  std::vector<LazyBufferPtr> outputs_of(const UOp& sink) {
    for (const UOp& n : sink.toposort())
      if (n.st() != nullptr && !n.dtype().is_none()) made_.set(n, made(n));
    std::vector<LazyBufferPtr> outputs;
    for (std::size_t i = 0; i < sink.src().size(); ++i) outputs.push_back(source(sink, i));
    return outputs;
  }

 private:
  LazyBufferPtr source(const UOp& u, std::size_t i = 0) const { return *made_.find(u.src(i)); }

  static std::string device(const UOp& u) {
    std::string name = u.device().at(0);
    Device::add(name, [name] { return make_interpreted_device(name, 1); });
    return name;
  }

  LazyBufferPtr made(const UOp& u) const {
    if (u.op() == GraphOp::Buffer)
      return LazyBuffer::from_buffer(
          std::make_shared<Buffer>(Device::get(device(u)), u.dtype().base, u.size().as_int()),
          u.shape());
    if (u.op() == GraphOp::Const)
      return LazyBuffer::constant(u.value(), {}, device(u))
          ->reshape(Shape(u.shape().size(), 1))
          ->expand(u.shape());
    if (is_movement(u.op()))
      return fuzz::apply_movement(*source(u), movement_of(u), &LazyBuffer::stride);
    if (u.op() == GraphOp::Contiguous) return source(u)->contiguous();
    if (group(u.op()) == GraphOpGroup::Ask) return source(u);
    if (u.op() == GraphOp::Copy) return source(u)->copy_to_device(device(u));
    if (u.op() == GraphOp::Assign) return source(u)->contiguous()->assign(source(u, 1));
    if (u.op() == GraphOp::Cast) return source(u)->cast(u.dtype().base);
    if (u.op() == GraphOp::Bitcast) return source(u)->bitcast(u.dtype().base);
    if (u.op() == GraphOp::CmpNe)
      return LazyBuffer::e(Op::Neg, {LazyBuffer::e(Op::CmpEq, {source(u), source(u, 1)})});
    if (u.op() == GraphOp::ReduceAxis && u.arg_as<UOpReduce>().op != GraphOp::Mul) {
      const auto& [op, axes, fused] = u.arg_as<UOpReduce>();
      return source(u)->r(op == GraphOp::Max ? Op::ReduceMax : Op::ReduceSum, axes);
    }
    const auto op = u.op() == GraphOp::Function ? Op::Function : info(u.op()).kernel;
    if (!op)
      throw AstError(u.line() + ": fusion does not support this op; use --scheduler kernelize");
    std::vector<LazyBufferPtr> of;
    for (std::size_t i = 0; i < u.src().size(); ++i) of.push_back(source(u, i));
    if (op == Op::Function) return LazyBuffer::call(u.arg_as<NamedFunction>(), of);
    return LazyBuffer::e(*op, of);
  }

  UOpMap<LazyBufferPtr> made_;
};

ProgramKernels by_fusion(const fuzz::UOpProgram& program) {
  ProgramKernels out;
  ByFusion buffers;
  for (const ScheduleItem& item : schedule(buffers.outputs_of(program.sink))) {
    if (item.kind == Op::Store) out.add(item.ast);
    out.copies += item.kind == Op::From ? 1 : 0;
  }
  return out;
}

void set_option(Config& config, const std::string& name, std::int64_t value) {
  const OptionInfo* const option = option_named(name);
  if (option == nullptr || !option->rewrites)
    throw ParseError(fmt::format("there is no option '{}'; see docs/kernelize.md", name));
  config.set(*option, value);
}

// Parses a line's program and sets its options in `config`. Throws ParseError.
std::string read_question(std::string_view line, Config& config) {
  nlohmann::json question;
  try {
    question = nlohmann::json::parse(line);
  } catch (const nlohmann::json::parse_error& e) {
    throw ParseError(fmt::format("the line is not valid JSON from byte {} on", e.byte));
  }
  if (!question.is_object() || !question.contains("program") || !question["program"].is_string())
    throw ParseError(
        R"(a line must be an object with a string, as {"program": "float32 4: 1; neg %0"})");
  for (const auto& [name, value] : question.items())
    if (name != "program" && name != "options")
      throw ParseError(fmt::format("unknown member '{}'; known: program and options", name));
  if (const auto options = question.find("options"); options != question.end()) {
    if (!options->is_object()) throw ParseError("options must be an object of integers");
    for (const auto& [name, value] : options->items()) {
      if (!value.is_number_integer())
        throw ParseError(fmt::format("option '{}' is {}, not an integer", name, value.dump()));
      set_option(config, name, value.get<std::int64_t>());
    }
  }
  return question["program"].get<std::string>();
}

}  // namespace

void ProgramKernels::add(const LazyOpPtr& kernel) {
  const FlopCounter cost = get_lazyop_info(kernel);
  loads += static_cast<std::int64_t>(cost.mem.size()) - 1;
  stores += 1;
  flops += cost.flops.as_int();
  kernels.push_back(kernel);
}

bool is_file(const std::string& program) {
  return program != "-" && program.find(':') == std::string::npos;
}

std::string program_text(const std::string& program) {
  if (program == "-") {
    std::string all;
    read_input("a program", [&](std::string_view piece) {
      all += piece;
      return all.size() <= kMostText;
    });
    if (all.size() > kMostText) throw ParseError("standard input has more than 256 MiB");
    return all;
  }
  return is_file(program) ? read_file(program) : program;
}

ProgramKernels program_kernels(std::string_view text, const Config& config) {
  const ConfigScope scope(config);
  const fuzz::UOpProgram program = fuzz::UOpProgram::parse(text);
  const bool rewrites =
      config.scheduler == Scheduler::Kernelize || config.scheduler == Scheduler::Ranges;
  return rewrites ? by_rewriting(program, config) : by_fusion(program);
}

std::string program_answer(std::string_view line, const Config& given) {
  nlohmann::ordered_json answer;
  try {
    Config config = given;
    const std::string program = read_question(line, config);
    const ProgramKernels k = program_kernels(program, config);
    answer = {{"kernels", k.kernels.size()},
              {"copies", k.copies},
              {"loads", k.loads},
              {"stores", k.stores},
              {"flops", k.flops}};
  } catch (const std::bad_alloc&) {
    answer = {{"error", "out of memory"}};
  } catch (const std::exception& e) {
    answer = {{"error", e.what()}};
  }
  return answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace touchstone::cli

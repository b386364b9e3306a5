#include "touchstone/interp/oracle/explain.h"

#include <algorithm>
#include <map>
#include <utility>

#include "touchstone/base/fp_guard.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/interp/oracle/excess.h"
#include "touchstone/interp/oracle/radius.h"
#include "touchstone/interp/oracle/real.h"
#include "touchstone/interp/oracle/subkernel.h"

namespace touchstone {
namespace {

using namespace interp;

using MaybeReal = std::optional<Real>;

// One element without any rounding, to 100 digits.
class Exact {
 public:
  Exact(const KernelProgram& program, std::span<Buffer* const> buffers)
      : program_(program), buffers_(buffers) {}

  std::vector<MaybeReal> region(int id, std::int64_t index) {
    std::vector<MaybeReal> values;
    for (const ProgramNode& node : program_.regions[static_cast<std::size_t>(id)].nodes)
      values.push_back(value(node, index, values));
    return values;
  }

 private:
  static Real of(const Scalar& x) {
    if (is_float(x.dtype())) return Real(x.to_double());
    return x.dtype() == DType::UInt64 ? Real(x.bits()) : Real(x.to_int64());
  }
  Scalar read(const ProgramNode& node, std::int64_t address) const {
    return with_storage(node.dtype, [&]<class T>(std::type_identity<T>) {
      if (address < 0) return Scalar::of(T{});
      if (node.op == Op::Const) return node.value;
      return Scalar::of(static_cast<const T*>(
          buffers_[static_cast<std::size_t>(node.buffer)]->memory())[address]);
    });
  }

  MaybeReal value(const ProgramNode& node, std::int64_t index,
                  const std::vector<MaybeReal>& values) {
    if (node.op == Op::Load || node.op == Op::Const) {
      std::int64_t address = 0;
      node.addresses.read(index, std::span(&address, 1));
      return of(read(node, address));
    }
    if (node.op == Op::Gather) {
      const MaybeReal& at = values[static_cast<std::size_t>(node.src[0])];
      if (!at) return std::nullopt;
      std::int64_t address = -1;
      if (*at > -0x1p62 && *at < 0x1p62) {
        const auto position = static_cast<std::int64_t>(*at);
        raise_if_found(fault_of(node, std::span(&position, 1), index));
      }
      if (*at >= 0 && *at < node.rows)
        node.addresses.read(static_cast<std::int64_t>(*at) * node.row_size + index,
                            std::span(&address, 1));
      return of(read(node, address));
    }
    if (is_reduce(node.op)) return reduced(node, index);
    std::vector<Real> in;
    for (const int s : node.src) {
      if (!values[static_cast<std::size_t>(s)]) return std::nullopt;
      in.push_back(*values[static_cast<std::size_t>(s)]);
    }
    return applied(node, in);
  }

  // A result that repeats, as the mean in each term of a variance, is computed once.
  MaybeReal reduced(const ProgramNode& node, std::int64_t index) {
    if (!node.repeats) return sum_or_maximum(node, index);
    std::int64_t result = 0;
    node.results.read(index, std::span(&result, 1));
    const std::pair key(&node, result);
    if (const auto found = kept_.find(key); found != kept_.end()) return found->second;
    return kept_[key] = sum_or_maximum(node, result);
  }
  MaybeReal sum_or_maximum(const ProgramNode& node, std::int64_t index) {
    MaybeReal result;
    for (std::int64_t k = 0; k < node.terms; ++k) {
      const MaybeReal term = region(node.region, index * node.terms + k).back();
      if (!term || !is_float(node.dtype)) return std::nullopt;
      if (!result)
        result = term;
      else
        result = node.op == Op::ReduceSum ? Real(*result + *term) : std::max(*result, *term);
    }
    return result;
  }

  static MaybeReal applied(const ProgramNode& node, const std::vector<Real>& x) {
    switch (node.op) {
      case Op::CmpLt: return Real(x[0] < x[1] ? 1 : 0);
      case Op::CmpEq: return Real(x[0] == x[1] ? 1 : 0);
      case Op::Where: return x[0] != 0 ? x[1] : x[2];
      case Op::Noop: return x[0];
      case Op::Cast:
      case Op::Neg:
      case Op::Add:
      case Op::Sub:
      case Op::Mul:
      case Op::Div:
      case Op::Max:
      case Op::Mod:
      case Op::Xor:
      case Op::MulAcc:
      TOUCHSTONE_CASES_FUNCTION:
      TOUCHSTONE_CASES_REDUCE:
      TOUCHSTONE_CASES_NOT_COMPUTED:
        break;
    }
    if (!is_float(node.dtype) || node.bitcast) return std::nullopt;
    switch (node.op) {
      case Op::Cast: return x[0];
      case Op::Neg: return Real(-x[0]);
      case Op::Add: return Real(x[0] + x[1]);
      case Op::Sub: return Real(x[0] - x[1]);
      case Op::Mul: return Real(x[0] * x[1]);
      case Op::Div: return Real(x[0] / x[1]);
      case Op::MulAcc: return Real(x[0] * x[1] + x[2]);
      case Op::Max: return std::max(x[0], x[1]);
      case Op::Recip: return Real(1 / x[0]);
      case Op::Sqrt: return Real(sqrt(x[0]));
      case Op::Exp2: return exact_exp2(x[0]);
      case Op::Log2: return exact_log2(x[0]);
      case Op::Sin: return exact_sin(x[0]);
      case Op::Noop:
      case Op::Mod:
      case Op::Xor:
      case Op::Where:
      TOUCHSTONE_CASES_COMPARISON:
      TOUCHSTONE_CASES_REDUCE:
      TOUCHSTONE_CASES_NOT_COMPUTED:
        break;
    }
    return std::nullopt;
  }

  const KernelProgram& program_;
  std::span<Buffer* const> buffers_;
  std::map<std::pair<const ProgramNode*, std::int64_t>, MaybeReal> kept_;
};

// Legal values of the only element of a kernel.
LegalScalars legal_scalars(const LazyOpPtr& node, std::span<Buffer* const> buffers,
                           const Profile& profile) {
  LegalScalars out;
  legal_results(kernel_of(node), buffers, profile, {}, [&](std::int64_t, const LegalBlock& block) {
    with_storage(block.dtype(), [&]<class T>(std::type_identity<T>) {
      const Legal<T> x = block.get<T>(0);
      out = {Scalar::of(x.lo), Scalar::of(x.hi), x.number, x.nan, x.any, x.apart};
    });
  });
  return out;
}

// The reference's result for a node of one element.
Scalar reference_of(const LazyOpPtr& node, std::span<Buffer* const> buffers) {
  const LazyOpPtr kernel = kernel_of(node);
  const std::unique_ptr<Device> device = make_interpreted_device("CPU", 1);
  Buffer out(*device, kernel->dtype(), 1);
  std::vector<Buffer*> raw(buffers.begin(), buffers.end());
  raw.resize(std::max<std::size_t>(raw.size(), 1));
  raw[0] = &out;
  device->runner(kernel)->run(raw, {});
  std::uint64_t bits = 0;
  out.copy_out({reinterpret_cast<std::byte*>(&bits), out.bytes()});
  return Scalar::from_bits(out.dtype(), bits);
}

Ball ball_of_legal(const LegalScalars& x) {
  if (!x.number || x.any || !is_float(x.low.dtype())) return Ball::unknown();
  const double lo = x.low.to_double(), hi = x.high.to_double();
  return lo == hi ? Ball{lo, 0} : ball::made(lo / 2 + hi / 2, hi / 2 - lo / 2);
}

// Decomposes the radius of a node: the share of each operand's radius alone, of rounding, and of
// the operands' errors in combination.
void take_apart(const ProgramNode& node, const Profile& profile, const std::vector<Ball>& balls,
                Ball& result, ExplainedNode& out) {
  std::vector<Ball> in, points;
  for (const int s : node.src) {
    in.push_back(balls[static_cast<std::size_t>(s)]);
    points.push_back({in.back().value, 0});
  }
  if (std::ranges::any_of(in, [](const Ball& b) { return !b.known(); })) return;
  const double ulp = declared_ulp(node.op, profile, in[0].most());
  const Ball whole = ball_of_result(node, profile, in, ulp);
  if (!whole.known()) return;
  const double rounding = ball_of_result(node, profile, points, 0).radius;
  const double with_ulp = ball_of_result(node, profile, points, ulp).radius;
  double rest = whole.radius - with_ulp;
  for (std::size_t k = 0; k < in.size(); ++k) {
    std::vector<Ball> only = points;
    only[k] = in[k];
    const double share = ball_of_result(node, profile, only, ulp).radius - with_ulp;
    if (share > 0) out.terms.push_back({fmt::format("the error of %{}", node.src[k]), share});
    rest -= std::max(share, 0.0);
  }
  if (rounding > 0)
    out.terms.push_back({fmt::format("rounding to {}", name(node.dtype)), rounding});
  if (with_ulp > rounding)
    out.terms.push_back({fmt::format("{} ULP of the profile", ulp), with_ulp - rounding});
  if (rest > whole.radius * 1e-6) out.terms.push_back({"errors of operands together", rest});
  out.radius = whole.radius;
  result = whole;
}

void explain_sum(const ProgramNode& node, std::span<Buffer* const> buffers, const Ball& ball,
                 ExplainedNode& out) {
  if (!ball.known() || ball.radius == 0 || node.op != Op::ReduceSum) return;
  const LazyOpPtr term = node.origin->src()[0];
  const LazyOpPtr magnitudes =
      LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Max, term, LazyOp::unary(Op::Neg, term)),
                     node.origin->reduce_arg().axes, node.accumulator);
  const double sum = reference_of(magnitudes, buffers).to_double();
  out.radius = ball.radius;
  out.terms.push_back({fmt::format("orders of {} terms in {}, sum|v| = {:.6g}, and their errors",
                                   node.terms, name(node.accumulator), sum),
                       ball.radius});
}

std::string text_of(std::size_t number, const ProgramNode& node, const Profile& profile) {
  std::vector<std::string> operands;
  for (const int s : node.src) operands.push_back(fmt::format("%{}", s));
  if (is_load(node.op)) operands.push_back(fmt::format("buffer {}", node.buffer));
  if (is_reduce(node.op)) operands.push_back(fmt::format("{} terms", node.terms));
  const auto wide = excess_type(profile, node.dtype);
  const std::string_view op =
      node.op == Op::Function ? info(node.function.function).name : name(node.op);
  return fmt::format("%{} = {}({}) {}{}", number, op, fmt::join(operands, ", "), name(node.dtype),
                     wide && !node.src_dtypes.empty() ? fmt::format(", in {}", name(*wide)) : "");
}

void check_inputs(const LazyOpPtr& kernel, std::span<Buffer* const> inputs) {
  for (const BufferSpec& spec : buffers_of(kernel)) {
    const auto idx = static_cast<std::size_t>(spec.idx);
    if (idx == 0) continue;
    if (idx >= inputs.size() || inputs[idx] == nullptr)
      throw BufferError(fmt::format("input buffer {} was not given", idx));
    if (inputs[idx]->dtype() != spec.dtype || inputs[idx]->size() < spec.size)
      throw BufferError(fmt::format(
          "input buffer {} has {} elements of {}, but the kernel reads {} of {}", idx,
          inputs[idx]->size(), name(inputs[idx]->dtype()), spec.size, name(spec.dtype)));
  }
}

std::string bits_and_value(const Scalar& s) {
  return fmt::format("0x{:0{}x} ({})", s.bits(), 2 * itemsize(s.dtype()), s.str());
}

}  // namespace

bool LegalScalars::accepts(const Scalar& x) const {
  return with_storage(x.dtype(), [&]<class T>(std::type_identity<T>) {
    if (!any && number && low.dtype() != x.dtype()) return false;
    return Legal<T>{
        number ? low.as<T>() : T{}, number ? high.as<T>() : T{}, number, nan, any, apart}
        .accepts(x.as<T>());
  });
}

std::string LegalScalars::str() const {
  if (any) return "anything";
  std::string text;
  if (number)
    text = low == high ? bits_and_value(low)
           : apart     ? fmt::format("{} or {}", bits_and_value(low), bits_and_value(high))
                       : fmt::format("[{}, {}]", bits_and_value(low), bits_and_value(high));
  if (nan) text += number ? " or NaN" : "NaN";
  return text;
}

std::vector<ExplainedNode> explain(const LazyOpPtr& kernel, std::span<Buffer* const> inputs,
                                   std::span<const std::int64_t> at, const Profile& profile) {
  const FpGuard guard;
  check_inputs(kernel, inputs);
  const LazyOpPtr one = one_element(kernel, at);
  std::map<const LazyOp*, LazyOpPtr> handle;
  for (const LazyOpPtr& n : nodes_of(one)) handle[n.get()] = n;
  const KernelProgram program = make_program(one);
  constexpr std::size_t kMostNodes = 1000;  // each is computed with all nodes below it
  if (program.regions[0].nodes.size() > kMostNodes)
    throw AstError(
        fmt::format("the element depends on {} nodes; the limit is {}: store an intermediate "
                    "result in a buffer",
                    program.regions[0].nodes.size(), kMostNodes));
  const KernelProgram once = make_program(one, Repeats::Kept);  // the same nodes
  const std::vector<MaybeReal> exact = Exact(once, inputs).region(0, 0);
  std::vector<ExplainedNode> out;
  std::vector<Ball> balls;
  for (const ProgramNode& node : program.regions[0].nodes) {
    const LazyOpPtr& origin = handle.at(node.origin);
    ExplainedNode& made = out.emplace_back();
    made.text = text_of(out.size() - 1, node, profile);
    made.node = origin;
    made.reference = reference_of(origin, inputs);
    const MaybeReal& value = exact[out.size() - 1];
    if (value) made.exact = digits_of(*value);
    made.legal = legal_scalars(origin, inputs, profile);
    Ball ball = ball_of_legal(made.legal);
    if (is_reduce(node.op))
      explain_sum(node, inputs, ball, made);
    else if (is_elementwise(node.op) && is_float(node.dtype) && !node.bitcast &&
             !(ball.known() && ball.radius == 0 && !node.contraction.may_be_unrounded()))
      take_apart(node, profile, balls, ball, made);
    std::ranges::sort(made.terms, std::greater<>(), &ExplainedNode::Term::amount);
    balls.push_back(ball);
  }
  return out;
}

}  // namespace touchstone

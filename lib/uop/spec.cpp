#include "touchstone/uop/spec.h"

#include <algorithm>
#include <array>

namespace touchstone {
namespace {

constexpr OpSet kAnything = OpSet::all();

std::string fits_arity(const UOp& u) {
  const GraphOpInfo& row = info(u.op());
  const int n = static_cast<int>(u.src().size());
  if (n >= row.least && n <= row.most) return "";
  return row.most == row.least ? fmt::format("it has {} sources, not {}", n, row.least)
                               : fmt::format("it has {} sources, at least {}", n, row.least);
}

template <class T>
bool has_arg(const UOp& u) {
  return std::holds_alternative<T>(u.arg());
}

std::string names_device(const UOp& u) {
  if (!u.dtype().is_none()) return "a device gives no elements";
  if (has_arg<std::string>(u)) return "";
  const auto* names = std::get_if<std::vector<std::string>>(&u.arg());
  if (names == nullptr || names->size() < 2)
    return "its argument is neither a name nor two or more";
  for (std::size_t i = 0; i < names->size(); ++i)
    if (std::find(names->begin(), names->begin() + static_cast<std::ptrdiff_t>(i), (*names)[i]) !=
        names->begin() + static_cast<std::ptrdiff_t>(i))
      return (*names)[i] + " is given twice";
  return "";
}
std::string is_unique(const UOp& u) {
  if (!u.dtype().is_none()) return "it gives no elements";
  return has_arg<std::int64_t>(u) ? "" : "its argument is not a number";
}
std::string is_buffer(const UOp& u) {
  if (u.src(0).op() != GraphOp::Unique || u.src(1).op() != GraphOp::Device)
    return "its sources are not UNIQUE and DEVICE";
  const auto* size = std::get_if<std::int64_t>(&u.arg());
  if (size == nullptr || *size < 0) return "its argument is not a number of elements";
  return u.dtype().is_none() ? "it holds elements of no type" : "";
}
std::string is_part(const UOp& u) {
  if (u.src(0).op() != GraphOp::Buffer && u.src(0).op() != GraphOp::MStack)
    return "its source is not a buffer";
  const auto* part = std::get_if<Mask>(&u.arg());
  return part != nullptr && part->size() == 1 ? "" : "its argument is not (first, size)";
}
std::string is_constant(const UOp& u) {
  const auto* value = std::get_if<Scalar>(&u.arg());
  if (value == nullptr) return "its argument is not a value";
  if (value->dtype() != u.dtype().base) return "its value is of another type";
  if (u.src().empty()) return "";
  if (u.src(0).op() != GraphOp::View) return "its source is not a VIEW";
  const auto* st = std::get_if<ShapeTracker>(&u.src(0).arg());
  if (st == nullptr || st->views().size() != 1) return "its shape is not one view without a mask";
  // An empty view may have an empty mask.
  const bool empty = std::ranges::any_of(st->shape(), [](const sint& n) { return n == sint(0); });
  if (st->masked() && !empty) return "its shape is not one view without a mask";
  return "";
}
std::string is_variable(const UOp& u) {
  const auto* v = std::get_if<UOpVariable>(&u.arg());
  if (v == nullptr) return "its argument is not a variable";
  if (v->min > v->max) return "its bounds are empty";
  return is_integer(u.dtype().base) ? "" : "it is not an integer";
}
std::string is_bound(const UOp& u) {
  if (u.src(0).op() != GraphOp::DefineVar || u.src(1).op() != GraphOp::Const)
    return "its sources are not DEFINE_VAR and CONST";
  return is_integer(u.dtype().base) ? "" : "it is not an integer";
}
std::string is_view(const UOp& u) {
  return has_arg<ShapeTracker>(u) ? "" : "its argument is not a ShapeTracker";
}
std::string moves(const UOp& u) {
  const bool image = u.dtype().is_image() || u.src(0).dtype().is_image();
  if (image ? u.dtype().base != u.src(0).dtype().base : u.dtype() != u.src(0).dtype())
    return "movement keeps the type";
  const GraphOp op = u.op();
  if (op == GraphOp::Reshape || op == GraphOp::Expand)
    return has_arg<Shape>(u) ? "" : "its argument is not a shape";
  if (op == GraphOp::Permute || op == GraphOp::Flip)
    return has_arg<std::vector<int>>(u) ? "" : "its argument is not a list of axes";
  return has_arg<Mask>(u) ? "" : "its argument is not a list of pairs";
}
std::string keeps_type(const UOp& u) {
  return u.dtype().base == u.src(0).dtype().base && !u.dtype().is_none()
             ? ""
             : "it keeps the type of its source";
}
std::string is_copy(const UOp& u) {
  if (u.src(1).op() != GraphOp::Device) return "its second source is not a DEVICE";
  return keeps_type(u);
}
std::string is_custom(const UOp& u) {
  if (u.src(0).op() != GraphOp::Device) return "its first source is not a DEVICE";
  return has_arg<UOpFill>(u) ? "" : "its argument does not give its contents";
}
std::string is_assign(const UOp& u) {
  const GraphOp target = u.src(0).base().op();
  if (u.src(1).op() != GraphOp::Kernel && u.src(0).dtype().base != u.src(1).dtype().base)
    return "the value is of another type than the target";
  for (std::size_t i = 2; i < u.src().size(); ++i)
    if (u.src(i).op() != GraphOp::Assign)
      return fmt::format("source {} is not an ASSIGN to follow", i);
  if (target == GraphOp::Const || target == GraphOp::Device)
    return "a constant cannot be assigned to";
  if (u.src(1).op() != GraphOp::Kernel && u.src(0).st() != nullptr && u.src(1).st() != nullptr &&
      u.src(0).shape() != u.src(1).shape())
    return fmt::format("the target has shape {}, the value {}",
                       str(std::span<const sint>(u.src(0).shape())),
                       str(std::span<const sint>(u.src(1).shape())));
  return "";
}
std::string is_kernel(const UOp& u) {
  const auto* kernel = std::get_if<UOpKernelPtr>(&u.arg());
  if (kernel == nullptr || *kernel == nullptr || !(*kernel)->ast) return "it has no AST";
  constexpr OpSet kReads{GraphOp::Buffer, GraphOp::BufferView, GraphOp::Assign, GraphOp::MSelect,
                         GraphOp::MStack};
  for (const UOp& s : u.src())
    if (!kReads.has(s.op())) return "it reads " + s.line() + ", which is not memory";
  const UOp& ast = (*kernel)->ast;
  return ast.op() == GraphOp::Sink || is_meta(ast.op()) ? ""
                                                        : "its AST is not a SINK, COPY or similar";
}
std::string is_selected(const UOp& u) {
  const auto* which = std::get_if<std::int64_t>(&u.arg());
  if (which == nullptr) return "its argument is not a number";
  const auto names = u.src(0).device();
  if (names.size() < 2) return "its source is on one device";
  return *which >= 0 && static_cast<std::size_t>(*which) < names.size()
             ? ""
             : fmt::format("device {} of {}", *which, names.size());
}
std::string is_stack(const UOp& u) {
  for (const UOp& s : u.src()) {
    if (s.device().size() != 1) return s.line() + " is not on one device";
    if (s.dtype().base != u.dtype().base) return s.line() + " is of another type";
    if (s.st() != nullptr && u.src(0).st() != nullptr && s.shape() != u.src(0).shape())
      return s.line() + " has another shape than the first";
  }
  std::vector<std::string> names = u.device();
  std::ranges::sort(names);
  return std::ranges::adjacent_find(names) == names.end() ? "" : "a device is given twice";
}
std::string is_shard(const UOp& u) {
  const auto* axis = std::get_if<std::int64_t>(&u.arg());
  if (axis == nullptr || *axis < 0 ||
      (u.src(0).st() != nullptr && *axis >= u.src(0).tracker().rank()))
    return "its argument is not an axis";
  if (u.src(0).op() == GraphOp::Multi) return "its source is already sharded";
  if (u.device().size() < 2) return "its source is on one device";
  return keeps_type(u);
}
std::string is_reduce(const UOp& u) {
  const auto* arg = std::get_if<UOpReduce>(&u.arg());
  if (arg == nullptr) return "its argument lacks axes";
  if (arg->op != GraphOp::Add && arg->op != GraphOp::Mul && arg->op != GraphOp::Max)
    return std::string(name(arg->op)) + " cannot be reduced by; ADD, MUL and MAX can";
  if (arg->axes.empty() || !std::ranges::is_sorted(arg->axes) ||
      std::ranges::adjacent_find(arg->axes) != arg->axes.end())
    return "its axes are not sorted and distinct";
  const ShapeTracker* st = u.src(0).st();
  if (st != nullptr && (arg->axes[0] < 0 || arg->axes.back() >= st->rank()))
    return "there is no such axis";
  return u.dtype().base == u.src(0).dtype().base ? "" : "a reduce keeps the type";
}
std::string allreduces(const UOp& u) {
  if (u.src(1).op() != GraphOp::Device) return "its second source is not a DEVICE";
  const auto* arg = std::get_if<UOpReduce>(&u.arg());
  if (arg == nullptr) return "its argument is not an op";
  if (arg->op != GraphOp::Add && arg->op != GraphOp::Mul && arg->op != GraphOp::Max)
    return std::string(name(arg->op)) + " cannot be reduced by; ADD, MUL and MAX can";
  if (!arg->axes.empty()) return "it has axes";
  if (u.src(0).device().size() < 2) return "its source is on one device";
  return keeps_type(u);
}
// DEVICE nodes are equal if their names are.
std::string in_one_place(const UOp& u) {
  UOp where;
  for (const UOp& s : u.src()) {
    const UOp of = s.device_node();
    if (!of) continue;
    if (where && of != where)
      return fmt::format("its operands are on {} and on {}; copy one to the other",
                         text_of(where.arg()), text_of(of.arg()));
    where = of;
  }
  return "";
}
std::string chooses(const UOp& u) {
  if (!is_bool(u.src(0).dtype().base)) return "its condition is not a bool";
  if (u.src(1).dtype().base != u.dtype().base || u.src(2).dtype().base != u.dtype().base)
    return "its arms are of another type";
  return "";
}
std::string compares(const UOp& u) {
  if (u.dtype() != UOpType(DType::Bool)) return "a comparison gives bool";
  return u.src(0).dtype().base == u.src(1).dtype().base ? "" : "its operands are of two types";
}
std::string computes(const UOp& u) {
  for (const UOp& s : u.src())
    if (s.dtype().base != u.dtype().base || s.dtype().is_none())
      return "its operands are of another type";
  const DType d = u.dtype().base;
  constexpr OpSet kWhole{GraphOp::Idiv},
      kBits{GraphOp::Xor, GraphOp::Or, GraphOp::And, GraphOp::Shl, GraphOp::Shr, GraphOp::Threefry};
  constexpr OpSet kFloat{GraphOp::Exp2, GraphOp::Log2,  GraphOp::Sin,
                         GraphOp::Sqrt, GraphOp::Recip, GraphOp::Fdiv};
  if (kWhole.has(u.op()) && !is_integer(d)) return "it is of integers";
  if (kBits.has(u.op()) && is_float(d)) return "it is of integers and bool";
  if (kFloat.has(u.op()) && !is_float(d)) return "it is of floats";
  return "";
}
std::string calls(const UOp& u) {
  const auto* f = std::get_if<NamedFunction>(&u.arg());
  if (f == nullptr) return "its argument is not a function";
  if (static_cast<int>(u.src().size()) != info(*f).arity)
    return fmt::format("{} takes {} operand(s)", info(*f).name, info(*f).arity);
  return is_float(u.dtype().base) ? computes(u) : "it is of floats";
}
std::string gathers(const UOp& u) {
  if (u.src(0).dtype() != UOpType(DType::Int64)) return "its positions are not int64";
  const auto* arg = std::get_if<UOpGather>(&u.arg());
  if (arg == nullptr) return "its argument is not how it sees its table";
  const Shape& axes = arg->table.shape();
  if (axes.empty() || Shape(axes.begin() + 1, axes.end()) != u.src(0).shape())
    return "its table does not have one more axis, in front, than its positions";
  return u.dtype().base == u.src(1).dtype().base ? "" : "its table is of another type";
}
std::string converts(const UOp& u) { return u.dtype().is_none() ? "it gives no elements" : ""; }
std::string has_shape(const UOp& u) {
  try {
    (void)u.st();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}
std::string is_sink(const UOp& u) { return u.dtype().is_none() ? "" : "it gives no elements"; }

std::string is_global(const UOp& u) {
  if (u.dtype().form != UOpType::Form::Pointer && !u.dtype().is_image())
    return "it is not a pointer";
  const auto* number = std::get_if<std::int64_t>(&u.arg());
  return number != nullptr && *number >= 0 ? "" : "its argument is not a number of a buffer";
}
bool views_global(const UOp& u) {
  return u.op() == GraphOp::View && u.src().size() == 1 && u.src(0).op() == GraphOp::DefineGlobal;
}
std::string loads(const UOp& u) {
  if (!views_global(u.src(0))) return "it reads no VIEW of a DEFINE_GLOBAL";
  return u.dtype().base == u.src(0).src(0).dtype().base ? "" : "the buffer is of another type";
}
std::string stores(const UOp& u) {
  if (!u.dtype().is_none()) return "it gives no elements";
  if (!views_global(u.src(0))) return "it writes no VIEW of a DEFINE_GLOBAL";
  if (u.src(1).dtype().base != u.src(0).src(0).dtype().base) return "the buffer is of another type";
  const ShapeTracker* st = u.src(1).st();
  if (st != nullptr && st->shape() != u.src(0).shape()) return "the value has another shape";
  return "";
}
std::string valid(const UOp& u) {
  if (u.src(0).op() != GraphOp::View) return "its source is not a VIEW";
  return u.dtype() == UOpType(DType::Bool) ? "" : "it gives bool";
}
std::string at_the_edge(const UOp& u) {
  if (u.src().empty() || u.src(0).op() == GraphOp::DefineGlobal) return is_view(u);
  return "views stand at the edges of a kernel only";
}
std::string stores_only(const UOp& u) {
  for (const UOp& s : u.src())
    if (s.op() != GraphOp::Store) return s.line() + " is not a STORE";
  return u.src().empty() ? "it stores nothing" : "";
}
std::string no_place(const UOp& /*u*/) { return "it does not belong here"; }

std::string is_image(const UOp& u) {
  if (!u.dtype().is_image()) return "";
  try {
    (void)u.dtype().image_dtype();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}
std::string is_image_of_kernel(const UOp& u) {
  if (u.dtype().is_image() && u.op() != GraphOp::DefineGlobal && u.op() != GraphOp::View)
    return "inside a kernel only DEFINE_GLOBAL and VIEW are images";
  return is_image(u);
}

// clang-format off
constexpr OpSet kAsk{GraphOp::Contiguous, GraphOp::ContiguousBackward, GraphOp::Detach, GraphOp::Fuse, GraphOp::Gbarrier};
constexpr OpSet kCompare{GraphOp::CmpLt, GraphOp::CmpNe, GraphOp::CmpEq};
constexpr OpSet kMoves{GraphOp::Reshape, GraphOp::Expand, GraphOp::Permute, GraphOp::Pad, GraphOp::Shrink, GraphOp::Flip};
constexpr OpSet kAlu{
    GraphOp::Exp2, GraphOp::Log2, GraphOp::Sin, GraphOp::Sqrt, GraphOp::Recip, GraphOp::Neg, GraphOp::Add, GraphOp::Mul, GraphOp::Sub,
    GraphOp::Fdiv, GraphOp::Idiv, GraphOp::Max, GraphOp::Mod, GraphOp::Xor, GraphOp::Or, GraphOp::And, GraphOp::Shl, GraphOp::Shr,
    GraphOp::Pow, GraphOp::Threefry, GraphOp::MulAcc};

constexpr std::array kComputing = {
    SpecRule{"number of sources", kAnything, fits_arity},
    SpecRule{"constant", GraphOp::Const, is_constant},
    SpecRule{"variable", GraphOp::DefineVar, is_variable},
    SpecRule{"bound variable", GraphOp::Bind, is_bound},
    SpecRule{"choice", GraphOp::Where, chooses},
    SpecRule{"comparison", kCompare, compares},
    SpecRule{"arithmetic", kAlu, computes},
    SpecRule{"function", GraphOp::Function, calls},
    SpecRule{"gather", GraphOp::Gather, gathers},
    SpecRule{"conversion", OpSet{GraphOp::Cast, GraphOp::Bitcast}, converts},
    SpecRule{"reduce", GraphOp::ReduceAxis, is_reduce},
};
constexpr std::array kTensor = {
    SpecRule{"device", GraphOp::Device, names_device},
    SpecRule{"unique", GraphOp::Unique, is_unique},
    SpecRule{"buffer", GraphOp::Buffer, is_buffer},
    SpecRule{"part of a buffer", GraphOp::BufferView, is_part},
    SpecRule{"view", GraphOp::View, is_view},
    SpecRule{"movement", kMoves, moves},
    SpecRule{"asked of a tensor", kAsk, keeps_type},
    SpecRule{"copy", GraphOp::Copy, is_copy},
    SpecRule{"custom", GraphOp::Custom, is_custom},
    SpecRule{"assign", GraphOp::Assign, is_assign},
    SpecRule{"kernel", GraphOp::Kernel, is_kernel},
    SpecRule{"one place", elementwise_ops(), in_one_place},
    SpecRule{"shard", GraphOp::Multi, is_shard},
    SpecRule{"one of several devices", GraphOp::MSelect, is_selected},
    SpecRule{"stack of devices", GraphOp::MStack, is_stack},
    SpecRule{"allreduce", GraphOp::Allreduce, allreduces},
    SpecRule{"sink", GraphOp::Sink, is_sink},
    SpecRule{"of kernels", OpSet{GraphOp::Load, GraphOp::Store, GraphOp::Valid, GraphOp::DefineGlobal}, no_place},
    SpecRule{"image", kAnything, is_image},
    SpecRule{"shape", kAnything, has_shape},
};
constexpr std::array kInKernel = {
    SpecRule{"buffer of a kernel", GraphOp::DefineGlobal, is_global},
    SpecRule{"load", GraphOp::Load, loads},
    SpecRule{"store", GraphOp::Store, stores},
    SpecRule{"valid", GraphOp::Valid, valid},
    SpecRule{"views at the edges", GraphOp::View, at_the_edge},
    SpecRule{"root", GraphOp::Sink, stores_only},
    SpecRule{"of tensors", kMoves | kAsk | OpSet{GraphOp::Unique, GraphOp::Device, GraphOp::Buffer, GraphOp::BufferView,
        GraphOp::Copy, GraphOp::Custom, GraphOp::Assign, GraphOp::Kernel, GraphOp::Multi, GraphOp::MSelect, GraphOp::MStack,
        GraphOp::Allreduce}, no_place},
    SpecRule{"image", kAnything, is_image_of_kernel},
    SpecRule{"shape", kAnything, has_shape},
};
// clang-format on

template <std::size_t A, std::size_t B>
constexpr std::array<SpecRule, A + B> joined(const std::array<SpecRule, A>& a,
                                             const std::array<SpecRule, B>& b) {
  std::array<SpecRule, A + B> all{};
  std::copy(a.begin(), a.end(), all.begin());
  std::copy(b.begin(), b.end(), all.begin() + A);
  return all;
}
constexpr auto kTensorLaws = joined(kComputing, kTensor);
constexpr auto kKernelLaws = joined(kComputing, kInKernel);

[[noreturn]] void broken(const UOp& u, std::size_t place, std::string_view law,
                         const std::string& why) {
  std::string sources;
  for (const UOp& s : u.src()) sources += (sources.empty() ? "" : ", ") + std::string(name(s.op()));
  throw AstError(fmt::format("node {}, {} over ({}): {}: {}", place, u.line(), sources, law, why));
}

// The stored value has one shape; everything in the kernel has its rank and, along output axes, its
// size or 1. Along the other axes each reduce has its own size.
void check_axes(const std::vector<UOp>& order) {
  UOp stored;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const UOp& u = order[place];
    if (u.op() != GraphOp::Store) continue;
    if (stored && u.shape() != stored.shape())
      broken(u, place, "one shape",
             fmt::format("it stores shape {}, another {}", str(std::span<const sint>(u.shape())),
                         str(std::span<const sint>(stored.shape()))));
    stored = u;
  }
  if (!stored) return;
  const Shape& sizes = stored.shape();
  for (std::size_t place = 0; place < order.size(); ++place) {
    const ShapeTracker* st = order[place].st();
    if (st == nullptr || (st->rank() == 0 && !is_elementwise(order[place].op()))) continue;
    if (sizes.size() != st->shape().size())
      broken(order[place], place, "one shape",
             fmt::format("it has {} axes, the stored value {}", st->rank(), sizes.size()));
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (st->shape()[i] != sint(1) && sizes[i] != sint(1) && st->shape()[i] != sizes[i])
        broken(order[place], place, "one shape",
               fmt::format("axis {} has size {}, elsewhere {}", i, st->shape()[i].str(),
                           sizes[i].str()));
  }
}

}  // namespace

std::span<const SpecRule> spec(SpecLevel level) {
  return level == SpecLevel::Tensor ? std::span<const SpecRule>(kTensorLaws)
                                    : std::span<const SpecRule>(kKernelLaws);
}

void type_verify(const UOp& sink, SpecLevel level) {
  const std::vector<UOp> order = sink.toposort();
  for (std::size_t place = 0; place < order.size(); ++place)
    for (const SpecRule& rule : spec(level)) {
      if (!rule.ops.has(order[place].op())) continue;
      if (const std::string why = rule.holds(order[place]); !why.empty())
        broken(order[place], place, rule.name, why);
    }
  if (level == SpecLevel::Kernel) check_axes(order);
}

void SpecRecorder::begins(std::string_view pass, const UOp& sink) {
  if (before_ != nullptr) before_->begins(pass, sink);
}
void SpecRecorder::rewrote(const RewriteRule& rule, const UOp& before, const UOp& after) {
  if (before_ != nullptr) before_->rewrote(rule, before, after);
}
void SpecRecorder::rebuilt(const UOp& before, const UOp& after) {
  if (before_ != nullptr) before_->rebuilt(before, after);
}
void SpecRecorder::ends(std::string_view pass, const UOp& sink) {
  if (before_ != nullptr) before_->ends(pass, sink);
  try {
    type_verify(sink, SpecLevel::Tensor);
  } catch (const AstError& e) {
    throw AstError(fmt::format("after the pass {}: {}", pass, e.what()));
  }
  ++passes_;
}

}  // namespace touchstone

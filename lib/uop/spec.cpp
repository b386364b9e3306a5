#include "touchstone/uop/spec.h"

#include <algorithm>
#include <array>

namespace touchstone {
namespace {

constexpr OpSet kAnything = OpSet::all();

std::string fits_arity(const UOp& u) {
  const OpsInfo& row = info(u.op());
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
  if (u.src(0).op() != Ops::Unique || u.src(1).op() != Ops::Device)
    return "its sources are not UNIQUE and DEVICE";
  const auto* size = std::get_if<std::int64_t>(&u.arg());
  if (size == nullptr || *size < 0) return "its argument is not a number of elements";
  return u.dtype().is_none() ? "it holds elements of no type" : "";
}
std::string is_part(const UOp& u) {
  if (u.src(0).op() != Ops::Buffer && u.src(0).op() != Ops::MStack)
    return "its source is not a buffer";
  const auto* part = std::get_if<Mask>(&u.arg());
  return part != nullptr && part->size() == 1 ? "" : "its argument is not (first, size)";
}
std::string is_constant(const UOp& u) {
  const auto* value = std::get_if<Scalar>(&u.arg());
  if (value == nullptr) return "its argument is not a value";
  if (value->dtype() != u.dtype().base) return "its value is of another type";
  if (u.src().empty()) return "";
  if (u.src(0).op() != Ops::View) return "its source is not a VIEW";
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
  if (u.src(0).op() != Ops::DefineVar || u.src(1).op() != Ops::Const)
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
  const Ops op = u.op();
  if (op == Ops::Reshape || op == Ops::Expand)
    return has_arg<Shape>(u) ? "" : "its argument is not a shape";
  if (op == Ops::Permute || op == Ops::Flip)
    return has_arg<std::vector<int>>(u) ? "" : "its argument is not a list of axes";
  return has_arg<Mask>(u) ? "" : "its argument is not a list of pairs";
}
std::string keeps_type(const UOp& u) {
  return u.dtype().base == u.src(0).dtype().base && !u.dtype().is_none()
             ? ""
             : "it keeps the type of its source";
}
std::string is_copy(const UOp& u) {
  if (u.src(1).op() != Ops::Device) return "its second source is not a DEVICE";
  return keeps_type(u);
}
std::string is_custom(const UOp& u) {
  if (u.src(0).op() != Ops::Device) return "its first source is not a DEVICE";
  return has_arg<UOpFill>(u) ? "" : "its argument does not give its contents";
}
std::string is_assign(const UOp& u) {
  const Ops target = u.src(0).base().op();
  if (u.src(1).op() != Ops::Kernel && u.src(0).dtype().base != u.src(1).dtype().base)
    return "the value is of another type than the target";
  for (std::size_t i = 2; i < u.src().size(); ++i)
    if (u.src(i).op() != Ops::Assign) return fmt::format("source {} is not an ASSIGN to follow", i);
  if (target == Ops::Const || target == Ops::Device) return "a constant cannot be assigned to";
  if (u.src(1).op() != Ops::Kernel && u.src(0).st() != nullptr && u.src(1).st() != nullptr &&
      u.src(0).shape() != u.src(1).shape())
    return fmt::format("the target has shape {}, the value {}",
                       str(std::span<const sint>(u.src(0).shape())),
                       str(std::span<const sint>(u.src(1).shape())));
  return "";
}
std::string is_kernel(const UOp& u) {
  const auto* kernel = std::get_if<UOpKernelPtr>(&u.arg());
  if (kernel == nullptr || *kernel == nullptr || !(*kernel)->ast) return "it has no AST";
  constexpr OpSet kReads{Ops::Buffer, Ops::BufferView, Ops::Assign, Ops::MSelect, Ops::MStack};
  for (const UOp& s : u.src())
    if (!kReads.has(s.op())) return "it reads " + s.line() + ", which is not memory";
  const UOp& ast = (*kernel)->ast;
  return ast.op() == Ops::Sink || is_meta(ast.op()) ? "" : "its AST is not a SINK, COPY or similar";
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
  if (u.src(0).op() == Ops::Multi) return "its source is already sharded";
  if (u.device().size() < 2) return "its source is on one device";
  return keeps_type(u);
}
std::string is_reduce(const UOp& u) {
  const auto* arg = std::get_if<UOpReduce>(&u.arg());
  if (arg == nullptr) return "its argument lacks axes";
  if (arg->op != Ops::Add && arg->op != Ops::Mul && arg->op != Ops::Max)
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
  if (u.src(1).op() != Ops::Device) return "its second source is not a DEVICE";
  const auto* arg = std::get_if<UOpReduce>(&u.arg());
  if (arg == nullptr) return "its argument is not an op";
  if (arg->op != Ops::Add && arg->op != Ops::Mul && arg->op != Ops::Max)
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
  constexpr OpSet kWhole{Ops::Idiv},
      kBits{Ops::Xor, Ops::Or, Ops::And, Ops::Shl, Ops::Shr, Ops::Threefry};
  constexpr OpSet kFloat{Ops::Exp2, Ops::Log2, Ops::Sin, Ops::Sqrt, Ops::Recip, Ops::Fdiv};
  if (kWhole.has(u.op()) && !is_integer(d)) return "it is of integers";
  if (kBits.has(u.op()) && is_float(d)) return "it is of integers and bool";
  if (kFloat.has(u.op()) && !is_float(d)) return "it is of floats";
  return "";
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
  return u.op() == Ops::View && u.src().size() == 1 && u.src(0).op() == Ops::DefineGlobal;
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
  if (u.src(0).op() != Ops::View) return "its source is not a VIEW";
  return u.dtype() == UOpType(DType::Bool) ? "" : "it gives bool";
}
std::string at_the_edge(const UOp& u) {
  if (u.src().empty() || u.src(0).op() == Ops::DefineGlobal) return is_view(u);
  return "views stand at the edges of a kernel only";
}
std::string stores_only(const UOp& u) {
  for (const UOp& s : u.src())
    if (s.op() != Ops::Store) return s.line() + " is not a STORE";
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
  if (u.dtype().is_image() && u.op() != Ops::DefineGlobal && u.op() != Ops::View)
    return "inside a kernel only DEFINE_GLOBAL and VIEW are images";
  return is_image(u);
}

// clang-format off
constexpr OpSet kAsk{Ops::Contiguous, Ops::ContiguousBackward, Ops::Detach, Ops::Fuse, Ops::Gbarrier};
constexpr OpSet kCompare{Ops::CmpLt, Ops::CmpNe, Ops::CmpEq};
constexpr OpSet kMoves{Ops::Reshape, Ops::Expand, Ops::Permute, Ops::Pad, Ops::Shrink, Ops::Flip};
constexpr OpSet kAlu{
    Ops::Exp2, Ops::Log2, Ops::Sin, Ops::Sqrt, Ops::Recip, Ops::Neg, Ops::Add, Ops::Mul, Ops::Sub,
    Ops::Fdiv, Ops::Idiv, Ops::Max, Ops::Mod, Ops::Xor, Ops::Or, Ops::And, Ops::Shl, Ops::Shr,
    Ops::Pow, Ops::Threefry, Ops::MulAcc};

constexpr std::array kComputing = {
    SpecRule{"number of sources", kAnything, fits_arity},
    SpecRule{"constant", Ops::Const, is_constant},
    SpecRule{"variable", Ops::DefineVar, is_variable},
    SpecRule{"bound variable", Ops::Bind, is_bound},
    SpecRule{"choice", Ops::Where, chooses},
    SpecRule{"comparison", kCompare, compares},
    SpecRule{"arithmetic", kAlu, computes},
    SpecRule{"conversion", OpSet{Ops::Cast, Ops::Bitcast}, converts},
    SpecRule{"reduce", Ops::ReduceAxis, is_reduce},
};
constexpr std::array kTensor = {
    SpecRule{"device", Ops::Device, names_device},
    SpecRule{"unique", Ops::Unique, is_unique},
    SpecRule{"buffer", Ops::Buffer, is_buffer},
    SpecRule{"part of a buffer", Ops::BufferView, is_part},
    SpecRule{"view", Ops::View, is_view},
    SpecRule{"movement", kMoves, moves},
    SpecRule{"asked of a tensor", kAsk, keeps_type},
    SpecRule{"copy", Ops::Copy, is_copy},
    SpecRule{"custom", Ops::Custom, is_custom},
    SpecRule{"assign", Ops::Assign, is_assign},
    SpecRule{"kernel", Ops::Kernel, is_kernel},
    SpecRule{"one place", elementwise_ops(), in_one_place},
    SpecRule{"shard", Ops::Multi, is_shard},
    SpecRule{"one of several devices", Ops::MSelect, is_selected},
    SpecRule{"stack of devices", Ops::MStack, is_stack},
    SpecRule{"allreduce", Ops::Allreduce, allreduces},
    SpecRule{"sink", Ops::Sink, is_sink},
    SpecRule{"of kernels", OpSet{Ops::Load, Ops::Store, Ops::Valid, Ops::DefineGlobal}, no_place},
    SpecRule{"image", kAnything, is_image},
    SpecRule{"shape", kAnything, has_shape},
};
constexpr std::array kInKernel = {
    SpecRule{"buffer of a kernel", Ops::DefineGlobal, is_global},
    SpecRule{"load", Ops::Load, loads},
    SpecRule{"store", Ops::Store, stores},
    SpecRule{"valid", Ops::Valid, valid},
    SpecRule{"views at the edges", Ops::View, at_the_edge},
    SpecRule{"root", Ops::Sink, stores_only},
    SpecRule{"of tensors", kMoves | kAsk | OpSet{Ops::Unique, Ops::Device, Ops::Buffer, Ops::BufferView,
        Ops::Copy, Ops::Custom, Ops::Assign, Ops::Kernel, Ops::Multi, Ops::MSelect, Ops::MStack,
        Ops::Allreduce}, no_place},
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
    if (u.op() != Ops::Store) continue;
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
             fmt::format("it has {} axes, what is stored {}", st->rank(), sizes.size()));
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
void SpecRecorder::rewrote(const Rule& rule, const UOp& before, const UOp& after) {
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

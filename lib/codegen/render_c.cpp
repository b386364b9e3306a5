#include "touchstone/codegen/render_c.h"

#include <array>

#include "touchstone/codegen/c_ops.h"
#include "touchstone/codegen/c_preamble.h"
#include "touchstone/codegen/c_renderer.h"
#include "touchstone/codegen/traced.h"

namespace touchstone {

namespace codegen {

namespace {

constexpr std::size_t kInlineLength = 90;  // longer expressions get a name

bool narrows(const LinearStep& u) {
  return u.kind == StepKind::Cast && is_integer(u.dtype) && itemsize(u.dtype) < 4;
}

// True for a select that may be used as a condition.
bool chooses_truth(const LinearStep& u) {
  if (u.kind == StepKind::Alu) return is_bool(u.dtype) && std::get<Op>(u.arg) == Op::Where;
  return u.kind == StepKind::Index && std::get<IndexOp>(u.arg) == IndexOp::Where;
}

}  // namespace

Renderer::Renderer(const LinearKernel& kernel, Dialect dialect, CStyle style)
    : StepReader(kernel),
      dialect_(dialect),
      style_(style),
      math_(dialect == Dialect::C && style != CStyle::Plain ? kernel.math : MathLevel::Library),
      text_(kernel.steps.size()),
      uses_(kernel.steps.size(), 0) {
  std::vector<int> open;
  for (std::size_t i = 0; i < kernel.steps.size(); ++i) {
    const LinearStep& uop = kernel.steps[i];
    for (const int s : uop.src) ++uses_[at(s)];
    if (uop.kind == StepKind::Loop) open.push_back(static_cast<int>(i));
    loop_of_.push_back(open.empty() ? -1 : open.back());
    if (uop.kind == StepKind::EndLoop) open.pop_back();
  }
  find_single_users();
}

void Renderer::begin(std::string_view symbol) {
  if (dialect_ == Dialect::OpenCl) {
    out_ = fmt::format("kernel void {}({}) {{\n", symbol, fmt::join(parameters("global "), ", "));
    return line("const i64 part = get_global_id(0), parts = get_global_size(0);");
  }
  append_all(out_, "void ", symbol,
             "(void* const* bufs, const i64* vars, i64 part, i64 parts) {\n");
  // avoids warnings on unused parameters
  if (style_ != CStyle::Plain) line("(void)bufs; (void)vars; (void)part; (void)parts;");
}

std::string Renderer::run(std::string_view symbol) {
  begin(symbol);
  for (std::size_t i = 0; i < kernel_.steps.size(); ++i) {
    begins_.push_back(out_.size());
    step(static_cast<int>(i));
  }
  begins_.push_back(out_.size());
  out_ += "}\n";
  return std::move(out_);
}

std::vector<int> Renderer::lines(std::string_view text) const {
  std::vector<int> lines(kernel_.steps.size(), -1);
  int line = 0;
  for (std::size_t i = 0, place = 0; i < lines.size(); ++i) {
    for (; place < begins_[i]; ++place) line += text[place] == '\n' ? 1 : 0;
    if (begins_[i + 1] > begins_[i]) lines[i] = line;
  }
  for (std::size_t i = lines.size(); i-- > 0;)
    for (const int s : kernel_.steps[i].src)
      if (const LinearStep& u = uop(s);
          begins_[at(s) + 1] == begins_[at(s)] && u.kind != StepKind::DefineGlobal && lines[i] >= 0)
        lines[at(s)] = lines[i];
  return lines;
}

std::vector<std::string> Renderer::buffers(std::string_view space) const {
  std::vector<std::string> all;
  for (const BufferSpec& b : kernel_.buffers)
    all.push_back(
        joined(space, b.idx == 0 ? "" : "const ", c_memory_type(b.dtype), "* restrict b", b.idx));
  return all;
}

std::vector<std::string> Renderer::parameters(std::string_view space) const {
  std::vector<std::string> all = buffers(space);
  for (const std::string& name : kernel_.variables) all.push_back("const i64 v_" + name);
  return all;
}

std::string Renderer::place(int memory, int index) const {
  return joined(text_[at(memory)].text, "[", text_[at(index)].text, "]");
}

std::string Renderer::fault_place() const { return joined("bufs[", kernel_.places(), "], part"); }

// A value used once, in its own loop, may be inlined.
void Renderer::find_single_users() {
  inline_.assign(kernel_.steps.size(), false);
  for (std::size_t i = 0; i < kernel_.steps.size(); ++i)
    for (const int s : kernel_.steps[i].src)
      inline_[at(s)] = uses_[at(s)] == 1 && loop_of_[at(s)] == loop_of_[i] &&
                       kernel_.steps[i].kind != StepKind::Loop;
}

bool Renderer::stands_inside(int i, const CText& value) const {
  return inline_[at(i)] && value.text.size() <= kInlineLength;
}

void Renderer::name_value(int i, CText value) {
  if (stands_inside(i, value)) {
    text_[at(i)] = std::move(value);
    return;
  }
  line("const ", c_type(dtype(i)), " x", i, " = ", value.text, ";");
  text_[at(i)] = {joined("x", i), true};
}

void Renderer::step(int i) {
  const LinearStep& u = uop(i);
  switch (u.kind) {
    case StepKind::DefineGlobal: return define_global(i);
    case StepKind::DefineVar: return define_var(i);
    case StepKind::DefineAcc: return define_acc(i);
    case StepKind::Const: return constant(i);
    case StepKind::Loop: return open_loop(i);
    case StepKind::EndLoop: --indent_; return line("}");
    case StepKind::Load: return load(i);
    case StepKind::Store: return line(place(u.src[0], u.src[1]), " = ", src(u, 2).text, ";");
    case StepKind::Assign:
      if (u.src.size() == 2) return line(src(u, 0).text, " = ", src(u, 1).text, ";");
      return line(place(u.src[0], u.src[2]), " = ", src(u, 1).text, ";");
    case StepKind::Check: return check(u);
    case StepKind::Prefetch: return prefetch(u);
    case StepKind::LoadAcc: return name_value(i, {place(u.src[0], u.src[1]), true});
    default:
      if (style_ == CStyle::Plain && (chooses_truth(u) || narrows(u))) inline_[at(i)] = false;
      return name_value(i, expression(u));
  }
}

void Renderer::constant(int i) {
  text_[at(i)] = c_constant(std::get<Scalar>(uop(i).arg));
  if (style_ != CStyle::Plain || !is_float(uop(i).dtype) || itemsize(uop(i).dtype) < 4) return;
  inline_[at(i)] = false;
  name_value(i, text_[at(i)]);
}

CText Renderer::expression(const LinearStep& u) const {
  std::array<const CText*, 3> known{};
  for (std::size_t k = 0; k < u.src.size(); ++k) known[k] = &src(u, k);
  const COperands operands(known.data(), u.src.size());
  switch (u.kind) {
    case StepKind::Cast: return c_cast(dtype(u.src[0]), u.dtype, *operands[0]);
    case StepKind::Bitcast: return c_bitcast(dtype(u.src[0]), u.dtype, *operands[0]);
    case StepKind::Index: return c_index(std::get<IndexOp>(u.arg), operands);
    default: return c_alu(u, dtype(u.src.back()), math_, operands);
  }
}

void Renderer::define_global(int i) {
  const LinearStep& u = uop(i);
  const int number = std::get<int>(u.arg);
  // The runner never passes the output's memory as an input.
  if (dialect_ == Dialect::C)
    line(number == 0 ? "" : "const ", c_memory_type(u.dtype), "* restrict b", number, " = bufs[",
         number, "];");
  text_[at(i)] = {joined("b", number), true};
}

void Renderer::define_acc(int i) {
  const LinearStep& u = uop(i);
  const std::string name = joined(u.src.empty() ? "stage" : "acc", i);
  text_[at(i)] = {name, true};
  if (const int* const lanes = std::get_if<int>(&u.arg)) {
    line(c_type(u.dtype), " ", name, "[", *lanes, "];");
    if (!u.src.empty())
      line("for (i64 l = 0; l < ", *lanes, "; ++l) ", name, "[l] = ", src(u, 0).text, ";");
  } else {
    line(c_type(u.dtype), " ", name, " = ", src(u, 0).text, ";");
  }
}

void Renderer::define_var(int i) {
  const std::string& name = std::get<std::string>(uop(i).arg);
  std::size_t place = 0;
  while (kernel_.variables[place] != name) ++place;
  text_[at(i)] = {"v_" + name, true};
  if (dialect_ == Dialect::OpenCl) return;
  line("const i64 v_", name, " = vars[", place, "];");
}

void Renderer::open_loop(int i) {
  const LinearStep& u = uop(i);
  const std::string& name = std::get<std::string>(u.arg);
  const std::string &begin = src(u, 0).text, &end = src(u, 1).text;
  const auto unrolls = [&](int loop) { return uop(loop).src.size() == 3; };
  // Copies of copies would multiply the code.
  bool is_inner = true;
  for (int k = i + 1, depth = 1; depth > 0 && is_inner; ++k) {
    if (uop(k).kind == StepKind::Loop) ++depth, is_inner = !unrolls(k);
    if (uop(k).kind == StepKind::EndLoop) --depth;
  }
  if (unrolls(i) && is_inner && dialect_ == Dialect::C && style_ != CStyle::Plain)
    line("#pragma clang loop unroll_count(", std::get<Scalar>(uop(u.src[2]).arg).to_int64(), ")");
  if (i == kernel_.split)
    line("for (i64 ", name, " = split_at(", end, ", part, parts), ", name, "_end = split_at(", end,
         ", part + 1, parts); ", name, " < ", name, "_end; ++", name, ") {");
  else
    line("for (i64 ", name, " = ", begin, "; ", name, " < ", end, "; ++", name, ") {");
  ++indent_;
  text_[at(i)] = {name, true};
}

// By numeric address, since the line may lie outside the buffer.
void Renderer::prefetch(const LinearStep& u) {
  if (dialect_ == Dialect::OpenCl || style_ == CStyle::Plain) return;
  line("__builtin_prefetch((const void*)((u64)", src(u, 0).text, " + (u64)", src(u, 1).operand(),
       " * ", itemsize(u.dtype), "), 0, ", std::get<int>(u.arg), ");");
}

// Always named: under a `?` the compiler could not hoist it.
void Renderer::load(int i) {
  const LinearStep& u = uop(i);
  std::string text;
  if (u.src.size() == 3) append_all(text, src(u, 2).operand(), " ? ");
  text += loaded(u);
  if (is_bool(u.dtype)) text += " != 0";
  if (u.src.size() == 3) append_all(text, " : ", c_constant(Scalar::from_bits(u.dtype, 0)).text);
  inline_[at(i)] = false;
  name_value(i, {std::move(text), false});
}

void Renderer::check(const LinearStep& u) {
  if (dialect_ == Dialect::OpenCl)
    throw AstError(
        fmt::format("{}: OpenCL kernels do not check the positions of a GATHER; omit \"checked\", "
                    "so that positions outside give 0",
                    kernel_.name));
  const std::string &position = src(u, 0).operand(), &size = src(u, 1).operand();
  line("if (", position, " < 0 || ", position, " >= ", size, ") note_fault(", fault_place(), ", ",
       src(u, 2).text, ", ", position, ", ", size, ");");
}

}  // namespace codegen

using codegen::Dialect;
using codegen::Renderer;

std::string render_c_function(const LinearKernel& kernel, std::string_view symbol, CStyle style) {
  return Renderer(kernel, Dialect::C, style).run(symbol);
}

TracedC render_c_traced(const LinearKernel& kernel, std::string_view symbol) {
  Renderer renderer(kernel);
  std::string text = renderer.run(symbol);
  std::vector<int> lines = renderer.lines(text);
  return {std::move(text), std::move(lines)};
}

std::string render_c(const LinearKernel& kernel, CStyle style) {
  const std::string function = render_c_function(kernel, kernel.name, style);
  return codegen::c_preamble(function) + "\n" + function;
}

std::string render_opencl(const LinearKernel& kernel) {
  const std::string function = Renderer(kernel, Dialect::OpenCl).run(kernel.name);
  return codegen::opencl_literals(codegen::opencl_preamble(function) + "\n" + function);
}

}  // namespace touchstone

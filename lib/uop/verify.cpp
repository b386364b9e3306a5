#include <algorithm>

#include "touchstone/uop/linear_kernel.h"

namespace touchstone {

namespace {

bool gives_value(StepKind kind) {
  return kind != StepKind::EndLoop && kind != StepKind::Store && kind != StepKind::Assign &&
         kind != StepKind::Check && kind != StepKind::Prefetch;
}

// Visits the steps once, keeping the stack of open loops and each step's loop.
class Verifier {
 public:
  explicit Verifier(const LinearKernel& kernel) : kernel_(kernel) {}

  void run() {
    for (at_ = 0; at_ < static_cast<int>(kernel_.steps.size()); ++at_) step();
    if (!open_.empty()) fail(fmt::format("loop %{} never ends", open_.back()));
    const int split = kernel_.split;
    if (split != -1 && (split < 0 || split >= at_ || kind(split) != StepKind::Loop))
      fail(fmt::format("split names %{}, which is not a loop", split));
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    const bool inside = at_ < static_cast<int>(kernel_.steps.size());
    throw AstError(fmt::format("linear kernel {}: %{}{}: {}", kernel_.name, at_,
                               inside ? " = " + str(uop()) : "", what));
  }
  void require(bool holds, std::string_view what) const {
    if (!holds) fail(std::string(what));
  }

  const LinearStep& uop() const { return kernel_.steps[static_cast<std::size_t>(at_)]; }
  StepKind kind(int i) const { return kernel_.steps[static_cast<std::size_t>(i)].kind; }
  DType dtype(int i) const { return kernel_.steps[static_cast<std::size_t>(i)].dtype; }
  int src(std::size_t i) const { return uop().src[i]; }

  void step() {
    for (const int s : uop().src) check_visible(s);
    if (uop().kind != StepKind::LoadAcc && uop().kind != StepKind::Assign)
      for (const int s : uop().src)
        require(!has_lanes(s), "an accumulator with lanes is read by LOAD_ACC only");
    check_kind();
    loop_of_.push_back(open_.empty() ? -1 : open_.back());
    if (uop().kind == StepKind::Loop) {
      open_.push_back(at_);
      loop_of_.back() = at_;
    }
    if (uop().kind == StepKind::EndLoop) open_.pop_back();
  }

  void check_visible(int s) const {
    if (s < 0 || s >= at_) fail(fmt::format("operand %{} does not precede its user", s));
    if (!gives_value(kind(s))) fail(fmt::format("operand %{} has no value", s));
    const int loop = loop_of_[static_cast<std::size_t>(s)];
    if (loop != -1 && std::find(open_.begin(), open_.end(), loop) == open_.end())
      fail(fmt::format("operand %{} belongs to loop %{}, which has ended", s, loop));
  }

  void operands(std::size_t least, std::size_t most) const {
    const std::size_t n = uop().src.size();
    if (n < least || n > most) fail(fmt::format("{} operands, expected {} to {}", n, least, most));
  }
  void index_operand(std::size_t i) const {
    require(dtype(src(i)) == DType::Int64, "an index operand must be int64");
  }
  template <class T>
  const T& arg() const {
    const T* a = std::get_if<T>(&uop().arg);
    if (a == nullptr) fail("the argument is of the wrong type");
    return *a;
  }

  void check_kind() {
    switch (uop().kind) {
      case StepKind::DefineGlobal:
      case StepKind::DefineVar:
      case StepKind::DefineAcc:
      case StepKind::Const: return check_definition();
      case StepKind::Loop:
      case StepKind::EndLoop: return check_loop();
      case StepKind::LoadAcc:
      case StepKind::Assign: return check_accumulator();
      case StepKind::Prefetch:
        operands(2, 2);
        require(kind(src(0)) == StepKind::DefineGlobal, "the first operand must be a buffer");
        require(arg<int>() == 2 || arg<int>() == 3, "the level of caches must be 2 or 3");
        return index_operand(1);
      case StepKind::Load:
      case StepKind::Store: return check_memory();
      case StepKind::Alu: return check_alu();
      case StepKind::Index:
        operands(static_cast<std::size_t>(info(arg<IndexOp>()).arity),
                 static_cast<std::size_t>(info(arg<IndexOp>()).arity));
        require(uop().dtype == DType::Int64, "index arithmetic must be int64");
        for (std::size_t i = 0; i < uop().src.size(); ++i) index_operand(i);
        return;
      case StepKind::Check:
        operands(3, 3);
        for (std::size_t i = 0; i < 3; ++i) index_operand(i);
        return;
      case StepKind::Cast: return operands(1, 1);
      case StepKind::Bitcast:
        operands(1, 1);
        return require(itemsize(uop().dtype) == itemsize(dtype(src(0))),
                       "a bitcast must keep the size");
    }
  }

  void check_definition() const {
    if (uop().kind == StepKind::DefineGlobal) {
      operands(0, 0);
      const int number = arg<int>();
      const auto spec = std::find_if(kernel_.buffers.begin(), kernel_.buffers.end(),
                                     [&](const BufferSpec& b) { return b.idx == number; });
      require(spec != kernel_.buffers.end(), "the kernel declares no such buffer");
      require(spec->dtype == uop().dtype, "the buffer is of another dtype");
    } else if (uop().kind == StepKind::DefineVar) {
      operands(0, 0);
      require(std::find(kernel_.variables.begin(), kernel_.variables.end(), arg<std::string>()) !=
                  kernel_.variables.end(),
              "the kernel declares no such variable");
      require(uop().dtype == DType::Int64, "a variable must be int64");
    } else if (uop().kind == StepKind::DefineAcc) {
      const bool lanes = std::holds_alternative<int>(uop().arg);
      operands(lanes ? 0 : 1, 1);
      if (!uop().src.empty())
        require(dtype(src(0)) == uop().dtype, "the initial value is of another dtype");
      if (lanes) require(arg<int>() > 0, "an accumulator must have at least one lane");
    } else {
      operands(0, 0);
      require(arg<Scalar>().dtype() == uop().dtype, "the constant is of another dtype");
    }
  }

  void check_loop() const {
    if (uop().kind == StepKind::Loop) {
      operands(2, 3);
      arg<std::string>();
      require(uop().dtype == DType::Int64, "a loop counter must be int64");
      for (std::size_t i = 0; i < uop().src.size(); ++i) index_operand(i);
      if (uop().src.size() == 3)
        require(kind(src(2)) == StepKind::Const, "the terms per iteration must be a constant");
    } else {
      operands(1, 1);
      require(!open_.empty() && open_.back() == src(0), "does not end the innermost open loop");
    }
  }

  bool has_lanes(int i) const {
    return kind(i) == StepKind::DefineAcc &&
           std::holds_alternative<int>(kernel_.steps[static_cast<std::size_t>(i)].arg);
  }

  void check_accumulator() const {
    const bool load = uop().kind == StepKind::LoadAcc;
    operands(2, load ? 2 : 3);
    require(kind(src(0)) == StepKind::DefineAcc, "the first operand must be an accumulator");
    require(dtype(src(0)) == uop().dtype, "the accumulator is of another dtype");
    const bool lane = load || uop().src.size() == 3;
    require(lane == has_lanes(src(0)),
            "a lane is required for an accumulator with lanes, and only there");
    if (lane) index_operand(load ? 1 : 2);
    if (!load) require(dtype(src(1)) == uop().dtype, "the value is of another dtype");
  }

  void check_memory() {
    const bool load = uop().kind == StepKind::Load;
    operands(load ? 2 : 3, 3);
    require(kind(src(0)) == StepKind::DefineGlobal, "the first operand must be a buffer");
    require(dtype(src(0)) == uop().dtype, "the buffer is of another dtype");
    const int number = std::get<int>(kernel_.steps[static_cast<std::size_t>(src(0))].arg);
    require(load || number == 0, "only buffer 0 may be written");
    require(!load || number != 0 || stored_,
            "only elements of buffer 0 that were written may be read");
    stored_ = stored_ || !load;
    index_operand(1);
    if (load && uop().src.size() == 3) index_operand(2);
    if (!load) require(dtype(src(2)) == uop().dtype, "the value is of another dtype");
  }

  void check_alu() const {
    const Op op = arg<Op>();
    require(is_pointwise(op) && op != Op::Cast, "not an elementwise op");
    const auto arity =
        static_cast<std::size_t>(op == Op::Function ? info(uop().function).arity : info(op).arity);
    operands(arity, arity);
    const bool compare = op == Op::CmpLt || op == Op::CmpEq;
    const std::size_t first = op == Op::Where ? 1 : 0;
    const DType type = dtype(src(first));
    for (std::size_t i = first; i < arity; ++i)
      require(dtype(src(i)) == type, "operands of different dtypes");
    if (op == Op::Where) require(is_bool(dtype(src(0))), "the condition must be bool");
    require(takes(op, type), "the op does not take this dtype");
    require(uop().dtype == (compare ? DType::Bool : type), "the result is of the wrong dtype");
  }

  const LinearKernel& kernel_;
  int at_ = 0;
  bool stored_ = false;       // an earlier step stores
  std::vector<int> open_;     // loops not ended yet
  std::vector<int> loop_of_;  // by step: its innermost loop, -1 for none
};

}  // namespace

void verify(const LinearKernel& kernel) { Verifier(kernel).run(); }

}  // namespace touchstone

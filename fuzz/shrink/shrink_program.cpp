#include <algorithm>
#include <optional>
#include <utility>

#include "touchstone/base/error.h"
#include "touchstone/fuzz/cases/program.h"

namespace touchstone::fuzz {

namespace {

using Sizes = std::vector<std::int64_t>;

// Removes unread statements; nullopt if the rest does not fit.
std::optional<std::string> cleaned(const TensorProgram& p) {
  std::vector<bool> used(p.steps.size(), false);
  used.back() = true;
  for (std::size_t i = p.steps.size(); i-- > 0;)
    if (used[i])
      for (const int o : p.steps[i].of) used[static_cast<std::size_t>(o)] = true;
  TensorProgram out;
  std::vector<int> now(p.steps.size(), -1);
  for (std::size_t i = 0; i < p.steps.size(); ++i) {
    if (!used[i]) continue;
    ProgramStep s = p.steps[i];
    for (int& o : s.of) o = now[static_cast<std::size_t>(o)];
    now[i] = static_cast<int>(out.steps.size());
    out.steps.push_back(std::move(s));
  }
  try {
    (void)out.types();
    return out.str();
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Adjusts statements to changed ones before them: movement by `mend`, inputs to the shapes they are
// combined with. False if that fails.
bool mend_program(TensorProgram& p) {
  for (std::size_t tries = 0; tries <= p.steps.size(); ++tries) {
    std::vector<ProgramType> types;
    bool again = false;
    for (ProgramStep& s : p.steps) {
      if (!s.leaf() && s.of.size() > 1 && s.name != "matmul" && s.name != "gather") {
        const auto shape_of = [&](int o) -> const Sizes& {
          return types[static_cast<std::size_t>(o)].shape;
        };
        const auto inner = std::ranges::find_if(
            s.of, [&](int o) { return !p.steps[static_cast<std::size_t>(o)].leaf(); });
        const Sizes wanted = shape_of(inner == s.of.end() ? s.of[0] : *inner);
        for (const int o : s.of) {
          ProgramStep& operand = p.steps[static_cast<std::size_t>(o)];
          if (shape_of(o) == wanted || !operand.leaf()) continue;
          operand.shape = wanted;
          again = true;
        }
        if (again) break;
      }
      try {
        if (is_movement(s.name)) {
          const Sizes& x = types[static_cast<std::size_t>(s.of[0])].shape;
          (void)mend(Shape(x.begin(), x.end()), s.movement);
        }
        types.push_back(type_of(s, types));
      } catch (const Error&) {
        return false;
      }
    }
    if (!again) return true;
  }
  return false;
}

class SmallerProgram {
 public:
  SmallerProgram(const TensorProgram& p, const ProgramKind& kind)
      : program_(p), types_(p.types()), one_type_(kind.gradients) {}

  std::vector<std::string> all() {
    for (std::size_t i = 0; i + 1 < program_.steps.size(); ++i)
      with([&](TensorProgram& p) { p.steps.resize(i + 1); });
    for (std::size_t i = program_.steps.size(); i-- > 0;) statement(i);
    sizes();
    axes();
    if (!one_type_) dtypes();
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      if (program_.steps[i].leaf()) input(i);
      if (is_movement(program_.steps[i].name)) numbers(i);
    }
    return std::move(out_);
  }

 private:
  void emit(TensorProgram p) {
    if (!mend_program(p)) return;
    if (auto text = cleaned(p)) out_.push_back(std::move(*text));
  }

  template <class Change>
  void with(const Change& change) {
    TensorProgram p = program_;
    change(p);
    emit(std::move(p));
  }

  void statement(std::size_t i) {
    const ProgramStep& s = program_.steps[i];
    if (s.leaf()) return;
    for (const int o : s.of)  // replace it by an operand
      with([&](TensorProgram& p) {
        if (i + 1 == p.steps.size()) p.steps.resize(static_cast<std::size_t>(o) + 1);
        for (ProgramStep& later : p.steps) std::ranges::replace(later.of, static_cast<int>(i), o);
      });
    for (const char* value : {"0", "1"})  // or by an input
      with([&](TensorProgram& p) {
        p.steps[i] = {"input", {}, "", {}, types_[i].dtype, types_[i].shape, {value}};
      });
  }

  // Decreases one size everywhere.
  void sizes() {
    std::vector<std::int64_t> known;
    for (const ProgramType& t : types_)
      for (const std::int64_t size : t.shape)
        if (size > 0 && std::ranges::find(known, size) == known.end()) known.push_back(size);
    for (const std::int64_t size : known)
      for (const std::int64_t to : {std::int64_t{1}, size / 2, size - 1}) {
        if (to >= size) continue;
        with([&](TensorProgram& p) {
          for (ProgramStep& s : p.steps) {
            std::ranges::replace(s.shape, size, to);
            std::ranges::replace(s.movement.shape, sint(size), sint(to));
            if (s.movement.kind == MovementOp::Kind::Shrink)
              for (auto& [begin, end] : s.movement.ends)
                if (end == sint(size)) end = to;
          }
        });
      }
  }

  // Drops one axis of all inputs.
  void axes() {
    for (std::size_t axis = 0; axis < 4; ++axis)
      with([&](TensorProgram& p) {
        for (ProgramStep& s : p.steps) drop(s.shape, axis);
      });
  }

  // Replaces a type by a plainer one everywhere.
  void dtypes() {
    for (const DTypeInfo& from : dtype_table)
      for (const DType to : {DType::Float32, DType::Int32}) {
        TensorProgram p = program_;
        bool any = false;
        for (ProgramStep& s : p.steps) {
          if (s.leaf() && s.dtype == from.dtype) {
            s.dtype = to;
            s.values = {"1"};
            any = true;
          }
          if (s.word == from.name) s.word = touchstone::name(to), any = true;
        }
        if (any) emit(p);
      }
  }

  void numbers(std::size_t i) {
    for (MovementOp& op : simpler(program_.steps[i].movement))
      with([&](TensorProgram& p) { p.steps[i].movement = std::move(op); });
  }

  void input(std::size_t i) {
    const Sizes& shape = program_.steps[i].shape;
    for (std::size_t k = 0; k < shape.size(); ++k)
      for (const std::int64_t to : {std::int64_t{1}, shape[k] / 2, shape[k] - 1})
        if (to >= 0 && to < shape[k]) with([&](TensorProgram& p) { p.steps[i].shape[k] = to; });
    const std::vector<std::string>& values = program_.steps[i].values;
    for (const char* v : {"0", "1"}) with([&](TensorProgram& p) { p.steps[i].values = {v}; });
    for (const std::string& v : values)
      if (values.size() > 1) with([&](TensorProgram& p) { p.steps[i].values = {v}; });
    for (std::size_t k = 0; k < values.size(); ++k)
      for (const char* to : {"0", "1"}) with([&](TensorProgram& p) { p.steps[i].values[k] = to; });
  }

  const TensorProgram& program_;
  std::vector<ProgramType> types_;
  bool one_type_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> smaller_programs(const TensorProgram& program, const ProgramKind& kind) {
  return SmallerProgram(program, kind).all();
}

}  // namespace touchstone::fuzz

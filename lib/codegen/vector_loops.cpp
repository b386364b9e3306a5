#include "touchstone/codegen/vector_loops.h"

#include <algorithm>
#include <optional>

#include "touchstone/codegen/c_functions.h"
#include "touchstone/uop/step_reader.h"

namespace touchstone::codegen {

namespace {

// Per loop, since each vector is separate text.
constexpr std::int64_t kMostVectors = 8;
constexpr int kMostBounds = 8;  // per mask

// With fewer lanes maxima are scalar: a vector maximum takes many steps.
constexpr std::int64_t kLeastOfMaxima = 8;

bool is_vector_op(Op op, std::int64_t lanes) {
  return op == Op::Add || op == Op::Sub || op == Op::Mul || op == Op::Div || op == Op::Neg ||
         op == Op::MulAcc || (op == Op::Max && lanes >= kLeastOfMaxima);
}

class Finder : StepReader {
 public:
  using StepReader::StepReader;

  VectorLoops find() {
    for (int i = 0; i < count(); ++i) {
      if (uop(i).kind != StepKind::Loop) continue;
      const int end = end_of_innermost(i);
      if (end >= 0) add_loop(i, end);
    }
    add_accumulators();
    add_choices();
    return std::move(found_);
  }

 private:
  // The end of a loop that contains no other; otherwise -1.
  int end_of_innermost(int loop) const {
    for (int i = loop + 1;; ++i) {
      if (uop(i).kind == StepKind::Loop) return -1;
      if (uop(i).kind == StepKind::EndLoop) return i;
    }
  }

  void add_loop(int loop, int end) {
    const std::optional<std::int64_t> lanes = turns(loop);
    if (loop == kernel_.split || uop(loop).src.size() != 2 || !lanes || *lanes < 2) return;
    now_ = {{loop, LaneValue::Index}};
    lanes_ = *lanes;
    type_.reset();
    for (int i = loop + 1; i < end; ++i) {
      const std::optional<LaneValue> kind = kind_of(i);
      if (!kind || (*kind == LaneValue::Vector && !has_the_type(uop(i).dtype))) return;
      now_[i] = *kind;
    }
    now_[end] = LaneValue::Same;
    if (!type_ || !writes_apart(loop, end)) return;
    if (!are_few(*lanes, *type_)) return;
    found_.loops[loop] = {*lanes, *type_};
    found_.steps.merge(now_);
  }

  static bool are_few(std::int64_t lanes, DType type) {
    return static_cast<std::int64_t>(vector_widths(lanes, type).size()) <= kMostVectors;
  }

  bool has_the_type(DType type) {
    if (type != DType::Float32 && type != DType::Float64) return false;
    if (!type_) type_ = type;
    return *type_ == type;
  }

  LaneValue of(int i) const {
    const auto known = now_.find(i);
    return known == now_.end() ? LaneValue::Same : known->second;
  }
  bool same(int i) const { return of(i) == LaneValue::Same; }
  bool has_lanes(int accumulator) const {
    return std::holds_alternative<int>(uop(accumulator).arg);
  }

  // nullopt if it cannot be vectorized.
  std::optional<LaneValue> kind_of(int i) const {
    const LinearStep& u = uop(i);
    const auto is_element = [&](int s) { return same(s) || of(s) == LaneValue::Vector; };
    switch (u.kind) {
      case StepKind::Load:
        // The counter of two lanes may itself be the mask, 0 and 1.
        if (u.src.size() == 3 && !same(u.src[2]) &&
            (of(u.src[2]) != LaneValue::Mask ||
             (of(u.src[1]) != LaneValue::Index && of(u.src[1]) != LaneValue::Twice)))
          return std::nullopt;
        return of(u.src[1]) == LaneValue::Twice ? LaneValue::Vector : place(u.src[1]);
      case StepKind::LoadAcc: return place(u.src[1]);
      case StepKind::Store:
        return place(u.src[1]) == LaneValue::Vector && is_element(u.src[2])
                   ? std::optional(LaneValue::Vector)
                   : std::nullopt;
      case StepKind::Assign:
        return u.src.size() == 3 && place(u.src[2]) == LaneValue::Vector && is_element(u.src[1])
                   ? std::optional(LaneValue::Vector)
                   : std::nullopt;
      case StepKind::Alu:
        if (std::ranges::all_of(u.src, [&](int s) { return same(s); })) return LaneValue::Same;
        return is_choice_by_mask(u) || (is_vector_op(std::get<Op>(u.arg), lanes_) &&
                                        std::ranges::all_of(u.src, is_element))
                   ? std::optional(LaneValue::Vector)
                   : std::nullopt;
      case StepKind::Index: {
        if (std::ranges::all_of(u.src, [&](int s) { return same(s); })) return LaneValue::Same;
        const IndexOp op = std::get<IndexOp>(u.arg);
        const LaneValue left = of(u.src[0]), right = of(u.src[1]);
        if ((op == IndexOp::Add || op == IndexOp::Sub) && grows(left) && same(u.src[1]))
          return left;
        if (op == IndexOp::Add && same(u.src[0]) && grows(right)) return right;
        if (op == IndexOp::Mul && left == LaneValue::Index && number(u.src[1]) == 2)
          return LaneValue::Twice;
        return is_mask(i) ? std::optional(LaneValue::Mask) : std::nullopt;
      }
      case StepKind::Const: return LaneValue::Same;
      case StepKind::Cast:
        if (u.dtype == DType::Bool && of(u.src[0]) == LaneValue::Mask) return LaneValue::Mask;
        [[fallthrough]];
      case StepKind::Bitcast: return same(u.src[0]) ? std::optional(LaneValue::Same) : std::nullopt;
      case StepKind::DefineGlobal:
      case StepKind::DefineVar: return LaneValue::Same;
      case StepKind::DefineAcc:
      case StepKind::Loop:
      case StepKind::EndLoop:
      case StepKind::Check:
      case StepKind::Prefetch: break;
    }
    return std::nullopt;
  }

  static bool grows(LaneValue value) {
    return value == LaneValue::Index || value == LaneValue::Twice;
  }

  // True for a value selected where a load's mask is false.
  bool is_choice_by_mask(const LinearStep& u) const {
    if (std::get<Op>(u.arg) != Op::Where || of(u.src[1]) != LaneValue::Vector || !same(u.src[2]))
      return false;
    const LinearStep &condition = uop(u.src[0]), &load = uop(u.src[1]);
    const int mask = condition.kind == StepKind::Cast ? condition.src[0] : u.src[0];
    return load.kind == StepKind::Load && load.src.size() == 3 && load.src[2] == mask;
  }

  // The role of a value at this index.
  std::optional<LaneValue> place(int index) const {
    switch (of(index)) {
      case LaneValue::Same: return LaneValue::Same;
      case LaneValue::Index: return LaneValue::Vector;
      case LaneValue::Twice:
      case LaneValue::Mask:
      case LaneValue::Vector: break;
    }
    return std::nullopt;
  }

  // A bound on an index, or several: if it holds for the end lanes of a range, it holds in between.
  bool is_mask(int i) const {
    const LinearStep& u = uop(i);
    const IndexOp op = std::get<IndexOp>(u.arg);
    if (op == IndexOp::Lt || op == IndexOp::Le)
      return std::ranges::all_of(u.src, [&](int s) { return same(s) || grows(of(s)); });
    return op == IndexOp::And && bounds_of(i) <= kMostBounds &&
           std::ranges::all_of(u.src, [&](int s) { return same(s) || of(s) == LaneValue::Mask; });
  }
  int bounds_of(int i) const {
    const LinearStep& u = uop(i);
    if (u.kind != StepKind::Index || std::get<IndexOp>(u.arg) != IndexOp::And) return 1;
    int bounds = 0;
    for (const int s : u.src) bounds += same(s) ? 1 : bounds_of(s);
    return bounds;
  }

  // True if every read of a written array reads the element that the same lane writes, or one
  // beyond all that the lanes write, as the half of an accumulator that is folded onto the other;
  // and each array has a single write.
  bool writes_apart(int loop, int end) const {
    for (int i = loop + 1; i < end; ++i) {
      if (uop(i).kind != StepKind::Assign) continue;
      for (int k = loop + 1; k < end; ++k) {
        const LinearStep& u = uop(k);
        if (u.kind == StepKind::LoadAcc && u.src[0] == uop(i).src[0] && u.src[1] != uop(i).src[2] &&
            (uop(i).src[2] != loop || beyond(u.src[1], loop).value_or(0) < *turns(loop)))
          return false;
        if (k != i && u.kind == StepKind::Assign && u.src[0] == uop(i).src[0]) return false;
      }
    }
    return true;
  }

  void add_accumulators() {
    for (int i = 0; i < count(); ++i)
      if (uop(i).kind == StepKind::DefineAcc && has_lanes(i) && !uop(i).src.empty())
        found_.accumulators.insert(i);
    for (int i = 0; i < count(); ++i) {
      const auto access = access_of(uop(i));
      if (!access || !found_.accumulators.contains(access->memory)) continue;
      const auto [accumulator, lane, valid, assigns] = *access;
      const auto loop = found_.loops.find(lane);
      const bool whole = loop != found_.loops.end() &&
                         loop->second.lanes == std::get<int>(uop(accumulator).arg) &&
                         loop->second.type == uop(accumulator).dtype;
      if (!whole && assigns) found_.accumulators.erase(accumulator);
      // A vector loop reads all lanes, or memory.
      if (!whole && !assigns && found_.steps.contains(i)) found_.accumulators.erase(accumulator);
      if (!whole && !assigns && !found_.steps.contains(i)) {
        if (uop(lane).kind != StepKind::Loop) found_.accumulators.erase(accumulator);
        found_.read_elsewhere.insert(accumulator);
      }
    }
    std::erase_if(found_.read_elsewhere,
                  [&](int acc) { return !found_.accumulators.contains(acc); });
    for (const auto& [i, value] : found_.steps) {
      const LinearStep& u = uop(i);
      if (value == LaneValue::Vector &&
          (u.kind == StepKind::LoadAcc || u.kind == StepKind::Assign) &&
          !uop(u.src[0]).src.empty() && !found_.accumulators.contains(u.src[0]) &&
          are_few(std::get<int>(uop(u.src[0]).arg), uop(u.src[0]).dtype))
        found_.in_memory.insert(u.src[0]);
    }
  }

  void add_choices() {
    std::set<int> others;  // read by anything else
    for (int i = 0; i < count(); ++i) {
      const LinearStep& u = uop(i);
      const auto known = found_.steps.find(i);
      const bool chooses = known != found_.steps.end() && known->second == LaneValue::Vector &&
                           u.kind == StepKind::Alu && std::get<Op>(u.arg) == Op::Where;
      for (std::size_t s = 0; s < u.src.size(); ++s)
        if (chooses && s == 1)
          found_.in_choices.insert(u.src[s]);
        else
          others.insert(u.src[s]);
    }
    std::erase_if(found_.in_choices, [&](int load) { return others.contains(load); });
  }

  std::map<int, LaneValue> now_;  // of the current loop
  std::optional<DType> type_;
  std::int64_t lanes_ = 0;
  VectorLoops found_;
};

// The value added to a loop's counter outside the loop, if an index is just that sum; -1 if it is
// the counter.
std::optional<int> base_of(const LinearKernel& kernel, int index, int loop) {
  if (index == loop) return -1;
  const LinearStep& u = kernel.steps[static_cast<std::size_t>(index)];
  if (u.kind != StepKind::Index || std::get<IndexOp>(u.arg) != IndexOp::Add) return std::nullopt;
  for (std::size_t s = 0; s < 2; ++s)
    if (u.src[s] == loop && u.src[1 - s] < loop) return u.src[1 - s];
  return std::nullopt;
}

std::vector<Chunks::Stream> streams_of(const LinearKernel& kernel, int loop) {
  const auto elements = [&](int number) {
    return std::ranges::find(kernel.buffers, number, &BufferSpec::idx)->size;
  };
  std::vector<Chunks::Stream> found;
  for (auto i = static_cast<std::size_t>(loop) + 1; kernel.steps[i].kind != StepKind::EndLoop;
       ++i) {
    const LinearStep& u = kernel.steps[i];
    if (u.kind != StepKind::Load) continue;
    const std::optional<int> base = base_of(kernel, u.src[1], loop);
    const int buffer = std::get<int>(kernel.steps[static_cast<std::size_t>(u.src[0])].arg);
    if (!base || elements(buffer) < elements(0)) continue;
    const Chunks::Stream stream{u.src[0], *base};
    if (std::ranges::find(found, stream) == found.end()) found.push_back(stream);
  }
  return found;
}

}  // namespace

bool is_short_near_zero(const LinearStep& u, MathLevel math) {
  const Op* const op = std::get_if<Op>(&u.arg);
  return op != nullptr && *op == Op::Sin && u.dtype == DType::Float32 && math == MathLevel::OneUlp;
}

Chunks chunks_of(const LinearKernel& kernel) {
  constexpr std::int64_t kLeastSines = 16;
  const auto uop = [&](int i) -> const LinearStep& {
    return kernel.steps[static_cast<std::size_t>(i)];
  };
  Chunks found;
  std::vector<int> open;
  for (int i = 0; i < static_cast<int>(kernel.steps.size()); ++i) {
    const LinearStep& u = uop(i);
    if (u.kind == StepKind::Loop) open.push_back(i);
    if (u.kind == StepKind::EndLoop) open.pop_back();
    // An output that is read again goes through the caches.
    if (u.kind == StepKind::Load && std::get<int>(uop(u.src[0]).arg) == 0) return {};
    if (u.kind != StepKind::Store) continue;
    if (found.store != -1 || open.empty()) return {};
    found.loop = open.back();
    found.store = i;
  }
  if (found.store == -1) return {};
  // Recomputing a chunk must have no effect except its elements.
  bool sines = false, traces = false;
  for (int i = found.loop + 1; uop(i).kind != StepKind::EndLoop; ++i) {
    if (uop(i).kind == StepKind::Loop) return {};
    sines = sines || is_short_near_zero(uop(i), kernel.math);
    const Op* const op = std::get_if<Op>(&uop(i).arg);
    found.functions = found.functions || (op != nullptr && is_function(*op));
    traces = traces || uop(i).kind == StepKind::Assign || uop(i).kind == StepKind::Check;
  }
  const auto begin = constant_of(uop(uop(found.loop).src[0])),
             end = constant_of(uop(uop(found.loop).src[1]));
  if (!begin || !end) return {};
  found.bytes = (*end - *begin) * static_cast<std::int64_t>(itemsize(uop(found.store).dtype));
  found.past = kernel.past_cache;
  found.near = sines && !traces && *end - *begin >= kLeastSines;
  const std::optional<int> base = base_of(kernel, uop(found.store).src[1], found.loop);
  if (!base) return {};
  found.base = *base;
  const bool asks_by_tile = std::ranges::any_of(
      kernel.steps, [](const LinearStep& u) { return u.kind == StepKind::Prefetch; });
  if (found.past && !asks_by_tile) found.streams = streams_of(kernel, found.loop);
  return found;
}

VectorLoops vector_loops(const LinearKernel& kernel) { return Finder(kernel).find(); }

std::vector<std::int64_t> vector_widths(std::int64_t lanes, DType type) {
  std::vector<std::int64_t> widths;
  std::int64_t width = kVectorBytes / static_cast<std::int64_t>(itemsize(type));
  while (lanes > 0 && width > 0) {
    for (; lanes >= width; lanes -= width) widths.push_back(width);
    width /= 2;
  }
  return widths;
}

}  // namespace touchstone::codegen

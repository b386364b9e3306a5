#include "touchstone/codegen/turned_copies.h"

#include <optional>
#include <vector>

#include "touchstone/uop/step_reader.h"

namespace touchstone::codegen {

namespace {

class CopyFinder : StepReader {
 public:
  using StepReader::StepReader;

  std::map<int, TurnedCopy> find() const {
    std::map<int, TurnedCopy> found;
    for (int i = 0; i < count(); ++i)
      if (uop(i).kind == StepKind::Loop && i != kernel_.split)
        if (const auto copy = copy_of(i)) found.emplace(i, *copy);
    return found;
  }

 private:
  std::optional<TurnedCopy> copy_of(int lanes) const {
    const std::optional<std::int64_t> width = turns(lanes);
    if (!width || *width < TurnedCopy::kSide) return std::nullopt;
    TurnedCopy copy{.lanes = *width};
    for (int i = lanes + 1;; ++i) {
      const LinearStep& u = uop(i);
      switch (u.kind) {
        case StepKind::Const:
        case StepKind::Index: continue;
        case StepKind::Loop:
          if (copy.terms != 0 || turns(i) != TurnedCopy::kSide) return std::nullopt;
          copy.terms = i;
          continue;
        case StepKind::Load:
          if (copy.terms == 0 || copy.load != 0 || u.src.size() != 2) return std::nullopt;
          copy.load = i;
          continue;
        case StepKind::Assign:
          if (copy.load == 0 || copy.assign != 0 || u.src.size() != 3 || u.src[1] != copy.load)
            return std::nullopt;
          copy.assign = i;
          continue;
        case StepKind::EndLoop:
          if (u.src[0] != lanes) continue;
          return copy.assign != 0 && is_turned(copy, lanes) ? std::optional(copy) : std::nullopt;
        default: return std::nullopt;
      }
    }
  }

  bool is_turned(TurnedCopy& copy, int lanes) const {
    const DType type = uop(copy.load).dtype;
    if (!uop(uop(copy.assign).src[0]).src.empty()) return false;  // not an accumulator
    if (itemsize(type) != 4 || uop(uop(copy.load).src[0]).dtype != type ||
        uop(uop(copy.assign).src[0]).dtype != type)
      return false;
    const int from = uop(copy.load).src[1], to = uop(copy.assign).src[2];
    const auto from_apart = change(from, lanes), to_apart = change(to, copy.terms);
    if (!from_apart || !to_apart || change(from, copy.terms) != 1 || change(to, lanes) != 1)
      return false;
    copy.from_apart = *from_apart;
    copy.to_apart = *to_apart;
    return true;
  }

  // The constant change of an index per iteration of a loop, if it has one.
  std::optional<std::int64_t> change(int index, int loop) const {
    if (index < loop) return 0;
    std::vector<std::optional<std::int64_t>> changes{1};  // of each step from the loop on
    for (int i = loop + 1; i <= index; ++i) {
      const auto of = [&](std::size_t k) {
        const int s = uop(i).src[k];
        return s < loop ? std::optional<std::int64_t>(0)
                        : changes[static_cast<std::size_t>(s - loop)];
      };
      const StepKind kind = uop(i).kind;
      if (kind == StepKind::Const || kind == StepKind::Loop)
        changes.emplace_back(0);
      else if (kind == StepKind::Index && uop(i).src.size() == 2)
        changes.push_back(combined(uop(i), of(0), of(1)));
      else
        changes.emplace_back();
    }
    return changes.back();
  }

  std::optional<std::int64_t> combined(const LinearStep& u, std::optional<std::int64_t> a,
                                       std::optional<std::int64_t> b) const {
    if (!a || !b) return std::nullopt;
    if (*a == 0 && *b == 0) return 0;
    std::int64_t result = 0;
    bool overflows = true;
    switch (std::get<IndexOp>(u.arg)) {
      case IndexOp::Add: overflows = __builtin_add_overflow(*a, *b, &result); break;
      case IndexOp::Sub: overflows = __builtin_sub_overflow(*a, *b, &result); break;
      case IndexOp::Mul:
        if (const auto factor = number(u.src[1]))
          overflows = __builtin_mul_overflow(*a, *factor, &result);
        else if (const auto first = number(u.src[0]))
          overflows = __builtin_mul_overflow(*b, *first, &result);
        break;
      default: break;
    }
    return overflows ? std::nullopt : std::optional(result);
  }
};

}  // namespace

std::map<int, TurnedCopy> turned_copies(const LinearKernel& kernel) {
  return CopyFinder(kernel).find();
}

}  // namespace touchstone::codegen

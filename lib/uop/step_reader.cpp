#include "touchstone/uop/step_reader.h"

namespace touchstone {

std::optional<StepAccess> access_of(const LinearStep& step) {
  const Operands& src = step.src;
  switch (step.kind) {
    case StepKind::Load: return StepAccess{src[0], src[1], src.size() == 3 ? src[2] : -1};
    case StepKind::LoadAcc: return StepAccess{src[0], src[1]};
    case StepKind::Store: return StepAccess{src[0], src[1], -1, true};
    case StepKind::Assign:
      if (src.size() == 3) return StepAccess{src[0], src[2], -1, true};
      return std::nullopt;
    default: return std::nullopt;
  }
}

std::optional<std::int64_t> StepReader::turns(int loop) const {
  const LinearStep& u = uop(loop);
  if (u.kind != StepKind::Loop || number(u.src[0]) != 0) return std::nullopt;
  return number(u.src[1]);
}

int StepReader::end_of(int loop) const {
  int i = loop;
  while (uop(i).kind != StepKind::EndLoop || uop(i).src[0] != loop) ++i;
  return i;
}

std::optional<std::int64_t> StepReader::beyond(int index, int loop) const {
  if (index == loop) return 0;
  const LinearStep& u = uop(index);
  const auto* const op = std::get_if<IndexOp>(&u.arg);
  if (op == nullptr || *op != IndexOp::Add || u.src[0] != loop) return std::nullopt;
  return number(u.src[1]);
}

LinearStep StepWriter::renumbered(int i) const {
  LinearStep step = uop(i);
  for (int& s : step.src) s = now_[at(s)];
  return step;
}

LinearKernel StepWriter::finish() {
  LinearKernel kernel = kernel_;
  kernel.steps = std::move(made_);
  if (kernel.split != -1) kernel.split = now_[at(kernel.split)];
  return kernel;
}

}  // namespace touchstone

#include "touchstone/uop/linear_step.h"

#include "touchstone/base/hash.h"

namespace touchstone {

namespace {

constexpr std::array<std::string_view, kStepKindCount> kind_names = {
    "DEFINE_GLOBAL", "DEFINE_VAR", "DEFINE_ACC", "CONST",   "LOOP", "ENDLOOP",
    "LOAD",          "STORE",      "ALU",        "INDEX",   "CAST", "BITCAST",
    "LOAD_ACC",      "ASSIGN",     "CHECK",      "PREFETCH"};
static_assert(static_cast<int>(StepKind::Prefetch) + 1 == kStepKindCount,
              "kind_names needs one name per StepKind, in the order of StepKind");

std::uint64_t hash_of(const StepArg& arg) {
  if (const auto* number = std::get_if<int>(&arg)) return static_cast<std::uint64_t>(*number);
  if (const auto* text = std::get_if<std::string>(&arg)) return hash_bytes(*text);
  if (const auto* value = std::get_if<Scalar>(&arg))
    return hash_mix(static_cast<std::uint64_t>(value->dtype()), value->bits());
  if (const auto* op = std::get_if<Op>(&arg)) return static_cast<std::uint64_t>(*op);
  if (const auto* op = std::get_if<IndexOp>(&arg)) return static_cast<std::uint64_t>(*op);
  return 0;
}

std::string arg_text(const StepArg& arg) {
  if (const auto* number = std::get_if<int>(&arg)) return fmt::format(" {}", *number);
  if (const auto* text = std::get_if<std::string>(&arg)) return " " + *text;
  if (const auto* value = std::get_if<Scalar>(&arg)) return " " + value->str();
  return "";
}

}  // namespace

void Operands::push_back(int value) {
  if (count_ == kMost) throw AstError(fmt::format("a step must have at most {} operands", kMost));
  values_[count_++] = value;
}

std::string_view name(StepKind kind) { return kind_names[static_cast<std::size_t>(kind)]; }

std::optional<std::int64_t> constant_of(const LinearStep& step) {
  if (step.kind != StepKind::Const || !is_integer(step.dtype)) return std::nullopt;
  return std::get<Scalar>(step.arg).to_int64();
}

std::uint64_t hash_of(const LinearStep& uop) {
  std::uint64_t h = hash_mix(static_cast<std::uint64_t>(uop.kind),
                             static_cast<std::uint64_t>(uop.dtype) + 64 * uop.arg.index());
  for (const int s : uop.src) h = hash_mix(h, static_cast<std::uint64_t>(s));
  return hash_mix(hash_mix(h, static_cast<std::uint64_t>(uop.function)), hash_of(uop.arg));
}

std::string str(const LinearStep& uop) {
  std::string text(name(uop.kind));
  if (const auto* op = std::get_if<Op>(&uop.arg))
    text = std::string(*op == Op::Function ? info(uop.function).name : name(*op));
  if (const auto* op = std::get_if<IndexOp>(&uop.arg)) text = std::string(info(*op).name);
  text += fmt::format(" {}", info(uop.dtype).short_name);
  for (const int s : uop.src) text += fmt::format(" %{}", s);
  return text + arg_text(uop.arg);
}

}  // namespace touchstone

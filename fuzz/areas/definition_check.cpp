#include <algorithm>
#include <cstring>

#include "touchstone/base/error.h"
#include "touchstone/base/hash.h"
#include "touchstone/define/definitions.h"
#include "touchstone/define/text.h"
#include "touchstone/fuzz/areas/call_check.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/fuzz/definitions/calls.h"
#include "touchstone/fuzz/judge/kernel_case.h"
#include "touchstone/judging/judging.h"

namespace touchstone::fuzz {
namespace {

using defined::Array;
using defined::Near;
using defined::Real;

Scalar scalar_of(DType dtype, Real v) {
  if (is_float(dtype)) return Scalar::from_double(dtype, static_cast<double>(v));
  return Scalar::from_bits(dtype, static_cast<std::uint64_t>(static_cast<defined::Wide>(v)) &
                                      (~std::uint64_t{0} >> (64 - 8 * itemsize(dtype))));
}
Real number_of(const Scalar& x) {
  return x.dtype() == DType::UInt64 ? static_cast<Real>(x.bits())
         : is_float(x.dtype())      ? static_cast<Real>(x.to_double())
                                    : static_cast<Real>(x.to_int64());
}

HostArray stored(DType dtype, const std::vector<Scalar>& values) {
  HostArray out{dtype, {static_cast<std::int64_t>(values.size())}, {}};
  for (const Scalar& v : values) {
    const std::uint64_t bits = v.bits();
    out.bytes.append(reinterpret_cast<const char*>(&bits), itemsize(dtype));
  }
  return out;
}

std::string formula_of(const Call& call) {
  const std::string_view name = std::string_view(call.name).substr(defined::kKernelCall.size());
  const auto omitted = split(call.arg("omit").value_or(""), ',');
  std::vector<std::string> words;
  std::size_t next = 0;
  for (const define::Parameter& p : define::parameters(define::definition(name))) {
    if (const auto value = call.arg(p.name)) {
      const bool is_list = *value == "()" || value->find(',') != value->npos;
      words.push_back(*value == "()" ? p.name + "=[]"
                                     : fmt::format("{}={}{}{}", p.name, is_list ? "[" : "", *value,
                                                   is_list ? "]" : ""));
    } else if (p.is_array && next < call.inputs.size() &&
               std::ranges::find(omitted, p.name) == omitted.end()) {
      const CallInput& x = call.inputs[next++];
      words.push_back(fmt::format("{}=x{}[{}]:{}", p.name, next, fmt::join(x.shape, ","),
                                  touchstone::name(x.dtype)));
    }
  }
  return fmt::format("{}({})", name, fmt::join(words, ", "));
}

// `forms`: as users have it, under each form and with the cause of a FAIL, which is dear.
Verdict judged(const KernelCase& c, const HostArray& output, const Judging& judging, bool forms) {
  const std::vector<BufferPtr> buffers = make_buffers(c, Device::get("FUZZ"));
  std::vector<Buffer*> raw;
  for (const BufferPtr& b : buffers) raw.push_back(b.get());
  buffers[0]->copy_in(std::as_bytes(std::span(output.bytes)));
  return forms ? judge(c.kernel, raw, *buffers[0], judging)
               : judge(c.kernel, raw, *buffers[0], judging.profile);
}

// Another result, farther off than any legal one; nothing if the type has none.
std::optional<Scalar> changed(DType dtype, const Scalar& stored, const Near& right) {
  constexpr Real kFar = 64;
  if (is_bool(dtype)) return scalar_of(dtype, 1 - right.v);
  if (!is_float(dtype)) return scalar_of(dtype, right.v == 1 ? 2 : 1);
  if (!std::isfinite(right.v) || right.v == 0) return scalar_of(dtype, 1 + kFar * right.e);
  const Real away = right.exact() ? std::fabs(right.v) * std::ldexp(Real{1}, 1 - info(dtype).digits)
                                  : kFar * right.e;
  const Scalar other = scalar_of(dtype, right.v + away);
  if (!std::isfinite(other.to_double()) || other == stored) return std::nullopt;
  return other;
}

Checked compared(const Call& call, const Array& wanted, std::uint64_t hash, Effort effort) {
  const std::string text = formula_of(call);
  const auto fail = [&](const char* relation, const std::string& what) {
    return Checked::fail(relation, text + ": " + what);
  };
  const define::Formula formula = define::parse(text);
  if (formula.value.dtype() != wanted.dtype || formula.value.shape() != wanted.shape)
    return fail("form", fmt::format("{} {}, defined as {} [{}]", name(formula.value.dtype()),
                                    define::str(formula.value.shape()), name(wanted.dtype),
                                    fmt::join(wanted.shape, ",")));
  const KernelToJudge made = formula_to_judge(text);
  KernelCase c{made.ast, {}};
  for (const CallInput& x : call.inputs) {
    std::vector<Scalar> values;
    for (std::int64_t i = 0, n = x.size(); i < n; ++i) values.push_back(x.at(i));
    c.inputs.push_back(stored(x.dtype, values));
    c.inputs.back().shape = x.shape;
  }
  const HostArray answer = answer_of(c, Device::get("FUZZ"));
  if (answer.size() != wanted.size()) return fail("form", "another number of elements");
  std::vector<Scalar> best;
  for (std::size_t i = 0; i < wanted.cells.size(); ++i) {
    const Near& right = wanted.cells[i];
    const Scalar got = Scalar::from_bits(answer.dtype, bits_at(answer, i));
    if (!fits(number_of(got), right, wanted.signed_zeros && is_float(wanted.dtype)))
      return fail("value", fmt::format("element {} is {}, defined as {} +- {}", i, got.str(),
                                       static_cast<double>(right.v), static_cast<double>(right.e)));
    // No type is wider than float64; the sign of zeros may be open.
    const bool is_open = std::isinf(right.e) ||
                         (wanted.dtype == DType::Float64 && !right.exact()) ||
                         (right.v == 0 && !wanted.signed_zeros);
    best.push_back(is_open ? got : scalar_of(wanted.dtype, right.v));
  }
  const auto judged_as = [&](bool forms) {
    return judged(c, stored(wanted.dtype, best), made.judging, forms);
  };
  const Checked unchanged{Ending::Pass, {}, {"changed"}};
  const Verdict verdict = judged_as(true);
  if (verdict.outcome == Outcome::Fail) return fail("legal", verdict.str());
  if (verdict.outcome != Outcome::Pass || verdict.weak > 0 || best.empty()) return unchanged;
  const std::size_t at = hash % best.size();
  const Near& right = wanted.cells[at];
  const std::optional<Scalar> other =
      std::isinf(right.e) ? std::nullopt : changed(wanted.dtype, best[at], right);
  if (!other) return unchanged;
  best[at] = *other;
  const Verdict wrong = judged_as(effort == Effort::Full || hash / 64 % 8 == 0);
  if (wrong.outcome == Outcome::Fail) return {};
  // Formulas of named functions may lose digits: sinh of a small number.
  const Real step = std::ldexp(std::fabs(right.v), 1 - info(wanted.dtype).digits);
  const bool is_function =
      function_from_name(call.name.substr(defined::kKernelCall.size())).has_value();
  if (is_function && !right.exact() &&
      std::fabs(number_of(*other) - right.v) <= step * static_cast<Real>(verdict.ulp.largest))
    return unchanged;
  return fail("changed",
              fmt::format("element {} may be {} for {} +- {}: {}", at, other->str(),
                          static_cast<double>(right.v), static_cast<double>(right.e), wrong.str()));
}

}  // namespace

bool is_kernel_call(const Call& call) { return call.name.starts_with(defined::kKernelCall); }

Checked check_definition(const Call& call, const std::string& text, Effort effort) {
  const Array wanted = defined::define(call, defined::inputs_of(call))[0];
  try {
    return compared(call, wanted, hash_bytes(text), effort);
  } catch (const Error& e) {
    return Checked::fail("refused", fmt::format("{}: {}", formula_of(call), e.what()));
  }
}

}  // namespace touchstone::fuzz

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/file.h"
#include "touchstone/base/fp_guard.h"
#include "touchstone/cli/judging/certify_backend.h"
#include "touchstone/cli/program/data_output.h"
#include "touchstone/cli/program/orderly_end.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/device/device.h"
#include "touchstone/interp/certify/certify.h"
#include "touchstone/interp/device/scalar_ops.h"
#include "touchstone/interp/oracle/declared_profile.h"
#include "touchstone/interp/oracle/legal_value.h"

// Compares every output of a device or backend for a function with the correctly rounded one.

namespace touchstone::cli {
namespace {

using interp::order_key;

struct Tally {
  std::uint64_t checked = 0, nearest = 0, next = 0, farther = 0, unclaimed = 0, wrong = 0;
  double largest = 0;  // error, in ULP of the result
  std::uint32_t largest_at = 0, wrong_at = 0;

  void add(const Tally& t) {
    if (t.largest > largest) {
      largest = t.largest;
      largest_at = t.largest_at;
    }
    if (t.wrong > 0 && wrong == 0) wrong_at = t.wrong_at;
    checked += t.checked;
    nearest += t.nearest;
    next += t.next;
    farther += t.farther;
    unclaimed += t.unclaimed;
    wrong += t.wrong;
  }
};

FunctionError declared_error(const Certified& of, const Profile& p) {
  if (!of.op) return p.error_of(of.function);
  return std::array{p.exp2, p.log2, p.sin, p.sqrt, p.recip}[static_cast<std::size_t>(*of.op)];
}

template <class T>
class Check {
 public:
  Check(const Certified& of, const Profile& profile, FunctionError allowed)
      : of_(of), profile_(profile), allowed_(allowed) {}

  Tally run(std::span<const T> inputs, std::span<const T> outputs) const {
    const FpGuard guard;
    Tally tally;
    for (std::size_t i = 0; i < inputs.size(); ++i) one(inputs[i], outputs[i], tally);
    return tally;
  }

 private:
  static double value(T x) { return static_cast<double>(scalar::detail::computing(x)); }
  static std::uint32_t bits(T x) {
    if constexpr (sizeof(T) == 4)
      return std::bit_cast<std::uint32_t>(x);
    else
      return std::bit_cast<std::uint16_t>(x);
  }

  bool is_wave() const {
    return of_.op ? *of_.op == CertifiedOp::Sin : of_.function == NamedFunction::Cos;
  }
  // A named function's error counts in units of float32, before the result is rounded.
  double allowed(double x) const {
    const double most = allowed_.ulp + allowed_.ulp_per_x * std::fabs(x);
    return of_.op || sizeof(T) == 4 ? most : 0.5 + std::ldexp(most, info(dtype_v<T>).digits - 24);
  }
  bool no_claim(T x, double right) const {
    constexpr double kLeast = std::numeric_limits<double>::min();
    const double normal = std::max(std::ldexp(1.0, info(dtype_v<T>).min_exponent), kLeast);
    return (is_wave() && std::fabs(value(x)) > profile_.sin_domain) ||
           (profile_.flushes_outputs && std::fabs(right) < normal);
  }

  void one(T x, T got, Tally& tally) const {
    ++tally.checked;
    const auto [right, exact] = of_.answer(x);
    const bool nan = std::isnan(value(right));
    if (no_claim(x, value(right))) {
      ++tally.unclaimed;
      return;
    }
    if (nan || std::isnan(value(got))) return count(nan == std::isnan(value(got)), x, tally);
    const std::int64_t steps = std::abs(order_key(got) - order_key(right));
    if (!std::isfinite(value(right)) || !std::isfinite(value(got)) || exact == 0) {
      count(steps == 0, x, tally);
      return;
    }
    constexpr DTypeInfo kInfo = info(dtype_v<T>);
    const int exponent = std::max(std::ilogb(exact), kInfo.min_exponent);
    const double error =
        std::fabs(value(got) - exact) / std::ldexp(1.0, exponent - kInfo.digits + 1);
    if (error > tally.largest) {
      tally.largest = error;
      tally.largest_at = bits(x);
    }
    ++(steps == 0 ? tally.nearest : steps == 1 ? tally.next : tally.farther);
    // The nearest is within half a ULP, whatever was declared.
    if (steps > 0 && error > allowed(value(x))) mark_wrong(x, tally);
  }

  void count(bool right, T x, Tally& tally) const {
    if (right)
      ++tally.nearest;
    else
      mark_wrong(x, tally);
  }
  static void mark_wrong(T x, Tally& tally) {
    if (tally.wrong++ == 0) tally.wrong_at = bits(x);
  }

  const Certified& of_;
  const Profile& profile_;
  FunctionError allowed_;
};

// Runs a kernel of one input, from bytes to bytes.
using RunBlock = std::function<std::string(std::string_view inputs)>;

RunBlock on_device(Device& device, const LazyOpPtr& kernel, DType dtype) {
  return [&device, kernel, dtype](std::string_view inputs) {
    const auto count = static_cast<std::int64_t>(inputs.size() / itemsize(dtype));
    Buffer in(device, dtype, count), out(device, dtype, count);
    in.copy_in(std::as_bytes(std::span(inputs)));
    Buffer* const both[] = {&out, &in};
    run_kernel(device, kernel, both);
    std::string outputs(inputs.size(), '\0');
    out.copy_out(std::as_writable_bytes(std::span(outputs)));
    return outputs;
  };
}

// One run of the kernel, whose outputs several threads check.
template <class T>
Tally check_block(const RunBlock& run, const Check<T>& check, std::uint64_t first,
                  std::uint64_t count, int threads) {
  std::vector<T> inputs(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    if constexpr (sizeof(T) == 4)
      inputs[i] = std::bit_cast<T>(static_cast<std::uint32_t>(first + i));
    else
      inputs[i] = std::bit_cast<T>(static_cast<std::uint16_t>(first + i));
  }
  std::vector<T> outputs(count);
  const std::string answer = run({reinterpret_cast<const char*>(inputs.data()), count * sizeof(T)});
  std::memcpy(outputs.data(), answer.data(), count * sizeof(T));
  return add_in_threads(Tally(), count, threads, [&](std::size_t begin, std::size_t size) {
    return check.run(std::span<const T>(inputs).subspan(begin, size),
                     std::span<const T>(outputs).subspan(begin, size));
  });
}

struct Blocks {
  std::span<const std::uint64_t> wanted;
  std::uint64_t inputs;  // per block
};

template <class T>
Tally check_all(const RunBlock& run, const Check<T>& check, const Blocks& blocks, int threads,
                Progress& progress) {
  Tally all;
  std::int64_t done = 0;
  for (const std::uint64_t b : blocks.wanted) {
    if (OrderlyEnd::wanted()) break;
    all.add(check_block(run, check, b * blocks.inputs, blocks.inputs, threads));
    progress.update(++done * static_cast<std::int64_t>(blocks.inputs) / 1'000'000);
  }
  return all;
}

nlohmann::ordered_json record_of(const std::string& whose, const Certified& of, DType dtype,
                                 const Tally& t, const std::string& profile, double ulp) {
  const auto hex = [](std::uint32_t bits) { return fmt::format("{:x}", bits); };
  nlohmann::ordered_json record = {{"op", of.name()},
                                   {"dtype", name(dtype)},
                                   {"device", whose},
                                   {"profile", nlohmann::ordered_json::parse(profile)},
                                   {"limit_ulp", ulp},
                                   {"checked", t.checked},
                                   {"correctly_rounded", t.nearest},
                                   {"next_to_it", t.next},
                                   {"farther", t.farther},
                                   {"no_claim", t.unclaimed},
                                   {"wrong", t.wrong},
                                   {"largest_error_ulp", t.largest},
                                   {"largest_error_at", hex(t.largest_at)}};
  if (t.wrong > 0) record["first_wrong_at"] = hex(t.wrong_at);
  return record;
}

}  // namespace

int certify_device(const CertifyOptions& o, const Certificate& c, const Certified& of,
                   std::span<const std::uint64_t> blocks, int threads) {
  std::optional<CertifiedBackend> backend;
  if (o.device.empty()) backend.emplace(o.backend);
  const auto size = static_cast<std::int64_t>(c.block_inputs());
  const LazyOpPtr kernel = certified_kernel(of, c.dtype, size);
  const std::string whose = backend ? backend->name() : o.device;
  std::string said =
      backend ? backend->profile().to_json() : Device::get(o.device).runner(kernel)->profile();
  if (said.empty()) said = Profile().to_json();
  const Profile profile = Profile::from_json(said);
  const RunBlock run = backend
                           ? RunBlock([&](std::string_view in) { return backend->run(kernel, in); })
                           : on_device(Device::get(o.device), kernel, c.dtype);
  const FunctionError allowed = o.ulp >= 0 ? FunctionError{o.ulp} : declared_error(of, profile);
  const bool to_output = o.output == "-";
  const std::unique_ptr<DataOutput> data = data_output_if(to_output);
  OrderlyEnd end([] {});
  Tally t;
  {
    Progress progress(fmt::format("{} {} on {}, millions", of.name(), name(c.dtype), whose),
                      static_cast<std::int64_t>(blocks.size()) * size / 1'000'000);
    const Blocks all{blocks, c.block_inputs()};
    const auto check = [&]<class T>(std::type_identity<T>) {
      t = check_all(run, Check<T>(of, profile, allowed), all, threads, progress);
    };
    if (c.dtype == DType::Float32)
      check(std::type_identity<float>());
    else if (c.dtype == DType::Float16)
      check(std::type_identity<float16>());
    else
      check(std::type_identity<bfloat16>());
  }
  fmt::print(
      "{} of {} on {}: {} of {} inputs checked, {} correctly rounded, {} next to it, {} "
      "farther, {} without a claim; largest error {:.4f} ULP at {:x}; {} beyond {:g} ULP{}\n",
      of.name(), name(c.dtype), whose, t.checked, c.inputs(), t.nearest, t.next, t.farther,
      t.unclaimed, t.largest, t.largest_at, t.wrong, allowed.ulp,
      t.wrong > 0 ? fmt::format(", the first at {:x}", t.wrong_at) : "");
  if (backend) backend->print_starts();
  const std::string record = record_of(whose, of, c.dtype, t, said, allowed.ulp).dump(1) + "\n";
  if (data)
    data->write(record);
  else if (!o.output.empty())
    write_file_atomically(o.output, record);
  if (OrderlyEnd::wanted()) end.leave();
  return t.wrong > 0 ? kExitNo : kExitOk;
}

}  // namespace touchstone::cli

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/base/fp_guard.h"
#include "touchstone/cli/judging/certify_backend.h"
#include "touchstone/cli/judging/certify_limits.h"
#include "touchstone/cli/program/data_output.h"
#include "touchstone/cli/program/orderly_end.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"

// Compares a function's outputs for every float32, read from a file or pipe, with documented
// limits. The right answers come from libm in double, with errors of a few units of 2^-53; if one
// is too near a tie to decide, both neighbours count as nearest.

namespace touchstone::cli {
namespace {

using Function = std::function<scalar::Near<double>(double)>;

Function function_named(const std::string& name) {
  if (name == "exp10") return [](double x) { return scalar::Near<double>{::exp10(x), 8}; };
  return [of = parse_certified(name)](double x) { return of.value(x); };
}

// Steps between floats in numeric order; both zeros are one.
std::int64_t place(float x) {
  const auto bits = std::bit_cast<std::int32_t>(x);
  return bits >= 0 ? bits
                   : static_cast<std::int64_t>(std::numeric_limits<std::int32_t>::min()) - bits;
}

// The nearest float32; `other` is the next best if the double is too near their midpoint to decide.
struct Nearest {
  float one, other;
};
Nearest nearest(scalar::Near<double> exact) {
  const auto one = static_cast<float>(exact.value);
  if (!std::isfinite(exact.value)) return {one, one};
  const double d = std::fabs(exact.value) * exact.error * std::numeric_limits<double>::epsilon();
  return {static_cast<float>(exact.value - d), static_cast<float>(exact.value + d)};
}

// The outcome of one limit over its domain.
struct LimitTally {
  std::uint64_t judged = 0, beyond = 0;
  std::uint32_t first_beyond = 0;
  double largest = 0;  // in the limit's own unit
  std::uint32_t largest_at = 0;

  void add(const LimitTally& t) {
    if (t.largest > largest) {
      largest = t.largest;
      largest_at = t.largest_at;
    }
    if (t.beyond > 0 && beyond == 0) first_beyond = t.first_beyond;
    judged += t.judged;
    beyond += t.beyond;
  }
};

struct OutputTally {
  std::uint64_t checked = 0, nearest = 0, next = 0, farther = 0, zero_signs = 0;
  std::vector<LimitTally> limits;

  void add(const OutputTally& t) {
    checked += t.checked;
    nearest += t.nearest;
    next += t.next;
    farther += t.farther;
    zero_signs += t.zero_signs;
    for (std::size_t i = 0; i < limits.size(); ++i) limits[i].add(t.limits[i]);
  }
};

class OutputCheck {
 public:
  OutputCheck(Function f, std::span<const Limit> limits, bool flush)
      : f_(f), limits_(limits), flush_(flush) {}

  OutputTally run(std::uint64_t first, std::span<const float> outputs) const {
    const FpGuard guard;
    OutputTally tally;
    tally.limits.resize(limits_.size());
    for (std::size_t i = 0; i < outputs.size(); ++i)
      one(static_cast<std::uint32_t>(first + i), outputs[i], tally);
    return tally;
  }

 private:
  void one(std::uint32_t bits, float got, OutputTally& tally) const {
    const auto x = std::bit_cast<float>(bits);
    const scalar::Near<double> near = f_(static_cast<double>(x));
    double exact = near.value, steps = steps_from(near, got);
    if (flush_ && std::fpclassify(x) == FP_SUBNORMAL) {  // the operand may be flushed to zero
      const scalar::Near<double> other = f_(std::copysign(0.0, static_cast<double>(x)));
      if (const double s = steps_from(other, got); s < steps) {
        exact = other.value;
        steps = s;
      }
    }
    if (flush_ && got == 0 && std::fabs(exact) < std::numeric_limits<float>::min()) {
      exact = 0;
      steps = 0;
    }
    ++tally.checked;
    ++(steps == 0 ? tally.nearest : steps == 1 ? tally.next : tally.farther);
    if (steps == 0 && got == 0 && exact == 0 && std::signbit(got) != std::signbit(exact))
      ++tally.zero_signs;
    for (std::size_t i = 0; i < limits_.size(); ++i)
      if (limits_[i].holds_for(x))
        take(limits_[i], bits, error_of(limits_[i], exact, got, steps), tally.limits[i]);
  }

  // Representable numbers from the nearest; infinity if exactly one is NaN.
  static double steps_from(scalar::Near<double> exact, float got) {
    if (std::isnan(exact.value) || std::isnan(got))
      return std::isnan(exact.value) && std::isnan(got) ? 0
                                                        : std::numeric_limits<double>::infinity();
    const Nearest right = nearest(exact);
    const std::int64_t at = place(got);
    return static_cast<double>(
        std::min(std::abs(at - place(right.one)), std::abs(at - place(right.other))));
  }

  static double error_of(const Limit& limit, double exact, float got, double steps) {
    if (limit.kind == Limit::Kind::Steps || !std::isfinite(steps)) return steps;
    if (steps == 0 && !(std::isfinite(exact) && std::isfinite(got))) return 0;  // equal
    const double apart = std::fabs(static_cast<double>(got) - exact);
    if (limit.kind == Limit::Kind::Absolute || apart == 0) return apart;
    return apart / std::fabs(exact);
  }

  static void take(const Limit& limit, std::uint32_t bits, double error, LimitTally& tally) {
    const double x = std::bit_cast<float>(bits);
    ++tally.judged;
    if (error > tally.largest) {
      tally.largest = error;
      tally.largest_at = bits;
    }
    if (error > limit.allowed(x) && tally.beyond++ == 0) tally.first_beyond = bits;
  }

  Function f_;
  std::span<const Limit> limits_;
  bool flush_;
};

// Outputs in order of the inputs' bits.
class Floats {
 public:
  virtual ~Floats() = default;
  virtual const std::string& name() const = 0;
  /// For the inputs from `first` on; `at`: how many came before.
  virtual void fill(std::vector<float>& block, std::uint64_t first, std::uint64_t at) = 0;
  virtual bool at_end() { return true; }
};

// Outputs of a backend, a million at a time.
class AskedFloats final : public Floats {
 public:
  explicit AskedFloats(const CertifyOptions& o)
      : of_(parse_certified(o.op)), backend_(o.backend), name_(backend_.name()) {}

  void fill(std::vector<float>& block, std::uint64_t first, std::uint64_t) override {
    constexpr std::size_t kAsked = std::size_t{1} << 20;
    for (std::size_t begin = 0; begin < block.size(); begin += kAsked) {
      const std::size_t count = std::min(kAsked, block.size() - begin);
      std::vector<std::uint32_t> bits(count);
      std::iota(bits.begin(), bits.end(), static_cast<std::uint32_t>(first + begin));
      const LazyOpPtr kernel =
          certified_kernel(of_, DType::Float32, static_cast<std::int64_t>(count));
      const std::string got =
          backend_.run(kernel, {reinterpret_cast<const char*>(bits.data()), count * sizeof(float)});
      std::memcpy(block.data() + begin, got.data(), count * sizeof(float));
    }
  }
  const std::string& name() const override { return name_; }
  const CertifiedBackend& backend() const { return backend_; }

 private:
  Certified of_;
  CertifiedBackend backend_;
  std::string name_;
};

// Outputs from a file of floats or standard input.
class FloatsOfFile final : public Floats {
 public:
  explicit FloatsOfFile(const std::string& path)
      : name_(path == "-" ? "standard input" : path),
        file_(path == "-" ? stdin : std::fopen(path.c_str(), "rb")) {
    if (file_ == nullptr)
      throw SystemError(fmt::format("cannot read {}: {}", name_, std::strerror(errno)));
  }
  ~FloatsOfFile() override {
    if (file_ != stdin) std::fclose(file_);
  }
  FloatsOfFile(const FloatsOfFile&) = delete;
  FloatsOfFile& operator=(const FloatsOfFile&) = delete;

  void fill(std::vector<float>& block, std::uint64_t, std::uint64_t at) override {
    const std::size_t got = std::fread(block.data(), sizeof(float), block.size(), file_);
    if (got != block.size())
      throw ParseError(
          fmt::format("{} ends after {} outputs; it must contain one for every input, in the order "
                      "of the inputs' bits",
                      name_, at + got));
  }
  bool at_end() override { return std::fgetc(file_) == EOF; }
  const std::string& name() const override { return name_; }

 private:
  std::string name_;
  std::FILE* file_;
};

// Reads the next outputs while the previous ones are checked.
OutputTally check_stream(Floats& in, const OutputCheck& check, std::size_t limits,
                         std::uint64_t first, std::uint64_t inputs, int threads,
                         Progress& progress) {
  constexpr std::uint64_t kChunk = std::uint64_t{1} << 24;
  OutputTally sum;
  sum.limits.resize(limits);
  std::vector<float> now, next;
  const auto read = [&](std::uint64_t at) {
    next.resize(std::min(kChunk, inputs - at));
    in.fill(next, first + at, at);
  };
  read(0);
  for (std::uint64_t at = 0; at < inputs && !OrderlyEnd::wanted();) {
    std::swap(now, next);
    const std::uint64_t after = at + now.size();
    std::future<void> reading;
    if (after < inputs) reading = std::async(std::launch::async, read, after);
    sum = add_in_threads(
        std::move(sum), now.size(), threads, [&](std::size_t begin, std::size_t size) {
          return check.run(first + at + begin, std::span(now).subspan(begin, size));
        });
    if (reading.valid()) reading.get();
    at = after;
    progress.update(static_cast<std::int64_t>(at / 1'000'000));
  }
  return sum;
}

nlohmann::ordered_json outputs_json(const std::string& op, const std::string& from,
                                    std::span<const Limit> limits, const OutputTally& t) {
  nlohmann::ordered_json record{{"op", op},
                                {"dtype", "float32"},
                                {"outputs", from},
                                {"checked", t.checked},
                                {"nearest", t.nearest},
                                {"next_to_it", t.next},
                                {"farther", t.farther},
                                {"other_zero", t.zero_signs}};
  record["limits"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const LimitTally& l = t.limits[i];
    nlohmann::ordered_json row{{"limit", limits[i].text},
                               {"judged", l.judged},
                               {"beyond", l.beyond},
                               {"largest_at", fmt::format("{:08x}", l.largest_at)}};
    row["largest"] = std::isfinite(l.largest) ? nlohmann::ordered_json(l.largest) : nullptr;
    if (l.beyond > 0) row["first_beyond_at"] = fmt::format("{:08x}", l.first_beyond);
    record["limits"].push_back(row);
  }
  return record;
}

void print_tally(const std::string& op, std::span<const Limit> limits, const OutputTally& t) {
  fmt::print("{}: {} outputs: {} nearest, {} next to it, {} farther{}\n", op, t.checked, t.nearest,
             t.next, t.farther,
             t.zero_signs == 0 ? "" : fmt::format("; {} zeros of the other sign", t.zero_signs));
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const LimitTally& l = t.limits[i];
    fmt::print("  {}: {}; {} of {} beyond{}; largest {} at {:08x}\n", limits[i].text,
               l.beyond == 0 ? green("holds") : red("violated"), l.beyond, l.judged,
               l.beyond == 0 ? "" : fmt::format(", the first at {:08x}", l.first_beyond),
               limits[i].shown(l.largest), l.largest_at);
  }
}

}  // namespace

int certify_outputs(const CertifyOptions& o, std::uint64_t first, std::uint64_t inputs,
                    int threads) {
  if (o.dtype != "float32" && o.dtype != "f32")
    throw ParseError("certify: outputs that are compared with limits must be float32, not '" +
                     o.dtype.substr(0, 40) + "'");
  const Function f = function_named(o.op);
  std::vector<Limit> limits;
  for (const std::string& text : o.limits) limits.push_back(Limit::parse(text));
  if (limits.empty()) limits.push_back(Limit::parse("steps=0"));
  const bool to_output = o.output == "-";
  const std::unique_ptr<DataOutput> data = data_output_if(to_output);
  const auto asked = o.outputs.empty() ? std::make_unique<AskedFloats>(o) : nullptr;
  const auto file = asked ? nullptr : std::make_unique<FloatsOfFile>(o.outputs);
  Floats& in = asked ? static_cast<Floats&>(*asked) : *file;
  OrderlyEnd end([] {});
  OutputTally tally;
  {
    Progress progress(fmt::format("{} of {}, millions", o.op, in.name()),
                      static_cast<std::int64_t>(inputs / 1'000'000));
    tally = check_stream(in, OutputCheck(f, limits, o.flush), limits.size(), first, inputs, threads,
                         progress);
  }
  if (OrderlyEnd::wanted()) end.leave();
  if (!in.at_end())
    throw ParseError(
        fmt::format("{} contains more than the expected {} outputs; --from and --to select the "
                    "inputs they belong to",
                    in.name(), inputs));
  print_tally(o.op, limits, tally);
  if (asked) asked->backend().print_starts();
  const std::string record = outputs_json(o.op, in.name(), limits, tally).dump(1) + "\n";
  if (data)
    data->write(record);
  else if (!o.output.empty())
    write_file_atomically(o.output, record);
  const bool holds =
      std::ranges::all_of(tally.limits, [](const LimitTally& l) { return l.beyond == 0; });
  return holds ? kExitOk : kExitNo;
}

}  // namespace touchstone::cli

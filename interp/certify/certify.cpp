#include "touchstone/interp/certify/certify.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "touchstone/base/error.h"
#include "touchstone/base/fp_guard.h"
#include "touchstone/base/hash.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/base/suggest.h"
#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

namespace touchstone {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"exp2", "log2", "sin", "sqrt", "recip"};

std::string compiler_name() {
#if defined(__clang__)
  return "clang " __clang_version__;
#elif defined(__GNUC__)
  return "g++ " __VERSION__;
#else
  return "unknown";
#endif
}

std::string libm_name() {
#if defined(__GLIBC__)
  return std::string("glibc ") + gnu_get_libc_version();
#else
  return "unknown";
#endif
}

}  // namespace

std::uint64_t Certificate::inputs() const { return 1ULL << (8 * itemsize(dtype)); }
std::uint64_t Certificate::block_inputs() const { return std::min(inputs(), kBlockInputs); }
std::uint64_t Certificate::mpfr_per_block() const {
  return inputs() <= kBlockInputs ? inputs() : kBlockInputs / kSampleStride;
}
std::size_t Certificate::done() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(blocks, [](const BlockRecord& b) { return b.hash != 0; }));
}
std::uint64_t Certificate::wrong() const {
  std::uint64_t n = 0;
  for (const BlockRecord& b : blocks) n += b.wrong.size();
  return n;
}
std::string Certificate::outputs() const {
  if (!complete()) return {};
  std::string hashes;
  for (const BlockRecord& b : blocks) hashes += fmt::format("{:016x}", b.hash);
  return content_hash(hashes);
}

std::string_view name(CertifiedOp op) { return kNames[static_cast<std::size_t>(op)]; }

CertifiedOp parse_certified_op(std::string_view name) {
  std::string lower(name.substr(0, 40));
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto found = std::ranges::find(kNames, lower);
  if (found != kNames.end()) return static_cast<CertifiedOp>(found - kNames.begin());
  const std::vector<std::string_view> names(kNames.begin(), kNames.end());
  throw ParseError(fmt::format("'{}' cannot be certified{}; known: {}", lower,
                               did_you_mean(lower, names), fmt::join(names, " ")));
}

Certificate empty_certificate(CertifiedOp op, DType dtype, std::string version) {
  if (dtype != DType::Float32 && dtype != DType::Float16 && dtype != DType::BFloat16)
    throw DTypeError(
        fmt::format("{} cannot be certified; use float32, float16 or bfloat16", name(dtype)));
  Certificate c{op, dtype, compiler_name(), libm_name(), std::move(version), {}};
  c.blocks.resize(c.inputs() / c.block_inputs());
  return c;
}

void certify(Certificate& certificate, std::span<const std::uint64_t> blocks, int threads,
             const std::function<bool(const Certificate&)>& again) {
  std::vector<std::uint64_t> left;
  for (const std::uint64_t b : blocks)
    if (certificate.blocks[b].hash == 0) left.push_back(b);
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stop = false;
  std::mutex mutex;  // guards the records and `working`
  std::condition_variable changed;
  int working = threads;
  const auto work = [&] {
    for (std::size_t i = 0; !stop && (i = next++) < left.size();) {
      BlockRecord record = certify_block(certificate.op, certificate.dtype, left[i]);
      const std::lock_guard lock(mutex);
      certificate.blocks[left[i]] = std::move(record);
    }
    const std::lock_guard lock(mutex);
    --working;
    changed.notify_one();
  };
  std::vector<std::jthread> pool;
  for (int i = 0; i < threads; ++i) pool.emplace_back(work);
  std::unique_lock lock(mutex);
  while (working > 0) {
    changed.wait_for(lock, std::chrono::milliseconds(100));
    bool wanted = again(certificate);
    try {
      Interrupt::poll();
    } catch (const Interrupted&) {
      wanted = false;
    }
    if (!wanted) stop = true;
  }
  lock.unlock();
}

void merge(Certificate& into, const Certificate& other) {
  const auto described = [](const Certificate& c) {
    return fmt::format("{} of {} by {}, {}, version {}", name(c.op), name(c.dtype), c.compiler,
                       c.libm, c.version);
  };
  if (described(into) != described(other))
    throw Error(fmt::format("one record is of {}, the other of {}; both must be of the same",
                            described(into), described(other)));
  for (std::size_t b = 0; b < into.blocks.size(); ++b) {
    const BlockRecord& theirs = other.blocks[b];
    BlockRecord& ours = into.blocks[b];
    if (theirs.hash == 0) continue;
    if (ours.hash != 0 && ours.hash != theirs.hash)
      throw Error(fmt::format("the records differ in block {}: outputs hash to {:016x} and {:016x}",
                              b, ours.hash, theirs.hash));
    ours = theirs;
  }
}

}  // namespace touchstone

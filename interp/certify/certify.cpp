#include "touchstone/interp/certify/certify.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/base/fp_guard.h"
#include "touchstone/base/hash.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/base/json_fault.h"
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

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "touchstone-certificate-1";

using Inputs = std::vector<std::uint32_t> BlockRecord::*;
constexpr std::pair<const char*, Inputs> kLists[] = {{"undecided", &BlockRecord::undecided},
                                                     {"disputed", &BlockRecord::disputed},
                                                     {"wrong", &BlockRecord::wrong}};

std::uint64_t hex(const std::string& text, std::string_view what) {
  std::uint64_t bits = 0;
  const char* end = text.data() + text.size();
  const auto [p, ec] = std::from_chars(text.data(), end, bits, 16);
  if (ec != std::errc() || p != end)
    throw ParseError(fmt::format("certificate: {} contains '{}', which is not a hexadecimal number",
                                 what, text.substr(0, 40)));
  return bits;
}

Certificate read(const Json& j) {
  if (j.at("format") != kFormat)
    throw ParseError(fmt::format("not a certificate of format {}", kFormat));
  Certificate c = empty_certificate(parse_certified_op(j.at("op").get<std::string>()),
                                    parse_dtype(j.at("dtype").get<std::string>()),
                                    j.at("version").get<std::string>());
  c.compiler = j.at("compiler").get<std::string>();
  c.libm = j.at("libm").get<std::string>();
  const Json& hashes = j.at("block_hashes");
  if (hashes.size() != c.blocks.size())
    throw ParseError(fmt::format("certificate: {} block hashes, but {} of {} has {} blocks",
                                 hashes.size(), name(c.op), name(c.dtype), c.blocks.size()));
  for (std::size_t b = 0; b < hashes.size(); ++b)
    if (hashes[b] != std::string())
      c.blocks[b].hash = hex(hashes[b].get<std::string>(), "block_hashes");
  for (const auto& [key, list] : kLists)
    for (const Json& item : j.at(key)) {
      const std::uint64_t bits = hex(item.get<std::string>(), key);
      if (bits >= c.inputs())
        throw ParseError(
            fmt::format("certificate: {} contains {:x}, which is not an input", key, bits));
      (c.blocks[bits / c.block_inputs()].*list).push_back(static_cast<std::uint32_t>(bits));
    }
  return c;
}

}  // namespace

std::string to_json(const Certificate& c) {
  Json j;
  j["format"] = kFormat;
  j["op"] = name(c.op);
  j["dtype"] = name(c.dtype);
  j["version"] = c.version;
  j["compiler"] = c.compiler;
  j["libm"] = c.libm;
  j["inputs"] = c.inputs();
  j["checked"] = c.done() * c.block_inputs();
  std::uint64_t undecided = 0;
  for (const BlockRecord& b : c.blocks) undecided += b.undecided.size();
  j["checked_by_mpfr"] =
      c.done() * c.mpfr_per_block() + (c.mpfr_per_block() == c.block_inputs() ? 0 : undecided);
  for (const auto& [key, list] : kLists) {
    j[key] = Json::array();
    for (const BlockRecord& b : c.blocks)
      for (const std::uint32_t bits : b.*list)
        j[key].push_back(fmt::format("{:0{}x}", bits, 2 * itemsize(c.dtype)));
  }
  j["outputs"] = c.outputs();
  j["block_inputs"] = c.block_inputs();
  j["block_hashes"] = Json::array();
  for (const BlockRecord& b : c.blocks)
    j["block_hashes"].push_back(b.hash == 0 ? "" : fmt::format("{:016x}", b.hash));
  return j.dump(1) + "\n";
}

Certificate certificate_from_json(std::string_view text) {
  try {
    return read(Json::parse(text));
  } catch (const nlohmann::json::exception& e) {
    throw ParseError(fmt::format("certificate: {}", json_fault(e.what())));
  } catch (const DTypeError& e) {
    throw ParseError(fmt::format("certificate: {}", e.what()));
  }
}

}  // namespace touchstone

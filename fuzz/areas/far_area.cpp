#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include <fmt/ranges.h>
#include <sys/mman.h>

#include "touchstone/base/error.h"
#include "touchstone/base/hash.h"
#include "touchstone/clang/clang_device.h"
#include "touchstone/fuzz/areas/areas.h"
#include "touchstone/fuzz/areas/relation.h"
#include "touchstone/fuzz/cases/far_case.h"
#include "touchstone/fuzz/engine/last_parsed.h"
#include "touchstone/fuzz/judge/kernel_case.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/tcc/tcc_device.h"

namespace touchstone::fuzz {
namespace {

/// Memory of which a page is allocated when it is first written.
class SparseMemory {
 public:
  explicit SparseMemory(std::size_t bytes)
      : bytes_(bytes),
        memory_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~SparseMemory() {
    if (there()) ::munmap(memory_, bytes_);
  }
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;
  bool there() const { return memory_ != MAP_FAILED; }
  std::byte* data() const { return static_cast<std::byte*>(memory_); }

 private:
  std::size_t bytes_;
  void* memory_;
};

std::unique_ptr<Device> make_far_clang(int opt_level) {
  ClangOptions options = ClangOptions::from_environment();
  options.codegen.contract = false;  // bits are compared
  options.opt_level = opt_level;
  options.threads = 1;
  options.keep = false;
  return make_clang_device("CLANG", options);
}

class FarArea final : public Area {
 public:
  explicit FarArea(Compilers compilers) : compilers_(compilers) {}
  std::string_view name() const override { return "far"; }
  std::string draw(Chooser& chooser) override { return draw_far(chooser); }

  Checked check(const std::string& text, Effort effort) override {
    return check_asked(text, {effort, {}});
  }
  Checked check_for(const std::string& text, std::string_view relation) override {
    return check_asked(text, {Effort::Full, relation});
  }
  std::vector<std::string> smaller(const std::string& text) override {
    return smaller_far(cases_.of(text));
  }
  Measure measure(const std::string& text) override { return measure_of(cases_.of(text)); }
  Extent extent(const std::string& text) override {
    const FarCase& c = cases_.of(text);
    Extent e{std::ssize(c.chain.ops) + (c.program == FarCase::Kernel::Load ? 0 : 1), 0};
    for (const sint& size : c.chain.base) e.dim = std::max(e.dim, size.as_int());
    return e;
  }

 private:
  const Compilers compilers_;
  LastParsed<FarCase> cases_;
  const std::unique_ptr<Device> reference_ = make_interpreted_device("REFERENCE", 1);
  const std::unique_ptr<Device> tcc_ = has_tcc() ? make_tcc_device() : nullptr;
  std::unique_ptr<Device> clang_, optimizing_;

  /// A case whose cells are filled, and its values by definition.
  struct Filled {
    FarArea& area;
    const FarCase& c;
    const SparseMemory& memory;
    const std::vector<std::uint64_t>& right;
    std::uint64_t choices;  // drawn from the text
  };
  static bool compiles(const Filled& f) { return f.area.compilers_ == Compilers::All; }
  static Device& clang_of(std::unique_ptr<Device>& device, int opt_level) {
    if (!device) device = make_far_clang(opt_level);
    return *device;
  }

  Checked check_asked(const std::string& text, const AskedRelations& asked) {
    const FarCase& c = cases_.of(text);
    const std::uint64_t choices = hash_mix(hash_bytes(text), 6);
    const SparseMemory memory(static_cast<std::size_t>(c.elements()) * itemsize(c.dtype));
    if (!memory.there()) return {Ending::Skipped, {}};
    try {
      const std::vector<std::uint64_t> right = c.value();
      fill(c, memory);
      static constexpr Relation<Filled> kRelations[] = {
          {"reference", 1, 0,
           [](Filled& f) { return differs(f, *f.area.reference_, "reference"); }},
          {"tcc", 1, 0, [](Filled& f) { return differs(f, *f.area.tcc_, "tcc"); },
           [](const Filled& f) { return f.area.tcc_ && f.area.compilers_ != Compilers::None; }},
          {"clang", 256, 0,
           [](Filled& f) { return differs(f, clang_of(f.area.clang_, 0), "clang"); }, compiles},
          {"long", 512, 0,
           [](Filled& f) { return long_sum(f.c, f.choices, clang_of(f.area.optimizing_, 2)); },
           compiles},
      };
      Filled filled{*this, c, memory, right, choices};
      const auto is_asked = [&](std::string_view relation, std::uint64_t every, std::uint64_t) {
        return asked.of(relation, choices % every == 0);
      };
      if (auto wrong = first_broken(kRelations, filled, is_asked)) return *wrong;
    } catch (const ParseError&) {
      throw;
    } catch (const Error& e) {
      return Checked::fail("refused", e.what());
    }
    return {};
  }

  // Fills every cell that is read with its number.
  static void fill(const FarCase& c, const SparseMemory& memory) {
    const std::size_t width = itemsize(c.dtype);
    for (const std::int64_t cell : c.cells()) {
      if (cell < 0) continue;
      const std::uint64_t bits = FarCase::at(cell);
      std::memcpy(memory.data() + static_cast<std::size_t>(cell) * width, &bits, width);
    }
  }

  static std::optional<Checked> differs(const Filled& filled, Device& device,
                                        std::string_view relation) {
    const auto& [area, c, memory, right, choices] = filled;
    // The caller's memory outlives everything made here.
    const std::shared_ptr<const void> kept(&memory, [](const void*) {});
    const auto table = std::make_unique<Buffer>(device, c.dtype, c.elements(), memory.data(), kept);
    std::vector<BufferPtr> more;
    const LazyOpPtr kernel = c.kernel();
    const auto count = static_cast<std::int64_t>(right.size());
    Buffer out(device, c.dtype, count);
    std::vector<Buffer*> raw{&out, table.get()};
    std::optional<Buffer> positions;
    if (!c.rows.empty()) {
      positions.emplace(device, DType::Int64, std::ssize(c.rows));
      positions->write<std::int64_t>(c.rows);
      raw.push_back(&*positions);
    }
    device.runner(kernel)->run(raw, {});
    device.forget_runners();
    for (std::int64_t i = 0; i < count; ++i) {
      const Scalar got = out.at(i);
      const Scalar must = Scalar::from_bits(c.dtype, right[static_cast<std::size_t>(i)]);
      if (got.bits() == must.bits()) continue;
      return Checked::fail(std::string(relation),
                           fmt::format("element {} is {} by definition, and {} on {}", i,
                                       must.str(), got.str(), device.name()));
    }
    return std::nullopt;
  }

  // A sum of one number, repeated more than 2^31 or 2^32 times.
  static std::optional<Checked> long_sum(const FarCase& c, std::uint64_t choices, Device& device) {
    const std::int64_t times = (std::int64_t{1} << (31 + choices / 512 % 2)) +
                               static_cast<std::int64_t>(choices / 2048 % 1000);
    const LazyOpPtr x =
        LazyOp::load(1, DType::Int64, ShapeTracker::contiguous({1}).expand({times}));
    const LazyOpPtr sum = LazyOp::reduce(Op::ReduceSum, x, {0});
    const LazyOpPtr kernel = LazyOp::store(ShapeTracker::contiguous({1}), sum);
    const auto number = static_cast<std::int64_t>(FarCase::at(c.elements()));
    Buffer in(device, DType::Int64, 1), out(device, DType::Int64, 1);
    in.write<std::int64_t>(std::vector{number});
    Buffer* const raw[] = {&out, &in};
    device.runner(kernel)->run(raw, {});
    device.forget_runners();
    const auto must = static_cast<std::int64_t>(static_cast<std::uint64_t>(number) *
                                                static_cast<std::uint64_t>(times));
    const std::int64_t got = out.read<std::int64_t>()[0];
    if (got == must) return std::nullopt;
    return Checked::fail("long",
                         fmt::format("{} times {} is {}, and not {}", times, number, must, got));
  }
};

}  // namespace

std::unique_ptr<Area> make_far_area(Compilers compilers) {
  return std::make_unique<FarArea>(compilers);
}

}  // namespace touchstone::fuzz

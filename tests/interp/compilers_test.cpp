#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <stdlib.h>

#include "../support/draws.h"
#include "kernels.h"
#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/clang/shared_object.h"
#include "touchstone/interp/oracle/verdict.h"
#include "touchstone/process/run.h"
#include "touchstone/tcc/compiled_c.h"

// Results of C compilers are legal under the profile that describes them: random expressions
// written as C (not by lib/codegen), compiled by gcc, clang and libtcc at every setting of
// contraction and excess precision, run and judged. TOUCHSTONE_COMPILER_EXPRESSIONS sets their
// number (docs/measured/oracle.md).

namespace touchstone {
namespace {

constexpr std::int64_t kElements = 24;

// The C spelling of float16 and bfloat16 computations.
enum class Style : std::uint8_t {
  Each,  // every operation rounds
  Bare,  // the same for bfloat16; float16 without casts: the compiler may keep more
  Wide,  // computed in float, rounded when stored or cast
};

// An expression as a kernel and as C: rows of one element, and rows of terms inside a sum.
class Expression {
 public:
  Expression(std::uint64_t seed, bool with_float16) : random_(seed), terms_(random_.between(1, 4)) {
    types_ = {DType::Float32, DType::Float64, DType::Float32, DType::BFloat16};
    if (with_float16) types_.insert(types_.end(), {DType::Float16, DType::Float16});
    root_ = grow(2 + random_.index(4), any_type(), false);
    for (Node& n : nodes_) n.named = n.uses > 1 || n.op == Op::ReduceSum || random_.chance(1, 4);
    kernel_ = LazyOp::store(ShapeTracker::contiguous({kElements, 1}), node(root_).ast);
    draw_inputs();
  }

  const LazyOpPtr& kernel() const { return kernel_; }
  std::vector<Buffer*> inputs() const { return test::raw(inputs_); }
  DType dtype() const { return node(root_).dtype; }
  /// The source text that reads the element.
  std::string read_at(std::int64_t element) const {
    std::string text;
    for (std::size_t i = 1; i < inputs_.size(); ++i) {
      const Buffer& b = *inputs_[i];
      const std::size_t width = itemsize(b.dtype());
      const std::int64_t n = b.size() / kElements;
      text += fmt::format("i{}:", i);
      for (std::int64_t k = element * n; k < (element + 1) * n; ++k) {
        std::uint64_t bits = 0;
        std::memcpy(&bits,
                    static_cast<const char*>(b.memory()) + static_cast<std::size_t>(k) * width,
                    width);
        text += " " + Scalar::from_bits(b.dtype(), bits).str();
      }
      text += '\n';
    }
    return text;
  }

  std::string c(const std::string& name, Style style) const {
    std::string text = "void " + name + "(void* const* b, const long* v, long p, long q) {\n";
    for (std::size_t i = 1; i < inputs_.size(); ++i)
      text += fmt::format("  const {0}* restrict i{1} = b[{1}];\n", stored(inputs_[i]->dtype()), i);
    text += fmt::format("  {}* restrict out = b[0];\n  for (long i = 0; i < {}; i++) {{\n",
                        stored(dtype()), kElements);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const Node& n = nodes_[i];
      if (n.op == Op::ReduceSum) {
        // Terms come before their sum.
        const std::string type = dtype_is_half(n.dtype) ? "float" : held(n.dtype, style);
        text +=
            fmt::format("    {} s{} = 0;\n    for (long k = 0; k < {}; k++) {{\n", type, i, terms_);
        for (std::size_t j = n.first; j < i; ++j)
          if (nodes_[j].named) text += statement(j, style);
        text += fmt::format("      s{} += {};\n    }}\n", i, use(n.src[0], style));
        text += fmt::format("    const {} t{} = {};\n", held(n.dtype, style), i,
                            finish(n.dtype, fmt::format("s{}", i), style));
      } else if (n.named && !n.inside) {
        text += statement(i, style);
      }
    }
    text += fmt::format("    out[i] = {};\n  }}\n}}\n", store(dtype(), use(root_, style), style));
    return text;
  }

 private:
  struct Node {
    Op op = Op::Load;
    DType dtype = DType::Float32;
    std::vector<int> src = {};
    bool inside = false;    // a sum
    int input = 0;          // LOAD
    double constant = 0;    // CONST
    std::size_t first = 0;  // REDUCE_SUM: the first node of its terms
    LazyOpPtr ast = nullptr;
    int uses = 0;
    bool named = false;
  };

  static bool dtype_is_half(DType d) { return d == DType::Float16 || d == DType::BFloat16; }
  const Node& node(int i) const { return nodes_[static_cast<std::size_t>(i)]; }
  DType any_type() { return types_[random_.below(types_.size())]; }
  int add(Node n) {
    for (const int s : n.src) ++nodes_[static_cast<std::size_t>(s)].uses;
    nodes_.push_back(std::move(n));
    return static_cast<int>(nodes_.size()) - 1;
  }

  // ---- drawing
  int leaf(DType d, bool inside) {
    const std::int64_t n = inside ? terms_ : 1;
    Node made{.dtype = d, .inside = inside};
    if (random_.chance(1, 6)) {
      static constexpr double kValues[] = {1, -1, 2, 0.5, 3, 0, -0.25, 1.375};
      made.op = Op::Const;
      made.constant = kValues[random_.below(std::size(kValues))];
      made.ast = LazyOp::constant(Scalar::from_double(d, made.constant),
                                  ShapeTracker::contiguous({1, 1}).expand({kElements, n}));
    } else {
      inputs_.push_back(test::buffer(d, kElements * n));
      made.input = static_cast<int>(inputs_.size()) - 1;
      made.ast = LazyOp::load(made.input, d, ShapeTracker::contiguous({kElements, n}));
    }
    return add(std::move(made));
  }
  int grow(int depth, DType d, bool inside) {
    if (depth == 0) return leaf(d, inside);
    if (random_.chance(1, 8))
      for (std::size_t tries = 0; tries < 8 && !nodes_.empty(); ++tries) {
        const std::size_t i = random_.below(nodes_.size());
        if (nodes_[i].dtype == d && nodes_[i].inside == inside && i >= scope_)
          return static_cast<int>(i);
      }
    const auto next = [&](DType type) { return grow(depth - 1, type, inside); };
    Node made{.dtype = d, .inside = inside};
    const std::uint64_t kind = random_.below(20);
    if (kind < 4) {
      made.op = Op::Mul;
      made.src = {next(d), next(d)};
    } else if (kind < 10) {
      made.op = kind < 7 ? Op::Add : Op::Sub;
      made.src = {next(d), next(d)};
    } else if (kind < 12) {
      made.op = Op::Neg;
      made.src = {next(d)};
    } else if (kind < 14) {
      made.op = Op::MulAcc;
      made.src = {next(d), next(d), next(d)};
    } else if (kind < 16) {
      made.op = Op::Where;
      const DType compared = any_type();
      Node condition{.op = random_.chance(1, 4) ? Op::CmpEq : Op::CmpLt,
                     .dtype = DType::Bool,
                     .src = {grow(std::min(depth - 1, 1), compared, inside),
                             grow(std::min(depth - 1, 1), compared, inside)},
                     .inside = inside};
      condition.ast = ast(condition);
      const int c = add(std::move(condition));
      made.src = {c, next(d), next(d)};
    } else if (kind < 17) {
      made.op = Op::Max;
      made.src = {next(d), next(d)};
    } else if (kind < 19 || inside) {
      made.op = Op::Cast;
      DType from = any_type();
      for (int i = 0; i < 4 && from == d; ++i) from = any_type();
      if (from == d) return next(d);
      made.src = {next(from)};
    } else {
      made.op = Op::ReduceSum;
      const std::size_t outer = scope_;
      made.first = scope_ = nodes_.size();
      made.src = {grow(depth - 1, d, true)};
      scope_ = outer;
    }
    made.ast = ast(made);
    return add(std::move(made));
  }
  LazyOpPtr ast(const Node& n) const {
    const auto x = [&](std::size_t k) { return node(n.src[k]).ast; };
    if (n.op == Op::Cast) return LazyOp::cast(x(0), n.dtype);
    if (n.op == Op::ReduceSum) return LazyOp::reduce(Op::ReduceSum, x(0), {1});
    if (n.src.size() == 1) return LazyOp::unary(n.op, x(0));
    if (n.src.size() == 2) return LazyOp::binary(n.op, x(0), x(1));
    return LazyOp::ternary(n.op, x(0), x(1), x(2));
  }

  // Mostly full significands; few digits so that sums cancel; in some kernels edges.
  void draw_inputs() {
    const bool edges = random_.chance(1, 4);
    static const double kEdges[] = {0.0,  -0.0,  HUGE_VAL, -HUGE_VAL, NAN,    1e-40, -1e-40,
                                    3e38, -3e38, 6e4,      1.7e308,   5e-324, 6e-8,  -1e-300};
    for (std::size_t i = 1; i < inputs_.size(); ++i)
      with_storage(inputs_[i]->dtype(), [&]<class T>(std::type_identity<T>) {
        std::vector<T> values(static_cast<std::size_t>(inputs_[i]->size()));
        const bool coarse = random_.chance(1, 4);
        for (std::size_t k = 0; k < values.size(); ++k) {
          double x = random_.uniform(-1.0, 1.0);
          if (coarse) x = std::round(x * 8) / 8;
          if (edges && random_.chance(1, 6)) x = kEdges[random_.below(std::size(kEdges))];
          if constexpr (is_float_storage<T>) values[k] = convert<T>(x);
        }
        if constexpr (is_float_storage<T>) inputs_[i]->write(std::span<const T>(values));
      });
  }

  // ---- writing
  static const char* stored(DType d) {
    return d == DType::Float64   ? "double"
           : d == DType::Float32 ? "float"
           : d == DType::Float16 ? "_Float16"
                                 : "unsigned short";
  }
  static const char* held(DType d, Style style) {
    if (d == DType::Bool) return "int";
    if (d == DType::BFloat16 || (style == Style::Wide && d == DType::Float16)) return "float";
    return stored(d);
  }
  // Rounds to type d from the type that holds it or a wider one.
  static std::string round_to(DType d, const std::string& x, Style style) {
    if (d == DType::BFloat16) return fmt::format("bf((float)({}))", x);
    if (d == DType::Float16 && style == Style::Wide) return fmt::format("(float)(_Float16)({})", x);
    return fmt::format("({})({})", held(d, style), x);
  }
  // The same after every operation, unless results stay wide.
  static std::string finish(DType d, const std::string& x, Style style) {
    if (!dtype_is_half(d)) return fmt::format("({})", x);
    if (style == Style::Wide || (style == Style::Bare && d == DType::Float16))
      return fmt::format("({})", x);
    return d == DType::BFloat16 ? fmt::format("bf({})", x) : fmt::format("((_Float16)({}))", x);
  }
  static std::string store(DType d, const std::string& x, Style style) {
    if (d == DType::BFloat16) return fmt::format("bits({})", round_to(d, x, style));
    return fmt::format("({})({})", stored(d), x);
  }
  std::string statement(std::size_t i, Style style) const {
    return fmt::format("    const {} t{} = {};\n", held(nodes_[i].dtype, style), i,
                       written(nodes_[i], style));
  }
  std::string use(int i, Style style) const {
    return node(i).named ? fmt::format("t{}", i) : written(node(i), style);
  }
  std::string written(const Node& n, Style style) const {
    const auto x = [&](std::size_t k) { return use(n.src[k], style); };
    const DType from = n.src.empty() ? n.dtype : node(n.src.back()).dtype;
    const auto done = [&](const std::string& text) { return finish(n.dtype, text, style); };
    const std::string type = n.dtype == DType::Float64 ? "double" : "float";
    switch (n.op) {
      case Op::Load: {
        const std::string at = n.inside ? fmt::format("i{}[i * {} + k]", n.input, terms_)
                                        : fmt::format("i{}[i]", n.input);
        return n.dtype == DType::BFloat16 ? fmt::format("from({})", at) : at;
      }
      case Op::Const: return fmt::format("(({}){:a})", held(n.dtype, style), n.constant);
      case Op::Neg: return fmt::format("(-{})", x(0));
      case Op::Add: return done(fmt::format("{} + {}", x(0), x(1)));
      case Op::Sub: return done(fmt::format("{} - {}", x(0), x(1)));
      case Op::Mul: return done(fmt::format("{} * {}", x(0), x(1)));
      case Op::MulAcc:
        return done(fmt::format("{} + {}", done(fmt::format("{} * {}", x(0), x(1))), x(2)));
      case Op::Max: return fmt::format("max_{}({}, {})", type, x(0), x(1));
      case Op::CmpLt: return fmt::format("({} < {})", x(0), x(1));
      case Op::CmpEq: return fmt::format("({} == {})", x(0), x(1));
      case Op::Where: return fmt::format("({} ? {} : {})", x(0), x(1), x(2));
      case Op::Cast:
        // Conversion to a type that holds all numbers of the other does not round.
        if (dtype_is_half(n.dtype)) return round_to(n.dtype, x(0), style);
        return fmt::format("(({}){})", held(n.dtype, style), x(0));
      default: return fmt::format("(({})/*{}*/0)", type, name(from));
    }
  }

  test::Draws random_;
  std::int64_t terms_;
  std::vector<DType> types_;
  std::vector<Node> nodes_;
  std::size_t scope_ = 0;
  std::vector<BufferPtr> inputs_{nullptr};
  int root_ = 0;
  LazyOpPtr kernel_;
};

constexpr const char* kPreamble = R"(
static inline float bf(float x) {
  union { float f; unsigned u; } v;
  v.f = x;
  if (x != x) return x;
  v.u += 0x7fff + ((v.u >> 16) & 1);
  v.u &= 0xffff0000u;
  return v.f;
}
static inline unsigned short bits(float x) {
  union { float f; unsigned u; } v;
  v.f = x;
  return x != x ? 0x7fc0 : v.u >> 16;
}
static inline float from(unsigned short x) {
  union { float f; unsigned u; } v;
  v.u = (unsigned)x << 16;
  return v.f;
}
static inline int below_zero(double x) {
  union { double f; unsigned long u; } v;
  v.f = x;
  return v.u >> 63;
}
static inline float max_float(float a, float b) {
  return a != a || a > b || (a == b && !below_zero(a)) ? a : b;
}
static inline double max_double(double a, double b) {
  return a != a || a > b || (a == b && !below_zero(a)) ? a : b;
}
)";

// A compiler at one setting, and its freedom there.
struct Setting {
  std::string compiler;  // empty: libtcc
  std::vector<std::string> options;
  bool contracts = true;
  Style style = Style::Each;
  bool fast = false;  // -ffast-math
  std::string str() const {
    return fmt::format("{} {}{}", compiler.empty() ? "libtcc" : compiler, fmt::join(options, " "),
                       style == Style::Wide ? " in float" : "");
  }
  Profile profile() const {
    Profile p = Profile::named(fast ? "fastmath" : "glibc");
    p.contracts = contracts;
    if (style != Style::Each) p.excess = DType::Float32;
    return p;
  }
};

std::vector<Setting> settings() {
  const bool fma = __builtin_cpu_supports("fma") != 0;
  const auto with = [&](std::vector<std::string> options) {
    if (fma) options.push_back("-mfma");
    return options;
  };
  const std::string none = "-fexcess-precision=16";
  const std::vector<std::string> clang_none{"-Xclang", "-ffloat16-excess-precision=none"};
  const auto clang = [&](const char* contraction) {
    std::vector<std::string> options = with({"-O2", contraction});
    options.insert(options.end(), clang_none.begin(), clang_none.end());
    return options;
  };
  return {
      {"gcc", with({"-O2", "-ffp-contract=fast", none})},
      {"gcc", {"-O3", "-march=native", none}},
      {"gcc", {"-O0", none}},
      {"gcc", with({"-O2", "-ffp-contract=off", none}), false},
      {"clang-19", clang("-ffp-contract=fast")},
      {"clang-19", clang("-ffp-contract=on")},
      {"clang-19", clang("-ffp-contract=off"), false},
      {"gcc", with({"-O2"}), true, Style::Bare},
      {"gcc", {"-O1", "-std=c17", "-fexcess-precision=standard"}, false, Style::Bare},
      {"clang-19", with({"-O2", "-ffp-contract=on"}), true, Style::Bare},
      {"gcc", with({"-O2"}), true, Style::Wide},
      {"clang-19", {"-O2", "-ffp-contract=off"}, false, Style::Wide},
      {"gcc", {"-O3", "-march=native", "-ffast-math", none}, true, Style::Each, true},
      {"clang-19", with({"-O2", "-ffast-math"}), true, Style::Bare, true},
      {"", {}, false},
  };
}

class Compiled {
 public:
  Compiled(const Setting& setting, const std::string& source, const std::filesystem::path& folder) {
    if (setting.compiler.empty()) {
      tcc_ = std::make_unique<tcc::CompiledC>(source);
      return;
    }
    const std::filesystem::path file = folder / "expressions.so";
    write_file_atomically((folder / "expressions.c").string(), source);
    std::vector<std::string> arguments = setting.options;
    for (const char* more : {"-w", "-shared", "-fPIC", "-o"}) arguments.emplace_back(more);
    arguments.push_back(file.string());
    arguments.push_back((folder / "expressions.c").string());
    const auto result =
        process::run_program({process::find_program(setting.compiler), arguments, {}});
    if (result.ending.exit_code() != 0) throw SystemError(result.output.substr(0, 2000));
    object_ = std::make_unique<clang::SharedObject>(file);
    std::filesystem::remove(file);
  }
  void run(const std::string& name, const std::vector<Buffer*>& buffers) const {
    std::vector<void*> memory;
    for (Buffer* b : buffers) memory.push_back(b->memory());
    const auto f = object_ ? object_->function(name) : tcc_->function(name);
    f(memory.data(), nullptr, 0, 1);
  }

 private:
  std::unique_ptr<clang::SharedObject> object_;
  std::unique_ptr<tcc::CompiledC> tcc_;
};

struct Counts {
  std::int64_t judged = 0, illegal = 0, loose = 0;  // loose: illegal under a strict profile
};

// Runs a file of expressions at one setting.
void run_batch(const Setting& setting, const std::vector<Expression>& all,
               const std::filesystem::path& folder, Counts& counts) {
  std::string source = kPreamble;
  for (std::size_t i = 0; i < all.size(); ++i)
    source += all[i].c(fmt::format("f{}", i), setting.style);
  const Compiled compiled(setting, source, folder);
  Profile strict;
  strict.contracts = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<Buffer*> buffers = all[i].inputs();
    const BufferPtr out = test::buffer(all[i].dtype(), kElements);
    buffers[0] = out.get();
    compiled.run(fmt::format("f{}", i), buffers);
    const Verdict v = judge(all[i].kernel(), buffers, *out, setting.profile());
    ++counts.judged;
    if (setting.profile() != strict)
      counts.loose += judge(all[i].kernel(), buffers, *out, strict).outcome == Outcome::Fail;
    if (v.outcome == Outcome::Pass || v.outcome == Outcome::Weak) continue;
    if (++counts.illegal <= 3)
      ADD_FAILURE() << setting.str() << '\n'
                    << v.str() << '\n'
                    << all[i].read_at(v.index) << all[i].c("f", setting.style)
                    << str(all[i].kernel());
  }
}

TEST(Compilers, WhatTheyMakeOfExpressionsIsLegal) {
  constexpr std::int64_t kUsual = 24, kBatch = 250;
  const char* wanted = std::getenv("TOUCHSTONE_COMPILER_EXPRESSIONS");
  const std::int64_t count = wanted != nullptr ? std::atoll(wanted) : kUsual;
  const char* seed = std::getenv("TOUCHSTONE_COMPILER_SEED");
  const char* only = std::getenv("TOUCHSTONE_COMPILER_SETTING");
  const std::uint64_t first = seed != nullptr ? std::strtoull(seed, nullptr, 10) : 1;
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("touchstone-compilers-{}", ::getpid());
  std::filesystem::create_directories(folder);
  std::map<std::string, Counts> counts;
  for (std::int64_t at = 0; at < count; at += kBatch) {
    const std::int64_t size = std::min(kBatch, count - at);
    for (const bool with_float16 : {true, false}) {
      std::vector<Expression> all;
      for (std::int64_t i = 0; i < size; ++i)
        all.emplace_back(first * 1'000'000'007 + static_cast<std::uint64_t>(at + i), with_float16);
      for (const Setting& setting : settings()) {
        if (only != nullptr && setting.str() != only) continue;
        if (setting.compiler.empty() == with_float16) continue;  // libtcc has no _Float16
        if (!setting.compiler.empty() && process::find_program(setting.compiler).empty()) continue;
        try {
          run_batch(setting, all, folder, counts[setting.str()]);
        } catch (const SystemError& e) {
          if (!setting.compiler.empty()) ADD_FAILURE() << setting.str() << ": " << e.what();
        }
      }
    }
  }
  std::filesystem::remove_all(folder);
  for (const auto& [setting, n] : counts) {
    if (wanted != nullptr)
      fmt::print("{}: {} expressions, {} of them other than without, {} illegal\n", setting,
                 n.judged, n.loose, n.illegal);
    EXPECT_EQ(n.illegal, 0) << setting;
  }
}

}  // namespace
}  // namespace touchstone

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include <fmt/ranges.h>

#include "touchstone/base/device_lost.h"
#include "touchstone/base/hash.h"
#include "touchstone/fuzz/areas/areas.h"
#include "touchstone/fuzz/areas/code_run.h"
#include "touchstone/fuzz/areas/kernel_backend.h"
#include "touchstone/fuzz/areas/kernel_coverage.h"
#include "touchstone/fuzz/areas/number_check.h"
#include "touchstone/fuzz/areas/profile_check.h"
#include "touchstone/fuzz/areas/reads_check.h"
#include "touchstone/fuzz/areas/reference_check.h"
#include "touchstone/fuzz/areas/relation.h"
#include "touchstone/fuzz/draw/draw_kernel.h"
#include "touchstone/fuzz/engine/last_parsed.h"
#include "touchstone/fuzz/index/view_case.h"
#include "touchstone/fuzz/judge/shrink.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/ops/index_fault.h"
#include "touchstone/ops/kernel_json.h"
#include "touchstone/ops/node_order.h"

namespace touchstone::fuzz {
namespace {

using foreign::Answer;

/// Marks the elements of each input that some index of the kernel reads; nullopt if a view has too
/// many.
std::optional<std::vector<std::vector<bool>>> read_elements(const KernelCase& c) {
  std::vector<std::vector<bool>> read;
  for (const HostArray& input : c.inputs)
    read.emplace_back(static_cast<std::size_t>(input.size()), false);
  const LazyOpPtr kernel = c.concrete();
  for (const LazyOp* node : ordered_nodes(kernel)) {
    if (!is_load(node->op())) continue;
    std::vector<bool>& of = read[static_cast<std::size_t>(node->buffer().idx) - 1];
    try {
      for (const std::int64_t cell : addresses_of(node->buffer().st.views()).cells)
        if (cell >= 0) of[static_cast<std::size_t>(cell)] = true;
    } catch (const TooManyCells&) {
      return std::nullopt;
    }
  }
  return read;
}

// True if every device must compute the same positions: they are integers and never undefined.
bool positions_are_exact(const LazyOpPtr& kernel) {
  const auto is_divisor = [](const LazyOp& n) {
    return n.op() == Op::Const && !n.constant().st.masked() && is_integer(n.dtype()) &&
           n.constant().value.to_int64() > 0;
  };
  const auto is_exact = [&](const LazyOpPtr& n) {
    if (n->op() == Op::Cast) return !is_float(n->src()[0]->dtype());
    if ((n->op() == Op::Div || n->op() == Op::Mod) && !is_divisor(*n->src()[1])) return false;
    return !is_float(n->dtype()) &&
           std::ranges::none_of(n->src(), [](const LazyOpPtr& s) { return is_float(s->dtype()); });
  };
  return std::ranges::all_of(toposort(kernel), [&](const LazyOpPtr& n) {
    return n->op() != Op::Gather || std::ranges::all_of(toposort(n->src()[0]), is_exact);
  });
}

// Samples the costly checks by the hash of a case's text.
class SampleChoice {
 public:
  explicit SampleChoice(std::string_view text)
      : hash_(hash_bytes(text)), mixed_(hash_mix(0x5a17, hash_)) {}
  bool one_in(std::uint64_t every) const { return mixed_ % every == 0; }
  std::size_t variant(std::size_t of) const { return hash_ / 64 % of; }
  std::uint64_t other() const { return mixed_ / 4096; }

 private:
  std::uint64_t hash_, mixed_;
};

// Hashes only the end, which holds the hash of the kernel: few cases share it.
struct TextHash {
  std::size_t operator()(const std::string& text) const {
    constexpr std::size_t kEnd = 40;
    return hash_bytes(std::string_view(text).substr(text.size() - std::min(text.size(), kEnd)));
  }
};

struct Known {
  KernelCase drawn;
  SampleChoice choice;
  bool varies = true;  // the chosen variant may answer otherwise

  static Known parse(std::string_view text) { return {case_from_json(text), SampleChoice(text)}; }
};

class KernelArea final : public Area {
 public:
  explicit KernelArea(KernelBackends backends) : backends_(std::move(backends)) {}

  std::string_view name() const override { return "kernel"; }
  std::string draw(Chooser& chooser) override {
    KernelCase c = draw_kernel_case(chooser, Checks::Drawn);
    std::string text = case_to_json(c);
    if (known_.size() >= kMostKnown) known_.clear();
    known_.emplace(text, Known{std::move(c), SampleChoice(text)});
    return text;
  }

  void prepare(std::span<const std::string> cases) override {
    Cases batch;
    std::vector<LazyOpPtr> kernels, slow;
    std::vector<std::vector<LazyOpPtr>> varied(backends_.variants.size());
    for (const std::string& text : cases) {
      auto drawn = known_.extract(text);
      auto& [c, choice, differs] = !drawn.empty()
                                       ? batch.insert(std::move(drawn)).position->second
                                       : batch.try_emplace(text, Known::parse(text)).first->second;
      kernels.push_back(c.kernel);
      if (varies(choice, {})) {
        const std::size_t v = choice.variant(varied.size());
        differs = backends_.variants[v]->differs_on(c.kernel);
        if (differs) varied[v].push_back(c.kernel);
      }
      if (is_slow(choice, {})) slow.push_back(c.kernel);
    }
    known_ = std::move(batch);
    reference_->forget_runners();
    backends_.candidate->prepare(kernels);
    for (std::size_t v = 0; v < varied.size(); ++v) backends_.variants[v]->prepare(varied[v]);
    if (backends_.slow) backends_.slow->prepare(slow);
  }

  Checked check(const std::string& text, Effort effort) override {
    return check_asked(text, {effort, {}});
  }
  Checked check_for(const std::string& text, std::string_view relation) override {
    return check_asked(text, {Effort::Full, relation});
  }

  std::vector<std::string> smaller(const std::string& text) override {
    std::vector<std::string> texts;
    smaller_cases(read_.of(text).drawn, [&](const std::vector<KernelCase>& candidates) {
      for (const KernelCase& c : candidates) texts.push_back(case_to_json(c));
      return true;
    });
    return texts;
  }

  Measure measure(const std::string& text) override {
    const CaseSize s = size_of(read_.of(text).drawn);
    return {static_cast<std::int64_t>(s.nodes), s.elements, static_cast<std::int64_t>(s.views),
            s.buffer_bytes, static_cast<std::int64_t>(s.plain)};
  }

  Extent extent(const std::string& text) override {
    const KernelCase& c = read_.of(text).drawn;
    Extent extent;
    for (const LazyOpPtr& node : toposort(c.kernel)) {
      extent.ops += node->src().empty() || node->op() == Op::Store ? 0 : 1;
      for (const sint& size : node->shape())
        extent.dim = std::max(extent.dim, size.max().value_or(0));
    }
    return extent;
  }

  std::vector<Dimension> dimensions() const override { return kernel_dimensions(); }
  bool feasible(std::span<const int> row) const override { return kernel_row_is_feasible(row); }
  std::vector<CoverageRow> coverage(const std::string& text, Ending ending) override {
    return kernel_rows(known_of(text).drawn, ending);
  }

 private:
  static constexpr std::size_t kMostKnown = 4096;

  /// A case whose answer by the candidate is legal.
  struct Answered {
    KernelArea& area;
    const KernelCase& c;
    const SampleChoice& choice;
    const HostArray& output;
    bool full;
  };

  Checked check_asked(const std::string& text, const AskedRelations& asked) {
    const Known& known = known_of(text);
    Checked result;
    try {
      result = judged(known, asked);
    } catch (const IndexError& e) {
      result = positions_are_exact(known.drawn.kernel) ? Checked::fail("checked", e.what())
                                                       : Checked{Ending::Skipped, {}};
    } catch (const DeviceLost&) {
      throw;
    } catch (const Error& e) {
      result = Checked::fail("refused", e.what());
    }
    result.passed_over = std::move(passed_over_);
    passed_over_.clear();
    return result;
  }

  // `round trip` tests that a case read back is the one drawn.
  const Known& known_of(const std::string& text) {
    const auto known = known_.find(text);
    return known != known_.end() ? known->second : read_.of(text);
  }

  bool varies(const SampleChoice& choice, const AskedRelations& asked) const {
    return !backends_.variants.empty() && asked.of("options", choice.one_in(backends_.vary_every));
  }

  bool is_slow(const SampleChoice& choice, const AskedRelations& asked) const {
    return backends_.slow != nullptr && asked.of("slow", choice.one_in(64));
  }

  // Counts a question that does not apply to this case.
  std::optional<Checked> answered(const char* relation, const Reply& finding) {
    if (!finding.asked) passed_over_.push_back(relation);
    if (!finding.what) return std::nullopt;
    return Checked::fail(relation, *finding.what);
  }

  const HostArray& right_answer(const KernelCase& c) {
    if (!right_) right_ = answer_of(c, *reference_);
    return *right_;
  }

  // The reference's bits are legal, with any NaN payloads.
  bool is_right(const KernelCase& c, const HostArray& output) {
    const HostArray& right = right_answer(c);
    if (right.bytes == output.bytes) return true;
    if (!is_float(output.dtype) || right.bytes.size() != output.bytes.size()) return false;
    const std::size_t width = itemsize(output.dtype);
    for (std::size_t i = 0; i < right.bytes.size(); i += width)
      if (std::memcmp(&right.bytes[i], &output.bytes[i], width) != 0 &&
          !(is_nan(right, i) && is_nan(output, i)))
        return false;
    return true;
  }

  static bool is_nan(const HostArray& array, std::size_t byte) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &array.bytes[byte], itemsize(array.dtype));
    return std::isnan(Scalar::from_bits(array.dtype, bits).to_double());
  }

  std::optional<Checked> legal(const KernelCase& c, const HostArray& output, KernelBackend& backend,
                               const std::string& relation, Ending* ending) {
    const Verdict v = judge({c, output, {}}, backend.profile(c.kernel));
    if (v.outcome == Outcome::Fail)
      return Checked::fail(relation, v.str() + borne_out(c, output, right_answer(c), v.index));
    if (ending != nullptr)
      *ending = v.outcome == Outcome::Pass   ? Ending::Pass
                : v.outcome == Outcome::Weak ? Ending::Weak
                                             : Ending::Skipped;
    return std::nullopt;
  }

  Checked judged(const Known& known, const AskedRelations& asked) {
    const auto& [c, choice, differs] = known;
    right_.reset();
    if (const std::optional<IndexFault> fault = fault_of(c)) return faulted(c, *fault);
    const Answer answer = backends_.candidate->run(c);
    if (answer.kind == Answer::Kind::Broken) return Checked::fail("broken", answer.why);
    if (answer.kind == Answer::Kind::Unusable) return Checked::fail("unusable", answer.why);
    if (answer.kind == Answer::Kind::Unsupported) return {Ending::Skipped, {}};
    Checked result;
    const bool full = asked.effort == Effort::Full;
    if (backends_.judge_all || full || choice.one_in(16) || !is_right(c, answer.output))
      if (auto wrong = legal(c, answer.output, *backends_.candidate, "verdict", &result.ending))
        return *wrong;
    if (result.ending == Ending::Skipped) right_answer(c);  // throws the reason
    using A = Answered;
    static constexpr Relation<A> kRelations[] = {
        {"round trip", 16, 0, [](A& a) { return round_trip(a.c); }},
        {"threads", 512, 0,
         [](A& a) { return a.area.answered("threads", threads_differ(a.c, a.choice.other())); }},
        {"truth", 32, 0,
         [](A& a) { return a.area.answered("truth", untrue(a.c, a.area.right_answer(a.c))); }},
        {"refuses", 24, 0,
         [](A& a) { return a.area.answered("refuses", a.area.taken(a.c, a.choice)); }},
        {"reads", 8, 0, [](A& a) { return a.area.answered("reads", reads_too_often(a.c)); }},
        {"inside", 16, 0,
         [](A& a) { return a.area.answered("inside", reaches_outside(a.c, a.choice.other())); }},
        {"profiles", 16, 0, [](A& a) { return any_of_questions("profiles", profile_not_kept, a); }},
        {"casts", 16, 0, [](A& a) { return any_of_questions("casts", cast_not_right, a); }},
        {"sums", 16, 0, [](A& a) { return any_of_questions("sums", sum_not_right, a); }},
        {"poison", 5, 0, [](A& a) { return a.area.poisoned(a.c, a.output); }, nullptr,
         [](const A& a) {
           return std::ranges::any_of(a.c.inputs, [](const auto& i) { return i.bytes.empty(); });
         }},
        {"in place", 12, 0, [](A& a) { return a.area.in_place(a); },
         [](const A& a) { return !a.c.inputs.empty(); }},
        {"bound", 2, 0, [](A& a) { return a.area.bound_in_turn(a.c, a.choice); },
         [](const A& a) { return a.c.values.size() > 1; }},
    };
    Answered answered{*this, c, choice, answer.output, full};
    const auto is_asked = [&](std::string_view relation, std::uint64_t every, std::uint64_t) {
      return asked.of(relation, choice.one_in(every));
    };
    if (auto wrong = first_broken(kRelations, answered, is_asked)) return *wrong;
    if (is_slow(choice, asked))
      if (auto wrong = other(c, answer.output, *backends_.slow, "slow")) return *wrong;
    if (varies(choice, asked) && (differs || full))
      for (std::size_t v = 0; v < backends_.variants.size(); ++v) {
        if (!full && v != choice.variant(backends_.variants.size())) continue;
        if (auto wrong = other(c, answer.output, *backends_.variants[v], "options")) return *wrong;
      }
    if (varies(choice, asked) && full)
      for (const std::unique_ptr<KernelBackend>& layout : backends_.layouts)
        if (auto wrong = other(c, answer.output, *layout, "options")) return *wrong;
    return result;
  }

  // A question that the text chooses, independent of the kernel; in a full check many questions, so
  // that smaller texts show the same fault.
  static std::optional<Checked> any_of_questions(const char* relation,
                                                 std::optional<std::string> (*wrong)(std::uint64_t),
                                                 const Answered& a) {
    constexpr std::uint64_t kMany = 200;
    std::optional<std::string> what = wrong(a.choice.other());
    for (std::uint64_t i = 1; a.full && !what && i < kMany; ++i)
      what = wrong(hash_mix(a.choice.other(), i));
    if (!what) return std::nullopt;
    return Checked::fail(relation, *what);
  }

  // The answer stays legal if its memory is an input's.
  std::optional<Checked> in_place(const Answered& a) {
    for (const GoesOn goes_on : {GoesOn::No, GoesOn::Yes}) {
      if (!a.full && (goes_on == GoesOn::Yes) != (a.choice.other() % 2 == 0)) continue;
      const Answer answer =
          backends_.candidate->run_in_place(a.c, a.choice.variant(a.c.inputs.size()), goes_on);
      if (answer.kind == Answer::Kind::Broken) return Checked::fail("in place", answer.why);
      if (answer.kind != Answer::Kind::Output) passed_over_.push_back("in place");
      if (answer.kind != Answer::Kind::Output || answer.output.bytes == a.output.bytes ||
          is_right(a.c, answer.output))
        continue;
      if (auto wrong = legal(a.c, answer.output, *backends_.candidate, "in place", nullptr))
        return wrong;
    }
    return std::nullopt;
  }

  // Binds the variables one by one, in a drawn order: the reference keeps its bits, and the
  // candidate's answer with only the last one open is legal.
  std::optional<Checked> bound_in_turn(const KernelCase& c, const SampleChoice& choice) {
    std::vector<std::string> names;
    for (const auto& [name, value] : c.values) names.push_back(name);
    std::uint64_t order = choice.other();
    for (std::size_t i = names.size(); i > 1; order /= i--)
      std::swap(names[i - 1], names[order % i]);
    KernelCase part = c;
    for (std::size_t i = 0; i + 1 < names.size(); ++i) {
      part.kernel = bind_variables(part.kernel, {{names[i], c.values.at(names[i])}});
      part.values.erase(names[i]);
    }
    std::erase_if(part.values, [&](const auto& v) { return !has_variable(part.kernel, v.first); });
    const Answer answer = backends_.candidate->run(part);
    if (answer.kind == Answer::Kind::Output && !is_right(c, answer.output))
      if (auto wrong = legal(c, answer.output, *backends_.candidate, "bound", nullptr))
        return wrong;
    KernelCase last = part;
    last.kernel = part.concrete();
    last.values.clear();
    if (is_right(c, answer_of(last, *reference_))) return std::nullopt;
    return Checked::fail("bound", fmt::format("the reference gives other bits where {} become "
                                              "numbers one by one",
                                              fmt::join(names, ", ")));
  }

  static bool has_variable(const LazyOpPtr& kernel, const std::string& name) {
    return std::ranges::any_of(variables_of(kernel), [&](const symbolic::Node& v) {
      return symbolic::variable_name(v) == name;
    });
  }

  // An answer that the oracle wrongly accepts.
  Reply taken(const KernelCase& c, const SampleChoice& choice) {
    const HostArray& right = right_answer(c);
    const Reply near = not_refused(c, right, choice.other());
    if (near.what) return near;
    const Reply far = taken_from_afar(c, right, Profile{}, choice.other());
    return {near.asked || far.asked, far.what};
  }

  // The reference's error if a checked position is outside.
  std::optional<IndexFault> fault_of(const KernelCase& c) {
    if (std::ranges::none_of(ordered_nodes(c.kernel), [](const LazyOp* n) {
          return n->op() == Op::Gather && n->buffer().checked;
        }))
      return std::nullopt;
    try {
      (void)right_answer(c);
      return std::nullopt;
    } catch (const IndexError& e) {
      return e.fault();
    }
  }

  // The only right result is this error; a foreign process reports it in its own words.
  Checked faulted(const KernelCase& c, const IndexFault& wanted) {
    const Checked open{Ending::Skipped, {}};
    try {
      const Answer answer = backends_.candidate->run(c);
      if (answer.kind == Answer::Kind::Broken) return Checked::fail("broken", answer.why);
      if (answer.kind != Answer::Kind::Output || !positions_are_exact(c.kernel)) return open;
      return Checked::fail("checked", fmt::format("there is an answer, and no error: {}",
                                                  IndexError(wanted).what()));
    } catch (const IndexError& e) {
      if (e.fault() == wanted) return {};
      if (!positions_are_exact(c.kernel)) return open;
      return Checked::fail("checked",
                           fmt::format("{}, and not: {}", e.what(), IndexError(wanted).what()));
    }
  }

  // Another backend's answer must be legal as well.
  std::optional<Checked> other(const KernelCase& c, const HostArray& output, KernelBackend& backend,
                               const std::string& relation) {
    const Answer answer = backend.run(c);
    if (answer.output.bytes == output.bytes || is_right(c, answer.output)) return std::nullopt;
    auto wrong = legal(c, answer.output, backend, relation, nullptr);
    if (wrong) wrong->failure.detail += "\non " + backend.name();
    return wrong;
  }

  static std::optional<Checked> round_trip(const KernelCase& c) {
    const std::string once = to_json(kernel_file(c.kernel));
    const KernelFile again = kernel_from_json(once);
    if (same(again.ast, c.kernel) && to_json(kernel_file(again.ast)) == once) return std::nullopt;
    return Checked::fail("round trip", "kernel.json reads back as another kernel:\n" +
                                           str(c.kernel) + str(again.ast));
  }

  // Fills elements that no index reads with NaN, or all ones, and guards the memory beside the
  // buffers: the answer must stay legal.
  std::optional<Checked> poisoned(const KernelCase& c, const HostArray& output) {
    const auto read = read_elements(c);
    if (!read) return std::nullopt;
    KernelCase poison = c;
    for (std::size_t b = 0; b < poison.inputs.size(); ++b) {
      HostArray& input = poison.inputs[b];
      const std::size_t width = itemsize(input.dtype);
      const char fill = is_bool(input.dtype) ? '\1' : '\xff';
      for (std::size_t i = 0; i < (*read)[b].size(); ++i)
        if (!(*read)[b][i]) std::memset(input.bytes.data() + i * width, fill, width);
    }
    const Answer answer = backends_.candidate->run_guarded(poison);
    if (answer.kind == Answer::Kind::Broken) return Checked::fail("broken", answer.why);
    if (answer.kind != Answer::Kind::Output || answer.output.bytes == output.bytes)
      return std::nullopt;
    return legal(c, answer.output, *backends_.candidate, "poison", nullptr);
  }

  using Cases = std::unordered_map<std::string, Known, TextHash>;

  KernelBackends backends_;
  std::optional<HostArray> right_;  // the reference's answer to the current case
  std::unique_ptr<Device> reference_ = make_interpreted_device("REFERENCE", 1);
  LastParsed<Known> read_;
  Cases known_;                                // drawn of late
  std::vector<std::string_view> passed_over_;  // of the case that is checked
};

}  // namespace

std::unique_ptr<Area> make_kernel_area(KernelBackends backends) {
  return std::make_unique<KernelArea>(std::move(backends));
}

}  // namespace touchstone::fuzz

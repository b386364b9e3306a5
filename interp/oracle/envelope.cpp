#include "touchstone/interp/oracle/envelope.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <string_view>
#include <utility>

#include "touchstone/interp/device/evaluator.h"
#include "touchstone/interp/device/fxn_for_op.h"
#include "touchstone/interp/device/gather.h"
#include "touchstone/interp/oracle/excess.h"
#include "touchstone/interp/oracle/legal_rows.h"
#include "touchstone/interp/oracle/radius.h"
#include "touchstone/interp/oracle/reassociated.h"
#include "touchstone/interp/oracle/unrounded_products.h"
#include "touchstone/ops/decompose.h"

namespace touchstone::interp {
namespace {

// True if determined operands give determined results, equal to the reference's.
bool stays_determined(const ProgramNode& node, const Profile& profile) {
  const bool floats = is_float(node.dtype) || is_float(node.src_dtypes.back());
  switch (node.op) {
    case Op::Noop:
    case Op::Neg:
    case Op::Where: return true;
    case Op::Exp2:
    case Op::Log2:
    case Op::Sin: return false;
    case Op::Sqrt: return profile.sqrt == FunctionError{} && profile.exact_elsewhere();
    case Op::Recip: return profile.recip == FunctionError{} && profile.exact_elsewhere();
    case Op::MulAcc: return !floats;
    case Op::Div: return floats && profile.div == FunctionError{} && profile.exact_elsewhere();
    case Op::Mod: return floats && profile.exact_elsewhere();
    case Op::Cast:
      if (node.bitcast) return !is_float(node.src_dtypes[0]);
      break;
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Max:
    case Op::Xor:
    TOUCHSTONE_CASES_COMPARISON:
    TOUCHSTONE_CASES_REDUCE:
    TOUCHSTONE_CASES_NOT_COMPUTED:
      break;
  }
  if (node.op == Op::Function && !info(node.function.function).exact) return false;
  return !floats || profile.exact_elsewhere();
}

class Envelope {
 public:
  using Block = LegalBlock;

  Envelope(std::span<Buffer* const> buffers, const Profile& profile, Form form)
      : buffers_(buffers), profile_(profile), form_(form) {}

  void load(const ProgramNode& node, std::span<const AddressRun> runs, std::int64_t count,
            Block& out) const {
    const Buffer& buffer = *buffers_[static_cast<std::size_t>(node.buffer)];
    check_runs(runs, buffer, node.buffer);
    out.resize(node.dtype, count, true);
    gather(itemsize(node.dtype), buffer.memory(), runs, out.lo.data());
  }

  void positions(const ProgramNode& node, const Block& block, std::int64_t first,
                 std::span<std::int64_t> out) const {
    for (std::size_t i = 0; node.numbers && i < out.size(); ++i) {
      const auto at = block.get<std::int64_t>(static_cast<std::int64_t>(i));
      if (at.is_point())
        raise_if_found(fault_of(node, std::span(&at.lo, 1), first + static_cast<std::int64_t>(i)));
    }
    const bool clamps = profile_.outside == Outside::Clamps && node.rows > 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto at = block.get<std::int64_t>(static_cast<std::int64_t>(i));
      out[i] = !at.is_point() ? -1
               : clamps       ? std::clamp<std::int64_t>(at.lo, 0, node.rows - 1)
                              : at.lo;
    }
  }

  // If a position may be one of several numbers, the element may be any of the table, or 0.
  void open_unless_known(const ProgramNode& node, const Block& positions, Block& out) const {
    const auto known = [&](std::int64_t i) {
      const auto at = positions.get<std::int64_t>(i);
      return at.is_point() &&
             (profile_.outside != Outside::Anything || (at.lo >= 0 && at.lo < node.rows));
    };
    std::int64_t first = 0;
    while (first < out.count() && known(first)) ++first;
    if (first == out.count()) return;
    out.determined = false;
    out.hi.resize(out.dtype(), out.count());
    out.flags.resize(static_cast<std::size_t>(out.count()));
    with_storage(out.dtype(), [&]<class T>(std::type_identity<T>) {
      for (std::int64_t i = 0; i < out.count(); ++i)
        out.set<T>(
            i, known(i) ? Legal<T>::point(out.lo.template begin<T>()[i]) : Legal<T>::anything());
    });
  }

  void constant(const ProgramNode& node, std::span<const AddressRun> runs, std::int64_t count,
                Block& out) const {
    out.resize(node.dtype, count, true);
    interp::spread(itemsize(node.dtype), node.value.bits(), runs, out.lo.data());
  }

  void apply(const ProgramNode& node, std::span<const Block* const> operands, std::int64_t count,
             Block& out) {
    bool determined = stays_determined(node, profile_);
    const Contraction& c = node.contraction;
    const bool contracts = profile_.contracts;
    // These pass on unrounded operands; other ops round them, or hold them in another way.
    const bool hands_on = node.op == Op::Neg || node.op == Op::Noop || node.op == Op::Where;
    bool unrounded = false;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const bool reads = operands[k]->unrounded() && c.reads_unrounded(k);
      determined = determined && operands[k]->determined && (hands_on || !reads);
      unrounded = unrounded || reads;
    }
    if (contracts && is_float(node.dtype) &&
        (c.flips_fused || (c.may_be_unrounded() && (node.op == Op::Div || node.op == Op::Cast))))
      determined = false;
    if (node.rounds_to || casts_openly(node, profile_)) determined = false;
    const bool rearranges = profile_.reassociates && is_float(node.dtype);
    if (rearranges && roundings_of(node, operands) > 1) determined = false;
    out.resize(node.dtype, count, determined);
    if (determined) {
      plain_.clear();
      for (const Block* b : operands) plain_.push_back(&b->lo);
      if (node.op == Op::Function)
        apply_function(node.function.function, plain_, out.lo);
      else if (node.op == Op::Cast)
        fxn_for_cast(node.src_dtypes[0], node.dtype, node.bitcast)(plain_, out.lo);
      else
        fxn_for_op(node.op, node.src_dtypes.back())(plain_, out.lo);
      if (contracts && c.is_addend && node.op == Op::Mul)
        mark_inexact(*operands[0], *operands[1], out, form_ != Form::Interval && !c.is_summed);
      else if (contracts && doubles_unrounded(node))
        mark_doubled(*operands[0], out, form_ != Form::Interval);
      else if (unrounded)
        hand_on_inexact(node, operands, out);
    } else {
      const bool narrowed = apply_interval_rows(node, profile_, operands, out, done_, form_);
      if (node.op == Op::Function)
        apply_legal_function(node, profile_, operands, done_, out);
      else if (node.op == Op::Cast)
        apply_legal_cast(node, profile_, *operands[0], done_, out);
      else
        apply_legal(node, profile_, operands, done_, out);
      if (node.rounds_to) round_results(node, profile_, operands, done_, out);
      apply_radius(node, profile_, operands, form_, narrowed ? done_ : none_, out);
      if (contracts && c.flips_fused) free_zeros(out);
    }
    if (rearranges) extend_to_rearranged(node, profile_, operands, out);
  }

  std::unique_ptr<LegalReducer> reducer(const ProgramNode& node) const {
    std::unique_ptr<LegalReducer> made = legal_reducer(node, profile_);
    if (profile_.contracts && node.contraction.may_be_unrounded()) made = one_term(std::move(made));
    if (profile_.reassociates && node.op == Op::ReduceSum && is_float(node.dtype))
      made = rearranged_reducer(node, profile_, std::move(made));
    return node.rounds_to ? rounded_reducer(node, profile_, std::move(made)) : std::move(made);
  }

  void prepare(const ProgramNode& node, std::int64_t count, Block& out) const {
    out.resize(node.dtype, count, false);
    out.roundings = 1;
  }

  void repeat(const Block& from, const AddressRun& run, Block& out, std::int64_t at) const {
    const std::size_t width = itemsize(out.dtype());
    const auto first = static_cast<std::size_t>(at);
    const auto copy = [&](std::size_t size, const void* memory, void* to) {
      gather(size, memory, std::span(&run, 1), static_cast<std::byte*>(to) + first * size);
    };
    copy(width, from.lo.data(), out.lo.data());
    copy(width, from.hi.data(), out.hi.data());
    copy(1, from.flags.data(), out.flags.data());
  }

  // Element i becomes element (skipped + i) / ratio.
  void spread(const Block& from, std::int64_t ratio, std::int64_t skipped, std::int64_t count,
              Block& out) const {
    out.resize(from.dtype(), count, from.determined);
    const auto each = [&](const auto* in, auto* to) {
      std::int64_t i = 0;
      for (std::int64_t k = skipped / ratio; i < count; ++k)
        for (const std::int64_t end = std::min(count, (k + 1) * ratio - skipped); i < end; ++i)
          to[i] = in[k];
    };
    const auto all = [&](const auto& in, auto& to) {
      to.resize(in.empty() ? 0 : static_cast<std::size_t>(count));
      if (!in.empty()) each(in.data(), to.data());
    };
    with_storage(from.dtype(), [&]<class T>(std::type_identity<T>) {
      each(from.lo.begin<T>(), out.lo.begin<T>());
      if (!from.determined) each(from.hi.begin<T>(), out.hi.begin<T>());
    });
    if (!from.determined) each(from.flags.data(), out.flags.data());
    all(from.inexact, out.inexact);
    all(from.balls, out.balls);
    all(from.terms, out.terms);
    out.roundings = from.roundings;
    out.adds = from.adds;
  }

  void copy(const Block& from, Block& out, std::int64_t at) const {
    with_storage(out.dtype(), [&]<class T>(std::type_identity<T>) {
      if (from.determined) {
        for (std::int64_t i = 0; i < from.count(); ++i) out.set<T>(at + i, from.get<T>(i));
        return;
      }
      std::copy_n(from.lo.begin<T>(), from.count(), out.lo.begin<T>() + at);
      std::copy_n(from.hi.begin<T>(), from.count(), out.hi.begin<T>() + at);
      std::copy_n(from.flags.data(), from.count(), out.flags.data() + at);
    });
    if (!from.unrounded() && !out.unrounded()) return;
    out.inexact.resize(static_cast<std::size_t>(out.count()));
    for (std::int64_t i = 0; i < from.count(); ++i)
      out.inexact[static_cast<std::size_t>(at + i)] = from.unrounded(i) ? 1 : 0;
  }

 private:
  std::span<Buffer* const> buffers_;
  const Profile& profile_;
  Form form_;
  std::vector<const interp::Block*> plain_;
  Done done_;
  const Done none_;
};

KernelProgram program_of(const LazyOpPtr& kernel, const Profile& profile,
                         const symbolic::Values& values) {
  const LazyOpPtr bound = values.empty() ? kernel : bind_variables(kernel, values);
  const auto is_alone = [&](const LazyOp& f) {
    return profile.is_sharp(f.function_arg().function);
  };
  return with_excess(make_program(with_decompositions(bound, is_alone), Repeats::KeptFunctions),
                     profile);
}

constexpr std::int64_t kSampleRuns = 64;

// Other kernels and other inputs have other elements judged.
std::uint64_t seed_of(std::uint64_t seed, const LazyOpPtr& kernel,
                      std::span<Buffer* const> buffers) {
  constexpr std::size_t kRead = 4096;
  std::uint64_t hash = seed ^ kernel->hash();
  for (std::size_t i = 1; i < buffers.size(); ++i)
    if (buffers[i] != nullptr && buffers[i]->memory() != nullptr)
      hash = hash * 31 +
             std::hash<std::string_view>()({static_cast<const char*>(buffers[i]->memory()),
                                            std::min<std::size_t>(buffers[i]->bytes(), kRead)});
  return hash;
}

// The length of the runs to cut the output into: enough runs for threads, but so few that all
// together do at most twice the work of one, since each keeps its own results of what repeats. Runs
// of several rows are whole rows.
std::int64_t run_length(const KernelProgram& program) {
  constexpr std::int64_t kMostRuns = 64;
  const std::int64_t size = program.regions[0].size, columns = columns_of(program);
  std::int64_t most = 0;
  for (const Region& region : program.regions) most = std::max(most, region.size);
  std::int64_t runs = std::clamp(most / kWorthThreads * 4, std::int64_t{1},
                                 std::clamp(size, std::int64_t{1}, kMostRuns));
  const auto length = [&] {
    const std::int64_t cut = std::max((size + runs - 1) / runs, std::int64_t{1});
    return cut <= columns ? cut : (cut + columns - 1) / columns * columns;
  };
  const double all = work_of(program, size);
  while (runs > 1 && static_cast<double>(runs) * work_of(program, length()) > 2 * all)
    runs = (runs + 1) / 2;
  return length();
}

}  // namespace

void LegalBlock::resize(DType dtype, std::int64_t count, bool is_determined) {
  lo.resize(dtype, count);
  determined = is_determined;
  inexact.clear();
  balls.clear();
  terms.clear();
  roundings = 0;
  adds = false;
  if (determined) return;
  hi.resize(dtype, count);
  flags.resize(static_cast<std::size_t>(count));
}

void legal_results(const LazyOpPtr& kernel, std::span<Buffer* const> buffers,
                   const Profile& profile, const symbolic::Values& values,
                   const std::function<void(std::int64_t, const LegalBlock&)>& sink, Form form) {
  const KernelProgram program = program_of(kernel, profile, values);
  Envelope domain(buffers, profile, form);
  Evaluator<Envelope> evaluator(program, domain);
  evaluator.run(sink);
}

std::optional<Sampled> legal_results_in_runs(
    const LazyOpPtr& kernel, std::span<Buffer* const> buffers, const Profile& profile,
    const symbolic::Values& values, const Sampling& sampling, Threads& threads,
    const std::function<void(std::size_t)>& prepare,
    const std::function<void(std::size_t, std::int64_t, const LegalBlock&)>& sink) {
  const KernelProgram program = program_of(kernel, profile, values);
  Sampling drawn = sampling;
  drawn.seed = seed_of(sampling.seed, kernel, buffers);
  const std::optional<Sample> sample = sample_of(program, drawn);
  const std::int64_t size = program.regions[0].size;
  const std::int64_t parts = sample ? std::ssize(sample->runs) : size;
  const std::int64_t run = sample ? (parts + kSampleRuns - 1) / kSampleRuns : run_length(program);
  const std::int64_t runs = (parts + run - 1) / run;
  prepare(static_cast<std::size_t>(runs));
  // Runs in turn share what an evaluator keeps, and its memory.
  struct Worker {
    Worker(const KernelProgram& of, const Envelope& with) : domain(with), evaluator(of, domain) {}
    Envelope domain;
    Evaluator<Envelope> evaluator;
  };
  std::mutex mutex;
  std::vector<std::unique_ptr<Worker>> idle;
  const auto evaluate = [&](std::int64_t i) {
    std::unique_ptr<Worker> worker;
    {
      const std::scoped_lock lock(mutex);
      if (!idle.empty()) {
        worker = std::move(idle.back());
        idle.pop_back();
      }
    }
    if (!worker) worker = std::make_unique<Worker>(program, Envelope(buffers, profile, Form::Both));
    const std::int64_t first = i * run, last = std::min((i + 1) * run, parts);
    const auto take = [&](std::int64_t at, const LegalBlock& block) {
      sink(static_cast<std::size_t>(i), at, block);
    };
    if (!sample) worker->evaluator.run(first, last, take);
    for (std::int64_t k = first; sample && k < last; ++k) {
      const ElementRun& part = sample->runs[static_cast<std::size_t>(k)];
      worker->evaluator.run(part.first, part.last, take);
    }
    const std::scoped_lock lock(mutex);
    idle.push_back(std::move(worker));
  };
  if (runs > 1 && threads.count() > 1)
    threads.each(runs, evaluate);
  else
    for (std::int64_t i = 0; i < runs; ++i) evaluate(i);
  return sample ? std::optional(sample->sampled) : std::nullopt;
}

}  // namespace touchstone::interp

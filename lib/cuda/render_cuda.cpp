#include "touchstone/cuda/render_cuda.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "touchstone/codegen/c_ops.h"
#include "touchstone/codegen/c_renderer.h"

namespace touchstone::cuda {

namespace {

using codegen::c_memory_type;
using codegen::c_type;

constexpr std::int64_t kSharedLeft = 40 << 10;  // bytes for what all blocks stored
constexpr std::int64_t kMostOwn = 128;          // elements of those that one thread folds alone
constexpr std::int64_t kMostUnrolled = 32;  // iterations of a loop whose arrays become registers

class GridRenderer final : public codegen::Renderer {
 public:
  // With opts.blocks: each block's part, and the last block's.
  enum class Part : std::uint8_t { Whole, Sums, Fold };
  explicit GridRenderer(const GridKernel& grid, Part part = Part::Whole)
      : Renderer(grid.linear),
        grid_(grid),
        part_(part),
        lanes_(part == Part::Sums ? grid.opts.blocks * grid.opts.threads : grid.opts.lanes()) {
    inline_.assign(inline_.size(), false);
  }

  std::string render(std::string_view symbol) {
    codegen::append_all(out_, "KERNEL(", grid_.opts.threads, ") ", symbol, "(");
    std::vector<std::string> all = parameters();
    if (kernel_.checks()) all.emplace_back("void* faults");
    if (grid_.opts.blocks != 0) all.emplace_back("u64* scratch");
    out_ += fmt::format("{}) {{\n", fmt::join(all, ", "));
    for (const BufferSpec& b : kernel_.buffers)
      line("b", b.idx, " = __builtin_assume_aligned(b", b.idx, ", 64);");
    if (kernel_.split == -1 && !grid_.opts.team) line("if (THREAD != 0 || BLOCK != 0) return;");
    if (kernel_.split == -1 && grid_.opts.team && part_ == Part::Whole)
      line("if (BLOCK != 0) return;");
    render_steps();
    if (part_ == Part::Sums) {
      leave_sums();
      out_ += GridRenderer(grid_, Part::Fold).fold();
    }
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  void render_steps() {
    if (grid_.opts.team) open_team();
    const int end = part_ == Part::Sums ? grid_.cut : count();
    for (int i = 0; i < end; ++i)
      if (part_ != Part::Fold || i >= grid_.cut || !is_summing(i)) step(i);
  }

  // Renders the code of the last block, in its own scope.
  std::string fold() {
    for (int i = 0; i < grid_.cut; ++i)
      if (const LinearStep& u = uop(i); u.kind == StepKind::DefineAcc && grid_.shared[at(i)])
        shared_left_ += grid_.places_of_block(std::get<int>(u.arg)) *
                        static_cast<std::int64_t>(itemsize(u.dtype));
    out_ += "  {\n";
    ++indent_;
    render_steps();
    out_ += "  }\n";
    return std::move(out_);
  }

  // Defines this thread's number in its row, and the row's number in the block.
  void open_team() {
    const int columns = grid_.opts.columns;
    if (part_ == Part::Sums && grid_.run() == grid_.opts.threads)
      line("const u32 lane = BLOCK * ", grid_.opts.threads, "u + THREAD;");
    else if (part_ == Part::Sums)
      line("const u32 lane = THREAD / ", grid_.run(), " * ", grid_.turn(), " + BLOCK * ",
           grid_.run(), " + THREAD % ", grid_.run(), ";");
    else if (columns == 1)
      line("const u32 lane = THREAD;");
    else
      line("const u32 lane = THREAD / ", columns, "u, column = THREAD % ", columns, "u;");
  }

  // True for what each block has done: loops and their bodies.
  bool is_summing(int i) {
    const StepKind kind = uop(i).kind;
    if (kind == StepKind::Loop) ++skipped_;
    if (kind == StepKind::EndLoop) --skipped_;
    return skipped_ > 0 || kind == StepKind::EndLoop;
  }

  // An array has one copy per row of a block.
  std::string place(int memory, int index) const override {
    return own_.contains(memory) ? own_place(memory, index) : place(memory, text_[at(index)].text);
  }
  std::string place(int array, const std::string& index) const {
    if (part_ == Part::Sums && grid_.shared[at(array)])
      return codegen::joined(text_[at(array)].text, "[(u32)(", index, ") / ", grid_.turn(), "u * ",
                             grid_.run(), " + (u32)(", index, ") % ", grid_.run(), "u]");
    if (!grid_.shared[at(array)] || grid_.opts.columns == 1)
      return codegen::joined(text_[at(array)].text, "[", index, "]");
    return codegen::joined(text_[at(array)].text, "[(", index, ") * ", grid_.opts.columns,
                           " + column]");
  }

  std::string fault_place() const override {
    return codegen::joined("faults, (i64)BLOCK * ", grid_.opts.threads, " + THREAD");
  }

  // True if all threads of a block run a step with the same values, so that only one may have its
  // effects.
  bool alone() const { return grid_.opts.team && shared_depth_ == 0; }

  void step(int i) override {
    const LinearStep& u = uop(i);
    if (part_ == Part::Fold && i >= grid_.cut) take_to_shared(i);
    if (grid_.meeting[at(i)] == Meeting::Block) line("MEET();");
    if (grid_.meeting[at(i)] == Meeting::Warp) line("MEET_WARP(", grid_.opts.threads, ");");
    switch (u.kind) {
      case StepKind::DefineGlobal:
        text_[at(i)] = {codegen::joined("b", std::get<int>(u.arg)), true};
        return;
      case StepKind::DefineVar: text_[at(i)] = {"v_" + std::get<std::string>(u.arg), true}; return;
      case StepKind::DefineAcc: return define_acc(i);
      case StepKind::Loop: return open_loop(i);
      case StepKind::Store:
        return line(alone() ? "if (lane == 0) " : "", place(u.src[0], u.src[1]), " = ",
                    src(u, 2).text, ";");
      case StepKind::Prefetch:  // useful on a CPU core only
        return;
      case StepKind::Cast: {
        const DType from = dtype(u.src[0]);
        if (!is_float(u.dtype) || info(from).kind != DTypeKind::Signed) return Renderer::step(i);
        const char* const wide = itemsize(from) == 8 ? "i64" : "i32";
        return name_value(
            i, codegen::c_cast(
                   from, u.dtype,
                   {codegen::joined("FROM_SIGNED(", wide, ", ", src(u, 0).text, ")"), true}));
      }
      case StepKind::EndLoop:
        if (grid_.shared[at(u.src[0])]) --shared_depth_;
        return Renderer::step(i);
      default: return Renderer::step(i);
    }
  }

  void define_acc(int i) {
    const LinearStep& u = uop(i);
    const std::string name = codegen::joined(u.src.empty() ? "stage" : "acc", i);
    text_[at(i)] = {name, true};
    const int* const places = std::get_if<int>(&u.arg);
    if (places == nullptr) return line(c_type(u.dtype), " ", name, " = ", src(u, 0).text, ";");
    const bool shared = grid_.shared[at(i)];
    if (shared && part_ != Part::Whole) {
      define_in_scratch(i, name, *places);
    } else {
      line(shared ? "SHARED " : "", c_type(u.dtype), " ", name, "[",
           *places * (shared ? grid_.opts.columns : 1), "];");
    }
    if (u.src.empty() || (part_ == Part::Fold && i < grid_.cut)) return;
    if (!shared) {
      unroll(*places);
      line("for (u32 l = 0; l < ", *places, "; ++l) ", name, "[l] = ", src(u, 0).text, ";");
    } else if (*places == lanes_) {
      line(place(i, "lane"), " = ", src(u, 0).text, ";");
    } else {
      line("for (u32 l = lane; l < ", *places, "; l += ", lanes_, ") ", place(i, "l"), " = ",
           src(u, 0).text, ";");
    }
  }

  // Each block holds its part of an array in shared memory and stores what the last block reads.
  // The last block loads it into shared memory if it fits; else into registers, with each element
  // owned by one thread, until no more elements than threads remain.
  void define_in_scratch(int i, const std::string& name, std::int64_t places) {
    const std::string_view type = c_type(uop(i).dtype);
    const std::string room = codegen::joined("(", type, "*)(scratch + ", scratch_, ")");
    scratch_ += places;
    const std::int64_t left = grid_.left != 0 ? grid_.left : places;
    if (part_ == Part::Sums) {
      line("SHARED ", type, " ", name, "[", grid_.places_of_block(places), "];");
      leaves_.push_back(codegen::joined("for (u32 l = lane; l < ", left, "; l += ", lanes_, ") (",
                                        room, ")[l] = ", place(i, "l"), ";"));
    } else if (const std::int64_t bytes = left * static_cast<std::int64_t>(itemsize(uop(i).dtype));
               i < grid_.cut && shared_left_ + bytes <= kSharedLeft) {
      shared_left_ += bytes;
      line("SHARED ", type, " ", name, "[", left, "];");
      line("for (u32 l = lane; l < ", left, "; l += ", lanes_, ") ", name, "[l] = (", room,
           ")[l];");
    } else if (i < grid_.cut && folds_in_threads(i, left)) {
      line(type, " ", name, "[", left / lanes_, "];");
      line("#pragma clang loop unroll(full)");
      line("for (u32 l = 0; l < ", left / lanes_, "; ++l) ", name, "[l] = (", room, ")[l * ",
           lanes_, " + lane];");
      own_.insert(i);
      in_scratch_.push_back(i);
    } else {
      line(type, "* const ", name, " = ", room, ";");
      if (i < grid_.cut) in_scratch_.push_back(i);
    }
  }

  // The number of elements of an array reachable by steps from `first` on; 0 if unknown.
  std::int64_t reach(int array, int first) const {
    std::int64_t most = 0;
    for (int i = first; i < count(); ++i) {
      const auto access = access_of(uop(i));
      if (!access || access->memory != array) continue;
      const int index = access->index,
                loop = uop(index).kind == StepKind::Index ? uop(index).src[0] : index;
      const auto apart = beyond(index, loop);
      if (const auto constant = number(index))
        most = std::max(most, *constant + 1);
      else if (apart && turns(loop).value_or(0) != 0)
        most = std::max(most, *turns(loop) + *apart);
      else
        return 0;
    }
    return most;
  }

  // True if, from the cut until an array of `places` moves to shared memory, each element is only
  // accessed by the thread with its number modulo the threads.
  bool folds_in_threads(int array, std::int64_t places) const {
    if (places % lanes_ != 0 || places / lanes_ > kMostOwn) return false;
    int loop = -1;  // the shared loop around the step
    for (int i = grid_.cut; i < count(); ++i) {
      const LinearStep& u = uop(i);
      if (loop == -1 && u.kind == StepKind::Loop) {
        if (const std::int64_t left = reach(array, i); left > 0 && left <= lanes_)
          return grid_.meeting[at(i)] == Meeting::Block;
        const std::int64_t all = turns(i).value_or(0);
        if (!grid_.shared[at(i)] || all % lanes_ != 0 || all / lanes_ > kMostOwn) return false;
        loop = i;
      } else if (u.kind == StepKind::EndLoop && u.src[0] == loop) {
        loop = -1;
      } else if (const auto access = access_of(u); access && access->memory == array) {
        const auto apart = loop == -1 ? std::nullopt : beyond(access->index, loop);
        if (!apart || *apart < 0 || *apart % lanes_ != 0) return false;
      }
    }
    return false;
  }

  // Inside the loop of whole turns from open_shared.
  std::string own_place(int array, int index) const {
    const int loop = uop(index).kind == StepKind::Loop ? index : uop(index).src[0];
    return codegen::joined(
        text_[at(array)].text, "[",
        turns(loop) == lanes_ ? "0" : "t_" + std::get<std::string>(uop(loop).arg), " + ",
        *beyond(index, loop) / lanes_, "]");
  }

  // Once an array in device memory or registers has no more elements than there are threads, each
  // owned by one thread, moves it to shared memory.
  void take_to_shared(int i) {
    if (grid_.meeting[at(i)] == Meeting::None || uop(i).kind != StepKind::Loop ||
        in_scratch_.empty())
      return;
    for (std::size_t k = 0; k < in_scratch_.size();) {
      const int array = in_scratch_[k];
      const std::int64_t places = reach(array, i);
      if (places == 0 || places > lanes_) {
        ++k;
        continue;
      }
      const std::string& old = text_[at(array)].text;
      const std::string name = codegen::joined("few", array);
      line("SHARED ", c_type(uop(array).dtype), " ", name, "[", places, "];");
      line("if (lane < ", places, ") ", name, "[lane] = ", old,
           own_.erase(array) != 0 ? "[0];" : "[lane];");
      text_[at(array)] = {name, true};
      in_scratch_.erase(in_scratch_.begin() + static_cast<std::ptrdiff_t>(k));
    }
  }

  void leave_sums() {
    for (const std::string& leave : leaves_) line(leave);
    line("SHARED u32 is_last;");
    line("MEET();");
    line("if (THREAD == 0) is_last = LAST((u32*)scratch);");
    line("MEET();");
    line("if (is_last == 0) return;");
  }

  void unroll(std::int64_t turns) {
    if (turns <= kMostUnrolled) line("#pragma clang loop unroll(full)");
  }

  void open_loop(int i) {
    const LinearStep& u = uop(i);
    const std::string& name = std::get<std::string>(u.arg);
    if (i != kernel_.split && !grid_.shared[at(i)]) {
      if (const auto all = turns(i); all && u.src.size() == 2 && !grid_.opts.team && name[0] == 'l')
        unroll(*all);
      return Renderer::step(i);
    }
    text_[at(i)] = {name, true};
    if (i == kernel_.split)
      open_grid(name, src(u, 1).text);
    else
      open_shared(i);
    ++indent_;
  }

  // Counts iterations if their number is known, so that the compiler can unroll them all.
  void open_shared(int i) {
    const LinearStep& u = uop(i);
    const std::string &name = std::get<std::string>(u.arg), &end = src(u, 1).text;
    ++shared_depth_;
    const std::int64_t turns = number(u.src[1]).value_or(-1);
    if (turns == lanes_) return line("{ const i64 ", name, " = lane;");
    if (turns >= 0 && turns < lanes_)
      return line("if (lane < ", end, ") { const i64 ", name, " = lane;");
    if (turns < 0 || turns % lanes_ != 0)
      return line("for (i64 ", name, " = lane; ", name, " < ", end, "; ", name, " += ", lanes_,
                  ") {");
    if (turns / lanes_ <= (own_.empty() ? kMostUnrolled : kMostOwn))
      line("#pragma clang loop unroll(full)");
    line("for (u32 t_", name, " = 0; t_", name, " < ", turns / lanes_, "; ++t_", name,
         ") { const i64 ", name, " = (i64)t_", name, " * ", lanes_, " + lane;");
  }

  // With fault checks there are few threads, which take turns.
  void open_grid(const std::string& name, const std::string& end) {
    const bool strided = !is_direct(grid_);
    std::string first = "BLOCK", step = "BLOCKS";
    if (!grid_.opts.team) {
      first = fmt::format("(u32)(BLOCK * {}u + THREAD)", grid_.opts.threads);
      step = fmt::format("(i64)BLOCKS * {}", grid_.opts.threads);
    } else if (grid_.opts.columns != 1) {
      first = fmt::format("(u32)(BLOCK * {}u + column)", grid_.opts.columns);
    }
    if (strided) {
      line("for (i64 ", name, " = ", first, "; ", name, " < ", end, "; ", name, " += ", step,
           ") {");
    } else {
      // 32 bits: if clang knows the number to be small it uses 16 bits, and for sm_90 the assembler
      // in the driver for CUDA 13.0 miscompiles min.u16 beside a comparison.
      line("u32 n_", name, " = ", first, ";");
      line("if (n_", name, " < ", end, ") {");
      line("  HIDE(n_", name, ");");
      line("  const i64 ", name, " = n_", name, ";");
    }
  }

  // In a team: one pass for each reduce and one for the output.
  bool is_read_again(int buffer) const {
    return grid_.opts.team && part_ == Part::Whole &&
           std::ranges::count_if(kernel_.steps, [&](const LinearStep& s) {
             return s.kind == StepKind::Load && s.src[0] == buffer;
           }) > 1;
  }

  std::string loaded(const LinearStep& u) const override {
    if (!is_read_again(u.src[0])) return Renderer::loaded(u);
    return codegen::joined("KEEP", itemsize(u.dtype), "(", c_memory_type(u.dtype), ", ",
                           src(u, 0).text, " + ", src(u, 1).operand(), ")");
  }

  const GridKernel& grid_;
  Part part_;
  std::int64_t lanes_;  // threads sharing a loop
  std::int64_t scratch_ = kScratchHead;
  std::vector<std::string> leaves_;  // stored for the last block
  std::vector<int> in_scratch_;      // the last block's arrays in device memory or registers
  std::set<int> own_;                // those of them in registers
  std::int64_t shared_left_ = 0;     // bytes of shared memory in use
  int skipped_ = 0;
  int shared_depth_ = 0;
};

}  // namespace

std::string render_cuda_function(const GridKernel& kernel, std::string_view symbol) {
  using Part = GridRenderer::Part;
  return GridRenderer(kernel, kernel.opts.blocks == 0 ? Part::Whole : Part::Sums).render(symbol);
}

std::string host_entry(const GridKernel& kernel, std::string_view symbol) {
  std::vector<std::string> given;
  const LinearKernel& linear = kernel.linear;
  for (std::size_t i = 0; i < linear.buffers.size(); ++i)
    given.push_back(fmt::format("arguments[{}]", i));
  for (std::size_t i = 0; i < linear.variables.size(); ++i)
    given.push_back(fmt::format("vars[{}]", i));
  if (linear.checks() || kernel.opts.blocks != 0)
    given.push_back(fmt::format("arguments[{}]", linear.buffers.size()));
  return fmt::format(
      "void {0}_on_host(void* const* arguments, const i64* vars, struct grid* at) {{\n"
      "  here = at;\n  {0}({1});\n  (void)arguments; (void)vars;\n}}\n",
      symbol, fmt::join(given, ", "));
}

}  // namespace touchstone::cuda

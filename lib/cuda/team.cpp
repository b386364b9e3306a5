#include "touchstone/cuda/team.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include <fmt/format.h>

#include "touchstone/base/error.h"

namespace touchstone::cuda {

namespace {

constexpr std::int64_t kSharedBytes = 48 << 10;  // per block, on every device

// The array element that a step accesses; `array` is -1 for other steps.
struct Access {
  int array = -1;
  int index = -1;
  bool writes = false;
};

class Team {
 public:
  explicit Team(GridKernel& grid) : grid_(grid), steps_(grid.linear.steps) {
    grid_.shared.assign(steps_.size(), false);
    grid_.meeting.assign(steps_.size(), Meeting::None);
  }

  void run() {
    if (!grid_.opts.team) return;
    find_shared();
    if (grid_.opts.columns > 1) check_columns();
    for (int i = 0; i < count(); ++i) visit(i);
    if (grid_.opts.blocks > 0) cut();
  }

 private:
  int count() const { return static_cast<int>(steps_.size()); }
  const LinearStep& step(int i) const { return steps_[static_cast<std::size_t>(i)]; }
  bool is_shared(int i) const { return grid_.shared[static_cast<std::size_t>(i)]; }

  Access access_of(int i) const {
    const LinearStep& s = step(i);
    if (s.kind == StepKind::LoadAcc) return {s.src[0], s.src[1], false};
    if (s.kind == StepKind::Assign && s.src.size() == 3) return {s.src[0], s.src[2], true};
    return {};
  }

  static bool has_places(const LinearStep& s) {
    return s.kind == StepKind::DefineAcc && std::holds_alternative<int>(s.arg);
  }

  // Finds arrays outside all loops except the grid's, and the innermost loop of each nest that
  // iterates over them or around the store.
  void find_shared() {
    std::vector<int> open;
    std::vector<int> stores;  // the loop around each store
    std::set<int> counting;
    std::map<int, std::vector<int>> nest;  // of a loop: the loops around it
    for (int i = 0; i < count(); ++i) {
      const LinearStep& s = step(i);
      if (s.kind == StepKind::Loop && i != grid_.linear.split) {
        nest[i] = open;
        open.push_back(i);
      }
      if (s.kind == StepKind::EndLoop && s.src[0] != grid_.linear.split) open.pop_back();
      if (has_places(s) && open.empty()) grid_.shared[static_cast<std::size_t>(i)] = true;
      if (const Access a = access_of(i); a.array != -1 && is_shared(a.array))
        if (std::ranges::find(open, a.index) != open.end()) counting.insert(a.index);
      if (s.kind == StepKind::Store && !open.empty()) counting.insert(open.back());
    }
    for (const int loop : counting) {
      const auto& round = nest[loop];
      if (std::ranges::none_of(round, [&](int r) { return counting.contains(r); }))
        grid_.shared[static_cast<std::size_t>(loop)] = true;
    }
    for (int i = 0; i < count(); ++i)
      if (step(i).kind == StepKind::Loop && is_shared(i) && !is_zero(step(step(i).src[0])))
        refuse(fmt::format("loop {} does not begin at 0", std::get<std::string>(step(i).arg)));
    check_sums();
    check_room();
  }

  static bool is_zero(const LinearStep& s) {
    return s.kind == StepKind::Const && std::get<Scalar>(s.arg).to_int64() == 0;
  }

  void check_room() const {
    std::int64_t bytes = 0;
    for (int i = 0; i < count(); ++i)
      if (step(i).kind == StepKind::DefineAcc && is_shared(i))
        bytes += std::int64_t{std::get<int>(step(i).arg)} *
                 static_cast<std::int64_t>(itemsize(step(i).dtype));
    bytes *= grid_.opts.columns;
    if (bytes > kSharedBytes && grid_.opts.blocks == 0)
      refuse(fmt::format("its arrays take {} bytes, but a block has {}", bytes, kSharedBytes));
  }

  // Threads that synchronize must run equal iterations of all loops, whatever their output row.
  void check_columns() const {
    if (!is_direct(grid_) || *grid_.iterations % grid_.opts.columns != 0)
      refuse(fmt::format("{} columns do not divide its rows of outputs", grid_.opts.columns));
    for (int i = 0; i < count(); ++i)
      if (const LinearStep& s = step(i); s.kind == StepKind::Loop && i != grid_.linear.split)
        for (const int bound : {s.src[0], s.src[1]})
          if (bound > grid_.linear.split && step(bound).kind != StepKind::Const)
            refuse("a loop's bounds are not the same for all rows of outputs");
  }

  // Cuts at the first read, outside all loops, of an element that another thread of the grid wrote.
  void cut() {
    if (grid_.linear.split != -1 || grid_.linear.checks())
      refuse("blocks(...) needs a kernel of one row of outputs that checks no positions");
    int depth = 0;
    for (int i = 0; i < count() && grid_.cut == -1; ++i) {
      if (step(i).kind == StepKind::EndLoop) --depth;
      if (const Access a = access_of(i); a.array != -1 && is_shared(a.array))
        if (step(a.index).kind != StepKind::Loop || !is_shared(a.index)) {
          grid_.cut = i;
          for (int k = i; depth > 0 && k >= 0; --k)  // the outermost loop around it
            if (step(k).kind == StepKind::Loop) {
              grid_.cut = k;
              --depth;
            }
          break;
        }
      if (step(i).kind == StepKind::Store) break;
      if (step(i).kind == StepKind::Loop) ++depth;
    }
    if (grid_.cut == -1) refuse("blocks(...) needs reduces with running sums");
    check_first_part();
    while (folds_in_block(grid_.cut)) {
      grid_.meeting[static_cast<std::size_t>(grid_.cut)] = Meeting::Block;
      grid_.left = bound_of(grid_.cut);
      grid_.cut = next_loop(end_of(grid_.cut));
    }
    grid_.meeting[static_cast<std::size_t>(grid_.cut)] = Meeting::Block;
    check_room_of_first();
  }

  int end_of(int loop) const {
    int i = loop;
    while (step(i).kind != StepKind::EndLoop || step(i).src[0] != loop) ++i;
    return i;
  }
  int next_loop(int i) const {
    for (++i; i < count() && step(i).kind != StepKind::Loop && !is_access(i);) ++i;
    return i;
  }
  std::int64_t bound_of(int loop) const {
    const LinearStep& end = step(step(loop).src[1]);
    return end.kind == StepKind::Const ? std::get<Scalar>(end.arg).to_int64() : 0;
  }

  // True for a shared loop that adds elements a multiple of all blocks' lanes apart, which are one
  // block's own.
  bool folds_in_block(int loop) const {
    if (loop >= count() || step(loop).kind != StepKind::Loop || !is_shared(loop)) return false;
    if (bound_of(loop) == 0 || bound_of(loop) % grid_.turn() != 0) return false;
    const int end = end_of(loop);
    if (next_loop(end) >= count()) return false;  // the last block needs some work left
    for (int i = loop + 1; i < end; ++i) {
      const StepKind kind = step(i).kind;
      if (kind == StepKind::Loop || kind == StepKind::Store || kind == StepKind::DefineAcc)
        return false;
      const Access a = access_of(i);
      if (a.array != -1 && (!is_shared(a.array) || !is_of_same_block(a, loop))) return false;
    }
    return true;
  }

  bool is_of_same_block(const Access& access, int loop) const {
    if (access.index == loop) return true;
    const LinearStep& at = step(access.index);
    const auto* const op = std::get_if<IndexOp>(&at.arg);
    return at.kind == StepKind::Index && op != nullptr && *op == IndexOp::Add &&
           at.src[0] == loop && step(at.src[1]).kind == StepKind::Const &&
           std::get<Scalar>(step(at.src[1]).arg).to_int64() % grid_.turn() == 0;
  }

  void check_room_of_first() const {
    std::int64_t bytes = 0;
    for (int i = 0; i < grid_.cut; ++i)
      if (step(i).kind == StepKind::DefineAcc && is_shared(i))
        bytes += grid_.places_of_block(std::get<int>(step(i).arg)) *
                 static_cast<std::int64_t>(itemsize(step(i).dtype));
    if (bytes > kSharedBytes)
      refuse(fmt::format("its arrays take {} bytes, but a block has {}", bytes, kSharedBytes));
  }

  // The part that all blocks run may have no store, and only sums in arrays.
  void check_first_part() const {
    for (int i = 0; i < grid_.cut; ++i)
      if (const LinearStep& s = step(i);
          s.kind == StepKind::Store || (s.kind == StepKind::DefineAcc && !is_shared(i)))
        refuse("blocks(...) needs a kernel that begins with one reduce with running sums");
    int depth = 0;
    for (int i = 0; i < grid_.cut; ++i) {
      if (step(i).kind == StepKind::Loop) ++depth;
      if (step(i).kind == StepKind::EndLoop) --depth;
    }
    if (depth != 0) refuse("blocks(...): the fold of the running sums is inside a loop");
  }

  // A scalar sum belongs to one thread: no shared loop may separate its definition from additions
  // to it.
  void check_sums() const {
    std::vector<int> inside(static_cast<std::size_t>(count()), -1);  // by step: its shared loop
    int open = -1;
    for (int i = 0; i < count(); ++i) {
      if (step(i).kind == StepKind::Loop && is_shared(i)) open = i;
      inside[static_cast<std::size_t>(i)] = open;
      if (step(i).kind == StepKind::EndLoop && step(i).src[0] == open) open = -1;
    }
    for (int i = 0; i < count(); ++i) {
      const LinearStep& s = step(i);
      if (s.kind != StepKind::Assign || s.src.size() == 3) continue;
      if (inside[static_cast<std::size_t>(i)] != inside[static_cast<std::size_t>(s.src[0])])
        refuse("a sum outside a loop that threads share is updated inside it");
    }
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw AstError(fmt::format("team(1): {}: {}", grid_.linear.name, why));
  }

  void meet_before(int i) {
    grid_.meeting[static_cast<std::size_t>(i)] = Meeting::Block;
    since_block_ = {};
    in_warp_ = {};
  }

  // Only the first warp synchronizes, after work that only it did.
  void meet_in_warp(int i) {
    grid_.meeting[static_cast<std::size_t>(i)] = Meeting::Warp;
    in_warp_ = {};
  }

  // Accesses from step `begin` to the end of its loop, or of one step.
  struct Phase {
    std::set<int> own_writes, far_reads;
    bool in_warp = false;  // only threads of the first warp take part
  };

  // With one output row per block: thread k runs iteration k of a loop this short.
  bool is_of_first_warp(int loop) const {
    const std::int64_t end = bound_of(loop);
    return grid_.opts.blocks == 0 && grid_.opts.columns == 1 && end > 0 && end <= grid_.opts.warp;
  }

  Phase phase_of(int begin) const {
    Phase phase;
    const bool loop = step(begin).kind == StepKind::Loop;
    phase.in_warp = loop && is_of_first_warp(begin);
    for (int i = begin; i < count(); ++i) {
      if (const Access a = access_of(i); a.array != -1 && is_shared(a.array))
        add(phase, a, loop ? begin : -1);
      if (!loop || (step(i).kind == StepKind::EndLoop && step(i).src[0] == begin)) break;
    }
    return phase;
  }

  void add(Phase& phase, const Access& access, int loop) const {
    const bool own = loop != -1 && access.index == loop;
    if (access.writes && !own) refuse("an array element is not written by its own thread");
    if (access.writes) {
      phase.own_writes.insert(access.array);
    } else if (!own) {
      if (loop != -1 && is_of_same_thread(access, loop)) return;
      phase.far_reads.insert(access.array);
      if (loop != -1) check_far(access, loop);
    }
  }

  // True if an element is a whole number of turns away, so that it belongs to the same thread.
  bool is_of_same_thread(const Access& access, int loop) const {
    const LinearStep& at = step(access.index);
    const auto* const op = std::get_if<IndexOp>(&at.arg);
    return at.kind == StepKind::Index && op != nullptr && *op == IndexOp::Add &&
           at.src[0] == loop && step(at.src[1]).kind == StepKind::Const &&
           std::get<Scalar>(step(at.src[1]).arg).to_int64() % grid_.opts.lanes() == 0;
  }

  // Elements beyond the loop's end are not written in it.
  void check_far(const Access& access, int loop) const {
    const LinearStep& at = step(access.index);
    const LinearStep& end = step(step(loop).src[1]);
    const auto* const op = std::get_if<IndexOp>(&at.arg);
    const bool beyond =
        at.kind == StepKind::Index && op != nullptr && *op == IndexOp::Add && at.src[0] == loop &&
        end.kind == StepKind::Const && step(at.src[1]).kind == StepKind::Const &&
        std::get<Scalar>(step(at.src[1]).arg).to_int64() >= std::get<Scalar>(end.arg).to_int64();
    if (!beyond) refuse("a thread reads an array element that another thread may be writing");
  }

  void visit(int i) {
    const LinearStep& s = step(i);
    if (s.kind == StepKind::EndLoop && is_shared(s.src[0])) inside_ = false;
    if (inside_) return;
    if (s.kind == StepKind::EndLoop) return end_of_loop(i);
    if (has_places(s) && is_shared(i) && !s.src.empty()) {  // filled at its definition
      if (since_block_.read.contains(i)) meet_before(i);
      since_block_.wide.insert(i);
      since_block_.written.insert(i);
    } else if (s.kind == StepKind::Loop && !is_shared(i)) {
      open_.push_back({since_block_, in_warp_, false});
    } else if (s.kind == StepKind::Loop || is_access(i)) {
      enter(phase_of(i), i);
      inside_ = s.kind == StepKind::Loop;
    }
  }

  bool is_access(int i) const {
    const Access a = access_of(i);
    return a.array != -1 && is_shared(a.array);
  }

  // Arrays that threads wrote, and that they read at other threads' elements; `wide`: those
  // accessed by threads beyond the first warp.
  struct Touched {
    std::set<int> written, read, wide;

    void add(const Phase& phase) {
      for (const auto& [from, to] :
           {std::pair{&phase.own_writes, &written}, {&phase.far_reads, &read}}) {
        to->insert(from->begin(), from->end());
        if (!phase.in_warp) wide.insert(from->begin(), from->end());
      }
    }
    void merge(Touched& other) {
      written.merge(other.written);
      read.merge(other.read);
      wide.merge(other.wide);
    }
    // Arrays that `phase` reads and another phase wrote, or vice versa.
    std::set<int> met_by(const Phase& phase) const {
      std::set<int> both;
      std::ranges::set_intersection(phase.far_reads, written, std::inserter(both, both.end()));
      std::ranges::set_intersection(phase.own_writes, read, std::inserter(both, both.end()));
      return both;
    }
  };

  void enter(const Phase& phase, int i) {
    const std::set<int> met = since_block_.met_by(phase);
    const auto is_wide = [&](int array) { return since_block_.wide.contains(array); };
    if (!met.empty() && (!phase.in_warp || std::ranges::any_of(met, is_wide)))
      meet_before(i);
    else if (!in_warp_.met_by(phase).empty())
      meet_in_warp(i);
    since_block_.add(phase);
    in_warp_.add(phase);
    if (!phase.far_reads.empty())
      for (Open& loop : open_) loop.reads = true;
  }

  // If the next iteration of a loop reads what other threads wrote, all synchronize; the loop may
  // also run zero times.
  void end_of_loop(int i) {
    if (is_shared(step(i).src[0])) return;
    if (open_.back().reads) meet_before(i);
    since_block_.merge(open_.back().since_block);
    in_warp_.merge(open_.back().in_warp);
    open_.pop_back();
  }

  // A loop that all threads run: the state before it, and whether it reads other threads' elements.
  struct Open {
    Touched since_block, in_warp;
    bool reads = false;
  };

  GridKernel& grid_;
  const std::vector<LinearStep>& steps_;
  Touched since_block_;  // since the last block barrier
  Touched in_warp_;      // since the last warp barrier
  std::vector<Open> open_;
  bool inside_ = false;  // inside a shared loop
};

}  // namespace

void share_in_teams(GridKernel& grid) { Team(grid).run(); }

}  // namespace touchstone::cuda

#include "touchstone/cuda/team.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include <fmt/format.h>

#include "touchstone/base/error.h"
#include "touchstone/uop/step_reader.h"

namespace touchstone::cuda {

namespace {

constexpr std::int64_t kSharedBytes = 48 << 10;  // per block, on every device

class Team : StepReader {
 public:
  explicit Team(GridKernel& grid) : StepReader(grid.linear), grid_(grid) {
    grid_.shared.assign(kernel_.steps.size(), false);
    grid_.meeting.assign(kernel_.steps.size(), Meeting::None);
  }

  void run() {
    if (!grid_.opts.team) return;
    find_shared();
    if (grid_.opts.columns > 1) check_columns();
    for (int i = 0; i < count(); ++i) visit(i);
    if (grid_.opts.blocks > 0) cut();
  }

 private:
  bool is_shared(int i) const { return grid_.shared[at(i)]; }

  // The access of a step to an array that the block shares.
  std::optional<StepAccess> shared_access(int i) const {
    const auto access = access_of(uop(i));
    return access && is_shared(access->memory) ? access : std::nullopt;
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
      const LinearStep& s = uop(i);
      if (s.kind == StepKind::Loop && i != grid_.linear.split) {
        nest[i] = open;
        open.push_back(i);
      }
      if (s.kind == StepKind::EndLoop && s.src[0] != grid_.linear.split) open.pop_back();
      if (has_places(s) && open.empty()) grid_.shared[at(i)] = true;
      if (const auto a = shared_access(i))
        if (std::ranges::find(open, a->index) != open.end()) counting.insert(a->index);
      if (s.kind == StepKind::Store && !open.empty()) counting.insert(open.back());
    }
    for (const int loop : counting) {
      const auto& round = nest[loop];
      if (std::ranges::none_of(round, [&](int r) { return counting.contains(r); }))
        grid_.shared[at(loop)] = true;
    }
    for (int i = 0; i < count(); ++i)
      if (uop(i).kind == StepKind::Loop && is_shared(i) && number(uop(i).src[0]) != 0)
        refuse(fmt::format("loop {} does not begin at 0", std::get<std::string>(uop(i).arg)));
    check_sums();
    check_room();
  }

  void check_room() const {
    std::int64_t bytes = 0;
    for (int i = 0; i < count(); ++i)
      if (uop(i).kind == StepKind::DefineAcc && is_shared(i))
        bytes += std::int64_t{std::get<int>(uop(i).arg)} *
                 static_cast<std::int64_t>(itemsize(uop(i).dtype));
    bytes *= grid_.opts.columns;
    if (bytes > kSharedBytes && grid_.opts.blocks == 0)
      refuse(fmt::format("its arrays take {} bytes, but a block has {}", bytes, kSharedBytes));
  }

  // Threads that synchronize must run equal iterations of all loops, whatever their output row.
  void check_columns() const {
    if (!is_direct(grid_) || *grid_.iterations % grid_.opts.columns != 0)
      refuse(fmt::format("{} columns do not divide its rows of outputs", grid_.opts.columns));
    for (int i = 0; i < count(); ++i)
      if (const LinearStep& s = uop(i); s.kind == StepKind::Loop && i != grid_.linear.split)
        for (const int bound : {s.src[0], s.src[1]})
          if (bound > grid_.linear.split && uop(bound).kind != StepKind::Const)
            refuse("a loop's bounds are not the same for all rows of outputs");
  }

  // Cuts at the first read, outside all loops, of an element that another thread of the grid wrote.
  void cut() {
    if (grid_.linear.split != -1 || grid_.linear.checks())
      refuse("blocks(...) needs a kernel of one row of outputs that checks no positions");
    int depth = 0;
    for (int i = 0; i < count() && grid_.cut == -1; ++i) {
      if (uop(i).kind == StepKind::EndLoop) --depth;
      if (const auto a = shared_access(i))
        if (uop(a->index).kind != StepKind::Loop || !is_shared(a->index)) {
          grid_.cut = i;
          for (int k = i; depth > 0 && k >= 0; --k)  // the outermost loop around it
            if (uop(k).kind == StepKind::Loop) {
              grid_.cut = k;
              --depth;
            }
          break;
        }
      if (uop(i).kind == StepKind::Store) break;
      if (uop(i).kind == StepKind::Loop) ++depth;
    }
    if (grid_.cut == -1) refuse("blocks(...) needs reduces with running sums");
    check_first_part();
    while (folds_in_block(grid_.cut)) {
      grid_.meeting[at(grid_.cut)] = Meeting::Block;
      grid_.left = bound_of(grid_.cut);
      grid_.cut = next_loop(end_of(grid_.cut));
    }
    grid_.meeting[at(grid_.cut)] = Meeting::Block;
    check_room_of_first();
  }

  int next_loop(int i) const {
    for (++i; i < count() && uop(i).kind != StepKind::Loop && !shared_access(i);) ++i;
    return i;
  }
  // 0 if it is not constant.
  std::int64_t bound_of(int loop) const { return turns(loop).value_or(0); }

  // True for a shared loop that adds elements a multiple of all blocks' lanes apart, which are one
  // block's own.
  bool folds_in_block(int loop) const {
    if (loop >= count() || uop(loop).kind != StepKind::Loop || !is_shared(loop)) return false;
    if (bound_of(loop) == 0 || bound_of(loop) % grid_.turn() != 0) return false;
    const int end = end_of(loop);
    if (next_loop(end) >= count()) return false;  // the last block needs some work left
    for (int i = loop + 1; i < end; ++i) {
      const StepKind kind = uop(i).kind;
      if (kind == StepKind::Loop || kind == StepKind::Store || kind == StepKind::DefineAcc)
        return false;
      const auto a = access_of(uop(i));
      if (!a || uop(a->memory).kind != StepKind::DefineAcc) continue;
      const auto apart = beyond(a->index, loop);
      if (!is_shared(a->memory) || !apart || *apart % grid_.turn() != 0) return false;
    }
    return true;
  }

  void check_room_of_first() const {
    std::int64_t bytes = 0;
    for (int i = 0; i < grid_.cut; ++i)
      if (uop(i).kind == StepKind::DefineAcc && is_shared(i))
        bytes += grid_.places_of_block(std::get<int>(uop(i).arg)) *
                 static_cast<std::int64_t>(itemsize(uop(i).dtype));
    if (bytes > kSharedBytes)
      refuse(fmt::format("its arrays take {} bytes, but a block has {}", bytes, kSharedBytes));
  }

  // The part that all blocks run may have no store, and only sums in arrays.
  void check_first_part() const {
    for (int i = 0; i < grid_.cut; ++i)
      if (const LinearStep& s = uop(i);
          s.kind == StepKind::Store || (s.kind == StepKind::DefineAcc && !is_shared(i)))
        refuse("blocks(...) needs a kernel that begins with one reduce with running sums");
    int depth = 0;
    for (int i = 0; i < grid_.cut; ++i) {
      if (uop(i).kind == StepKind::Loop) ++depth;
      if (uop(i).kind == StepKind::EndLoop) --depth;
    }
    if (depth != 0) refuse("blocks(...): the fold of the running sums is inside a loop");
  }

  // A scalar sum belongs to one thread: no shared loop may separate its definition from additions
  // to it.
  void check_sums() const {
    std::vector<int> inside(at(count()), -1);  // by step: its shared loop
    int open = -1;
    for (int i = 0; i < count(); ++i) {
      if (uop(i).kind == StepKind::Loop && is_shared(i)) open = i;
      inside[at(i)] = open;
      if (uop(i).kind == StepKind::EndLoop && uop(i).src[0] == open) open = -1;
    }
    for (int i = 0; i < count(); ++i) {
      const LinearStep& s = uop(i);
      if (s.kind != StepKind::Assign || s.src.size() == 3) continue;
      if (inside[at(i)] != inside[at(s.src[0])])
        refuse("a sum outside a loop that threads share is updated inside it");
    }
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw AstError(fmt::format("team(1): {}: {}", grid_.linear.name, why));
  }

  void meet_before(int i) {
    grid_.meeting[at(i)] = Meeting::Block;
    since_block_ = {};
    in_warp_ = {};
  }

  // Only the first warp synchronizes, after work that only it did.
  void meet_in_warp(int i) {
    grid_.meeting[at(i)] = Meeting::Warp;
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
    const bool loop = uop(begin).kind == StepKind::Loop;
    phase.in_warp = loop && is_of_first_warp(begin);
    for (int i = begin; i < count(); ++i) {
      if (const auto a = shared_access(i)) add(phase, *a, loop ? begin : -1);
      if (!loop || (uop(i).kind == StepKind::EndLoop && uop(i).src[0] == begin)) break;
    }
    return phase;
  }

  void add(Phase& phase, const StepAccess& access, int loop) const {
    const auto apart = loop == -1 ? std::nullopt : beyond(access.index, loop);
    if (access.writes && apart != 0) refuse("an array element is not written by its own thread");
    if (access.writes) {
      phase.own_writes.insert(access.memory);
    } else if (apart != 0) {
      // A whole number of turns away it belongs to the same thread.
      if (apart && *apart % grid_.opts.lanes() == 0) return;
      phase.far_reads.insert(access.memory);
      // Elements beyond the loop's end are not written in it.
      if (loop != -1 && (!apart || !turns(loop) || *apart < *turns(loop)))
        refuse("a thread reads an array element that another thread may be writing");
    }
  }

  void visit(int i) {
    const LinearStep& s = uop(i);
    if (s.kind == StepKind::EndLoop && is_shared(s.src[0])) inside_ = false;
    if (inside_) return;
    if (s.kind == StepKind::EndLoop) return end_of_loop(i);
    if (has_places(s) && is_shared(i) && !s.src.empty()) {  // filled at its definition
      if (since_block_.read.contains(i)) meet_before(i);
      since_block_.wide.insert(i);
      since_block_.written.insert(i);
    } else if (s.kind == StepKind::Loop && !is_shared(i)) {
      open_.push_back({since_block_, in_warp_, false});
    } else if (s.kind == StepKind::Loop || shared_access(i)) {
      enter(phase_of(i), i);
      inside_ = s.kind == StepKind::Loop;
    }
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
    if (is_shared(uop(i).src[0])) return;
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
  Touched since_block_;  // since the last block barrier
  Touched in_warp_;      // since the last warp barrier
  std::vector<Open> open_;
  bool inside_ = false;  // inside a shared loop
};

}  // namespace

void share_in_teams(GridKernel& grid) { Team(grid).run(); }

}  // namespace touchstone::cuda

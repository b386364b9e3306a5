#include "touchstone/kernelize/ranges.h"

#include <algorithm>
#include <map>

#include "touchstone/kernelize/region.h"
#include "touchstone/kernelize/view_pool.h"
#include "touchstone/uop/graph_op.h"

namespace touchstone::kernelize {
namespace {

constexpr std::size_t kMostSites = 4;        // per node
constexpr std::size_t kMostAround = 24;      // loops around one node
constexpr int kMostReduces = 16;             // per kernel
constexpr std::size_t kMostAbsorbing = 256;  // nodes of a kernel that absorbs others
constexpr std::size_t kMostLoading = 256;    // nodes of a kernel whose loads are all counted
constexpr std::int64_t kMostCounted = std::int64_t{1} << 22;  // terms of counting reduces

using Loops = std::vector<int>;  // loop numbers, outermost first

// Where a node is computed: in the kernel of a realized node, once per index of `loops`; `st` maps
// those to the node's elements.
struct Site {
  const UOpNode* kernel = nullptr;
  const ShapeTracker* st = nullptr;
  Loops loops;   // loops that it varies along
  Loops around;  // loops that enclose it as written

  bool same(const Site& o) const { return kernel == o.kernel && st == o.st && loops == o.loops; }
};

struct Sites {
  std::vector<Site> all;
  bool too_many = false;
};

class Ranges {
 public:
  Ranges(const UOp& sink, const UOpSet& memory, const UOpSet& asked)
      : order_(sink.toposort()), memory_(memory), asked_(asked) {
    for (const UOp& u : order_)
      if (u.op() == GraphOp::Assign) assigned_.add(u.src(0).base());
  }

  UOpSet run(bool stores_shared) {
    if (stores_shared) find_children();
    for (const UOp& u : order_) {
      if (!memory_.has(u) || asked_.has(u) || !is_elementwise(u.op())) continue;
      const Region region = region_of(u);
      if (region.is_cheap() && !reads_assigned(region)) cheap_.add(u);
    }
    for (std::size_t i = order_.size(); i-- > 0;) place(order_[i]);
    UOpSet kept;
    for (const UOp& u : order_)
      if ((memory_.has(u) && !taken_back_.has(u)) || added_.has(u)) kept.add(u);
    return kept;
  }

 private:
  struct Loop {
    std::int64_t size = 1;
    bool of_output = false;
  };

  void place(const UOp& u) {
    if (u.op() == GraphOp::Sink || !has_values(u)) return;
    Sites* const known = sites_.find(u);
    if (!memory_.has(u)) {
      if (known == nullptr) return;  // it is not computed
      if (several_kernels(*known) && is_elementwise(u.op()) && pays(u, *known)) {
        added_.add(u);
        return pass_down(u, own_kernel(u));
      }
      const Sites mine = *known;
      for (const Site& s : mine.all) pass_down(u, s);
      if (mine.too_many) refuse_below(u);
      return;
    }
    if (known != nullptr && may_take_back(u, *known)) {
      taken_back_.add(u);
      const Sites mine = *known;
      for (const Site& s : mine.all) pass_down(u, s);
      return;
    }
    pass_down(u, own_kernel(u));
  }

  Site own_kernel(const UOp& u) {
    kernels_.emplace(u.address(), u);
    Site own{u.address(), views_.intern(ShapeTracker::contiguous(u.shape())), {}, {}};
    for (const sint& s : u.shape()) own.loops.push_back(new_loop(s, true));
    own.around = own.loops;
    return compact(std::move(own));
  }

  int new_loop(const sint& size, bool of_output) {
    loops_.push_back({max_elements({size}), of_output});
    return static_cast<int>(loops_.size()) - 1;
  }

  // Removes loops along which nothing varies.
  Site compact(Site s) {
    const View& last = s.st->views().back();
    Mask once;
    Shape shape;
    Loops loops;
    for (std::size_t i = 0; i < s.loops.size(); ++i) {
      const sint& size = s.st->shape()[i];
      const bool unmasked = !last.mask() || (*last.mask())[i] == Range{sint(0), size};
      const bool still = size == sint(1) ||
                         (unmasked && last.strides()[i] == sint(0) && size.min().value_or(0) >= 1);
      once.emplace_back(0, still ? sint(1) : size);
      if (still) continue;
      shape.push_back(size);
      loops.push_back(s.loops[i]);
    }
    if (loops.size() == s.loops.size()) return s;
    s.st = views_.intern(merge_outermost(s.st->shrink(once).reshape(shape)));
    s.loops = std::move(loops);
    return s;
  }

  // Records how u reads its sources from this site.
  void pass_down(const UOp& u, const Site& site) {
    if (u.op() == GraphOp::View) {
      if (u.src().empty()) return;
      Site below = site;
      below.st = views_.intern(merge_outermost(u.tracker() + *site.st));
      return give(u.src(0), compact(std::move(below)));
    }
    keep_order(site);
    if (u.op() == GraphOp::ReduceAxis) return give(u.src(0), compact(under_reduce(u, site)));
    if (u.op() == GraphOp::Assign) return give(u.src(1), site);
    if (u.op() == GraphOp::Custom) return refuse_below(u);  // its sources are buffers
    if (u.op() == GraphOp::Gather) {
      sites_[u.src(1)].too_many = true;  // the table is memory
      return give(u.src(0), site);
    }
    for (const UOp& s : u.src()) give(s, site);
  }

  void give(const UOp& to, Site site) {
    if (!has_values(to) || to.op() == GraphOp::Buffer) return;
    Sites& sites = sites_[to];
    for (const Site& s : sites.all)
      if (s.same(site)) return;
    if (sites.all.size() == kMostSites || site.around.size() > kMostAround)
      sites.too_many = true;
    else
      sites.all.push_back(std::move(site));
  }

  void refuse_below(const UOp& u) {
    for (const UOp& s : u.src())
      if (has_values(s)) sites_[s].too_many = true;
  }

  // A reduce is placed in the loops that it varies along and opens its own; equal reduces there
  // share one set.
  Site under_reduce(const UOp& r, const Site& site) {
    auto [own, fresh] = own_loops_.try_emplace({r.address(), site.kernel, site.st, site.loops});
    if (fresh)
      for (const int axis : r.arg_as<UOpReduce>().axes)
        own->second.push_back(new_loop(r.src(0).shape()[static_cast<std::size_t>(axis)], false));
    Site below{site.kernel, views_.intern(terms_of(r, *site.st)), site.loops, site.loops};
    below.loops.insert(below.loops.end(), own->second.begin(), own->second.end());
    below.around = below.loops;
    return below;
  }

  bool may_take_back(const UOp& u, const Sites& sites) {
    if (asked_.has(u) || sites.too_many || !is_computed(u)) return false;
    const Region region = region_of(u);
    if (reads_assigned(region) || region.too_long) return false;
    if (cheap_.has(u)) return true;
    if (region.reduces > 0 && region.buffers.empty()) {
      return std::ranges::all_of(sites.all, [&](const Site& s) { return keeps_orders(s); }) &&
             counts_little(sites, region);
    }
    if (sites.all.size() != 1) return false;
    const Site& site = sites.all.front();
    if (reduces_in_[site.kernel] + region.reduces > kMostReduces) return false;
    if (executed(site) > max_elements(u.shape())) return false;
    if (region.reduces > 0 && changes_in_reduce(site)) return false;
    if (!stands_outside(site, region.reduces > 0)) return false;
    reduces_in_[site.kernel] += region.reduces;
    return true;
  }

  static bool is_computed(const UOp& u) {
    return u.op() == GraphOp::ReduceAxis || is_elementwise(u.op());
  }

  // The number of unmasked elements; masked ones load nothing.
  static std::int64_t executed(const Site& s) { return unmasked_elements(s.st->views().back()); }
  static std::int64_t plus(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
  }

  // True if each term of another reduce needs a different element: the reduce there could not be
  // vectorized with neighbours.
  bool changes_in_reduce(const Site& s) const {
    return std::ranges::any_of(
        s.loops, [&](int loop) { return !loops_[static_cast<std::size_t>(loop)].of_output; });
  }

  // True if no loop that it is constant along encloses one that it varies along. Output loops can
  // be reordered to suit all reduces of the kernel.
  bool stands_outside(const Site& s, bool orders_output) {
    const auto changes = [&](int loop) { return std::ranges::count(s.loops, loop) > 0; };
    const auto trivial = [&](int loop) { return loops_[static_cast<std::size_t>(loop)].size == 1; };
    std::size_t last = s.around.size();
    while (last > 0 && !changes(s.around[last - 1])) --last;
    if (last == 0) return true;
    const bool in_reduce = !loops_[static_cast<std::size_t>(s.around[last - 1])].of_output;
    for (std::size_t i = 0; i < last; ++i) {
      const int loop = s.around[i];
      if (changes(loop) || trivial(loop)) continue;
      if (in_reduce || !orders_output) return false;
    }
    return keeps_orders(s);
  }

  // True if the output loops can be ordered so that, for this node too, the ones it varies along
  // are outermost.
  bool keeps_orders(const Site& s) {
    const Loops mine = output_loops(s);
    return std::ranges::all_of(orders_[s.kernel], [&](const Loops& other) {
      return std::ranges::includes(other, mine) || std::ranges::includes(mine, other);
    });
  }

  Loops output_loops(const Site& s) const {
    Loops mine;
    for (const int loop : s.loops)
      if (loops_[static_cast<std::size_t>(loop)].of_output) mine.push_back(loop);
    std::ranges::sort(mine);
    return mine;
  }
  void keep_order(const Site& s) {
    std::vector<Loops>& known = orders_[s.kernel];
    Loops mine = output_loops(s);
    if (std::ranges::find(known, mine) == known.end()) known.push_back(std::move(mine));
  }

  // u and the nodes computed with it so far, down to nodes realized by grouping.
  Region region_of(const UOp& u) const {
    return kernelize::region_of(u, [&](const UOp& at) { return has_memory(at); });
  }
  bool reads_assigned(const Region& region) const {
    return std::ranges::any_of(region.buffers,
                               [&](const UOp& memory) { return assigned_.has(memory); });
  }
  static std::ptrdiff_t made_by_grouping(const Region& region) {
    return std::ranges::count_if(region.buffers,
                                 [](const UOp& u) { return u.op() != GraphOp::Buffer; });
  }

  static bool several_kernels(const Sites& sites) {
    return sites.too_many || std::ranges::any_of(sites.all, [&](const Site& s) {
             return s.kernel != sites.all.front().kernel;
           });
  }

  void find_children() {
    for (const UOp& u : order_)
      for (const UOp& s : u.src()) children_[s].push_back(u);
  }

  // True if realizing a value that several kernels compute saves work, bytes moved, or two kernels
  // that can then merge into its own.
  bool pays(const UOp& u, const Sites& sites) {
    const Region region = region_of(u);
    if (reads_assigned(region)) return false;
    if (region.ops > kMostShared || moves_less(u, sites)) return true;
    return !children_.empty() && !region.too_long && made_by_grouping(region) >= 2 &&
           absorbed(u) >= 2;
  }

  // True if computing u once, storing it and loading it in all its kernels moves fewer bytes than
  // loading u's inputs in each. Inputs that a kernel loads anyway are free for it, and masked or
  // small buffers count only the elements they have.
  bool moves_less(const UOp& u, const Sites& sites) const {
    Loads made_of, rest;
    if (!add_loads(u, UOp(), made_of) || made_of.empty()) return false;
    std::map<const UOpNode*, std::int64_t> readers;  // elements of u that each reads
    for (const Site& s : sites.all) {
      std::int64_t& most = readers[s.kernel];
      most = std::max(most, std::min(executed(s), max_elements(u.shape())));
    }
    const std::int64_t all = max_elements(u.shape()), size = bytes_of(u, 1);
    std::int64_t once = times(all, size), again = 0;
    for (const auto& [memory, elements] : made_of) once = plus(once, bytes_of(memory, elements));
    for (const auto& [kernel, elements] : readers) {
      rest = {};
      if (!add_loads(kernels_.at(kernel), u, rest)) return false;
      once = plus(once, times(elements, size));
      for (const auto& [memory, loaded] : made_of)
        if (!rest.has(memory)) again = plus(again, bytes_of(memory, std::min(loaded, elements)));
    }
    return again > once;
  }

  // Elements loaded from each buffer.
  using Loads = UOpMap<std::int64_t>;

  // Adds the loads needed for u so far, except those only needed by `without`; false if there are
  // too many nodes. A source counts at most the elements that the views above it can reach.
  bool add_loads(const UOp& u, const UOp& without, Loads& loads) const {
    Loads inside;  // elements of each computed node
    std::vector<UOp> open{u};
    inside.set(u, max_elements(u.shape()));
    const auto take = [&](const UOp& s, std::int64_t elements) {
      if (!has_values(s) || s == without) return;
      const bool loaded = s.op() == GraphOp::Buffer || s.op() == GraphOp::Assign || is_stored(s);
      elements = std::min(elements, max_elements(s.shape()));
      const auto [most, fresh] = (loaded ? loads : inside).emplace(s, elements);
      if (!fresh && *most >= elements) return;
      *most = elements;
      if (!loaded) open.push_back(s);
    };
    while (!open.empty()) {
      const UOp at = std::move(open.back());
      open.pop_back();
      if (inside.size() > kMostLoading) return false;
      const std::int64_t below = loaded_below(at, *inside.find(at));
      for (const UOp& s : at.src()) take(s, below);
    }
    return true;
  }

  // The maximum number of elements of each source needed for so many elements of a node.
  static std::int64_t loaded_below(const UOp& u, std::int64_t elements) {
    if (u.op() == GraphOp::View) return std::min(elements, moved_along(u.tracker()));
    if (u.op() == GraphOp::ReduceAxis) return times(elements, terms_added(u));
    return is_elementwise(u.op()) ? elements : INT64_MAX;
  }

  bool is_stored(const UOp& u) const {
    return (has_memory(u) && !taken_back_.has(u)) || added_.has(u);
  }

  // The number of elements along axes on which a view moves.
  static std::int64_t moved_along(const ShapeTracker& st) {
    Shape moves;
    for (std::size_t i = 0; i < st.shape().size(); ++i)
      if (st.views().back().strides()[i] != sint(0)) moves.push_back(st.shape()[i]);
    return max_elements(moves);
  }

  static std::int64_t bytes_of(const UOp& u, std::int64_t elements) {
    return times(elements, static_cast<std::int64_t>(itemsize(u.dtype().base)));
  }

  // The number of realized nodes that only the kernel of u would read.
  int absorbed(const UOp& u) const {
    UOpSet inside;
    std::vector<UOp> held;
    add_region(u, inside, held);
    int found = 0;
    for (bool more = true; more && inside.size() < kMostAbsorbing;) {
      more = false;
      for (std::size_t i = 0; i < held.size(); ++i) {
        const UOp v = held[i];
        if (inside.has(v) || asked_.has(v) || !is_computed(v) || !ends_in(v, u, inside)) continue;
        add_region(v, inside, held);
        ++found;
        more = true;
      }
    }
    return found;
  }

  void add_region(const UOp& u, UOpSet& inside, std::vector<UOp>& held) const {
    std::vector<UOp> open{u};
    while (!open.empty() && inside.size() < kMostAbsorbing) {
      const UOp at = std::move(open.back());
      open.pop_back();
      if (at != u && has_memory(at)) {
        held.push_back(at);
        continue;
      }
      if (at.op() == GraphOp::Buffer || at.op() == GraphOp::Assign || !inside.add(at)) continue;
      for (const UOp& s : at.src())
        if (has_values(s)) open.push_back(s);
    }
  }

  // True if all paths up from v lead to u within `inside`.
  bool ends_in(const UOp& v, const UOp& u, const UOpSet& inside) const {
    std::vector<UOp> open{v};
    UOpSet seen;
    while (!open.empty()) {
      const UOp at = std::move(open.back());
      open.pop_back();
      if (at == u || !seen.add(at)) continue;
      const std::vector<UOp>* above = children_.find(at);
      if (above == nullptr || seen.size() > kMostAbsorbing) return false;
      for (const UOp& c : *above) {
        if (!inside.has(c)) return false;
        open.push_back(c);
      }
    }
    return true;
  }

  bool has_memory(const UOp& u) const { return memory_.has(u) && !cheap_.has(u); }

  // For values computed from constants alone.
  bool counts_little(const Sites& sites, const Region& region) const {
    std::int64_t all = 0;
    for (const Site& s : sites.all) {
      const std::int64_t one = times(executed(s), region.terms);
      if (one > kMostCounted) return false;
      all += one;
    }
    return all <= kMostCounted;
  }

  std::vector<UOp> order_;
  const UOpSet& memory_;
  const UOpSet& asked_;
  UOpSet taken_back_, added_, assigned_;
  UOpMap<std::vector<UOp>> children_;
  UOpSet cheap_;  // recomputed wherever it is read
  UOpMap<Sites> sites_;
  std::map<const UOpNode*, UOp> kernels_;
  std::vector<Loop> loops_;
  ViewPool views_;
  std::map<std::tuple<const UOpNode*, const UOpNode*, const ShapeTracker*, Loops>, Loops>
      own_loops_;
  std::map<const UOpNode*, std::vector<Loops>> orders_;  // orders of output loops, by kernel
  std::map<const UOpNode*, int> reduces_in_;
};

}  // namespace

UOpSet without_needless(const UOp& sink, const UOpSet& memory, const UOpSet& asked) {
  UOpSet plain = Ranges(sink, memory, asked).run(false);
  UOpSet other = Ranges(sink, memory, asked).run(true);
  return other.size() < plain.size() ? other : plain;
}

}  // namespace touchstone::kernelize

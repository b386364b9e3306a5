#include "touchstone/lazy/gathers.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "touchstone/kernelize/rules.h"
#include "touchstone/lazy/schedule_values.h"
#include "touchstone/shapetracker/ask/access.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone::lazy {
namespace {

constexpr int kMostJoined = 16;     // into one kernel, which is rebuilt for each
constexpr std::size_t kFewOps = 4;  // recomputed for each copy of a position

const MemBuffer* memory_of(const LazyOp& node) {
  return is_load(node.op()) ? &node.buffer() : nullptr;
}

// Merges the kernels of one schedule.
class Joiner {
 public:
  Joiner(std::vector<ScheduleItem>& items, std::span<const LazyBufferPtr> outputs,
         const Config& config)
      : items_(items),
        gone_(items.size(), false),
        merges_(config.on(Switch::MergeViews)),
        most_buffers_(config.kernelize.max_kernel_buffers),
        joined_(items.size(), 0) {
    for (const LazyBufferPtr& o : outputs) kept_.insert(&o->base());
    for (std::size_t i = 0; i < items.size(); ++i) {
      for (const LazyBufferPtr& in : items[i].inputs) readers_[in.get()].push_back(i);
      makers_.emplace(items[i].out.get(), i);
    }
  }

  void run() {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (!is_gather(items_[i])) continue;
      take_in(i, items_[i].ast->src()[0]->src()[0]);
      const auto reader = only_reader(i);
      if (!reader) continue;
      const LazyOpPtr load = only_load(items_[*reader], *items_[i].out);
      if (load != nullptr && no_element_twice(load->buffer().st)) put(i, *reader, load);
    }
    std::size_t left = 0;
    for (std::size_t i = 0; i < items_.size(); ++i)
      if (!gone_[i]) {
        if (left != i) items_[left] = std::move(items_[i]);
        ++left;
      }
    items_.resize(left);
  }

 private:
  static bool is_gather(const ScheduleItem& item) {
    return item.kind == Op::Store && item.ast->src()[0]->op() == Op::Gather &&
           !item.out->several() && item.out->assigns_to() == nullptr &&
           item.ast->buffer().st.is_contiguous();
  }

  // The only item that reads item i's result, if it can compute that itself.
  std::optional<std::size_t> only_reader(std::size_t i) const {
    const LazyBuffer* const out = items_[i].out.get();
    const auto readers = readers_.find(out);
    if (kept_.contains(out) || out->must_realize() || readers == readers_.end() ||
        readers->second.size() != 1)
      return std::nullopt;
    const std::size_t reader = readers->second[0];
    if (items_[reader].kind != Op::Store || items_[reader].out->several() ||
        joined_[reader] == kMostJoined)
      return std::nullopt;
    const int asked = most_buffers_;
    const int most = asked != 0 ? asked : kernelize::most_buffers_of(items_[reader].out->device());
    if (most != 0 && buffers_together(i, reader) > most) return std::nullopt;
    return reader;
  }

  // The number of buffers of the reader's kernel with item i inlined.
  int buffers_together(std::size_t i, std::size_t reader) const {
    std::unordered_set<const LazyBuffer*> all{items_[reader].out.get()};
    for (const std::size_t k : {i, reader})
      for (const LazyBufferPtr& in : items_[k].inputs) all.insert(in.get());
    all.erase(items_[i].out.get());
    return static_cast<int>(all.size());
  }

  // A kernel's load of a base; null if it has several.
  static LazyOpPtr only_load(const ScheduleItem& item, const LazyBuffer& base) {
    const auto at = std::ranges::find(item.inputs, &base, &LazyBufferPtr::get);
    const int number = static_cast<int>(at - item.inputs.begin()) + 1;
    LazyOpPtr found;
    for (const LazyOpPtr& node : toposort(item.ast)) {
      const MemBuffer* const memory = memory_of(*node);
      if (memory == nullptr || memory->idx != number) continue;
      if (node->op() == Op::Gather || (found != nullptr && found->buffer() != *memory))
        return nullptr;
      found = node;
    }
    return found;
  }

  static bool no_element_twice(const ShapeTracker& st) {
    const auto strides = real_strides(st, true);
    for (std::size_t i = 0; i < strides.size(); ++i)
      if (st.shape()[i] != sint(1) && (!strides[i] || *strides[i] == sint(0))) return false;
    return true;
  }

  // Merges the computation of `load`, which reads the positions, into the GATHER of item i.
  void take_in(std::size_t i, const LazyOpPtr& load) {
    if (load->op() != Op::Load) return;
    const LazyBuffer& base = *items_[i].inputs[static_cast<std::size_t>(load->buffer().idx - 1)];
    const auto maker = makers_.find(&base);
    if (maker == makers_.end() || gone_[maker->second]) return;
    const ScheduleItem& item = items_[maker->second];
    const auto reader = item.kind == Op::Store ? only_reader(maker->second) : std::nullopt;
    if (reader != i || !item.ast->buffer().st.is_contiguous() ||
        only_load(items_[i], base) == nullptr)
      return;
    std::size_t ops = 0;
    for (const LazyOpPtr& node : toposort(item.ast)) {
      if (is_reduce(node->op())) return;
      ops += is_pointwise(node->op()) ? 1 : 0;
    }
    if (ops <= kFewOps || no_element_twice(load->buffer().st)) put(maker->second, i, load);
  }

  // Replaces `load` in the kernel of item `into` with item i, which has no reduces.
  void put(std::size_t i, std::size_t into, const LazyOpPtr& load) {
    ScheduleItem& reader = items_[into];
    std::vector<LazyBufferPtr> inputs = reader.inputs;
    std::vector<int> numbers;  // buffer numbers of item i's inputs
    for (const LazyBufferPtr& in : items_[i].inputs) {
      const auto known = std::ranges::find(inputs, in);
      numbers.push_back(static_cast<int>(known - inputs.begin()) + 1);
      if (known == inputs.end()) inputs.push_back(in);
    }
    const MemBuffer read = load->buffer();
    const LazyOpPtr value = seen(items_[i].ast->src()[0], read.st, numbers);
    LazyOpPtr ast = rebuild(reader.ast, [&](const LazyOpPtr& node, const auto& src) {
      if (node->op() == Op::Load && node->buffer() == read) return value;
      return LazyOp::make(node->op(), src, node->arg());
    });
    for (const LazyBufferPtr& in : items_[i].inputs) {
      std::vector<std::size_t>& readers = readers_[in.get()];
      std::erase(readers, i);
      if (std::ranges::find(readers, into) == readers.end()) readers.push_back(into);
    }
    readers_.erase(items_[i].out.get());
    gone_[i] = true;
    ++joined_[into];
    renumber(reader, ast, inputs);
    symbolic::Values values = items_[i].var_vals;
    values.insert(reader.var_vals.begin(), reader.var_vals.end());
    reader.var_vals = values_of(reader.ast, values);
  }

  // Numbers the inputs in order of first use.
  static void renumber(ScheduleItem& item, const LazyOpPtr& ast,
                       const std::vector<LazyBufferPtr>& all) {
    std::vector<int> now(all.size() + 1, 0);
    item.inputs.clear();
    for (const LazyOpPtr& node : toposort(ast))
      if (const MemBuffer* const memory = memory_of(*node)) {
        int& number = now[static_cast<std::size_t>(memory->idx)];
        if (number != 0) continue;
        item.inputs.push_back(all[static_cast<std::size_t>(memory->idx - 1)]);
        number = static_cast<int>(item.inputs.size());
      }
    item.ast = rebuild(ast, [&](const LazyOpPtr& node, const auto& src) {
      OpArg arg = node->arg();
      if (memory_of(*node) != nullptr) {
        int& number = std::get<MemBuffer>(arg).idx;
        number = now[static_cast<std::size_t>(number)];
      }
      return LazyOp::make(node->op(), src, std::move(arg));
    });
  }

  ShapeTracker leaf(const ShapeTracker& inner, const ShapeTracker& outer) const {
    const ShapeTracker both = inner + outer;
    return merges_ ? simplify(both) : both;
  }

  // `value` as seen through `st`; 0 where that is masked.
  LazyOpPtr seen(const LazyOpPtr& value, const ShapeTracker& st,
                 const std::vector<int>& numbers) const {
    const Shape shape = value->shape();
    LazyOpPtr there = rebuild(value, [&](const LazyOpPtr& node, const auto& src) {
      OpArg arg = node->arg();
      if (auto* memory = std::get_if<MemBuffer>(&arg)) {
        memory->idx = numbers[static_cast<std::size_t>(memory->idx - 1)];
        if (node->op() == Op::Gather)
          memory->st = leaf(memory->st, with_rows(st, memory->st.shape()[0], shape));
        else
          memory->st = leaf(memory->st, st);
        if (memory->checked) memory->checked = leaf(*memory->checked, st);
      } else if (auto* constant = std::get_if<ConstBuffer>(&arg)) {
        constant->st = leaf(constant->st, st);
      }
      return LazyOp::make(node->op(), src, std::move(arg));
    });
    return st.masked() && is_pointwise(value->op()) ? kernelize::where_valid(st, there) : there;
  }

  std::vector<ScheduleItem>& items_;
  std::vector<bool> gone_;
  const bool merges_;
  const int most_buffers_;   // per kernel; 0: the device's limit
  std::vector<int> joined_;  // number of items merged into each
  std::unordered_set<const LazyBuffer*> kept_;
  std::unordered_map<const LazyBuffer*, std::vector<std::size_t>> readers_;
  std::unordered_map<const LazyBuffer*, std::size_t> makers_;
};

}  // namespace

ShapeTracker with_rows(const ShapeTracker& st, const sint& rows, const Shape& row) {
  std::vector<View> views;
  sint size = elements(row);
  for (const View& v : st.views()) {
    Shape shape = v.shape();
    Strides strides = v.strides();
    std::optional<Mask> mask = v.mask();
    shape.insert(shape.begin(), rows);
    strides.insert(strides.begin(), size);
    if (mask) mask->insert(mask->begin(), {sint(0), rows});
    views.push_back(View::strided(shape, strides, v.offset(), mask));
    size = v.size();
  }
  return ShapeTracker(std::move(views));
}

void join_gathers(std::vector<ScheduleItem>& items, std::span<const LazyBufferPtr> outputs,
                  const Config& config) {
  if (std::ranges::any_of(items, [](const ScheduleItem& item) {
        return item.kind == Op::Store && item.ast->src()[0]->op() == Op::Gather;
      }))
    Joiner(items, outputs, config).run();
}

}  // namespace touchstone::lazy

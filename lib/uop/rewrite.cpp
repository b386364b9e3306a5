#include "touchstone/uop/rewrite.h"

#include <utility>

namespace touchstone {
namespace {

using StepFunction = std::function<UOp(const UOp&, const RewriteRule**)>;

class Rewriter {
 public:
  Rewriter(const UOp& sink, StepFunction step, const RewriteOptions& options)
      : sink_(sink), step_(std::move(step)), options_(options) {
    limit_ = options.budget.value_or(kFree);
  }

  UOp rewrite(const UOp& root) {
    if (const UOp* done = memo_.find(root)) return *done;
    enter(root);
    while (!path_.empty()) advance();
    return *memo_.find(root);
  }

 private:
  static constexpr std::int64_t kFree = 100'000, kPerNode = 1000;

  struct Frame {
    UOp original;          // the result is recorded for this
    UOp node;              // its sources are being rewritten
    std::size_t next = 0;  // next source
    UOp awaited;           // its result is also this one's
    const RewriteRule* rule = nullptr;
  };

  void advance() {
    Frame& frame = path_.back();
    if (frame.awaited) return settle(*memo_.find(frame.awaited));
    const std::vector<UOp>& src = frame.node.src();
    while (frame.next < src.size()) {
      const UOp* done = memo_.find(src[frame.next]);
      if (done == nullptr || !*done) return enter(UOp(src[frame.next]));  // may reallocate frames
      ++frame.next;
    }
    if (UOp rebuilt = with_new_sources(frame.node)) return await(std::move(rebuilt));
    if (options_.order == RewriteOrder::BottomUp) return settle(frame.node);
    const UOp made = applied(frame.node, &frame.rule);
    if (made) return await(made);
    settle(frame.node);
  }

  // Null if no source changed.
  UOp with_new_sources(const UOp& node) const {
    bool changed = false;
    for (const UOp& s : node.src()) changed = changed || *memo_.find(s) != s;
    if (!changed) return {};
    std::vector<UOp> src;
    src.reserve(node.src().size());
    for (const UOp& s : node.src()) src.push_back(*memo_.find(s));
    UOp made = node.with_src(std::move(src));
    if (RewriteRecorder* told = RecorderScope::current()) told->rebuilt(node, made);
    return made;
  }

  void await(UOp made) {
    Frame& frame = path_.back();
    frame.awaited = std::move(made);
    const UOp* done = memo_.find(frame.awaited);
    if (done == nullptr || !*done) enter(UOp(frame.awaited));
  }

  void settle(UOp result) {
    const UOp original = path_.back().original;
    path_.pop_back();
    memo_.set(original, std::move(result));
  }

  void enter(const UOp& node) {
    if (!memo_.emplace(node, UOp()).second) comes_back(node);
    path_.push_back({node, node, 0, {}, nullptr});
    if (options_.order == RewriteOrder::TopDown) return;
    UOp at = node, seen = node;  // Brent's cycle detection
    std::int64_t steps = 0, mark = 1;
    const RewriteRule* rule = nullptr;
    while (UOp made = applied(at, &rule)) {
      at = std::move(made);
      path_.back().rule = rule;
      if (at == seen || at == node) comes_back(at);
      if (++steps == mark) {
        seen = at;
        mark *= 2;
      }
    }
    path_.back().node = at;
    if (at == node) return;
    const UOp* done = memo_.find(at);
    if (done != nullptr && *done) path_.back().awaited = at;
  }

  UOp applied(const UOp& node, const RewriteRule** rule) {
    const RewriteRule* by = nullptr;
    UOp made = step_(node, &by);
    if (!made) return made;
    *rule = by;
    if (++rewrites_ > limit_) over_limit(node, by);
    return made;
  }

  static std::string rule_name(const RewriteRule* rule) {
    return rule == nullptr ? "a substitution" : fmt::format("rule '{}'", rule->name);
  }

  [[noreturn]] void comes_back(const UOp& node) const {
    const RewriteRule* last = nullptr;
    for (const Frame& f : path_)
      if (f.rule != nullptr) last = f.rule;
    throw AstError(fmt::format("{}: does not end: {} leads back to {}, which is being rewritten",
                               options_.pass, rule_name(last), node.line()));
  }

  void over_limit(const UOp& node, const RewriteRule* rule) {
    if (!options_.budget && limit_ == kFree) {
      limit_ += kPerNode * static_cast<std::int64_t>(sink_.toposort().size());
      return;
    }
    throw AstError(fmt::format("{}: does not end: {} rewrites, the last by {} at {}", options_.pass,
                               rewrites_, rule_name(rule), node.line()));
  }

  UOp sink_;
  StepFunction step_;
  RewriteOptions options_;
  std::int64_t rewrites_ = 0, limit_ = 0;
  UOpMap<UOp> memo_;  // null: in progress
  std::vector<Frame> path_;
};

StepFunction by_rules(const PatternMatcher& rules, const RewriteContext& context) {
  return [&](const UOp& u, const RewriteRule** rule) { return rules.rewrite(u, context, rule); };
}

class Told {
 public:
  Told(const RewriteOptions& options, const UOp& sink)
      : recorder_(RecorderScope::current()), pass_(options.pass) {
    if (recorder_ != nullptr) recorder_->begins(pass_, sink);
  }
  void end(const UOp& result) {
    if (recorder_ != nullptr) recorder_->ends(pass_, result);
  }

 private:
  RewriteRecorder* recorder_;
  std::string_view pass_;
};

RewriteMap map_by(const UOp& sink, StepFunction step, const RewriteOptions& options,
                  const RewriteMap* before) {
  Told told(options, sink);
  Rewriter rewriter(sink, std::move(step), options);
  RewriteMap out;
  for (const UOp& node : sink.toposort()) {
    const UOp result = rewriter.rewrite(node);
    if (result == node) continue;
    out.set(node, result);
    if (const auto metadata = node.metadata()) result.add_metadata(*metadata);
  }
  told.end(result_of(out, sink));
  if (before == nullptr) return out;
  RewriteMap composed = out;
  for (const auto& [node, result] : *before) composed.set(node, result_of(out, result));
  return composed;
}

}  // namespace

UOp graph_rewrite(const UOp& sink, const PatternMatcher& rules, const RewriteContext& context,
                  const RewriteOptions& options) {
  Told told(options, sink);
  UOp result = Rewriter(sink, by_rules(rules, context), options).rewrite(sink);
  told.end(result);
  return result;
}

UOp result_of(const RewriteMap& map, const UOp& node) {
  const UOp* found = map.find(node);
  return found == nullptr ? node : *found;
}

RewriteMap graph_rewrite_map(const UOp& sink, const PatternMatcher& rules,
                             const RewriteContext& context, const RewriteOptions& options,
                             const RewriteMap* before) {
  return map_by(sink, by_rules(rules, context), options, before);
}

RewriteMap rewrite_map_by(const UOp& sink, const std::function<UOp(const UOp&)>& step,
                          const RewriteOptions& options, const RewriteMap* before) {
  RewriteRecorder* const told = RecorderScope::current();
  const RewriteRule by{.name = std::string(options.pass), .pattern = {}, .apply = {}};
  const auto told_step = [&](const UOp& u, const RewriteRule** /*rule*/) {
    UOp made = step(u);
    if (made && told != nullptr) told->rewrote(by, u, made);
    return made;
  };
  return map_by(sink, told_step, options, before);
}

UOp substitute(const UOp& sink, const RewriteMap& map) {
  const auto step = [&](const UOp& u, const RewriteRule** /*rule*/) {
    const UOp* found = map.find(u);
    return found == nullptr || *found == u ? UOp() : *found;
  };
  return Rewriter(sink, step, {.order = RewriteOrder::BottomUp, .pass = "substitute"})
      .rewrite(sink);
}

}  // namespace touchstone

#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "touchstone/uop/upat.h"

namespace touchstone {

/// Shared by the functions of rules during one rewrite: a reference to an object of any type,
/// which must outlive it.
class RewriteContext {
 public:
  RewriteContext() = default;
  template <class T>
  explicit RewriteContext(T& object) : object_(&object), type_(&tag<T>) {}
  /// Throws AstError where it is of another type, or there is none.
  template <class T>
  T& as() const {
    if (object_ == nullptr || type_ != &tag<T>)
      throw AstError("a rule needs a context that this rewrite does not have");
    return *static_cast<T*>(object_);
  }
  bool empty() const { return object_ == nullptr; }

 private:
  void* object_ = nullptr;
  /// Its address says which type (builds may have no RTTI).
  template <class T>
  static inline char tag = 0;

  const char* type_ = nullptr;
};

/// The argument of a rule's function: the nodes of the names it asked for, in that order.
class Match {
 public:
  Match(const UOp& root, std::span<const UOp* const> named, const RewriteContext& context)
      : root_(root), named_(named), context_(context) {}
  /// A name inside an alternative that was not taken has no node: has(i) is false.
  const UOp& operator[](std::size_t i) const { return *named_[i]; }
  bool has(std::size_t i) const { return named_[i] != nullptr; }
  const UOp& root() const { return root_; }
  template <class T>
  T& context() const {
    return context_.as<T>();
  }

 private:
  const UOp& root_;
  std::span<const UOp* const> named_;
  const RewriteContext& context_;
};

/// A graph, and what one rule makes of its root; `after` null: the rule leaves it.
struct RuleExample {
  UOp before, after;
};

/// A law, a line. `apply` gives what stands for the root of the match, or null or the root itself:
/// then the next match of the pattern is tried, and then the next rule. `names`: what it is called
/// with, by name.
struct Rule {
  std::string name;
  UPat pattern;
  std::vector<std::string> names;
  std::function<UOp(const Match&)> apply;
  std::string why{};
  std::function<std::vector<RuleExample>()> examples{};
};

/// Rules in order, found by the op of their root. Immutable; concatenated by +. A rule that does
/// not match costs no allocation.
class PatternMatcher {
 public:
  PatternMatcher() = default;
  /// Throws AstError naming the rule where a name is not in its pattern (or the pattern has more
  /// than kMostNames), where the top of the pattern says nothing of its op, or where no op that it
  /// allows has that many sources.
  explicit PatternMatcher(std::vector<Rule> rules);

  /// The first rule's result for the node; null where none has one. `rule`, where given, is set
  /// to the rule that gave it.
  UOp rewrite(const UOp& node, const RewriteContext& context = {},
              const Rule** rule = nullptr) const;

  const std::vector<std::shared_ptr<const Rule>>& rules() const { return rules_; }
  friend PatternMatcher operator+(const PatternMatcher& a, const PatternMatcher& b);

  static constexpr int kMostNames = 16;

 private:
  struct Compiled;
  void add(std::shared_ptr<const Rule> rule, std::shared_ptr<const Compiled> compiled);

  std::vector<std::shared_ptr<const Rule>> rules_;
  std::vector<std::shared_ptr<const Compiled>> compiled_;
  std::array<std::vector<std::uint32_t>, kOpsCount> by_op_;
};

/// Is told of every rewrite of this thread while it is in scope: what a page that steps through
/// them is made of.
struct RewriteRecorder {
  virtual ~RewriteRecorder() = default;
  virtual void begins(std::string_view /*pass*/, const UOp& /*sink*/) {}
  virtual void rewrote(const Rule& rule, const UOp& before, const UOp& after) = 0;
  /// A node whose sources changed, over the new ones.
  virtual void rebuilt(const UOp& /*before*/, const UOp& /*after*/) {}
  virtual void ends(std::string_view /*pass*/, const UOp& /*sink*/) {}
};

/// Scopes nest; the innermost recorder is told.
class RecorderScope {
 public:
  explicit RecorderScope(RewriteRecorder& recorder);
  ~RecorderScope();
  RecorderScope(const RecorderScope&) = delete;
  RecorderScope& operator=(const RecorderScope&) = delete;
  static RewriteRecorder* current();  // null where there is none

 private:
  RewriteRecorder* previous_;
};

}  // namespace touchstone

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

/// State shared by the rules of a rewrite: a reference to an object of any type, which must outlive
/// it.
class RewriteContext {
 public:
  RewriteContext() = default;
  template <class T>
  explicit RewriteContext(T& object) : object_(&object), type_(&tag<T>) {}
  /// Throws AstError if there is none or it has another type.
  template <class T>
  T& as() const {
    if (object_ == nullptr || type_ != &tag<T>)
      throw AstError("a rule needs a context that this rewrite does not have");
    return *static_cast<T*>(object_);
  }
  bool empty() const { return object_ == nullptr; }

 private:
  void* object_ = nullptr;
  /// Its address identifies the type (builds may lack RTTI).
  template <class T>
  static inline char tag = 0;

  const char* type_ = nullptr;
};

/// The argument of a rule's function: the nodes bound to the names of its
/// pattern, in reading order.
class Match {
 public:
  Match(const UOp& root, std::span<const UOp* const> named, const RewriteContext& context)
      : root_(root), named_(named), context_(context) {}
  /// A name in an alternative that was not taken has no node: has(i) is false.
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

/// A graph and the result of one rule on its root; `after` is null if the rule does not apply.
struct RuleExample {
  UOp before, after;
};

/// A rewrite rule. `apply` returns the replacement of the matched root; if it returns null or the
/// root itself, the next match of the pattern is tried, then the next rule.
struct RewriteRule {
  std::string name;
  UPat pattern;
  std::function<UOp(const Match&)> apply;
  std::string why{};
  std::function<std::vector<RuleExample>()> examples{};
};

/// An ordered list of rules, indexed by the op of their root. Immutable; + concatenates. A rule
/// that does not match allocates nothing.
class PatternMatcher {
 public:
  PatternMatcher() = default;
  /// Throws AstError naming a rule with more than kMostNames names, a pattern without ops at its
  /// root, or more sources than any of its ops can have.
  explicit PatternMatcher(std::vector<RewriteRule> rules);

  /// Returns the first rule's result for the node; null if none applies. Stores that rule in `rule`
  /// if given.
  UOp rewrite(const UOp& node, const RewriteContext& context = {},
              const RewriteRule** rule = nullptr) const;

  const std::vector<std::shared_ptr<const RewriteRule>>& rules() const { return rules_; }
  friend PatternMatcher operator+(const PatternMatcher& a, const PatternMatcher& b);

  static constexpr int kMostNames = 16;

 private:
  struct Compiled;
  void add(std::shared_ptr<const RewriteRule> rule, std::shared_ptr<const Compiled> compiled);

  std::vector<std::shared_ptr<const RewriteRule>> rules_;
  std::vector<std::shared_ptr<const Compiled>> compiled_;
  std::array<std::vector<std::uint32_t>, kGraphOpCount> by_op_;
};

/// Observes every rewrite of this thread during its lifetime; used by pages that step through
/// rewrites.
struct RewriteRecorder {
  virtual ~RewriteRecorder() = default;
  virtual void begins(std::string_view /*pass*/, const UOp& /*sink*/) {}
  virtual void rewrote(const RewriteRule& rule, const UOp& before, const UOp& after) = 0;
  /// A node rebuilt over changed sources.
  virtual void rebuilt(const UOp& /*before*/, const UOp& /*after*/) {}
  virtual void ends(std::string_view /*pass*/, const UOp& /*sink*/) {}
};

/// Scopes nest; only the innermost recorder is called.
class RecorderScope {
 public:
  explicit RecorderScope(RewriteRecorder& recorder);
  ~RecorderScope();
  RecorderScope(const RecorderScope&) = delete;
  RecorderScope& operator=(const RecorderScope&) = delete;
  static RewriteRecorder* current();  // null if none

 private:
  RewriteRecorder* previous_;
};

}  // namespace touchstone

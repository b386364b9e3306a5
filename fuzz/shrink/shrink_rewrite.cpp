// Smaller rewriting cases: fewer nodes, rules, parts of patterns.
#include <algorithm>
#include <cstdlib>

#include "touchstone/base/error.h"
#include "touchstone/fuzz/cases/rewrite_case.h"

namespace touchstone::fuzz {
namespace {

using Case = RewriteCase;
using Pattern = Case::Pattern;
using Result = Case::Result;

// Expands repetitions: every node by itself, sources by number.
Case one_by_one(const Case& c) {
  Case out;
  out.passes = c.passes;
  for (const Case::Node& n : c.nodes)
    for (std::int64_t i = 0; i < n.times; ++i) {
      Case::Node one = n;
      const std::int64_t here = std::ssize(out.nodes);
      one.times = 1;
      one.src.clear();
      if (n.counts) {
        one.counts = false;
        one.arg = i;
        if (n.op == GraphOp::Const) one.arg = Scalar::from_int(n.type.base, i);
      }
      for (const Case::Node::Source& s : n.src) {
        const std::int64_t step = s.from <= s.to ? 1 : -1;
        for (std::int64_t k = s.from; k != s.to + step; k += step) {
          const std::int64_t at = s.back ? here - k : k;
          one.src.push_back({false, at, at});
        }
      }
      out.nodes.push_back(std::move(one));
    }
  return out;
}

class SmallerRewrite {
 public:
  explicit SmallerRewrite(const Case& c) : case_(c), flat_(one_by_one(c)) {}

  std::vector<std::string> all() {
    passes();
    times();
    roots();
    chunks();
    for (std::size_t p = 0; p < case_.passes.size(); ++p) rules_of(p);
    sources();
    parts_of_nodes();
    return std::move(out_);
  }

 private:
  void emit(const Case& c) {
    if (!c.nodes.empty()) out_.push_back(c.str());
  }
  template <class F>
  void with(const F& change) {
    Case c = case_;
    change(c);
    emit(c);
  }

  void passes() {
    for (std::size_t p = 0; p < case_.passes.size(); ++p) {
      with([&](Case& c) { drop(c.passes, p); });
      for (std::size_t r = 0; r < case_.passes[p].rules.size(); ++r)
        with([&](Case& c) { drop(c.passes[p].rules, r); });
      for (std::size_t k = 0; k < case_.passes[p].substitutes.size(); ++k)
        with([&](Case& c) { drop(c.passes[p].substitutes, k); });
      if (case_.passes[p].kind == Case::Pass::Kind::Map)
        with([&](Case& c) { c.passes[p].kind = Case::Pass::Kind::Rewrite; });
      if (case_.passes[p].bottom_up) with([&](Case& c) { c.passes[p].bottom_up = false; });
    }
  }

  void times() {
    for (std::size_t n = 0; n < case_.nodes.size(); ++n)
      for (const std::int64_t less :
           {std::int64_t{1}, std::int64_t{2}, case_.nodes[n].times / 2, case_.nodes[n].times - 1})
        if (less >= 1 && less < case_.nodes[n].times)
          with([&](Case& c) {
            for (Case::Node& other : c.nodes)  // users of all copies use fewer
              for (Case::Node::Source& s : other.src)
                if (s.from == c.nodes[n].times && s.back) s.from = less;
            c.nodes[n].times = less;
          });
  }

  // The one_by_one case without some nodes: a user of one reads its first remaining source instead.
  void without(const std::vector<bool>& gone) {
    Case c;
    c.passes = flat_.passes;
    std::vector<std::int64_t> now(flat_.nodes.size(), -1);
    for (std::size_t i = 0; i < flat_.nodes.size(); ++i) {
      Case::Node n = flat_.nodes[i];
      std::vector<Case::Node::Source> src;
      for (const Case::Node::Source& s : n.src)
        if (const std::int64_t at = now[static_cast<std::size_t>(s.from)]; at >= 0)
          src.push_back({false, at, at});
      if (gone[i]) {
        now[i] = src.empty() ? -1 : src[0].from;
        continue;
      }
      now[i] = std::ssize(c.nodes);
      n.src = std::move(src);
      c.nodes.push_back(std::move(n));
    }
    for (Case::Pass& p : c.passes) {
      for (auto& [from, to] : p.substitutes) {
        from = now[static_cast<std::size_t>(from)];
        to = now[static_cast<std::size_t>(to)];
      }
      std::erase_if(p.substitutes, [](const auto& s) { return s.first < 0 || s.second < 0; });
    }
    emit(c);
  }

  // Makes another node the root, with its sources.
  void roots() {
    const std::size_t n = flat_.nodes.size();
    std::vector<std::size_t> tried{n - 1};
    if (n <= 24)
      for (std::size_t i = 0; i + 1 < n; ++i) tried.push_back(i);
    else
      for (const std::size_t i : {n / 8, n / 4, n / 2, n - n / 4, n - 2}) tried.push_back(i);
    for (const std::size_t root : tried) {
      std::vector<bool> gone(n, true);
      gone[root] = false;
      for (std::size_t i = root + 1; i-- > 0;)
        if (!gone[i])
          for (const Case::Node::Source& s : flat_.nodes[i].src)
            gone[static_cast<std::size_t>(s.from)] = false;
      for (const Case::Pass& p : flat_.passes)
        for (const auto& [from, to] : p.substitutes)
          for (const std::int64_t at : {from, to})
            if (static_cast<std::size_t>(at) < root) gone[static_cast<std::size_t>(at)] = false;
      without(gone);
    }
  }

  void chunks() {
    const std::size_t n = flat_.nodes.size();
    for (std::size_t size = n / 2; size >= 1; size /= 2) {
      if (n / size > 130) break;
      for (std::size_t begin = 0; begin + size <= n; begin += size) {
        std::vector<bool> gone(n, false);
        std::fill_n(gone.begin() + static_cast<std::ptrdiff_t>(begin), size, true);
        without(gone);
      }
    }
  }

  void rules_of(std::size_t p) {
    for (std::size_t r = 0; r < case_.passes[p].rules.size(); ++r) {
      const auto rule = [&](Case& c) -> Case::Rule& { return c.passes[p].rules[r]; };
      if (rule(case_).guard.kind != Case::Guard::Kind::None)
        with([&](Case& c) { rule(c).guard = {}; });
      for (Pattern& smaller : smaller_patterns(rule(case_).pattern, true))
        with([&](Case& c) { rule(c).pattern = smaller; });
      for (Result& smaller : smaller_results(rule(case_).result))
        with([&](Case& c) { rule(c).result = smaller; });
    }
  }

  static std::vector<Pattern> smaller_patterns(const Pattern& p, bool top) {
    std::vector<Pattern> out;
    const auto add = [&](const auto& change) {
      Pattern q = p;
      change(q);
      out.push_back(std::move(q));
    };
    const bool wraps = p.kind == Pattern::Kind::OneOf || p.kind == Pattern::Kind::Casted;
    if (!top) {
      Pattern any;
      any.name = p.name;
      out.push_back(any);
      if (!p.name.empty()) out.emplace_back();
    }
    for (const Pattern& s : p.of) out.push_back(s);
    if (!wraps && p.sources != Pattern::Sources::Any)
      add([](Pattern& q) {
        q.sources = Pattern::Sources::Any;
        q.or_more = false;
        q.of.clear();
      });
    if (p.sources == Pattern::Sources::Shuffled || p.sources == Pattern::Sources::Each)
      add([](Pattern& q) { q.sources = Pattern::Sources::Ordered; });
    if (p.or_more) add([](Pattern& q) { q.or_more = false; });
    if (!p.name.empty() && (p.kind != Pattern::Kind::Plain || !p.ops.empty()))
      add([](Pattern& q) { q.name.clear(); });
    if (!p.types.empty()) add([](Pattern& q) { q.types.clear(); });
    if (p.types.size() > 1) add([](Pattern& q) { q.types.resize(1); });
    if (p.arg) add([](Pattern& q) { q.arg.reset(); });
    for (std::size_t i = 0; p.ops.size() > 1 && i < p.ops.size(); ++i)
      add([&](Pattern& q) { drop(q.ops, i); });
    for (std::size_t i = 0; i < p.of.size(); ++i) {
      if (p.kind != Pattern::Kind::Casted && p.sources != Pattern::Sources::Each)
        add([&](Pattern& q) { drop(q.of, i); });
      for (Pattern& s : smaller_patterns(p.of[i], wraps && top))
        add([&](Pattern& q) { q.of[i] = s; });
    }
    return out;
  }

  static std::vector<Result> smaller_results(const Result& r) {
    std::vector<Result> out;
    if (r.kind == Result::Kind::Null) return out;
    const auto add = [&](const auto& change) {
      Result q = r;
      change(q);
      out.push_back(std::move(q));
    };
    out.emplace_back();
    if (r.kind == Result::Kind::Source) add([](Result& q) { q.kind = Result::Kind::Name; });
    for (const Result& s : r.of) out.push_back(s);
    if (r.type) add([](Result& q) { q.type.reset(); });
    if (r.tag) add([](Result& q) { q.tag.reset(); });
    if (r.arg.index() != 0) add([](Result& q) { q.arg = {}; });
    for (std::size_t i = 0; i < r.of.size(); ++i) {
      add([&](Result& q) { drop(q.of, i); });
      for (Result& s : smaller_results(r.of[i]))
        if (s.kind != Result::Kind::Null) add([&](Result& q) { q.of[i] = s; });
    }
    return out;
  }

  void sources() {
    if (flat_.nodes.size() > 60) return;
    for (std::size_t n = 0; n < flat_.nodes.size(); ++n)
      for (std::size_t s = 0; s < flat_.nodes[n].src.size() && s < 12; ++s) {
        Case c = flat_;
        drop(c.nodes[n].src, s);
        emit(c);
        if (flat_.nodes[n].src[s].from == 0) continue;
        c = flat_;
        c.nodes[n].src[s] = {false, 0, 0};
        emit(c);
      }
  }

  void parts_of_nodes() {
    for (std::size_t n = 0; n < case_.nodes.size() && n < 60; ++n) {
      const Case::Node& node = case_.nodes[n];
      if (node.tag) with([&](Case& c) { c.nodes[n].tag.reset(); });
      if (!node.origin.empty()) with([&](Case& c) { c.nodes[n].origin.clear(); });
      if (!node.type.is_none()) with([&](Case& c) { c.nodes[n].type = {}; });
      if (node.type.form > UOpType::Form::Elements)
        with([&](Case& c) { c.nodes[n].type = c.nodes[n].type.base; });
      if (node.counts) with([&](Case& c) { c.nodes[n].counts = false; });
      if (node.arg.index() != 0) with([&](Case& c) { c.nodes[n].arg = {}; });
    }
  }

  Case case_;
  const Case flat_;
  std::vector<std::string> out_;
};

void add_to(Measure& m, const Pattern& p) {
  ++m[0];
  m[2] += std::ssize(p.ops) + std::ssize(p.types) + (p.arg ? 1 : 0) + (p.name.empty() ? 0 : 1) +
          std::ptrdiff_t{2} * static_cast<int>(p.kind) + static_cast<int>(p.sources) +
          (p.or_more ? 1 : 0);
  for (const Pattern& s : p.of) add_to(m, s);
}
void add_to(Measure& m, const Result& r) {
  ++m[0];
  m[2] +=
      static_cast<int>(r.kind) + (r.type ? 1 : 0) + (r.tag ? 1 : 0) + (r.arg.index() != 0 ? 1 : 0);
  for (const Result& s : r.of) add_to(m, s);
}

}  // namespace

std::vector<std::string> smaller_rewrites(const Case& c) {
  (void)c.build();  // throws if a source is missing
  return SmallerRewrite(c).all();
}

Measure measure_of(const Case& c) {
  Measure m{};
  for (const Case::Node& n : c.nodes) {
    m[0] += 2 * n.times;
    m[2] += (n.tag ? 1 : 0) + (n.origin.empty() ? 0 : 1) + static_cast<int>(n.type.form) +
            (n.counts || n.arg.index() != 0 ? 1 : 0);
    for (const Case::Node::Source& s : n.src) {
      m[1] += n.times * (std::abs(s.from - s.to) + 1);
      m[3] += s.back ? 0 : s.from;
    }
  }
  for (const Case::Pass& p : c.passes) {
    m[0] += 1 + 2 * std::ssize(p.substitutes);
    m[2] += static_cast<int>(p.kind) + (p.bottom_up ? 1 : 0);
    for (const Case::Rule& r : p.rules) {
      ++m[0];
      m[2] += static_cast<int>(r.guard.kind);
      add_to(m, r.pattern);
      add_to(m, r.result);
    }
  }
  m[4] = std::ssize(c.str());
  return m;
}

Extent extent_of(const Case& c) {
  Extent e;
  for (const Case::Node& n : c.nodes) e.ops += n.src.empty() ? 0 : n.times;
  return e;
}

}  // namespace touchstone::fuzz

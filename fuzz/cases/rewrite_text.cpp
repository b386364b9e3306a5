// Rewriting cases as text.
#include <algorithm>
#include <cctype>

#include "touchstone/base/error.h"
#include "touchstone/fuzz/cases/rewrite_case.h"

namespace touchstone::fuzz {
namespace {

using Case = RewriteCase;

// --- writing ---

std::string list_of(const auto& items, std::string_view between, const auto& text) {
  std::string all;
  bool first = true;
  for (const auto& item : items) {
    if (!first) all += between;
    first = false;
    all += text(item);
  }
  return all;
}

std::string type_text(UOpType type) {
  const std::string of(info(type.base).short_name);
  switch (type.form) {
    case UOpType::Form::None: return "none";
    case UOpType::Form::Elements: return of;
    case UOpType::Form::Pointer: return of + "*";
    case UOpType::Form::Image:
      return fmt::format("{}.{}x{}", info(type.storage).short_name, type.height, type.width);
  }
  return of;
}

std::string arg_text(const UOpArg& arg) {
  if (const auto* i = std::get_if<std::int64_t>(&arg)) return fmt::format("={}", *i);
  if (const auto* s = std::get_if<Scalar>(&arg))
    return fmt::format("={}/{}", info(s->dtype()).short_name, s->str());
  if (const auto* shape = std::get_if<Shape>(&arg))
    return "=(" + list_of(*shape, ",", [](const sint& n) { return n.str(); }) + ")";
  return "";
}
std::string tag_text(const std::optional<std::int64_t>& tag) {
  return tag ? fmt::format("#{}", *tag) : "";
}

std::string written(const Case::Node& n) {
  std::string text = n.times == 1 ? "" : fmt::format("{}*", n.times);
  text += name(n.op);
  if (!n.type.is_none()) text += ":" + type_text(n.type);
  text += n.counts ? "=i" : arg_text(n.arg);
  text += tag_text(n.tag);
  if (!n.origin.empty()) text += "@" + n.origin;
  for (const Case::Node::Source& s : n.src) {
    text += fmt::format(" {}{}", s.back ? '^' : '%', s.from);
    if (s.to != s.from) text += fmt::format("..{}", s.to);
  }
  return text;
}

std::string written(const Case::Pattern& p) {
  using Kind = Case::Pattern::Kind;
  const bool only_name = p.kind == Kind::Plain && p.ops.empty() && !p.name.empty();
  std::string text = p.name.empty() ? "" : only_name ? p.name : p.name + "@";
  const auto sources = [&](const char* open, const char* close) {
    std::string all = open + list_of(p.of, ", ", [](const Case::Pattern& s) { return written(s); });
    if (p.or_more) all += p.of.empty() ? "..." : ", ...";
    return all + close;
  };
  if (p.kind == Kind::Casted) return text + "~" + written(p.of[0]);
  if (p.kind == Kind::OneOf) return text + "?" + sources("(", ")");
  if (p.kind == Kind::Number)
    text += fmt::format("#{}", p.number);
  else if (!only_name)
    text +=
        p.ops.empty() ? "_" : list_of(p.ops, "+", [](GraphOp op) { return std::string(name(op)); });
  if (!p.types.empty())
    text += ":" + list_of(p.types, "+", [](DType d) { return std::string(info(d).short_name); });
  if (p.arg) text += arg_text(*p.arg);
  switch (p.sources) {
    case Case::Pattern::Sources::Any: return text;
    case Case::Pattern::Sources::Ordered: return text + sources("(", ")");
    case Case::Pattern::Sources::Shuffled: return text + sources("{", "}");
    case Case::Pattern::Sources::Each: return text + sources("[", "]");
  }
  return text;
}

std::string written(const Case::Result& r) {
  using Kind = Case::Result::Kind;
  if (r.kind == Kind::Null) return "null";
  if (r.kind == Kind::Name) return r.name;
  if (r.kind == Kind::Source) return r.name + ".0";
  std::string text(name(r.op));
  if (r.type) text += ":" + type_text(*r.type);
  text += arg_text(r.arg) + tag_text(r.tag);
  if (r.of.empty()) return text + "()";
  return text + "(" + list_of(r.of, ", ", [](const Case::Result& s) { return written(s); }) + ")";
}

std::string written(const Case::Guard& g) {
  if (g.kind == Case::Guard::Kind::None) return "";
  if (g.kind == Case::Guard::Kind::Differ) return fmt::format(" if {}!={}", g.a, g.b);
  return fmt::format(" if {}:{}", g.a, name(g.op));
}

std::string written(const Case::Pass& p) {
  if (p.kind == Case::Pass::Kind::Substitute)
    return "substitute" + list_of(p.substitutes, "", [](const auto& pair) {
             return fmt::format(" %{}=%{}", pair.first, pair.second);
           });
  std::string text = p.kind == Case::Pass::Kind::Map ? (p.bottom_up ? "map bottom" : "map")
                                                     : (p.bottom_up ? "bottom" : "top");
  for (const Case::Rule& r : p.rules) text += " | " + r.str();
  return text;
}

// --- reading ---

class RewriteReader {
 public:
  explicit RewriteReader(std::string_view text) : text_(text) {}

  Case all() {
    Case c;
    do {
      c.nodes.push_back(node());
    } while (take(";"));
    while (take("|")) part(c);
    space();
    if (at_ != text_.size()) fail("the end");
    return c;
  }

 private:
  [[noreturn]] void fail(const std::string& wanted) const {
    throw ParseError(
        fmt::format("column {}: expected {}, found '{}'", at_ + 1, wanted, text_.substr(at_, 12)));
  }
  void space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool next_is(std::string_view word) {
    space();
    return text_.substr(at_, word.size()) == word;
  }
  bool take(std::string_view word) {
    if (!next_is(word)) return false;
    at_ += word.size();
    return true;
  }
  void need(std::string_view word) {
    if (!take(word)) fail(fmt::format("'{}'", word));
  }
  // Directly next, without a space.
  bool glued(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string_view word(const char* more = "_") {
    space();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                  std::string_view(more).find(text_[at_]) != std::string::npos))
      ++at_;
    return text_.substr(begin, at_ - begin);
  }
  std::int64_t number() {
    space();
    const std::size_t begin = at_;
    const bool minus = glued('-');
    std::int64_t value = 0;
    int digits = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      if (++digits > 9) fail("a number of at most 9 digits");
      value = 10 * value + (text_[at_++] - '0');
    }
    if (digits == 0) {
      at_ = begin;
      fail("a number");
    }
    return minus ? -value : value;
  }
  std::optional<GraphOp> maybe_op() {
    const std::size_t begin = at_;
    const std::string_view of = word();
    for (const GraphOpInfo& row : graph_op_table)
      if (row.name == of) return row.op;
    at_ = begin;
    return std::nullopt;
  }
  GraphOp op() {
    if (const auto found = maybe_op()) return *found;
    fail("an op");
  }
  DType dtype() {
    const std::size_t begin = at_;
    const std::string_view of = word("");
    for (int i = 0; i < kDTypeCount; ++i)
      if (info(static_cast<DType>(i)).short_name == of) return static_cast<DType>(i);
    at_ = begin;
    fail("a type");
  }
  UOpType type() {
    const std::size_t begin = at_;
    if (word("") == "none") return {};
    at_ = begin;
    const DType of = dtype();
    if (glued('*')) return UOpType::pointer(of);
    if (!glued('.')) return of;
    const std::int64_t height = number();
    need("x");
    return UOpType::image(of, static_cast<std::int32_t>(height),
                          static_cast<std::int32_t>(number()));
  }
  UOpArg arg() {
    if (take("(")) {
      Shape shape;
      while (!take(")")) {
        shape.emplace_back(number());
        if (!next_is(")")) need(",");
      }
      return shape;
    }
    space();
    if (at_ < text_.size() && (text_[at_] == '-' || (text_[at_] >= '0' && text_[at_] <= '9')))
      return number();
    const DType of = dtype();
    need("/");
    return Scalar::parse(of, word("_-+."));
  }

  Case::Node node() {
    Case::Node n;
    space();
    if (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      n.times = number();
      need("*");
    }
    n.op = op();
    if (glued(':')) n.type = type();
    if (glued('=')) {
      if (glued('i') && (at_ == text_.size() ||
                         std::string_view(" ;|#@").find(text_[at_]) != std::string_view::npos)) {
        n.counts = true;
      } else {
        if (text_[at_ - 1] == 'i') --at_;
        n.arg = arg();
      }
    }
    if (glued('#')) n.tag = number();
    if (glued('@')) n.origin = word();
    while (next_is("%") || next_is("^")) {
      Case::Node::Source s;
      s.back = take("^");
      if (!s.back) need("%");
      s.from = s.to = number();
      if (glued('.')) {
        need(".");
        s.to = number();
      }
      n.src.push_back(s);
    }
    return n;
  }

  void part(Case& c) {
    const std::size_t begin = at_;
    const std::string_view first = word();
    Case::Pass pass;
    if (first == "top" || first == "bottom" || first == "map") {
      pass.bottom_up = first == "bottom";
      if (first == "map") {
        pass.kind = Case::Pass::Kind::Map;
        pass.bottom_up = take("bottom");
      }
      c.passes.push_back(std::move(pass));
      return;
    }
    if (first == "substitute") {
      pass.kind = Case::Pass::Kind::Substitute;
      while (take("%")) {
        const std::int64_t from = number();
        need("=");
        need("%");
        pass.substitutes.emplace_back(from, number());
      }
      c.passes.push_back(std::move(pass));
      return;
    }
    at_ = begin;
    if (c.passes.empty() || c.passes.back().kind == Case::Pass::Kind::Substitute)
      fail("top, bottom, map or substitute");
    c.passes.back().rules.push_back(rule());
  }

  Case::Rule rule() {
    Case::Rule r;
    r.pattern = pattern(0);
    need("->");
    r.result = result(0);
    if (!take("if ")) return r;
    r.guard.a = word();
    if (take("!=")) {
      r.guard.kind = Case::Guard::Kind::Differ;
      r.guard.b = word();
      return r;
    }
    need(":");
    r.guard.kind = Case::Guard::Kind::IsOp;
    r.guard.op = op();
    return r;
  }

  // An optional leading `name@`.
  std::string maybe_name() {
    const std::size_t begin = at_;
    const std::string name(word());
    if (!name.empty() && glued('@')) return name;
    at_ = begin;
    return "";
  }

  void patterns(Case::Pattern& p, std::string_view close, int depth) {
    while (!take(close)) {
      if (take("...")) {
        p.or_more = true;
        need(close);
        return;
      }
      p.of.push_back(pattern(depth + 1));
      if (!next_is(close)) need(",");
    }
  }

  Case::Pattern pattern(int depth) {
    if (depth > 12) fail("a pattern at most 12 deep");
    Case::Pattern p;
    p.name = maybe_name();
    if (take("~")) {
      p.kind = Case::Pattern::Kind::Casted;
      p.of.push_back(pattern(depth + 1));
      return p;
    }
    if (take("?")) {
      p.kind = Case::Pattern::Kind::OneOf;
      need("(");
      patterns(p, ")", depth);
      if (p.or_more || p.of.empty()) fail("alternatives");
      return p;
    }
    if (take("#")) {
      p.kind = Case::Pattern::Kind::Number;
      p.number = Scalar::parse(DType::Float64, word("_-+.")).to_double();
    } else {
      head(p);
    }
    if (glued(':')) do {
        p.types.push_back(dtype());
      } while (glued('+'));
    if (glued('=')) p.arg = arg();
    using Sources = Case::Pattern::Sources;
    for (const auto& [open, close, how] :
         {std::tuple{'(', ")", Sources::Ordered}, std::tuple{'{', "}", Sources::Shuffled},
          std::tuple{'[', "]", Sources::Each}}) {
      if (!glued(open)) continue;
      p.sources = how;
      patterns(p, close, depth);
      if (how == Sources::Each && (p.of.size() != 1 || p.or_more)) fail("one pattern in [ ]");
      break;
    }
    return p;
  }

  void head(Case::Pattern& p) {
    const std::size_t begin = at_;
    if (word() == "_") return;
    at_ = begin;
    if (const auto first = maybe_op()) {
      p.ops.push_back(*first);
      while (glued('+')) p.ops.push_back(op());
      return;
    }
    p.name = word();  // x is x@_
    if (p.name.empty()) fail("a pattern");
  }

  Case::Result result(int depth) {
    if (depth > 12) fail("a result at most 12 deep");
    using Kind = Case::Result::Kind;
    Case::Result r;
    if (const auto made = maybe_op()) {
      r.kind = Kind::Make;
      r.op = *made;
      if (glued(':')) r.type = type();
      if (glued('=')) r.arg = arg();
      if (glued('#')) r.tag = number();
      need("(");
      while (!take(")")) {
        r.of.push_back(result(depth + 1));
        if (!next_is(")")) need(",");
      }
      return r;
    }
    r.name = word();
    if (r.name.empty()) fail("a name, null or an op");
    if (r.name == "null") {
      r.name.clear();
      return r;
    }
    r.kind = Kind::Name;
    if (take(".0")) r.kind = Kind::Source;
    return r;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string RewriteCase::Rule::str() const {
  return written(pattern) + " -> " + written(result) + written(guard);
}

RewriteCase RewriteCase::parse(std::string_view text) { return RewriteReader(text).all(); }

std::string RewriteCase::str() const {
  std::string text = list_of(nodes, "; ", [](const Node& n) { return written(n); });
  for (const Pass& p : passes) text += " | " + written(p);
  return text;
}

}  // namespace touchstone::fuzz

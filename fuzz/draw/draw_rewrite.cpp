// Graphs and matching rules: most patterns are derived from a part of their graph.
#include <algorithm>
#include <map>

#include "touchstone/fuzz/cases/rewrite_case.h"

namespace touchstone::fuzz {
namespace {

using Case = RewriteCase;
using Pattern = Case::Pattern;
using Result = Case::Result;

class RewriteDrawing {
 public:
  explicit RewriteDrawing(Chooser& chooser) : choose_(chooser) {}

  std::string drawn() {
    vocabulary();
    graph();
    grows_ = choose_.chance(1, 5);
    const std::int64_t kind = choose_.between(0, 9);
    if (kind == 9) {
      substitution();
    } else {
      const bool maps = kind >= 5;
      const std::int64_t passes = maps ? choose_.between(1, 3) : 1;
      for (std::int64_t i = 0; i < passes; ++i) pass(maps);
      if (choose_.chance(1, 12)) substitution();
    }
    return case_.str();
  }

 private:
  void vocabulary() {
    const std::vector<GraphOp> leaf{GraphOp::Const, GraphOp::Unique, GraphOp::DefineVar,
                                    GraphOp::Device},
        one{GraphOp::Neg, GraphOp::Sin, GraphOp::Cast, GraphOp::Contiguous, GraphOp::Recip},
        two{GraphOp::Add, GraphOp::Mul,   GraphOp::Sub, GraphOp::Max,
            GraphOp::Xor, GraphOp::CmpNe, GraphOp::Idiv},
        many{GraphOp::Sink, GraphOp::MStack, GraphOp::Kernel, GraphOp::Assign};
    leaves_ = {choose_.pick(leaf)};
    if (choose_.chance(1, 2)) leaves_.push_back(GraphOp::Const);
    ops_ = {choose_.pick(one), choose_.pick(two)};
    if (choose_.chance(1, 2)) ops_.push_back(choose_.pick(one));
    if (choose_.chance(1, 3)) ops_.push_back(choose_.pick(two));
    if (choose_.chance(1, 4)) ops_.push_back(GraphOp::Where);
    if (choose_.chance(1, 3)) ops_.push_back(choose_.pick(many));
    const std::vector<UOpType> types{DType::Int32,
                                     DType::Float32,
                                     DType::Bool,
                                     UOpType::none(),
                                     UOpType::pointer(DType::Float32),
                                     UOpType::image(DType::Float32, 2, 3),
                                     DType::Int8,
                                     DType::UInt64};
    types_ = {choose_.pick(types)};
    while (types_.size() < 3 && choose_.chance(1, 3)) types_.push_back(choose_.pick(types));
  }

  UOpArg value(UOpType type) {
    if (type.is_none()) return std::int64_t{choose_.between(0, 2)};
    const std::vector<std::string> floats{"0", "1", "-0.0", "2", "nan", "-1", "inf"};
    if (is_float(type.base)) return Scalar::parse(type.base, choose_.pick(floats));
    if (type.base == DType::UInt64 && choose_.chance(1, 3))
      return Scalar::from_bits(type.base, ~std::uint64_t{0} << choose_.between(10, 63));
    return Scalar::from_int(type.base, choose_.between(0, 2));
  }
  std::int64_t number_of_sources(GraphOp op) {
    const GraphOpInfo& row = info(op);
    if (row.most == row.least) return row.least;
    return choose_.between(row.least, std::min(row.most, 4));
  }

  Case::Node node(GraphOp op) {
    Case::Node n;
    n.op = op;
    n.type = choose_.pick(types_);
    if (op == GraphOp::Const) n.arg = value(n.type);
    if (op != GraphOp::Const && choose_.chance(1, 8)) n.arg = std::int64_t{choose_.between(0, 2)};
    if (choose_.chance(1, 12)) n.arg = Shape{sint(choose_.between(0, 2)), 0};
    if (choose_.chance(1, 10)) n.tag = choose_.between(-1, 1);
    const std::vector<std::string> origins{"a", "b", "c"};
    if (choose_.chance(1, 4)) n.origin = choose_.pick(origins);
    return n;
  }

  // An earlier node, preferring later ones.
  Case::Node::Source source() {
    if (choose_.chance(1, 2)) {
      const std::int64_t back =
          1 + choose_.index(static_cast<std::size_t>(std::min<std::int64_t>(count_, 4)));
      return {true, back, back};
    }
    const std::int64_t at = choose_.index(static_cast<std::size_t>(count_));
    return {false, at, at};
  }

  void add(Case::Node n) {
    count_ += n.times;
    case_.nodes.push_back(std::move(n));
  }

  void over_some(Case::Node n) {
    const std::int64_t wanted = number_of_sources(n.op);
    for (std::int64_t i = 0; i < wanted; ++i) n.src.push_back(source());
    if (n.src.size() > 1 && choose_.chance(1, 4)) n.src[1] = n.src[0];
    add(std::move(n));
  }

  // A copy of a node with another tag.
  void twin() {
    const auto which = static_cast<std::size_t>(choose_.index(case_.nodes.size()));
    std::int64_t here = 0;
    for (std::size_t i = 0; i < which; ++i) here += case_.nodes[i].times;
    Case::Node n = case_.nodes[which];
    n.times = 1;
    n.counts = false;
    if (n.tag)
      n.tag.reset();
    else
      n.tag = choose_.between(-1, 1);
    for (Case::Node::Source& s : n.src)
      if (s.back) s = {false, here - s.from, here - s.to};
    add(std::move(n));
  }

  void graph() {
    add(node(leaves_[0]));
    const std::int64_t form = choose_.between(0, 39);
    for (std::int64_t i = choose_.between(0, 3); i > 0; --i) add(node(choose_.pick(leaves_)));
    for (std::int64_t i = choose_.between(0, 9); i > 0; --i) over_some(node(choose_.pick(ops_)));
    if (choose_.chance(1, 6)) twin();
    if (form == 38) {  // deep
      Case::Node n = node(choose_.pick(ops_));
      n.times = choose_.between(2, 2000);
      const std::int64_t wanted = number_of_sources(n.op);
      constexpr std::int64_t kMost = Case::kMostSources - 1000;  // leaves room for the rest
      n.times = std::min(n.times, kMost / std::max<std::int64_t>(wanted, 1));
      for (std::int64_t i = 0; i < wanted; ++i)
        n.src.push_back(i == 0 || choose_.chance(1, 2) ? Case::Node::Source{true, 1, 1} : source());
      add(std::move(n));
    }
    if (form == 39) {  // wide
      Case::Node n = node(leaves_[0]);
      n.times = choose_.between(2, 200);
      n.counts = choose_.chance(1, 2);
      const std::int64_t times = n.times;
      add(std::move(n));
      Case::Node sink = node(GraphOp::Sink);
      sink.src.push_back({true, times, 1});
      add(std::move(sink));
    }
    if (form % 4 == 3 && form != 39) {
      Case::Node sink = node(GraphOp::Sink);
      for (std::int64_t i = choose_.between(0, 3); i > 0; --i) sink.src.push_back(source());
      add(std::move(sink));
    }
  }

  // --- patterns ---

  std::string fresh_name() {
    return std::string(1, static_cast<char>('a' + static_cast<char>(names_++ % 12)));
  }

  // The name of a node in this pattern: equal nodes get equal names, with rare mistakes.
  std::string name_of(const UOp& u) {
    if (!named_.empty() && choose_.chance(1, 12)) return choose_.pick(named_).second;
    for (const auto& [node, name] : named_)
      if (node == u && !choose_.chance(1, 6)) return name;
    named_.emplace_back(u, fresh_name());
    return named_.back().second;
  }

  Pattern variable(const UOp& u) {
    Pattern p;
    if (!choose_.chance(1, 6)) p.name = name_of(u);
    return p;
  }

  Pattern of_op(const UOp& u, int depth) {
    Pattern p;
    p.ops = {u.op()};
    if (choose_.chance(1, 5)) p.ops.push_back(choose_.pick(ops_));
    if (choose_.chance(1, 5) && !u.dtype().is_none()) {
      p.types = {u.dtype().base};
      if (choose_.chance(1, 2)) p.types.push_back(DType::Bool);
      if (choose_.chance(1, 8)) p.types[0] = DType::Int64;
    }
    if (choose_.chance(1, 5) && u.arg().index() <= 6) p.arg = u.arg();
    if (choose_.chance(1, 30)) p.arg = UOpArg(std::int64_t{choose_.between(0, 1)});
    if (choose_.chance(1, 4)) p.name = name_of(u);
    if (depth < 3) sources(p, u, depth);
    return p;
  }

  void sources(Pattern& p, const UOp& u, int depth) {
    const std::vector<UOp>& src = u.src();
    switch (choose_.between(0, 5)) {
      case 0: return;
      case 5:
        p.sources = Pattern::Sources::Each;
        if (src.empty())
          p.of.push_back(Pattern());
        else
          p.of.push_back(choose_.chance(1, 2) || src.size() > 4 ? narrow(src[0])
                                                                : part(src[0], depth + 1));
        return;
      case 4:
      case 3: p.sources = Pattern::Sources::Shuffled; break;
      default: p.sources = Pattern::Sources::Ordered;
    }
    std::size_t wanted = std::min<std::size_t>(src.size(), 4);
    if (wanted > 0 && choose_.chance(1, 6)) --wanted;
    p.or_more = wanted < src.size() ? !choose_.chance(1, 8) : choose_.chance(1, 8);
    for (std::size_t i = 0; i < wanted; ++i) p.of.push_back(part(src[i], depth + 1));
    if (p.sources == Pattern::Sources::Shuffled && wanted > 1)
      std::swap(p.of[0], p.of[static_cast<std::size_t>(choose_.index(wanted))]);
  }

  // Without choices and names, so that many sources match in few ways.
  Pattern narrow(const UOp& u) {
    Pattern p;
    if (choose_.chance(1, 2)) p.ops = {u.op()};
    if (choose_.chance(1, 4)) p.ops.push_back(choose_.pick(leaves_));
    if (choose_.chance(1, 4)) p.name = name_of(u);
    return p;
  }

  Pattern part(const UOp& u, int depth) {
    switch (choose_.between(0, 9)) {
      default: return variable(u);
      case 4:
      case 5:
      case 6: return of_op(u, depth);
      case 7: {
        const auto* value = std::get_if<Scalar>(&u.arg());
        if (u.op() != GraphOp::Const || value == nullptr || value->is_nan()) return of_op(u, depth);
        Pattern p;
        p.kind = Pattern::Kind::Number;
        p.number = value->to_double();
        if (choose_.chance(1, 6)) p.number = static_cast<double>(choose_.between(0, 1));
        if (choose_.chance(1, 4)) p.number += 256;
        if (choose_.chance(1, 4)) p.name = name_of(u);
        return p;
      }
      case 8: {
        Pattern p;
        p.kind = Pattern::Kind::OneOf;
        p.of = {depth < 3 ? part(u, depth + 1) : variable(u), of_op(u, 3)};
        if (choose_.chance(1, 2)) p.of.push_back(variable(u));
        if (choose_.chance(1, 2)) std::swap(p.of[0], p.of[1]);
        if (choose_.chance(1, 4)) p.name = name_of(u);
        return p;
      }
      case 9: {
        Pattern p;
        p.kind = Pattern::Kind::Casted;
        if (choose_.chance(1, 3)) p.name = name_of(u);
        p.of = {depth < 3
                    ? part(u.op() == GraphOp::Cast && !u.src().empty() ? u.src(0) : u, depth + 1)
                    : variable(u)};
        return p;
      }
    }
  }

  Pattern top() {
    const UOp& u = nodes_[static_cast<std::size_t>(choose_.index(nodes_.size()))];
    if (choose_.chance(1, 10)) return part(u, 0);
    return of_op(u, 0);
  }

  // --- results ---

  Result result(const std::vector<std::string>& names, int depth) {
    Result r;
    const std::int64_t kind = choose_.between(0, 9);
    if (kind == 0 && depth == 0) return r;
    if (!names.empty() && (kind < 6 || depth > 1)) {
      r.kind = kind == 5 ? Result::Kind::Source : Result::Kind::Name;
      r.name = choose_.pick(names);
      return r;
    }
    r.kind = Result::Kind::Make;
    // Kinds that the graph lacks, so that results do not match again, unless rules may grow.
    const std::vector<GraphOp> quiet{GraphOp::Sqrt, GraphOp::And};
    r.op = grows_ || choose_.chance(1, 10) ? choose_.pick(ops_) : choose_.pick(quiet);
    if (depth > 1 || choose_.chance(1, 5)) r.op = leaves_[0];
    if (choose_.chance(1, 4)) r.type = choose_.pick(types_);
    if (r.op == GraphOp::Const) r.arg = value(r.type.value_or(types_[0]));
    if (choose_.chance(1, 12)) r.tag = choose_.between(0, 1);
    const std::int64_t wanted = depth > 1 ? 0 : number_of_sources(r.op);
    for (std::int64_t i = 0; i < wanted; ++i) r.of.push_back(result(names, depth + 1));
    for (Result& s : r.of)  // null stands alone
      if (s.kind == Result::Kind::Null) {
        s.kind = Result::Kind::Make;
        s.op = GraphOp::Unique;
      }
    return r;
  }

  Case::Rule rule() {
    Case::Rule r;
    named_.clear();
    names_ = 0;
    r.pattern = top();
    const std::vector<std::string> names = names_of(r.pattern);
    r.result = result(names, 0);
    if (!names.empty() && choose_.chance(1, 5)) {
      r.guard.a = choose_.pick(names);
      if (choose_.chance(1, 2)) {
        r.guard.kind = Case::Guard::Kind::IsOp;
        r.guard.op = choose_.pick(ops_);
      } else {
        r.guard.kind = Case::Guard::Kind::Differ;
        r.guard.b = choose_.pick(names);
      }
    }
    return r;
  }

  void pass(bool maps) {
    nodes_ = case_.build();
    Case::Pass p;
    p.kind = maps ? Case::Pass::Kind::Map : Case::Pass::Kind::Rewrite;
    p.bottom_up = choose_.chance(1, 2);
    for (std::int64_t i = choose_.between(1, 5); i > 0; --i) p.rules.push_back(rule());
    case_.passes.push_back(std::move(p));
  }

  void substitution() {
    Case::Pass p;
    p.kind = Case::Pass::Kind::Substitute;
    std::vector<std::int64_t> from;
    for (std::int64_t i = choose_.between(1, 4); i > 0; --i) {
      const std::int64_t key = choose_.index(static_cast<std::size_t>(count_));
      if (std::ranges::find(from, key) != from.end()) continue;
      from.push_back(key);
      // Rewrites before it end; those after it may not.
      const bool any = choose_.chance(1, 4);
      const std::int64_t most = any ? count_ : std::max<std::int64_t>(key, 1);
      p.substitutes.emplace_back(key, choose_.index(static_cast<std::size_t>(most)));
    }
    case_.passes.push_back(std::move(p));
  }

  Chooser& choose_;
  Case case_;
  std::vector<GraphOp> leaves_, ops_;
  std::vector<UOpType> types_;
  std::int64_t count_ = 0;
  bool grows_ = false;
  std::vector<UOp> nodes_;
  std::vector<std::pair<UOp, std::string>> named_;
  int names_ = 0;
};

}  // namespace

std::string draw_rewrite(Chooser& chooser) { return RewriteDrawing(chooser).drawn(); }

}  // namespace touchstone::fuzz

#include "touchstone/symbolic/access/access.h"

#include <algorithm>
#include <random>
#include <set>

#include "touchstone/base/error.h"
#include "touchstone/symbolic/expr/operators.h"
#include "touchstone/symbolic/number/power.h"

namespace touchstone::symbolic {

namespace {

using Verdict = Finding::Verdict;

constexpr std::int64_t kMostPoints = 200'000, kSample = 20'000;

// Open ends are cut here for points.
Interval cut(const Interval& range) {
  constexpr int kReach = 1 << 20;
  Interval r = range;
  if (!r.lo && !r.hi) return {Int(-kReach), Int(kReach)};
  if (!r.lo) r.lo = *r.hi - Int(kReach);
  if (!r.hi) r.hi = *r.lo + Int(kReach);
  return r;
}

/// The units of memory, of so many bytes, that elements at these addresses touch.
std::set<Int> touched(const std::vector<Int>& addresses, int bytes, int unit) {
  std::set<Int> units;
  for (const Int& a : addresses) {
    const Int last = floor_div(a * bytes + Int(bytes - 1), unit);
    for (Int u = floor_div(a * bytes, unit); u <= last; u += 1) units.insert(u);
  }
  return units;
}

std::string range_text(const Interval& range) {
  return fmt::format("[{}, {}]", range.lo ? range.lo->str() : "-inf",
                     range.hi ? range.hi->str() : "inf");
}

}  // namespace

std::string point_text(const std::map<std::string, Int>& point) {
  std::string text;
  for (const auto& [name, value] : point)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value.str());
  return text.empty() ? "every point" : text;
}

Access::Access(Question question) : question_(std::move(question)) {
  Context context;
  answer(question_, context);  // refuses bad texts with the place
  index_ = parse_expr(exprs_, question_.text);
  for (const std::string& a : question_.assumptions) conditions_.push_back(parse_expr(exprs_, a));
  for (const auto& [name, range] : question_.variables) names_.push_back(name);
}

std::map<std::string, Int> Access::named(const Point& point) const {
  std::map<std::string, Int> r;
  for (std::size_t i = 0; i < names_.size(); ++i) r.emplace(names_[i], point[i]);
  return r;
}

std::size_t Access::place_of(const std::string& variable) const {
  const auto at = std::ranges::find(names_, variable);
  if (at == names_.end()) throw ParseError(fmt::format("the index has no variable '{}'", variable));
  return static_cast<std::size_t>(at - names_.begin());
}

bool Access::met(const Evaluator& values) const {
  return std::ranges::all_of(conditions_, [&](Expr c) {
    const auto& value = values.value(c);
    return value && !value->is_zero();
  });
}

bool Access::each_point(const std::function<bool(const Point&)>& f, const Steps& steps,
                        bool guarded) const {
  Evaluator conditions(exprs_, conditions_, names_);
  const auto holds = [&](const Point& p) {
    if (!guarded || conditions_.empty()) return true;
    conditions.at(p);
    return met(conditions);
  };
  std::vector<Interval> box;
  Int count = 1;
  bool open = false;
  for (const auto& [name, range] : question_.variables) {
    open |= !range.lo || !range.hi;
    box.push_back(cut(range));
    count = count * (*box.back().hi - *box.back().lo + Int(1));
  }
  if (steps.step > 1) {
    const Int step = steps.step;
    Interval& side = box[steps.place];
    const Int first = steps.before ? floor_div(*side.lo, step) : -floor_div(-*side.lo, step);
    side = {first * step, floor_div(*side.hi, step) * step};
    if (*side.hi < *side.lo) return true;
    count = 1;
    for (std::size_t i = 0; i < box.size(); ++i)
      count =
          count * ((floor_div(*box[i].hi - *box[i].lo, i == steps.place ? step : Int(1))) + Int(1));
  }
  const auto rise = [&](std::size_t i) { return i == steps.place ? Int(steps.step) : Int(1); };
  Point p;
  for (const Interval& side : box) p.push_back(*side.lo);
  if (!open && count <= Int(kMostPoints)) {
    for (;;) {
      if (holds(p) && !f(p)) return true;
      std::size_t i = p.size();
      while (i > 0 && p[i - 1] == *box[i - 1].hi) --i, p[i] = *box[i].lo;
      if (i == 0) return true;
      p[i - 1] += rise(i - 1);
    }
  }
  // Both ends and their neighbours, the middle, and any: many faults are at an end.
  std::mt19937_64 random(1);
  for (std::int64_t n = 0; n < kSample; ++n) {
    for (std::size_t i = 0; i < p.size(); ++i) {
      const Int size = floor_div(*box[i].hi - *box[i].lo, rise(i)) + Int(1);
      const auto below = [&](std::uint64_t n) {
        return floor_mod(Int(static_cast<std::int64_t>(n >> 2)), size) * rise(i);
      };
      const std::uint64_t kind = random() % 8;
      p[i] = kind < 3   ? *box[i].hi - below(random() % 12)
             : kind < 5 ? *box[i].lo + below(random() % 12)
                        : *box[i].lo + below(random());
    }
    if (n == 0)
      for (std::size_t i = 0; i < p.size(); ++i) p[i] = *box[i].hi;
    if (holds(p) && !f(p)) return false;
  }
  return false;
}

// Is a part within an interval?
Finding Access::within(const Question& question, Expr part, const Interval& wanted,
                       bool guarded) const {
  const std::string text = render(exprs_, part);
  Question of_part = question;
  of_part.text = text;
  Context context;
  const Interval range = answer(of_part, context).bounds;
  const auto inside = [&](const Int& v) { return v >= *wanted.lo && v <= *wanted.hi; };
  Finding r;
  r.what = fmt::format("{} is in {}", text, range_text(range));
  if (range.lo && range.hi && inside(*range.lo) && inside(*range.hi)) {
    r.verdict = Verdict::Yes;
    return r;
  }
  Evaluator evaluator(exprs_, {part}, names_);
  const bool all = each_point(
      [&](const Point& p) {
        evaluator.at(p);
        const auto& value = evaluator.value(part);
        if (!value || inside(*value)) return true;
        r.verdict = Verdict::No;
        r.at = named(p);
        r.what = fmt::format("{} is {} at {}", text, value->str(), point_text(r.at));
        return false;
      },
      {}, guarded);
  if (r.verdict != Verdict::No && all) {
    r.verdict = Verdict::Yes;
    r.what = fmt::format("{} stays in {} at every point", text, range_text(wanted));
  }
  return r;
}

// The parts with an operator, each with the conditions of the choices around it.
std::vector<GuardedPart> Access::own_parts() const {
  constexpr std::size_t kMost = 2'000;
  std::vector<GuardedPart> parts;
  std::vector<std::pair<Expr, std::vector<std::string>>> left = {{index_, {}}};
  while (!left.empty()) {
    if (parts.size() == kMost) throw Error(fmt::format("an index of more than {} parts", kMost));
    const auto [e, when] = std::move(left.back());
    left.pop_back();
    if (exprs_.is_constant(e)) continue;
    parts.push_back({render(exprs_, e), when});
    const auto args = exprs_.args(e);
    const ExprOp op = exprs_.op(e);
    const bool lazy = op == ExprOp::Where || op == ExprOp::And || op == ExprOp::Or;
    for (std::size_t i = 0; i < args.size(); ++i) {
      std::vector<std::string> under = when;
      if (lazy && i > 0) {
        const bool holds = op == ExprOp::Where ? i == 1 : op == ExprOp::And;
        under.push_back((holds ? "(" : "not (") + render(exprs_, args[0]) + ")");
      }
      left.emplace_back(args[i], std::move(under));
    }
  }
  std::ranges::reverse(parts);  // the innermost fault is named
  return parts;
}

Finding Access::fits(int bits, bool is_signed, std::vector<GuardedPart> parts) const {
  const auto type_of = [](int width, bool with_sign) {
    const Int half = power_of_two(with_sign ? width - 1 : width);
    return with_sign ? Interval{-half, half - 1} : Interval{Int(0), half - 1};
  };
  Finding open{
      Verdict::Yes, fmt::format("every part fits {}int{}", is_signed ? "" : "u", bits), {}};
  if (parts.empty()) parts = own_parts();
  for (const GuardedPart& part : parts) {
    Question q = question_;
    q.text = part.text;
    q.assumptions.insert(q.assumptions.end(), part.when.begin(), part.when.end());
    Finding r;
    try {
      const Access of_part(q);
      r = of_part.within(
          q, of_part.index_,
          part.bits > 0 ? type_of(part.bits, part.is_signed) : type_of(bits, is_signed), true);
    } catch (const ParseError&) {  // its conditions never hold
      continue;
    }
    if (r.verdict == Verdict::No && part.bits > 0 && part.bits != bits)
      r.what += fmt::format(", beyond {}int{}", part.is_signed ? "" : "u", part.bits);
    if (r.verdict == Verdict::No) return r;
    if (r.verdict == Verdict::Open && open.verdict == Verdict::Yes) open = r;
  }
  return open;
}

Finding Access::divides() const {
  Finding r{Verdict::Yes, "no divisor is 0", {}};
  for (const Expr part : exprs_.parts(index_)) {
    if (!symbolic::divides(exprs_.op(part))) continue;
    const Expr divisor = exprs_.arg(part, 1);
    if (exprs_.is_constant(divisor)) continue;
    Evaluator evaluator(exprs_, {divisor, index_}, names_);
    const bool all = each_point(
        [&](const Point& p) {
          evaluator.at(p);
          if (evaluator.value(index_)) return true;
          const auto& value = evaluator.value(divisor);
          if (!value || !value->is_zero()) return true;
          r = {Verdict::No,
               fmt::format("{} is 0 at {}", render(exprs_, divisor), point_text(named(p))),
               named(p)};
          return false;
        },
        {});
    if (r.verdict == Verdict::No) return r;
    Question q = question_;
    q.text = render(exprs_, divisor);
    Context context;
    const Interval range = answer(q, context).bounds;
    if (!all && !range.at_least(1) && !range.at_most(-1))
      r = {Verdict::Open, fmt::format("{} may be 0", q.text), {}};
  }
  return r;
}

Finding Access::inside(const Int& size) const {
  return within(question_, index_, {Int(0), size - 1}, true);
}

Finding Access::inside_unguarded(const Int& size) const {
  Question free = question_;
  free.assumptions.clear();
  return within(free, index_, {Int(0), size - 1}, false);
}

Finding Access::vector(const std::string& variable, int width) const {
  const std::size_t place = place_of(variable);
  const Interval& range = question_.variables[place].second;
  // With variable = width * u, u an integer, and k from 0 to width - 1.
  Exprs e;
  const Expr whole = parse_expr(e, question_.text);
  const auto moved = [&](Expr text, int k) {
    const Expr at =
        e.apply(ExprOp::Add,
                {e.apply(ExprOp::Mul, {e.variable(variable), e.constant(width)}), e.constant(k)});
    return render(e, e.substitute(text, {{variable, at}}));
  };
  Question groups = question_;
  Interval& of_group = groups.variables[place].second;
  of_group = {range.lo ? End(-floor_div(-*range.lo, width)) : End(),
              range.hi ? End(floor_div(*range.hi + 1, width) - 1) : End()};
  Finding r;
  if (of_group.lo && of_group.hi && *of_group.hi < *of_group.lo) {
    r.what = fmt::format("{} has fewer than {} values", variable, width);
    return r;
  }
  std::vector<std::string> assumptions;
  for (const std::string& a : question_.assumptions)  // the guard must hold for the whole group
    for (const int k : {0, width - 1}) assumptions.push_back(moved(parse_expr(e, a), k));
  groups.assumptions = assumptions;
  const auto is = [&](const std::string& text, const Int& value) {
    Question q = groups;
    q.text = text;
    Context context;
    try {
      return answer(q, context).bounds == Interval::point(value);
    } catch (const ParseError&) {  // no group satisfies the assumptions
      return false;
    }
  };
  const std::string first = moved(whole, 0);
  bool proved = is(fmt::format("({})%{}", first, width), 0);
  for (int k = 1; k < width && proved; ++k)
    proved = is(fmt::format("({}) - ({})", moved(whole, k), first), k);
  if (proved) {
    r.verdict = Verdict::Yes;
    r.what = fmt::format("{} neighbours along {} are consecutive and aligned", width, variable);
    return r;
  }
  Evaluator evaluator(exprs_, {index_}, names_);
  const auto value = [&](const Point& p) {
    evaluator.at(p);
    return evaluator.value(index_);
  };
  Evaluator conditions(exprs_, conditions_, names_);
  std::int64_t groups_tried = 0;
  const bool all = each_point(
      [&](const Point& p) {
        if (range.hi && p[place] + Int(width - 1) > *range.hi) return true;
        Point last = p;
        last[place] += Int(width - 1);
        conditions.at(last);
        if (!met(conditions)) return true;
        ++groups_tried;
        const auto start = value(p);
        if (!start) return true;
        const auto fail = [&](const std::string& why) {
          r.verdict = Verdict::No;
          r.at = named(p);
          r.what = fmt::format("{} at {}", why, point_text(r.at));
          return false;
        };
        if (!floor_mod(*start, width).is_zero())
          return fail(
              fmt::format("the first address {} is no multiple of {}", start->str(), width));
        Point q = p;
        for (int k = 1; k < width; ++k) {
          q[place] = p[place] + Int(k);
          const auto next = value(q);
          if (next && *next != *start + Int(k))
            return fail(fmt::format("neighbour {} is at {}, not {},", k, next->str(),
                                    (*start + Int(k)).str()));
        }
        return true;
      },
      {place, width});
  if (r.verdict != Verdict::No && groups_tried == 0) {
    r.what = fmt::format("no {} neighbours satisfy the assumptions", width);
  } else if (r.verdict != Verdict::No) {
    r.verdict = all ? Verdict::Yes : Verdict::Open;
    r.what = fmt::format("{} neighbours along {} are consecutive and aligned at all points tried",
                         width, variable);
  }
  return r;
}

WarpFinding Access::warps(const std::string& lane, int lanes,
                          const std::function<std::int64_t(const std::vector<Int>&)>& cost) const {
  const std::size_t place = place_of(lane);
  const Interval& range = question_.variables[place].second;
  std::vector<Expr> all = conditions_;
  all.push_back(index_);
  Evaluator evaluator(exprs_, all, names_);
  WarpFinding r;
  bool found = false;
  r.all = each_point(
      [&](const Point& p) {
        Point q = p;
        std::vector<Int> addresses;
        for (int k = 0; k < lanes; ++k) {
          q[place] = p[place] + Int(k);
          if (range.hi && q[place] > *range.hi) break;
          if (range.lo && q[place] < *range.lo) continue;
          evaluator.at(q);
          if (const auto& value = evaluator.value(index_); value && met(evaluator))
            addresses.push_back(*value);
        }
        if (addresses.empty()) return true;
        const std::int64_t now = cost(addresses);
        if (!found || now > r.worst) r.worst = now, r.at = named(p);
        if (!found || now < r.best) r.best = now;
        found = true;
        return true;
      },
      {place, lanes, true}, false);
  if (!found) throw Error(fmt::format("no lane of {} satisfies the assumptions", lane));
  return r;
}

WarpFinding Access::segments(const std::string& lane, int lanes, int bytes, int segment) const {
  return warps(lane, lanes, [&](const std::vector<Int>& addresses) {
    return std::ssize(touched(addresses, bytes, segment));
  });
}

WarpFinding Access::bank_conflicts(const std::string& lane, int lanes, int bytes, int banks) const {
  return warps(lane, lanes, [&](const std::vector<Int>& indices) {
    return words_in_one_bank(indices, bytes, banks);
  });
}

bool Access::each_warp(const std::string& lane, int lanes,
                       const std::function<void(const std::vector<Int>&)>& f) const {
  return warps(lane, lanes,
               [&](const std::vector<Int>& indices) {
                 f(indices);
                 return std::int64_t{0};
               })
      .all;
}

std::int64_t words_in_one_bank(const std::vector<Int>& indices, int bytes, int banks) {
  std::map<Int, std::int64_t> words;  // of each bank
  constexpr int kWord = 4;
  std::int64_t most = 0;
  for (const Int& w : touched(indices, bytes, kWord))
    most = std::max(most, ++words[floor_mod(w, banks)]);
  return most;
}

}  // namespace touchstone::symbolic

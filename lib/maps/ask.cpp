#include "touchstone/maps/ask.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "touchstone/base/json_line.h"
#include "touchstone/shapetracker/ask/movement_words.h"
#include "touchstone/shapetracker/invert/movement_ops.h"

namespace touchstone::maps {

namespace in_words = shapetracker::in_words;

namespace {

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; (at = text.find_first_not_of(" \n\t", at)) != text.npos;) {
    const std::size_t end = std::min(text.find_first_of(" \n\t", at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

bool is_view(std::string_view text) {
  const auto words = words_of(text);
  return words.size() > 2 &&
         std::ranges::find(in_words::kMovements, words[1]) != std::end(in_words::kMovements);
}

Map read_view(const symbolic::Question& text) {
  const auto words = words_of(text.text);
  if (words.size() % 2 == 0)
    throw ParseError("a view is a shape, then operations with an argument each: 4,8 permute 1,0");
  in_words::Names names;
  for (const auto& [name, range] : text.variables) {
    const auto lo = range.lo ? range.lo->small() : std::nullopt,
               hi = range.hi ? range.hi->small() : std::nullopt;
    names.emplace(name, symbolic::variable(name, lo.value_or(1), hi));
  }
  ShapeTracker t = ShapeTracker::contiguous(in_words::sizes(words[0], names));
  for (std::size_t k = 1; k < words.size(); k += 2)
    t = apply(t, in_words::movement(words[k], words[k + 1], names));
  return Map::of(t);
}

bool has_word(std::string_view text, std::string_view word) {
  const auto letter = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  for (std::size_t at = 0; (at = text.find(word, at)) != text.npos; ++at) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !letter(text[at - 1])) && (end == text.size() || !letter(text[end])))
      return true;
  }
  return false;
}

std::int64_t number(std::string_view text, const std::string& whole) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.empty() || digits.size() > 18 || digits.find_first_not_of("0123456789") != digits.npos)
    throw ParseError(fmt::format("'{}' in '{}' is not a range; write 0..7 or 5", text, whole));
  return std::stoll(std::string(text));
}

bool is_layout(const std::string& notation) {
  return notation == "cute" || notation == "cutlass" || notation == "strides" || notation == "view";
}

std::string text_of(const Map& map, const std::string& to) {
  return to.empty() ? map.str() : written(map, to);
}

void add_verdict(Answer& a, const Reply& r) {
  a.verdict = r.verdict;
  a.points = r.points;
  a.lines.emplace_back("why", r.what);
}

void add_image(Answer& a, const Map& map) {
  const auto seen = image(map);
  if (!seen) {
    if (map.box().empty) a.lines.emplace_back("points", "0");
    return;
  }
  if (seen->points) a.lines.emplace_back("points", std::to_string(*seen->points));
  if (seen->distinct) a.lines.emplace_back("distinct", std::to_string(*seen->distinct));
  std::string text;
  for (const auto& [lo, hi] : seen->ranges)
    text += fmt::format("{}{}..{}", text.empty() ? "" : ", ", lo, hi);
  a.lines.emplace_back("range", text);
}

}  // namespace

Ranges ranges_of(const std::string& text) {
  Ranges r;
  std::optional<std::string_view> rest = text;
  while (rest) {
    const std::string_view part = in_words::take(rest, ',');
    const std::size_t dots = part.find("..");
    const std::int64_t lo = number(part.substr(0, dots), text);
    r.emplace_back(lo, dots == part.npos ? lo : number(part.substr(dots + 2), text));
    if (r.back().second < lo)
      throw ParseError(fmt::format("{}: an empty range; the least comes first", part));
  }
  return r;
}

Map read_map(const symbolic::Question& text, const std::string& from,
             const std::vector<std::string>& symbols) {
  if (from == "view" || (from.empty() && is_view(text.text))) return read_view(text);
  const auto language = from.empty() ? symbolic::guess_language(text.text)
                                     : std::optional(symbolic::parse_language(from));
  return Map::read(text, language.value_or(symbolic::Language::Touchstone), symbols);
}

std::vector<Map> read_maps(const std::vector<std::string>& texts,
                           const std::vector<std::string>& from, const symbolic::Question& given,
                           const std::vector<std::string>& symbols) {
  const auto is_used = [&](const std::string& name) {
    return std::ranges::any_of(texts, [&](const std::string& t) { return has_word(t, name); });
  };
  for (const auto& v : given.variables)
    if (!is_used(v.first))
      throw ParseError(fmt::format("no map has a variable {}; remove or rename it", v.first));
  std::vector<Map> maps;
  const auto is_known = [&](const std::string& name) {
    return std::ranges::any_of(maps, [&](const Map& m) {
      return std::ranges::find(m.symbols(), name, &Map::Input::name) != m.symbols().end();
    });
  };
  for (std::size_t k = 0; k < texts.size(); ++k) {
    const auto of_this = [&](const std::string& name) {
      return has_word(texts[k], name) || !is_used(name);
    };
    symbolic::Question q{{}, {}, texts[k]};
    std::vector<std::string> own;
    for (const auto& v : given.variables)
      if (of_this(v.first)) q.variables.push_back(v);
    for (const std::string& s : symbols)
      if (of_this(s)) own.push_back(s);
    for (const std::string& a : given.assumptions) {  // about this map's variables
      const bool other = std::ranges::any_of(given.variables, [&](const auto& v) {
        return has_word(a, v.first) && !of_this(v.first);
      });
      if (!other) q.assumptions.push_back(a);
    }
    try {
      Map m = read_map(q, from.empty() ? "" : from[std::min(k, from.size() - 1)], own);
      for (const Map::Input& s : std::vector(m.symbols()))  // `?` of another text is another number
        if (!has_word(texts[k], s.name) && is_known(s.name))
          m = m.renamed(s.name, fmt::format("{}_{}", s.name, k + 1));
      maps.push_back(std::move(m));
    } catch (const ParseError& e) {
      if (texts.size() == 1) throw;
      throw ParseError(fmt::format("map {}: {}", k + 1, e.what()));
    }
  }
  return maps;
}

Answer ask(const std::string& operation, const std::vector<Map>& maps, const Options& o) {
  const auto row = std::ranges::find(kOperations, operation, &Operation::name);
  if (row == std::end(kOperations)) {
    std::string known;
    for (const Operation& r : kOperations)
      known += fmt::format("{}{}", known.empty() ? "" : ", ", r.name);
    throw ParseError(fmt::format("map: there is no operation '{}'; known: {}", operation, known));
  }
  if (std::ssize(maps) != row->maps)
    throw ParseError(fmt::format("map {}: takes {} map{}, found {}", operation, row->maps,
                                 row->maps == 1 ? "" : "s", maps.size()));
  const Map& m = maps[0];
  Answer a;
  const auto gives = [&](Map map) {
    a.lines.emplace_back("map", text_of(map, o.to));
    a.map = std::move(map);
  };
  if (operation == "show") {
    gives(m);
    for (const char* notation : {"cute", "triton", "strides", "view", "mlir"}) {
      if (!o.to.empty()) break;
      try {
        a.lines.emplace_back(notation, written(m, notation));
      } catch (const Error&) {  // it has no such form
      }
    }
    add_image(a, m);
  } else if (operation == "equal") {
    add_verdict(a, same(m, maps[1]));
    if (o.steps && a.verdict == Verdict::Yes) a.why = why_equal(m, maps[1]);
  } else if (operation == "why-not") {
    add_verdict(a, same(m, maps[1]));
    if (a.verdict == Verdict::Yes) return a;
    const auto facts = missing_facts(m, maps[1]);
    for (const std::string& f : facts) a.lines.emplace_back("equal if", f);
    if (facts.empty())
      a.lines.emplace_back("tried",
                           "divisibility and bounds of variables and dividends; none suffices");
  } else if (operation == "compose") {
    gives(maps[1].then(m));
  } else if (operation == "injective") {
    add_verdict(a, injective(m));
  } else if (operation == "surjective") {
    add_verdict(a, surjective(m, o.onto));
  } else if (operation == "bijective") {
    add_verdict(a, bijective(m, o.onto));
  } else if (operation == "overlap") {
    Reply r = apart(m, maps[1]);
    if (r.verdict != Verdict::Open)
      r.verdict = r.verdict == Verdict::No ? Verdict::Yes : Verdict::No;
    add_verdict(a, r);
  } else if (operation == "inverse") {
    Inverse i = inverse(m);
    if (i.map) {
      // A layout has one result: the flat index of the point.
      if (i.map->results().size() > 1 && is_layout(o.to)) {
        symbolic::Node flat = 0;
        const auto places = m.places();
        for (std::size_t k = 0; k < places.size(); ++k)
          flat = flat + i.map->results()[k] * symbolic::Node(places[k].weight);
        i.map = i.map->with_results({flat});
      }
      gives(*i.map);
      a.lines.emplace_back(
          "kind", fmt::format("{}{}",
                              i.injective ? "left and right inverse"
                                          : "right inverse: one of several points",
                              i.gaps ? "; numbers that fail a condition are no results" : ""));
    } else {
      a.verdict = Verdict::Open;
      a.lines.emplace_back("why", i.injective
                                      ? "there is one, but not by digits or bits of the results"
                                      : "no form by digits or bits of the results was found");
    }
  } else if (operation == "complement") {
    std::int64_t size = 0;
    if (o.size)
      size = *o.size;
    else if (const auto seen = image(m); seen && !seen->ranges.empty())
      size = seen->ranges[0].second + 1;
    gives(complement(m, size));
  } else if (operation == "divide") {
    gives(divided(m, maps[1]));
  } else if (operation == "product") {
    gives(product(m, maps[1]));
  } else if (operation == "coalesce") {
    gives(coalesced(m));
  } else if (operation == "image") {
    add_image(a, m);
    if (a.lines.empty()) {
      a.verdict = Verdict::Open;
      a.lines.emplace_back("why", "too many points, an open range or a symbol");
    }
  } else if (operation == "preimage") {
    if (!o.onto) throw ParseError("map preimage: say which results with --onto 0..7");
    if (o.onto->size() != m.results().size())
      throw ParseError(
          fmt::format("--onto needs a range for each of {} results", m.results().size()));
    std::vector<symbolic::Node> conditions = m.conditions();
    for (std::size_t k = 0; k < o.onto->size(); ++k) {
      conditions.push_back(symbolic::ge(m.results()[k], (*o.onto)[k].first));
      conditions.push_back(symbolic::le(m.results()[k], (*o.onto)[k].second));
    }
    Map part = Map::made(m.inputs(), m.symbols(), conditions, m.results());
    if (const auto t = table_of(part, kMostPoints, Beyond::Skip)) {
      a.lines.emplace_back("points", std::to_string(t->size()));
      constexpr std::size_t kShown = 8;
      for (std::size_t k = 0; k < std::min(t->size(), kShown); ++k) {
        symbolic::Values& p = a.points.emplace_back();
        for (std::size_t i = 0; i < m.inputs().size(); ++i)
          p.emplace(m.inputs()[i].name, t->point(k)[i]);
      }
    }
    gives(std::move(part));
  } else if (operation == "footprint") {
    const auto f = footprint(m, o.tile);
    if (!f) throw ShapeError("footprint: too many points, an open range or a symbol");
    a.lines.emplace_back("tiles", std::to_string(f->tiles));
    a.lines.emplace_back("distinct", f->least == f->most
                                         ? std::to_string(f->most)
                                         : fmt::format("{} to {}", f->least, f->most));
    a.lines.emplace_back("runs", fmt::format("at most {}", f->runs));
    a.points.push_back(f->at);
  } else if (operation == "intersect" || operation == "difference") {
    const auto c = compare_images(m, maps[1]);
    if (!c) throw ShapeError(operation + ": too many points, an open range or a symbol");
    const Comparison::Part& part = operation == "intersect" ? c->both : c->only_a;
    a.lines.emplace_back("results", std::to_string(part.count));
    std::string some;
    for (const auto& v : part.some)
      some += fmt::format(
          "{}{}", some.empty() ? "" : ", ",
          v.size() == 1 ? std::to_string(v[0]) : fmt::format("({})", fmt::join(v, ", ")));
    if (!some.empty()) a.lines.emplace_back("first", some);
  } else if (operation == "solve") {
    const Solved s = solved(m);
    const auto end = [&](const char* name, const symbolic::Node& n) {
      a.lines.emplace_back(name, symbolic::render(n));
    };
    if (s.least) end("least", *s.least);
    if (s.largest) end("largest", *s.largest);
    for (const symbolic::Node& c : s.rest) end(s.exact ? "exists if" : "also", c);
    if (!s.exact)
      a.lines.emplace_back("bounds", "not every value between is a solution; the ends may be none");
    if (a.lines.empty()) a.lines.emplace_back("least", "none: every value is a solution");
  } else if (operation == "restrict") {
    if (o.where.empty()) throw ParseError("map restrict: say where with --where 'i < 8'");
    gives(m.restricted(o.where));
  }
  return a;
}

std::string answer_json(const std::string& operation, const Answer& answer) {
  nlohmann::ordered_json j{{"operation", operation}};
  if (answer.verdict) j["answer"] = word_of(*answer.verdict);
  for (const auto& [name, text] : answer.lines) j[name] = text;
  for (const symbolic::Values& p : answer.points) j["at"].push_back(p);
  if (answer.why) j["steps"] = json_of(*answer.why);
  return json_line(j);
}

}  // namespace touchstone::maps

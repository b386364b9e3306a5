#include "touchstone/maps/check.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "touchstone/base/interrupt.h"
#include "touchstone/base/json_line.h"

namespace touchstone::maps {

using symbolic::Access;
using symbolic::WarpFinding;

namespace {

// "int32", "uint8": bits and sign.
std::pair<int, bool> type_of(const std::string& name) {
  for (const int bits : {8, 16, 32, 64})
    for (const bool is_signed : {true, false})
      if (name == fmt::format("{}int{}", is_signed ? "" : "u", bits)) return {bits, is_signed};
  throw ParseError(
      fmt::format("--type {}: not an integer type; write int32, uint32, int64 or the like", name));
}

class IndexReport {
 public:
  void add(const std::string& label, const Finding& f) {
    all.push_back({label, f.verdict, f.what, f.at, ""});
  }
  void add(const std::string& label, const Reply& r) {
    all.push_back({label, r.verdict, r.what, {}, ""});
    if (!r.points.empty())
      for (const auto& [name, value] : r.points[0]) all.back().at.emplace(name, value);
  }
  void add(const std::string& label, const WarpFinding& f, const std::string& unit) {
    all.push_back({label, std::nullopt,
                   fmt::format("at most {} {} (at {}), at least {}; {}", f.worst, unit,
                               symbolic::point_text(f.at), f.best,
                               f.all ? "all points" : "a sample of points"),
                   f.at, ""});
  }
  std::vector<IndexFinding> all;
};

void check_result(const IndexQuestion& o, const symbolic::Question& question, IndexReport& report) {
  const auto [bits, is_signed] = type_of(o.type);
  const Access access(question);
  const auto name = [&](const std::string& spelled) {
    for (const auto& [own, original] : o.asked.spelled)
      if (original == spelled) return own;
    return spelled;
  };
  for (const std::string* variable : {&o.vector, &o.lane})
    if (!variable->empty() &&
        std::ranges::find(question.variables, name(*variable),
                          &std::pair<std::string, symbolic::Interval>::first) ==
            question.variables.end())
      throw ParseError(fmt::format("the index has no variable '{}'", *variable));
  std::vector<symbolic::GuardedPart> parts = o.asked.parts;
  if (parts.size() == symbolic::Translation::kMostParts)
    throw ParseError(fmt::format("an index of {} operators or more; ask for its parts",
                                 symbolic::Translation::kMostParts));
  if (parts.empty() && o.asked.language != symbolic::Language::Touchstone)
    parts.push_back({question.text, {}});
  report.add(o.type, access.fits(bits, is_signed, std::move(parts)));
  if (const Finding divides = access.divides(); divides.verdict != Verdict::Yes)
    report.add("divisor", divides);
  if (!o.size.empty()) {
    if (o.size.find_first_not_of("0123456789") != std::string::npos)
      throw ParseError(fmt::format("--size {}: not a whole number", o.size));
    const symbolic::Int size = symbolic::Int::from_digits(o.size);
    report.add("bounds", access.inside(size));
    if (!question.assumptions.empty() && access.inside_unguarded(size).verdict == Verdict::Yes)
      report.all.back().note = "the assumptions are not needed for it";
  }
  if (!o.vector.empty()) {
    int width = 1;
    std::string why;
    for (const int next : {2, 4, 8, 16}) {
      const Finding f = access.vector(name(o.vector), next);
      if (f.verdict != Verdict::Yes) {
        why = fmt::format("not {}: {}", next, f.what);
        break;
      }
      width = next;
    }
    report.all.push_back(
        {"vector", std::nullopt, fmt::format("{} along {}, aligned", width, o.vector), {}, why});
  }
  if (!o.lane.empty()) {
    report.add("segments", access.segments(name(o.lane), o.lanes, o.bytes, o.segment),
               fmt::format("segments of {} bytes", o.segment));
    report.add("banks", access.bank_conflicts(name(o.lane), o.lanes, o.bytes, o.banks),
               "words in one bank");
  }
}

// An index moved so that warps meet in fewer banks: by a swizzle, which only permutes, or by
// padding after each row of `width` elements.
struct Remedy {
  int b = 0, m = 0, s = 0;           // Swizzle<b, m, s>
  std::int64_t width = 0, more = 0;  // or index + index // width * more
  symbolic::Int of(const symbolic::Int& index) const {
    if (width > 0) return index + floor_div(index, width) * symbolic::Int(more);
    const auto small = index.small();
    if (!small || *small < 0) return index;
    return *small ^ ((*small >> (m + s) & ((std::int64_t{1} << b) - 1)) << m);
  }
};

// The first of the remedies that are best for the worst warp of all questions, tried on each warp.
void find_remedies(const IndexQuestion& o, IndexReport& report) {
  if (o.lane.empty()) throw ParseError("--remedy: name the variable of the lanes with --lane");
  std::vector<std::vector<symbolic::Int>> warps;  // the indices of each
  bool all = true, negative = false;
  for (const symbolic::Question& q : o.asked.questions) {
    std::string lane = o.lane;
    for (const auto& [own, original] : o.asked.spelled)
      if (original == o.lane) lane = own;
    std::int64_t kept = 0;  // indices, of all warps
    bool dropped = false;
    all = Access(q).each_warp(lane, o.lanes, [&](const std::vector<symbolic::Int>& indices) {
      constexpr std::int64_t kMost = 1 << 17;
      dropped = dropped || (kept > 0 && kept + std::ssize(indices) > kMost);
      if (dropped) return;
      kept += std::ssize(indices);
      warps.push_back(indices);
      negative =
          negative || std::ranges::any_of(indices, [](const auto& i) { return i.sign() < 0; });
    }) && all;
    all = all && !dropped;
  }
  const auto worst = [&](const Remedy& remedy, std::int64_t limit) {
    std::int64_t most = 0;
    for (const std::vector<symbolic::Int>& warp : warps) {
      Interrupt::poll();
      std::vector<symbolic::Int> moved;
      for (const symbolic::Int& index : warp) moved.push_back(remedy.of(index));
      most = std::max(most, symbolic::words_in_one_bank(moved, o.bytes, o.banks));
      if (most > limit) break;
    }
    return most;
  };
  const std::int64_t before = worst({}, INT64_MAX);
  const auto say = [&](const std::string& label, const std::string& text) {
    report.all.push_back({label, std::nullopt, text, {}, ""});
  };
  const std::string sample = all ? "" : ", in a sample of points";
  if (before <= 1) return say("remedy", "none is needed" + sample);
  Remedy swizzle, padding;
  std::int64_t with_swizzle = before, with_padding = before;
  constexpr int kMost = 7;
  for (int b = 1; b <= kMost; ++b)
    for (int m = 0; m <= kMost; ++m)
      for (int s = b; s <= kMost; ++s)
        if (const std::int64_t now = worst({b, m, s}, with_swizzle - 1); now < with_swizzle)
          swizzle = {b, m, s}, with_swizzle = now;
  for (std::int64_t more = 1; more <= 16; more *= 2)
    for (std::int64_t width = 8; width <= 1024; width *= 2)
      if (const std::int64_t now = worst({0, 0, 0, width, more}, with_padding - 1);
          now < with_padding)
        padding = {0, 0, 0, width, more}, with_padding = now;
  const auto outcome = [&](std::int64_t now) {
    return fmt::format("at most {} words in one bank instead of {}{}", now, before, sample);
  };
  say("swizzle",
      with_swizzle == before
          ? std::string("none helps") + (negative ? "; negative indices stay where they are" : "")
          : fmt::format("Swizzle<{},{},{}> of the index: {}", swizzle.b, swizzle.m, swizzle.s,
                        outcome(with_swizzle)));
  say("padding", with_padding == before ? "none helps"
                                        : fmt::format("{} element{} after every {}: {}",
                                                      padding.more, padding.more == 1 ? "" : "s",
                                                      padding.width, outcome(with_padding)));
}

}  // namespace

std::vector<IndexFinding> check_index(const IndexQuestion& o) {
  IndexReport report;
  for (const symbolic::Question& question : o.asked.questions) {
    if (o.asked.questions.size() > 1)
      report.all.push_back({"", std::nullopt, question.text, {}, ""});
    check_result(o, question, report);
  }
  if (o.remedy) find_remedies(o, report);
  if (o.same.empty() && !o.image) return report.all;
  const Map map = Map::of(o.asked);
  if (!o.same.empty()) {
    const Map other =
        Map::read({o.asked.questions[0].variables, o.assumptions, o.same}, o.asked.language);
    try {
      report.add("same", same(map, other));
    } catch (const ShapeError& e) {
      report.add("same", Reply{Verdict::No, fmt::format("another range: {}", e.what()), {}});
    }
  }
  if (o.image) {
    report.add("distinct", injective(map));
    if (const auto seen = image(map); seen && seen->points && seen->distinct) {
      const bool permutes = seen->points == seen->distinct && seen->ranges.size() == 1 &&
                            seen->ranges[0] == std::pair(std::int64_t{0}, *seen->points - 1);
      report.all.push_back({"image",
                            std::nullopt,
                            fmt::format("{} points, {} indices from {} to {}{}", *seen->points,
                                        *seen->distinct, seen->ranges[0].first,
                                        seen->ranges[0].second, permutes ? ": a permutation" : ""),
                            {},
                            ""});
    }
  }
  return report.all;
}

Verdict verdict_of(const std::vector<IndexFinding>& findings) {
  Verdict all = Verdict::Yes;
  for (const IndexFinding& f : findings) {
    if (f.verdict == Verdict::No) return Verdict::No;
    if (f.verdict == Verdict::Open) all = Verdict::Open;
  }
  return all;
}

namespace {

using Json = nlohmann::ordered_json;  // variables stay in their order

symbolic::End end_of(const Json& j) {
  if (j.is_null()) return {};
  return symbolic::Int(j.get<std::int64_t>());
}

}  // namespace

namespace {

std::string text_at(const Json& j, const char* name) { return j.value(name, std::string()); }

std::vector<std::string> texts_at(const Json& j, const char* name) {
  const auto at = j.find(name);
  if (at == j.end()) return {};
  if (at->is_string()) return {at->get<std::string>()};
  return at->get<std::vector<std::string>>();
}

symbolic::Question given_in(const Json& j) {
  symbolic::Question given{{}, texts_at(j, "assume"), ""};
  if (const auto vars = j.find("vars"); vars != j.end())
    for (const auto& [name, range] : vars->items())
      given.variables.push_back({name, {end_of(range.at(0)), end_of(range.at(1))}});
  return given;
}

}  // namespace

MapQuestion map_question(const Json& j) {
  Options o{{},
            j.value("tile", std::vector<std::int64_t>()),
            {},
            text_at(j, "where"),
            text_at(j, "to"),
            j.value("steps", false)};
  if (j.contains("onto")) o.onto = ranges_of(text_at(j, "onto"));
  if (j.contains("size")) o.size = j["size"].get<std::int64_t>();
  std::vector<std::string> texts = texts_at(j, "maps");
  auto maps = read_maps(texts, texts_at(j, "from"), given_in(j), texts_at(j, "symbols"));
  return {text_at(j, "operation"), std::move(texts), std::move(maps), std::move(o)};
}

std::string answer_question(std::string_view json) {
  try {
    const Json j = Json::parse(json);
    const auto text = [&](const char* name) { return text_at(j, name); };
    const std::string operation = text("operation");
    if (operation != "check-index") {
      const MapQuestion q = map_question(j);
      return answer_json(operation, ask(operation, q.maps, q.options));
    }
    symbolic::Question given = given_in(j);
    const std::vector<std::string> maps = texts_at(j, "maps");
    if (maps.size() != 1) throw ParseError("check-index: give one text in \"maps\"");
    given.text = maps[0];
    const auto from = texts_at(j, "from");
    const auto language = from.empty() ? symbolic::guess_language(given.text)
                                       : std::optional(symbolic::parse_language(from[0]));
    IndexQuestion q{{given.assumptions, j.value("type", std::string("int32")), text("size"),
                     text("same"), j.value("image", false), text("vector"), text("lane"),
                     j.value("lanes", 32), j.value("bytes", 4), j.value("segment", 32),
                     j.value("banks", 32), j.value("remedy", false)},
                    symbolic::translate(given, language.value_or(symbolic::Language::Touchstone))};
    if (q.lanes < 1 || q.lanes > 1024 || q.bytes < 1 || q.bytes > 64 || q.segment < 1 ||
        q.banks < 1)
      throw ParseError("check-index: lanes, bytes, segment and banks are 1 or more");
    const auto found = check_index(q);
    nlohmann::ordered_json r{{"operation", operation}, {"answer", word_of(verdict_of(found))}};
    for (const IndexFinding& f : found) {
      nlohmann::ordered_json row{{"what", f.label}, {"text", f.text}};
      if (f.verdict) row["answer"] = word_of(*f.verdict);
      for (const auto& [name, value] : f.at) row["at"][name] = value.str();
      if (!f.note.empty()) row["note"] = f.note;
      r["findings"].push_back(row);
    }
    return json_line(r);
  } catch (const Json::exception& e) {
    throw ParseError(fmt::format("a question about maps: {}", e.what()));
  }
}

}  // namespace touchstone::maps

#include "touchstone/symbolic/notation/jsonl.h"

#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/base/json_line.h"
#include "touchstone/symbolic/notation/notation.h"
#include "touchstone/symbolic/number/limits.h"

namespace touchstone::symbolic {

namespace {

/// Only for the reader. It passes numbers beyond 64 bits on as text if they fit a long double: up
/// to 4,932 digits.
using WideJson = nlohmann::basic_json<std::map, std::vector, std::string, bool, std::int64_t,
                                      std::uint64_t, long double>;

std::string shown(std::string_view text) {
  return fmt::format("\"{}{}\"", text.substr(0, kLimits.message_characters),
                     text.size() > kLimits.message_characters ? "..." : "");
}

/// Fills in a question while parsing; builds no tree, so nesting costs one bit a level.
class Reader : public nlohmann::json_sax<WideJson> {
 public:
  explicit Reader(Question& question) : q_(question) {}

  const std::string& from() const { return from_; }
  const std::string& to() const { return to_; }

  bool key(std::string& name) override {
    if (place_ == Place::Top) {
      member_ = name;
      const bool known = name == "vars" || name == "assume" || is_text();
      if (known && !seen_.insert(name).second)
        throw ParseError(fmt::format("\"{}\" is given twice", name));
    } else if (place_ == Place::Vars) {
      q_.variables.emplace_back(name, Interval());
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::Outside) return enter(Place::Top);
    if (place_ == Place::Top && member_ == "vars") return enter(Place::Vars);
    return other("an object");
  }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override {
    if (place_ == Place::Top && member_ == "assume") return enter(Place::Assume);
    if (place_ == Place::Vars) {
      ends_ = 0;
      return enter(Place::Bounds);
    }
    return other("a list");
  }
  bool end_array() override {
    if (place_ == Place::Bounds && ends_ != 2) wrong_bounds(fmt::format("{} values", ends_));
    return leave();
  }

  bool null() override { return place_ == Place::Bounds ? bound(std::nullopt) : other("null"); }
  bool boolean(bool value) override { return other(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) override { return integer(std::to_string(value)); }
  bool number_unsigned(std::uint64_t value) override { return integer(std::to_string(value)); }
  bool number_float(long double, const std::string& text) override { return integer(text); }
  bool binary(WideJson::binary_t&) override { return other("binary data"); }

  bool string(std::string& text) override {
    if (place_ == Place::Top && is_text())
      (member_ == "in" ? q_.text : member_ == "from" ? from_ : to_) = std::move(text);
    else if (place_ == Place::Assume)
      q_.assumptions.push_back(std::move(text));
    else
      return other(shown(text));
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& e) override {
    if (e.id == 406)
      throw ParseError(
          fmt::format("column {}: a number has more than the supported 4,932 digits", position));
    std::string_view what = e.what();
    constexpr std::string_view kFrom = ": ";
    if (const auto at = what.find(kFrom); at != what.npos) what.remove_prefix(at + kFrom.size());
    throw ParseError(fmt::format("column {}: not JSON: {}", position,
                                 what.size() > 200 ? what.substr(0, 200) : what));
  }

  /// The checks that need the whole text.
  void finish() const {
    if (!seen_.contains("in"))
      throw ParseError("\"in\" is missing; give the expression as \"in\":\"a//2*2\"");
  }

 private:
  enum class Place : std::uint8_t { Outside, Top, Vars, Bounds, Assume, Ignored };

  bool is_text() const { return member_ == "in" || member_ == "from" || member_ == "to"; }
  bool enter(Place place) {
    place_ = place;
    return true;
  }
  bool leave() {
    switch (place_) {
      case Place::Ignored:
        if (--ignored_ == 0) place_ = Place::Top;
        break;
      case Place::Bounds: place_ = Place::Vars; break;
      case Place::Top: place_ = Place::Outside; break;
      default: place_ = Place::Top;
    }
    return true;
  }

  bool integer(const std::string& text) {
    if (place_ != Place::Bounds) return other(shown(text));
    if (text.find_first_not_of("-0123456789") != text.npos) return other(shown(text));
    return bound(Int::from_digits(text));
  }
  bool bound(End value) {
    Interval& range = q_.variables.back().second;
    if (++ends_ > 2) wrong_bounds("more than two");
    (ends_ == 1 ? range.lo : range.hi) = std::move(value);
    return true;
  }
  [[noreturn]] void wrong_bounds(const std::string& found) const {
    throw ParseError(fmt::format("vars.{}: expected two bounds as [0,8], null where open, found {}",
                                 shown(q_.variables.back().first), found));
  }

  /// A value of a type that no member of the question takes: accepted only in unknown members.
  bool other(const std::string& found) {
    const bool opens = found == "an object" || found == "a list";
    switch (place_) {
      case Place::Ignored: ignored_ += opens ? 1 : 0; return true;
      case Place::Outside:
        throw ParseError("expected an object, {\"vars\":{..},\"in\":\"..\"}, found " + found);
      case Place::Vars:
      case Place::Bounds: wrong_bounds(found);
      case Place::Assume:
        throw ParseError(fmt::format("assume[{}]: expected a condition as a string, found {}",
                                     q_.assumptions.size(), found));
      case Place::Top: break;
    }
    if (is_text())
      throw ParseError(fmt::format("{}: expected {} as a string, found {}", member_,
                                   member_ == "in" ? "the expression" : "a language", found));
    if (member_ == "vars")
      throw ParseError("vars: expected an object as {\"a\":[0,8]}, found " + found);
    if (member_ == "assume") throw ParseError("assume: expected a list of strings, found " + found);
    if (opens) {
      ignored_ = 1;
      place_ = Place::Ignored;
    }
    return true;
  }

  Question& q_;
  Place place_ = Place::Outside;
  std::string member_, from_, to_;
  std::set<std::string, std::less<>> seen_;
  int ends_ = 0;
  std::size_t ignored_ = 0;  // nesting within an unknown member
};

std::string end_text(const End& end) { return end ? end->str() : "null"; }

std::string error_json(std::string_view what) {
  // The message may quote a text cut within a character.
  return json_line(nlohmann::json::object({{"error", what}}));
}

struct Line {
  Translation asked;
  Language to = Language::Touchstone;
};

Line read_line(std::string_view line) {
  Line r;
  Question& question = r.asked.questions.emplace_back();
  Reader reader(question);
  WideJson::sax_parse(line.begin(), line.end(), &reader);
  reader.finish();
  if (!reader.from().empty())
    r.asked = translate(Question(question), parse_language(reader.from()));
  if (!reader.to().empty()) r.to = parse_language(reader.to());
  return r;
}

}  // namespace

Question read_question(std::string_view line) {
  Translation asked = read_line(line).asked;
  if (asked.questions.size() != 1)
    throw ParseError(fmt::format("in: {} results; give one", asked.questions.size()));
  return std::move(asked.questions[0]);
}

std::string answer_json(std::string_view text, const Answering& answering) {
  try {
    const Line line = read_line(text);
    // Names as the text has them, if the answer is in its language.
    const auto spelled =
        line.to == line.asked.language ? line.asked.spelled : std::map<std::string, std::string>();
    std::string all;
    for (const Question& q : line.asked.questions) {
      auto [a, more] = answering(q);
      if (line.to != Language::Touchstone) a.text = written(a.text, q, line.to, spelled);
      // Without the library: bounds have any number of digits, and text and sizes need no escapes.
      all += fmt::format("{}{{\"out\":\"{}\",\"size\":{},\"min\":{},\"max\":{},\"ns\":{}{}}}",
                         all.empty() ? "" : ",", a.text, a.size, end_text(a.bounds.lo),
                         end_text(a.bounds.hi), a.ns, more);
    }
    if (line.asked.questions.size() != 1) all = fmt::format("{{\"results\":[{}]}}", all);
    if (const auto& notes = line.asked.notes; !notes.empty())
      all.insert(all.size() - 1, ",\"notes\":" + json_line(nlohmann::json(notes)));
    return all;
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& e) {
    return error_json(e.what());
  } catch (const std::bad_alloc&) {
    return error_json("out of memory");
  }
}

std::string answer_json(std::string_view text, Session& session) {
  return answer_json(text, [&](const Question& q) { return Answered{session.answer(q), ""}; });
}

}  // namespace touchstone::symbolic

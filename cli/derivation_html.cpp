// The page of `touchstone simplify --steps --format html`: data/derivation.html with the steps put
// in. It runs no script and loads nothing.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "derivation_view.h"
#include "touchstone/base/html.h"

extern const unsigned char derivation_page[];
extern const std::size_t derivation_page_size;

namespace touchstone::cli {

using namespace symbolic;

namespace {

std::string line(const MarkedText& m, const char* sign, const char* mark) {
  const std::string_view t = m.text;
  return fmt::format(
      "<p class=\"line\"><span class=\"sign\">{}</span><code>{}<mark class=\"{}\">{}</mark>{}"
      "</code></p>\n",
      sign, html_text(t.substr(0, m.begin)), mark, html_text(t.substr(m.begin, m.end - m.begin)),
      html_text(t.substr(m.end)));
}

std::string step_html(const StepWords& s, std::size_t number) {
  std::string out =
      fmt::format("<li class=\"step{}\" id=\"step-{}\">\n", s.explained ? "" : " open", number);
  out += fmt::format("<h3><span class=\"number\">{}</span> {}{}</h3>\n", number,
                     s.rule.empty() ? "" : fmt::format("<code class=\"rule\">{}</code> ", s.rule),
                     html_text(s.title));
  out += line(s.before, "", "was") + line(s.after, "=", "now");
  if (s.from.empty() && s.facts.empty()) return out + "</li>\n";
  out += "<dl>\n";
  if (!s.from.empty())
    out += fmt::format("<dt>law</dt><dd><code>{}</code> &rarr; <code>{}</code></dd>\n",
                       html_text(s.from), html_text(s.to));
  if (!s.bindings.empty()) {
    std::string bound;
    for (const auto& [name, value] : s.bindings)
      bound +=
          fmt::format("<span class=\"pair\"><code>{} = {}</code></span> ", name, html_text(value));
    out += fmt::format("<dt>with</dt><dd>{}</dd>\n", bound);
  }
  if (!s.when.empty())
    out += fmt::format("<dt>if</dt><dd><code>{}</code></dd>\n", html_text(s.when));
  if (!s.facts.empty()) {
    std::string known;
    for (const std::string& f : s.facts)
      known += fmt::format("<span class=\"pair\"><code>{}</code></span> ", html_text(f));
    out += fmt::format("<dt>known</dt><dd>{}</dd>\n", known);
  }
  return out + "</dl>\n</li>\n";
}

std::string chain_html(const Derivation& d, const Chain& chain, std::size_t& number) {
  std::string out = "<ol class=\"steps\">\n";
  for (const StepWords& s : words_of(d, chain)) out += step_html(s, ++number);
  return out + "</ol>\n";
}

void put(std::string& page, std::string_view place, const std::string& text) {
  page.replace(page.find(place), place.size(), text);
}

}  // namespace

std::string derivation_html(const Derivation& d, const std::optional<Flaw>& flaw) {
  std::string page(reinterpret_cast<const char*>(derivation_page), derivation_page_size);
  std::string given, body;
  for (const std::string& b : bounds_words(d))
    given += fmt::format("<span class=\"pair\"><code>{}</code></span> ", html_text(b));
  for (const Chain& a : d.assumptions)
    given += fmt::format("<span class=\"pair\"><code>{}</code></span> ",
                         html_text(render(d.exprs, a.start)));
  std::size_t number = 0;
  for (const Chain& a : d.assumptions) {
    if (a.steps.empty()) continue;
    body += fmt::format("<h2>What is assumed, <code>{}</code></h2>\n",
                        html_text(render(d.exprs, a.start)));
    body += chain_html(d, a, number);
  }
  if (!body.empty()) body += "<h2>The expression</h2>\n";
  body += chain_html(d, d.main, number);
  if (d.main.steps.empty()) body += "<p>It is as short as it gets.</p>\n";
  const std::string start = html_text(render(d.exprs, d.main.start));
  put(page, "<!--TITLE-->", start);
  put(page, "<!--START-->", start);
  put(page, "<!--RESULT-->", html_text(render(d.exprs, d.main.result)));
  put(page, "<!--GIVEN-->", given.empty() ? "nothing" : given);
  put(page, "<!--VERDICT-->",
      fmt::format("<span class=\"verdict {}\">{}</span>", flaw ? "bad" : "good",
                  html_text(verdict(d, flaw))));
  put(page, "<!--STEPS-->", body);
  return page;
}

}  // namespace touchstone::cli

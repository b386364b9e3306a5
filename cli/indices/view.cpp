#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/file.h"
#include "touchstone/cli/explore/answers.h"
#include "touchstone/cli/explore/view_story.h"
#include "touchstone/cli/indices/view_drawing.h"
#include "touchstone/cli/program/answer_lines.h"
#include "touchstone/cli/program/report.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/shapetracker/ask/jsonl.h"

namespace touchstone::cli {
namespace {

// A self-contained page that draws the steps. With variable sizes it offers up to 24 of their
// values.
std::string view_html(const std::vector<std::string>& words, const explore::ViewStory& story) {
  Json data = explore::story_json(fmt::format("{}", fmt::join(words, " ")), story);
  StepReport report("Views", data["title"].get<std::string>());
  report.part("operations", "step", "view", std::move(data["steps"]));
  for (const char* name : {"base", "composed", "simplified", "choices"})
    if (data.contains(name)) report.more(name, std::move(data[name]));
  return report.html();
}

using explore::IndexText;
using explore::ViewStep;
using explore::ViewStory;

void print_step(const ViewStep& step) {
  fmt::print("{}\n", bold(step.title));
  for (auto view = step.views.rbegin(); view != step.views.rend(); ++view)
    fmt::print("  {}\n", view->str());
  for (const std::string& note : step.notes) fmt::print("  {}\n", dim(note));
}

void print_index(const char* title, const IndexText& text) {
  const auto of = [](std::int64_t n, const char* what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
  };
  fmt::print("{} {}\n", bold(title),
             dim(fmt::format("{}, {}, {}", of(text.cost.divisions, "division"),
                             of(text.cost.modulos, "modulo"), of(text.cost.steps, "part"))));
  fmt::print("  {} {}\n  {} {}\n", dim("index"), text.index, dim("valid"), text.valid);
}

// draw: adds grids below each step.
void print(const ViewStory& story, bool draw) {
  std::vector<std::string> drawings;
  if (draw) drawings = view_drawings(story, {draws_unicode(), output_columns()});
  for (std::size_t i = 0; i < story.steps.size(); ++i) {
    print_step(story.steps[i]);
    // The title is already printed above.
    if (draw) fmt::print("{}", drawings[i].substr(drawings[i].find('\n') + 1));
  }
  print_index("as composed", story.composed);
  print_index("simplified", story.simplified);
  std::string strides;
  for (const auto& s : story.strides)
    strides += fmt::format("{}{}", strides.empty() ? "" : ", ", s ? s->str() : "?");
  fmt::print("  {} ({}){}\n", dim("strides"), strides, story.contiguous ? ", contiguous" : "");
}

}  // namespace

int run_view(const ViewOptions& options) {
  if (options.jsonl) {
    if (!options.words.empty() || !options.variables.empty() || options.html || options.strides ||
        options.offset || options.mask)
      throw ParseError(
          "view --jsonl: reads questions from standard input and takes no other arguments");
    return answer_lines("view", shapetracker::answer_json, LineStream::Blank::Answered);
  }
  std::vector<std::string> words = options.words;
  std::string page = options.html.value_or("");
  // `--html 10,10 permute 1,0`: a shape is no file name.
  if (!page.empty() && page.find_first_not_of("0123456789,()") == std::string::npos) {
    words.insert(words.begin(), page);
    page.clear();
  }
  if (page == "-") page.clear();
  if (words.empty())
    throw ParseError(
        "view: no shape and operations given, as in 10,10 permute 1,0; or use --jsonl");
  const ViewStory story =
      explore::tell(words, options.variables, {options.strides, options.offset, options.mask});
  if (!options.html || !page.empty())
    print(story, options.draw == "always" || (options.draw == "auto" && is_on_terminal()));
  if (!options.html) return kExitOk;
  const std::string html = view_html(words, story);
  if (page.empty()) {
    fmt::print("{}", html);
  } else {
    write_file_atomically(page, html);
    fmt::print("{} {}\n", dim("page"), page);
  }
  return kExitOk;
}

}  // namespace touchstone::cli

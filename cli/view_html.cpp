// The page of `touchstone view --html`: data/view.html with the story put in.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "page.h"
#include "touchstone/explore/answers.h"
#include "view_page.h"

extern const unsigned char view_page[];
extern const std::size_t view_page_size;

namespace touchstone::cli {

std::string view_html(const std::vector<std::string>& words, const explore::ViewStory& story) {
  const explore::Json data = explore::story_json(fmt::format("{}", fmt::join(words, " ")), story);
  return page_with(view_page, view_page_size, "/*STORY*/", data.dump(-1, ' ', true));
}

}  // namespace touchstone::cli

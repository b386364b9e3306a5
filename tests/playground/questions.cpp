// Questions for the explorer, and native answers to compare with the page's.
//
// playground_questions drawn COUNT SEED: drawn questions, one per line
// playground_questions cases FILE: the questions of a fuzzer corpus, symbolic.txt or view.txt
// playground_questions answer: the answers to the lines of standard input

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include <nlohmann/json.hpp>

#include "touchstone/cli/explore/explorer.h"
#include "touchstone/fuzz/choice/chooser.h"
#include "touchstone/fuzz/index/expression_case.h"
#include "touchstone/fuzz/index/view_case.h"

namespace touchstone {
namespace {

using Json = nlohmann::ordered_json;

// Bounds may have any number of digits, so the JSON library cannot write the line.
std::string expression_question(const std::string& text, const char* ask) {
  const fuzz::ExpressionCase::Parts parts = fuzz::ExpressionCase::split(text);
  std::string vars;
  const auto end = [](const std::optional<symbolic::Int>& e) { return e ? e->str() : "null"; };
  for (const auto& v : parts.variables)
    vars += fmt::format("{}{}:[{},{}]", vars.empty() ? "" : ",", Json(v.name).dump(), end(v.low),
                        end(v.high));
  Json assume = Json::array();
  for (const std::string_view a : parts.assumptions) assume.push_back(a);
  return fmt::format(R"({{"ask":"{}","vars":{{{}}},"assume":{},"in":{}}})", ask, vars,
                     assume.dump(), Json(parts.root).dump());
}

std::string view_question(const std::string& text) {
  Json vars = Json::array();
  std::string words = text;
  if (const std::size_t bar = text.find(" | "); bar != std::string::npos) {
    std::string word;
    for (const char c : text.substr(0, bar) + " ") {
      if (c != ' ') {
        word += c;
      } else if (!word.empty()) {
        vars.push_back(std::move(word));
        word.clear();
      }
    }
    words = text.substr(bar + 3);
  }
  return Json{{"ask", "view"}, {"words", words}, {"vars", std::move(vars)}}.dump();
}

void draw(std::uint64_t count, std::uint64_t seed) {
  for (std::uint64_t i = 0; i < count; ++i) {
    fuzz::RandomChooser chooser(seed, i);
    switch (i % 4) {
      case 0:
      case 1:
        fmt::print("{}\n", expression_question(fuzz::draw_expression(chooser), "simplify"));
        break;
      case 2: {  // a derivation of hundreds of parts may take seconds
        const std::string text = fuzz::draw_expression(chooser);
        fmt::print("{}\n", expression_question(text, text.size() < 160 ? "steps" : "simplify"));
        break;
      }
      default: fmt::print("{}\n", view_question(fuzz::draw_chain(chooser)));
    }
  }
}

int cases(const char* path) {
  std::ifstream file(path);
  if (!file) return 2;
  const bool views = std::string(path).ends_with("view.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    if (views) {
      fmt::print("{}\n", view_question(line));
    } else {
      fmt::print("{}\n{}\n", expression_question(line, "simplify"),
                 expression_question(line, "steps"));
    }
  }
  return 0;
}

int answer() {
  explore::Explorer explorer;
  for (std::string line; std::getline(std::cin, line);) fmt::print("{}\n", explorer.answer(line));
  return 0;
}

}  // namespace
}  // namespace touchstone

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "drawn" && argc == 4) {
    touchstone::draw(std::strtoull(argv[2], nullptr, 10), std::strtoull(argv[3], nullptr, 10));
    return 0;
  }
  if (verb == "cases" && argc == 3) return touchstone::cases(argv[2]);
  if (verb == "answer" && argc == 2) return touchstone::answer();
  fmt::print(stderr, "playground_questions drawn COUNT SEED | cases FILE | answer\n");
  return 2;
}

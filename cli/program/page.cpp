#include "touchstone/cli/program/page.h"

#include <chrono>

#include <fmt/format.h>

#include "touchstone/base/error.h"
#include "touchstone/base/visible.h"
#include "touchstone/process/run.h"

namespace touchstone::cli {
namespace {

constexpr char kSvgStyle[] = R"(<style>
svg { --ink: #1c2430; --line: #6b7686; --reduce: #bcd6f0; --elementwise: #dff0d2; --load: #e2e4e8;
  background: #fbfbf9; }
@media (prefers-color-scheme: dark) {
  svg { --ink: #e6e9ee; --line: #8490a2; --reduce: #27466b; --elementwise: #2c4a2b; --load: #343d49;
    background: #14181e; }
}
text { fill: var(--ink); }
.edge path { stroke: var(--line); }
.edge polygon { stroke: var(--line); fill: var(--line); }
.node.reduce path { fill: var(--reduce); }
.node.elementwise path { fill: var(--elementwise); }
.node.load path { fill: var(--load); }
</style>
)";

}  // namespace

std::string page_with(const unsigned char* page, std::size_t size, std::string_view mark,
                      std::string_view json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) safe += c == '<' ? std::string("\\u003c") : std::string(1, c);
  std::string text(reinterpret_cast<const char*>(page), size);
  return text.replace(text.find(mark), mark.size(), safe);
}

std::string svg_of_dot(const std::string& dot) {
  if (process::find_program("dot").empty())
    throw SystemError(
        "Graphviz's program dot was not found; install graphviz, or lay out the output of --dot "
        "elsewhere");
  process::Limits limits;
  limits.time = std::chrono::minutes(1);
  const process::Finished done =
      process::run_program({"dot", {"-Tsvg"}, {}}, dot, limits, process::Child::Errors::Apart);
  if (done.exceeded != process::Exceeded::Nothing)
    throw SystemError("Graphviz took more than a minute; --dot writes the graph without layout");
  const std::size_t begin = done.output.find("<svg");
  if (done.ending.status != 0 || begin == std::string::npos)
    throw SystemError(fmt::format("Graphviz returned no picture ({}): {}", done.ending.text(),
                                  visible(done.errors, 300)));
  std::string svg = done.output.substr(begin);
  return svg.insert(svg.find('>') + 1, std::string("\n") + kSvgStyle);
}

}  // namespace touchstone::cli

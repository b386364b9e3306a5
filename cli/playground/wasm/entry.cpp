// The page's entry points: text in, text out.

#include <cstdlib>
#include <string>
#include <string_view>

#include "touchstone/cli/explore/explorer.h"

namespace {

touchstone::explore::Explorer& explorer() {
  static auto* const only = new touchstone::explore::Explorer;
  return *only;
}

std::string answered;

}  // namespace

extern "C" {

/// Allocates a question of `bytes`; nullptr if out of memory.
[[clang::export_name("room")]] char* room(std::size_t bytes) {
  return static_cast<char*>(std::malloc(bytes == 0 ? 1 : bytes));
}

/// Answers the question at `line`, allocated by room() and consumed here. The answer stays at
/// answer_text() until the next call.
[[clang::export_name("ask")]] std::size_t ask(char* line, std::size_t bytes) {
  answered = explorer().answer(std::string_view(line, bytes));
  std::free(line);
  return answered.size();
}

[[clang::export_name("answer_text")]] const char* answer_text() { return answered.data(); }

}  // extern "C"

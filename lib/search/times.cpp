#include "touchstone/search/times.h"

#include <algorithm>
#include <charconv>

#include "touchstone/base/file.h"
#include "touchstone/base/hash.h"
#include "touchstone/clang/compiler.h"
#include "touchstone/clang/object_cache.h"
#include "touchstone/ops/kernel_json.h"

namespace touchstone::search {

namespace {

constexpr std::string_view kFirstLine = "touchstone opts 1\n";

}  // namespace

Times::Times(const LazyOpPtr& kernel, const ClangOptions& options) {
  const std::string what =
      fmt::format("{}\n{} {} {} {}\n{}", clang::Compiler(options).identity(), options.threads,
                  name(options.codegen.math), static_cast<int>(options.codegen.order),
                  options.parallel_work, to_json(kernel_file(kernel)));
  file_ = content_hash(what) + ".opts";
  try {
    folder_ = std::make_unique<PrivateFolder>(clang::ObjectCache(options.cache_dir).folder());
  } catch (const SystemError&) {
    return;
  }
  if (const auto text = folder_->read(file_, kMostText)) read(*text);
}

// Lines of seconds, a tab and the list. Skips other lines.
void Times::read(const std::string& text) {
  if (!text.starts_with(kFirstLine)) return;
  std::size_t at = kFirstLine.size();
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    double seconds = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, seconds);
    if (error == std::errc() && seconds > 0 && stop != text.data() + end && *stop == '\t')
      known_[std::string(stop + 1, text.data() + end)] = seconds;
    at = end + 1;
  }
}

double Times::of(const std::string& opts) const {
  const auto found = known_.find(opts);
  return found == known_.end() ? kNever : found->second;
}

std::pair<std::string, double> Times::best() const {
  const auto least = std::ranges::min_element(known_, {}, [](const auto& k) { return k.second; });
  if (least == known_.end()) return {"none", kNever};
  return *least;
}

void Times::keep() const {
  if (!folder_) return;
  std::string text(kFirstLine);
  for (const auto& [opts, seconds] : known_) text += fmt::format("{:.9g}\t{}\n", seconds, opts);
  try {
    folder_->write(file_, text);
  } catch (const SystemError&) {  // will be measured again
  }
}

}  // namespace touchstone::search

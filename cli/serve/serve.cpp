#include "touchstone/cli/serve/serve.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/base/json_fault.h"
#include "touchstone/cli/judging/judging.h"
#include "touchstone/cli/judging/kernel_io.h"
#include "touchstone/cli/program/answer_lines.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/cli/program/work_limits.h"
#include "touchstone/files/array_file.h"
#include "touchstone/foreign/base64.h"

// docs/oracle.md defines the line format.

namespace touchstone::cli {
namespace {

using nlohmann::json;

const json& member(const json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end()) throw ParseError(fmt::format("\"{}\" is missing", key));
  return *at;
}

std::string text_of(const json& object, const char* key) {
  const json& value = member(object, key);
  if (!value.is_string()) throw ParseError(fmt::format("\"{}\" must be a string", key));
  return value.get<std::string>();
}

// The file that a question names. Verdicts and messages may reveal parts of it.
std::string file_in(const json& said, const std::string& what, const ServeOptions& options) {
  if (options.no_files)
    throw ParseError(
        fmt::format("{} names a file; files are read only at a Unix socket or from standard input, "
                    "without --no-files; send the contents instead",
                    what));
  return said.get<std::string>();
}

// A file, as check takes it, or {"dtype", "base64"} with an optional "shape".
HostArray array_of(const json& said, const std::string& what, const KernelToJudge& kernel, int idx,
                   const ServeOptions& options) {
  if (said.is_string()) {
    const std::string path = file_in(said, what, options);
    return read_array(path, wanted_by(kernel, idx, path));
  }
  if (!said.is_object())
    throw ParseError(fmt::format("{} must be a file name or {{\"dtype\", \"base64\"}}", what));
  std::optional<std::string> bytes = foreign::from_base64(text_of(said, "base64"));
  if (!bytes) throw ParseError(fmt::format("{} is not valid base64", what));
  HostArray array{parse_dtype(text_of(said, "dtype")), {}, *std::move(bytes)};
  const std::size_t width = itemsize(array.dtype);
  if (array.bytes.size() % width != 0)
    throw ParseError(fmt::format("{} has {} bytes, but one element of {} has {}", what,
                                 array.bytes.size(), name(array.dtype), width));
  array.shape = {static_cast<std::int64_t>(array.bytes.size() / width)};
  if (idx == 0 && !said.contains("shape")) {  // the kernel's shape, if the count fits
    const HostArray whole{array.dtype, concrete(kernel.ast->shape()), {}};
    if (whole.size() == array.size()) array.shape = whole.shape;
  }
  if (const auto shape = said.find("shape"); shape != said.end()) {
    const std::int64_t count = array.size();
    if (!shape->is_array()) throw ParseError(fmt::format("the shape of {} must be a list", what));
    array.shape.clear();
    for (const json& size : *shape) {
      if (!size.is_number_unsigned() || size.get<std::uint64_t>() > INT64_MAX)
        throw ParseError(fmt::format("the shape of {} contains an invalid size", what));
      array.shape.push_back(size.get<std::int64_t>());
    }
    if (array.size() != count)
      throw ParseError(fmt::format("{} has {} elements, its shape {}", what, count, array.size()));
  }
  if (is_bool(array.dtype))
    for (const char c : array.bytes)
      if (c != 0 && c != 1)
        throw ParseError(fmt::format("{} contains a bool that is neither 0 nor 1", what));
  return array;
}

std::optional<ChosenProfile> profile_in(const json& question, const ServeOptions& options) {
  const auto said = question.find("profile");
  if (said == question.end()) return std::nullopt;
  const auto read = [&] {
    if (!said->is_string()) return Profile::from_json(said->dump());
    const std::string name = said->get<std::string>();
    return read_profile(name.ends_with(".json") ? file_in(*said, "the profile", options) : name);
  };
  return ChosenProfile{read(), "named by the question"};
}

KernelToJudge kernel_in(const json& question, const ServeOptions& options) {
  if (question.contains("op") == question.contains("kernel"))
    throw ParseError("give \"kernel\", or a formula as \"op\": \"softmax(x[64,128])\"");
  KernelToJudge kernel;
  if (question.contains("op"))
    kernel = formula_to_judge(text_of(question, "op"));
  else if (const json& said = question["kernel"]; said.is_string())
    kernel = read_kernel(file_in(said, "the kernel", options));
  else
    kernel.KernelFile::operator=(kernel_from_json(said.dump()));
  if (const auto judging = question.find("judging"); judging != question.end())
    kernel.judging = judging_from_json(judging->dump(), kernel, "the question");
  std::vector<std::string> values;
  if (const auto variables = question.find("variables"); variables != question.end())
    for (const auto& [name, value] : variables->items())
      values.push_back(fmt::format("{}={}", name, value.dump()));
  return with_values(kernel, values);
}

std::string verdict_of(const json& question, const ServeOptions& options) {
  const KernelToJudge kernel = kernel_in(question, options);
  require_feasible(kernel, options.limits, kernel.judging.sampling);
  const Judging judging = kernel.judging.under(profile_in(question, options));
  const HostArray output = array_of(member(question, "output"), "the output", kernel, 0, options);
  const json& said = member(question, "inputs");
  if (!said.is_array()) throw ParseError("\"inputs\" must be a list");
  std::vector<HostArray> inputs;
  for (const json& one : said) {
    Interrupt::poll();
    inputs.push_back(array_of(one, fmt::format("input {}", inputs.size() + 1), kernel,
                              static_cast<int>(inputs.size()) + 1, options));
  }
  for (const BufferSpec& spec : kernel.buffers)
    if (spec.idx == 0 && output.size() > spec.size)
      return json_of(no_verdict(Outcome::Unusable,
                                fmt::format("the output has {} elements, the kernel's has {}",
                                            output.size(), spec.size)),
                     kernel.ast, judging);
  return json_of(judge_arrays(kernel.ast, inputs, output, judging), kernel.ast, judging);
}

}  // namespace

LineAnswer line_answer(std::string_view line, const ServeOptions& options) {
  nlohmann::ordered_json out;
  LineAnswer answer;
  try {
    std::string verdict;
    const bool in_time = done_within(options.limits, [&] {
      require_shallow_json(line);
      const json question = json::parse(line, nullptr, false);
      if (!question.is_object()) throw ParseError("not a JSON object");
      if (const auto id = question.find("id"); id != question.end()) out["id"] = *id;
      verdict = verdict_of(question, options);
    });
    if (in_time)
      out.update(nlohmann::ordered_json::parse(verdict));
    else
      out.update(
          {{"verdict", name(Outcome::Unusable)}, {"why", over_time(options.limits, "--timeout")}});
  } catch (const Error& e) {
    out["error"] = e.what();
    answer.kind = LineAnswer::Kind::NoQuestion;
  } catch (const std::bad_alloc&) {
    out["error"] =
        fmt::format("it takes more than {} MiB of memory (--memory)", options.limits.megabytes);
    answer.kind = LineAnswer::Kind::NoMemory;
  }
  answer.text = out.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  restore_memory_limit();
  return answer;
}

int run_serve(const ServeOptions& o) {
  if (!o.listen.empty()) return serve_http(o);
  limit_memory(o.limits);
  bool good = true;
  const int code = answer_lines("serve", [&](std::string_view line) {
    LineAnswer answer = line_answer(line, o);
    good = good && answer.kind == LineAnswer::Kind::Verdict;
    return std::move(answer.text);
  });
  return good ? code : kExitBad;
}

}  // namespace touchstone::cli


#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/file.h"
#include "touchstone/clang/clang_options.h"
#include "touchstone/cli/indices/index_stats.h"
#include "touchstone/cli/models/kernels_page.h"
#include "touchstone/cli/models/layout_text.h"
#include "touchstone/cli/models/model_graph.h"
#include "touchstone/cli/models/program_kernels.h"
#include "touchstone/cli/program/answer_lines.h"
#include "touchstone/cli/program/report.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/codegen/linearize.h"
#include "touchstone/codegen/render_c.h"
#include "touchstone/ops/kernel_json.h"

namespace touchstone::cli {
namespace {

std::vector<LazyOpPtr> kernels_of(const models::Model& model, bool backward) {
  std::vector<LazyOpPtr> kernels;
  for (const ScheduleItem& item : schedule_of(model, backward).items)
    if (item.kind == Op::Store) kernels.push_back(item.ast);
  return kernels;
}

void print_table(const std::vector<LazyOpPtr>& kernels) {
  Table table({"#", "kernel", "shape", "dtype", "flops", "bytes", "buffers"},
              {true, false, false, false, true, true, true});
  std::int64_t flops = 0, bytes = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const FlopCounter cost = get_lazyop_info(kernels[i]);
    flops += cost.flops.as_int();
    bytes += cost.total_mem().as_int();
    table.add({fmt::format("{}", i), kernel_name(kernels[i]),
               str(std::span<const sint>(kernels[i]->shape())),
               std::string(name(kernels[i]->dtype())),
               count_str(static_cast<double>(cost.flops.as_int())),
               count_str(static_cast<double>(cost.total_mem().as_int())),
               fmt::format("{}", cost.mem.size())});
  }
  fmt::print("{}{}, {} flops, {} bytes\n", table.fitted(), counted(kernels.size(), "kernel"),
             count_str(static_cast<double>(flops)), count_str(static_cast<double>(bytes)));
}

void print_source(const std::vector<LazyOpPtr>& kernels) {
  for (const LazyOpPtr& kernel : kernels)
    fmt::print("\n{}\n{}", str(kernel),
               render_vector_function(linearize(kernel), kernel_name(kernel)));
}

void print_layouts(const std::vector<LazyOpPtr>& kernels) {
  const CodegenOptions options = for_this_machine(ClangOptions::from_environment());
  for (std::size_t i = 0; i < kernels.size(); ++i)
    fmt::print("\n{} {}: {}", i, kernel_name(kernels[i]), layout_text(kernels[i], options));
}

void print_counts(const models::Model& model) {
  ProgramKernels forward, both;
  for (const LazyOpPtr& kernel : kernels_of(model, false)) forward.add(kernel);
  for (const LazyOpPtr& kernel : kernels_of(model, true)) both.add(kernel);
  const nlohmann::ordered_json row = {{"model", model.name},
                                      {"opt", Config::current().opt},
                                      {"forward", forward.stores},
                                      {"forward_backward", both.stores},
                                      {"loads", both.loads},
                                      {"stores", both.stores},
                                      {"flops", both.flops},
                                      {"forward_loads", forward.loads},
                                      {"forward_stores", forward.stores},
                                      {"forward_flops", forward.flops}};
  fmt::print("{}\n", row.dump());
}

void list_models(bool as_json) {
  if (as_json) {
    for (const models::Model& m : models::models()) {
      const models::KernelCount count = models::count_kernels(m, "CLANG");
      fmt::print("{}\n", nlohmann::ordered_json{{"model", m.name},
                                                {"what", m.what},
                                                {"forward", count.forward},
                                                {"forward_backward", count.both}}
                             .dump());
    }
    return;
  }
  Table table({"model", "", "forward", "with backward"}, {false, false, true, true});
  for (const models::Model& m : models::models()) {
    const models::KernelCount count = models::count_kernels(m, "CLANG");
    table.add({std::string(m.name), std::string(m.what), fmt::format("{}", count.forward),
               fmt::format("{}", count.both)});
  }
  fmt::print("{}", table.fitted());
}

int print_program(const KernelsOptions& options) {
  const bool from_input = options.program == "-";
  const LineStream::Answer answer = [](std::string_view line) {
    return program_answer(line, Config::current());
  };
  if (options.jsonl && from_input)
    return answer_lines("kernels", answer, LineStream::Blank::Answered);
  const std::string text = program_text(options.program);
  if (options.jsonl) {
    int code = kExitOk;
    const auto write = [&](std::string_view line) {
      if (is_error(line)) code = kExitBad;
      fmt::print("{}", line);
    };
    LineStream stream(answer, write, LineStream::Blank::Answered);
    stream.take(is_file(options.program) ? text : nlohmann::json{{"program", text}}.dump() + "\n");
    stream.finish();
    return code;
  }
  const ProgramKernels made = program_kernels(text, Config::current());
  if (!options.html.empty()) {
    const bool is_short = text.size() < 90;
    write_kernels_page(options.html, is_short ? text : text.substr(0, 87) + "...",
                       {{"program", made.kernels}});
    return kExitOk;
  }
  print_table(made.kernels);
  if (made.copies > 0) fmt::print("{} between devices\n", counted(made.copies, "copy"));
  if (options.source) print_source(made.kernels);
  return kExitOk;
}

}  // namespace

int run_kernels(const KernelsOptions& options) {
  const ConfigScope scope(config_of(options.opt, options.scheduler));
  if (!options.program.empty()) return print_program(options);
  if (!options.html.empty()) {
    if (options.models.empty()) throw ParseError("kernels --html: give a model, or --program");
    KernelParts parts;
    std::string title;
    for (const std::string& wanted : options.models) {
      const models::Model& model = models::model(wanted);
      parts.emplace_back(model.name, kernels_of(model, options.backward));
      title += fmt::format("{}{}: {}", title.empty() ? "" : "; ", model.name, model.what);
    }
    write_kernels_page(options.html, title, parts);
    return kExitOk;
  }
  if (options.models.empty() && options.jsonl) {
    for (const models::Model& model : models::models()) print_counts(model);
  } else if (options.models.empty()) {
    list_models(options.json);
  }
  for (const std::string& wanted : options.models) {
    const models::Model& model = models::model(wanted);
    if (options.jsonl) {
      print_counts(model);
      continue;
    }
    if (options.index_stats) {
      if (!options.json) fmt::print("{}: {}\n", bold(model.name), model.what);
      print_index_stats([&] { return kernels_of(model, options.backward); }, options.json);
      continue;
    }
    const std::vector<LazyOpPtr> kernels = kernels_of(model, options.backward);
    if (options.json) {
      for (const LazyOpPtr& kernel : kernels) {
        const KernelFile file = kernel_file(kernel);
        const FlopCounter cost = get_lazyop_info(kernel);
        const nlohmann::ordered_json row = {
            {"model", model.name},
            {"name", kernel_name(kernel)},
            {"hash", kernel_hash(file)},
            {"flops", cost.flops.as_int()},
            {"bytes", cost.total_mem().as_int()},
            {"kernel", nlohmann::ordered_json::parse(to_json(file))}};
        fmt::print("{}\n", row.dump());
      }
      continue;
    }
    fmt::print("{}: {}\n", bold(model.name), model.what);
    print_table(kernels);
    if (options.source) print_source(kernels);
    if (options.why) print_layouts(kernels);
  }
  if (options.why) fmt::print("\n{}", machine_text());
  return kExitOk;
}

}  // namespace touchstone::cli

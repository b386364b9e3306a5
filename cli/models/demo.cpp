#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/file.h"
#include "touchstone/clang/clang_device.h"
#include "touchstone/cli/judging/kernel_log.h"
#include "touchstone/cli/models/digits.h"
#include "touchstone/cli/models/model_graph.h"
#include "touchstone/cli/program/data_output.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/fuzz/judge/shrink.h"
#include "touchstone/tensor/models.h"
#include "touchstone/tensor/optim.h"

namespace touchstone::cli {
namespace {

constexpr std::int64_t kBatch = 60;
constexpr double kGoal = 0.96;  // required share of correct held-out digits
constexpr int kEpochs = 40;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Trained {
  double seconds = 0;
  float last_loss = 0;
};

Trained train(const models::DigitsNet& net, const Digits& digits, std::vector<std::int64_t> order,
              int epochs, Generator& generator, const std::string& device) {
  optim::Adam adam(net.parameters(), 4e-3);
  const auto start = Clock::now();
  const auto steps_an_epoch = static_cast<std::int64_t>(order.size()) / kBatch;
  Progress progress("training", epochs * steps_an_epoch);
  Trained result;
  std::int64_t step = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const std::vector<std::int64_t> shuffled =
        generator.permutation(static_cast<std::int64_t>(order.size()));
    std::vector<std::int64_t> now;
    for (const std::int64_t i : shuffled) now.push_back(order[static_cast<std::size_t>(i)]);
    for (const auto& which : whole_batches(now, kBatch)) {
      const Batch batch = batch_of(digits, which, device);
      adam.zero_grad();
      const Tensor loss = cross_entropy(net(batch.x), batch.labels);
      loss.backward();
      adam.step({loss});
      result.last_loss = loss.item<float>();
      progress.update(++step, fmt::format("epoch {}, loss {:.3f}", epoch + 1, result.last_loss));
    }
  }
  result.seconds = seconds_since(start);
  return result;
}

struct Accuracy {
  double floating = 0;
  double fixed = 0;
};

// The share of images whose largest logit is the label's; and again with logits scaled in integers,
// as in a fixed-point accelerator, which exercises integer division of negative numbers.
Accuracy test(const models::DigitsNet& net, const Digits& digits,
              std::span<const std::int64_t> held_out, const std::string& device) {
  std::int64_t seen = 0, right = 0, right_fixed = 0;
  for (const auto& which : whole_batches(
           held_out, std::min<std::int64_t>(kBatch, static_cast<std::int64_t>(held_out.size())))) {
    const Batch batch = batch_of(digits, which, device);
    const Tensor logits = net(batch.x).detach();
    const Tensor fixed = ((logits * 1024.0).cast(DType::Int32) / 24).contiguous();
    const Tensor hits = (logits.argmax(1) == batch.labels).cast(DType::Int32).sum();
    const Tensor hits_fixed = (fixed.argmax(1) == batch.labels).cast(DType::Int32).sum();
    seen += static_cast<std::int64_t>(which.size());
    right += hits.item<std::int32_t>();
    right_fixed += hits_fixed.item<std::int32_t>();
  }
  const auto share = [&](std::int64_t n) {
    return static_cast<double>(n) / static_cast<double>(seen);
  };
  return {share(right), share(right_fixed)};
}

std::string paint(const Verdict& v) {
  const std::string_view word = v.word();
  if (v.suspect() || v.outcome == Outcome::Weak) return yellow(word);
  return v.outcome == Outcome::Pass ? green(word) : red(word);
}

std::string power_str(const Verdict& v) {
  if (v.outcome == Outcome::Unusable) return "-";
  if (v.determined == v.checked) return "exact";
  if (v.outcome == Outcome::Weak) return "too wide";
  // Nine in ten elements are at least this tight.
  if (v.relative.most >= 1e-5) return fmt::format("{:.2g} %", 100 * v.relative.most);
  return fmt::format("{} ulp", count_str(v.ulp.most));
}

struct DemoSummary {
  std::int64_t counts[4] = {};  // by Outcome, SUSPECT ones separately
  std::int64_t suspects = 0;
  std::size_t failed = SIZE_MAX;
};

DemoSummary print_table(const KernelLog& log, const std::vector<Judged>& judged,
                        const std::string& device) {
  Table table(
      {"kernel", "shape", "dtype", "runs", "flops", device, "CPU", "verdict", "power", "probes"},
      {false, false, false, true, true, true, true, false, true, false});
  DemoSummary summary;
  for (std::size_t i = 0; i < judged.size(); ++i) {
    const KernelLog::Entry& entry = log.entries()[i];
    const Judged& j = judged[i];
    std::string probes;
    for (const auto& [family, verdict] : j.probes)
      probes += fmt::format("{}{} {}", probes.empty() ? "" : ", ", family, paint(verdict));
    table.add({kernel_name(entry.kernel), str(std::span<const sint>(entry.kernel->shape())),
               std::string(name(entry.kernel->dtype())), fmt::format("{}", entry.runs),
               count_str(static_cast<double>(get_lazyop_info(entry.kernel).flops.as_int())),
               seconds_str(entry.seconds / static_cast<double>(entry.runs)),
               seconds_str(j.reference_seconds), paint(j.together), power_str(j.live), probes});
    if (j.together.suspect())
      ++summary.suspects;
    else
      ++summary.counts[static_cast<std::size_t>(j.together.outcome)];
    // The smallest failing kernel makes the best reproducer.
    const bool bad = j.worst.outcome == Outcome::Fail || j.worst.outcome == Outcome::Unusable;
    const auto cost = [&](std::size_t k) { return fuzz::to_json(judged[k].evidence).size(); };
    if (bad && (summary.failed == SIZE_MAX || cost(i) < cost(summary.failed))) summary.failed = i;
  }
  fmt::print("\n{}\n", table.fitted());
  return summary;
}

std::vector<Judged> judge_all(const KernelLog& log, Device& device) {
  Progress progress("judging", static_cast<std::int64_t>(log.entries().size()));
  std::vector<Judged> judged;
  for (const KernelLog::Entry& entry : log.entries()) {
    judged.push_back(judge_entry(entry, device));
    progress.update(static_cast<std::int64_t>(judged.size()), kernel_name(entry.kernel));
  }
  return judged;
}

// Shrinks the failing run.
fuzz::Reproducer smallest(const fuzz::Reproducer& evidence, Device& candidate) {
  constexpr int kMostRuns = 200;
  Progress progress("shrinking", kMostRuns);
  return fuzz::shrink_failure(evidence, candidate, kMostRuns,
                              [&](int runs) { progress.update(runs); })
      .smallest;
}

void report_failure(const DemoOptions& options, const KernelLog::Entry& entry, const Judged& judged,
                    const std::unique_ptr<DataOutput>& data) {
  fmt::print("{} kernel {} on {}:\n{}\n{}", red("FAIL"), kernel_name(entry.kernel), judged.family,
             judged.worst.str(), str(entry.kernel));
  fuzz::Reproducer evidence = judged.worst.outcome == Outcome::Fail
                                  ? smallest(judged.evidence, Device::get(options.device))
                                  : judged.evidence;
  evidence.note = fmt::format("touchstone demo: shrunk from kernel {} on {}, inputs: {}{}",
                              kernel_name(entry.kernel), options.device, judged.family,
                              options.plant == "none" ? "" : ", planted fault: " + options.plant);
  fmt::print("\nshrunk to\n{}{}\n", fuzz::str(evidence.run), fuzz::judge(evidence).str());
  if (options.reproducer == "-") return data->write(fuzz::to_json(evidence));
  write_file_atomically(options.reproducer, fuzz::to_json(evidence));
  fmt::print("\nreproducer: {}   judge it again with: touchstone check {}\n", options.reproducer,
             options.reproducer);
}

nlohmann::ordered_json json_of_entry(const KernelLog::Entry& entry, const Judged& judged) {
  nlohmann::ordered_json row = {
      {"kernel", kernel_name(entry.kernel)},
      {"shape", str(std::span<const sint>(entry.kernel->shape()))},
      {"dtype", name(entry.kernel->dtype())},
      {"runs", entry.runs},
      {"flops", get_lazyop_info(entry.kernel).flops.as_int()},
      {"seconds", entry.seconds / static_cast<double>(entry.runs)},
      {"reference_seconds", judged.reference_seconds},
      {"verdict", judged.together.word()},
      {"determined", judged.live.determined},
      {"checked", judged.live.checked},
      {"width", judged.live.relative.most},  // relative, of nine in ten elements
      {"probes", nlohmann::ordered_json::object()}};
  for (const auto& [family, verdict] : judged.probes) row["probes"][family] = verdict.word();
  return row;
}

// The results of a run: kernels to judge, and the accuracy if a network was trained.
struct DemoRun {
  KernelLog log;
  int epochs = 0;
  Trained trained;
  std::optional<Accuracy> accuracy;
};

void run_digits(const DemoOptions& options, DemoRun& run) {
  const Digits digits = load_digits(options.data);
  Generator generator(options.seed);
  const auto [training, held_out] = split(digits, generator);
  run.epochs = options.epochs > 0 ? options.epochs : options.plant == "none" ? kEpochs : 1;
  fmt::print("{} handwritten digits, {} to learn from, {} held out; convolutional network on {}\n",
             digits.count(), training.size(), held_out.size(), options.device);
  {
    const ObserverScope watching(run.log);
    const models::DigitsNet net(generator, options.device);
    run.trained = train(net, digits, training, run.epochs, generator, options.device);
    run.accuracy = test(net, digits, held_out, options.device);
  }
  fmt::print(
      "trained {} in {} (loss {:.4f}); held-out accuracy {:.2f} %, {:.2f} % in fixed "
      "point\n",
      counted(run.epochs, "epoch"), seconds_str(run.trained.seconds), run.trained.last_loss,
      100 * run.accuracy->floating, 100 * run.accuracy->fixed);
}

// A model's forward pass, then a gradient step on its mean square.
void run_model(const models::Model& model, const std::string& device, DemoRun& run) {
  const auto start = Clock::now();
  const models::ModelGraph used = model.build(device, false);
  const models::ModelGraph learns = model.build(device, true);
  realize(used.leaves());
  realize(learns.leaves());
  const ObserverScope watching(run.log);
  used.output.realize();
  const Tensor loss = learns.loss();
  loss.backward();
  std::vector<Tensor> results{loss};
  for (const Tensor& p : learns.parameters) results.push_back(p.detach() - p.grad().value() * 0.01);
  realize(results);
  const double seconds = seconds_since(start);
  run.trained.seconds += seconds;
  run.trained.last_loss = loss.item<float>();
  fmt::print("{}: output, gradients of {} and a step on {} in {} (loss {:.4g})\n", model.name,
             counted(learns.parameters.size(), "parameter"), device, seconds_str(seconds),
             run.trained.last_loss);
}

void run_models(const DemoOptions& options, DemoRun& run) {
  for (const std::string& wanted : options.models)
    if (wanted != "all") models::model(wanted);  // fails on unknown names before any runs
  for (const models::Model& model : models::models())
    if (std::ranges::any_of(options.models, [&](const std::string& wanted) {
          return wanted == "all" || wanted == model.name;
        }))
      run_model(model, options.device, run);
}

void print_suspects(const KernelLog& log, const std::vector<Judged>& judged) {
  for (std::size_t i = 0; i < judged.size(); ++i)
    if (judged[i].together.suspect())
      fmt::print("{} {}\n", kernel_name(log.entries()[i].kernel), judged[i].together.str());
}

// The run and its table, after judging.
std::string demo_json(const DemoOptions& options, const DemoRun& run,
                      const std::vector<Judged>& judged, const DemoSummary& summary) {
  nlohmann::ordered_json out = {{"device", options.device},
                                {"plant", options.plant},
                                {"epochs", run.epochs},
                                {"seconds", run.trained.seconds},
                                {"loss", run.trained.last_loss}};
  if (run.accuracy)
    out.update({{"accuracy", run.accuracy->floating},
                {"accuracy_fixed_point", run.accuracy->fixed},
                {"goal", kGoal}});
  else
    out["models"] = options.models;
  out.update({{"pass", summary.counts[0]},
              {"weak", summary.counts[2]},
              {"fail", summary.counts[1]},
              {"unusable", summary.counts[3]},
              {"suspect", summary.suspects},
              {"reproducer", nullptr},
              {"kernels", nlohmann::ordered_json::array()}});
  if (summary.failed != SIZE_MAX) out["reproducer"] = options.reproducer;
  for (std::size_t i = 0; i < judged.size(); ++i)
    out["kernels"].push_back(json_of_entry(run.log.entries()[i], judged[i]));
  return out.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

int run_demo(const DemoOptions& options) {
  const bool gives_reproducer = options.reproducer == "-";
  if (options.json && gives_reproducer)
    throw ParseError(
        "both --json and --reproducer - write to standard output; give a file name for one");
  const std::unique_ptr<DataOutput> data = data_output_if(options.json || gives_reproducer);
  const ConfigScope scope(config_of(-1, options.scheduler));
  const Fault fault = parse_fault(options.plant);
  if (fault != Fault::None && options.device != "CLANG")
    throw ParseError("demo: faults can only be planted into the code of CLANG, not of " +
                     options.device);
  ClangOptions clang = ClangOptions::from_environment();
  clang.fault = fault;
  register_clang_device(clang);
  Device& device = Device::get(options.device);
  if (fault != Fault::None)
    fmt::print("{} {}: {}\n", yellow("planted fault"), name(fault), info(fault).description);
  DemoRun run;
  if (options.models.empty())
    run_digits(options, run);
  else
    run_models(options, run);

  const auto start = Clock::now();
  const std::vector<Judged> judged = judge_all(run.log, device);
  const DemoSummary summary = print_table(run.log, judged, options.device);
  fmt::print("{} judged against CPU in {}: {} PASS, {} WEAK, {} FAIL, {} UNUSABLE{}\n",
             counted(judged.size(), "distinct kernel"), seconds_str(seconds_since(start)),
             summary.counts[0], summary.counts[2], summary.counts[1], summary.counts[3],
             summary.suspects == 0 ? "" : fmt::format(", {} SUSPECT", summary.suspects));
  print_suspects(run.log, judged);
  if (summary.failed != SIZE_MAX)
    report_failure(options, run.log.entries()[summary.failed], judged[summary.failed], data);
  if (options.json) data->write(demo_json(options, run, judged, summary));
  if (summary.failed != SIZE_MAX) return kExitNo;
  if (fault != Fault::None) {
    fmt::print("{} the planted fault was not detected\n", red("MISSED"));
    return kExitNo;
  }
  if (!run.accuracy) return kExitOk;
  const double accuracy = run.accuracy->floating;
  fmt::print("held-out accuracy {:.2f} %, goal {:.0f} %: {}\n", 100 * accuracy, 100 * kGoal,
             accuracy >= kGoal ? green("reached") : red("missed"));
  return accuracy >= kGoal ? kExitOk : kExitNo;
}

}  // namespace touchstone::cli

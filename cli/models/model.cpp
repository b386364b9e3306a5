// The verb `model`: a model of another framework, run on the reference or judged value by value.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/base/html.h"
#include "touchstone/base/json_line.h"
#include "touchstone/base/visible.h"
#include "touchstone/cli/judging/judging.h"
#include "touchstone/cli/program/installed.h"
#include "touchstone/cli/program/report.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/cli/program/work_limits.h"
#include "touchstone/device/config.h"
#include "touchstone/files/array_file.h"
#include "touchstone/fuzz/choice/chooser.h"
#include "touchstone/model/run.h"
#include "touchstone/process/run.h"

namespace touchstone::cli {
namespace {

namespace fs = std::filesystem;
using model::Argument;
using model::JudgedValue;
using model::ModelProgram;
using model::Values;

std::string sizes_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

// Arrays of "NAME=FILE" words, or of files that hold arrays by name.
Values read_values(const std::vector<std::string>& words, const char* option) {
  Values values;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || fs::exists(word)) {
      for (NamedArray& a : read_array_file(word)) {
        if (a.name.empty())
          throw ParseError(
              fmt::format("{} {}: one array without a name; write NAME={}", option, word, word));
        values[a.name] = std::move(a.array);
      }
    } else {
      values[word.substr(0, equals)] = read_array(word.substr(equals + 1));
    }
  }
  return values;
}

// Random numbers for an input: normal floats, integers of one digit.
HostArray drawn(const Argument& a, const std::map<std::string, std::int64_t>& sizes,
                std::uint64_t seed) {
  if (!a.dtype || !a.shape)
    throw ParseError(
        fmt::format("input '{0}' has no type or shape in the model; give --in {0}=FILE", a.name));
  HostArray out{*a.dtype, {}, {}};
  std::int64_t count = 1;
  for (const auto& size : *a.shape) {
    const auto* number = std::get_if<std::int64_t>(&size);
    const std::string word = number != nullptr ? "" : std::get<std::string>(size);
    const auto known = sizes.find(word);
    if (number == nullptr && known == sizes.end())
      throw ParseError(
          fmt::format("the size '{0}' of input '{1}' is open; give --size {2}=1, or --in {1}=FILE",
                      word, a.name, word == "?" ? "?" : word));
    out.shape.push_back(number != nullptr ? *number : known->second);
    if (out.shape.back() < 0 || __builtin_mul_overflow(count, out.shape.back(), &count) ||
        count > (1 << 28))
      throw ParseError(
          fmt::format("input '{}' is too large to draw; give --in {}=FILE", a.name, a.name));
  }
  fuzz::RandomChooser chooser(seed, std::hash<std::string>()(a.name));
  const auto unit = [&] {
    return (static_cast<double>(chooser.below(1u << 31)) + 0.5) / 2147483648.0;
  };
  for (std::int64_t i = 0; i < count; ++i) {
    const double value =
        is_float(*a.dtype) ? std::sqrt(-2 * std::log(unit())) * std::cos(6.283185307179586 * unit())
        : is_bool(*a.dtype) ? static_cast<double>(chooser.below(2))
                            : static_cast<double>(chooser.below(10));
    const std::uint64_t bits = Scalar::from_double(*a.dtype, value).bits();
    out.bytes.append(reinterpret_cast<const char*>(&bits), itemsize(*a.dtype));
  }
  return out;
}

Values inputs_of(const ModelProgram& program, const ModelOptions& o) {
  Values values = read_values(o.inputs, "--in");
  std::map<std::string, std::int64_t> sizes;
  for (const std::string& word : o.sizes) {
    const std::size_t equals = word.find('=');
    const std::string digits = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (digits.empty() || digits.size() > 9 ||
        digits.find_first_not_of("0123456789") != std::string::npos)
      throw ParseError(fmt::format("--size {}: write NAME=NUMBER, as batch=2", word));
    sizes[word.substr(0, equals)] = std::stoll(digits);
  }
  for (const auto& [size, number] : sizes) {
    const auto has = [&, &size = size](const Argument& a) {
      return a.shape && std::ranges::any_of(*a.shape, [&](const auto& s) {
               const auto* word = std::get_if<std::string>(&s);
               return word != nullptr && *word == size;
             });
    };
    if (!std::ranges::any_of(program.graph.inputs, has))
      throw ParseError(
          fmt::format("--size {}={}: no input has an open size of this name", size, number));
  }
  for (const Argument& a : program.graph.inputs)
    if (!values.contains(a.name)) values[a.name] = drawn(a, sizes, o.seed);
  model::require_inputs(program, values);
  return values;
}

void write_values(const fs::path& file, const Values& values) {
  std::vector<NamedArray> arrays;
  for (const auto& [name, array] : values) arrays.push_back({name, array});
  write_array_file(file, arrays);
}

// What the backend's command makes of all values: COMMAND MODEL INPUTS.npz OUTPUTS.npz.
Values ask_backend(const ModelOptions& o, const ModelProgram& program, const Values& inputs) {
  const TemporaryDirectory folder("touchstone-model");
  const fs::path given = folder.path() / "inputs.npz", made = folder.path() / "outputs.npz";
  // Beside the model: it may have files of its own.
  const fs::path parent = fs::absolute(o.file).parent_path();
  fs::path exposed = folder.path() / "model.onnx";
  write_file_atomically(exposed, model::exposing(read_file(o.file, std::uint64_t{2} << 30),
                                                 model::computed_names(program)));
  for (const auto& entry : fs::directory_iterator(parent)) {
    std::error_code ignored;
    if (entry.path().filename() != exposed.filename() &&
        entry.path().filename() != given.filename() && entry.path().filename() != made.filename())
      fs::create_symlink(entry.path(), folder.path() / entry.path().filename(), ignored);
  }
  write_values(given, inputs);
  const std::string command = o.backend == "onnxruntime"
                                  ? "python3 " + quoted(adapter("onnxruntime_model.py").string())
                                  : o.backend;
  const process::Limits limits{
      std::chrono::seconds(o.backend_seconds), std::uint64_t{64} << 20, {}};
  const process::Finished ran =
      process::run_program({"/bin/sh",
                            {"-c", fmt::format("{} {} {} {}", command, quoted(exposed.string()),
                                               quoted(given.string()), quoted(made.string()))},
                            {}},
                           {}, limits);
  const std::string said = visible(
      ran.output.substr(ran.output.size() - std::min<std::size_t>(ran.output.size(), 2000)));
  if (ran.exceeded == process::Exceeded::Time)
    throw SystemError(
        fmt::format("--backend {}: no result in {} s; set another limit with --backend-timeout",
                    o.backend, o.backend_seconds));
  if (ran.ending.status != 0)
    throw SystemError(
        fmt::format("--backend {}: it ended by {}\n{}", o.backend, ran.ending.text(), said));
  if (!fs::exists(made))
    throw SystemError(fmt::format("--backend {}: it wrote no {} (its third argument)\n{}",
                                  o.backend, made.filename().string(), said));
  Values values;
  for (NamedArray& a : read_array_file(made)) values[a.name] = std::move(a.array);
  return values;
}

std::string word_of(const JudgedValue& v) {
  return v.verdict ? std::string(v.verdict->word()) : "NOT JUDGED";
}
std::string coloured_word(const JudgedValue& v) {
  const std::string word = word_of(v);
  return word == "PASS" ? green(word) : word == "FAIL" ? red(word) : yellow(word);
}
std::string text_of(const JudgedValue& v) {
  std::string text = v.verdict ? v.profile.str(*v.verdict) : v.why;
  if (v.verdict && text.starts_with(v.verdict->word())) {
    text.erase(0, v.verdict->word().size());
    if (text.starts_with(": ")) text.erase(0, 2);
  }
  return v.operations > 1 ? fmt::format("{} ({} operations as one)", text, v.operations) : text;
}

nlohmann::ordered_json json_of(const JudgedValue& v) {
  nlohmann::ordered_json out{{"value", v.name},
                             {"operation", v.operation->kind},
                             {"place", v.operation->place},
                             {"operations", v.operations}};
  if (v.verdict)
    out["verdict"] = nlohmann::ordered_json::parse(cli::json_of(*v.verdict, nullptr, v.profile));
  else
    out["why"] = v.why;
  out["formula"] = v.formula;
  return out;
}

std::string junit(const std::string& file, const std::vector<JudgedValue>& judged) {
  std::string out;
  std::size_t failures = 0, skipped = 0;
  for (const JudgedValue& v : judged) {
    const std::string word = word_of(v), text = html_text(visible(text_of(v)));
    out += fmt::format("  <testcase classname=\"{}\" name=\"{}\">",
                       html_text(visible(v.operation->kind)), html_text(visible(v.name)));
    if (word == "FAIL" || word == "SUSPECT" || word == "UNUSABLE") {
      ++failures;
      out += fmt::format("<failure message=\"{}\">{}</failure>", word, text);
    } else if (word != "PASS") {
      ++skipped;
      out += fmt::format("<skipped message=\"{}: {}\"/>", word, text);
    }
    out += "</testcase>\n";
  }
  return fmt::format(
      "<?xml version=\"1.0\"?>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" "
      "skipped=\"{}\">\n{}</testsuite>\n",
      html_text(file), judged.size(), failures, skipped, out);
}

// One page: the graph with its verdicts, then each value.
std::string page(const std::string& file, const ModelProgram& program,
                 const std::vector<JudgedValue>& judged, const std::string& summary) {
  constexpr std::string_view kStyle =
      "body{font:15px system-ui;margin:2em auto;max-width:72em;padding:0 1em;color-scheme:light "
      "dark}"
      "td,th{padding:.3em .7em;text-align:left;vertical-align:top;border-bottom:1px solid #8884}"
      "code{font-size:85%;overflow-wrap:anywhere}.PASS{color:#2a8a3a}.FAIL{color:#d33;font-weight:"
      "bold}"
      ".WEAK,.NOT,.SUSPECT,.UNUSABLE{color:#b07a00}.graph{overflow:auto;max-height:36em}svg{max-"
      "width:none}";
  std::map<std::string, std::string> words;  // by value
  for (const JudgedValue& v : judged) words[v.name] = word_of(v);
  std::string dot = "digraph{rankdir=TB;node[shape=box,style=filled,fontsize=11];";
  std::map<std::string, std::size_t> producer;
  for (std::size_t i = 0; i < program.graph.operations.size(); ++i) {
    const model::Operation& op = program.graph.operations[i];
    std::string word = "NOT";
    for (const std::string& out : op.outputs) {
      producer[out] = i;
      if (const auto it = words.find(out); it != words.end() && (word == "NOT" || word == "PASS"))
        word = it->second;
    }
    const char* colour = word == "PASS"   ? "#bfe5c4"
                         : word == "FAIL" ? "#f2b3b3"
                         : word == "NOT"  ? "#dddddd"
                                          : "#f3e0a8";
    dot += fmt::format("n{}[label=\"{}\",fillcolor=\"{}\",URL=\"#n{}\"];", i, op.kind, colour, i);
    for (const std::string& in : op.inputs)
      if (const auto it = producer.find(in); it != producer.end())
        dot += fmt::format("n{}->n{};", it->second, i);
  }
  std::string rows;
  for (const JudgedValue& v : judged) {
    const std::string word = word_of(v);
    rows += fmt::format(
        "<tr id=\"n{}\"><td "
        "class=\"{}\">{}</td><td>{}</td><td>{}</td><td>{}<br><code>{}</code></td></tr>\n",
        producer[v.name], word.substr(0, word.find(' ')), word, html_text(v.operation->place),
        html_text(v.name), html_text(text_of(v)), html_text(v.formula));
  }
  const bool draws = program.graph.operations.size() <= 400;
  return fmt::format(
      "<!doctype html><html lang=\"en\"><meta "
      "charset=\"utf-8\"><title>{0}</title><style>{1}</style><h1>{0}</h1>"
      "<p>{2}</p><div "
      "class=\"graph\">{3}</div><table><tr><th>verdict</th><th>operation</th><th>value</"
      "th><th>why</th></tr>\n{4}</table></html>\n",
      html_text(fs::path(file).filename().string()), kStyle, html_text(summary),
      draws ? svg_of_dot(dot + "}") : "", rows);
}

int show(const ModelProgram& program, const ModelOptions& o) {
  std::map<std::string, int> counts;
  int unknown = 0;
  Table table({"operation", "values", "supported"}, {false, false, false});
  for (const model::Operation& op : program.graph.operations) {
    const bool known = model::is_supported(op);
    unknown += known ? 0 : 1;
    ++counts[op.kind];
    table.add(
        {op.place, op.kind, fmt::format("{}", fmt::join(op.outputs, ", ")), known ? "yes" : "no"});
  }
  if (o.json) {
    nlohmann::ordered_json out{{"dialect", program.dialect},
                               {"version", program.version},
                               {"operators", counts},
                               {"unsupported", unknown}};
    for (const Argument& a : program.graph.inputs) out["inputs"].push_back(a.name);
    out["outputs"] = program.graph.outputs;
    fmt::print("{}\n", ascii_json_line(out));
    return unknown == 0 ? kExitOk : kExitNo;
  }
  fmt::print("{}", table.fitted());
  fmt::print("{}{}: {}, {} not supported\n", program.dialect,
             program.version > 0 ? fmt::format(" opset {}", program.version) : "",
             counted(program.graph.operations.size(), "operation"), unknown);
  return unknown == 0 ? kExitOk : kExitNo;
}

int run_whole(const ModelProgram& program, const ModelOptions& o) {
  const Values inputs = inputs_of(program, o);
  std::set<std::string, std::less<>> wanted(program.graph.outputs.begin(),
                                            program.graph.outputs.end());
  if (o.all_values)
    for (const std::string& name : model::computed_names(program)) wanted.insert(name);
  const model::Computed made = model::run(program, inputs, Device::get(o.device), wanted);
  for (const std::string& name : program.graph.outputs)
    if (!made.values.contains(name)) {
      const auto why = made.missing.find(name);
      throw ParseError(
          fmt::format("{}: output '{}' has no value: {}", o.file, name,
                      why == made.missing.end() ? "nothing computes it" : why->second));
    }
  if (!o.output.empty()) write_values(o.output, made.values);
  for (const std::string& name : program.graph.outputs) {
    const HostArray& x = made.values.at(name);
    fmt::print("{} {} {}\n", visible(name), touchstone::name(x.dtype), sizes_text(x.shape));
  }
  return kExitOk;
}

int judge_whole(const ModelProgram& program, const ModelOptions& o) {
  if (o.actual.empty() == o.backend.empty())
    throw ParseError("give the values to judge: --actual FILE.npz, or --backend COMMAND");
  if (program.dialect != "onnx" && (!o.backend.empty() || !o.keep.empty()))
    throw ParseError(
        "--backend and --keep take a model of ONNX; give the values of a module with --actual");
  const Values inputs = inputs_of(program, o);
  const Values actual =
      o.actual.empty() ? ask_backend(o, program, inputs) : read_values(o.actual, "--actual");
  std::map<std::string, int> counts;
  int exit = kExitOk;
  const auto worse = [&](int code) {
    constexpr int kOrder[] = {kExitNo, kExitBad, kExitSuspect, kExitNothing, kExitWeak, kExitOk};
    if (std::ranges::find(kOrder, code) < std::ranges::find(kOrder, exit)) exit = code;
  };
  model::JudgeOptions how;
  how.profile = chosen_profile(o.profile);
  if (o.all_elements) how.sampling = Sampling::all();
  how.within = [&](const KernelToJudge& kernel, const std::function<Verdict()>& work) {
    try {
      require_feasible(kernel, o.verdict, how.sampling, "--verdict-timeout, --verdict-memory");
      return judge_within(o.verdict, work, "--verdict-timeout");
    } catch (const ParseError& e) {
      return no_verdict(Outcome::Unusable, e.what());
    }
  };
  how.seen = [&](const JudgedValue& v) {
    ++counts[word_of(v)];
    if (v.verdict) worse(exit_code(*v.verdict));
    if (o.json)
      fmt::print("{}\n", ascii_json_line(json_of(v)));
    else if (o.verbose || word_of(v) != "PASS")
      fmt::print("{} {} '{}': {}\n", coloured_word(v), visible(v.operation->place), visible(v.name),
                 visible(text_of(v)));
    return !(o.first && v.verdict && v.verdict->outcome == Outcome::Fail);
  };
  const std::vector<JudgedValue> judged = model::judge(program, inputs, actual, how);
  if (counts.empty() || counts.contains("NOT JUDGED")) worse(kExitNothing);
  std::string summary = fmt::format("{} of {} values judged",
                                    judged.size() - static_cast<std::size_t>(counts["NOT JUDGED"]),
                                    model::computed_names(program).size());
  for (const auto& [word, count] : counts)
    if (count > 0) summary += fmt::format(", {} {}", count, word);
  if (!o.junit.empty()) deliver(o.junit, junit(o.file, judged));
  if (!o.html.empty()) deliver(o.html, page(o.file, program, judged, summary));
  if (!o.keep.empty()) {  // the first wrong operation, as a model of its own
    for (const JudgedValue& v : judged) {
      if (!v.verdict || v.verdict->outcome != Outcome::Fail) continue;
      Values operands, results;
      std::map<std::string, const HostArray*> shapes;
      bool whole = true;
      for (const std::string& in : v.operation->inputs) {
        if (in.empty()) continue;
        const auto& constants = program.graph.constants;
        if (const auto it = actual.find(in); it != actual.end())
          operands[in] = it->second;
        else if (const auto given = inputs.find(in); given != inputs.end())
          operands[in] = given->second;
        else if (const auto fixed = constants.find(in); fixed != constants.end())
          operands[in] = fixed->second;
        else
          whole = false;
      }
      if (!whole) break;
      for (const auto& [name, array] : operands) shapes[name] = &array;
      for (const std::string& out : v.operation->outputs)
        if (const auto it = actual.find(out); it != actual.end()) results[out] = it->second;
      fs::create_directories(o.keep);
      write_file_atomically(fs::path(o.keep) / "model.onnx",
                            model::single_node(program, *v.operation, shapes));
      write_values(fs::path(o.keep) / "inputs.npz", operands);
      write_values(fs::path(o.keep) / "outputs.npz", results);
      if (!o.json) fmt::print("{} {}\n", dim("reproducer"), o.keep);
      break;
    }
  }
  if (o.json) {
    nlohmann::ordered_json out{{"model", o.file},
                               {"values", model::computed_names(program).size()}};
    for (const auto& [word, count] : counts) out[word] = count;
    fmt::print("{}\n", ascii_json_line(out));
  } else {
    fmt::print("{}\n", summary);
  }
  return exit;
}

}  // namespace

int run_model(const ModelOptions& o) {
  const ConfigScope scope(Config::from_environment());
  const ModelProgram program = model::read_model(o.file);
  if (o.action == "show") return show(program, o);
  return o.action == "run" ? run_whole(program, o) : judge_whole(program, o);
}

}  // namespace touchstone::cli

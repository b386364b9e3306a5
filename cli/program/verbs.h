#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

// One struct of options and one function per verb. Functions return the exit code and throw
// touchstone::Error for bad input; main prints it.

namespace touchstone {
struct Certificate;
}

namespace touchstone::cli {

struct Certified;

inline constexpr int kExitOk = 0;    // done, or every verdict is PASS
inline constexpr int kExitNo = 1;    // the answer is no: a FAIL, a goal missed
inline constexpr int kExitBad = 2;   // bad usage or input, or a verdict of UNUSABLE
inline constexpr int kExitWeak = 3;  // a verdict of WEAK
/// Nothing was checked: a backend took no kernel, every case was skipped.
inline constexpr int kExitNothing = 4;
inline constexpr int kExitSuspect = 5;  // a verdict of SUSPECT

struct DemoOptions {
  std::string data;  // CSV, gzipped or not; empty: the digits inside the program
  std::string device = "CLANG";
  std::vector<std::string> models;  // of models.h, or "all", instead of the digits
  std::string plant = "none";       // a fault of codegen/fault.h
  int epochs = 0;                   // 0: enough for the goal, or one with a planted fault
  std::uint64_t seed = 1;
  std::string scheduler;  // as of KernelsOptions
  std::string reproducer = "touchstone-fail.json";
  bool json = false;
};
int run_demo(const DemoOptions& options);

/// Limits of a verb, or of a verdict, for untrusted kernels.
struct WorkLimits {
  double seconds = 600;           // 0: no limit
  std::int64_t megabytes = 8192;  // of memory; 0: no limit
};

/// The kernel of a verb, with its arrays.
struct KernelWords {
  std::string file, op;                // a kernel.json, for some a reproducer; or a kernel as text
  std::vector<std::string> inputs;     // buffer 1 first
  std::vector<std::string> variables;  // n=3
  std::string profile;                 // a name, or a file of JSON; empty: the usual one
  bool json = false;
  WorkLimits limits;  // of the verb, or of the verdict
};

struct EvalOptions : KernelWords {  // inputs are drawn if none are given
  std::string output;               // .npy, .npz, .safetensors
  std::string device = "CPU";
  std::uint64_t seed = 0;
  bool show_source = false;
};
int run_eval(const EvalOptions& options);

struct ModelOptions {
  std::string action, file;         // show, run or judge; a model of ONNX
  std::vector<std::string> inputs;  // NAME=FILE, or files of named arrays; others are drawn
  std::vector<std::string> sizes;   // batch=2
  std::uint64_t seed = 0;
  std::string output;               // of run
  std::string device = "CPU";       // of run
  bool all_values = false;          // of run: not only the outputs
  std::vector<std::string> actual;  // of judge: values of the candidate
  std::string backend;              // of judge: the command that computes them
  int backend_seconds = 600;
  std::string profile, junit, html, keep;
  bool all_elements = false, first = false, verbose = false, json = false;
  WorkLimits verdict, limits;
};
int run_model(const ModelOptions& options);

struct KernelOptions {
  std::string text;      // "softmax(x[64,128])" (docs/define.md), or a kernel.json
  std::string output;    // kernel.json; empty or "-": standard output
  bool list = false;     // the definitions instead
  bool json = false;     // of that list
  bool tree = false;     // as a tree, for a person
  std::string stage;     // ast, opts, steps, c, asm, profile, cuda or ptx instead; empty: json
  std::string html;      // a page of it all instead; "-": standard output
  std::string opts;      // instead of the hand-coded ones (codegen/opts.h)
  int beam = 0;          // search for them with a beam of this many lists
  double seconds = 120;  // of the search
  WorkLimits limits;
};
/// Throws ParseError for a text that is neither a formula nor a kernel.json.
int run_kernel(const KernelOptions& options);

struct OpsOptions {
  std::vector<std::string> names;  // empty: all
  bool json = false;
};
/// Prints the operations with their operands, types and results.
int run_ops(const OpsOptions& options);

struct CheckOptions : KernelWords {
  std::string output;
  bool find_order = false;
  bool all_elements = false;  // never a sample
};
int run_check(const CheckOptions& options);

struct ProbeOptions : KernelWords {  // the arrays give sizes and types to the inputs of a text
  std::string folder;                // receives the inputs; empty: none are written
  std::uint64_t seed = 0;
  double seconds = 60;  // for predicting what the inputs show
};
/// Draws inputs for one kernel, and reports which faults of which node each would show.
int run_probe(const ProbeOptions& options);

struct SuiteWords {
  /// "ops", "kernels" or "all"; empty: all, unless ops or kernels are named, then only these.
  std::string suite;
  std::vector<std::string> kernels;      // definitions; empty or "all": every kernel
  std::vector<std::string> ops, dtypes;  // empty or "all": every one
  std::int64_t elements = 500;
  std::uint64_t seed = 0;
  std::string model;  // its kernels instead
  bool backward = false;
};

struct ExplainOptions : KernelWords {
  std::string output;  // .npy; empty: no candidate
  std::string at;      // 3,7
};
int run_explain(const ExplainOptions& options);

struct EmitOptions {
  std::string folder;
  std::string op;                   // a kernel as text, on inputs drawn for it, instead of a suite
  std::vector<std::string> arrays;  // give sizes and types to its inputs
  std::string profile;              // a name, or a file of JSON; empty: the usual one
  std::string format = "npy";       // a file for each array, or npz, safetensors
  std::vector<std::string> languages;  // that each kernel is written in, too
  SuiteWords suite;
  WorkLimits limits;
};
int run_emit(const EmitOptions& options);

/// A foreign backend (docs/backends.md).
struct BackendOptions {
  std::string command;            // for the shell; speaks the line protocol
  std::string plugin;             // or a shared object with the C ABI of touchstone/backend.h
  double seconds = 10;            // for one kernel
  std::int64_t megabytes = 8192;  // of address space
};

struct BlameOptions : KernelWords {  // profile: empty: the backend's declared one, else glibc
  std::vector<std::string> held;     // "4=exp.npy": the candidate's value of node 4
  BackendOptions backend;
  bool nodes = false;  // list them instead
};
/// Finds the node of a failing kernel that a candidate gets wrong; kExitNo if there is one.
int run_blame(const BlameOptions& options);

struct JudgeOptions {
  std::string folder;              // of emit; empty: a suite is drawn for the backend
  std::string output = "out.npy";  // in the folder of each kernel
  std::string profile;             // empty: the backend's declared profile, else glibc
  BackendOptions backend;          // runs the kernels if its command is not empty
  SuiteWords suite;
  bool all = false;  // print passing kernels too
  bool all_elements = false;
  bool json = false;
  std::string log;  // a file of JSON lines, one a kernel; empty: none
  bool resume = false;
  WorkLimits verdict;
};
int run_judge(const JudgeOptions& options);

struct ServeOptions {
  WorkLimits limits{60, 8192};  // of a question and of its process
  std::string listen;           // ADDRESS[:PORT] or a socket; empty: standard input and output
  bool no_files = false;        // forbid requests to name files; always at an address
  std::string token_file;       // of an address
  std::string token;            // that requests must carry; empty: none, as at a socket
  int connections = 32;         // at a time
  std::int64_t megabytes_of_body = 64;  // of a request
  double client_seconds = 10;           // per request, for waiting on its client
};
/// Prints a verdict for each line of standard input until it ends, and returns kExitBad if a line
/// was no question; or serves HTTP requests until a signal ends it.
int run_serve(const ServeOptions& options);

struct LeagueOptions {
  std::vector<std::string> commands, plugins;
  BackendOptions limits;  // the rest of it
  SuiteWords suite;
  std::string log;  // a file of JSON lines, one a kernel and backend; empty: none
  bool resume = false;
  bool quiet = false;  // no line per kernel on standard error
  bool json = false;
};
/// Compares backends on the same kernels, as Markdown.
int run_league(const LeagueOptions& options);

struct KernelsOptions {
  std::vector<std::string> models;
  bool backward = false;
  bool source = false;
  bool why = false;  // the layout of each, and what layouts follow from
  bool json = false;
  bool jsonl = false;
  int opt = -1;  // -1: of the environment, or the default
  bool index_stats = false;
  std::string scheduler;  // lazy, kernelize, ranges; empty: of the environment
  std::string program;    // a program, a file of one, or - for standard input, instead of models
  std::string html;       // a page of all kernels, to this file; "-" is standard output
};
int run_kernels(const KernelsOptions& options);

struct RewritingOptions {
  std::string model;
  bool backward = false;
  std::string program;    // as in KernelsOptions
  std::string scheduler;  // one that works by rewriting; empty: kernelize
  std::string html;       // a file for the page; "-" is standard output
  int graphs = 500;       // matches that the page shows as graphs
};
int run_rewrite(const RewritingOptions& options);

struct ExportOptions {
  std::string model, folder;
};
/// Writes a model as a C program, with example inputs and outputs.
int run_export(const ExportOptions& options);

struct ScheduleOptions {
  std::string model;
  bool backward = false;
  std::string html, json, dot, svg;  // files; "-" is standard output
  int opt = -1;                      // as in KernelsOptions, as is this:
  std::string scheduler;
};
int run_schedule(const ScheduleOptions& options);

struct FuzzOptions {
  std::vector<std::string> areas;  // names of areas, or "all"
  std::string backend = "tiers";   // of the area kernel; see --help
  std::int64_t cases = 0;          // of each area; 0: 1000, or as many as the time allows
  std::string time;                // for all areas: 60s, 5m, 2h; empty: until the cases are done
  int jobs = 0;                    // worker processes; 0: one a core
  std::uint64_t seed = 0;
  std::string shard;        // W/N, or job
  std::int64_t gather = 0;  // number of shards to finish and merge; 0: none
  std::string corpus, log, coverage, findings = "touchstone-findings";
  bool resume = false;
  std::optional<std::string> one;  // a case, or @FILE; no campaign
  bool shrink = false;             // of that case
  double case_seconds = 60;
  /// MiB of address space for a worker, and for a backend it runs; 0: no limit. By default none for
  /// workers, and that of BackendOptions for a backend.
  std::optional<std::int64_t> megabytes;
  std::string plant = "none";
  std::string mutant;        // of a build that holds some; empty: none
  bool index_stats = false;  // the cost of the kernels' accesses, and no run
  bool json = false;         // the summary as an object
};
int run_fuzz(const FuzzOptions& options);

struct MutantsOptions {
  std::vector<std::string> names;  // empty: all
  std::string area;                // of the table that holds them; empty: all
  bool history = false;            // only real past mistakes
  std::vector<std::string> with;   // the areas that hunt; empty: all
  bool list = false;
  std::string log;  // a file; each finished hunt appends a JSON object
  bool json = false;
  int seeds = 1;
  std::uint64_t seed = 0;           // the first
  double seconds = 60;              // for each
  std::int64_t cases = 10'000'000;  // for each
  int jobs = 2;
};
/// Tests whether the fuzzer finds the mutants of a build, as a Markdown table. kExitNo if one
/// survives, or if something is found without a mutant.
int run_mutants(const MutantsOptions& options);

struct SimplifyOptions {
  std::string expression;
  std::vector<std::string> variables;  // a=0..10
  std::vector<std::string> assumptions;
  bool steps = false;
  std::string format;                 // of the steps: text, json, html, latex; empty: none
  std::string html;                   // a page of the steps, to this file; "-" is standard output
  std::optional<std::string> replay;  // check a derivation in this file instead
  bool jsonl = false;                 // questions from the standard input instead
  bool certify = false;               // the certificate, or one with each answer
  std::string from, to;               // languages of the question and the answer
  bool decide = false;                // claims, conditions and bounds by the decision service
  std::optional<unsigned> effort;     // of the solver; 0: none
};
int run_simplify(const SimplifyOptions& options);

struct CheckIndexOptions;  // cli/indices/asked.h
/// Checks an index of a kernel: type, bounds, vector width, segments, banks.
int run_check_index(const CheckIndexOptions& options);

struct MapOptions {
  std::string operation;
  std::vector<std::string> maps, from, variables, assumptions, symbols;
  std::string onto, tile, size, where, to;
  std::string html;            // a page that draws the maps
  std::string by = "address";  // or bank, lane
  int banks = 32, bytes = 4;
  bool json = false, steps = false;
};
/// One operation on maps (maps/ask.h).
int run_map(const MapOptions& options);

struct VerifyOptions {
  std::string file;  // certificates, or answers that hold them; empty or "-": standard input
};
/// Checks the certificates of `simplify --certify`, without the simplifier.
int run_verify(const VerifyOptions& options);

/// Evaluates expressions interactively, with a line editor on a terminal; else runs a script.
int run_repl();

struct ProveOptions {
  std::vector<std::string> what;     // names of rules, or "LHS -> RHS ; CONDITION"; empty: all
  std::vector<std::string> witness;  // of a claim
  bool all = false;
  bool necessity = false;
  bool mutants = false;
  bool smt2 = false;
  bool json = false;
  bool docs = false;
};
int run_prove(const ProveOptions& options);

struct BitsOptions {
  bool docs = false;             // print docs/semantics.md instead
  bool names = false;            // print the names of operations instead
  std::string profile = "ieee";  // sets the overflow of 8-bit floats; a name, or a JSON file
};
/// Prints the right answers of single operations, one per line of standard input. kExitBad if a
/// line was no question.
int run_bits(const BitsOptions& options);

struct CertifyOptions {
  std::string op, dtype;
  std::string output;               // empty: OP-DTYPE.json
  std::vector<std::string> parts;   // records of other runs to merge
  std::string from, to;             // bits of inputs in hexadecimal
  std::string shard;                // W/N
  int threads = 0;                  // 0: one a core
  bool fresh = false;               // discard the existing output
  std::string device;               // whose outputs; empty: the reference's
  double ulp = -1;                  // the limit on them; below 0: what the device declares
  std::string outputs;              // a file of float32, or "-", instead of a device
  std::vector<std::string> limits;  // on these (certify_limits.h); empty: correctly rounded
  bool flush = false;               // subnormal operands and results may be zero there
  BackendOptions backend;           // whose outputs, where its command or plugin is not empty
};
/// Compares the outputs in `options.outputs`, for `inputs` float32 whose bits follow `first`, with
/// the limits; kExitNo if one is exceeded.
int certify_outputs(const CertifyOptions& options, std::uint64_t first, std::uint64_t inputs,
                    int threads);
/// Compares the outputs of `options.device` in these blocks with the correctly rounded ones;
/// kExitNo if one exceeds the limit. Throws Error for an unknown device.
int certify_device(const CertifyOptions& options, const Certificate& certificate,
                   const Certified& of, std::span<const std::uint64_t> blocks, int threads);
/// Checks a function on every input; kExitNo if an output is wrong, kExitBad if the run ended
/// early.
int run_certify(const CertifyOptions& options);

struct ViewOptions {
  std::vector<std::string> words;                    // 10,10 permute 1,0 ...
  std::vector<std::string> variables;                // n=2..9
  std::optional<std::string> strides, offset, mask;  // the initial layout: 4,1 and 3 and 0:2,1:3
  bool jsonl = false;                                // questions from the standard input instead
  std::optional<std::string> html;  // a page instead of text; a file, or empty for standard output
  std::string draw = "auto";        // text grids: auto (only on a terminal), always, never
};
int run_view(const ViewOptions& options);

}  // namespace touchstone::cli

// Options of the verbs about one kernel or one operation and the right answer.
#include "command_line.h"
#include "verbs.h"

namespace touchstone::cli {
namespace {

constexpr char kOpHelp[] =
    "Instead: the kernel as text, 'softmax(x[64,128])' (docs/define.md); an input without sizes "
    "has those of its array";

constexpr char kSizesHelp[] =
    "Arrays whose sizes and types its inputs have, buffer 1 first, as of check";

Verb eval_verb(CLI::App& app) {
  static EvalOptions o;
  CLI::App* v =
      add_verb(app, "eval", "Run one kernel.json on a device",
               "eval kernel.json --in a.npy b.npy --device CLANG --out y.npy", {{kExitOk, "done"}});
  v->add_option("kernel", o.kernel, "The kernel");
  v->add_option("--op", o.op, kOpHelp)->excludes("kernel");
  v->add_option("--in", o.inputs,
                "Inputs, buffer 1 first: FILE.npy, FILE.npz:NAME, FILE.safetensors:NAME [small "
                "integers drawn from --seed]");
  v->add_option("--out", o.output,
                "Write the output: FILE.npy, .npz or .safetensors, or - for .npy on standard "
                "output [print the first elements]");
  v->add_option("--device", o.device, "CPU (the reference) or CLANG")->capture_default_str();
  v->add_option("--seed", o.seed, "Of the inputs where none are given")->capture_default_str();
  v->add_option("--var", o.variables, "Value of a symbolic size, n=3");
  v->add_flag("--source", o.show_source, "Print the code that runs");
  return {v, [] { return run_eval(o); }, add_work_limits(v, o.limits)};
}

Verb check_verb(CLI::App& app) {
  static CheckOptions o;
  CLI::App* v = add_verb(app, "check", "Judge an output against the legal results",
                         "check --op 'softmax(x, axis=1)' --in x.npy --out y.npy",
                         {{kExitOk, "PASS"},
                          {kExitNo, "FAIL"},
                          {kExitBad, "UNUSABLE, bad usage or input"},
                          {kExitWeak, "WEAK"},
                          {kExitSuspect, "SUSPECT"}});
  v->add_option("file", o.file, "A kernel.json, or a reproducer, which holds its own arrays");
  v->add_option("--op", o.op, kOpHelp)->excludes("file");
  v->add_option("--in", o.inputs,
                "Inputs, buffer 1 first: FILE.npy, FILE.npz:NAME or FILE.safetensors:NAME, or a "
                "file with arrays in1, in2, ...");
  v->add_option("--out", o.output, "The candidate's output, in the same ways");
  v->add_option("--var", o.variables, "Value of a symbolic size, n=3");
  v->add_option(
      "--profile", o.profile,
      "What the candidate declares of its arithmetic: ieee, glibc, library, cuda, opencl, "
      "vulkan, fastmath, tensorcore, or a JSON file (docs/oracle.md) [library for an --op "
      "that functions compute as they like, else glibc]");
  v->add_flag("--find-order", o.find_order,
              "Also say in which order the candidate summed, and what a profile may declare");
  v->add_flag("--json", o.json, "One JSON object and nothing else");
  return {v, [] { return run_check(o); }, add_work_limits(v, o.limits)};
}

Verb explain_verb(CLI::App& app) {
  static ExplainOptions o;
  CLI::App* v = add_verb(app, "explain",
                         "One element: its exact value, every rounding, why results are legal",
                         "explain kernel.json --in a.npy b.npy --out y.npy --at 3,7",
                         {{kExitOk, "the candidate's element is legal, or none was given"},
                          {kExitNo, "it is not legal"}});
  v->add_option("file", o.file, "A kernel.json, or a reproducer, which holds its own arrays");
  v->add_option("--op", o.op, kOpHelp)->excludes("file");
  v->add_option("--in", o.inputs, "Inputs, as of check");
  v->add_option("--out", o.output, "The candidate's output, in the same ways");
  v->add_option("--at", o.at,
                "The element: an index per axis, those of size 1 at the end left out or not")
      ->required();
  v->add_option("--var", o.variables, "Value of a symbolic size, n=3");
  v->add_option("--profile", o.profile, "As of check");
  v->add_flag("--json", o.json, "One JSON object and nothing else");
  return {v, [] { return run_explain(o); }, add_work_limits(v, o.limits)};
}

Verb blame_verb(CLI::App& app) {
  static BlameOptions o;
  CLI::App* v = add_verb(app, "blame", "Which node of a failing kernel a backend gets wrong",
                         "blame kernel.json --in a.npy b.npy --backend 'python3 mine.py'",
                         {{kExitOk, "no node is wrong"}, {kExitNo, "one is"}});
  v->add_option("file", o.file, "A kernel.json, or a reproducer, which holds its own inputs");
  v->add_option("--op", o.op, kOpHelp)->excludes("file");
  v->add_option("--in", o.inputs, "Inputs, as of check");
  v->add_option("--var", o.variables, "Value of a symbolic size, n=3");
  v->add_option("--profile", o.profile,
                "As of check [what the backend declares, else glibc; with --held as there]");
  add_backend_options(v, o.backend);
  v->add_option("--held", o.held,
                "What the candidate held at a node, in row-major order, as 4=exp.npy: instead of "
                "running it");
  v->add_flag("--nodes", o.nodes, "List the nodes and their numbers");
  v->add_flag("--json", o.json, "One JSON object and nothing else");
  return {v, [] { return run_blame(o); }};
}

Verb kernel_verb(CLI::App& app) {
  static KernelOptions o;
  CLI::App* v = add_verb(app, "kernel", "Write a kernel.json for a formula of named operations",
                         "kernel 'softmax(x[64,128])' --out kernel.json", {{kExitOk, "done"}});
  v->add_option(
      "text", o.text,
      "Inputs with sizes and types, x[64,128]:f16; definitions, + - * / % @ and comparisons; or a "
      "kernel.json");
  v->add_option("--out", o.output, "Where it is written [standard output]");
  v->add_flag("--list", o.list, "Print the definitions with their arguments");
  v->add_flag("--json", o.json, "Of --list one JSON object a line and nothing else");
  v->add_flag("--tree", o.tree, "Print it as a tree instead");
  v->add_option(
       "--stage", o.stage,
       "Print what the CLANG device makes of it instead: ast, opts (how its loops are laid out), "
       "uops (linear code), c, asm, profile (the arithmetic that it declares); or what the CUDA "
       "device makes: cuda, ptx")
      ->check(CLI::IsMember({"ast", "opts", "uops", "c", "asm", "profile", "cuda", "ptx"}));
  v->add_option("--html", o.html,
                "Write a page to this file instead, - for standard output: its AST, linear code "
                "and C")
      ->excludes("--stage")
      ->excludes("--out")
      ->excludes("--tree")
      ->excludes("--list");
  v->add_option("--opts", o.opts,
                "Of --stage: lay it out so, 'lanes(16) block(0,4)' or none [what pays as a rule]")
      ->needs("--stage");
  v->add_option("--beam", o.beam,
                "Search for the layout that runs fastest here, keeping so many from round to round")
      ->check(CLI::Range(1, 64))
      ->excludes("--opts")
      ->excludes("--html");
  v->add_option("--time", o.seconds, "Seconds of the search; 0: as long as it takes")
      ->needs("--beam")
      ->capture_default_str();
  return {v,
          [] {
            bare(o.text);
            return run_kernel(o);
          },
          add_work_limits(v, o.limits)};
}

Verb probe_verb(CLI::App& app) {
  static ProbeOptions o;
  CLI::App* v = add_verb(app, "probe", "Inputs for one kernel, and which faults each would show",
                         "probe --op 'softmax(x[16,33])' --out probes", {{kExitOk, "done"}});
  v->add_option("file", o.file, "A kernel.json");
  v->add_option("--op", o.op, kOpHelp)->excludes("file");
  v->add_option("--in", o.arrays, kSizesHelp)->needs("--op");
  v->add_option("--out", o.folder,
                "A new folder for them: kernel.json and in1.npy and on in a folder a family");
  v->add_option("--var", o.variables, "Value of a symbolic size, n=3");
  v->add_option("--profile", o.profile, "As of check");
  v->add_option("--seed", o.seed, "The same seed draws the same inputs")->capture_default_str();
  v->add_option("--seconds", o.seconds, "For finding out what the inputs would show; 0: do not")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  v->add_flag("--json", o.json, "One JSON object and nothing else");
  return {v, [] { return run_probe(o); }, add_work_limits(v, o.limits)};
}

Verb ops_verb(CLI::App& app) {
  static OpsOptions o;
  CLI::App* v = add_verb(app, "ops", "The operations: operands, element types, results",
                         "ops max div", {{kExitOk, "done"}});
  v->add_option("op", o.names, "Which [all]");
  v->add_flag("--json", o.json, "One JSON object a line and nothing else");
  return {v, [] { return run_ops(o); }};
}

Verb bits_verb(CLI::App& app) {
  static BitsOptions o;
  CLI::App* v = add_verb(
      app, "bits", "The right bits of single operations",
      "bits < questions    # sin<TAB>float32<TAB>3f800000 gives 3f576aa4",
      {{kExitOk, "done"}, {kExitBad, "a line was no question"}},
      "Reads a line op<TAB>dtype<TAB>in[,in...] from standard input and writes an answer a line.");
  v->add_flag("--docs", o.docs, "Print docs/semantics.md: what every op gives, with examples");
  v->add_flag("--names", o.names, "Print the names of all operations, and how similar ones differ");
  v->add_option(
       "--profile", o.profile,
       "As of check: its float8_overflow says what a float8 gives that is too large; where "
       "either is legal, both are written, a|b")
      ->capture_default_str();
  return {v, [] { return run_bits(o); }, add_work_limits(v)};
}

Verb certify_verb(CLI::App& app) {
  static CertifyOptions o;
  CLI::App* v =
      add_verb(app, "certify", "Check every input of a function of one float type",
               "certify exp2 f32    # hours of one core at most; ends and goes on at will",
               {{kExitOk, "every output is right"},
                {kExitNo, "some are wrong"},
                {kExitBad, "bad usage or input, or ended early"}},
               "The correctly rounded outputs against a second path that shares nothing with the "
               "first, and MPFR. The file keeps what was checked; the same command goes on.");
  v->add_option("op", o.op, "exp2, log2, sin, sqrt or recip; with --outputs exp, tanh, ..., too")
      ->required();
  v->add_option("dtype", o.dtype, "float32, float16 or bfloat16")->required();
  v->add_option(
      "--out", o.output,
      "The certificate, complete or not yet; -: standard output, once it is done [OP-DTYPE.json]");
  v->add_option("--with", o.parts, "Take over what these records of other runs hold")
      ->allow_extra_args(false);
  v->add_option("--from", o.from, "The first input: its bits in hexadecimal, the first of a block");
  v->add_option("--to", o.to, "The input after the last");
  v->add_option("--shard", o.shard, "Of N machines this is number W, from 0: W/N");
  v->add_option("--threads", o.threads, "How many [one a core]")->check(CLI::Range(1, 1024));
  CLI::Option* const fresh = v->add_flag("--fresh", o.fresh, "Begin anew, whatever the file holds");
  CLI::Option* const device =
      v->add_option(
           "--device", o.device,
           "Hold the outputs of this device against the correctly rounded ones; --out then "
           "is a record of the figures")
          ->excludes("--with")
          ->excludes(fresh);
  add_backend_options(v, o.backend);
  v->add_option("--ulp", o.ulp,
                "The limit, in ULP of the result [what the device or backend declares]")
      ->check(CLI::Range(0.0, 1e9));
  CLI::Option* const outputs =
      v->add_option("--outputs", o.outputs,
                    "Hold these against the right answers: a file, or - for standard input, of a "
                    "float32 for each input in the order of bits, from --from to --to")
          ->excludes(device)
          ->excludes("--with")
          ->excludes("--shard")
          ->excludes(fresh);
  v->add_option("--limit", o.limits,
                "What is documented of these or of a backend's outputs, as steps=2, "
                "relative=2^-22, absolute=2^-20.5@-6.28.."
                "6.28; may be given again [steps=0: correctly rounded]")
      ->allow_extra_args(false);
  v->add_flag("--flush", o.flush, "Subnormal operands and results may count as zero");
  for (const char* const whose : {"--backend", "--plugin"})
    for (CLI::Option* const other : {device, outputs, fresh, v->get_option("--with")})
      v->get_option(whose)->excludes(other);
  return {v, [] { return run_certify(o); }};
}

Verb serve_verb(CLI::App& app) {
  CLI::App* v = add_verb(app, "serve", "Verdicts for a program, a line each", "serve < questions",
                         {{kExitOk, "done"}, {kExitBad, "a line was no question"}},
                         "Reads a line {\"kernel\":..,\"inputs\":[..],\"output\":..} from standard "
                         "input and writes a verdict a line; or does so over HTTP.");
  static ServeOptions o;
  add_verdict_limits(v, o.limits, "");
  v->add_flag("--no-files", o.no_files,
              "Take kernels, profiles and arrays in the question only, never a file that it names; "
              "at an address always");
  CLI::Option* const listen = v->add_option(
      "--listen", o.listen,
      "Take POST requests over HTTP at a loopback address, 127.0.0.1:8080 (no port: a "
      "free one), with a token and without files; or at a Unix socket, ./socket");
  const auto of_listen = [&](CLI::Option* option) { option->capture_default_str()->needs(listen); };
  of_listen(v->add_option("--connections", o.connections,
                          "Clients at a time, each in a process of its own; others get 503")
                ->check(CLI::Range(1, 200)));
  v->add_option("--token-file", o.token_file,
                "A file that holds the token of an address, which requests send as "
                "'Authorization: Bearer TOKEN' [TOUCHSTONE_TOKEN, or a new one, which is printed]")
      ->needs(listen);
  of_listen(v->add_option("--max-body", o.megabytes_of_body, "MiB that a request may have")
                ->check(CLI::Range(1, 1024)));
  of_listen(v->add_option("--client-timeout", o.client_seconds,
                          "Seconds that a request may wait for its client, in all")
                ->check(CLI::Range(0.1, 3600.0)));
  return {v, [] { return run_serve(o); }};
}

}  // namespace

std::vector<Verb> oracle_verbs(CLI::App& app) {
  return {eval_verb(app),  check_verb(app), explain_verb(app), blame_verb(app),   kernel_verb(app),
          probe_verb(app), ops_verb(app),   bits_verb(app),    certify_verb(app), serve_verb(app)};
}

}  // namespace touchstone::cli

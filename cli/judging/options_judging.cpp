// Options of the verbs about one kernel or one operation and the right answer.
#include "touchstone/cli/program/command_line.h"
#include "touchstone/cli/program/verbs.h"

namespace touchstone::cli {
namespace {

constexpr char kOpHelp[] =
    "Instead of a file: the kernel as text, 'softmax(x[64,128])' (docs/define.md); an input "
    "without sizes takes those of its array";

// The kernel, its inputs and the values of its variables.
void add_kernel(CLI::App* v, KernelWords& o, const char* file, const char* inputs,
                const char* name = "file") {
  v->add_option(name, o.file, file);
  v->add_option("--op", o.op, kOpHelp)->excludes(name);
  v->add_option("--in", o.inputs, inputs);
  v->add_option("--var", o.variables, "Value of a symbolic size, n=3");
}
void add_verdict(CLI::App* v, KernelWords& o, const char* profile = "As in check") {
  v->add_option("--profile", o.profile, profile);
  v->add_flag("--json", o.json, "Print one JSON object and nothing else");
}

Verb eval_verb(CLI::App& app) {
  static EvalOptions o;
  CLI::App* v =
      add_verb(app, "eval", "Run one kernel.json on a device",
               "eval kernel.json --in a.npy b.npy --device CLANG --out y.npy", {{kExitOk, "done"}});
  add_kernel(v, o, "The kernel",
             "Inputs, buffer 1 first: FILE.npy, FILE.npz:NAME, FILE.safetensors:NAME [small "
             "integers drawn from --seed]",
             "kernel");
  add_output(v, o.output,
             "Write the output: FILE.npy, .npz or .safetensors, or - for .npy on standard "
             "output [print the first elements]");
  v->add_option("--device", o.device, "CPU (the reference) or CLANG")->capture_default_str();
  v->add_option("--seed", o.seed, "Seed of the inputs if none are given")->capture_default_str();
  v->add_flag("--source", o.show_source, "Print the generated code");
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
  add_kernel(v, o, "A kernel.json, or a reproducer, which contains its own arrays",
             "Inputs, buffer 1 first: FILE.npy, FILE.npz:NAME or FILE.safetensors:NAME, or a file "
             "with arrays in1, in2, ...; or by name: x=FILE.npy");
  add_output(v, o.output, "The candidate's output, in the same formats; or by name: out=FILE.npy");
  add_verdict(v, o,
              "The declared arithmetic of the candidate: ieee, glibc, library, cuda, opencl, "
              "vulkan, fastmath, tensorcore, or a JSON file (docs/oracle.md) [library for a "
              "formula with functions of loose accuracy, else glibc]");
  v->add_flag(
      "--find-order", o.find_order,
      "Also report the order in which the candidate summed, and the order to declare in a profile");
  v->add_flag("--all-elements,--all", o.all_elements,
              "Judge all elements of a very large kernel, not a sample");
  return {v, [] { return run_check(o); }, add_work_limits(v, o.limits)};
}

Verb explain_verb(CLI::App& app) {
  static ExplainOptions o;
  CLI::App* v = add_verb(
      app, "explain", "Explain one element: its exact value, every rounding, why results are legal",
      "explain kernel.json --in a.npy b.npy --out y.npy --at 3,7",
      {{kExitOk, "the candidate's element is legal, or no output was given"},
       {kExitNo, "the element is not legal"}});
  add_kernel(v, o, "A kernel.json, or a reproducer, which contains its own arrays",
             "Inputs, as in check");
  add_output(v, o.output, "The candidate's output, in the same formats; or by name: out=FILE.npy");
  v->add_option("--at", o.at,
                "The element: an index per axis; trailing axes of size 1 may be omitted")
      ->required();
  add_verdict(v, o);
  return {v, [] { return run_explain(o); }, add_work_limits(v, o.limits)};
}

Verb blame_verb(CLI::App& app) {
  static BlameOptions o;
  CLI::App* v =
      add_verb(app, "blame", "Find the node of a failing kernel that a backend gets wrong",
               "blame kernel.json --in a.npy b.npy --backend 'python3 mine.py'",
               {{kExitOk, "no node is wrong"}, {kExitNo, "one is"}});
  add_kernel(v, o, "A kernel.json, or a reproducer, which contains its own inputs",
             "Inputs, as in check");
  add_verdict(v, o, "As in check [the backend's; if it declares none, as in check]");
  add_backend_options(v, o.backend);
  add_verdict_limits(v, o.limits, "verdict-");
  v->add_option(
      "--held", o.held,
      "Instead of a run: the candidate's values at a node, in row-major order, as 4=exp.npy");
  v->add_flag("--nodes", o.nodes, "List the nodes and their numbers");
  return {v, [] { return run_blame(o); }};
}

Verb kernel_verb(CLI::App& app) {
  static KernelOptions o;
  CLI::App* v = add_verb(app, "kernel", "Write a kernel.json for a formula of named operations",
                         "kernel 'softmax(x[64,128])' --out kernel.json", {{kExitOk, "done"}});
  v->add_option("text", o.text,
                "Inputs with sizes and types, x[64,128]:f16; definitions, + - * / % @ and "
                "comparisons; or a kernel.json");
  v->add_option("--out", o.output, "Write it to this file [standard output]");
  v->add_flag("--list", o.list, "Print the definitions with their arguments");
  v->add_flag("--json", o.json, "With --list: print one JSON object per line and nothing else");
  v->add_flag("--tree", o.tree, "Print the kernel as a tree instead");
  v->add_option(
       "--stage", o.stage,
       "Print a stage of its compilation instead. CLANG: ast, opts (the layout of its loops), "
       "steps (linear code), c, asm, profile (the arithmetic that it declares). CUDA: cuda, ptx")
      ->check(CLI::IsMember({"ast", "opts", "steps", "c", "asm", "profile", "cuda", "ptx"}))
      ->transform([](const std::string& stage) { return stage == "uops" ? "steps" : stage; });
  v->add_option(
       "--html", o.html,
       "Write a page to this file instead, - for standard output: its AST, linear code and C")
      ->excludes("--stage", "--out", "--tree", "--list");
  v->add_option("--opts", o.opts,
                "With --stage: use this layout, 'lanes(16) block(0,4)' or none [a heuristic]")
      ->needs("--stage");
  v->add_option(
       "--beam", o.beam,
       "Search for the fastest layout on this machine, keeping this many candidates per round")
      ->check(CLI::Range(1, 64))
      ->excludes("--opts", "--html");
  v->add_option("--time", o.seconds, "Time limit of the search in seconds; 0: none")
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
  CLI::App* v =
      add_verb(app, "probe", "Draw inputs for one kernel, and report which faults each would show",
               "probe --op 'softmax(x[16,33])' --out probes", {{kExitOk, "done"}});
  add_kernel(v, o, "A kernel.json",
             "Arrays that give the inputs their sizes and types, buffer 1 first, as in check");
  v->get_option("--in")->needs("--op");
  v->add_option(
      "--out", o.folder,
      "A new folder; each family of inputs gets a folder with kernel.json, in1.npy, in2.npy, ...");
  add_verdict(v, o);
  v->add_option("--seed", o.seed, "The same seed draws the same inputs")->capture_default_str();
  v->add_option("--seconds", o.seconds,
                "Limit in seconds for predicting which faults the inputs show; 0: skip")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  return {v, [] { return run_probe(o); }, add_work_limits(v, o.limits)};
}

Verb ops_verb(CLI::App& app) {
  static OpsOptions o;
  CLI::App* v = add_verb(app, "ops", "The operations: operands, element types, results",
                         "ops max div", {{kExitOk, "done"}});
  v->add_option("op", o.names, "Which [all]");
  v->add_flag("--json", o.json, "Print one JSON object per line and nothing else");
  return {v, [] { return run_ops(o); }, add_work_limits(v)};
}

Verb bits_verb(CLI::App& app) {
  static BitsOptions o;
  CLI::App* v = add_verb(app, "bits", "The correct bits of single operations",
                         "bits < questions    # sin<TAB>float32<TAB>3f800000 gives 3f576aa4",
                         {{kExitOk, "done"}, {kExitBad, "a line is invalid"}},
                         "Reads a line op<TAB>dtype<TAB>in[,in...] from standard input and writes "
                         "one answer per line.");
  v->add_flag("--docs", o.docs, "Print docs/semantics.md: the result of every op, with examples");
  v->add_flag("--names", o.names, "Print the names of all operations, and how similar ones differ");
  v->add_option("--profile", o.profile,
                "As in check; its float8_overflow decides the result of a float8 overflow; if two "
                "results are legal, both are printed as a|b")
      ->capture_default_str();
  return {v, [] { return run_bits(o); }, add_work_limits(v)};
}

Verb certify_verb(CLI::App& app) {
  static CertifyOptions o;
  CLI::App* v =
      add_verb(app, "certify", "Check every input of a function of one float type",
               "certify exp2 f32    # up to hours of one core; can be interrupted and continued",
               {{kExitOk, "every output is correct"},
                {kExitNo, "some outputs are wrong"},
                {kExitBad, "bad usage or input, or stopped early"}},
               "Compares the correctly rounded outputs with a second, independent implementation "
               "and MPFR. The file records what was checked; the same command continues.");
  v->add_option(
       "op", o.op,
       "exp2, log2, sin, sqrt or recip; with --device, --backend or --outputs also exp, tanh, ...")
      ->required();
  v->add_option("dtype", o.dtype, "float32, float16 or bfloat16")->required();
  v->add_option(
      "--out", o.output,
      "The certificate, complete or partial; -: standard output, when complete [OP-DTYPE.json]");
  v->add_option("--with", o.parts, "Merge the records of other runs")->allow_extra_args(false);
  v->add_option("--from", o.from,
                "The first input: its bits in hexadecimal, at the start of a block");
  v->add_option("--to", o.to, "The input after the last");
  v->add_option("--shard", o.shard, "Part W of N, counted from 0, as W/N");
  v->add_option("--threads", o.threads, "Worker threads [one per core]")
      ->check(CLI::Range(1, 1024));
  CLI::Option* const fresh =
      v->add_flag("--fresh", o.fresh, "Start over, ignoring the contents of the file");
  CLI::Option* const device = v->add_option("--device", o.device,
                                            "Compare the outputs of this device with the correctly "
                                            "rounded ones; --out then records the figures")
                                  ->excludes("--with", fresh);
  add_backend_options(v, o.backend);
  v->add_option("--ulp", o.ulp,
                "The limit, in ULP of the result [what the device or backend declares]")
      ->check(CLI::Range(0.0, 1e9));
  CLI::Option* const outputs =
      v->add_option("--outputs", o.outputs,
                    "Compare these outputs with the correct ones: a file, or - for standard input, "
                    "with a float32 for each input in the order of bits, from --from to --to")
          ->excludes(device, "--with", "--shard", fresh);
  v->add_option(
       "--limit", o.limits,
       "A documented error limit of these or of a backend's outputs, as steps=2, relative=2^-22, "
       "absolute=2^-20.5@-6.28..6.28; may be repeated [steps=0: correctly rounded]")
      ->allow_extra_args(false);
  v->add_flag("--flush", o.flush, "Subnormal operands and results may count as zero");
  for (const char* const whose : {"--backend", "--plugin"})
    for (CLI::Option* const other : {device, outputs, fresh, v->get_option("--with")})
      v->get_option(whose)->excludes(other);
  return {v, [] { return run_certify(o); }};
}

Verb serve_verb(CLI::App& app) {
  CLI::App* v = add_verb(app, "serve", "Serve verdicts to a program, one per line",
                         "serve < questions", {{kExitOk, "done"}, {kExitBad, "a line is invalid"}},
                         "Reads a line {\"kernel\":..,\"inputs\":[..],\"output\":..} from standard "
                         "input and writes one verdict per line; or serves verdicts over HTTP.");
  static ServeOptions o;
  add_verdict_limits(v, o.limits, "");
  v->add_flag("--no-files", o.no_files,
              "Accept kernels, profiles and arrays only within the question, never as the name of "
              "a file; always on at an address");
  CLI::Option* const listen =
      v->add_option("--listen", o.listen,
                    "Serve POST requests over HTTP at a loopback address, 127.0.0.1:8080 (no port: "
                    "a free one), with a token and without files; or at a Unix socket, ./socket");
  const auto of_listen = [&](CLI::Option* option) { option->capture_default_str()->needs(listen); };
  of_listen(
      v->add_option("--connections", o.connections,
                    "Limit of simultaneous clients, each in a process of its own; others get 503")
          ->check(CLI::Range(1, 200)));
  v->add_option("--token-file", o.token_file,
                "File with the token of an address, which requests send as 'Authorization: Bearer "
                "TOKEN' [TOUCHSTONE_TOKEN, or a new one, which is printed]")
      ->needs(listen);
  of_listen(v->add_option("--max-body", o.megabytes_of_body, "Limit of a request in MiB")
                ->check(CLI::Range(1, 1024)));
  of_listen(v->add_option("--client-timeout", o.client_seconds,
                          "Limit in seconds that a request may wait for its client in total")
                ->check(CLI::Range(0.1, 3600.0)));
  return {v, [] { return run_serve(o); }};
}

}  // namespace

std::vector<Verb> oracle_verbs(CLI::App& app) {
  return {eval_verb(app),  check_verb(app), explain_verb(app), blame_verb(app),   kernel_verb(app),
          probe_verb(app), ops_verb(app),   bits_verb(app),    certify_verb(app), serve_verb(app)};
}

}  // namespace touchstone::cli

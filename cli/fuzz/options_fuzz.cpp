// Options of the verbs that draw cases.
#include "touchstone/cli/program/command_line.h"
#include "touchstone/cli/program/verbs.h"

namespace touchstone::cli {
namespace {

Verb fuzz_verb(CLI::App& app) {
  static FuzzOptions o;
  CLI::App* v = add_verb(app, "fuzz", "Draw random cases, check them, shrink what fails",
                         "fuzz --area symbolic,view --cases 100000 --seed 7",
                         {{kExitOk, "nothing failed"},
                          {kExitNo, "a case failed"},
                          {kExitBad, "bad usage or input, or stopped early"},
                          {kExitWeak, "the one --case is WEAK"},
                          {kExitNothing, "nothing was checked: all cases were skipped"}},
                         "The seed identifies a campaign: the same cases for any number of jobs. "
                         "Ctrl-C ends it with a summary.");
  v->add_option("--area", o.areas,
                "symbolic, view, kernel, lazy, kernelize, far, rewrite, tensor, files, random, or "
                "all, separated by commas [kernel]")
      ->delimiter(',');
  v->add_option("--backend", o.backend,
                "What runs the kernels of area kernel: tiers (tcc for each, clang -O2 for one in "
                "64), tcc, clang (-O0 for each, -O2 for one in 64), clang-O2 (for each), cpu (the "
                "reference itself), cuda (a GPU), cuda-host (its thread grids, on the host), "
                "numpy, onnxruntime, torch, torch-inductor, jax, pocl, a plugin X.so, or a command "
                "(docs/backends.md)")
      ->capture_default_str();
  v->add_option("--cases", o.cases, "Cases per area [1000, or as many as --time allows]")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  v->add_option("--time", o.time, "Time for all areas together, shared evenly: 60s, 5m, 2h");
  v->add_option("--jobs", o.jobs, "Worker processes [one per core]")->check(CLI::Range(1, 1024));
  v->add_option("--seed", o.seed, "Seed of the campaign: the same seed draws the same cases")
      ->capture_default_str();
  v->add_option("--shard", o.shard,
                "Part W of N, counted from 0, as W/N; or job: the part that mpirun, srun or a "
                "Slurm array assigns, with its own log beside --log");
  v->add_option("--gather", o.gather,
                "Finish the work of N shards whose logs stand beside --log, and report their "
                "findings as one")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
  v->add_option("--log", o.log,
                "Write progress and findings to this file as JSON lines; -: standard output");
  v->add_flag("--resume", o.resume, "Continue where the log ends");
  v->add_option("--corpus", o.corpus,
                "Folder of cases that are checked first; findings are added to it");
  v->add_option("--findings", o.findings,
                "Folder, created if needed: for each failing kernel a folder with all its files, "
                "and other cases too long to print")
      ->capture_default_str();
  v->add_option("--coverage", o.coverage,
                "Measure coverage: print a table, and write a page to this file")
      ->type_name("FILE.html");
  v->add_option("--case", o.one,
                "Check this single case, or the one in @FILE, of the area named; #SEED:INDEX: the "
                "case with this number of a seed");
  v->add_flag("--shrink", o.shrink, "Also shrink it if it fails");
  v->add_option("--timeout", o.case_seconds, "Seconds after which a case counts as hanging")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 86400.0));
  v->add_option("--memory", o.megabytes,
                "Limit in MiB of the address space of a worker or of a foreign backend; 0: none "
                "[none for workers, 8192 for a backend]")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 30));
  v->add_option("--plant", o.plant, "Plant a fault into the code that clang compiles (see demo)");
  v->add_option("--mutant", o.mutant,
                "Plant a fault into the project itself (touchstone mutants --list); needs a build "
                "of the preset mutants");
  v->add_flag("--index-stats", o.index_stats,
              "Instead: count views, divisions and modulos of all accesses of kernels");
  v->add_flag("--json", o.json,
              "Write the summary as one JSON object to standard output, the rest to standard error")
      ->excludes("--case", "--index-stats");
  return {v, [] {
            if (o.one) bare(*o.one);
            return run_fuzz(o);
          }};
}

Verb mutants_verb(CLI::App& app) {
  static MutantsOptions o;
  CLI::App* v = add_verb(app, "mutants", "Find the faults that a build with mutants contains",
                         "mutants --area symbolic --seeds 5",
                         {{kExitOk, "every mutant is found, and nothing without a mutant"},
                          {kExitNo, "a mutant survives, or something is found without one"}},
                         "Shows whether the fuzzer detects faults (./dev mutants).");
  v->add_option("mutant", o.names, "Names of mutants [all]");
  v->add_flag("--list", o.list, "List mutants with their areas, places and effects");
  v->add_option("--area", o.area, "Only mutants of this table: symbolic, views, lazy ...");
  v->add_option("--with", o.with,
                "Areas to search with: symbolic, view, lazy, kernelize, far, rewrite, tensor, "
                "files, random, tcc, clang or reference (kernels there), separated by commas [all]")
      ->delimiter(',')
      ->allow_extra_args(false);
  v->add_flag("--history", o.history, "Only mutants that repeat a real mistake of the past");
  v->add_option("--seeds", o.seeds, "Searches per mutant, each with other cases")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  v->add_option("--seed", o.seed, "The first seed")->capture_default_str();
  v->add_option("--log", o.log,
                "Write a JSON object per search with all details to this file; -: standard output");
  v->add_flag("--json", o.json,
              "Write the tables as one JSON object to standard output, Markdown to standard error; "
              "with --list one object per line");
  v->add_option("--seconds", o.seconds, "Give up a mutant after this processor time, in seconds")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  v->add_option("--cases", o.cases, "Give up a mutant after this many cases of all areas")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  v->add_option("--jobs", o.jobs, "Mutants searched at the same time")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  return {v, [] { return run_mutants(o); }, add_work_limits(v)};
}

}  // namespace

std::vector<Verb> fuzz_verbs(CLI::App& app) { return {fuzz_verb(app), mutants_verb(app)}; }

}  // namespace touchstone::cli

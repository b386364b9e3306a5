// Options of the verbs that draw cases.
#include "command_line.h"
#include "verbs.h"

namespace touchstone::cli {
namespace {

Verb fuzz_verb(CLI::App& app) {
  static FuzzOptions o;
  CLI::App* v = add_verb(app, "fuzz", "Draw random cases, check them, shrink what fails",
                         "fuzz --area symbolic,view --cases 100000 --seed 7",
                         {{kExitOk, "nothing failed"},
                          {kExitNo, "something did"},
                          {kExitBad, "bad usage or input, or ended early"},
                          {kExitWeak, "the one --case is WEAK"},
                          {kExitNothing, "nothing was checked: all cases were skipped"}},
                         "A campaign is named by its seed: the same cases for any number of jobs. "
                         "Ctrl-C ends it with a summary.");
  v->add_option("--area", o.areas,
                "symbolic, view, kernel, lazy, kernelize, rewrite, tensor, files, random, or all, "
                "separated by commas [kernel]")
      ->delimiter(',');
  v->add_option(
       "--backend", o.backend,
       "What runs the kernels of area kernel: tiers (tcc for each, clang -O2 for one in 64), "
       "tcc, clang (-O0 for each, -O2 for one in 64), clang-O2 (for each), cpu (the "
       "reference itself), cuda (a GPU), cuda-host (its grids of threads, on the host), numpy, "
       "pocl, a plugin X.so, or a command (docs/backends.md)")
      ->capture_default_str();
  v->add_option("--cases", o.cases, "Of each area [1000, or what --time allows]")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  v->add_option("--time", o.time, "For all areas together, which share it evenly: 60s, 5m, 2h");
  v->add_option("--jobs", o.jobs, "Worker processes [one a core]")->check(CLI::Range(1, 1024));
  v->add_option("--seed", o.seed, "Names the campaign: the same seed draws the same cases")
      ->capture_default_str();
  v->add_option("--shard", o.shard,
                "Of N machines this is number W, from 0: W/N; job: as mpirun, srun or an array of "
                "Slurm's says, with a log of its own beside --log");
  v->add_option("--gather", o.gather,
                "Of N shards whose logs stand beside --log: what they found as one, after what "
                "they have left is done")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
  v->add_option("--log", o.log,
                "A file of JSON lines: what was done, and each finding at once; -: standard "
                "output");
  v->add_flag("--resume", o.resume, "Go on where the log ends");
  v->add_option("--corpus", o.corpus,
                "A folder of cases that are checked first, and to which findings are added");
  v->add_option(
       "--findings", o.findings,
       "A folder, made where it is needed: of each kernel that fails a folder with all that "
       "belongs to it, and other cases too long to be shown")
      ->capture_default_str();
  v->add_option("--coverage", o.coverage,
                "Count what was reached: a table, and a page in this file")
      ->type_name("FILE.html");
  v->add_option("--case", o.one,
                "Check this one case, or @FILE with it, of the one area named; #SEED:INDEX: "
                "the one that a seed draws as this number");
  v->add_flag("--shrink", o.shrink, "And make it smaller, where it fails");
  v->add_option("--timeout", o.case_seconds, "Seconds after which a case hangs")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 86400.0));
  v->add_option(
       "--memory", o.megabytes,
       "MiB of address space that a worker may take, and a backend of somebody else's; 0: no "
       "limit [none for workers, 8192 for a backend]")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 30));
  v->add_option("--plant", o.plant, "Put a fault into the code that clang gets (see demo)");
  v->add_option("--mutant", o.mutant,
                "Put a fault into the project itself (touchstone mutants --list); a build of the "
                "preset mutants holds them");
  v->add_flag("--index-stats", o.index_stats,
              "Count views, divisions and modulos of all accesses of kernels instead");
  v->add_flag("--json", o.json,
              "The summary as one JSON object on standard output; the rest on standard error")
      ->excludes("--case")
      ->excludes("--index-stats");
  return {v, [] {
            if (o.one) bare(*o.one);
            return run_fuzz(o);
          }};
}

Verb mutants_verb(CLI::App& app) {
  static MutantsOptions o;
  CLI::App* v = add_verb(app, "mutants", "Find the faults that a build with mutants holds",
                         "mutants --area symbolic --seeds 5",
                         {{kExitOk, "all are found, and nothing without any"},
                          {kExitNo, "one survives, or something is found without any"}},
                         "They tell whether the fuzzer is awake (./dev mutants).");
  v->add_option("mutant", o.names, "Which [all]");
  v->add_flag("--list", o.list, "Name them, with their areas, places and what goes wrong");
  v->add_option("--area", o.area, "Only those of this table: symbolic, views, lazy ...");
  v->add_option("--with", o.with,
                "Areas that hunt: symbolic, view, lazy, kernelize, rewrite, tensor, files, random, "
                "tcc or clang (kernels there), separated by commas [all]")
      ->delimiter(',')
      ->allow_extra_args(false);
  v->add_flag("--history", o.history, "Only those that repeat a mistake that was really made");
  v->add_option("--seeds", o.seeds, "How often each is looked for, with other cases")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  v->add_option("--seed", o.seed, "The first seed")->capture_default_str();
  v->add_option(
      "--log", o.log,
      "A file that gets a JSON object a hunt: all that is known of it; -: standard output");
  v->add_flag("--json", o.json,
              "The tables as one JSON object on standard output, Markdown on standard error; of "
              "--list one object a line");
  v->add_option("--seconds", o.seconds, "Of processor time, until one is given up")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  v->add_option("--cases", o.cases, "Cases of all areas until one is given up")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  v->add_option("--jobs", o.jobs, "How many at a time")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  return {v, [] { return run_mutants(o); }};
}

}  // namespace

std::vector<Verb> fuzz_verbs(CLI::App& app) { return {fuzz_verb(app), mutants_verb(app)}; }

}  // namespace touchstone::cli

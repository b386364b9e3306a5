// Options of the verbs about index expressions and views.
#include "touchstone/cli/indices/asked.h"
#include "touchstone/cli/program/command_line.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/maps/ask.h"

namespace touchstone::cli {
namespace {

Verb simplify_verb(CLI::App& app) {
  static SimplifyOptions o;
  CLI::App* v = add_verb(app, "simplify", "Simplify an index expression",
                         "simplify '(a*4 + b)//4' --var a=0..10 b=0..3",
                         {{kExitOk, "done"},
                          {kExitNo,
                           "a step of --replay is wrong, no certificate was found, or "
                           "--decide refutes the claim"},
                          {kExitWeak, "--decide leaves the claim undecided"},
                          {kExitBad, "bad usage or input, or an invalid line with --jsonl"}});
  v->add_option("expression", o.expression,
                "Python-like: + - * // % comparisons and or not min() max() where()");
  v->add_option("--var", o.variables,
                "A variable and its inclusive bounds, a=0..10; omit a bound to leave it open");
  v->add_option("--assume", o.assumptions, "A condition that holds, as 'a<b'");
  v->add_flag("--steps", o.steps, "Show every step: its rule, what was known, what changed");
  v->add_option("--format", o.format, "Output format of the steps (implies --steps)")
      ->check(CLI::IsMember({"text", "json", "html", "latex"}));
  v->add_option("--html", o.html,
                "Write a page that walks through the steps to this file, - for standard output")
      ->excludes("--format");
  v->add_flag("--certify", o.certify,
              "Print a certificate of the answer, which `touchstone verify` checks; with --jsonl "
              "one in each answer")
      ->excludes("--format", "--html");
  v->add_option(
      "--from", o.from,
      "Language of the expression: c, python, sympy, jax, tvm, halide, mlir, isl, cute or "
      "triton (docs/notations.md) [a text that can be in one only tells it itself]");
  v->add_option("--to", o.to, "Language of the answer, one of these but cute and triton");
  v->add_flag("--decide", o.decide,
              "Decide a comparison, with a certificate or a counterexample; of another expression, "
              "decide the comparisons in it and its bounds; with --jsonl each one")
      ->excludes("--steps", "--format", "--html", "--certify");
  v->add_option("--effort", o.effort,
                "Steps of Z3 for one claim of --decide; 0 does not ask it [2000000]")
      ->needs("--decide");
  v->add_option("--replay", o.replay,
                "Check the steps in this file, written by --format json, without the simplifier");
  v->add_flag("--jsonl", o.jsonl,
              "Read questions from standard input, one JSON object per line, and write one answer "
              "per line: {\"vars\":{\"a\":[0,8]},\"assume\":[\"a<3\"],\"in\":\"a//2*2\"}");
  return {v,
          [] {
            bare(o.expression);
            for (std::string& a : o.assumptions) bare(a);
            return run_simplify(o);
          },
          add_work_limits(v)};
}

Verb check_index_verb(CLI::App& app) {
  static CheckIndexOptions o;
  CLI::App* v =
      add_verb(app, "check-index",
               "Does an index overflow, leave its array, allow vector loads, meet in banks?",
               "check-index --from c 'blockIdx.x*1024 + threadIdx.x*4' --var blockIdx.x=0..99 "
               "--lane threadIdx.x",
               {{kExitOk, "all hold"},
                {kExitNo, "one does not hold, at the point shown"},
                {kExitWeak, "one is neither proved nor tried at every point"},
                {kExitBad, "bad usage or input"}});
  v->add_option("expression", o.expression, "The index, as text")->required();
  v->add_option("--from", o.from, "Language of the text (docs/notations.md)");
  v->add_option("--var", o.variables, "A variable and its inclusive bounds, a=0..10");
  v->add_option("--assume", o.assumptions, "A condition that holds, as a guard 'i < n'");
  v->add_option("--type", o.type, "The type in which every part must stay [int32]");
  v->add_flag_callback(
      "--int32", [] { o.type = "int32"; }, "The same as --type int32");
  v->add_option("--size", o.size, "Elements of the array: is the index in [0, size)?");
  v->add_option("--same", o.same, "Another index, in the same language: are they equal?");
  v->add_flag("--image", o.image, "Do points meet in one index? Is it a permutation?");
  v->add_option("--vector", o.vector,
                "A variable: how many neighbours along it can be loaded at once?");
  v->add_option("--lane", o.lane,
                "The variable of the lanes: which segments and banks does a warp touch?");
  v->add_option("--lanes", o.lanes, "Lanes of a warp [32]")->check(CLI::Range(1, 1024));
  v->add_option("--bytes", o.bytes, "Bytes of an element [4]")->check(CLI::Range(1, 64));
  v->add_flag("--remedy", o.remedy,
              "Which swizzle, or which padding of rows, brings the fewest bank conflicts?");
  v->add_option("--segment", o.segment, "Bytes of a segment [32]")->check(CLI::Range(1, 4096));
  v->add_option("--banks", o.banks, "Banks of 4 bytes [32]")->check(CLI::Range(1, 1024));
  return {v,
          [] {
            bare(o.expression);
            bare(o.same);
            for (std::string& a : o.assumptions) bare(a);
            return run_check_index(o);
          },
          add_work_limits(v)};
}

Verb map_verb(CLI::App& app) {
  static MapOptions o;
  std::string operations;
  for (const maps::Operation& row : maps::kOperations)
    operations += fmt::format("{}\n  {:11} {}", operations.empty() ? "Operations:" : "", row.name,
                              row.meaning);
  CLI::App* v =
      add_verb(app, "map", "Layouts, views and affine maps: equality, inverse, composition, image",
               "map compose '(10,2):(16,4)' '(3,4):(1,5)' --to cute",
               {{kExitOk, "yes, or done"},
                {kExitNo, "no, with the points that show it"},
                {kExitWeak, "neither proved nor refuted"},
                {kExitBad, "bad usage or input"}},
               operations);
  v->add_option("operation", o.operation, "What to ask or to make")->required();
  v->add_option("maps", o.maps,
                "One or two maps as text: a CuTe layout, an affine_map, an index ..");
  v->add_option("--from", o.from,
                "Language of the texts, or of each (docs/notations.md), or view: 4,8 permute 1,0")
      ->allow_extra_args(false);
  v->add_option("--var", o.variables, "A variable and its inclusive bounds, a=0..10");
  v->add_option("--assume", o.assumptions, "A condition that holds in the domain");
  v->add_option("--symbol", o.symbols,
                "A variable that is one unknown number: the answer is about all its values")
      ->allow_extra_args(false);
  v->add_option("--to", o.to,
                "Notation of a resulting map: cute, triton, view, strides, mlir, c ..");
  v->add_option("--onto", o.onto, "The results meant, 0..31, by commas if there are several");
  v->add_option("--tile", o.tile, "Values of each input in a tile, 4,8");
  v->add_option("--size", o.size, "The size up to which a complement goes");
  v->add_option("--where", o.where, "The condition of restrict, 'i < 8'");
  v->add_flag("--steps", o.steps, "Of equal maps: why, step by step");
  v->add_flag("--json", o.json, "Print one JSON object");
  v->add_option("--html", o.html,
                "Draw the maps side by side as a page into this file, - for standard output");
  v->add_option("--by", o.by, "What colours mean: address, bank or lane [address]")
      ->check(CLI::IsMember({"address", "bank", "lane"}));
  v->add_option("--banks", o.banks, "Banks of 4 bytes [32]")->check(CLI::Range(1, 1024));
  v->add_option("--bytes", o.bytes, "Bytes of an element [4]")->check(CLI::Range(1, 64));
  return {v,
          [] {
            for (std::vector<std::string>* list : {&o.maps, &o.assumptions})
              for (std::string& a : *list) bare(a);
            for (std::string* one : {&o.where, &o.onto}) bare(*one);
            return run_map(o);
          },
          add_work_limits(v)};
}

Verb verify_verb(CLI::App& app) {
  static VerifyOptions o;
  CLI::App* v = add_verb(
      app, "verify", "Check certificates of simplified expressions, without the simplifier",
      "simplify --certify '(a*4 + b)//4' --var a=0..10 b=0..3 | touchstone verify",
      {{kExitOk, "all are correct"},
       {kExitNo, "one is wrong, or an answer has none"},
       {kExitBad, "bad usage or input, or a question had no answer"},
       {kExitNothing, "no certificates"}},
      "A correct certificate proves: at every point within the bounds where the assumptions hold "
      "and the first expression does not divide by 0, the second does not divide by 0 either, and "
      "both are equal. Where the first divides by 0, nothing is claimed.");
  v->add_option(
      "file", o.file,
      "Certificates, one per line, or answers of simplify --jsonl --certify [standard input]");
  return {v, [] { return run_verify(o); }, add_work_limits(v)};
}

Verb repl_verb(CLI::App& app) {
  CLI::App* v = add_verb(app, "repl", "Simplify expressions interactively, with history", "repl",
                         {{kExitOk, "done"}});
  return {v, [] { return run_repl(); }, add_work_limits(v)};
}

Verb prove_verb(CLI::App& app) {
  static ProveOptions o;
  CLI::App* v = add_verb(
      app, "prove", "Prove rules for all integers, or refute them",
      "prove div.split\n         touchstone prove '(c*x + y)//c -> x ; 0 <= y and y < c'",
      {{kExitOk, "proved"},
       {kExitNo, "refuted, or a condition is needless"},
       {kExitWeak, "unknown"}},
      "A rule claims: where its condition holds and LHS does not divide by 0, RHS does not divide "
      "by 0 either, and both are equal. Variables are any integers that satisfy the condition.");
  v->add_option("rule", o.what,
                "Names of rules, or rules of your own: 'LHS -> RHS' or 'LHS -> RHS ; CONDITION' [a "
                "table of all rules]; put -- before one that begins with a minus");
  v->add_flag("--all", o.all, "Every rule of the simplifier and of its bounds");
  v->add_option("--witness", o.witness,
                "Decomposition of a number, for a rule of your own: 'x = c*q + r' or 'x = c*(d*q + "
                "s) + r', with new names q, r, s [found automatically]");
  v->add_flag("--necessity", o.necessity, "Refute the rule without each of its conditions");
  v->add_flag("--mutants", o.mutants, "Decide the rule with a changed sign, operator or number");
  v->add_flag("--smt2", o.smt2, "Print the questions to the solver, in SMT-LIB");
  v->add_flag("--json", o.json, "Print one JSON object per rule");
  v->add_flag("--docs", o.docs, "Print the page of all rules, docs/rules.md");
  return {v,
          [] {
            for (std::string& w : o.what) bare(w);
            return run_prove(o);
          },
          add_work_limits(v)};
}

Verb view_verb(CLI::App& app) {
  static ViewOptions o;
  CLI::App* v = add_verb(
      app, "view", "Follow a shape through movement operations",
      "view 10,10 permute 1,0 reshape 5,2,5,2 reshape 100",
      {{kExitOk, "done"}, {kExitBad, "bad usage or input, or an invalid line with --jsonl"}});
  v->add_option("words", o.words,
                "A shape, then operations: permute 1,0  reshape 100  expand 4,3  pad 1:1,0:2  "
                "shrink 0:2,1:3  stride -1,2  flip 0  as_strided 2,3:1,2:0");
  v->add_option("--var", o.variables,
                "Range of a variable in sizes, n=2..9; write sizes with it, as n,2*n")
      ->allow_extra_args(false);
  v->add_option("--strides", o.strides, "Strides of the initial view, as 4,1 [row-major]");
  v->add_option("--offset", o.offset, "Offset of the initial view [0]");
  v->add_option("--mask", o.mask,
                "Mask of the initial view, the valid range of each axis, as 0:2,1:3 [all]");
  v->add_flag("--jsonl", o.jsonl,
              "Read questions from standard input, one JSON object per line, and write one answer "
              "per line: {\"views\":[[shape,strides,offset,mask],..]} or "
              "{\"base\":[3,2],\"ops\":[[\"permute\",[1,0]],..]}");
  v->add_option("--html", o.html,
                "Draw the steps as a self-contained page into this file [standard output]")
      ->expected(0, 1)
      ->type_name("FILE");
  v->add_option("--draw", o.draw,
                "Draw each step as text, with its grids and the memory: auto (on a terminal), "
                "always or never; ASCII if the locale is not UTF-8 or TERM is dumb")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  v->allow_extras(false);
  return {v, [] { return run_view(o); }, add_work_limits(v)};
}

}  // namespace

std::vector<Verb> index_verbs(CLI::App& app) {
  return {simplify_verb(app), check_index_verb(app), map_verb(app), verify_verb(app),
          repl_verb(app),     prove_verb(app),       view_verb(app)};
}

}  // namespace touchstone::cli

#include "convert.h"
#include "touchstone/decide/decide.h"
#include "touchstone/symbolic/certificate/certificate_json.h"
#include "touchstone/symbolic/certificate/certify.h"
#include "touchstone/symbolic/certificate/step_words.h"
#include "touchstone/symbolic/derive/derive.h"

// Derivations as objects, and proofs.

namespace touchstone::python {

using namespace symbolic;

namespace {

/// A rewrite step as text.
struct Step {
  StepWords words;
};

/// A derivation as text.
struct Steps {
  std::string start, result, verdict, latex;
  std::vector<std::string> given;
  std::vector<Step> steps;
  bool checked = false;
};

Steps steps_of(const Question& question) {
  Derivation d = derive(question);
  const std::optional<Flaw> flaw = find_flaw(d);
  Steps out;
  out.start = render(d.exprs, d.main.start);
  out.result = render(d.exprs, d.main.result);
  out.verdict = derivation_verdict(d, flaw);
  out.latex = derivation_latex(d);
  out.given = bounds_words(d);
  out.checked = !flaw && unexplained(d.main) == 0;
  for (const Chain& a : d.assumptions) {
    out.given.push_back(render(d.exprs, a.start));
    for (StepWords& s : words_of(d, a)) out.steps.push_back({std::move(s)});
  }
  for (StepWords& s : words_of(d, d.main)) out.steps.push_back({std::move(s)});
  return out;
}

py::tuple marked(const MarkedText& m) {
  const auto [before, part, after] = m.cut();
  return py::make_tuple(before, part, after);
}

py::object counterexample_of(const prove::Proof& proof) {
  if (!proof.counterexample) return py::none();
  py::dict point;
  for (const auto& [name, value] : proof.counterexample->point)
    point[py::str(name)] = python_int(value);
  return point;
}

std::string latex_of(const std::string& text) {
  Derivation d;
  d.main.start = d.main.result = parse_expr(d.exprs, text);
  return derivation_latex(d);
}

}  // namespace

void bind_derivations(py::module_& m) {
  py::class_<Step>(m, "Step", "One rewriting step of a part of an expression.")
      .def_property_readonly(
          "rule", [](const Step& s) { return s.words.rule; },
          "The law's name; empty for arithmetic.")
      .def_property_readonly(
          "title", [](const Step& s) { return s.words.title; }, "The law in words.")
      .def_property_readonly("before", [](const Step& s) { return s.words.before.text; })
      .def_property_readonly("after", [](const Step& s) { return s.words.after.text; })
      .def_property_readonly(
          "before_parts", [](const Step& s) { return marked(s.words.before); },
          "(text before the part, the part, text behind it)")
      .def_property_readonly("after_parts", [](const Step& s) { return marked(s.words.after); })
      .def_property_readonly(
          "law",
          [](const Step& s) { return py::make_tuple(s.words.from, s.words.to, s.words.when); },
          "(left side, right side, condition) as it was used.")
      .def_property_readonly(
          "bindings",
          [](const Step& s) {
            return std::map<std::string, std::string>(s.words.bindings.begin(),
                                                      s.words.bindings.end());
          },
          "The values of the law's variables.")
      .def_property_readonly(
          "facts", [](const Step& s) { return s.words.facts; },
          "The facts that imply the condition.")
      .def_property_readonly("explained", [](const Step& s) { return s.words.explained; })
      .def("__repr__", [](const Step& s) {
        return "<Step " + s.words.before.text + " = " + s.words.after.text +
               (s.words.rule.empty() ? std::string() : " by " + s.words.rule) + ">";
      });
  py::class_<Steps>(m, "Derivation", "How an expression was simplified.")
      .def_readonly("start", &Steps::start)
      .def_readonly("result", &Steps::result)
      .def_readonly("given", &Steps::given, "Bounds and assumptions, as text.")
      .def_readonly("steps", &Steps::steps)
      .def_readonly("checked", &Steps::checked, "Whether the checker accepts every step.")
      .def_readonly("verdict", &Steps::verdict, "The checker's verdict, in words.")
      .def("_repr_latex_", [](const Steps& s) { return s.latex; })
      .def("__len__", [](const Steps& s) { return s.steps.size(); })
      .def(
          "__getitem__",
          [](const Steps& s, std::ptrdiff_t i) {
            if (i < 0) i += static_cast<std::ptrdiff_t>(s.steps.size());
            if (i < 0 || i >= static_cast<std::ptrdiff_t>(s.steps.size()))
              throw py::index_error("no such step");
            return s.steps[static_cast<std::size_t>(i)];
          },
          py::arg("index"))
      .def("__repr__", [](const Steps& s) {
        return "<Derivation " + s.start + " = " + s.result + ", " + std::to_string(s.steps.size()) +
               " steps>";
      });
  m.def(
      "steps",
      [](const std::string& text, const std::map<std::string, Range>& variables,
         const std::vector<std::string>& assume) {
        const Question question = question_of(text, variables, assume);
        const Released released;
        const Interruptible interruptible;
        return steps_of(question);
      },
      py::arg("text"), py::arg("variables") = std::map<std::string, Range>(),
      py::arg("assume") = std::vector<std::string>(),
      "Simplifies a text and records every step.\n\nvariables: {name: (low, high)}, inclusive, "
      "None is open. At most 5,000 parts.");
  m.def(
      "certify",
      [](const std::string& text, const std::map<std::string, Range>& variables,
         const std::vector<std::string>& assume) {
        const Question question = question_of(text, variables, assume);
        const Released released;
        const Interruptible interruptible;
        const Certified c = certify(question);
        if (!c.missing.empty()) throw ParseError("no certificate: " + c.missing);
        return certificate_line(c.derivation);
      },
      py::arg("text"), py::arg("variables") = std::map<std::string, Range>(),
      py::arg("assume") = std::vector<std::string>(),
      "Simplifies a text; returns the steps as a certificate, one line of JSON that `verify` "
      "checks.\n\nvariables: {name: (low, high)}, inclusive, None is open. Raises ValueError if no "
      "law explains a step.");
  m.def(
      "verify",
      [](const std::string& certificate) {
        const CertificateCheck check = check_certificate(certificate);
        return std::pair(check.outcome == CertificateCheck::Outcome::Right,
                         check.why.empty() ? check.claim : check.why);
      },
      py::call_guard<Released, Interruptible>(), py::arg("certificate"),
      "Replays a certificate without the simplifier: (True, the claim) if every step is right, "
      "else (False, the reason).\n\ncertificate: a line of `certify` or of `touchstone simplify "
      "--jsonl --certify`. Raises ValueError if it cannot be read.");
  m.def("_latex", &latex_of);

  py::class_<prove::Proof>(m, "Proof", "The verdict on a rule: proved, refuted or unknown.")
      .def_property_readonly(
          "verdict", [](const prove::Proof& p) { return std::string(prove::name_of(p.verdict)); },
          "'proved', 'refuted' or 'unknown'")
      .def_property_readonly(
          "method", [](const prove::Proof& p) { return std::string(prove::name_of(p.method)); })
      .def_readonly("steps", &prove::Proof::steps, "The reason in words, if any.")
      .def_readonly("reason", &prove::Proof::reason, "Why it is undecided.")
      .def_readonly("certificate", &prove::Proof::certificate,
                    "Lines for `verify`, of a proof by `decide`; empty if it has none.")
      .def_readonly("confirmed", &prove::Proof::confirmed,
                    "What else speaks for a proof by `decide` without a certificate.")
      .def_property_readonly("counterexample", &counterexample_of,
                             "{variable: value} of a counterexample, or None.")
      .def("__bool__", [](const prove::Proof& p) { return p.verdict == prove::Verdict::Proved; })
      .def("__repr__", [](const prove::Proof& p) {
        std::string text = "<Proof " + std::string(prove::name_of(p.verdict));
        if (p.counterexample) text += ": " + prove::text_of(*p.counterexample);
        return text + ">";
      });
  m.def(
      "decide",
      [](const std::string& text, const std::map<std::string, Range>& variables,
         const std::vector<std::string>& assume, unsigned effort) {
        const Question question = question_of(text, variables, assume);
        const Released released;
        const Interruptible interruptible;
        return decide::Decider::of_thread(question, effort);
      },
      py::arg("text"), py::arg("variables") = std::map<std::string, Range>(),
      py::arg("assume") = std::vector<std::string>(), py::arg("effort") = 2'000'000,
      "Decides whether a comparison holds wherever the assumptions do and it has a value: by the "
      "laws of the simplifier, residues, cases, and Z3.\n\nvariables: {name: (low, high)}, "
      "inclusive, None is open. effort: steps of Z3; 0 does not ask it.");
  m.def(
      "prove",
      [](const std::string& rule, const std::string& witness) {
        const prove::Claim claim = prove::read_claim(rule, witness);
        const Released released;
        const Interruptible interruptible;
        prove::Prover prover;
        return prover.prove(claim);
      },
      py::arg("rule"), py::arg("witness") = "",
      "Decides 'LHS -> RHS ; CONDITION' for all integers. Takes up to minutes.\n\nwitness: a "
      "decomposition of a number, as 'x = c*q + r'; found automatically if omitted.");
}

}  // namespace touchstone::python

#include "kernel.h"

#include "arrays.h"
#include "touchstone/emit/emit.h"
#include "touchstone/fuzz/judge/probe.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/interp/oracle/blame.h"
#include "touchstone/interp/oracle/declared_profile.h"
#include "touchstone/interp/oracle/explain.h"
#include "touchstone/interp/oracle/find_order.h"
#include "touchstone/judging/judging.h"
#include "touchstone/ops/flop_counter.h"

namespace touchstone::python {
namespace {

Device& host() {
  static Device* const only = make_interpreted_device().release();  // for the process lifetime
  return *only;
}

std::vector<std::int64_t> sizes_of(const LazyOpPtr& kernel) { return concrete(kernel->shape()); }

std::vector<std::int64_t> without_ones(std::vector<std::int64_t> shape) {
  std::erase(shape, 1);
  return shape;
}

std::string text_of(const std::vector<std::int64_t>& shape) {
  std::vector<sint> sizes(shape.begin(), shape.end());
  return str(std::span<const sint>(sizes));
}

/// The arrays of a kernel and buffers over them; [0] is the output, or null.
struct Arrays {
  std::vector<std::unique_ptr<Borrowed>> arrays;
  std::vector<std::unique_ptr<Buffer>> buffers;

  std::vector<Buffer*> raw() const {
    std::vector<Buffer*> pointers;
    for (const auto& b : buffers) pointers.push_back(b.get());
    return pointers;
  }
};

void require_concrete(const KernelFile& kernel) {
  const auto variables = variables_of(kernel.ast);
  if (!variables.empty())
    throw AstError(fmt::format("the kernel has a variable, '{}'; give it a value with bind()",
                               variable_name(variables[0])));
}

Arrays arrays_of(const KernelFile& kernel, const std::vector<py::object>& inputs) {
  require_concrete(kernel);
  const int last = kernel.buffers.back().idx;
  if (inputs.size() != static_cast<std::size_t>(last))
    throw BufferError(fmt::format("{} inputs given, but the kernel has {}", inputs.size(), last));
  Arrays out;
  out.arrays.resize(inputs.size() + 1);
  out.buffers.resize(inputs.size() + 1);
  for (const BufferSpec& spec : kernel.buffers) {
    if (spec.idx == 0) continue;
    const auto i = static_cast<std::size_t>(spec.idx);
    out.arrays[i] =
        std::make_unique<Borrowed>(inputs[i - 1], fmt::format("input {}", i), spec.dtype);
    if (out.arrays[i]->size() < spec.size)
      throw BufferError(fmt::format("input {} has {} elements, but the kernel reads {}", i,
                                    out.arrays[i]->size(), spec.size));
    out.buffers[i] = out.arrays[i]->buffer(host());
  }
  return out;
}

void add_output(const KernelToJudge& kernel, Arrays& to, py::handle output) {
  to.arrays[0] = std::make_unique<Borrowed>(output, "the output", kernel.ast->dtype());
  if (without_ones(to.arrays[0]->shape()) != without_ones(sizes_of(kernel.ast)))
    throw BufferError(fmt::format("the output has shape {}, expected {}",
                                  text_of(to.arrays[0]->shape()),
                                  text_of(output_shape(kernel.judging, kernel.ast))));
  to.buffers[0] = to.arrays[0]->buffer(host());
}

std::vector<py::object> objects_of(const py::args& args) {
  std::vector<py::object> out;
  for (const py::handle a : args) out.push_back(py::reinterpret_borrow<py::object>(a));
  return out;
}

Elements evaluated(const KernelToJudge& kernel, const py::args& inputs) {
  Arrays arrays = arrays_of(kernel, objects_of(inputs));
  Elements out(kernel.ast->dtype(), output_shape(kernel.judging, kernel.ast));
  {
    const Working working;
    static const std::shared_ptr<const void> elsewhere(&kernel, [](const void*) {});
    arrays.buffers[0] =
        std::make_unique<Buffer>(host(), out.dtype, out.size(), out.data(), elsewhere);
    run_kernel(host(), kernel.ast, arrays.raw());
    host().forget_runners();
  }
  return out;
}

/// The kernel's context, under `profile` unless that is empty.
Judging judging_of(const KernelToJudge& kernel, const std::string& profile) {
  if (profile.empty()) return kernel.judging;
  return kernel.judging.under(ChosenProfile{declared_profile(profile), "named by the caller"});
}

JudgedVerdict checked(const KernelToJudge& kernel, const std::vector<py::object>& inputs,
                      const py::object& output, const std::string& profile, bool all_elements) {
  Judging judging = judging_of(kernel, profile);
  if (all_elements) judging.sampling = Sampling::all();
  Arrays arrays = arrays_of(kernel, inputs);
  add_output(kernel, arrays, output);
  const Working working;
  return {judge(kernel.ast, arrays.raw(), *arrays.buffers[0], judging), judging};
}

std::string order_of(const KernelToJudge& kernel, const std::vector<py::object>& inputs,
                     const py::object& output, const std::string& profile) {
  const Judging judging = judging_of(kernel, profile);
  Arrays arrays = arrays_of(kernel, inputs);
  add_output(kernel, arrays, output);
  const Working working;
  const auto found =
      find_order(in_stages(kernel.ast, judging), arrays.raw(), *arrays.buffers[0], judging.profile);
  return found ? found->str() : std::string();
}

std::vector<ExplainedNode> explained(const KernelToJudge& kernel,
                                     const std::vector<py::object>& inputs,
                                     const std::vector<std::int64_t>& at,
                                     const std::string& profile) {
  const Judging judging = judging_of(kernel, profile);
  const Arrays arrays = arrays_of(kernel, inputs);
  const Working working;
  return explain(kernel.ast, arrays.raw(), at, judging);
}

BufferPtr answered(const py::function& run, const LazyOpPtr& prefix,
                   const std::vector<py::object>& inputs, std::vector<py::object>& kept) {
  const auto [asked, numbers] = renumbered(prefix);
  auto made = std::make_shared<Buffer>(host(), prefix->dtype(), elements(prefix->shape()).as_int());
  std::exception_ptr thrown;
  {
    const Paused paused;
    try {
      py::list given;
      for (const int number : numbers)
        given.append(inputs.at(static_cast<std::size_t>(number) - 1));
      const KernelToJudge file{kernel_file(asked), {}};
      const py::object output = run(py::cast(file), *given);
      const Borrowed held(output, "the result of run()", prefix->dtype());
      if (held.size() != made->size())
        throw BufferError(fmt::format("run() returned {} elements, but the kernel stores {}",
                                      held.size(), made->size()));
      made->copy_in({held.data(), held.bytes()});
      kept.push_back(output);
    } catch (...) {
      thrown = std::current_exception();
    }
  }
  if (thrown) std::rethrow_exception(thrown);
  return made;
}

/// A node and the profile that it was judged under.
struct JudgedBlame : Blame {
  ChosenProfile by;
};

JudgedBlame blamed(const KernelToJudge& kernel, const std::vector<py::object>& inputs,
                   const py::function& run, const std::string& profile) {
  const Judging judging = judging_of(kernel, profile);
  const Arrays arrays = arrays_of(kernel, inputs);
  std::vector<py::object> kept;
  const Working working;
  return {blame_by_prefixes(
              kernel.ast, arrays.raw(),
              [&](const LazyOpPtr& prefix) { return answered(run, prefix, inputs, kept); },
              judging.profile),
          judging};
}

std::string node_text(const LazyOpPtr& node) {
  return fmt::format("{} {} {}", name(node->op()), name(node->dtype()),
                     str(std::span<const sint>(node->shape())));
}

py::list probes_of(const KernelToJudge& kernel, std::uint64_t seed) {
  require_concrete(kernel);
  std::vector<fuzz::Probe> drawn;
  {
    const Working working;
    drawn = fuzz::draw_probes(kernel.ast, seed);
  }
  py::list out;
  for (const fuzz::Probe& p : drawn) {
    py::list inputs;
    for (const HostArray& a : p.inputs) {
      // Probes hold the elements that the kernel reads; a formula's input may have more.
      std::int64_t size = 1;
      if (inputs.size() < kernel.judging.inputs.size())
        for (const std::int64_t n : kernel.judging.inputs[inputs.size()].shape) size *= n;
      Elements e(a.dtype, size > a.size() ? std::vector<std::int64_t>{size} : a.shape);
      std::memcpy(e.data(), a.bytes.data(), a.bytes.size());
      inputs.append(py::cast(std::move(e)));
    }
    out.append(py::make_tuple(std::string(name(p.family)), inputs));
  }
  return out;
}

KernelToJudge bound(const KernelToJudge& kernel, const symbolic::Values& values) {
  const auto variables = variables_of(kernel.ast);
  for (const auto& [name, value] : values)
    if (std::ranges::none_of(variables, [&](const auto& v) { return variable_name(v) == name; }))
      throw AstError(fmt::format("the kernel has no variable '{}'", name));
  return {kernel_file(bind_variables(kernel.ast, values)), kernel.judging};
}

void bind_verdict(py::module_& m) {
  py::class_<JudgedVerdict> verdict(m, "Verdict",
                                    "Whether a conforming device could give an output.");
  verdict
      .def_property_readonly("status", &Verdict::word,
                             "'PASS', 'FAIL', 'WEAK', 'SUSPECT' or 'UNUSABLE'.")
      .def_property_readonly(
          "ok", [](const JudgedVerdict& v) { return v.outcome == Outcome::Pass && !v.suspect(); },
          "PASS.")
      .def_property_readonly(
          "legal",
          [](const JudgedVerdict& v) {
            return v.outcome == Outcome::Pass || v.outcome == Outcome::Weak;
          },
          "No element is illegal.")
      .def_readonly("checked", &Verdict::checked, "Number of elements checked.")
      .def_property_readonly(
          "sampled",
          [](const JudgedVerdict& v) -> py::object {
            return v.sampled ? py::object(py::str(v.sampled->str())) : py::none();
          },
          "Which part was judged and what it may miss, in words; None if all elements were judged.")
      .def_readonly("wrong", &Verdict::wrong, "Number of illegal elements.")
      .def_readonly("weak", &Verdict::weak, "Number of elements with too many legal values.")
      .def_readonly("determined", &Verdict::determined, "Number of elements with one legal answer.")
      .def_property_readonly(
          "power", [](const JudgedVerdict& v) { return v.relative.most; },
          "The largest relative error that would go unnoticed in a tenth of the elements; 0: every "
          "bit had "
          "to match.")
      .def_readonly("power_ulp", &Verdict::power_ulp, "The widest legal interval, in ULP.")
      .def_property_readonly("unseen", &Verdict::unseen,
                             "What it could not have detected, in words.")
      .def_property_readonly(
          "index",
          [](const JudgedVerdict& v) -> py::object {
            if (v.outcome != Outcome::Fail || v.index < 0) return py::none();
            return py::tuple(py::cast(v.at));
          },
          "Index of the first illegal element; None if there is none.")
      .def_property_readonly(
          "candidate",
          [](const JudgedVerdict& v) -> py::object {
            return v.outcome == Outcome::Fail && v.index >= 0 ? python_scalar(v.candidate)
                                                              : py::none();
          },
          "The value there.")
      .def_property_readonly(
          "interval",
          [](const JudgedVerdict& v) -> py::object {
            if (v.outcome != Outcome::Fail || v.index < 0 || !v.number) return py::none();
            return py::make_tuple(python_scalar(v.low), python_scalar(v.high));
          },
          "(least, largest) legal number there; None if no number is legal.")
      .def_property_readonly("nan_is_legal", [](const JudgedVerdict& v) { return v.nan; })
      .def_property_readonly(
          "op", [](const JudgedVerdict& v) { return name(v.op); }, "The operation that is stored.")
      .def_property_readonly("dtype", [](const JudgedVerdict& v) { return name(v.dtype); })
      .def_property_readonly(
          "suspicion",
          [](const JudgedVerdict& v) -> py::object {
            if (!v.suspect()) return py::none();
            return py::str(v.evidence->suspicion->str());
          },
          "The fault that explains the errors better than rounding does, or None.")
      .def_readonly("advice", &Verdict::advice, "How to make a weak verdict sharper.")
      .def_property_readonly(
          "profile", [](const JudgedVerdict& v) { return v.by.profile.name; },
          "The name of the profile that it was judged under.")
      .def_property_readonly(
          "profile_from", [](const JudgedVerdict& v) { return v.by.from; },
          "Who chose that profile.")
      .def_readonly("why", &Verdict::why, "Why it is unusable.")
      .def_property_readonly(
          "explanation", [](const JudgedVerdict& v) { return v.by.str(v); },
          "One line, as printed by the command.")
      .def("__bool__",
           [](const JudgedVerdict& v) { return v.outcome == Outcome::Pass && !v.suspect(); })
      .def("__str__", [](const JudgedVerdict& v) { return v.by.str(v); })
      .def("__repr__", [](const JudgedVerdict& v) { return "<Verdict " + v.by.str(v) + ">"; });
  m.def(
      "combine",
      [](const std::vector<JudgedVerdict>& verdicts) {
        const std::vector<Verdict> all(verdicts.begin(), verdicts.end());
        return JudgedVerdict{combine(all), all.empty() ? ChosenProfile() : verdicts[0].by};
      },
      py::arg("verdicts"), "The joint verdict on several inputs of one kernel.");
}

}  // namespace

void bind_kernel(py::module_& m) {
  bind_arrays(m);
  bind_verdict(m);
  py::class_<KernelToJudge>(m, "Kernel",
                            "One kernel: its formula, its buffers, and how its results are judged.")
      .def_static(
          "from_json",
          [](const std::string& text, const std::string& judging) {
            KernelToJudge k{kernel_from_json(text), {}};
            if (!judging.empty()) k.judging = judging_from_json(judging, k, "judging.json");
            return k;
          },
          Free(), py::arg("text"), py::arg("judging") = "",
          "Parses a kernel.json, and the judging.json beside it. Raises ParseError, AstError.")
      .def_static(
          "from_formula", [](const std::string& text) { return formula_to_judge(text); }, Free(),
          py::arg("text"), "Parses a formula, as 'softmax(x[64,128])'.")
      .def(
          "to_json", [](const KernelToJudge& k) { return to_json(k); }, Free(),
          "The kernel.json; equal kernels have equal text.")
      .def(
          "emit",
          [](const KernelToJudge& k, const std::string& language) -> py::object {
            const emit::Language as = emit::parse_language(language);
            std::vector<emit::EmitInput> inputs = emit::flat_inputs(k.ast);
            const std::vector<define::InputShape> shapes = shapes_of(k.judging);
            for (std::size_t i = 0; i < inputs.size() && i < shapes.size(); ++i)
              inputs[i].shape = shapes[i].shape;
            const std::string text = emit::emitted(k.ast, inputs, as, k.judging.definition);
            if (as == emit::Language::Onnx) return py::bytes(text);
            return py::str(text);
          },
          py::arg("language"),
          "The kernel as a program: 'onnx' (bytes), 'stablehlo', 'torch', 'jax' or 'numpy' (text "
          "with a function `kernel`). Raises ParseError for what the language cannot say.")
      .def(
          "bind",
          [](const KernelToJudge& k, const symbolic::Values& values) { return bound(k, values); },
          Free(), py::arg("values"),
          "The kernel with its variables replaced by numbers, {name: value}.")
      .def_property_readonly(
          "shape",
          [](const KernelToJudge& k) -> py::tuple {
            if (has_formula(k.judging)) return py::tuple(py::cast(output_shape(k.judging, k.ast)));
            py::tuple out(k.ast->shape().size());
            for (std::size_t i = 0; i < k.ast->shape().size(); ++i)
              out[i] = python_sint(k.ast->shape()[i]);
            return out;
          },
          "The shape of the output.")
      .def_property_readonly(
          "dtype", [](const KernelToJudge& k) { return name(k.ast->dtype()); },
          "The dtype of the output.")
      .def_property_readonly(
          "buffers",
          [](const KernelToJudge& k) {
            py::list out;
            for (const BufferSpec& b : k.buffers)
              out.append(py::make_tuple(b.idx, std::string(name(b.dtype)), b.size));
            return out;
          },
          "(number, dtype, elements) of each buffer; 0 is the output.")
      .def_property_readonly(
          "profile", [](const KernelToJudge& k) { return k.judging.profile.name; },
          "The name of the profile under which results are judged by default.")
      .def_property_readonly(
          "definition", [](const KernelToJudge& k) { return k.judging.definition; },
          "The formula or the definition that it computes; '' for nodes alone.")
      .def_property_readonly(
          "inputs",
          [](const KernelToJudge& k) {
            py::list names;
            for (const Judging::Input& i : k.judging.inputs) names.append(i.name);
            return names;
          },
          "The names of a formula's inputs, which are buffers 1, 2, ...")
      .def_property_readonly("_shapes",
                             [](const KernelToJudge& k) {
                               py::list shapes;
                               for (const Judging::Input& i : k.judging.inputs)
                                 shapes.append(py::tuple(py::cast(i.shape)));
                               return shapes;
                             })
      .def_property_readonly("name", [](const KernelToJudge& k) { return kernel_name(k.ast); })
      .def_property_readonly(
          "hash",
          [](const KernelToJudge& k) {
            const Released r;
            return kernel_hash(k);
          },
          "Its hash, equal on all machines, 32 hexadecimal digits.")
      .def_property_readonly("variables",
                             [](const KernelToJudge& k) { return variables_of(k.ast); })
      .def_property_readonly(
          "cost",
          [](const KernelToJudge& k) {
            const FlopCounter cost = get_lazyop_info(k.ast);
            py::dict mem;
            for (const auto& [idx, bytes] : cost.mem) mem[py::int_(idx)] = python_sint(bytes);
            return py::make_tuple(python_sint(cost.flops), mem);
          },
          "(operations, {buffer: bytes touched})")
      .def(
          "__eq__",
          [](const KernelToJudge& a, const KernelToJudge& b) {
            return same(a.ast, b.ast) && a.buffers == b.buffers;
          },
          py::is_operator())
      .def("__hash__",
           [](const KernelToJudge& k) { return static_cast<Py_hash_t>(k.ast->hash() >> 1); })
      .def(
          "__str__", [](const KernelToJudge& k) { return str(k.ast); }, Free())
      .def("__repr__",
           [](const KernelToJudge& k) {
             return fmt::format("<Kernel {} {}>", kernel_name(k.ast), name(k.ast->dtype()));
           })
      .def("__reduce__", [](const KernelToJudge& k) {
        return py::make_tuple(py::module_::import("touchstone.kernel").attr("_restored"),
                              py::make_tuple(to_json(k), judging_json(k)));
      });
  m.def("_eval", &evaluated);
  m.def("check", &checked, py::arg("kernel"), py::arg("inputs"), py::arg("output"),
        py::arg("profile") = "", py::arg("all_elements") = false,
        "Judges an output against every legal result.\n\ninputs: arrays, of the dtypes of the "
        "kernel's buffers 1, 2, ...\noutput: of the kernel's dtype and shape, except for axes of "
        "size 1.\nprofile: the allowed arithmetic, a name or the JSON of one; '' is "
        "the kernel's.\nall_elements: judges all elements of a very large kernel, not a "
        "sample.\nRaises BufferError, DTypeError, AstError, ParseError, and "
        "TypeError for a "
        "value "
        "that is not an array.");
  m.def("find_order", &order_of, py::arg("kernel"), py::arg("inputs"), py::arg("output"),
        py::arg("profile") = "",
        "The order in which a sum was taken, in words; '' if the kernel is not a sum.");
  py::class_<ExplainedNode>(m, "ExplainedNode", "One node on the way to an element.")
      .def_readonly("text", &ExplainedNode::text)
      .def_property_readonly(
          "reference", [](const ExplainedNode& n) { return python_scalar(n.reference); },
          "The value with every node below it rounded once, correctly.")
      .def_readonly("exact", &ExplainedNode::exact,
                    "The unrounded value, to 25 digits; '' if there is none.")
      .def_property_readonly(
          "interval",
          [](const ExplainedNode& n) -> py::object {
            if (!n.legal.number) return py::none();
            return py::make_tuple(python_scalar(n.legal.low), python_scalar(n.legal.high));
          },
          "(least, largest) legal number.")
      .def_property_readonly(
          "legal", [](const ExplainedNode& n) { return n.legal.str(); },
          "The legal values, in words.")
      .def_readonly("radius", &ExplainedNode::radius)
      .def_property_readonly(
          "terms",
          [](const ExplainedNode& n) {
            std::vector<std::pair<std::string, double>> terms;
            for (const auto& t : n.terms) terms.emplace_back(t.what, t.amount);
            return terms;
          },
          "(reason, amount) of each part of the radius.")
      .def("__repr__",
           [](const ExplainedNode& n) { return fmt::format("<{}: {}>", n.text, n.legal.str()); });
  m.def("explain", &explained, py::arg("kernel"), py::arg("inputs"), py::arg("at"),
        py::arg("profile") = "",
        "Explains the legal values of one element: its nodes, operands first.\n\nat: an index per "
        "axis.");
  py::class_<JudgedBlame>(m, "Blame", "The node at which a candidate goes wrong.")
      .def_property_readonly(
          "node",
          [](const JudgedBlame& b) -> py::object {
            return b.node == nullptr ? py::object(py::none()) : py::str(node_text(b.node));
          },
          "'MUL float32 (3, 4)'; None if no node does.")
      .def_property_readonly(
          "verdict",
          [](const JudgedBlame& b) {
            return JudgedVerdict{b.verdict, b.by};
          },
          "The verdict on the kernel that ends in it.")
      .def_readonly("runs", &Blame::runs, "Number of kernels that the candidate ran.")
      .def("__repr__", [](const JudgedBlame& b) {
        return "<Blame " + (b.node == nullptr ? std::string("no node") : node_text(b.node)) + ">";
      });
  m.def("blame", &blamed, py::arg("kernel"), py::arg("inputs"), py::arg("run"),
        py::arg("profile") = "",
        "Runs prefixes of a failing kernel on a candidate, to find the wrong node.\n\nrun(kernel, "
        "*inputs) must return the candidate's output. Its exceptions propagate.");
  m.def("_profile", [](const std::string& name) { return Profile::named(name).to_json(); });
  m.def("_probes", &probes_of, py::arg("kernel"), py::arg("seed") = 0);
  bind_builder(m);
}

}  // namespace touchstone::python

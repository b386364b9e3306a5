#include <cstring>

#include "arrays.h"
#include "kernel.h"
#include "touchstone/interp/oracle/declared_profile.h"
#include "touchstone/model/run.h"

namespace touchstone::python {
namespace {

model::Values named_arrays(const py::dict& arrays, const model::ModelProgram& program) {
  model::Values values;
  for (const auto& [key, object] : arrays) {
    const auto name = py::cast<std::string>(key);
    std::optional<DType> wanted;
    for (const model::Argument& a : program.graph.inputs)
      if (a.name == name) wanted = a.dtype;
    const Borrowed array(object, fmt::format("'{}'", name), wanted);
    values[name] = {array.dtype(), array.shape(),
                    std::string(reinterpret_cast<const char*>(array.data()), array.bytes())};
  }
  return values;
}

Elements as_elements(const HostArray& array) {
  Elements out(array.dtype, array.shape);
  std::memcpy(out.data(), array.bytes.data(), array.bytes.size());
  return out;
}

py::dict ran(const model::ModelProgram& program, const py::dict& inputs,
             const std::vector<std::string>& wanted) {
  const model::Values given = named_arrays(inputs, program);
  const std::set<std::string, std::less<>> names(
      wanted.empty() ? program.graph.outputs.begin() : wanted.begin(),
      wanted.empty() ? program.graph.outputs.end() : wanted.end());
  model::Computed made;
  {
    const Working working;
    made = model::run(program, given, Device::get("CPU"), names);
  }
  py::dict out;
  for (const std::string& name : names) {
    const auto it = made.values.find(name);
    if (it == made.values.end()) {
      const auto why = made.missing.find(name);
      throw ParseError(
          fmt::format("'{}' has no value: {}", name,
                      why == made.missing.end() ? "nothing computes it" : why->second));
    }
    out[py::str(name)] = as_elements(it->second);
  }
  return out;
}

py::list judged(const model::ModelProgram& program, const py::dict& inputs, const py::dict& actual,
                const std::string& profile) {
  const model::Values given = named_arrays(inputs, program),
                      candidate = named_arrays(actual, program);
  model::JudgeOptions options;
  if (!profile.empty())
    options.profile = ChosenProfile{declared_profile(profile), "named by the caller"};
  std::vector<model::JudgedValue> found;
  {
    const Working working;
    found = model::judge(program, given, candidate, options);
  }
  py::list out;
  for (const model::JudgedValue& v : found)
    out.append(py::make_tuple(
        v.name, v.operation->kind, v.operation->place,
        v.verdict ? py::cast(JudgedVerdict{*v.verdict, v.profile}) : py::object(py::none()), v.why,
        v.formula));
  return out;
}

}  // namespace

void bind_model(py::module_& m) {
  py::class_<model::ModelProgram>(m, "Model", "A model of ONNX.")
      .def(py::init([](const py::object& source) {
             const bool is_text = py::isinstance<py::str>(source);
             if (!py::isinstance<py::bytes>(source) &&
                 !(is_text && py::cast<std::string>(source).find('\n') != std::string::npos))
               return model::read_model(
                   py::cast<std::string>(py::module_::import("os").attr("fspath")(source)));
             const auto bytes = py::cast<std::string>(source);
             return !is_text && (bytes.starts_with('\x08') || bytes.find('\0') != std::string::npos)
                        ? model::parse_onnx(bytes, "the model", "")
                        : model::parse_stablehlo(bytes, "the module");
           }),
           py::arg("source"),
           "Reads a file, FILE.onnx or FILE.mlir; bytes of a model of ONNX; or the text of a "
           "module of "
           "StableHLO. Raises ParseError, SystemError, TypeError.")
      .def_property_readonly(
          "inputs",
          [](const model::ModelProgram& p) {
            py::list names;
            for (const model::Argument& a : p.graph.inputs) names.append(a.name);
            return names;
          },
          "The names of the inputs that are no constants.")
      .def_property_readonly("outputs",
                             [](const model::ModelProgram& p) { return p.graph.outputs; })
      .def_property_readonly(
          "values", [](const model::ModelProgram& p) { return model::computed_names(p); },
          "The names of all values that operations compute.")
      .def_property_readonly(
          "unsupported",
          [](const model::ModelProgram& p) {
            std::vector<std::string> kinds;
            for (const model::Operation& op : p.graph.operations)
              if (!model::is_supported(op)) kinds.push_back(op.kind);
            return kinds;
          },
          "The operators that have no row.")
      .def("_run", &ran, py::arg("inputs"), py::arg("values") = std::vector<std::string>())
      .def("_judge", &judged, py::arg("inputs"), py::arg("actual"), py::arg("profile") = "")
      .def("__repr__", [](const model::ModelProgram& p) {
        return fmt::format("<Model of {} operations>", p.graph.operations.size());
      });
  m.def(
      "_exposing",
      [](const py::bytes& model, const std::vector<std::string>& values) {
        return py::bytes(model::exposing(py::cast<std::string>(model), values));
      },
      py::arg("model"), py::arg("values"));
}

}  // namespace touchstone::python

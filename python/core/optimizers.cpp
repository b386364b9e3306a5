#include <pybind11/functional.h>

#include "tensors.h"
#include "touchstone/tensor/optim.h"
#include "touchstone/tensor/schedules.h"

// Optimizers and learning rate schedules.

namespace touchstone::python {
namespace {

using optim::Optimizer;
template <class O, class Base = Optimizer>
using OptimizerClass = py::class_<O, Base, Held<O>>;

/// Tensors, or groups of them, (tensors, {"lr_scale": ..., "weight_decay": ...}).
using Options = std::map<std::string, double>;
using Grouped =
    std::variant<std::vector<Tensor>, std::vector<std::pair<std::vector<Tensor>, Options>>>;

optim::Parameters parameters_of(const Grouped& given) {
  if (const auto* tensors = std::get_if<std::vector<Tensor>>(&given)) return *tensors;
  std::vector<optim::Group> groups;
  for (const auto& [tensors, options] : std::get<1>(given)) {
    optim::Group group{.parameters = tensors};
    for (const auto& [name, value] : options)
      if (name == "lr_scale")
        group.lr_scale = value;
      else if (name == "weight_decay")
        group.weight_decay = value;
      else
        throw ParseError(fmt::format(
            "a group of parameters has no '{}'; choose from: lr_scale, weight_decay", name));
    groups.push_back(std::move(group));
  }
  return groups;
}

void bind_optimizer(py::module_& m) {
  py::class_<Optimizer, Held<Optimizer>>(m, "Optimizer",
                                         "Optimizers update parameters from their gradients.")
      .def("zero_grad", &Optimizer::zero_grad, Guard())
      .def("step", &Optimizer::step, py::arg("also") = std::vector<Tensor>(), Guard(),
           "One step; `also` is computed in the same schedule.")
      .def_property_readonly("parameters", [](const Optimizer& o) { return o.parameters(); })
      .def(
          "state",
          [](const Optimizer& o) {
            std::vector<std::pair<std::string, Tensor>> out;
            for (const nn::NamedTensor& n : o.state()) out.emplace_back(n.name, n.tensor);
            return out;
          },
          Guard(), "(name, tensor) of the learning rate and of the state for the next step.")
      .def_property("lr", py::cpp_function(&Optimizer::lr, Guard()),
                    py::cpp_function(&Optimizer::set_lr, Guard()), "The learning rate.");
  m.def("clip_grad_norm", &optim::clip_grad_norm, py::arg("parameters"), py::arg("most"), Guard(),
        "Scales all gradients by one number, so that their norm as one vector is at most `most`; "
        "returns the norm before.");
  m.def("clip_grad_value", &optim::clip_grad_value, py::arg("parameters"), py::arg("most"), Guard(),
        "Clips each element of the gradients to [-most, most].");
}

void bind_sgd(py::module_& m) {
  OptimizerClass<optim::SGD>(m, "SGD",
                             "g = gradient + weight_decay p; m = momentum m + g; "
                             "p = p - lr m.")
      .def(py::init([](const Grouped& p, double lr, double momentum, double decay, bool nesterov) {
             const Working w;
             return Held<optim::SGD>(
                 new optim::SGD(parameters_of(p), lr, momentum, decay,
                                nesterov ? optim::Nesterov::Yes : optim::Nesterov::No));
           }),
           py::arg("parameters"), py::arg("lr"), py::arg("momentum") = 0.0,
           py::arg("weight_decay") = 0.0, py::arg("nesterov") = false);
}

using Betas = std::pair<double, double>;

template <class O>
void bind_decaying(py::module_& m, const char* name, const char* doc, double eps) {
  OptimizerClass<O, optim::Adam>(m, name, doc)
      .def(
          py::init([](const Grouped& p, double lr, double decay, const Betas& betas, double small) {
            const Working w;
            return Held<O>(new O(parameters_of(p), lr, decay, betas.first, betas.second, small));
          }),
          py::arg("parameters"), py::arg("lr") = 1e-3, py::arg("weight_decay") = 0.01,
          py::arg("betas") = Betas(0.9, 0.999), py::arg("eps") = eps);
}

// A schedule from a C++ or Python function.
using Rates = std::function<double(std::int64_t)>;

void bind_schedules(py::module_& m) {
  m.def("step_decay", &optim::step_decay, py::arg("lr"), py::arg("every"), py::arg("factor") = 0.1,
        "lr * factor^(step // every), for optimizer.lr = rate(step).");
  m.def("milestones", &optim::milestones, py::arg("lr"), py::arg("steps"), py::arg("factor") = 0.1,
        "lr * factor^(milestones at or below the step).");
  m.def("exponential", &optim::exponential, py::arg("lr"), py::arg("factor"), "lr * factor^step.");
  m.def("cosine", &optim::cosine, py::arg("lr"), py::arg("steps"), py::arg("lowest") = 0.0,
        "Half a cosine from lr to `lowest`.");
  m.def("polynomial", &optim::polynomial, py::arg("lr"), py::arg("steps"), py::arg("power") = 1.0,
        "lr * (1 - step / steps)^power.");
  m.def(
      "warmup", [](std::int64_t steps, const Rates& then) { return optim::warmup(steps, then); },
      py::arg("steps"), py::arg("then"), "Rises evenly to then(0), and goes on as `then`.");
  m.def("one_cycle", &optim::one_cycle, py::arg("highest"), py::arg("steps"),
        py::arg("rising") = 0.3, "Rises by half a cosine to `highest`, and falls by another.");
  py::class_<optim::Plateau>(m, "Plateau",
                             "lr * factor each time a loss did not fall for `patience` calls.")
      .def(py::init<double, double, std::int64_t, double, double>(), py::arg("lr"),
           py::arg("factor") = 0.1, py::arg("patience") = 10, py::arg("threshold") = 1e-4,
           py::arg("lowest") = 0.0)
      .def("__call__", &optim::Plateau::operator(), py::arg("loss"), "The rate after this loss.");
}

}  // namespace

void bind_optimizers(py::module_& m) {
  bind_optimizer(m);
  bind_sgd(m);
  OptimizerClass<optim::Adam>(m, "Adam", "Kingma and Ba, 2015.")
      .def(py::init([](const Grouped& p, double lr, const Betas& betas, double eps) {
             const Working w;
             return Held<optim::Adam>(
                 new optim::Adam(parameters_of(p), lr, betas.first, betas.second, eps));
           }),
           py::arg("parameters"), py::arg("lr") = 1e-3, py::arg("betas") = Betas(0.9, 0.999),
           py::arg("eps") = 1e-8);
  bind_decaying<optim::AdamW>(m, "AdamW", "Adam, and p = p - lr weight_decay p.", 1e-8);
  bind_decaying<optim::LAMB>(m, "LAMB", "Adam's direction, scaled to the norm of the parameter.",
                             1e-6);
  bind_schedules(m);
}

}  // namespace touchstone::python

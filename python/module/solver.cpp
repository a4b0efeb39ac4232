#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "array_view.hpp"
#include "blob.hpp"
#include "caffe/parallel.hpp"
#include "caffe/sgd_solvers.hpp"
#include "caffe/solver.hpp"
#include "caffe/solver_factory.hpp"
#include "caffe/util/benchmark.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "module.hpp"

namespace pycaffe {

using caffe::NCCL;
using caffe::Solver;
using caffe::SolverParameter;
using std::string;
using SolverPtr = boost::shared_ptr<Solver<float>>;

namespace {

/// The exception that Ctrl-C raised in Python while a solver was running. The solver stops after
/// the iteration.
thread_local std::optional<py::error_already_set> interrupt;

caffe::SolverAction::Enum LookForInterrupt() {
  const py::gil_scoped_acquire lock;
  if (!interrupt && PyErr_CheckSignals() == 0) return caffe::SolverAction::NONE;
  if (!interrupt) interrupt.emplace();
  return caffe::SolverAction::STOP;
}

Owners OfSolver(Solver<float>* solver) {
  Owners owners = Of(*solver->net());
  for (const auto& net : solver->test_nets()) owners.nets.push_back(net.get());
  return owners;
}

template <typename Work>
void Train(Solver<float>* solver, Work work) {
  interrupt.reset();
  {
    const InLibrary scope(OfSolver(solver));
    work();
  }
  if (!interrupt) return;
  const py::error_already_set raised = *interrupt;
  interrupt.reset();
  throw raised;
}

SolverParameter ReadSolver(const Path& file, const py::object& strategy,
                           const py::object& device_memory, const py::object& host_memory) {
  SolverParameter param;
  caffe::ReadSolverParamsFromTextFileOrDie(file.string(), &param);
  const caffe::PlacementParameter asked = Placement(strategy, device_memory, host_memory);
  if (asked.ByteSizeLong() > 0) param.mutable_placement()->MergeFrom(asked);
  const auto options = caffe::ToOptions(param.placement());
  if (!options.ok()) throw py::value_error(options.status().message);
  return param;
}

SolverPtr Ready(Solver<float>* solver) {
  const SolverPtr owner(solver);
  solver->SetActionFunction(LookForInterrupt);
  return owner;
}

SolverPtr GetSolver(const Path& file, const py::object& strategy, const py::object& device_memory,
                    const py::object& host_memory) {
  const SolverParameter param = ReadSolver(file, strategy, device_memory, host_memory);
  const InLibrary scope;
  return Ready(caffe::SolverRegistry<float>::CreateSolver(param));
}

/// Calls the user's on_start and on_gradients_ready.
class SolverCallback : public Solver<float>::Callback {
 public:
  SolverCallback(Solver<float>* solver, py::handle on_start, py::handle on_gradients_ready)
      : solver_(solver), on_start_(on_start), on_gradients_ready_(on_gradients_ready) {}
  virtual ~SolverCallback() = default;

 protected:
  void on_start() override { Call(on_start_); }
  void on_gradients_ready() override { Call(on_gradients_ready_); }

 private:
  void Call(py::handle function) const {
    InPython python(InPython::kCallback, OfSolver(solver_));
    function();
    python.Return();
  }

  Solver<float>* const solver_;
  const py::handle on_start_, on_gradients_ready_;
};

/// Adds a callback. The solver's Python object owns callback and functions.
void AddCallback(Solver<float>* solver, const py::function& on_start,
                 const py::function& on_gradients_ready) {
  auto* const callback = new SolverCallback(solver, on_start, on_gradients_ready);
  const py::capsule owner(callback, [](void* held) { delete static_cast<SolverCallback*>(held); });
  const py::object object = ObjectOf(solver);
  if (!py::hasattr(object, "_callbacks")) object.attr("_callbacks") = py::list();
  object.attr("_callbacks")
      .cast<py::list>()
      .append(py::make_tuple(owner, on_start, on_gradients_ready));
  solver->add_callback(callback);
}

/// The train net's Python object. It lives as long as the solver's, so the attributes that users
/// set stay.
py::object TrainNet(Solver<float>* solver) {
  const py::object object = ObjectOf(solver);
  if (!py::hasattr(object, "_net")) object.attr("_net") = py::cast(solver->net());
  return object.attr("_net");
}

py::object TestNets(Solver<float>* solver) {
  const py::object object = ObjectOf(solver);
  if (!py::hasattr(object, "_test_nets")) {
    py::list nets;
    for (const auto& net : solver->test_nets()) nets.append(py::cast(net));
    object.attr("_test_nets") = nets;
  }
  return object.attr("_test_nets");
}

float LearningRate(Solver<float>* solver) {
  auto* const sgd = dynamic_cast<caffe::SGDSolver<float>*>(solver);
  if (!sgd) throw py::type_error("A solver of type " + string(solver->type()) + " has no rate.");
  return sgd->GetLearningRate();
}

py::tuple Plan(Solver<float>* solver, const py::object& strategy, const py::object& device_memory,
               const py::object& host_memory) {
  caffe::PlacementParameter wanted = solver->param().placement();
  wanted.MergeFrom(Placement(strategy, device_memory, host_memory));
  const auto options = caffe::ToOptions(wanted);
  if (!options.ok()) throw py::value_error(options.status().message);
  const auto graphs = solver->MemoryGraphs(options.value());
  if (!graphs.ok()) throw std::runtime_error(graphs.status().message);
  return PlanOf(graphs.value(), options.value());
}

/// Makes an NCCL. Solver and net call it from its construction on, so the net's Python object,
/// which lives as long as the solver's, owns it.
boost::shared_ptr<NCCL<float>> MakeGroup(const SolverPtr& solver, const string& uid) {
  using Group = boost::shared_ptr<NCCL<float>>;
  Group group;
  {
    const InLibrary scope(OfSolver(solver.get()));  // waits for the others
    group.reset(new NCCL<float>(solver, uid));
  }
  const py::object net = TrainNet(solver.get());
  if (!py::hasattr(net, "_groups")) net.attr("_groups") = py::list();
  net.attr("_groups").cast<py::list>().append(
      py::capsule(new Group(group), [](void* held) { delete static_cast<Group*>(held); }));
  return group;
}

template <typename Type>
void DefineSolver(py::module_* module, const char* name) {
  const py::object none = py::none();
  Class<Type, Solver<float>, boost::shared_ptr<Type>>(*module, name, py::dynamic_attr())
      .def(py::init([](const Path& file, const py::object& strategy,
                       const py::object& device_memory, const py::object& host_memory) {
             const SolverParameter param = ReadSolver(file, strategy, device_memory, host_memory);
             const InLibrary scope;
             boost::shared_ptr<Type> solver(new Type(param));
             solver->SetActionFunction(LookForInterrupt);
             return solver;
           }),
           py::arg("solver_file"), py::arg("strategy") = none, py::arg("device_memory") = none,
           py::arg("host_memory") = none);
}

}  // namespace

void DefineSolvers(py::module_* module) {
  const py::object none = py::none();
  Class<SolverParameter>(*module, "SolverParameter")
      .def_property("max_iter", &SolverParameter::max_iter, &SolverParameter::set_max_iter)
      .def_property_readonly("display", &SolverParameter::display)
      .def_property_readonly("base_lr", &SolverParameter::base_lr)
      .def_property_readonly("test_interval", &SolverParameter::test_interval)
      .def_property_readonly("test_iter",
                             [](const SolverParameter& param) {
                               return std::vector<int>(param.test_iter().begin(),
                                                       param.test_iter().end());
                             })
      .def_property_readonly("snapshot_prefix",
                             [](const SolverParameter& param) { return param.snapshot_prefix(); })
      .def_property("layer_wise_reduce", &SolverParameter::layer_wise_reduce,
                    &SolverParameter::set_layer_wise_reduce)
      .def("__repr__", [](const SolverParameter& param) { return param.DebugString(); });

  Class<Solver<float>, SolverPtr>(*module, "Solver", py::dynamic_attr(),
                                  "Trains a net; Ctrl-C ends after the iteration.")
      .def_property_readonly("net", &TrainNet)
      .def_property_readonly("test_nets", &TestNets)
      .def_property_readonly("iter", &Solver<float>::iter)
      .def_property_readonly("type", [](const Solver<float>& solver) { return solver.type(); })
      .def_property_readonly("lr", &LearningRate, "The learning rate of the present iteration.")
      .def_property_readonly(
          "param", [](const Solver<float>& solver) { return solver.param(); },
          "A copy of the solver's parameters.")
      .def_property_readonly("planned_device_bytes", &Solver<float>::planned_device_bytes,
                             "Device bytes of all plans; 0 before the first step.")
      .def("add_callback", &AddCallback, py::arg("on_start"), py::arg("on_gradients_ready"))
      // An NCCL sums gradients without being called back; Caffe's programs hand it over.
      .def("add_callback", [](const Solver<float>&, const NCCL<float>&) {})
      .def(
          "solve",
          [](Solver<float>* solver, const std::optional<Path>& state) {
            Train(solver, [&] { solver->Solve(state ? state->c_str() : nullptr); });
          },
          py::arg("resume_file") = none, "Trains to max_iter, from a .solverstate if given.")
      .def(
          "step",
          [](Solver<float>* solver, int iterations) {
            Train(solver, [&] { solver->Step(iterations); });
          },
          py::arg("iterations"))
      .def(
          "restore",
          [](Solver<float>* solver, const Path& file) {
            const InLibrary scope(OfSolver(solver));
            solver->Restore(file.c_str());
          },
          py::arg("file"))
      .def("snapshot",
           [](Solver<float>* solver) {
             const InLibrary scope(OfSolver(solver));
             solver->Snapshot();
           })
      .def("apply_update",
           [](Solver<float>* solver) {
             const InLibrary scope(OfSolver(solver));
             solver->ApplyUpdate();
           })
      .def(
          "share_weights",
          [](Solver<float>* solver, caffe::Net<float>* net) {
            const InLibrary scope({{net, solver->net().get()}, {}});
            net->ShareTrainedLayersWith(solver->net().get());
          },
          py::arg("net"), py::keep_alive<2, 1>(), "Lets another net use the parameters.")
      .def("_plan", &Plan);
  DefineSolver<caffe::SGDSolver<float>>(module, "SGDSolver");
  DefineSolver<caffe::NesterovSolver<float>>(module, "NesterovSolver");
  DefineSolver<caffe::AdaGradSolver<float>>(module, "AdaGradSolver");
  DefineSolver<caffe::RMSPropSolver<float>>(module, "RMSPropSolver");
  DefineSolver<caffe::AdaDeltaSolver<float>>(module, "AdaDeltaSolver");
  DefineSolver<caffe::AdamSolver<float>>(module, "AdamSolver");
  module->def("get_solver", &GetSolver, py::arg("solver_file"), py::arg("strategy") = none,
              py::arg("device_memory") = none, py::arg("host_memory") = none,
              "The solver of the type that the file names. strategy, device_memory and host_memory "
              "are those of placement { } and win over the file's.");

  Class<NCCL<float>, boost::shared_ptr<NCCL<float>>>(
      *module, "NCCL", "A group of solvers, each in a thread of its own, that sum their gradients.")
      .def(py::init(&MakeGroup), py::arg("solver"), py::arg("uid"))
      .def_static("new_uid", [] { return py::bytes(NCCL<float>::new_uid()); })
      .def("bcast", [](NCCL<float>* nccl) {
        const InLibrary scope(OfSolver(nccl->solver()));
        nccl->Broadcast();
      });

  Class<caffe::Timer>(*module, "Timer", "A stopwatch.")
      .def(py::init<>())
      .def("start", &caffe::Timer::Start)
      .def("stop", &caffe::Timer::Stop)
      .def_property_readonly("ms", &caffe::Timer::MilliSeconds);
}

}  // namespace pycaffe

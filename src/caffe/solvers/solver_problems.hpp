#ifndef CAFFE_SOLVERS_SOLVER_PROBLEMS_HPP_
#define CAFFE_SOLVERS_SOLVER_PROBLEMS_HPP_

#include <string>
#include <vector>

#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// A field of a solver that is missing or holds what makes no sense.
struct SolverProblem {
  std::string field;  ///< its name
  std::string text;   ///< a sentence
};
using SolverProblems = std::vector<SolverProblem>;

/// The one net to train: none or several are named, or its file is not there.
SolverProblems TrainNetProblems(const SolverParameter& param);
/// The test nets: numbers of them that disagree, or files that are not there.
SolverProblems TestNetProblems(const SolverParameter& param);
/// What every solver has: numbers of iterations, scores, and the like.
SolverProblems FieldProblems(const SolverParameter& param);
/// What solvers of that type refuse; none where the type is not Layrub's own.
SolverProblems TypeProblems(const std::string& type, const SolverParameter& param);
/// lr_policy and its fields, and the first iterations' ramp. They matter when a solver steps.
SolverProblems RateProblems(const SolverParameter& param);
/// regularization_type, which matters where weights decay.
SolverProblems RegularizationProblems(const SolverParameter& param);

/// Aborts where there are any: a line for each, as "solver.prototxt:3: ..." where SolverParameter
/// .origin says so, in the order of the file.
void Refuse(const SolverParameter& param, SolverProblems problems);

}  // namespace caffe

#endif  // CAFFE_SOLVERS_SOLVER_PROBLEMS_HPP_

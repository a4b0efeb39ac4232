#ifndef CAFFE_SOLVERS_SOLVER_PROBLEMS_HPP_
#define CAFFE_SOLVERS_SOLVER_PROBLEMS_HPP_

#include <string>
#include <vector>

#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// A field of a solver that is missing or invalid.
struct SolverProblem {
  std::string field;  ///< its name
  std::string text;   ///< a sentence
};
using SolverProblems = std::vector<SolverProblem>;

/// Problems with the train net: none or several are named, or its file does not exist.
SolverProblems TrainNetProblems(const SolverParameter& param);
/// Problems with the test nets: numbers that disagree, or files that do not exist.
SolverProblems TestNetProblems(const SolverParameter& param);
/// Problems with fields that every solver has: numbers of iterations, scores, and the like.
SolverProblems FieldProblems(const SolverParameter& param);
/// Problems with fields that solvers of that type reject. None if the type is not one of Layrub's.
SolverProblems TypeProblems(const std::string& type, const SolverParameter& param);
/// Problems with lr_policy and its fields, and with the ramp of the first iterations. They matter
/// only when a solver steps.
SolverProblems RateProblems(const SolverParameter& param);
/// Problems with regularization_type, which matters only if weights decay.
SolverProblems RegularizationProblems(const SolverParameter& param);

/// Aborts if there are any problems, with one line for each in the order of the file. A line begins
/// with "solver.prototxt:3: " if SolverParameter.origin says where the field was read.
void Refuse(const SolverParameter& param, SolverProblems problems);

}  // namespace caffe

#endif  // CAFFE_SOLVERS_SOLVER_PROBLEMS_HPP_

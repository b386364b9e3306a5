#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "touchstone/device/device.h"
#include "touchstone/judging/judging.h"
#include "touchstone/model/program.h"

namespace touchstone::model {

/// Values by their names in the program.
using Values = std::map<std::string, HostArray, std::less<>>;

/// Throws ParseError unless `inputs` are arrays for the program's inputs: each one given, of its
/// type, rank and sizes; sizes that the program leaves open agree where they have one name.
void require_inputs(const ModelProgram& program, const Values& inputs);

/// The values of the whole program: inputs, constants, and what its operations compute on `device`,
/// each rounded to its type. `missing`: why a value could not be computed; values that need it are
/// missing, too. `only`: the values to end with; empty: all.
struct Computed {
  Values values;
  std::map<std::string, std::string, std::less<>> missing;
};
Computed run(const ModelProgram& program, const Values& inputs, Device& device,
             const std::set<std::string, std::less<>>& only = {});

/// The verdict on one value.
struct JudgedValue {
  const Operation* operation;
  std::string name;
  std::optional<Verdict> verdict;  // none: `why` says why it was not judged
  std::string why;
  ChosenProfile profile;  // that it was judged under
  std::string formula;    // that it was judged by
  int operations = 1;     // that the formula is composed of
};

struct JudgeOptions {
  std::optional<ChosenProfile> profile = {};
  Sampling sampling = {};
  /// Makes a verdict within limits; null: there are none.
  std::function<Verdict(const KernelToJudge&, const std::function<Verdict()>&)> within = {};
  /// Called with each result; false ends the work.
  std::function<bool(const JudgedValue&)> seen = {};
};

/// Judges every value of `actual` that an operation computes, by the values that `actual` has for
/// its operands: a wrong value makes no other one wrong. Operands that are not in `actual` are
/// composed into the formula. Elements of bfloat16 and 8-bit floats may be given as unsigned
/// integers of their bits.
std::vector<JudgedValue> judge(const ModelProgram& program, const Values& inputs, Values actual,
                               const JudgeOptions& options = {});

/// True if there is a row for its operator, or it runs graphs.
bool is_supported(const Operation& operation);

/// The names of the values that operations of the whole program compute.
std::vector<std::string> computed_names(const ModelProgram& program);

}  // namespace touchstone::model

#pragma once

#include <string>
#include <vector>

#include "touchstone/symbolic/ask/question.h"

namespace touchstone::symbolic {

struct Workload {
  std::string name;
  Question question;
};

/// Typical index expressions of compilers, R1 to R5.
std::vector<Workload> reference_workloads();

/// `terms` digits with coefficients of half the period under one `%`, with 2^terms possible splits.
Question tied_terms(int terms);
/// (x*3 + y) % 1009 nested `depth` levels deep.
Question nest(int depth);

/// A sample of compilers' own test expectations.
std::vector<Question> sample_cases();

}  // namespace touchstone::symbolic

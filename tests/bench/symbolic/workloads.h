#pragma once

#include <string>
#include <vector>

#include "touchstone/symbolic/ask/question.h"

namespace touchstone::symbolic {

struct Workload {
  std::string name;
  Question question;
};

/// Index expressions of the kinds that compilers meet, R1 to R5.
std::vector<Workload> reference_workloads();

/// `terms` digits with coefficients of half the period under one `%`, which could be split in
/// 2^terms ways.
Question tied_terms(int terms);
/// (x*3 + y) % 1009 of itself, `depth` levels deep.
Question nest(int depth);

/// The sample of expectations of compilers' own tests.
std::vector<Question> sample_cases();

}  // namespace touchstone::symbolic

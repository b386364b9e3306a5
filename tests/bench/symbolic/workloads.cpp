#include "workloads.h"

#include <sstream>

#include <nlohmann/json.hpp>

#include "touchstone/base/file.h"

namespace touchstone::symbolic {

namespace {

Interval range(std::int64_t lo, std::int64_t hi) { return {Int(lo), Int(hi)}; }

}  // namespace

std::vector<Workload> reference_workloads() {
  const std::string x = "(a*3 + b)", n = "(a*8 + b + c)";
  return {
      {"R1", {{{"i", range(0, 99)}}, {}, "(i*10)%100//10"}},
      {"R2",
       {{{"a", range(0, 99)}, {"b", range(0, 2)}},
        {},
        x + "//12*12 + " + x + "%12//4*4 + " + x + "%4"}},
      {"R3",
       {{{"a", range(0, 1000)}, {"b", range(0, 3)}, {"c", range(0, 4)}},
        {},
        n + "//1000*1000 + " + n + "//100%10*100 + " + n + "//10%10*10 + " + n + "%10"}},
      {"R4",
       {{{"y", range(0, 13)}, {"x", range(0, 13)}, {"k", range(0, 2)}, {"l", range(0, 2)}},
        {},
        "y + k >= 0 and y + k < 16 and x + l >= 0 and x + l < 16"}},
      {"R5",
       {{{"a", range(0, 7)},
         {"b", range(0, 4)},
         {"c", range(0, 3)},
         {"d", range(0, 4)},
         {"e", range(0, 3)},
         {"f", range(0, 9)}},
        {},
        "(((((a*5 + b)*4 + c)*5 + d)*4 + e)*10 + f)//20"}},
  };
}

Question tied_terms(int terms) {
  Question q;
  for (int i = 0; i < terms; ++i) {
    const std::string name = "v" + std::to_string(i);
    q.variables.emplace_back(name, range(0, 1 + i % 2));
    q.text += (i ? " + " : "(") + name + "*" + std::to_string(32);
  }
  q.text += ")%64";
  return q;
}

Question nest(int depth) {
  Question q{{{"x", range(0, 1000)}, {"y", range(0, 9)}}, {}, ""};
  q.text.append(static_cast<std::size_t>(depth), '(');
  q.text += "x";
  for (int i = 0; i < depth; ++i) q.text += "*3 + y)%1009";
  return q;
}

std::vector<Question> sample_cases() {
  using Json = nlohmann::json;
  std::istringstream in(read_file(TOUCHSTONE_SYMBOLIC_CASES));
  std::vector<Question> all;
  for (std::string line; std::getline(in, line);) {
    const Json j = Json::parse(line);
    Question q{{}, {}, j["in"]};
    for (const auto& [name, ends] : j["vars"].items()) {
      const auto end = [&](std::size_t i) {
        return ends[i].is_null() ? End() : End(ends[i].get<std::int64_t>());
      };
      q.variables.emplace_back(name, Interval{end(0), end(1)});
    }
    if (j.contains("assume")) q.assumptions = j["assume"];
    all.push_back(std::move(q));
  }
  return all;
}

}  // namespace touchstone::symbolic

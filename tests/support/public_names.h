#pragma once

#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace touchstone::test {

/// Functions that a header declares for users, and its layers, optimizers and scopes.
inline std::set<std::string> public_names(const std::string& header) {
  const std::regex function(
      R"(^(?:  )?(?:static |inline |virtual |const )*[A-Za-z_][\w:]*(?:<[^()]*>)?[&*]? )"
      R"((operator[^ (]+|[a-z_0-9]+)\()");
  const std::regex statement(R"(^\s*(return|throw|else|explicit)\b)");
  const std::regex type(
      R"(^(?:struct|class) ([A-Z]\w+) (?:final )?: (?:public )?(\w+)(?:<\w+>)? \{)");
  std::istringstream lines(header);
  std::set<std::string> names;
  bool is_public = true;
  for (std::string line; std::getline(lines, line);) {
    if (line == " private:" || line == " protected:") is_public = false;
    if (line == " public:" || line.starts_with("};")) is_public = true;
    std::smatch found;
    if (std::regex_search(line, found, type)) names.insert(found[1]);
    if (is_public && !std::regex_search(line, statement) &&
        std::regex_search(line, found, function))
      names.insert(found[1]);
  }
  for (const char* base : {"Convolution", "Normalization", "Recurrent"})  // of layers
    names.erase(base);
  return names;
}

}  // namespace touchstone::test

#pragma once

#include <cstdio>
#include <string>

#include <sys/wait.h>

// Runs the command through a shell.

namespace touchstone {

struct Answer {
  int code;
  std::string text;  // standard output and error
};

inline Answer touchstone_run(const std::string& arguments, const std::string& environment = "",
                             const std::string& input = "< /dev/null") {
  const std::string line = environment + " " TOUCHSTONE_COMMAND " " + arguments + " 2>&1 " + input;
  FILE* pipe = ::popen(line.c_str(), "r");
  if (pipe == nullptr) return {-1, "popen failed"};
  Answer run{0, {}};
  char chunk[4096];
  for (std::size_t n = 0; (n = std::fread(chunk, 1, sizeof chunk, pipe)) > 0;)
    run.text.append(chunk, n);
  const int status = ::pclose(pipe);
  run.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return run;
}

}  // namespace touchstone

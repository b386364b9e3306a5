// Any line as a question of the machine interface: the answer is one JSON line with "out" or
// "error".
#include <cstdint>
#include <cstdlib>
#include <string>

#include "reader_targets.h"
#include "touchstone/symbolic/notation/jsonl.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static touchstone::symbolic::Session session;
  const std::string answer =
      touchstone::symbolic::answer_json({reinterpret_cast<const char*>(data), size}, session);
  const nlohmann::json j = touchstone::fuzzers::read_answer(answer);
  if (j.contains("out") == j.contains("error")) std::abort();
  return 0;
}

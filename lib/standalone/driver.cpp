#include "touchstone/standalone/driver.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include <fmt/format.h>

namespace touchstone::standalone {
namespace {

std::string_view c_type(DType dtype) {
  switch (dtype) {
    case DType::Float32: return "float";
    case DType::Float64: return "double";
    case DType::Int8: return "signed char";
    case DType::Int16: return "short";
    case DType::Int32: return "int";
    case DType::Int64: return "long long";
    case DType::UInt32: return "unsigned int";
    case DType::UInt64: return "unsigned long long";
    default:  // uint8, uint16, bool, and the bits of smaller floats
      return itemsize(dtype) == 1 ? "unsigned char" : "unsigned short";
  }
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  });
  return text;
}

// FNV-1a, which the driver computes too: detects a wrong weights file.
std::uint64_t mark_of(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::string signature(const EmittedProgram& p) {
  std::string text = fmt::format("int {}_run(const void* weights, void* workspace", p.name);
  for (std::size_t i = 0; i < p.inputs.size(); ++i)
    text += fmt::format(",\n    const {}* input{}", c_type(p.inputs[i].dtype), i);
  for (std::size_t i = 0; i < p.outputs.size(); ++i)
    text += fmt::format(",\n    {}* output{}", c_type(p.outputs[i].dtype), i);
  return text + ")";
}

std::string arrays(const char* what, const std::vector<Array>& all) {
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i)
    text += fmt::format("   {}{}: {} {}, {} bytes\n", what, i, name(all[i].dtype), all[i].shape,
                        all[i].bytes);
  return text;
}

std::string header(const EmittedProgram& p) {
  const std::string big = upper(p.name);
  return fmt::format(
      R"(#ifndef {0}_H
#define {0}_H

/* {1}: computes its outputs from its inputs and the {2} bytes of {1}.weights; returns 0, or 1
   where a position that an input holds is outside its axis: then the outputs hold nothing of use.
   It allocates nothing. All arrays lie in row-major order and overlap nowhere; weights and
   workspace are aligned to 8 bytes.
{3}{4}
   cc -O2 -fno-tree-slp-vectorize -ffp-contract=off -std=c11 {1}.c main.c -lm -o {1} */

#define {0}_WEIGHTS_BYTES {2}
#define {0}_WEIGHTS_MARK {5:#x}ull /* FNV-1a of them */
#define {0}_WORKSPACE_BYTES {6}

{7};

#endif
)",
      big, p.name, p.weights.size(), arrays("input", p.inputs), arrays("output", p.outputs),
      mark_of(p.weights), p.workspace, signature(p));
}

std::string call_text(const KernelCall& call) {
  std::string text = "  {\n";
  std::string list;
  for (const std::string& buffer : call.buffers) list += (list.empty() ? "" : ", ") + buffer;
  if (call.checks) {
    text +=
        fmt::format("    i64 fault[3] = {{{}, 0, 0}};\n", std::numeric_limits<std::int64_t>::max());
    list += ", fault";
  }
  text += fmt::format("    void* const buffers[] = {{{}}};\n", list);
  std::string variables;
  for (const std::int64_t v : call.variables)
    variables += fmt::format("{}{}", variables.empty() ? "" : ", ", v);
  text += fmt::format("    const i64 variables[] = {{{}}};\n", variables.empty() ? "0" : variables);
  text += fmt::format("    {}(buffers, variables, 0, 1);\n", call.function);
  if (call.checks)
    text += fmt::format("    if (fault[0] != {}) return 1;\n",
                        std::numeric_limits<std::int64_t>::max());
  return text + "  }\n";
}

std::string source(const EmittedProgram& p) {
  std::string text = fmt::format("#include \"{}.h\"\n\n#include <string.h>\n\n", p.name);
  text += p.preamble + p.functions + "\n" + signature(p) + " {\n";
  text += "  char* const work = workspace;\n  (void)weights, (void)work;\n";
  for (std::size_t i = 0; i < p.inputs.size(); ++i) text += fmt::format("  (void)input{};\n", i);
  for (std::size_t i = 0; i < p.outputs.size(); ++i) text += fmt::format("  (void)output{};\n", i);
  for (const KernelCall& call : p.calls) text += call_text(call);
  for (const Copy& copy : p.copies)
    if (copy.bytes != 0)
      text += fmt::format("  memcpy({}, {}, {});\n", copy.to, copy.from, copy.bytes);
  return text + "  return 0;\n}\n";
}

std::string sizes(const char* what, const std::vector<Array>& all) {
  std::string text;
  for (const Array& a : all) text += fmt::format("{}, ", a.bytes);
  return fmt::format("static const size_t {}_bytes[] = {{{}0}};\n", what, text);
}

std::string driver(const EmittedProgram& p) {
  const std::string big = upper(p.name);
  std::string words, arguments;
  for (std::size_t i = 0; i < p.inputs.size(); ++i) {
    words += fmt::format(" INPUT{}", i);
    arguments += fmt::format(", inputs[{}]", i);
  }
  for (std::size_t i = 0; i < p.outputs.size(); ++i) {
    words += fmt::format(" OUTPUT{}", i);
    arguments += fmt::format(", outputs[{}]", i);
  }
  return fmt::format(
             R"(/* Reads the weights and the inputs, files of bare elements, and writes the outputs so. */
#include <stdio.h>
#include <stdlib.h>

#include "{0}.h"

enum {{ INPUTS = {1}, OUTPUTS = {2} }};
)",
             p.name, p.inputs.size(), p.outputs.size()) +
         sizes("input", p.inputs) + sizes("output", p.outputs) + R"(
static void* room(size_t bytes) {
  void* memory = calloc(bytes + 1, 1);
  if (memory == NULL) {
    fprintf(stderr, "out of memory\n");
    exit(2);
  }
  return memory;
}

/* The `bytes` bytes of a file that has no more and no less. */
static void* contents(const char* path, size_t bytes) {
  char* memory = room(bytes);
  FILE* file = fopen(path, "rb");
  size_t count;
  if (file == NULL) {
    perror(path);
    exit(2);
  }
  count = fread(memory, 1, bytes + 1, file);
  fclose(file);
  if (count != bytes) {
    fprintf(stderr, "%s: has %s than %lu bytes\n", path, count < bytes ? "less" : "more",
            (unsigned long)bytes);
    exit(2);
  }
  return memory;
}

static void save(const char* path, const void* memory, size_t bytes) {
  FILE* file = fopen(path, "wb");
  if (file == NULL || fwrite(memory, 1, bytes, file) != bytes || fclose(file) != 0) {
    perror(path);
    exit(2);
  }
}
)" +
         fmt::format(R"(
int main(int count, char** words) {{
  void *inputs[INPUTS + 1], *outputs[OUTPUTS + 1], *workspace;
  unsigned char* weights;
  unsigned long long mark = 0xcbf29ce484222325ull;
  const size_t weights_bytes = {1}_WEIGHTS_BYTES;
  size_t n;
  int i;
  if (count != 2 + INPUTS + OUTPUTS) {{
    fprintf(stderr, "usage: %s WEIGHTS{0}\n", words[0]);
    return 2;
  }}
  weights = contents(words[1], weights_bytes);
  for (n = 0; n < weights_bytes; ++n) mark = (mark ^ weights[n]) * 0x100000001b3ull;
  if (mark != {1}_WEIGHTS_MARK) {{
    fprintf(stderr, "%s: not the weights that belong to this program\n", words[1]);
    return 2;
  }}
  for (i = 0; i < INPUTS; ++i) inputs[i] = contents(words[2 + i], input_bytes[i]);
  for (i = 0; i < OUTPUTS; ++i) outputs[i] = room(output_bytes[i]);
  workspace = room({1}_WORKSPACE_BYTES);
  if ({2}_run(weights, workspace{3}) != 0) {{
    fprintf(stderr, "a position in an input is outside its axis\n");
    return 1;
  }}
  for (i = 0; i < OUTPUTS; ++i) save(words[2 + INPUTS + i], outputs[i], output_bytes[i]);
  for (i = 0; i < INPUTS; ++i) free(inputs[i]);
  for (i = 0; i < OUTPUTS; ++i) free(outputs[i]);
  free(weights);
  free(workspace);
  return 0;
}}
)",
                     words, big, p.name, arguments);
}

}  // namespace

std::map<std::string, std::string> files(const EmittedProgram& program) {
  return {{program.name + ".c", source(program)},
          {program.name + ".h", header(program)},
          {program.name + ".weights", program.weights},
          {"main.c", driver(program)}};
}

}  // namespace touchstone::standalone

// Readers of the libraries: arrays, kernels, formulas, profiles, certificates, questions about
// views.
#include <algorithm>
#include <array>
#include <vector>

#include <nlohmann/json.hpp>

#include "reader_targets.h"
#include "touchstone/cli/explore/explorer.h"
#include "touchstone/codegen/linearize.h"
#include "touchstone/codegen/opts.h"
#include "touchstone/codegen/render_c.h"
#include "touchstone/define/text.h"
#include "touchstone/files/array_file.h"
#include "touchstone/foreign/backend_process.h"
#include "touchstone/fuzz/judge/reproducer.h"
#include "touchstone/fuzz/judge/values.h"
#include "touchstone/interp/certify/certify.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/interp/oracle/declared_profile.h"
#include "touchstone/model/run.h"
#include "touchstone/model/step.h"
#include "touchstone/ops/decompose.h"
#include "touchstone/ops/index_fault.h"
#include "touchstone/ops/kernel_json.h"
#include "touchstone/prove/claim.h"
#include "touchstone/shapetracker/ask/jsonl.h"
#include "touchstone/symbolic/notation/notation.h"

namespace touchstone::fuzzers {
namespace {

// ---- arrays

void require_whole(const HostArray& a) {
  require(std::ranges::none_of(a.shape, [](std::int64_t size) { return size < 0; }),
          "a size below 0");
  require(a.bytes.size() == static_cast<std::size_t>(a.size()) * itemsize(a.dtype),
          "an array that has not as many bytes as its shape says");
}

bool same_array(const HostArray& a, const HostArray& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.bytes == b.bytes;
}

void require_same(const std::vector<NamedArray>& a, const std::vector<NamedArray>& b) {
  const auto same = [](const NamedArray& x, const NamedArray& y) {
    return x.name == y.name && same_array(x.array, y.array);
  };
  require(std::ranges::equal(a, b, same), "arrays that read back as others");
}

void npy(std::string_view bytes) {
  const auto array = accepted([&] { return parse_npy(bytes, "here"); });
  if (!array) return;
  require_whole(*array);
  require(same_array(parse_npy(npy_bytes(*array), "again"), *array),
          "an array that reads back as another");
}

void npz(std::string_view bytes) {
  const auto arrays = accepted([&] { return parse_npz(bytes, "here"); });
  if (!arrays) return;
  for (const NamedArray& a : *arrays) require_whole(a.array);
  // Names in an archive may use an older encoding, which is never written.
  if (const auto written = accepted([&] { return npz_bytes(*arrays); }))
    require_same(parse_npz(*written, "again"), *arrays);
}

void safetensors(std::string_view bytes) {
  const auto arrays = accepted([&] { return parse_safetensors(bytes, "here"); });
  const auto metadata = accepted([&] { return safetensors_metadata(bytes, "here"); });
  if (!arrays) return;
  for (const NamedArray& a : *arrays) require_whole(a.array);
  const std::string written = safetensors_bytes(*arrays, metadata.value_or(Metadata()));
  require_same(parse_safetensors(written, "again"), *arrays);
  if (metadata)
    require(safetensors_metadata(written, "again") == *metadata,
            "metadata that reads back changed");
}

void torch(std::string_view bytes) {
  const auto arrays = accepted([&] { return parse_torch(bytes, "here"); });
  if (!arrays) return;
  std::size_t total = 0;
  for (const NamedArray& a : *arrays) {
    require_whole(a.array);
    total += a.array.bytes.size();
  }
  // A storage is as long as its member, which deflate compresses by at most a thousand.
  require(total <= 16 * 1100 * (bytes.size() + 1), "more elements than a file may have");
}

// ---- kernels

/// For small kernels: the reference's result is legal, and the kernel compiles to code.
void run_kernel(const LazyOpPtr& kernel) {
  constexpr double kMostElements = 3000, kMostBuffer = 1 << 16;
  if (!variables_of(kernel).empty()) return;
  double elements = 0;
  for (const LazyOpPtr& node : toposort(kernel)) {
    double count = 1;
    for (const sint& size : node->shape()) count *= static_cast<double>(size.as_int());
    elements += count + 1;
  }
  for (const BufferSpec& spec : buffers_of(kernel))
    if (static_cast<double>(spec.size) > kMostBuffer) return;
  if (elements > kMostElements) return;
  LazyOpPtr plain;
  try {
    plain = without_functions(kernel);
  } catch (const AstError&) {  // a function without a formula: compilers refuse it
  }
  if (plain != nullptr) render_vector_c(linearize(plain));
  fuzz::RandomChooser chooser(0, kernel->hash());
  static const std::unique_ptr<Device> device = make_interpreted_device("CPU", 1);
  try {
    const fuzz::KernelCase drawn{kernel,
                                 fuzz::draw_inputs(chooser, fuzz::ValueFamily::Integers, kernel)};
    const Verdict verdict = fuzz::run_case(drawn, *device);
    require(verdict.outcome == Outcome::Pass || verdict.outcome == Outcome::Weak, verdict.str());
  } catch (const IndexError&) {
    return;  // a checked position outside
  }
}

std::optional<KernelFile> accepted_kernel(std::string_view text) {
  return accepted([&] {
    try {
      return kernel_from_json(text);
    } catch (const AstError& e) {
      throw ParseError(e.what());
    }
  });
}

void require_reads_back(const KernelFile& kernel) {
  const std::string text = to_json(kernel);
  require(to_json(kernel_from_json(text)) == text, "a kernel that reads back as another");
}

void kernel_json(std::string_view text) {
  const auto kernel = accepted_kernel(text);
  if (!kernel) return;
  require_reads_back(*kernel);
  run_kernel(kernel->ast);
}

void formula(std::string_view text) {
  static const std::array<define::InputShape, 2> shapes = {
      define::InputShape{{2, 3}, DType::Float32}, define::InputShape{{3}, DType::Int32}};
  const auto read = accepted([&] { return define::parse(text, shapes); });
  if (!read) return;
  const LazyOpPtr kernel = read->kernel();
  require_reads_back(kernel_file(kernel));
  run_kernel(kernel);
}

void reproducer(std::string_view text) {
  const auto read = accepted([&] {
    try {
      return fuzz::reproducer_from_json(text);
    } catch (const AstError& e) {
      throw ParseError(e.what());
    }
  });
  if (!read) return;
  const std::string written = fuzz::to_json(*read);
  require(fuzz::to_json(fuzz::reproducer_from_json(written)) == written,
          "a reproducer that reads back as another");
}

// A kernel precedes the opts for its loops.
void opts(std::string_view text) {
  static const LazyOpPtr kernel = define::parse("softmax(x[6,8] @ y[8,16])").kernel();
  const auto read = accepted([&] { return parse_opts(text); });
  if (!read) return;
  CodegenOptions options;
  options.opts = *read;
  try {
    render_vector_c(linearize(kernel, options));
  } catch (const AstError&) {
    return;  // an opt that does not fit
  }
}

// ---- profiles and certificates

void profile(std::string_view text) {
  if (const auto read = accepted([&] { return Profile::from_json(text); })) {
    require(Profile::from_json(read->to_json()) == *read, "a profile that reads back as another");
    profile_words(*read);
  }
  accepted([&] { return declared_profile(text); });
}

void op_certificate(std::string_view text) {
  const auto read = accepted([&] { return certificate_from_json(text); });
  if (!read) return;
  const std::string written = to_json(*read);
  require(to_json(certificate_from_json(written)) == written,
          "a certificate that reads back as another");
}

void claim(std::string_view text) {
  const auto read = accepted([&] { return prove::read_claim(text); });
  if (!read) return;
  const std::string written = prove::text_of(*read);
  require(prove::text_of(prove::read_claim(written)) == written, "a claim that reads back changed");
}

// The first byte picks the language; an answer is written in all.
void notation(std::string_view text) {
  if (text.empty()) return;
  const auto from = static_cast<symbolic::Language>(static_cast<unsigned char>(text[0]) %
                                                    symbolic::kLanguages.size());
  symbolic::Question given{{{"x", {symbolic::Int(0), symbolic::Int(31)}}, {"y", {}}}, {}, ""};
  given.text = text.substr(1);
  const auto read = accepted([&] { return symbolic::translate(given, from); });
  if (!read) return;
  for (const symbolic::Question& question : read->questions) {
    symbolic::Context context;
    const auto answer = accepted([&] { return symbolic::answer(question, context); });
    if (!answer) continue;
    for (const symbolic::LanguageInfo& row : symbolic::kLanguages) try {
        symbolic::written(answer->text, question, row.language);
      } catch (const Error&) {  // the language has no word for it
      }
  }
}

// ---- lines of JSON

// What a backend says of itself, and what it answers.
void backend_line(std::string_view line) {
  accepted([&] { return foreign::capabilities_from(line); });
  for (const DType dtype : {DType::UInt8, DType::Bool, DType::Float16}) {
    const HostArray wanted{dtype, {2, 2}, {}};
    const auto answer = accepted([&] { return foreign::answer_from(line, 1, wanted); });
    if (!answer || answer->kind != foreign::Answer::Kind::Output) continue;
    require_whole(answer->output);
    require(answer->output.shape == wanted.shape, "an output of another shape");
  }
}

void view_lines(std::string_view text) { read_answer(shapetracker::answer_json(text)); }

void explore_lines(std::string_view text) {
  static explore::Explorer explorer;
  read_answer(explorer.answer(text));
}

// Runs a small program on zeros: without loops and large numbers, which may be sizes.
void run_on_zeros(const model::ModelProgram& program) {
  for (const auto& [name, constant] : program.graph.constants) {
    require_whole(constant);
    if (is_integer(constant.dtype) &&
        std::ranges::any_of(model::exact_of(constant),
                            [](long double v) { return v > 64 || v < -64; }))
      return;
  }
  for (const model::Operation& op : program.graph.operations)
    if (op.kind == "Loop" || op.kind == "Scan" || op.kind == "stablehlo.while") return;
  model::Values inputs;
  std::size_t elements = 0;
  for (const model::Argument& a : program.graph.inputs) {
    HostArray zeros{a.dtype.value_or(DType::Float32), {}, {}};
    for (const auto& size : a.shape.value_or(decltype(a.shape)::value_type()))
      zeros.shape.push_back(
          std::holds_alternative<std::string>(size) ? 1 : std::get<std::int64_t>(size));
    for (const std::int64_t size : zeros.shape)
      if (size < 0 || size > 8) return;
    if (zeros.shape.size() > 4) return;
    zeros.bytes.resize(static_cast<std::size_t>(zeros.size()) * itemsize(zeros.dtype));
    elements += zeros.bytes.size();
    inputs[a.name] = zeros;
  }
  if (elements > 4096 || program.graph.operations.size() > 20) return;
  const auto made = accepted([&] { return model::run(program, inputs, Device::get("CPU")); });
  if (!made) return;
  for (const auto& [name, value] : made->values) require_whole(value);
}

void onnx(std::string_view bytes) {
  const auto program = accepted([&] { return model::parse_onnx(bytes, "here", ""); });
  if (!program) return;
  const std::vector<std::string> names = model::computed_names(*program);
  const auto again =
      accepted([&] { return model::parse_onnx(model::exposing(bytes, names), "again", ""); });
  require(again && model::computed_names(*again) == names, "a model whose values are outputs");
  run_on_zeros(*program);
}

void stablehlo(std::string_view text) {
  if (const auto program = accepted([&] { return model::parse_stablehlo(text, "here"); }))
    run_on_zeros(*program);
}

constexpr ReaderTarget kLibraryTargets[] = {
    {"onnx", onnx},
    {"stablehlo", stablehlo},
    {"npy", npy},
    {"npz", npz},
    {"safetensors", safetensors},
    {"torch", torch},
    {"kernel_json", kernel_json},
    {"formula", formula},
    {"reproducer", reproducer},
    {"opts", opts},
    {"profile", profile},
    {"op_certificate", op_certificate},
    {"claim", claim},
    {"notation", notation},
    {"backend_line", backend_line},
    {"view_lines", view_lines},
    {"explore_lines", explore_lines},
};

}  // namespace

std::span<const ReaderTarget> library_targets() { return kLibraryTargets; }

}  // namespace touchstone::fuzzers

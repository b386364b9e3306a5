#include "touchstone/fuzz/suites/kernel_suite.h"

#include <algorithm>

#include "touchstone/base/error.h"
#include "touchstone/define/definitions.h"
#include "touchstone/define/text.h"
#include "touchstone/fuzz/judge/probe.h"

namespace touchstone::fuzz {
namespace {

// The dtypes that T may be.
enum class Takes : std::uint8_t { Floats, Numbers, All };

struct Row {
  std::string_view name, text;
  Takes types = Takes::Floats;
};

// "T" is the dtype. Sizes are not multiples of vectors or tiles.
constexpr Row kRows[] = {
    {"softmax-8x17", "softmax(x[8,17]:T)"},
    {"softmax-5x1", "softmax(x[5,1]:T)"},
    {"softmax-axis0-9x5", "softmax(x[9,5]:T, axis=0)"},
    {"log-softmax-6x19", "log_softmax(x[6,19]:T)"},
    {"logsumexp-7x13", "logsumexp(x[7,13]:T)"},
    {"softmax-causal-7x5", "softmax(attention_scores(q[7,5]:T, k[7,5]:T, causal=1))"},
    {"cross-entropy-6x9", "cross_entropy(x[6,9]:T, target[6]:i32)"},
    {"layer-norm-5x19", "layer_norm(x[5,19]:T, w[19]:T, b[19]:T)"},
    {"layer-norm-plain-6x16", "layer_norm(x[6,16]:T)"},
    {"rms-norm-5x18", "rms_norm(x[5,18]:T, w[18]:T)"},
    {"mean-7x37", "mean(x[7,37]:T, axis=1)"},
    {"var-axis0-21x6", "var(x[21,6]:T, axis=0, correction=1)"},
    {"exp-sum-9x33", "sum(exp2(x[9,33]:T), axis=1)"},
    {"sum-5x6x7", "sum(x[5,6,7]:T, axis=[0,2])", Takes::All},
    {"sum-all-3x11", "sum(x[3,11]:T)", Takes::All},
    {"sum-empty-4x0", "sum(x[4,0]:T, axis=1)", Takes::All},
    {"max-axis0-13x7", "max(x[13,7]:T, axis=0)", Takes::All},
    {"cumsum-4x13", "cumsum(x[4,13]:T)", Takes::Numbers},
    {"matmul-9x17x5", "matmul(a[9,17]:T, b[17,5]:T)", Takes::Numbers},
    {"matmul-transposed-7x9x11", "matmul(a[9,7]:T, b[11,9]:T, transpose_a=1, transpose_b=1)",
     Takes::Numbers},
    {"matmul-batched-2x3x5x7", "matmul(a[2,1,4,5]:T, b[3,5,7]:T)", Takes::Numbers},
    {"matmul-row-1x19x3", "matmul(a[19]:T, b[19,3]:T)", Takes::Numbers},
    {"matmul-column-13x1x7", "matmul(a[13,1]:T, b[1,7]:T)", Takes::Numbers},
    {"matmul-f32-accumulator-5x21x6", "matmul(cast(a[5,21]:T, f32), cast(b[21,6]:T, f32))"},
    {"linear-relu-6x15x9", "relu(linear(x[6,15]:T, w[9,15]:T, b[9]:T))"},
    {"linear-gelu-4x9x6", "gelu(linear(x[4,9]:T, w[6,9]:T, b[6]:T))"},
    {"linear-silu-4x9x6", "silu(linear(x[4,9]:T, w[6,9]:T))"},
    {"attention-6x6x4", "attention(q[6,4]:T, k[6,4]:T, v[6,3]:T)"},
    {"attention-causal-6x6x4", "attention(q[6,4]:T, k[6,4]:T, v[6,3]:T, causal=1)"},
    {"conv1d-2x3x17", "conv1d(x[2,3,17]:T, w[4,3,5]:T, stride=2, padding=3)", Takes::Numbers},
    {"conv2d-2x3x9x8", "conv2d(x[2,3,9,8]:T, w[4,3,3,2]:T)", Takes::Numbers},
    {"conv2d-padded-1x2x7x7", "relu(conv2d(x[1,2,7,7]:T, w[3,2,3,3]:T, b[3]:T, padding=1))"},
    {"conv2d-strided-1x4x9x9",
     "conv2d(x[1,4,9,9]:T, w[6,2,3,3]:T, stride=2, padding=2, dilation=2, groups=2)",
     Takes::Numbers},
    {"avg-pool2d-2x9x7", "avg_pool2d(x[2,9,7]:T, size=3, stride=2, padding=1)"},
    {"max-pool2d-2x9x7", "max_pool2d(x[2,9,7]:T, size=3, stride=2, padding=1)"},
    {"max-pool1d-dilated-3x19", "max_pool1d(x[3,19]:T, size=4, stride=3, dilation=2)"},
    {"gather-7x5", "gather(table[7,5]:T, index[3,4]:i32)", Takes::Numbers},
    {"one-hot-11x6", "one_hot(index[11]:i32, classes=6, dtype=T)", Takes::Numbers},
    {"pad-7x5", "pad(x[7,5]:T, before=[2,0], after=[1,3])", Takes::All},
    {"pad-exp-6x5", "pad(exp(x[6,5]:T), before=[1,2], after=[0,3])"},
    {"slice-9x11", "slice(x[9,11]:T, begin=[2,3], end=[7,10])", Takes::All},
    {"transpose-13x9", "transpose(x[13,9]:T)", Takes::All},
    {"permute-5x3x7", "permute(x[5,3,7]:T, order=[2,0,1])", Takes::All},
    {"reshape-transposed-6x10", "reshape(transpose(x[6,10]:T), [15,4])", Takes::All},
    {"flip-stride-9x14", "stride(flip(x[9,14]:T, axis=0), steps=[2,-3])", Takes::All},
    {"roll-8x11", "roll(x[8,11]:T, shift=4)", Takes::All},
    {"concat-4x7", "concat(x[4,7]:T, y[4,5]:T, axis=1)", Takes::All},
    {"repeat-5x4", "repeat(x[5,4]:T, times=3)", Takes::All},
    {"diagonal-9x12", "diagonal(x[9,12]:T)", Takes::All},
    {"windows-3x17", "windows(x[3,17]:T, size=5, stride=3, dilation=2)", Takes::All},
    {"tril-9x7", "tril(x[9,7]:T)", Takes::All},
    {"triu-8x9", "sum(triu(x[8,9]:T, diagonal=1), axis=0)", Takes::All},
    {"pad-sum-5x9", "sum(pad(x[5,9]:T, before=[1,2], after=[2,1], value=3), axis=1)",
     Takes::Numbers},
    {"broadcast-6x1x7", "x[6,1,7]:T * y[5,1]:T + z[7]:T", Takes::Numbers},
    {"argmax-7x13", "argmax(x[7,13]:T, axis=1)", Takes::All},
    {"sort-5x23", "sort(x[5,23]:T)", Takes::All},
    {"top-k-index-4x17", "top_k_index(x[4,17]:T, k=5)", Takes::All},
    {"cummax-4x13", "cummax(x[4,13]:T)", Takes::All},
    {"prod-6x9", "prod(x[6,9]:T, axis=1)"},
    {"any-5x8", "any(x[5,8]:T, axis=0)", Takes::All},
    {"take-along-7x9", "take_along(x[7,9]:T, index[7,4]:i32)", Takes::All},
    {"scatter-add-9x5", "scatter(x[9,5]:T, index[6,5]:i32, updates[6,5]:T, reduce=add)",
     Takes::Numbers},
    {"embedding-bag-9x4", "embedding_bag(table[9,4]:T, index[3,5]:i32)"},
    {"quantize-6x11", "quantize(x[6,11]:T, scale[11]:T)"},
    {"dequantize-6x11", "dequantize(x[6,11]:u8, scale[6]:T, zero_point[6]:u8, axis=0)"},
    {"attention-masked-6x7x4",
     "attention(q[6,4]:T, k[7,4]:T, v[7,3]:T, mask[6,7]:bool, empty=zero)"},
    {"cross-entropy-smooth-6x9",
     "cross_entropy(x[6,9]:T, target[6]:i32, label_smoothing=0.1, reduction=mean)"},
    {"huber-loss-7x9", "huber_loss(x[7,9]:T, target[7,9]:T)"},
    {"elu-37", "elu(x[37]:T)"},
    {"lstm-cell-3x5", "lstm_cell(x[3,5]:T, h[3,4]:T, c[3,4]:T, w[16,5]:T, u[16,4]:T)"},
    {"rope-2x7x8", "rope(x[2,7,8]:T, cos[7,4]:T, sin[7,4]:T)"},
    {"complex-matmul-5x6x4", "complex_matmul(x[5,6,2]:T, y[6,4,2]:T)"},
    {"bilinear-2x7x5", "interpolate(x[2,7,5]:T, size=[9,8], mode=bilinear)"},
    {"conv-transpose2d-1x3x5x4", "conv_transpose2d(x[1,3,5,4]:T, w[3,2,3,3]:T, stride=2)"},
    {"avg-pool2d-ceil-2x9x7",
     "avg_pool2d(x[2,9,7]:T, size=3, stride=2, padding=1, ceil_mode=1, count_include_pad=0)"},
};

bool takes(Takes types, DType d) {
  switch (types) {
    case Takes::Floats: return is_float(d);
    case Takes::Numbers: return !is_bool(d);
    case Takes::All: return true;
  }
  return false;
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string with_type(std::string_view text, DType dtype) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool alone =
        (i == 0 || !is_letter(text[i - 1])) && (i + 1 == text.size() || !is_letter(text[i + 1]));
    if (text[i] == 'T' && alone)
      out += name(dtype);
    else
      out += text[i];
  }
  return out;
}

bool holds(std::string_view text, std::string_view definition) {
  for (std::size_t at = text.find(definition); at != std::string_view::npos;
       at = text.find(definition, at + 1)) {
    const std::size_t end = at + definition.size();
    if ((at == 0 || !is_letter(text[at - 1])) && end < text.size() && text[end] == '(') return true;
  }
  return false;
}

// It only moves elements: three families suffice.
bool only_moves(const LazyOpPtr& kernel) {
  return std::ranges::all_of(toposort(kernel), [](const LazyOpPtr& node) {
    return group(node->op()) == OpGroup::Buffer || node->op() == Op::Where;
  });
}
bool tells_of_moves(ProbeFamily family) {
  return family == ProbeFamily::Random || family == ProbeFamily::Edges ||
         family == ProbeFamily::Integers;
}

}  // namespace

std::vector<SuiteCase> draw_kernel_suite(const KernelSuiteOptions& options) {
  for (const std::string& wanted : options.names) define::definition(wanted);
  std::vector<DType> dtypes = options.dtypes;
  if (dtypes.empty()) dtypes = {DType::Float32, DType::Float16, DType::Int32};
  std::vector<SuiteCase> cases;
  for (const Row& row : kRows) {
    const bool wanted =
        options.names.empty() || std::ranges::any_of(options.names, [&](const std::string& name) {
          return holds(row.text, name);
        });
    for (const DType dtype : dtypes) {
      if (!wanted || !takes(row.types, dtype)) continue;
      const LazyOpPtr kernel = define::parse(with_type(row.text, dtype)).kernel();
      const bool moves = only_moves(kernel);
      for (Probe& probe : draw_probes(kernel, options.seed))
        if (!moves || tells_of_moves(probe.family))
          cases.push_back({fmt::format("{}-{}-{}", row.name, name(dtype), name(probe.family)),
                           {kernel, std::move(probe.inputs)}});
    }
  }
  return cases;
}

}  // namespace touchstone::fuzz

#pragma once

#include "touchstone/tensor/conv.h"
#include "touchstone/tensor/einsum.h"
#include "touchstone/tensor/indexing.h"

/// The functions of layers: products, normalisations, attention, losses.
namespace touchstone {

class Generator;

/// x: (..., in), weight: (out, in), bias: (out). Result: (..., out).
Tensor linear(const Tensor& x, const Tensor& weight,
              const std::optional<Tensor>& bias = std::nullopt);

/// exp(x) over its sum along `axis`, shifted by the maximum so that nothing overflows. A scalar is
/// an axis of size 1.
Tensor softmax(const Tensor& x, int axis = -1);
Tensor log_softmax(const Tensor& x, int axis = -1);

/// The scale and shift of a normalised tensor; none where not given.
struct Affine {
  std::optional<Tensor> weight = std::nullopt;
  std::optional<Tensor> bias = std::nullopt;
};

/// Shifted to mean 0 and scaled to variance 1 along `axis`; eps is added to the variance.
Tensor layernorm(const Tensor& x, int axis = -1, double eps = 1e-5);
/// The same over the last axes, whose sizes weight and bias have, `axes` of them.
Tensor layer_norm(const Tensor& x, int axes, const Affine& affine = {}, double eps = 1e-5);
/// x over the root of the mean of its squares along the last axis, plus eps.
Tensor rms_norm(const Tensor& x, const std::optional<Tensor>& weight = std::nullopt,
                double eps = 1e-6);
/// x: (n, channels, ...), by one mean and variance a channel, (channels).
Tensor batch_norm(const Tensor& x, const Tensor& mean, const Tensor& variance,
                  const Affine& affine = {}, double eps = 1e-5);
/// x: (n, channels, ...), by the mean and variance of each image's group of channels (of each
/// channel, for instance_norm); weight and bias: (channels). Throws ShapeError where the groups do
/// not divide the channels.
Tensor group_norm(const Tensor& x, std::int64_t groups, const Affine& affine = {},
                  double eps = 1e-5);
Tensor instance_norm(const Tensor& x, const Affine& affine = {}, double eps = 1e-5);

struct AttentionArgs {
  /// bool: true where a key may be looked at; floats: added to the products. Broadcasts to
  /// (..., queries, keys). A query that may look at nothing gives NaN.
  std::optional<Tensor> mask = std::nullopt;
  bool causal = false;                         // query i looks at keys 0..i
  std::optional<double> scale = std::nullopt;  // 1/sqrt(size) where not given
  double dropout = 0;                          // of the shares, drawn from the generator
  Generator* generator = nullptr;
};
/// softmax(q k^T scale) v. q: (..., queries, size), k: (..., keys, size), v: (..., keys, out).
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionArgs& args = {});

/// The reduction of the losses of single elements.
enum class Reduction : std::uint8_t { None, Mean, Sum };

Tensor mse_loss(const Tensor& x, const Tensor& wanted, Reduction reduction = Reduction::Mean);
Tensor l1_loss(const Tensor& x, const Tensor& wanted, Reduction reduction = Reduction::Mean);
/// d^2/2 for |d| < delta, delta (|d| - delta/2) elsewhere.
Tensor huber_loss(const Tensor& x, const Tensor& wanted, double delta = 1,
                  Reduction reduction = Reduction::Mean);
/// -wanted log(p) - (1 - wanted) log(1 - p), each logarithm at least -100.
Tensor binary_cross_entropy(const Tensor& p, const Tensor& wanted,
                            Reduction reduction = Reduction::Mean);
/// The same of p = sigmoid(x), without overflow.
Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& wanted,
                                        Reduction reduction = Reduction::Mean);
/// -log_p[i, labels[i]]. log_p: (n, classes); labels: (n), integers in [0, classes). Another label
/// is a ShapeError where labels are data of the host or a constant, and makes the loss NaN where
/// they are computed. Throws ShapeError, DTypeError.
Tensor nll_loss(const Tensor& log_p, const Tensor& labels, Reduction reduction = Reduction::Mean);
/// Mean over n of -log softmax(logits)[label], as nll_loss.
Tensor cross_entropy(const Tensor& logits, const Tensor& labels,
                     Reduction reduction = Reduction::Mean);
struct CrossEntropyArgs {
  /// This share of the wanted distribution, [0, 1], is spread evenly over all classes.
  double label_smoothing = 0;
  /// Rows with this label count for nothing, in the mean neither: it is over the others, and NaN
  /// where there are none.
  std::optional<std::int64_t> ignore_index = std::nullopt;
  Reduction reduction = Reduction::Mean;
};
/// As PyTorch's cross_entropy. Throws Error on a share outside [0, 1].
Tensor cross_entropy(const Tensor& logits, const Tensor& labels, const CrossEntropyArgs& args);

}  // namespace touchstone

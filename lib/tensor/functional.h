#pragma once

#include "touchstone/tensor/conv.h"
#include "touchstone/tensor/einsum.h"
#include "touchstone/tensor/indexing.h"

/// Functions for layers: products, normalisation, attention, losses. Each computes narrower floats
/// in float32 and rounds its result once.
namespace touchstone {

class Generator;

/// x: (..., in), weight: (out, in), bias: (out). Result: (..., out).
Tensor linear(const Tensor& x, const Tensor& weight,
              const std::optional<Tensor>& bias = std::nullopt);

/// exp(x) divided by its sum along `axis`, shifted by the maximum to avoid overflow. A scalar
/// counts as an axis of size 1.
Tensor softmax(const Tensor& x, int axis = -1);
Tensor log_softmax(const Tensor& x, int axis = -1);

/// The optional scale and shift of a normalised tensor.
struct Affine {
  std::optional<Tensor> weight = std::nullopt;
  std::optional<Tensor> bias = std::nullopt;
};

/// Normalises to mean 0 and variance 1 along `axis`; eps is added to the variance.
Tensor layernorm(const Tensor& x, int axis = -1, double eps = 1e-5);
/// As layernorm, over the last `axes` axes, which are the shape of weight and bias.
Tensor layer_norm(const Tensor& x, int axes, const Affine& affine = {}, double eps = 1e-5);
/// x divided by the root mean square of its last axis; eps is added to the mean square.
Tensor rms_norm(const Tensor& x, const std::optional<Tensor>& weight = std::nullopt,
                double eps = 1e-6);
/// Normalises x: (n, channels, ...) with one mean and variance per channel: (channels).
Tensor batch_norm(const Tensor& x, const Tensor& mean, const Tensor& variance,
                  const Affine& affine = {}, double eps = 1e-5);
/// Normalises x: (n, channels, ...) with the mean and variance of each image's channel group (each
/// channel for instance_norm); weight and bias: (channels). Throws ShapeError if the groups do not
/// divide the channels.
Tensor group_norm(const Tensor& x, std::int64_t groups, const Affine& affine = {},
                  double eps = 1e-5);
Tensor instance_norm(const Tensor& x, const Affine& affine = {}, double eps = 1e-5);

struct AttentionArgs {
  /// bool: true where a query may attend to a key; floats: added to the products. Broadcasts to
  /// (..., queries, keys). A query without keys gives NaN.
  std::optional<Tensor> mask = std::nullopt;
  bool causal = false;                         // query i attends to keys 0..i
  std::optional<double> scale = std::nullopt;  // default 1/sqrt(size)
  double dropout = 0;                          // of the attention weights; draws from the generator
  Generator* generator = nullptr;
};
/// softmax(q k^T scale) v. q: (..., queries, size), k: (..., keys, size), v: (..., keys, out).
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionArgs& args = {});

/// How the losses of the elements are combined.
enum class Reduction : std::uint8_t { None, Mean, Sum };

Tensor mse_loss(const Tensor& x, const Tensor& wanted, Reduction reduction = Reduction::Mean);
Tensor l1_loss(const Tensor& x, const Tensor& wanted, Reduction reduction = Reduction::Mean);
/// d^2/2 for |d| < delta, delta (|d| - delta/2) elsewhere.
Tensor huber_loss(const Tensor& x, const Tensor& wanted, double delta = 1,
                  Reduction reduction = Reduction::Mean);
/// -wanted log(p) - (1 - wanted) log(1 - p), with each logarithm at least -100, where its gradient
/// is 0.
Tensor binary_cross_entropy(const Tensor& p, const Tensor& wanted,
                            Reduction reduction = Reduction::Mean);
/// As binary_cross_entropy for p = sigmoid(x), without overflow.
Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& wanted,
                                        Reduction reduction = Reduction::Mean);
/// -log_p[i, labels[i]]. log_p: (n, classes); labels: (n), integers in [0, classes). A label out of
/// range is a ShapeError; if the labels are computed in a function captured by a jit, or their
/// number is a variable, the loss and all gradients are NaN instead. Throws ShapeError, DTypeError.
Tensor nll_loss(const Tensor& log_p, const Tensor& labels, Reduction reduction = Reduction::Mean);
/// Mean over n of -log softmax(logits)[label]; labels as in nll_loss.
Tensor cross_entropy(const Tensor& logits, const Tensor& labels,
                     Reduction reduction = Reduction::Mean);
struct CrossEntropyArgs {
  /// Share of the target distribution, in [0, 1], spread evenly over all classes.
  double label_smoothing = 0;
  /// Rows with this label do not count, in the mean either; the mean of no rows is NaN.
  std::optional<std::int64_t> ignore_index = std::nullopt;
  Reduction reduction = Reduction::Mean;
};
/// As PyTorch's cross_entropy. Throws Error if label_smoothing is outside [0, 1].
Tensor cross_entropy(const Tensor& logits, const Tensor& labels, const CrossEntropyArgs& args);

}  // namespace touchstone

#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "touchstone/tensor/nn.h"
#include "touchstone/tensor/tensor_jit.h"

/// Networks of any size, built from the layers in nn.h.
namespace touchstone::models {

/// Linear layers with relu in between; sizes: {in, ..., out}.
class Mlp final : public nn::Module {
 public:
  /// Throws ShapeError for fewer than two sizes.
  Mlp(const std::vector<std::int64_t>& sizes, Generator& generator,
      const TensorOptions& options = {});
  Tensor operator()(const Tensor& x) const;  // (..., in) -> (..., out)

 private:
  std::vector<nn::Linear> layers_;
};

/// Two 3x3 convolutions with relu and 2x2 max-pooling, and a linear layer, for 8x8 images of
/// digits: (n, 1, 8, 8) -> (n, 10).
class DigitsNet final : public nn::Module {
 public:
  explicit DigitsNet(Generator& generator, const std::string& device = "CPU");
  Tensor operator()(const Tensor& images) const;

 private:
  nn::Conv2d first_, second_;
  nn::Linear out_;
};

/// ResNet-18 (He et al., Deep residual learning for image recognition, CVPR 2016): eight blocks of
/// two 3x3 convolutions in four stages; each stage doubles the channels and halves the height and
/// width. The stem is one 3x3 convolution, the paper's variant for small images.
class ResNet18 final : public nn::Module {
 public:
  /// `width` channels in the first stage; 64 in the paper.
  ResNet18(std::int64_t channels, std::int64_t width, std::int64_t classes, Generator& generator,
           const TensorOptions& options = {});
  /// (n, channels, h, w) -> (n, classes); h and w must be at least 8.
  Tensor operator()(const Tensor& images, nn::Mode mode) const;

 private:
  struct Normed final : nn::Module {  // a convolution without bias and its normalisation
    Normed(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t step,
           Generator& generator, const TensorOptions& options);
    Tensor operator()(const Tensor& x, nn::Mode mode) const;

    Tensor weight;
    std::int64_t stride;
    nn::BatchNorm norm;
  };
  struct Block final : nn::Module {
    Block(std::int64_t in, std::int64_t out, std::int64_t stride, Generator& generator,
          const TensorOptions& options);
    Tensor operator()(const Tensor& x, nn::Mode mode) const;

    Normed first, second;
    std::optional<Normed> shortcut;
  };

  Normed stem_;
  std::vector<Block> blocks_;
  nn::Linear out_;
};

struct GptSizes {
  std::int64_t vocabulary, context, width, heads, layers;
};
/// A GPT-2 style decoder (Radford et al., 2019): token and position embeddings, layers of causal
/// attention and a feed-forward net of four times the width, each with a layer norm in front and a
/// residual around; the token embedding also computes the logits.
class Gpt final : public nn::Module {
 public:
  Gpt(const GptSizes& sizes, Generator& generator, const TensorOptions& options = {});
  /// (n, tokens) integers -> (n, tokens, vocabulary). Throws ShapeError beyond the context.
  Tensor operator()(const Tensor& tokens) const;

  /// State of next() for n sequences, one entry per layer.
  using Cache = std::vector<nn::KvCache>;
  Cache cache(std::int64_t n) const;
  /// (n, 1) integers that follow the `position` tokens in the cache -> (n, vocabulary), the logits
  /// of the next token: bit-identical to the row of the full result on a device that sums in order.
  /// `position` may be a variable in [0, context), so that one set of kernels serves every
  /// position.
  Tensor next(const Tensor& tokens, const sint& position, Cache& cache) const;
  const GptSizes& sizes() const { return sizes_; }
  const std::string& device() const { return tokens_.weight.device(); }

 private:
  struct Layer final : nn::Module {
    Layer(const GptSizes& sizes, Generator& generator, const TensorOptions& options);

    nn::LayerNorm before_attention;
    nn::MultiHeadAttention attention;
    nn::LayerNorm before_mlp;
    nn::Linear widen, narrow;
  };
  GptSizes sizes_;
  nn::Embedding tokens_, positions_;
  std::vector<Layer> layers_;
  nn::LayerNorm last_;
};

/// Generates text with a Gpt token by token, with one set of kernels for every length. The net must
/// outlive it.
class GptWriter final {
 public:
  /// Chooses the next token from the logits.
  using Choose = std::function<std::int64_t(std::span<const float> logits)>;
  explicit GptWriter(const Gpt& net);
  /// Returns the prompt and `count` further tokens; by default the most likely each time. Throws
  /// ShapeError for an empty prompt, beyond the context, and for a token outside the vocabulary.
  std::vector<std::int64_t> operator()(std::vector<std::int64_t> prompt, std::int64_t count,
                                       const Choose& choose = {});
  /// Kernels and other steps per token; 0 before two tokens are generated.
  std::size_t captured() const { return step_.captured(); }

 private:
  std::vector<float> logits_of(std::int64_t token, std::int64_t position);

  const Gpt& net_;
  Gpt::Cache cache_;
  TensorJit step_;
};

}  // namespace touchstone::models

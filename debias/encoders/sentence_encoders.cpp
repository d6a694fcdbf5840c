#include "debias/encoders/sentence_encoders.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "debias/core/error.h"
#include "debias/core/npy.h"
#include "debias/encoders/initialise.h"
#include "debias/runtime/device.h"

namespace debias {
namespace {

constexpr double kTableBound = 0.1;

// Of the tensors of one encoder, each a stream of its own.
class InitKeys {
 public:
  explicit InitKeys(uint64_t seed) {
    key_.domain = RngDomain::kInit;
    key_.seed = seed;
    key_.step = static_cast<uint16_t>(InitStream::kEncoder);
  }
  RngKey next() {
    ++key_.sample;
    return key_;
  }

 private:
  RngKey key_;
};

void require_words(int64_t words, const char* encoder) {
  if (words < 1)
    throw usage_error("encoder '{}' reads words, and the data set has no vocabulary; choose data: {{name: sentences}}", encoder);
}

void read_vectors(const std::string& path, const at::Tensor& table) {
  const NpyArray array = read_npy(path);
  const std::vector<int64_t> wanted = table.sizes().vec();
  if (array.dtype != DType::kFloat32 || array.shape != wanted) {
    throw FileError(path, fmt::format("expected float32 vectors of {} words and {} numbers, found {} of [{}]", wanted[0], wanted[1],
                                      name_of(array.dtype), fmt::join(array.shape, ", ")));
  }
  const auto values = array.as<float>();
  std::copy(values.begin(), values.end(), table.data_ptr<float>());
}

void require_ids(const at::Tensor& ids, int64_t words) {
  if (ids.dim() != 2 || ids.scalar_type() != at::kLong)
    throw data_error("an encoder of sentences is given a tensor that holds no word ids");
  if (ids.numel() > 0 && ids.max().item<int64_t>() >= words) {
    throw data_error("word {} of a vocabulary of {}: the sentences were numbered by another one", ids.max().item<int64_t>(), words);
  }
}

class Gru final : public Encoder {
 public:
  Gru(const GruOptions& options, int64_t words, uint64_t seed) : options_(options) {
    check_options(options, "encoder 'gru'");
    require_words(words, "gru");
    const bool both = options.direction == GruDirection::kBoth;
    const int64_t H = options.features / (both ? 2 : 1), E = options.embedding;
    InitKeys keys(seed);
    embedding_ = at::empty({words, E});
    fill_uniform(embedding_, keys.next(), kTableBound);
    if (options.vectors.empty()) {
      register_parameter("embedding", embedding_);
    } else {
      read_vectors(options.vectors, embedding_);
      register_buffer("embedding", embedding_);
    }
    for (int i = 0; i < (both ? 2 : 1); ++i) directions_.push_back(make_direction(i == 0 ? "" : "_reverse", E, H, keys));
  }

  torch::Tensor forward(const torch::Tensor& ids) override {
    const at::Tensor own = ids.cpu();
    require_ids(own, embedding_.size(0));
    const auto steps = packed_steps(own, embedding_.device());
    return packed_gru(at::embedding(embedding_, steps->words), steps, directions_, options_.cell);
  }
  int64_t feature_dim() const override { return options_.features; }
  std::string registry_name() const override { return "gru"; }

 private:
  GruWeights make_direction(const std::string& suffix, int64_t E, int64_t H, InitKeys& keys) {
    GruWeights weights;
    weights.input = register_parameter("weight_ih_l0" + suffix, at::empty({3 * H, E}));
    weights.hidden = register_parameter("weight_hh_l0" + suffix, at::empty({3 * H, H}));
    // TensorFlow's matrices hold the rows for [x, h] together: one for both gates, one for the new state.
    const double gates = std::sqrt(6.0 / static_cast<double>(E + H + 2 * H)), state = std::sqrt(6.0 / static_cast<double>(E + H + H));
    for (const at::Tensor& matrix : {weights.input, weights.hidden}) {
      fill_uniform(matrix.detach().slice(0, 0, 2 * H), keys.next(), gates);
      fill_uniform(matrix.detach().slice(0, 2 * H), keys.next(), state);
    }
    at::Tensor bias = at::zeros({3 * H});
    bias.slice(0, 0, 2 * H).fill_(1);
    weights.input_bias = register_parameter("bias_ih_l0" + suffix, bias);
    if (options_.cell == GruCell::kTorch) weights.hidden_bias = register_parameter("bias_hh_l0" + suffix, at::zeros({3 * H}));
    return weights;
  }

  GruOptions options_;
  at::Tensor embedding_;
  std::vector<GruWeights> directions_;
};

class BagOfWords final : public Encoder {
 public:
  BagOfWords(const BagOfWordsOptions& options, int64_t words, uint64_t seed) : options_(options) {
    check_options(options, "encoder 'bag_of_words'");
    require_words(words, "bag_of_words");
    embedding_ = register_parameter("embedding", at::empty({words, options.features}));
    fill_uniform(embedding_, InitKeys(seed).next(), kTableBound);
  }

  torch::Tensor forward(const torch::Tensor& ids) override {
    const at::Tensor own = ids.cpu();
    require_ids(own, embedding_.size(0));
    const at::Tensor is_word = own.ge(0), lengths = is_word.sum(1);
    if (lengths.numel() > 0 && lengths.min().item<int64_t>() == 0) throw data_error("a sentence of a batch has no word");
    const at::Tensor words = upload(own.masked_select(is_word), embedding_.device());
    const at::Tensor first = upload(lengths.cumsum(0) - lengths, embedding_.device());
    return std::get<0>(at::embedding_bag(embedding_, words, first, false, /*mode sum*/ 0, false));
  }
  int64_t feature_dim() const override { return options_.features; }
  std::string registry_name() const override { return "bag_of_words"; }

 private:
  BagOfWordsOptions options_;
  at::Tensor embedding_;
};

class SentencePair final : public Encoder {
 public:
  SentencePair(std::shared_ptr<Encoder> f, std::shared_ptr<Encoder> g)
      : f_(register_module("f", std::move(f))), g_(register_module("g", std::move(g))) {}

  torch::Tensor forward(const torch::Tensor& ids) override {
    const at::Tensor own = ids.cpu();  // once for both
    return at::cat({f_->forward(own), g_->forward(own)}, 1);
  }
  int64_t feature_dim() const override { return f_->feature_dim() + g_->feature_dim(); }
  std::string registry_name() const override { return f_->registry_name(); }

 private:
  std::shared_ptr<Encoder> f_, g_;
};

}  // namespace

std::shared_ptr<Encoder> make_gru(const GruOptions& options, int64_t words, uint64_t seed) {
  return std::make_shared<Gru>(options, words, seed);
}

std::shared_ptr<Encoder> make_bag_of_words(const BagOfWordsOptions& options, int64_t words, uint64_t seed) {
  return std::make_shared<BagOfWords>(options, words, seed);
}

std::shared_ptr<Encoder> sentence_pair(std::shared_ptr<Encoder> f, std::shared_ptr<Encoder> g) {
  return std::make_shared<SentencePair>(std::move(f), std::move(g));
}

at::Tensor sentence_vectors(Encoder& pair, const at::Tensor& ids) {
  const at::Tensor halves = pair.forward(ids).unflatten(1, {2, -1});
  return (halves / halves.norm(2, -1, true).clamp_min(1e-12)).flatten(1).cpu();
}

}  // namespace debias

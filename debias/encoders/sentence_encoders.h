// Encoders of sentences: word ids int64 [N, T], each row words and then -1, to features [N, feature_dim()]. The host reads the ids, since the
// lengths of sentences decide what is launched: those of a device are waited for.
//
//   gru            embedding table, then the final states of a GRU (packed_gru.h), both directions one after the other
//   bag_of_words   the sum of the words' embeddings
//
// Tables begin as U(-0.1, 0.1), matrices of the GRU Glorot uniform over the gates together, biases of its gates 1 and all others 0 (Logeswaran
// and Lee 2018). With `vectors` the table is a file's (.npy, float32 [words, embedding], rows in the order of the vocabulary) and stays as it
// is. A registry entry's `in_channels` is the number of words.
#pragma once

#include <cstdint>
#include <memory>

#include "debias/core/options.h"
#include "debias/encoders/encoder.h"
#include "debias/encoders/packed_gru.h"

namespace debias {

enum class GruDirection { kBoth, kForward };
template <>
struct EnumNames<GruDirection> {
  static constexpr std::array<std::pair<std::string_view, GruDirection>, 2> values = {
      {{"both", GruDirection::kBoth}, {"forward", GruDirection::kForward}}};
};

class GruOptions {
 public:
  DEBIAS_OPTION(GruOptions, int64_t, embedding, 620)
  DEBIAS_OPTION(GruOptions, int64_t, features, 1200)
  DEBIAS_OPTION(GruOptions, GruDirection, direction, GruDirection::kBoth)
  DEBIAS_OPTION(GruOptions, GruCell, cell, GruCell::kTensorFlow)
  DEBIAS_OPTION(GruOptions, std::string, vectors, "")
  static const OptionTable<GruOptions>& table();
};

class BagOfWordsOptions {
 public:
  DEBIAS_OPTION(BagOfWordsOptions, int64_t, features, 600)
  static const OptionTable<BagOfWordsOptions>& table();
};

std::shared_ptr<Encoder> make_gru(const GruOptions& options, int64_t words, uint64_t seed);
std::shared_ptr<Encoder> make_bag_of_words(const BagOfWordsOptions& options, int64_t words, uint64_t seed);

// f and g, two encoders that share nothing, as one: features of f, then those of g. Names are "f." and "g.".
std::shared_ptr<Encoder> sentence_pair(std::shared_ptr<Encoder> f, std::shared_ptr<Encoder> g);

// What a sentence becomes to evaluation: features of f and of g, each of unit norm, on the CPU.
at::Tensor sentence_vectors(Encoder& pair, const at::Tensor& ids);

}  // namespace debias

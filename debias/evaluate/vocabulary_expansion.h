// Words that a pair of encoders has no row for, from a file of word vectors that has them (Kiros et al. 2015, 2.2): a linear map with an
// intercept from the file's vectors to a table of embeddings, fitted by least squares in double over the words that both have. A word's mapped
// vector becomes a further row of the table. f and g have a table each, and a map each. If a table is the file's own vectors (`vectors:` of
// an encoder), the map is the identity, and the words have the file's vectors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "debias/encoders/encoder.h"
#include "debias/text/vocabulary.h"

namespace debias {

struct LinearMap {
  at::Tensor weight, intercept;  // double [D, E] and [E]
  // Directions in which the vectors it was fitted to vary: eigenvalues of their scatter above 1e-12 of the largest. Below D the map is the
  // least one of those that fit best.
  int64_t rank = 0;

  at::Tensor operator()(const at::Tensor& rows) const;  // [N, D] to double [N, E]
};

// From the rows of `from` [S, D] to those of `to` [S, E].
LinearMap fit_linear_map(const at::Tensor& from, const at::Tensor& to);

using WordSet = std::set<std::string, std::less<>>;

struct Expansion {
  int64_t shared = 0;              // words that the file and the vocabulary both have, but <unk>
  std::vector<std::string> words;  // those of `sought` that the file has, sorted: word i is number vocabulary.size() + i from now on
};

// Appends the rows to both tables and keeps their earlier rows. `sought`: words that the vocabulary lacks; those with a `_` are
// phrases to makers of vectors, and are left out. FileErrors of for_each_word_vector, and of a file that shares no word with the vocabulary,
// or fewer than a map has unknowns for each number (D + 1), or whose shared words' vectors do not vary in all D directions.
Expansion expand_vocabulary(Encoder& pair, const Vocabulary& vocabulary, const std::string& path, const WordSet& sought);

}  // namespace debias

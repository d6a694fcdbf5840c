// A pair of sentence encoders with its vocabulary: maps texts to vectors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "debias/core/progress.h"
#include "debias/data/readers/sentences.h"
#include "debias/encoders/encoder.h"
#include "debias/evaluate/protocol.h"
#include "debias/text/vocabulary.h"

namespace debias {

// Share of sentences f whose largest score is with the g of an adjacent sentence, among all of a batch of consecutive sentences.
// Scores are inner products, which depend on the norms of the vectors, as in the objective (losses/neighbours.h) and the published program;
// cosines, by which `debias text nearest` searches, would give other numbers.

struct NeighbourRetrieval {
  int64_t sentences = 0, hits = 0;
  double chance = 0;  // of a guess: 2 / batch

  double accuracy() const { return static_cast<double>(hits) / static_cast<double>(sentences); }
  std::pair<double, double> interval() const;  // Wilson's, of 95 %
};

// Evaluates a pair of encoders (sentence_encoders.h) over the sentences in their order, in batches that begin anew at each book; the rest
// at its end is ignored. Usage errors of SentenceBatches.
NeighbourRetrieval retrieve_neighbours(Encoder& pair, const std::shared_ptr<const Sentences>& sentences, int64_t batch,
                                       Progress& progress = Progress::silent());

// Vectors of sentences as evaluation takes them (sentence_vectors), 128 at a time: float32 [N, 2 D].
at::Tensor embed_sentences(Encoder& pair, const std::vector<std::vector<int32_t>>& sentences, Progress& progress = Progress::silent());

// Words that a pair of encoders has no row for, from a file of word vectors that has them (Kiros et al. 2015, 2.2): a linear map with an
// intercept from the file's vectors to a table of embeddings, fitted by least squares in double over the words that both have. A word's mapped
// vector becomes a further row of the table. f and g have a table each, and a map each. If a table is the file's own vectors (`vectors:` of
// an encoder), the map is the identity, and the words have the file's vectors.

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

struct SentenceReader {
  std::shared_ptr<Encoder> encoder;  // sentence_encoders.h
  Vocabulary vocabulary;
  bool lowercase = false;
  std::unordered_map<std::string, int32_t> gained = {};  // words behind the vocabulary's, of expand()

  // Vector of a text of one or more sentences; empty if it has no word.
  std::vector<int32_t> ids(const std::string& text) const;
  bool knows(const std::string& text) const;  // a word of it at least
  // Vectors of texts (sentence_vectors), float32 [N, D]. A data error names a text without a word by its number.
  at::Tensor embed(const std::vector<std::string>& texts, Progress& progress) const;

  // Words of the texts that the vocabulary lacks and a file of word vectors has are known from now on, once for a
  // reader. Says on the log, `what` in front, how many those are.
  void expand(const std::string& what, const std::string& path, const std::vector<std::string>& texts, Log& log);
};

// Several readers' vectors, one after the other: what a uni- and a bidirectional model make together. `progress` must outlive the input,
// which has no evaluation sets yet.
SentenceInput sentence_input(const std::vector<std::shared_ptr<const SentenceReader>>& readers, Progress& progress);

}  // namespace debias

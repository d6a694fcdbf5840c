// A pair of sentence encoders with its vocabulary: maps texts to vectors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "debias/core/progress.h"
#include "debias/encoders/encoder.h"
#include "debias/evaluate/protocol.h"
#include "debias/text/vocabulary.h"

namespace debias {

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

  // Words of the texts that the vocabulary lacks and a file of word vectors has are known from now on (vocabulary_expansion.h), once for a
  // reader. Says on the log, `what` in front, how many those are.
  void expand(const std::string& what, const std::string& path, const std::vector<std::string>& texts, Log& log);
};

// Several readers' vectors, one after the other: what a uni- and a bidirectional model make together. `progress` must outlive the input,
// which has no evaluation sets yet.
SentenceInput sentence_input(const std::vector<std::shared_ptr<const SentenceReader>>& readers, Progress& progress);

}  // namespace debias

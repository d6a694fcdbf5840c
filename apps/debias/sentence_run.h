// A run that reads sentences: its pair of encoders, and the words it knows.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "apps/debias/loaded_run.h"
#include "debias/core/progress.h"
#include "debias/text/characters.h"
#include "debias/text/vocabulary.h"

namespace debias {

struct SentenceRun {
  LoadedRun run;
  Vocabulary vocabulary;
  bool lowercase = false;
  std::unordered_map<std::string, int32_t> gained;  // words behind the vocabulary's, of expand()

  // Of a text of one or more sentences; empty where it has no word.
  std::vector<int32_t> ids(const std::string& text) const;
  // Vectors of texts (sentence_vectors), float32 [N, D]. A data error names a text without a word by its number.
  at::Tensor embed(const std::vector<std::string>& texts, Progress& progress) const;

  // Words of the texts that the vocabulary lacks and a file of word vectors has are known from now on (vocabulary_expansion.h), once for a
  // run. Says on the log, `what` in front, how many those are.
  void expand(const std::string& what, const std::string& path, const std::vector<std::string>& texts, Log& log);
};

// As load_run; the words from RUN/vocabulary.txt or, for a lone checkpoint, from the file that its recipe names. untrained: with the first
// weights of the recipe in place of the checkpoint's. Usage error for a run on images; data errors: a vocabulary of another size than the
// checkpoint's tables.
SentenceRun open_sentence_run(const std::string& path, const std::string& which, bool untrained = false);

// Of `--encoding utf8|latin1`.
Encoding encoding_named(const std::string& word);

// Several runs' vectors, one after the other: what a uni- and a bidirectional model make together.
at::Tensor embed_with_all(const std::vector<SentenceRun>& runs, const std::vector<std::string>& texts, Progress& progress);

}  // namespace debias

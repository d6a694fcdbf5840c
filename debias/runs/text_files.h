// Files for text: a vocabulary, a table of word vectors, and the nearest sentences of a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/core/progress.h"
#include "debias/results/run_files.h"
#include "debias/text/sentence_store.h"

namespace debias {

struct VocabularyRequest {
  std::vector<std::string> corpora;  // text files, or folders of .txt files
  std::string out;
  TextOptions options;
  int64_t size = 50001, min_count = 1;  // maximum number of words, including <unk>; minimum number of occurrences
  int64_t hold_out = 0, seed = 0;       // leaves out the books that a recipe with these values holds out
};

struct VocabularyFile {
  int64_t files = 0, sentences = 0, tokens = 0, distinct = 0, words = 0;
  double covered = 0;  // share of tokens whose word is in the vocabulary
};

// Writes one word per line, <unk> first, then by decreasing frequency. Usage errors: an output that is an input or inside a corpus,
// hold_out for several corpora, no word that is frequent enough.
VocabularyFile write_vocabulary(const VocabularyRequest& request, Progress& progress);

struct WordTableRequest {
  std::string vectors, vocabulary, out;  // lines of a word and its numbers; vocabulary of the run; F.npy
};

struct WordTableFile {
  int64_t words = 0, found = 0, dimensions = 0;
};

// Writes float32 [words, dimensions]; the row is the number of the word. Rows of words that are not in the file are uniform in [-0.1, 0.1].
// Data error: the file has no word of the vocabulary.
WordTableFile write_word_table(const WordTableRequest& request);

struct NearestRequest {
  std::string run, text, queries;  // a run folder; a file of sentences to search; queries, one per line
  std::string which = "last";
  TextFormat format = TextFormat::kLines;  // of `text`
  Encoding encoding = Encoding::kUtf8;     // of both
  int64_t nearest = 10;
};

// The sentences with the largest cosines to each query, without the query itself. They are also written into the run folder for its report.
// Usage error for a checkpoint outside a run folder; data error for a file without a sentence.
NearestSentences find_nearest_sentences(const NearestRequest& request, Progress& progress);

}  // namespace debias

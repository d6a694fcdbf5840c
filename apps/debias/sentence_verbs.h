// What `debias eval sentences` and `debias embed --text` do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "debias/evaluate/condition.h"

namespace debias {

struct SentenceEvalArguments {
  std::string run, root, tasks, which = "last";
  std::optional<Condition> fail_if;
  std::string expand;             // file of word vectors for words that the runs do not know; empty: none
  std::vector<std::string> with;  // further runs, whose vectors are appended
  bool cheap = false, untrained = false, json = false;
};
// Prints the tasks' table and writes RUN/evaluation/sentences.json; what is evaluated in another way has a file of its own, such as
// sentences-untrained-cheap.json (docs/text.md has them all). Tasks that were not requested remain in the file where they were
// evaluated in the same way. Tasks whose files are not below the root are named and left out; a data error where that is all of them.
int eval_sentences(const SentenceEvalArguments& arguments);

struct TextEmbedArguments {
  std::string run, text, out, which = "last";
  std::string expand;  // likewise
  std::string encoding = "utf8";
  bool json = false;
};
// A vector for each line of a text file, as .npy; a usage error for an `out` that ends in .csv. A FileError with its number for a line
// without a word.
int embed_text(const TextEmbedArguments& arguments);

}  // namespace debias

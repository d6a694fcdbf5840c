// A run on sentences: its pair of encoders and its vocabulary.
#pragma once

#include <memory>
#include <string>

#include "debias/evaluate/sentence_reader.h"
#include "debias/runs/loaded_run.h"
#include "debias/text/characters.h"

namespace debias {

// The vocabulary of a run: RUN/vocabulary.txt or, for a lone checkpoint, the file that its recipe names.
std::string vocabulary_file(const LoadedRun& run);

// The run's encoders with its vocabulary. Data errors: no vocabulary, or one whose size differs from the checkpoint's tables.
std::shared_ptr<SentenceReader> open_reader(const LoadedRun& run);

struct SentenceRun {
  LoadedRun run;
  std::shared_ptr<SentenceReader> reader;
};

// `untrained` uses the recipe's initial weights in place of the checkpoint's. Errors of load_run and open_reader; usage error for a run on
// images.
SentenceRun open_sentence_run(const std::string& path, const std::string& which, bool untrained = false);

// Parses the value of `--encoding utf8|latin1`.
Encoding encoding_named(const std::string& word);

}  // namespace debias

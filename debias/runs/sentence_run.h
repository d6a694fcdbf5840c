// A run that reads sentences: its pair of encoders, and the words it knows.
#pragma once

#include <memory>
#include <string>

#include "debias/evaluate/sentence_reader.h"
#include "debias/runs/loaded_run.h"
#include "debias/text/characters.h"

namespace debias {

// The words of a run: RUN/vocabulary.txt or, of a lone checkpoint, the file that its recipe names.
std::string vocabulary_file(const LoadedRun& run);

// The run's encoders with its words. Data errors: no vocabulary, one of another size than the checkpoint's tables.
std::shared_ptr<SentenceReader> open_reader(const LoadedRun& run);

struct SentenceRun {
  LoadedRun run;
  std::shared_ptr<SentenceReader> reader;
};

// untrained: with the first weights of the recipe in place of the checkpoint's. Errors of load_run and open_reader; usage error for a run on
// images.
SentenceRun open_sentence_run(const std::string& path, const std::string& which, bool untrained = false);

// Value of `--encoding utf8|latin1`.
Encoding encoding_named(const std::string& word);

}  // namespace debias

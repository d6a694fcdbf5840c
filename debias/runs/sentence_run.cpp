#include "debias/runs/sentence_run.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "debias/core/error.h"
#include "debias/data/readers/sentences.h"
#include "debias/train/methods/model.h"
#include "debias/train/recipe/recipe.h"

namespace debias {

std::string vocabulary_file(const LoadedRun& run) {
  const std::string own = run.folder + "/vocabulary.txt";
  if (!run.folder.empty() && std::filesystem::exists(own)) return own;
  const std::string named = read_recipe(run.recipe).train_data.label_file;
  if (named.empty()) throw data_error("opening '{}': no vocabulary.txt beside it, and its recipe names none", run.checkpoint);
  return named;
}

std::shared_ptr<SentenceReader> open_reader(const LoadedRun& run) {
  const std::string file = vocabulary_file(run);
  Vocabulary vocabulary = Vocabulary::read(file);
  if (vocabulary.size() != run.words) {
    throw data_error("{}: {} words, the tables of '{}' have {}; give the vocabulary that it was trained with", file, vocabulary.size(),
                     run.checkpoint, run.words);
  }
  const Recipe recipe = read_recipe(run.recipe);
  const auto* options = recipe.train_data.as<SentencesOptions>();
  return std::make_shared<SentenceReader>(SentenceReader{run.encoder, std::move(vocabulary), options != nullptr && options->lowercase()});
}

SentenceRun open_sentence_run(const std::string& path, const std::string& which, bool untrained) {
  LoadedRun run = load_run(path, which);
  if (run.words == 0) throw usage_error("opening '{}': it reads images; this is for runs of method quick_thoughts", path);
  if (untrained) run.encoder = make_model(read_recipe(run.recipe), run.words).encoder;
  std::shared_ptr<SentenceReader> reader = open_reader(run);
  return {std::move(run), std::move(reader)};
}

Encoding encoding_named(const std::string& word) { return word == "latin1" ? Encoding::kLatin1 : Encoding::kUtf8; }

}  // namespace debias

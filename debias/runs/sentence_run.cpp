#include "debias/runs/sentence_run.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "debias/core/error.h"
#include "debias/train/methods/model.h"
#include "debias/train/recipe/recipe.h"

namespace debias {

std::string vocabulary_file(const LoadedRun& run) {
  const std::string own = run.folder + "/vocabulary.txt";
  if (!run.folder.empty() && std::filesystem::exists(own)) return own;
  const Config* named = read_recipe(run.recipe).train_data.find("vocabulary");
  if (named == nullptr || !named->is_scalar())
    throw data_error("opening '{}': no vocabulary.txt beside it, and its recipe names none", run.checkpoint);
  return named->text();
}

std::shared_ptr<SentenceReader> open_reader(const LoadedRun& run) {
  const std::string file = vocabulary_file(run);
  Vocabulary vocabulary = Vocabulary::read(file);
  if (vocabulary.size() != run.words) {
    throw data_error("{}: {} words, the tables of '{}' have {}; give the vocabulary that it was trained with", file, vocabulary.size(),
                     run.checkpoint, run.words);
  }
  const Config* lowercase = read_recipe(run.recipe).train_data.find("lowercase");
  return std::make_shared<SentenceReader>(
      SentenceReader{run.encoder, std::move(vocabulary), lowercase != nullptr && lowercase->text() == "true"});
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

#include "apps/debias/sentence_run.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/printable.h"
#include "debias/evaluate/neighbour_retrieval.h"
#include "debias/evaluate/vocabulary_expansion.h"
#include "debias/text/corpus_text.h"
#include "debias/train/model.h"
#include "debias/train/recipe.h"

namespace debias {
namespace {

std::string vocabulary_path(const LoadedRun& run, const Recipe& recipe) {
  const std::string own = run.folder + "/vocabulary.txt";
  if (!run.folder.empty() && std::filesystem::exists(own)) return own;
  const Config* named = recipe.train_data.find("vocabulary");
  if (named == nullptr || !named->is_scalar())
    throw data_error("opening '{}': no vocabulary.txt beside it, and its recipe names none", run.checkpoint);
  return named->text();
}

}  // namespace

std::vector<int32_t> SentenceRun::ids(const std::string& text) const {
  std::vector<int32_t> numbers;
  for (const auto& word : words_of(text, lowercase)) {
    const auto further = gained.find(word);
    numbers.push_back(further == gained.end() ? vocabulary.number(word) : further->second);
  }
  return numbers;
}

at::Tensor SentenceRun::embed(const std::vector<std::string>& texts, Progress& progress) const {
  std::vector<std::vector<int32_t>> sentences;
  for (const auto& text : texts) {
    sentences.push_back(ids(text));
    if (sentences.back().empty()) throw data_error("text {} has no word: {}", sentences.size(), printable(text));
  }
  return embed_sentences(*run.encoder, sentences, progress);
}

void SentenceRun::expand(const std::string& what, const std::string& path, const std::vector<std::string>& texts, Log& log) {
  WordSet unknown;
  for (const auto& text : texts) {
    for (auto& word : words_of(text, lowercase)) {
      if (vocabulary.number(word) == 0) unknown.insert(std::move(word));
    }
  }
  const Expansion expansion = expand_vocabulary(*run.encoder, vocabulary, path, unknown);
  auto number = static_cast<int32_t>(vocabulary.size());
  for (const auto& word : expansion.words) gained.emplace(word, number++);
  log.info(fmt::format("{}: words expanded from '{}': {} shared with the run's vocabulary, vectors for {} of {} unknown words of the text",
                       what, path, expansion.shared, expansion.words.size(), unknown.size()));
}

SentenceRun open_sentence_run(const std::string& path, const std::string& which, bool untrained) {
  LoadedRun run = load_run(path, which);
  if (run.words == 0) throw usage_error("opening '{}': it reads images; this is for runs of method quick_thoughts", path);
  const Recipe recipe = read_recipe(run.recipe);
  const std::string file = vocabulary_path(run, recipe);
  Vocabulary vocabulary = Vocabulary::read(file);
  if (vocabulary.size() != run.words) {
    throw data_error("{}: {} words, the tables of '{}' have {}; give the vocabulary that it was trained with", file, vocabulary.size(),
                     run.checkpoint, run.words);
  }
  if (untrained) run.encoder = make_model(recipe, run.words).encoder;
  const Config* lowercase = recipe.train_data.find("lowercase");
  return {std::move(run), std::move(vocabulary), lowercase != nullptr && lowercase->text() == "true", {}};
}

Encoding encoding_named(const std::string& word) { return word == "latin1" ? Encoding::kLatin1 : Encoding::kUtf8; }

at::Tensor embed_with_all(const std::vector<SentenceRun>& runs, const std::vector<std::string>& texts, Progress& progress) {
  std::vector<at::Tensor> parts;
  for (const auto& run : runs) parts.push_back(run.embed(texts, progress));
  return at::cat(parts, 1);
}

}  // namespace debias

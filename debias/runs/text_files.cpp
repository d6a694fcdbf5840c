#include "debias/runs/text_files.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/npy.h"
#include "debias/core/paths.h"
#include "debias/core/philox.h"
#include "debias/core/sha256.h"
#include "debias/data/readers/sentences.h"
#include "debias/runs/sentence_evaluation.h"
#include "debias/text/characters.h"
#include "debias/text/tokeniser.h"
#include "debias/text/vocabulary.h"

namespace debias {
namespace {

// Books that a recipe with the same hold_out and seed trains on.
std::vector<TextFile> kept_books(const VocabularyRequest& request, const std::vector<TextFile>& files) {
  if (request.hold_out == 0) return files;
  if (request.corpora.size() > 1) {
    throw usage_error("text vocabulary: --hold-out {} of {} corpora; give one, as data.train has one root", request.hold_out,
                      request.corpora.size());
  }
  std::vector<TextFile> kept;
  const auto options = SentencesOptions{.hold_out = request.hold_out, .seed = request.seed};
  for (const int64_t number : chosen_books(options, std::ssize(files))) kept.push_back(files[static_cast<size_t>(number)]);
  return kept;
}

constexpr double kDrawnBound = 0.1;  // of vectors of words that the file lacks, as tables begin

std::vector<float> drawn_table(int64_t words, size_t dimensions) {
  std::vector<float> table(static_cast<size_t>(words) * dimensions);
  Random random({.domain = RngDomain::kInit, .seed = 1});
  for (float& value : table) value = static_cast<float>(random.uniform(-kDrawnBound, kDrawnBound));
  return table;
}

// Each once, in order.
std::vector<std::string> sentences_in(const std::string& path, Encoding encoding, bool lines_alone) {
  std::vector<std::string> sentences;
  std::set<std::string> seen;
  const auto take = [&](const std::string& sentence) {
    if (!tokenise(sentence).empty() && seen.insert(sentence).second) sentences.push_back(sentence);
  };
  TextLines lines(path, encoding);
  SentenceSplitter splitter(take);
  for (std::string_view line; lines.next(line);) {
    if (lines_alone) {
      take(std::string(line));
    } else {
      splitter.line(line);
    }
  }
  splitter.end();
  if (sentences.empty()) throw FileError(path, "it has no sentence");
  return sentences;
}

std::string digest_of(const std::vector<std::string>& texts) {
  Sha256 hash;
  for (const auto& text : texts) hash.update(text.data(), text.size() + 1);  // with the zero behind it
  return hash.hex();
}

}  // namespace

VocabularyFile write_vocabulary(const VocabularyRequest& request, Progress& progress) {
  std::vector<TextFile> all;
  for (const auto& corpus : request.corpora) {
    for (auto& file : text_files(corpus, "text vocabulary")) all.push_back(std::move(file));
  }
  std::vector<std::string> inputs;
  for (const auto& file : all) inputs.push_back(file.path);
  refuse_overwriting("text vocabulary", {request.out}, inputs);
  for (const auto& corpus : request.corpora) refuse_inside_data(request.out, text_folders(corpus));  // of which it would be one
  const std::vector<TextFile> files = kept_books(request, all);
  WordCounter counter;
  int64_t sentences = 0, read = 0;
  progress.begin("counting words", std::ssize(files));
  for (const auto& file : files) {
    for_each_sentence(file, request.options, [&](const std::vector<std::string>& words) {
      counter.add(words);
      ++sentences;
    });
    progress.advance(++read, "");
  }
  progress.end();
  const Vocabulary vocabulary = counter.vocabulary(request.size, request.min_count);
  if (vocabulary.size() < 2) {
    throw usage_error("text vocabulary: no word occurs {} times or more; lower --min-count, or raise --size", request.min_count);
  }
  write_file_atomically(request.out, vocabulary.text());
  return {.files = std::ssize(files),
          .sentences = sentences,
          .tokens = counter.tokens(),
          .distinct = counter.distinct(),
          .words = vocabulary.size(),
          .covered = static_cast<double>(counter.occurrences(vocabulary)) / static_cast<double>(counter.tokens())};
}

WordTableFile write_word_table(const WordTableRequest& request) {
  const Vocabulary vocabulary = Vocabulary::read(request.vocabulary);
  refuse_overwriting("text vectors", {request.out}, {request.vectors, request.vocabulary});
  std::vector<float> table;
  std::vector<bool> found(static_cast<size_t>(vocabulary.size()), false);
  const auto is_known = [&](std::string_view word) { return vocabulary.number(word) != 0 || word == kUnknownWord; };
  const auto take = [&](std::string_view word, const std::vector<float>& numbers) {
    if (table.empty()) table = drawn_table(vocabulary.size(), numbers.size());
    const auto row = static_cast<size_t>(vocabulary.number(word));
    found[row] = true;
    std::copy(numbers.begin(), numbers.end(), table.begin() + static_cast<std::ptrdiff_t>(row * numbers.size()));
  };
  const size_t dimensions = for_each_word_vector(request.vectors, is_known, take);
  if (std::find(found.begin() + 1, found.end(), true) == found.end()) {
    throw FileError(request.vectors, "it has no word of the vocabulary; give vectors of the same language and case");
  }
  write_npy(request.out, DType::kFloat32, {vocabulary.size(), static_cast<int64_t>(dimensions)}, table.data());
  return {
      .words = vocabulary.size(), .found = std::count(found.begin(), found.end(), true), .dimensions = static_cast<int64_t>(dimensions)};
}

NearestSentences find_nearest_sentences(const NearestRequest& request, Progress& progress) {
  const SentenceRun run = open_sentence_run(request.run, request.which);
  if (run.run.folder.empty()) throw usage_error("text nearest writes into a run folder, and '{}' is in none", request.run);
  const std::vector<std::string> texts = sentences_in(request.text, request.encoding, request.format == TextFormat::kLines);
  const std::vector<std::string> asked = sentences_in(request.queries, request.encoding, true);
  const auto unit = [&](const std::vector<std::string>& sentences) { return run.reader->embed(sentences, progress) / std::sqrt(2.0); };
  const at::Tensor cosines = unit(asked).mm(unit(texts).t());
  NearestSentences found;
  found.checkpoint = std::filesystem::path(run.run.checkpoint).filename().string();
  found.epoch = run.run.epoch;
  found.text = request.text;
  found.sentences = std::ssize(texts);
  found.digest = digest_of(texts);
  for (size_t q = 0; q < asked.size(); ++q) {
    const at::Tensor row = cosines[static_cast<int64_t>(q)];
    const auto order = std::get<1>(row.topk(std::min<int64_t>(request.nearest + 1, row.numel())));
    SentenceQuery query = {asked[q], {}};
    for (int64_t k = 0; k < order.numel() && std::ssize(query.nearest) < request.nearest; ++k) {
      const int64_t place = order[k].item<int64_t>();
      if (texts[static_cast<size_t>(place)] == asked[q]) continue;
      query.nearest.push_back({texts[static_cast<size_t>(place)], row[place].item<double>()});
    }
    found.queries.push_back(std::move(query));
  }
  write_file_atomically(run.run.folder + "/" + kNearestSentencesFile, to_json(found).dump(2) + "\n");
  return found;
}

}  // namespace debias

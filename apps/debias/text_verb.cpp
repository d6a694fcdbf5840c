#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "apps/debias/output_path.h"
#include "apps/debias/results.h"
#include "apps/debias/sentence_run.h"
#include "apps/debias/terminal.h"
#include "apps/debias/verbs.h"
#include "debias/core/atomic_file.h"
#include "debias/core/data_folder.h"
#include "debias/core/file_error.h"
#include "debias/core/npy.h"
#include "debias/core/philox.h"
#include "debias/core/printable.h"
#include "debias/core/sha256.h"
#include "debias/data/readers/sentences.h"
#include "debias/results/nearest_sentences.h"
#include "debias/text/corpus_text.h"
#include "debias/text/sentence_split.h"
#include "debias/text/text_lines.h"
#include "debias/text/tokeniser.h"
#include "debias/text/vocabulary.h"
#include "debias/text/word_vectors.h"

namespace debias {
namespace {

struct VocabularyArguments {
  std::vector<std::string> corpora;
  std::string out, format = "text", encoding = "utf8";
  int64_t size = 50001, least = 1, hold_out = 0, seed = 0;
  bool lowercase = false, json = false;

  TextOptions text() const {
    return TextOptions()
        .format(format == "lines" ? TextFormat::kLines : TextFormat::kText)
        .encoding(encoding_named(encoding))
        .lowercase(lowercase);
  }
};

// Those that a recipe with the same hold_out and seed trains on.
std::vector<TextFile> kept_books(const VocabularyArguments& arguments, const std::vector<TextFile>& files) {
  if (arguments.hold_out == 0) return files;
  if (arguments.corpora.size() > 1) {
    throw usage_error("text vocabulary: --hold-out {} of {} corpora; give one, as data.train has one root", arguments.hold_out,
                      arguments.corpora.size());
  }
  std::vector<TextFile> kept;
  const auto options = SentencesOptions().hold_out(arguments.hold_out).seed(arguments.seed);
  for (const int64_t number : chosen_books(options, std::ssize(files))) kept.push_back(files[static_cast<size_t>(number)]);
  return kept;
}

int make_vocabulary(const VocabularyArguments& arguments) {
  std::vector<TextFile> all;
  for (const auto& corpus : arguments.corpora) {
    for (auto& file : text_files(corpus, "text vocabulary")) all.push_back(std::move(file));
  }
  std::vector<std::string> inputs;
  for (const auto& file : all) inputs.push_back(file.path);
  refuse_overwriting("text vocabulary", {arguments.out}, inputs);
  for (const auto& corpus : arguments.corpora) refuse_inside_data(arguments.out, text_folders(corpus));  // of which it would be one
  const std::vector<TextFile> files = kept_books(arguments, all);
  const auto progress = terminal_progress();
  WordCounter counter;
  int64_t sentences = 0, read = 0;
  progress->begin("counting words", std::ssize(files));
  for (const auto& file : files) {
    for_each_sentence(file, arguments.text(), [&](const std::vector<std::string>& words) {
      counter.add(words);
      ++sentences;
    });
    progress->advance(++read, "");
  }
  progress->end();
  const Vocabulary vocabulary = counter.vocabulary(arguments.size, arguments.least);
  if (vocabulary.size() < 2) {
    throw usage_error("text vocabulary: no word occurs {} times; lower --min-count, or raise --size", arguments.least);
  }
  write_file_atomically(arguments.out, vocabulary.text());
  const double covered = static_cast<double>(counter.occurrences(vocabulary)) / static_cast<double>(counter.tokens());
  if (arguments.json) {
    print_json({{"files", files.size()},
                {"sentences", sentences},
                {"tokens", counter.tokens()},
                {"distinct", counter.distinct()},
                {"words", vocabulary.size()},
                {"covered", covered},
                {"out", arguments.out}});
    return 0;
  }
  fmt::print("{}: {} words with <unk>\n", without_control_characters(arguments.out), vocabulary.size());
  fmt::print("{} files, {} sentences, {} tokens, {} distinct; the vocabulary covers {:.2f} % of the tokens\n", files.size(), sentences,
             counter.tokens(), counter.distinct(), 100 * covered);
  return 0;
}

constexpr double kDrawnBound = 0.1;  // of vectors of words that the file lacks, as tables begin

std::vector<float> drawn_table(int64_t words, size_t dimensions) {
  std::vector<float> table(static_cast<size_t>(words) * dimensions);
  Random random({.domain = RngDomain::kInit, .seed = 1});
  for (float& value : table) value = static_cast<float>(random.uniform(-kDrawnBound, kDrawnBound));
  return table;
}

struct VectorArguments {
  std::string vectors, vocabulary, out;
  bool json = false;
};

int make_vectors(const VectorArguments& arguments) {
  const Vocabulary vocabulary = Vocabulary::read(arguments.vocabulary);
  refuse_overwriting("text vectors", {arguments.out}, {arguments.vectors, arguments.vocabulary});
  std::vector<float> table;
  std::vector<bool> found(static_cast<size_t>(vocabulary.size()), false);
  const auto is_known = [&](std::string_view word) { return vocabulary.number(word) != 0 || word == kUnknownWord; };
  const auto take = [&](std::string_view word, const std::vector<float>& numbers) {
    if (table.empty()) table = drawn_table(vocabulary.size(), numbers.size());
    const auto row = static_cast<size_t>(vocabulary.number(word));
    found[row] = true;
    std::copy(numbers.begin(), numbers.end(), table.begin() + static_cast<std::ptrdiff_t>(row * numbers.size()));
  };
  const size_t dimensions = for_each_word_vector(arguments.vectors, is_known, take);
  if (std::find(found.begin() + 1, found.end(), true) == found.end()) {
    throw FileError(arguments.vectors, "it has not one word of the vocabulary; give vectors of the same language and case");
  }
  write_npy(arguments.out, DType::kFloat32, {vocabulary.size(), static_cast<int64_t>(dimensions)}, table.data());
  const auto known = std::count(found.begin(), found.end(), true);
  if (arguments.json) {
    print_json({{"words", vocabulary.size()}, {"found", known}, {"dimensions", dimensions}, {"out", arguments.out}});
    return 0;
  }
  fmt::print("{}: {} of {} words have a vector of {} numbers, the others are drawn\n", without_control_characters(arguments.out), known,
             vocabulary.size(), dimensions);
  return 0;
}

struct NearestArguments {
  std::string run, text, queries, which = "last", format = "lines", encoding = "utf8";
  int64_t nearest = 10;
  bool json = false;
};

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
  if (sentences.empty()) throw FileError(path, "not one sentence in it");
  return sentences;
}

std::string digest_of(const std::vector<std::string>& texts) {
  Sha256 hash;
  for (const auto& text : texts) hash.update(text.data(), text.size() + 1);  // with the zero behind it
  return hash.hex();
}

int find_nearest(const NearestArguments& arguments) {
  const SentenceRun run = open_sentence_run(arguments.run, arguments.which);
  if (run.run.folder.empty()) throw usage_error("text nearest writes into a run folder, and '{}' lies in none", arguments.run);
  const Encoding encoding = encoding_named(arguments.encoding);
  const std::vector<std::string> texts = sentences_in(arguments.text, encoding, arguments.format == "lines");
  const std::vector<std::string> asked = sentences_in(arguments.queries, encoding, true);
  const auto progress = terminal_progress();
  const auto unit = [&](const std::vector<std::string>& sentences) { return run.embed(sentences, *progress) / std::sqrt(2.0); };
  const at::Tensor cosines = unit(asked).mm(unit(texts).t());
  NearestSentences found;
  found.checkpoint = std::filesystem::path(run.run.checkpoint).filename().string();
  found.epoch = run.run.epoch;
  found.text = arguments.text;
  found.sentences = std::ssize(texts);
  found.digest = digest_of(texts);
  for (size_t q = 0; q < asked.size(); ++q) {
    const at::Tensor row = cosines[static_cast<int64_t>(q)];
    const auto order = std::get<1>(row.topk(std::min<int64_t>(arguments.nearest + 1, row.numel())));
    SentenceQuery query = {asked[q], {}};
    for (int64_t k = 0; k < order.numel() && std::ssize(query.nearest) < arguments.nearest; ++k) {
      const int64_t place = order[k].item<int64_t>();
      if (texts[static_cast<size_t>(place)] == asked[q]) continue;
      query.nearest.push_back({texts[static_cast<size_t>(place)], row[place].item<double>()});
    }
    found.queries.push_back(std::move(query));
  }
  const Json json = to_json(found);
  write_file_atomically(run.run.folder + "/" + kNearestSentencesFile, json.dump(2) + "\n");
  if (arguments.json) {
    print_json(json);
    return 0;
  }
  std::string text;
  for (const auto& query : found.queries) {
    text += without_control_characters(query.text) + "\n";
    for (const auto& near : query.nearest) text += fmt::format("  {:.3f}  {}\n", near.cosine, without_control_characters(near.text));
  }
  print_lines(text);
  return 0;
}

}  // namespace

void add_text_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("text", "prepares text to train on");
  verb->require_subcommand(1);
  auto* part = verb->add_subcommand("vocabulary", "counts the words of text files, and writes the commonest");
  auto arguments = std::make_shared<VocabularyArguments>();
  part->add_option("corpora", arguments->corpora, "text files, or folders of .txt files")->required();
  part->add_option("--out", arguments->out, "file to write: a word a line, <unk> first, then by falling frequency")->required();
  part->add_option("--size", arguments->size, "at most so many words, <unk> among them")->check(CLI::Range(2, 1 << 30));
  part->add_option("--min-count", arguments->least, "leave out words that occur less often")->check(CLI::Range(1, 1 << 30));
  auto* hold_out =
      part->add_option("--hold-out", arguments->hold_out, "leave so many books out: those that hold_out and seed of a recipe set aside")
          ->check(CLI::Range(0, 1 << 30));
  part->add_option("--seed", arguments->seed, "of that recipe's data.train (0)")
      ->needs(hold_out)
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()));
  part->add_option("--format", arguments->format, "text (paragraphs) or lines (a sentence a line)")
      ->check(CLI::IsMember({"text", "lines"}));
  part->add_option("--encoding", arguments->encoding, "utf8 or latin1")->check(CLI::IsMember({"utf8", "latin1"}));
  part->add_flag("--lowercase", arguments->lowercase, "count words in lower case; train with lowercase: true then");
  part->add_flag("--json", arguments->json, "one JSON object on standard output");
  part->footer("Example: debias text vocabulary books --size 20000 --lowercase --out vocab.txt");
  part->callback([arguments, &action] { action = [arguments] { return make_vocabulary(*arguments); }; });
  auto* nearest = verb->add_subcommand("nearest", "finds the sentences nearest to some queries; a report shows them");
  auto sought = std::make_shared<NearestArguments>();
  nearest->add_option("run", sought->run, "a run folder of method quick_thoughts")->required();
  nearest->add_option("--text", sought->text, "the sentences to search")->required();
  nearest->add_option("--queries", sought->queries, "a sentence a line")->required();
  nearest->add_option("--format", sought->format, "of --text: lines or text (paragraphs)")->check(CLI::IsMember({"lines", "text"}));
  nearest->add_option("--encoding", sought->encoding, "of --text and --queries: utf8 or latin1")->check(CLI::IsMember({"utf8", "latin1"}));
  nearest->add_option("--k", sought->nearest, "so many of each query")->check(CLI::Range(1, 1000));
  nearest->add_option("--checkpoint", sought->which, "last, best or previous")->check(CLI::IsMember({"last", "best", "previous"}));
  nearest->add_flag("--json", sought->json, "one JSON object on standard output");
  nearest->callback([sought, &action] { action = [sought] { return find_nearest(*sought); }; });
  auto* vectors = verb->add_subcommand("vectors", "takes a vocabulary's rows from a file of word vectors (GloVe, word2vec as text)");
  auto given = std::make_shared<VectorArguments>();
  vectors->add_option("vectors", given->vectors, "a word and its numbers on every line, spaces between")->required();
  vectors->add_option("--vocabulary", given->vocabulary, "of the run")->required();
  vectors->add_option("--out", given->out, "F.npy, for encoder: {name: gru, vectors: F.npy}")->required();
  vectors->add_flag("--json", given->json, "one JSON object on standard output");
  vectors->callback([given, &action] { action = [given] { return make_vectors(*given); }; });
}

}  // namespace debias

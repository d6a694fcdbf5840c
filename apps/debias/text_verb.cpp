#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "apps/debias/results.h"
#include "apps/debias/verbs.h"
#include "debias/core/printable.h"
#include "debias/process/terminal.h"
#include "debias/runs/sentence_evaluation.h"
#include "debias/runs/text_files.h"

namespace debias {
namespace {

struct TextArguments {
  std::string format, encoding = "utf8";
  bool lowercase = false, json = false;

  TextFormat form() const { return format == "lines" ? TextFormat::kLines : TextFormat::kText; }
};

int make_vocabulary(const VocabularyRequest& request, bool json) {
  const VocabularyFile made = write_vocabulary(request, *terminal_progress());
  if (json) {
    print_json({{"files", made.files},
                {"sentences", made.sentences},
                {"tokens", made.tokens},
                {"distinct", made.distinct},
                {"words", made.words},
                {"covered", made.covered},
                {"out", request.out}});
    return 0;
  }
  fmt::print("{}: {} words with <unk>\n", without_control_characters(request.out), made.words);
  fmt::print("{} files, {} sentences, {} tokens, {} distinct; the vocabulary covers {:.2f} % of the tokens\n", made.files, made.sentences,
             made.tokens, made.distinct, 100 * made.covered);
  return 0;
}

int make_vectors(const WordTableRequest& request, bool json) {
  const WordTableFile made = write_word_table(request);
  if (json) {
    print_json({{"words", made.words}, {"found", made.found}, {"dimensions", made.dimensions}, {"out", request.out}});
    return 0;
  }
  fmt::print("{}: {} of {} words have a vector of {} numbers, the others are random\n", without_control_characters(request.out), made.found,
             made.words, made.dimensions);
  return 0;
}

int find_nearest(const NearestRequest& request, bool json) {
  const NearestSentences found = find_nearest_sentences(request, *terminal_progress());
  if (json) {
    print_json(to_json(found));
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
  auto* verb = root.add_subcommand("text", "prepares text for training");
  verb->require_subcommand(1);
  auto* part = verb->add_subcommand("vocabulary", "counts the words of text files, and writes the most frequent ones");
  auto arguments = std::make_shared<VocabularyRequest>();
  auto words = std::make_shared<TextArguments>(TextArguments{.format = "text"});
  part->add_option("corpora", arguments->corpora, "text files, or folders of .txt files")->required();
  part->add_option("--out", arguments->out, "file to write: one word per line, <unk> first, then by decreasing frequency")->required();
  part->add_option("--size", arguments->size, "maximum number of words, including <unk>")->check(CLI::Range(2, 1 << 30));
  part->add_option("--min-count", arguments->min_count, "leave out words that occur less often")->check(CLI::Range(1, 1 << 30));
  auto* hold_out = part->add_option("--hold-out", arguments->hold_out,
                                    "number of books to leave out, chosen like those of hold_out and seed in a recipe")
                       ->check(CLI::Range(0, 1 << 30));
  part->add_option("--seed", arguments->seed, "seed of the recipe's data.train, which chooses the books of --hold-out (0)")
      ->needs(hold_out)
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()));
  part->add_option("--format", words->format, "text (paragraphs) or lines (one sentence per line)")
      ->check(CLI::IsMember({"text", "lines"}));
  part->add_option("--encoding", words->encoding, "utf8 or latin1")->check(CLI::IsMember({"utf8", "latin1"}));
  part->add_flag("--lowercase", words->lowercase, "count words in lower case; the recipe then needs lowercase: true");
  part->add_flag("--json", words->json, "one JSON object on standard output");
  part->footer("Example: debias text vocabulary books --size 20000 --lowercase --out vocab.txt");
  part->callback([arguments, words, &action] {
    arguments->options = TextOptions{.format = words->form(), .encoding = encoding_named(words->encoding), .lowercase = words->lowercase};
    action = [arguments, words] { return make_vocabulary(*arguments, words->json); };
  });
  auto* nearest = verb->add_subcommand("nearest", "finds the sentences nearest to each query, for debias report to show");
  auto sought = std::make_shared<NearestRequest>();
  auto form = std::make_shared<TextArguments>(TextArguments{.format = "lines"});
  nearest->add_option("run", sought->run, "a run folder of method quick_thoughts")->required();
  nearest->add_option("--text", sought->text, "the sentences to search")->required();
  nearest->add_option("--queries", sought->queries, "file with one sentence per line")->required();
  nearest->add_option("--format", form->format, "format of --text: lines or text (paragraphs)")->check(CLI::IsMember({"lines", "text"}));
  nearest->add_option("--encoding", form->encoding, "character encoding of --text and --queries: utf8 or latin1")
      ->check(CLI::IsMember({"utf8", "latin1"}));
  nearest->add_option("--k", sought->nearest, "number of sentences to find for each query")->check(CLI::Range(1, 1000));
  nearest->add_option("--checkpoint", sought->which, "last, best or previous")->check(CLI::IsMember({"last", "best", "previous"}));
  nearest->add_flag("--json", form->json, "one JSON object on standard output");
  nearest->callback([sought, form, &action] {
    sought->format = form->form();
    sought->encoding = encoding_named(form->encoding);
    action = [sought, form] { return find_nearest(*sought, form->json); };
  });
  auto* vectors = verb->add_subcommand("vectors", "selects a vocabulary's vectors from a file of word vectors (GloVe, word2vec as text)");
  auto given = std::make_shared<WordTableRequest>();
  auto as_json = std::make_shared<bool>(false);
  vectors->add_option("vectors", given->vectors, "text file with a word and its vector on each line, separated by spaces")->required();
  vectors->add_option("--vocabulary", given->vocabulary, "vocabulary file of the run")->required();
  vectors->add_option("--out", given->out, "F.npy, for encoder: {name: gru, vectors: F.npy}")->required();
  vectors->add_flag("--json", *as_json, "one JSON object on standard output");
  vectors->callback([given, as_json, &action] { action = [given, as_json] { return make_vectors(*given, *as_json); }; });
}

}  // namespace debias

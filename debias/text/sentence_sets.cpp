#include "debias/text/sentence_sets.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>

#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/text/characters.h"

namespace debias {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

constexpr std::string_view kPairHeader = "Quality\t";

// Without the spaces at its ends, U+00A0 among them: a tokeniser sees no word in them, and a line of nothing else is a blank one.
std::string trimmed(std::string_view line) {
  const std::u32string text = characters(line);
  const auto begin = std::find_if_not(text.begin(), text.end(), is_space);
  const auto end = std::find_if_not(text.rbegin(), std::make_reverse_iterator(begin), is_space).base();
  return utf8(std::u32string(begin, end));
}

// The first of `names` that is in the root or a folder of it; empty where none is.
std::string find_in(const std::string& root, const Names& names) {
  std::vector<fs::path> folders = {root};
  std::error_code failure;
  for (fs::directory_iterator next(root, failure), end; !failure && next != end; next.increment(failure)) {
    if (next->is_directory(failure)) folders.push_back(next->path());
  }
  std::sort(folders.begin() + 1, folders.end());
  for (const auto& folder : folders) {
    for (const auto& name : names) {
      if (fs::is_regular_file(folder / name, failure)) return (folder / name).string();
    }
  }
  return "";
}

void read_class(const std::string& path, int64_t label, LabelledText& into) {
  TextLines lines(path, Encoding::kLatin1);
  for (std::string_view line; lines.next(line);) {
    std::string text = trimmed(line);
    if (text.empty()) continue;
    into.texts.push_back(std::move(text));
    into.labels.push_back(label);
  }
}

LabelledText read_questions(const std::string& path, Names& classes, bool train) {
  LabelledText read;
  TextLines lines(path, Encoding::kLatin1);
  for (std::string_view line; lines.next(line);) {
    if (trimmed(line).empty()) continue;
    const size_t colon = line.find(':'), space = line.find(' ');
    if (colon == 0 || colon == std::string_view::npos || space == std::string_view::npos || space < colon ||
        trimmed(line.substr(space)).empty()) {
      lines.refuse("expected COARSE:fine and a question");
    }
    const std::string name(line.substr(0, colon));
    auto known = std::find(classes.begin(), classes.end(), name);
    if (known == classes.end() && !train) lines.refuse(fmt::format("label {} is not a label of the training questions", printable(name)));
    if (known == classes.end()) known = classes.insert(classes.end(), name);
    read.labels.push_back(known - classes.begin());
    read.texts.push_back(trimmed(line.substr(space)));
  }
  return read;
}

LabelledText read_pairs(const std::string& path) {
  LabelledText read;
  TextLines lines(path);
  for (std::string_view line; lines.next(line);) {
    if (lines.number() == 1 && line.starts_with(kPairHeader)) continue;
    if (line.empty()) continue;
    std::vector<std::string_view> fields;
    for (size_t begin = 0; begin <= line.size();) {
      const size_t end = std::min(line.find('\t', begin), line.size());
      fields.push_back(line.substr(begin, end - begin));
      begin = end + 1;
    }
    if (fields.size() != 5) lines.refuse(fmt::format("{} fields between tabs, expected 5: quality, two ids, two sentences", fields.size()));
    if (fields[0] != "0" && fields[0] != "1") lines.refuse(fmt::format("quality {} is not 0 or 1", printable(fields[0])));
    read.labels.push_back(fields[0] == "1" ? 1 : 0);
    for (const size_t i : {3, 4}) {
      std::string text = trimmed(fields[i]);
      if (text.empty()) lines.refuse("an empty sentence");
      (i == 3 ? read.texts : read.seconds).push_back(std::move(text));
    }
  }
  return read;
}

struct Source {
  std::string name;
  Names first, second;  // file names: of class 1 and class 0, or of train and test
  std::function<void(const std::string& first, const std::string& second, SentenceSet& set)> read;
};

void read_two_classes(const std::string& first, const std::string& second, SentenceSet& set) {
  read_class(first, 1, set.train);
  read_class(second, 0, set.train);
}

const std::vector<Source>& sources() {
  static const std::vector<Source> all = {
      {"mr", {"rt-polarity.pos"}, {"rt-polarity.neg"}, read_two_classes},
      {"cr", {"custrev.pos"}, {"custrev.neg"}, read_two_classes},
      {"subj", {"subj.subjective", "quote.tok.gt9.5000"}, {"subj.objective", "plot.tok.gt9.5000"}, read_two_classes},
      {"mpqa", {"mpqa.pos"}, {"mpqa.neg"}, read_two_classes},
      {"trec",
       {"TREC.train", "train_5500.label"},
       {"TREC.test", "TREC_10.label"},
       [](const std::string& first, const std::string& second, SentenceSet& set) {
         set.classes.clear();
         set.train = read_questions(first, set.classes, true);
         set.test = read_questions(second, set.classes, false);
       }},
      {"msrp",
       {"msr_paraphrase_train.txt"},
       {"msr_paraphrase_test.txt"},
       [](const std::string& first, const std::string& second, SentenceSet& set) {
         set.train = read_pairs(first);
         set.test = read_pairs(second);
       }},
  };
  return all;
}

void require_classes(const LabelledText& part, size_t classes, const std::string& path) {
  std::vector<bool> seen(classes, false);
  for (const int64_t label : part.labels) seen[static_cast<size_t>(label)] = true;
  if (std::count(seen.begin(), seen.end(), true) < 2) throw FileError(path, "sentences of fewer than two classes");
}

}  // namespace

const std::vector<std::string>& sentence_set_names() {
  static const std::vector<std::string> names = {"mr", "cr", "subj", "mpqa", "trec", "msrp"};
  return names;
}

std::optional<SentenceSet> read_sentence_set(const std::string& name, const std::string& root) {
  const auto source = std::find_if(sources().begin(), sources().end(), [&](const Source& one) { return one.name == name; });
  if (source == sources().end()) throw usage_error("unknown sentence set '{}'{}", name, suggestion(name, sentence_set_names()));
  const std::string first = find_in(root, source->first), second = find_in(root, source->second);
  if (first.empty() && second.empty()) return std::nullopt;
  if (first.empty() || second.empty()) {
    throw FileError(
        root, fmt::format("{} is there, {} is not", first.empty() ? second : first, first.empty() ? source->first[0] : source->second[0]));
  }
  SentenceSet set;
  set.name = name;
  set.classes = {"0", "1"};
  source->read(first, second, set);
  require_classes(set.train, set.classes.size(), first);
  if (set.test && set.test->texts.empty()) throw FileError(second, "it has no sentence");
  return set;
}

}  // namespace debias

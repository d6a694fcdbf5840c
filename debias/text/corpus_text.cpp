#include "debias/text/corpus_text.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "debias/core/file_error.h"
#include "debias/text/sentence_split.h"
#include "debias/text/text_lines.h"
#include "debias/text/tokeniser.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> words_of_sentence(std::string_view sentence, bool lowercase) {
  std::vector<std::string> words = tokenise(sentence);
  if (lowercase) std::transform(words.begin(), words.end(), words.begin(), [](const std::string& word) { return lower_case(word); });
  return words;
}

std::string real_path(const fs::path& path) {
  std::error_code failure;
  const fs::path real = fs::canonical(path, failure);
  return failure ? path.string() : real.string();
}

// Links are followed, but no folder is entered twice, nor the root or one above it: loops of links end.
class BookSearch {
 public:
  BookSearch(const std::string& root, const std::string& what) : what_(what) {
    for (fs::path above = real_path(root); entered_.insert(above.string()).second;) above = above.parent_path();
    search(root, "");
  }
  std::vector<TextFile> files;

 private:
  void search(const fs::path& folder, const std::string& prefix) {
    std::vector<std::string> folders;
    std::error_code failure;
    for (fs::directory_iterator next(folder, failure), end; !failure && next != end; next.increment(failure)) {
      const std::string name = next->path().filename().string();
      if (name.starts_with('.')) continue;
      std::error_code of_entry;
      const fs::file_status status = next->status(of_entry);
      if (fs::is_directory(status)) {
        folders.push_back(name);
      } else if (lower_case(next->path().extension().string()) == ".txt") {
        if (of_entry) throw refused(next->path(), of_entry, "if it is a link, to what is gone, remove it");
        if (fs::is_regular_file(status)) files.push_back({prefix + name, next->path().string()});
      }
    }
    if (failure) throw refused(folder, failure, "expected a text file, or a folder of .txt files");
    std::sort(folders.begin(), folders.end());
    for (const auto& name : folders) {
      if (entered_.insert(real_path(folder / name)).second) search(folder / name, prefix + name + "/");
    }
  }
  FileError refused(const fs::path& path, const std::error_code& failure, const char* cure) const {
    return {path.string(), fmt::format("{}: {}; {}", what_, failure.message(), cure)};
  }

  const std::string& what_;
  std::set<std::string> entered_;  // as they are without links
};

}  // namespace

const OptionTable<TextOptions>& TextOptions::table() {
  static const auto table = OptionTable<TextOptions>()
                                .add("format", &TextOptions::format_, "text: paragraphs of wrapped lines; lines: a sentence a line")
                                .add("encoding", &TextOptions::encoding_, "of the files; latin1 is read as Windows-1252")
                                .add("lowercase", &TextOptions::lowercase_, "all words in lower case, as the published test sets are");
  return table;
}

std::vector<TextFile> text_files(const std::string& root, const std::string& what) {
  if (root.empty()) throw usage_error("{}: no root is given; write root: FILE.txt, or a folder of .txt files", what);
  std::error_code failure;
  if (fs::is_regular_file(root, failure)) return {{fs::path(root).filename().string(), root}};
  std::vector<TextFile> files = BookSearch(root, what).files;
  if (files.empty()) throw FileError(root, fmt::format("{}: no .txt file in it", what));
  std::sort(files.begin(), files.end(), [](const TextFile& a, const TextFile& b) { return a.name < b.name; });
  return files;
}

void for_each_sentence(const TextFile& file, const TextOptions& options, const std::function<void(const std::vector<std::string>&)>& take) {
  TextLines lines(file.path, options.encoding());
  bool any = false;
  const auto sentence = [&](std::string_view text) {
    const std::vector<std::string> words = words_of_sentence(text, options.lowercase());
    if (words.empty()) return;
    any = true;
    take(words);
  };
  SentenceSplitter splitter(sentence);
  for (std::string_view line; lines.next(line);) {
    if (options.format() == TextFormat::kLines) {
      sentence(line);
    } else {
      splitter.line(line);
    }
  }
  splitter.end();
  if (!any) throw FileError(file.path, "not one sentence in it");
}

std::vector<std::string> words_of(std::string_view text, bool lowercase) {
  std::vector<std::string> sentences = split_sentences(text);
  if (sentences.empty()) sentences.emplace_back(text);  // a heading, to a reader of books
  std::vector<std::string> words;
  for (const auto& sentence : sentences) {
    for (auto& word : words_of_sentence(sentence, lowercase)) words.push_back(std::move(word));
  }
  return words;
}

}  // namespace debias

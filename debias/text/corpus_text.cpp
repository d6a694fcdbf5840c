#include "debias/text/corpus_text.h"

#include <algorithm>
#include <filesystem>

#include "debias/core/file_error.h"
#include "debias/core/folder_walk.h"
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

std::vector<TextFile> books_below(const std::string& root, const std::string& what) {
  const auto refused = [&](const std::string& path, const std::error_code& failure, const char* cure) {
    return FileError(path, fmt::format("{}: {}; {}", what, failure.message(), cure));
  };
  std::vector<TextFile> books;
  walk_folders({.folder = root, .root = root}, [&](const FolderContent& content) {
    for (const FolderFile& file : content.files) {
      const fs::path path = fs::path(content.path) / file.name;
      if (lower_case(path.extension().string()) != ".txt") continue;
      if (file.failure) throw refused(path.string(), file.failure, "if it is a link, to what is gone, remove it");
      if (file.type == fs::file_type::regular) books.push_back({content.prefix + file.name, path.string()});
    }
    if (content.failure) throw refused(content.path, content.failure, "expected a text file, or a folder of .txt files");
  });
  return books;
}

}  // namespace

const OptionTable<TextOptions>& TextOptions::table() {
  static const auto table = OptionTable<TextOptions>()
                                .add("format", &TextOptions::format_, "text: paragraphs of wrapped lines; lines: one sentence per line")
                                .add("encoding", &TextOptions::encoding_, "character encoding of the files; latin1 is read as Windows-1252")
                                .add("lowercase", &TextOptions::lowercase_, "convert words to lower case, as in the published test sets");
  return table;
}

std::vector<TextFile> text_files(const std::string& root, const std::string& what) {
  if (root.empty()) throw usage_error("{}: no root is given; write root: FILE.txt, or a folder of .txt files", what);
  std::error_code failure;
  if (fs::is_regular_file(root, failure)) return {{fs::path(root).filename().string(), root}};
  std::vector<TextFile> files = books_below(root, what);
  if (files.empty()) throw FileError(root, fmt::format("{}: no .txt file in it", what));
  std::sort(files.begin(), files.end(), [](const TextFile& a, const TextFile& b) { return a.name < b.name; });
  return files;
}

std::vector<std::string> text_folders(const std::string& root) {
  std::vector<std::string> folders;
  walk_folders({.folder = root, .root = root}, [&](const FolderContent& content) { folders.push_back(content.path); });
  return folders;
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
  if (!any) throw FileError(file.path, "it has no sentence");
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

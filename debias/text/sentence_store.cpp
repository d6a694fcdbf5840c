#include "debias/text/sentence_store.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/core/paths.h"
#include "debias/core/sha256.h"
#include "debias/text/tokeniser.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

using Mark = std::array<char, 16>;
constexpr Mark kStoreMark = {'d', 'e', 'b', 'i', 'a', 's', ' ', 's', 'e', 'n', 't', 'e', 'n', 'c', 'e', '2'};  // last the form's number
using HashText = std::array<char, 64>;

struct Footer {
  uint64_t words = 0, sentences = 0, books = 0;
  HashText key{}, sum{};
  Mark mark = kStoreMark;
};
static_assert(sizeof(Footer) == 3 * 8 + 2 * 64 + 16);

bool is_store(const Mark& mark) { return std::equal(mark.begin(), mark.end() - 1, kStoreMark.begin()); }

FileError damaged(const std::string& path) { return {path, "a damaged store of sentences; remove it, and it is made anew"}; }

// Words come in blocks of sentences, so that a store that goes to a file is never whole in memory.
struct Numbers {
  std::vector<uint64_t> begins = {0}, ends;
  uint64_t known = 0;
};

template <class Take>
Numbers read_numbers(const SentenceStore::Recipe& recipe, const Vocabulary& vocabulary, const Take& take) {
  Numbers numbers;
  std::vector<int32_t> sentence;
  for (const TextFile& file : recipe.files) {
    for_each_sentence(file, recipe.text, [&](const std::vector<std::string>& words) {
      sentence.clear();
      for (const auto& word : words) {
        if (static_cast<int64_t>(sentence.size()) == recipe.max_tokens) break;
        sentence.push_back(vocabulary.number(word));
        numbers.known += sentence.back() != 0;
      }
      take(sentence);
      numbers.begins.push_back(numbers.begins.back() + sentence.size());
    });
    numbers.ends.push_back(numbers.begins.size() - 1);
  }
  if (numbers.known == 0) {
    throw FileError(recipe.files[0].path,
                    "not one word of the corpus is in the vocabulary; make one of this corpus, with the same lowercase");
  }
  return numbers;
}

HashText hash_text(const std::string& hex) {
  HashText text{};
  std::copy_n(hex.begin(), std::min(hex.size(), text.size()), text.begin());
  return text;
}

void write_store(const SentenceStore::Recipe& recipe, const Vocabulary& vocabulary, const std::string& path, const std::string& key) {
  AtomicFile file(path);
  Sha256 sum;
  const auto write = [&](const void* data, size_t bytes) {
    file.write(data, bytes);
    sum.update(data, bytes);
  };
  std::vector<int32_t> pending;
  const auto flush = [&] {
    write(pending.data(), pending.size() * sizeof(int32_t));
    pending.clear();
  };
  const Numbers numbers = read_numbers(recipe, vocabulary, [&](const std::vector<int32_t>& sentence) {
    pending.insert(pending.end(), sentence.begin(), sentence.end());
    if (pending.size() > (1 << 16)) flush();
  });
  if (numbers.begins.back() % 2 != 0) pending.push_back(0);  // so that the following data are at multiples of 8
  flush();
  write(numbers.begins.data(), numbers.begins.size() * sizeof(uint64_t));
  write(numbers.ends.data(), numbers.ends.size() * sizeof(uint64_t));
  const Footer footer = {.words = numbers.begins.back(),
                         .sentences = numbers.begins.size() - 1,
                         .books = numbers.ends.size(),
                         .key = hash_text(key),
                         .sum = hash_text(sum.hex())};
  file.write(&footer, sizeof footer);
  file.commit();
}

}  // namespace

struct SentenceStore::Memory {
  std::vector<int32_t> words;
  std::vector<uint64_t> begins, ends;
  void* mapped = nullptr;
  size_t bytes = 0;

  ~Memory() {
    if (mapped != nullptr) munmap(mapped, bytes);
  }
};

SentenceStore::SentenceStore() : memory_(std::make_unique<Memory>()) {}
SentenceStore::SentenceStore(SentenceStore&&) noexcept = default;
SentenceStore& SentenceStore::operator=(SentenceStore&&) noexcept = default;
SentenceStore::~SentenceStore() = default;

bool SentenceStore::is_mapped() const { return memory_->mapped != nullptr; }

std::span<const int32_t> SentenceStore::sentence(int64_t index) const {
  const auto i = static_cast<size_t>(index);
  return words_.subspan(begins_[i], begins_[i + 1] - begins_[i]);
}

std::string store_key(const SentenceStore::Recipe& recipe, const Vocabulary& vocabulary, int text_rules) {
  std::string text = fmt::format("{} {} {} {} {}\n", text_rules, enum_name(recipe.text.format), enum_name(recipe.text.encoding),
                                 recipe.text.lowercase, recipe.max_tokens);
  for (const TextFile& file : recipe.files) {
    struct stat status {};
    if (stat(file.path.c_str(), &status) != 0) throw FileError(file.path, "cannot be read");
    text += fmt::format("{} {} {}.{:09}\n", file.name, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  }
  text += vocabulary.text();
  Sha256 hash;
  hash.update(text.data(), text.size());
  return hash.hex();
}

SentenceStore SentenceStore::make(const Recipe& recipe, const Vocabulary& vocabulary, const std::string& cache) {
  if (!cache.empty()) {
    const std::string key = store_key(recipe, vocabulary);
    const auto books = static_cast<int64_t>(recipe.files.size());
    if (std::filesystem::exists(cache)) {
      if (auto store = open(cache, key, books)) return std::move(*store);
    }
    write_store(recipe, vocabulary, cache, key);
    if (auto store = open(cache, key, books)) return std::move(*store);
    throw FileError(cache,
                    "another process has just written another store there; give each corpus, vocabulary and option a cache of its own");
  }
  SentenceStore store;
  Numbers numbers = read_numbers(recipe, vocabulary, [&](const std::vector<int32_t>& sentence) {
    store.memory_->words.insert(store.memory_->words.end(), sentence.begin(), sentence.end());
  });
  store.memory_->begins = std::move(numbers.begins);
  store.memory_->ends = std::move(numbers.ends);
  store.words_ = store.memory_->words;
  store.begins_ = store.memory_->begins;
  store.ends_ = store.memory_->ends;
  return store;
}

std::optional<SentenceStore> SentenceStore::open(const std::string& path, const std::string& key, int64_t books) {
  const InputFile file(path);
  Mark mark{};
  if (file.size() >= sizeof mark) file.read(file.size() - sizeof mark, &mark, sizeof mark);
  if (!is_store(mark)) throw FileError(path, "no store of sentences; give another path for the cache");
  if (mark != kStoreMark) return std::nullopt;
  Footer footer;
  if (file.size() < sizeof footer) throw damaged(path);
  file.read(file.size() - sizeof footer, &footer, sizeof footer);
  if (footer.key != hash_text(key)) return std::nullopt;
  const uint64_t rest = file.size() - sizeof footer;
  const uint64_t words = (footer.words + footer.words % 2) * 4;
  const bool small = footer.words < rest && footer.sentences < rest && footer.books < rest;
  if (!small || words + (footer.sentences + 1 + footer.books) * 8 != rest || footer.books != static_cast<uint64_t>(books)) {
    throw damaged(path);
  }
  SentenceStore store;
  const Descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  void* mapped = opened.value() < 0 ? MAP_FAILED : mmap(nullptr, file.size(), PROT_READ, MAP_SHARED, opened.value(), 0);
  if (mapped == MAP_FAILED) throw FileError(path, fmt::format("cannot be mapped: {}", std::strerror(errno)));
  store.memory_->mapped = mapped;
  store.memory_->bytes = file.size();
  const auto* bytes = static_cast<const std::byte*>(mapped);
  store.words_ = {reinterpret_cast<const int32_t*>(bytes), footer.words};
  store.begins_ = {reinterpret_cast<const uint64_t*>(bytes + words), footer.sentences + 1};
  store.ends_ = {store.begins_.data() + store.begins_.size(), footer.books};
  const bool orderly = store.begins_.front() == 0 && store.begins_.back() == footer.words && store.ends_.back() == footer.sentences &&
                       std::is_sorted(store.ends_.begin(), store.ends_.end()) &&
                       std::is_sorted(store.begins_.begin(), store.begins_.end(), std::less_equal<>());
  Sha256 sum;
  sum.update(bytes, rest);
  if (!orderly || footer.sum != hash_text(sum.hex())) throw damaged(path);
  return store;
}

namespace {

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
  TextLines lines(file.path, options.encoding);
  bool any = false;
  const auto sentence = [&](std::string_view text) {
    const std::vector<std::string> words = words_of_sentence(text, options.lowercase);
    if (words.empty()) return;
    any = true;
    take(words);
  };
  SentenceSplitter splitter(sentence);
  for (std::string_view line; lines.next(line);) {
    if (options.format == TextFormat::kLines) {
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

// The file that a corpus is kept in: the bytes are a store but for its end, which says of what it was made, and what its checksum is.
#include "debias/text/sentence_store.h"

#include <algorithm>

#include "debias/core/sha256.h"
#include "fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace debias;
  static fuzz::MemoryFile file;
  const std::string key(64, 'k');
  std::vector<uint8_t> bytes(data, data + size);
  Sha256 sum;
  sum.update(data, size - std::min<size_t>(size, 3 * sizeof(uint64_t)));  // less how many words, sentences and books there are
  const std::string end = key + sum.hex() + "debias sentence2";
  bytes.insert(bytes.end(), end.begin(), end.end());
  file.hold(bytes);
  fuzz::refused_only_as(ErrorKind::kData, [&] {
    for (const int64_t books : {1, 2}) {
      const auto store = SentenceStore::open(file.path(), key, books);
      fuzz::require(store.has_value() && store->books() == books, "the store is the one asked for");
      int64_t words = 0;
      for (int64_t i = 0; i < store->sentences(); ++i) words += std::ssize(store->sentence(i));
      fuzz::require(words == store->tokens(), "sentences have all words");
    }
  });
  return 0;
}

#include "debias/mining/copied_images.h"

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "debias/core/error.h"
#include "debias/data/parallel_blocks.h"
#include "debias/mining/copy_thumbnail.h"

namespace debias {
namespace {

using ImageKey = std::pair<bool, int64_t>;  // of the second rows, and the row

std::pair<ImageKey, ImageKey> keys_of(const MinedPair& pair) { return {{false, pair.a}, {pair.kind == PairKind::kLeak, pair.b}}; }

struct ReadThumbnails {
  std::map<ImageKey, std::unique_ptr<const CopyThumbnail>> by_key;  // null where it cannot be read
  int64_t unreadable = 0;
  std::string first_reason;
};

ReadThumbnails read_thumbnails(const std::vector<MinedPair>& pairs, const ReadPairImage& read, Progress& progress) {
  ReadThumbnails found;
  for (const MinedPair& pair : pairs) {
    const auto [a, b] = keys_of(pair);
    found.by_key[a];
    found.by_key[b];
  }
  std::vector<std::pair<const ImageKey, std::unique_ptr<const CopyThumbnail>>*> all;
  for (auto& entry : found.by_key) all.push_back(&entry);
  std::mutex mutex;
  progress.begin("reading images", std::ssize(all));
  for_each_block(
      std::ssize(all), 16,
      [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
          auto& [key, thumbnail] = *all[static_cast<size_t>(i)];
          try {
            thumbnail = std::make_unique<const CopyThumbnail>(read(key.second, key.first));
          } catch (const Error& error) {
            const std::lock_guard lock(mutex);
            if (found.unreadable++ == 0) found.first_reason = error.what();
          }
        }
      },
      [&](int64_t done) { progress.advance(done, ""); });
  progress.end();
  return found;
}

// Whether few of the images are in pairs that look alike without being copies.
bool are_rare(const std::vector<MinedPair>& candidates, const std::vector<Likeness>& likeness, int64_t images) {
  std::set<ImageKey> alike;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (likeness[i] != Likeness::kLookAlike) continue;
    const auto [a, b] = keys_of(candidates[i]);
    alike.insert({a, b});
  }
  return static_cast<double>(alike.size()) <= kRareLookAlikes * static_cast<double>(images);
}

}  // namespace

ConfirmedCopies confirm_copies(const std::vector<MinedPair>& candidates, const ReadPairImage& read, Progress& progress) {
  const ReadThumbnails thumbnails = read_thumbnails(candidates, read, progress);
  std::vector<Likeness> likeness(candidates.size(), Likeness::kNone);
  progress.begin("comparing images", std::ssize(candidates));
  for_each_block(
      std::ssize(candidates), 64,
      [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
          const auto [a, b] = keys_of(candidates[static_cast<size_t>(i)]);
          const auto &x = thumbnails.by_key.at(a), &y = thumbnails.by_key.at(b);
          if (x != nullptr && y != nullptr) likeness[static_cast<size_t>(i)] = x->likeness(*y);
        }
      },
      [&](int64_t done) { progress.advance(done, ""); });
  progress.end();
  const bool rare = are_rare(candidates, likeness, std::ssize(thumbnails.by_key));
  ConfirmedCopies found{{}, 0, thumbnails.unreadable, thumbnails.first_reason};
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (likeness[i] == Likeness::kNone) continue;
    if (likeness[i] == Likeness::kCopy || rare) {
      found.pairs.push_back(candidates[i]);
    } else {
      ++found.look_alike;
    }
  }
  return found;
}

}  // namespace debias

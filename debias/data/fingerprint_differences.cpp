#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "debias/core/error.h"
#include "debias/data/fingerprint.h"

namespace debias {
namespace {

using Json = nlohmann::ordered_json;

// The first lines, and how many there were.
class Lines {
 public:
  explicit Lines(size_t limit) : limit_(limit) {}

  void add(const std::string& line) {
    if (++count_ <= limit_) shown_.push_back(without_control_characters(line));
  }
  bool wanted() const { return count_ < limit_; }
  void add_unshown() { ++count_; }
  size_t count() const { return count_; }

  std::vector<std::string> text() const {
    std::vector<std::string> lines = shown_;
    if (count_ > limit_) lines.push_back(fmt::format("and {} more", count_ - limit_));
    return lines;
  }

 private:
  size_t limit_, count_ = 0;
  std::vector<std::string> shown_;
};

const std::string* first_beyond(const std::vector<std::string>& names, const std::vector<std::string>& others) {
  const auto found = std::find_if(names.begin(), names.end(),
                                  [&](const std::string& name) { return std::count(others.begin(), others.end(), name) == 0; });
  return found == names.end() ? nullptr : &*found;
}

void compare_names(const char* what, const std::vector<std::string>& then, const std::vector<std::string>& now, Lines& lines) {
  if (then == now) return;
  const std::string *gone = first_beyond(then, now), *added = first_beyond(now, then);
  std::string line = fmt::format("{}: {} then, {} now", what, then.size(), now.size());
  if (gone != nullptr) line += fmt::format("; '{}' is gone", *gone);
  if (added != nullptr) line += fmt::format("; '{}' is new", *added);
  if (gone == nullptr && added == nullptr) line += ", in another order";
  lines.add(line);
}

void compare_options(const Json& then, const Json& now, Lines& lines) {
  for (const auto& [key, value] : then.items()) {  // an option that only one of two versions of the program has is not a difference
    const auto found = now.find(key);
    if (found != now.end() && *found != value) lines.add(fmt::format("option {}: {} then, {} now", key, value.dump(), found->dump()));
  }
}

std::string name_of(const std::vector<std::string>& names, int64_t number) {
  if (number < 0) return "unknown";
  return number < std::ssize(names) ? "'" + names[static_cast<size_t>(number)] + "'" : std::to_string(number);
}

bool of_file(const ImageRecord& record) { return record.bytes >= 0; }

struct Pair {
  const ImageRecord* then;
  const ImageRecord* now;
};

bool compared_by_time(const Pair& pair) {
  return of_file(*pair.then) && pair.then->bytes == pair.now->bytes && !(hashed(*pair.then) && hashed(*pair.now));
}

// True if every file was written anew, as copying a folder does.
bool is_copy(const std::vector<Pair>& pairs) {
  return std::none_of(pairs.begin(), pairs.end(),
                      [](const Pair& pair) { return compared_by_time(pair) && pair.then->time == pair.now->time; });
}

class ImageComparison {
 public:
  ImageComparison(const DataFingerprint& then, const DataFingerprint& now, Lines& lines)
      : then_(then), now_(now), then_records_(records_of(then.listing)), now_records_(records_of(now.listing)), lines_(lines) {}

  void run() {
    const size_t before = lines_.count();
    const std::vector<Pair> pairs = matched();
    const bool copied = is_copy(pairs);
    for (const Pair& pair : pairs) compare(pair, copied);
    for (const ImageRecord* missing : missing_) add(*missing, "is missing");
    for (const ImageRecord* added : added_) add(*added, "is new");
    if (lines_.count() == before) compare_order(pairs);
  }

 private:
  std::vector<Pair> matched() {
    std::unordered_map<std::string_view, const ImageRecord*> now_by_source;
    for (const ImageRecord& record : now_records_) now_by_source.emplace(record.source, &record);
    std::vector<Pair> pairs;
    for (const ImageRecord& record : then_records_) {
      const auto found = now_by_source.find(record.source);
      if (found == now_by_source.end()) {
        missing_.push_back(&record);
      } else {
        pairs.push_back({&record, found->second});
        now_by_source.erase(found);
      }
    }
    for (const ImageRecord& record : now_records_) {
      if (now_by_source.count(record.source) != 0) added_.push_back(&record);
    }
    return pairs;
  }

  void compare(const Pair& pair, bool copied) {
    const auto [then, now] = pair;
    const std::string label = name_of(then_.classes, then->label), label_now = name_of(now_.classes, now->label);
    const std::string bias = name_of(then_.biases, then->bias), bias_now = name_of(now_.biases, now->bias);
    if (label != label_now) return add(*now, fmt::format("has label {} then, {} now", label, label_now));
    if (bias != bias_now) return add(*now, fmt::format("has bias {} then, {} now", bias, bias_now));
    if (of_file(*then) && of_file(*now) && then->bytes != now->bytes) {
      return add(*now, fmt::format("has {} bytes then, {} now", then->bytes, now->bytes));
    }
    if (of_file(*then) != of_file(*now)) return add(*now, "is a file of its own in one of the two only, or cannot be read");
    if (hashed(*then) && hashed(*now)) {
      if (then->hash != now->hash) add(*now, of_file(*now) ? "has other bytes" : "has other pixels, or cannot be read");
    } else if (!copied && compared_by_time(pair) && then->time != now->time) {
      add(*now, "was written since");
    }
  }

  void compare_order(const std::vector<Pair>& pairs) {
    for (const auto& [then, now] : pairs) {
      if (then->id != now->id) add(*now, fmt::format("is number {} then, {} now", then->id, now->id));
    }
  }

  void add(const ImageRecord& record, const std::string& what) {
    if (!lines_.wanted()) return lines_.add_unshown();
    lines_.add(fmt::format("{} {}", record.source, what));
  }

  const DataFingerprint &then_, &now_;
  std::vector<ImageRecord> then_records_, now_records_;
  std::vector<const ImageRecord*> missing_, added_;
  Lines& lines_;
};

bool same_hashes(const DataFingerprint& then, const DataFingerprint& now) {
  return then.images == now.images && (then.contents.empty() || now.contents.empty() || then.contents == now.contents);
}

void compare_images(const DataFingerprint& then, const DataFingerprint& now, Lines& lines) {
  if (then.listing_hash == now.listing_hash) return;
  if (!then.listing.empty() && !now.listing.empty()) return ImageComparison(then, now, lines).run();
  if (then.count != now.count) {
    lines.add(fmt::format("{} images then, {} now", then.count, now.count));
  } else if (!same_hashes(then, now)) {
    lines.add(fmt::format("other images, labels or sizes among the {}; the earlier list is missing, so they cannot be named", then.count));
  }
}

}  // namespace

std::vector<std::string> differences(const DataFingerprint& then, const DataFingerprint& now, size_t limit) {
  Lines lines(limit);
  if (then.name != now.name) {
    lines.add(fmt::format("data set '{}' then, '{}' now", then.name, now.name));
    return lines.text();
  }
  compare_names("classes", then.classes, now.classes, lines);
  compare_names("bias labels", then.biases, now.biases, lines);
  compare_options(then.options, now.options, lines);
  const size_t before = lines.count();
  compare_images(then, now, lines);
  if (then.labels != now.labels && lines.count() == before) {
    const std::string file = now.options.contains("lowercase") ? "vocabulary" : "CSV of labels";
    lines.add(then.labels.empty()    ? fmt::format("a {} is used now, but was not before", file)
              : now.labels.empty()   ? fmt::format("a {} was used before, but is not now", file)
              : file == "vocabulary" ? "the vocabulary has other words"
                                     : "the CSV of labels has other bytes, though these images have the same labels");
  }
  return lines.text();
}

}  // namespace debias

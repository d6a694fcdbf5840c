// Records the state of a data set when a run reads it, so that a later reader notices a change.
//
// A fingerprint is small (it goes into a checkpoint); the listing behind it, one record an image, goes beside it into the run folder and is
// what lets a difference be named by image. Compared are: names of classes and bias labels in order, the options that change the images,
// the bytes of a CSV of labels, and of each image its source (path below the root, so that a folder may be moved), label and bias by name,
// id, and its content:
//   listing   a file's size and time of modification. If the times of all files differ and no size does, the folder was copied, which
//             is not a difference; if those of some differ, these files count as changed.
//   contents  SHA-256 of the file's bytes (every file is read); times do not count. Two fingerprints of which one has no hashes are
//             compared by size alone.
// An image without a file of its own (MNIST, CIFAR, STL-10) is identified by its pixels in either case. For synthetic sets (no root) only
// options, labels and biases are kept.
//
// Take it of a data set as its reader gives it, before map_to_table.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "debias/core/enum_names.h"
#include "debias/core/progress.h"
#include "debias/data/dataset.h"
#include "debias/data/dataset_registry.h"

namespace debias {

enum class Verify { kListing, kContents };
constexpr auto enum_words(Verify) { return named("listing", "contents"); }

struct DataFingerprint {
  std::string name, split;
  int64_t count = 0;
  std::vector<std::string> classes, biases;
  Verify verify = Verify::kListing;
  nlohmann::ordered_json options = nlohmann::ordered_json::object();  // all but name, root, labels and classes, with defaults
  std::string labels;        // SHA-256 of the CSV of labels, or of the vocabulary; empty without one
  std::string images;        // SHA-256 over id, label, bias, size or pixels, and source of each image
  std::string contents;      // SHA-256 over the files' hashes; empty unless verify is contents
  std::string listing_hash;  // SHA-256 of the listing
  std::string listing;       // the records; empty when only to_json's part is known
};

// `data` is what `samples` were made from. For samples that are parts of files (SampleTable::files) the files are the records. Files that
// cannot be read are recorded as such, not rejected. Reads every file only with kContents; several threads.
DataFingerprint fingerprint(const SampleTable& samples, const ChosenData& data, Verify verify, Progress& progress = Progress::silent());

// Without the listing. from_json: a data error where it is not what to_json writes.
nlohmann::ordered_json to_json(const DataFingerprint& fingerprint);
DataFingerprint fingerprint_from_json(const nlohmann::ordered_json& json);

// The listing as a gzip file, whole or absent. It is read back only where it is the one that the fingerprint was made with (false
// otherwise: missing, damaged or of another state); without it, differing images are counted but not named.
void write_listing(const DataFingerprint& fingerprint, const std::string& path);
bool read_listing(DataFingerprint& fingerprint, const std::string& path);

// One line each, at most `limit`, and where there are more a last line that says how many; empty where `now` is what was then. Names
// first, then images ("cat/7.png is missing", "... is new", "cat/7.png: label cat then, dog now", "... 1024 bytes then, 998 now", "...
// other bytes"), then the CSV. Free of control characters.
std::vector<std::string> differences(const DataFingerprint& then, const DataFingerprint& now, size_t limit = 3);

// The listing behind a fingerprint (fingerprint.h): one record an image, in the order of the data set.
//
// A record is "ID LABEL BIAS BYTES TIME HASH SOURCE", ended by a zero byte, since a path may hold anything else. BYTES and TIME (of
// modification, ns) are -1 for an image without a file of its own; HASH is 16 hexadecimal digits of a SHA-256, `-` where none was taken,
// `unreadable` where the image could not be read.
struct ImageRecord {
  int64_t id = 0, label = 0, bias = 0, bytes = -1, time = -1;
  std::string_view hash = "-", source;
};

inline bool hashed(const ImageRecord& record) { return record.hash != "-"; }

void append_record(std::string& listing, const ImageRecord& record);

// Views into `listing`, which must be whole records.
std::vector<ImageRecord> records_of(std::string_view listing);

// gzip's format. unpacked: empty where the bytes are damaged or hold more than `limit`.
std::string packed(std::string_view listing);
std::string unpacked(std::string_view bytes, size_t limit);

}  // namespace debias

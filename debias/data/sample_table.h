// Facts about the samples of a set before one is read: their number, and the id, label and bias label of each.
//
// Methods, objectives and samplers work with this; only who makes batches needs to know whether a sample is an image (dataset.h), a
// sentence or a step of an episode.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace debias {

// Kind of a sample.
enum class SampleKind { kImages, kSentences };

class Dataset;
class Sentences;

constexpr int64_t kUnknown = -1;  // a label or bias that is not known; it matches nothing

// How a reader interpreted the columns of a table of labels, by their titles.
struct ColumnUse {
  std::string file;                      // empty: no table gave labels
  std::vector<std::string> read;         // the column of paths first
  std::vector<std::string> ignored;      // in the order of the file
  std::vector<std::string> likely_bias;  // of the ignored ones, where no bias column was read (likely_bias.h)
  std::vector<std::string> remarks;      // one line for each column with words that are read as unknown; also among the data set's
  bool has_labels = false;               // of those read, one gives the labels
};

struct DatasetInfo {
  std::string name;                      // registry name
  std::string split;                     // train, test, held_out, ...
  std::vector<std::string> class_names;  // empty when unlabelled
  std::vector<std::string> bias_names;   // empty when there is no bias attribute
  std::vector<std::string> group_names;  // empty when nothing says which samples belong together
  std::string groups_from = "none";      // "column patient"; of that table
  int channels = 3;                      // of images, as the next three; 0 where samples are none
  int height = 0, width = 0;             // 0 when images differ
  int64_t words = 0;                     // of the vocabulary, where samples are sentences
  std::vector<double> mean, std;         // the field's normalisation constants for it, per channel, of values in [0, 1]
  std::vector<std::string> remarks;      // one line each: what a reader left out
  ColumnUse columns;                     // of the table that gave labels

  int64_t inputs() const { return words > 0 ? words : channels; }  // what the first layer of an encoder must know
};

// Thread-safe for concurrent calls of every const method.
class SampleTable {
 public:
  virtual ~SampleTable() = default;
  virtual const DatasetInfo& info() const = 0;
  virtual std::string what() const = 0;  // they are, in a word for messages and for the rates that a report reads: "images", "sentences"
  virtual const Dataset* images() const { return nullptr; }       // itself, where a sample is an image (dataset.h)
  virtual const Sentences* sentences() const { return nullptr; }  // itself, where it is a sentence (readers/sentences.h)
  virtual int64_t size() const = 0;
  virtual int64_t id(int64_t index) const { return index; }  // in the source: stays the same under splits and selections
  virtual int64_t label(int64_t) const { return kUnknown; }
  virtual int64_t bias(int64_t) const { return kUnknown; }
  virtual int64_t group(int64_t) const { return kUnknown; }  // samples of one belong together, as images of one patient
  // The files below the root that samples are parts of, several a file; empty if each sample is one, or is identified by its pixels.
  virtual std::vector<std::string> files() const { return {}; }
  virtual std::string source(int64_t index) const = 0;  // "train/cat/0001.jpg" or "data_batch_1.bin record 17", for messages and embed
};

// The same set, where its samples are images or sentences; null where they are not.
std::shared_ptr<const Dataset> images_of(const std::shared_ptr<const SampleTable>& samples);
std::shared_ptr<const Sentences> sentences_of(const std::shared_ptr<const SampleTable>& samples);

}  // namespace debias

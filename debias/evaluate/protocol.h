// Evaluation protocols: functions from a frozen encoder, data and options to metrics.
#pragma once

#include <any>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "debias/augment/chosen.h"
#include "debias/augment/view_pipeline.h"
#include "debias/core/config.h"
#include "debias/core/progress.h"
#include "debias/data/dataset.h"
#include "debias/data/decode.h"
#include "debias/data/sample_table.h"
#include "debias/encoders/encoder.h"
#include "debias/evaluate/alignment.h"
#include "debias/evaluate/condition.h"
#include "debias/evaluate/features.h"
#include "debias/results/evaluation_record.h"
#include "debias/results/metric.h"
#include "debias/runtime/device.h"

namespace debias {

// Protocols as a recipe or a command chooses them: their options are read and checked, and what is left is to run them.

struct ProtocolEntry;

struct ChosenProtocol {
  const ProtocolEntry* entry = nullptr;
  std::string name = {};           // as written: the registered one, or an alias
  Config section = Config::map();  // the options that are given; reads as the same
  std::any options = {};           // all of them, of the entry's own type

  template <class Options>
  const Options& as() const {
    return std::any_cast<const Options&>(options);
  }
  ChosenProtocol over(const ChosenProtocol& base) const;  // its options laid over those of `base`
};
// Usage errors of the options. `name`: as written; empty for the registered one.
ChosenProtocol read_protocol(const ProtocolEntry& entry, const Config& section, const std::string& name = "");

struct ChosenProtocols {
  std::vector<ChosenProtocol> written = {};  // in this order; of several of one protocol the last counts

  ChosenProtocol of(const std::string& name) const;  // registered, or an alias; with its defaults unless it is written
  Config section() const;                            // options by name, as written; reads as the same
};

// Of a recipe's `evaluate:`: `requested` are the names of `protocols`, `sections` the options by name. Usage errors: an unknown name or
// option, and a protocol that does not read such samples.
ChosenProtocols read_protocols(SampleKind samples, const std::vector<std::string>& requested, const Config& sections);

class Sentences;

// The evaluated texts of a run on sentences. Its pair of encoders (sentence_encoders.h) is EvaluationInput::encoder.
struct SentenceInput {
  struct Evaluated {
    std::string split;
    std::shared_ptr<const Sentences> books;
  };
  std::vector<Evaluated> evaluated;  // valid before test; either may be missing
  int64_t batch_size = 0;            // of training
  // Vectors of texts, float32 [N, dimensions]: the encoder's, or those of several encoders, concatenated.
  std::function<at::Tensor(const std::vector<std::string>& texts)> embed;
  std::function<bool(const std::string& text)> knows;                  // whether the vocabulary has at least one word of the text
  std::function<void(const std::vector<std::string>& texts)> prepare;  // called with all texts before any is embedded; may be empty
  int64_t dimensions = 0;
  Json described = Json::object();  // description of the vectors, for the record
};

struct EvaluationInput {
  std::shared_ptr<Encoder> encoder;                   // null if the features of the splits are stored
  EncoderCopies copies;                               // copies of the encoder on further devices
  std::map<std::string, Features> stored;             // features by split, for a feature table (table_input.h); else empty
  std::shared_ptr<const Dataset> train, valid, test;  // valid or test may be null
  bool leaves_one_out = false;                        // the evaluated set is the training set: kNN leaves each row out of its neighbours
  ChosenViews train_views;                            // the run's, and those of evaluation (eval_views.h)
  double training_temperature = 0.5;                  // kNN's default temperature
  uint64_t seed = 1;
  std::optional<SentenceInput> sentences;  // for a run on sentences, which has none of the image sets above
  int64_t workers = 1;
  Precision precision = Precision::kFp32;  // of the encoder
  OnError on_error = OnError::kStop;       // for training images; kSubstitute leaves unreadable ones out of the features
  // The run's online classifier: pooled features [N, D] to logits [N, C]. Empty if the run has none.
  std::function<at::Tensor(const at::Tensor& features)> classifier;

  SampleKind samples() const { return sentences ? SampleKind::kSentences : SampleKind::kImages; }
};

// An image that a protocol's record refers to, to be shown beside it.
struct ShownImage {
  std::shared_ptr<const Dataset> dataset;
  int64_t index = 0;
};

struct EvaluationResult {
  EvaluationRecord record;                                  // the whole result, as in RUN/evaluation/<protocol>.json
  std::map<std::string, double> metrics;                    // "test.knn_acc1" -> fraction; undefined metrics have no entry
  std::map<std::string, std::vector<int64_t>> predictions;  // split -> predicted class of each image, if the protocol classifies
  std::map<std::string, ShownImage> images;                 // "test_17" (split and Dataset::id()) -> its place
  std::vector<std::string> notes;                           // one line each: what was left out, and why
  std::string variant = {};                                 // suffix of the file of a result that is not the usual one: "cheap"
};

// The shared state of the protocols of one call: features, extracted once per data set, and results. `input` and `progress` must
// outlive it.
class EvaluationCache {
 public:
  // `protocols`: their options in this call, for protocols that other protocols request, too.
  EvaluationCache(const EvaluationInput& input, Progress& progress, ChosenProtocols protocols = {})
      : input_(input), progress_(progress), protocols_(std::move(protocols)) {}
  // Runs a protocol once per set of options. The second form takes the options of this call.
  const EvaluationResult& evaluate(const ChosenProtocol& protocol);
  const EvaluationResult& evaluate(const std::string& protocol) { return evaluate(protocols_.of(protocol)); }
  const Features& train() { return of("train", input_.train); }
  const Features& valid() { return of("valid", input_.valid); }
  const Features& test() { return of("test", input_.test); }
  const Features& split(const std::string& name);  // train, valid or test
  // Which bias labels are aligned with which class, by the options of `groups` in this call: the same for every protocol. Its evaluated
  // sets are evaluated_splits. The second form takes the choice of this call. Computed once per choice.
  const Alignment& alignment();
  const Alignment& alignment(const AlignedChoice& choice);
  // The notes that were not requested before: a note on several protocols is given once, by the first.
  std::vector<std::string> unsaid(const std::vector<std::string>& notes);

 private:
  const Features& of(const std::string& name, const std::shared_ptr<const Dataset>& dataset);

  const EvaluationInput& input_;
  Progress& progress_;
  ChosenProtocols protocols_;
  std::map<std::string, Features> features_;
  std::map<std::string, EvaluationResult> results_;  // by protocol and options
  std::deque<std::pair<AlignedChoice, Alignment>> alignments_;
  std::set<std::string> said_;
};

// The evaluated sets: valid, if there is one, and test.
struct EvaluatedSplit {
  std::string name;  // the prefix of its metrics
  std::shared_ptr<const Dataset> dataset;
};
std::vector<EvaluatedSplit> evaluated_splits(const EvaluationInput& input);

// A record of the result's metrics, with options, classes and numbers of images. The protocol adds its own details.
EvaluationRecord describe(const std::string& protocol, const EvaluationInput& input, const std::map<std::string, double>& metrics,
                          const Config& resolved_options, int64_t classes);

// Adds to the record of a protocol that classifies: the source of the predictions (knn, linear, mean_classifier) and, per split, the
// confusion matrix (accuracy.h).
void describe_predictions(const std::string& whose, const EvaluationInput& input, int64_t classes, EvaluationResult& result);

// Appends a protocol's metrics to those of others. In a split that `groups` has evaluated, aligned_acc and conflicting_acc are those of
// `groups` or, where these are undefined, absent, in any order of the protocols. If the run has a classifier, kNN leaves them out of
// its metrics (knn.h), with or without `groups`.
void append_metrics(const EvaluationResult& result, NamedMetrics& all);

}  // namespace debias

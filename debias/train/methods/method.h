// A training method: which networks see a batch, what the objective's terms are given, and what follows the update.
//
// A method owns its networks beside the evaluated model (momentum copies) and its rows (queues, banks), as named tensors of the checkpoint.
// The loop around it (trainer.h) logs, checkpoints, resumes and stops without knowing which method it drives.
#pragma once

#include <ATen/core/Tensor.h>

#include <any>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/safetensors.h"
#include "debias/data/sample_table.h"
#include "debias/losses/objective.h"
#include "debias/ranks/ranks.h"
#include "debias/train/methods/diagnostics.h"
#include "debias/train/methods/image_batches.h"
#include "debias/train/methods/model.h"
#include "debias/train/methods/optimizers.h"
#include "debias/train/methods/rank_shares.h"
#include "debias/train/methods/sampling.h"
#include "debias/train/methods/term.h"
#include "debias/train/recipe/recipe.h"

namespace debias {

struct Batch;

struct StepReport {
  double loss = 0;       // what trains the encoder: the weighted sum of the terms, and the classifier's cross-entropy where that joins it
  double grad_norm = 0;  // of the parameters that it trains
  Diagnostics diagnostics;
};

struct MethodParts {
  Model model;  // the evaluated one, with what else the optimizers train
  std::vector<Term> terms;
  const Optimizers& optimizers;  // must outlive the method
  ForwardOptions forward;
  // So many images pass the network at a time; the objective always sees the whole batch: embeddings of all parts are computed first,
  // their gradient taken, and each part is run again to carry it back. BatchNorm sees a part at a time, so the result differs from one
  // large pass wherever the encoder has BatchNorm.
  std::optional<int64_t> micro_batch{};
  // Of inner products inside the losses (ObjectiveInput::bfloat16_products); `forward` has the network's.
  Precision loss_precision = Precision::kFp32;
  // Of the processes that train together each sees the images of its rows; the objective sees the rows of all. Must outlive the method.
  const Ranks* ranks = &Ranks::alone();
  bool joins_norm = false;  // batch normalisation over the rows of all of them
  LossRows loss_rows = LossRows::kAll;
  Engine pair_engine = Engine::kAuto;  // of the terms over pairs
  std::vector<int64_t> linked{};       // by index of a sample: its group of must_link and data.groups (Term::takes_links); empty: none
};

class Method {
 public:
  explicit Method(MethodParts parts);
  virtual ~Method() = default;

  TermSet& terms() { return terms_; }
  // Encoder::hold of encoders().
  void hold_encoders(bool on);

  // Throws a numeric error naming step, tensor and sample ids when the loss or a gradient is not finite; parameters, and running
  // statistics of the networks, are then as they were before the step. `meanwhile` is called once the forward and the backward pass are
  // launched, before anything of them is waited for.
  StepReport run(
      const Batch& batch, int64_t step, const std::function<void()>& meanwhile = [] {});

  // What the checkpoint holds beside the model and the optimizers, and back from it: data errors where a tensor is missing or misshapen.
  virtual std::vector<std::pair<std::string, at::Tensor>> state() const { return {}; }
  virtual void load(const SafetensorsFile& /*file*/) {}

 protected:
  // A metric of the method's own: sum / count, each added up over the steps of an epoch (MethodMetric). The method's entry describes it.
  struct LateMetric {
    std::string name;
    LateNumber sum, count;
  };
  // What a step has computed, none of which the host has read yet: each reading would make it wait for a device.
  struct Evaluated {
    at::Tensor total;   // what the backward pass starts from: the loss, and beside it the cross-entropy of a probe
    at::Tensor logits;  // [V*B, C], undefined without a classifier
    std::vector<ObjectiveResult> terms;
    std::vector<LateNumber> values;  // of the terms
    LateNumber loss;                 // of all together
    struct {
      LateNumber rows, correct;
      std::optional<LateNumber> loss;  // where it trains the classifier
    } classifier;
    std::vector<LateMetric> metrics;                          // of the method's own
    std::vector<std::pair<std::string, at::Tensor>> watched;  // [B, ...], which must be finite

    void add(const at::Tensor& value) { total = total.defined() ? total + value : value; }
  };

  // Forward, losses and backward of one batch. With several ranks, what depends on parameters beside the classifier's lies before
  // of_all_ranks(), and losses and classifier behind it: every rank computes them, and only gradients of the former are summed.
  virtual Evaluated differentiate(const Batch& batch, int64_t step) = 0;
  virtual void after_update(const Batch& /*batch*/) {}
  virtual std::vector<const torch::nn::Module*> networks() const;                          // whose running statistics a step changes
  virtual std::vector<Encoder*> encoders() const { return {parts_.model.encoder.get()}; }  // of the recipe, copies of it included

  // The outputs [B, V, ...] of all rows, of those of this rank's images; gradients flow back to these.
  at::Tensor of_all_ranks(const at::Tensor& own, const Batch& batch) const;
  ModelOutput of_all_ranks(const ModelOutput& own, const Batch& batch) const;

  // What a term reads of the model's outputs [B, V, ...], with all that belongs to the samples. It is vouched for; a method that gives keys
  // or positives of its own, of other than unit length, takes that back (ObjectiveInput::vouched).
  ObjectiveInput input_of(const Term& term, const Batch& batch, const ModelOutput& output, const at::Tensor& logits) const;
  // All terms and the classifier, once `loss_of` has said what a term comes to.
  Evaluated evaluate(const ModelOutput& output, const Batch& batch,
                     const std::function<ObjectiveResult(const Term&, const at::Tensor& logits)>& loss_of) const;
  // From the total back to `output`, which is watched, and so is `more`: a tensor [B, ...] of the method's own that the losses read.
  static void backward(Evaluated& evaluated, const ModelOutput& output, const std::pair<const char*, at::Tensor>& more = {"", {}});

  const Model& model() const { return parts_.model; }
  const MethodParts& parts() const { return parts_; }
  at::Tensor on_device(const std::vector<int64_t>& values) const;

  // Running statistics as they were, put back unless keep() was called.
  class BufferGuard {
   public:
    explicit BufferGuard(const std::vector<const torch::nn::Module*>& networks);
    ~BufferGuard();
    void restore();
    void keep() { kept_ = true; }

   private:
    std::vector<at::Tensor> buffers_, saved_;
    bool kept_ = false;
  };

 private:
  void join_gradients() const;
  void train_classifier(const torch::Tensor& labels, Evaluated& evaluated) const;
  // Waits for the step. Returns its numbers, or throws a numeric error that names the non-finite value.
  StepReport read(const Evaluated& evaluated, const Batch& batch) const;
  static std::vector<const LateNumber*> numbers_of(const Evaluated& evaluated);
  static Diagnostics diagnostics_of(const Evaluated& evaluated);
  [[noreturn]] static void refuse(const Evaluated& evaluated, const Batch& batch, double loss);
  [[noreturn]] void refuse_gradient(const Batch& batch, double loss) const;

  MethodParts parts_;
  TermSet terms_;
  std::unique_ptr<const NormPeers> norm_peers_;  // null: each normalises its own rows
  std::unique_ptr<const RowShare> row_share_;    // null: each computes all of the loss
};

struct MethodEntry {
  std::string name;
  std::vector<std::string> aliases;
  std::string summary;
  std::vector<OptionSpec> options;
  std::vector<Metric> metrics;  // of its own
  // What it is trained on, of samples that `check` has let pass. Of several ranks, each source makes the rows of its share
  // (Batch::first_row); one that makes them all is rejected where there are several.
  std::function<std::unique_ptr<BatchSource>(const Recipe& recipe, const std::shared_ptr<const SampleTable>& samples, const Ranks& ranks)>
      batches = views_of_images;
  // Usage errors in one line: an objective, an option of training or a number of views that the method cannot use.
  std::function<void(const Recipe& recipe, const SampleTable& dataset)> check;
  // The networks of the evaluated model and those that the optimizers train beside it.
  std::function<Model(const Recipe& recipe, int64_t in_channels)> networks;
  // Those that only training has (Model::side), beside `evaluated`.
  std::function<std::vector<SideNetwork>(const Recipe& recipe, const DatasetInfo& info, const Model& evaluated)> side_networks =
      [](const Recipe&, const DatasetInfo&, const Model&) { return std::vector<SideNetwork>(); };
  bool trains_on_features = false;  // takes "features" [V, B, D] in place of "images"
  bool scores_products = false;     // of rows of any norm: terms have the defaults of set_product_defaults()
  bool drops_linked_pairs = false;  // of `data.must_link`
  bool gives_keys = false;          // so that one view of an image is enough for objectives that take them
  bool takes_any_terms = false;     // neither `check` nor `make` looks at the objective
  bool finds_bias_itself = false;   // a classifier of biased data that reads no bias labels
  bool takes_micro_batch = false;   // and then W processes do what one does with parts of their size (certify ranks)
  std::string micro_batch_advice = "; leave it out, or lower batch_size";  // behind "takes no train.micro_batch"
  bool equals_one_process = true;  // with synchronise_norm, a step of several processes is one process's but for rounding
  std::function<Negatives(const Recipe& recipe)> negatives = [](const Recipe&) { return Negatives::kBatch; };
  std::function<std::unique_ptr<Method>(const Recipe& recipe, const SampleTable& dataset, MethodParts parts)> make;
  bool takes_bias_encoder = false;  // ChosenMethod::bias_encoder
  // ChosenMethod::options of a section without `bias_encoder`, and back, without the name. Usage errors.
  std::function<std::any(const Config& section)> read = [](const Config&) { return std::any(); };
  std::function<Config(const std::any& options)> write = [](const std::any&) { return Config::map(); };
};
const std::vector<MethodEntry>& method_registry();
const MethodEntry& method_of(const Recipe& recipe);
std::vector<std::string> methods_with(bool MethodEntry::*property);  // their names: methods_with(&MethodEntry::gives_keys)

// MethodEntry::check of the recipe's method, and what the fields of its entry exclude. Usage errors.
void check_method(const Recipe& recipe, const SampleTable& dataset);

// Gives a named entry the options of a struct that describes them. `settle`: of those read, what they mean.
template <class Options>
void take_options(
    MethodEntry& entry, const std::function<Options(const Options&)>& settle = [](const Options& read) { return read; }) {
  entry.options = option_specs<Options>();
  entry.read = [what = "method '" + entry.name + "'", settle](const Config& section) {
    return std::any(settle(options_from<Options>(section, what, {"name"})));
  };
  entry.write = [](const std::any& options) { return config_of(std::any_cast<const Options&>(options)); };
}

// Usage errors, naming the method and the term: a pairwise objective that takes no keys, or reads something else than the projection.
// Returns the pairwise terms.
std::vector<Term> require_keyed_terms(const Recipe& recipe, const SampleTable& dataset, const std::string& method);

// Share of the pairs of an anchor and a key of another image, both with labels, that are of one class: tau_plus estimates it.
inline constexpr const char* kFalseNegativeShare = "false_negative_share";
Metric false_negative_metric();

}  // namespace debias

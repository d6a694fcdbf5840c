// Backbones and projection heads, by name.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/options.h"
#include "debias/encoders/backbone_options.h"

namespace debias {

// An encoder and a head as a recipe chooses them: their options are read and checked, and what is left is to make them.

class Encoder;
class Head;
struct EncoderEntry;
struct HeadEntry;

// Input of pretrained networks, if a file of weights does not say: the mean and deviation per channel of values in [0, 1],
// and the side of the square images.
struct PretrainedInput {
  std::vector<double> mean, std;
  int64_t side = 0;
};

struct InputNormalisation {
  std::vector<double> mean, std;
  bool asked = false;  // by the section
};

struct ChosenEncoder {
  const EncoderEntry* entry = nullptr;
  Config section = {};                             // every option that has a default written out, with `name`; reads as the same
  std::string where = {};                          // "recipe.yaml:12: " or empty, for messages
  BackboneOptions backbone = {};                   // defaults where it reads words
  std::string weights_file = {};                   // that it starts from; empty: none
  std::optional<PretrainedInput> pretrained = {};  // of the networks that weights of its shape are published for
  std::optional<int64_t> channels = {};            // of the images, where an option says it
  // Parameters are initialised from `seed` alone (RngDomain::kInit), whatever ran before. Then weights are read from the file
  // (import_weights of state.h) and stages frozen. in_channels: the number of words where it reads words.
  std::function<std::shared_ptr<Encoder>(int64_t in_channels, uint64_t seed)> make = {};
  std::function<ChosenEncoder()> without_weights = {};  // the same without those to start from: they come from a checkpoint

  // Of the images: by `mean` and `std` of the section, else, if it starts from a file, by those of the networks that are published for it.
  // Nothing: by the constants of the data set.
  std::optional<InputNormalisation> normalisation() const;
};
ChosenEncoder read_encoder(const Config& section);

struct ChosenHead {
  const HeadEntry* entry = nullptr;
  Config section = {};  // likewise
  std::function<std::shared_ptr<Head>(int64_t feature_dim, uint64_t seed)> make = {};

  bool projects() const;  // false: its output is the features themselves
};
ChosenHead read_head(const Config& section);  // of none: none

// The keys of a file of weights: one layout for each project that publishes weights of a network.
using WeightShapes = std::map<std::string, std::vector<int64_t>>;  // of a file's tensors, by key

struct WeightLayout {
  std::string origin;  // "torchvision", "timm"
  // The file's key of one of the encoder's own names (named_state); empty: the names themselves.
  std::function<std::string(const std::string& name)> key_of = {};
  std::vector<std::string> ignored = {"fc."};  // prefixes of the file's keys that the encoder has no place for: classifiers
  std::string needs = {};                 // "origin: tensorflow": an option without which weights of this origin compute something else
  std::function<bool()> has_needed = {};  // whether the encoder has it; empty: nothing is needed

  std::string key(const std::string& name) const { return key_of ? key_of(name) : name; }
};

// Keys that follow from names of modules: `module_of` maps the name of a module that holds tensors ("features.0.0") to the file's.
WeightLayout layout_of_modules(const std::string& origin, std::function<std::string(const std::string& module)> module_of,
                               std::vector<std::string> ignored);

// A part of an encoder that can be frozen: its parameters and modules are those with one of these names, or below one of them.
struct EncoderStage {
  std::string name;
  std::vector<std::string> parts;

  bool holds(const std::string& path) const;
};

// A backbone: images [N, C, H, W] to pooled features [N, feature_dim()]. Parameter and buffer names are torchvision's, else timm's.
class Encoder : public torch::nn::Module {
 public:
  virtual torch::Tensor forward(const torch::Tensor& images) = 0;
  virtual int64_t feature_dim() const = 0;
  virtual std::string registry_name() const = 0;
  virtual std::vector<EncoderStage> stages() const { return {}; }   // from the images on; empty: it can be frozen as a whole only
  virtual std::vector<WeightLayout> weight_layouts() const;         // keys of files that weights are read from; its own names first
  virtual std::optional<int64_t> image_side() const { return {}; }  // the only size that it takes; nothing: any size

  // The first `count` of stages(), or all parameters (also those of no stage): no gradient, and evaluation mode whatever train() says,
  // so that batch normalisation neither uses nor changes statistics of batches.
  void freeze_stages(int64_t count);
  void freeze_all();
  // The same for all parameters until hold(false), which puts back the gradients that it took and the mode that train() set last.
  void hold(bool on);
  bool is_frozen() const { return all_frozen_; }  // by freeze_all()
  void train(bool on = true) override;

 private:
  bool all_frozen_ = false, held_ = false, asked_ = true;  // asked_: by train()
  std::vector<torch::Tensor> held_parameters_;
  std::vector<std::shared_ptr<torch::nn::Module>> frozen_;
};

// Maps features to the projection that losses read (before L2 normalisation).
class Head : public torch::nn::Module {
 public:
  explicit Head(int64_t output_dim) : output_dim_(output_dim) {}
  virtual torch::Tensor forward(const torch::Tensor& features) = 0;
  int64_t output_dim() const { return output_dim_; }

 private:
  int64_t output_dim_;
};

struct EncoderEntry {
  std::string name;
  std::vector<std::string> aliases;
  std::string summary;
  std::vector<OptionSpec> options;
  std::function<ChosenEncoder(const EncoderEntry& self, const Config& section)> read;
  bool reads_words = false;  // sentences (sentence_encoders.h) and not images
  std::optional<PretrainedInput> pretrained = {};
  // The section of an encoder of this name that tensors of these keys and shapes are weights of; nothing for others.
  std::function<std::optional<Config>(const WeightShapes& shapes)> section_of = {};
  bool needs_file = false;  // it is nothing without one
};
const std::vector<EncoderEntry>& encoder_registry();

struct HeadEntry {
  std::string name;  // simclr, mlp, none
  std::vector<std::string> aliases;
  std::string summary;
  std::vector<OptionSpec> options;
  std::function<ChosenHead(const HeadEntry& self, const Config& section)> read;
  bool projects = true;  // false: its output is the features themselves
};
const std::vector<HeadEntry>& head_registry();

}  // namespace debias

#include "debias/train/recipe/recipe_sections.h"

#include <algorithm>
#include <utility>

#include "debias/core/error.h"
#include "debias/runtime/device.h"
#include "debias/train/recipe/recipe.h"

namespace debias {
namespace {

template <class E>
OptionSpec word_option(std::string name, std::string help) {
  OptionSpec spec;
  spec.name = std::move(name);
  spec.type = option_type<E>().name;
  spec.choices = option_type<E>().choices;
  spec.default_value = Config::scalar(spec.choices.front());
  spec.help = std::move(help);
  return spec;
}

OptionSpec optional_part(std::string name, std::string type, std::string help) {
  OptionSpec spec;
  spec.name = std::move(name);
  spec.type = std::move(type);
  spec.default_value = Config::scalar("none");
  spec.help = std::move(help);
  return spec;
}

std::vector<OptionSpec> data_options() {
  return {optional_part("train", "map", "training data set: `name`, `root` and the options of that data set; required"),
          optional_part("valid", "map", "validation data set, for selection"),
          optional_part("test", "map", "test data set, for evaluation"),
          optional_part("must_link", "map",
                        "`file` of marked pairs, and `relation`: whether linked images are positives or left out as negatives"),
          word_option<GroupMates>("groups",
                                  "images of one group (column group of the labels): left out of each other's negatives, also views of one "
                                  "sample, or treated as others"),
          word_option<OnError>("on_error", "whether training stops at an unreadable image or substitutes another image"),
          word_option<Decode>("decode", "whether JPEG files are decoded at full size or at a reduced size that suffices for the views"),
          word_option<Verify>("verify", "identification of a data set: by its listing, or by the contents of its files")};
}

std::vector<OptionSpec> views_options() {
  std::vector<OptionSpec> options = {optional_part("preset", "word", "name of a view preset, in place of `steps`"),
                                     optional_part("steps", "list of steps", "list of view steps, in place of `preset`")};
  for (auto& spec : option_specs<ViewsOptions>()) options.push_back(std::move(spec));
  options.push_back(optional_part("normalize", "map", "`mean` and `std` of each channel"));
  options.push_back(optional_part("eval", "map", "steps for evaluation; by default they follow from the training views"));
  return options;
}

}  // namespace

const std::vector<RecipeSection>& recipe_sections() {
  static const std::vector<RecipeSection> sections = {
      {"name", "name of the run, for logs, tables and reports", {}},
      {"seed", "seed of initialisation, sample order and views; a non-negative integer (default 1)", {}},
      {"data", "data sets by split, and how images are read", data_options()},
      {"views", "how views are made from an image: a preset or a list of steps, with options that can be overridden by name",
       views_options()},
      {"encoder", "the network: `name` of an encoder and its options; required", {}},
      {"head", "projection head: `name` of a head and its options; without it, the encoder's output is the projection", {}},
      {"objective",
       "one term or a list of terms, whose weighted sum is minimised: `name` of an objective, its options, and these; required",
       option_specs<TermOptions>()},
      {"classifier", "linear classifier on the encoder: `name: linear`, and these options", option_specs<ClassifierOptions>()},
      {"method", "training method: `name` of a method and its options (default simclr)", {}},
      {"sampler", "how batches are drawn: `name` of a sampler and its options (default shuffled)", {}},
      {"optimizer", "`name` of an optimizer and its options (default adam)", {}},
      {"schedule", "learning-rate schedule: `name` of a schedule and its options (default constant)", {}},
      {"train", "length, precision and resources of training", option_specs<TrainOptions>()},
      {"evaluate", "evaluation during training; the options of a protocol are given under its name", option_specs<EvaluateOptions>()},
      {"output", "the run folder", {}},
      {"expected", "published results to compare with, used by sweeps and tables", {}}};
  return sections;
}

std::vector<std::string> recipe_section_names() {
  std::vector<std::string> names;
  for (const auto& section : recipe_sections()) names.push_back(section.name);
  return names;
}

void TrainOptions::describe(OptionVisitor& o) {
  o("epochs", epochs, Range::closed(1, 1e6), "passes over the training set");
  o("batch_size", batch_size, Range::closed(1, 1 << 20), "batch size in images, before views");
  o("drop_last", drop_last, "drop the last batch if it is smaller");
  o("micro_batch", micro_batch, Range::closed(1, 1 << 20),
    "number of images per forward pass; the loss still uses the whole batch, BatchNorm only this part");
  o("precision", precision, "precision of the network's convolutions and matrix products; weights remain fp32");
  o("loss_precision", loss_precision, "precision of the inner products inside the losses; sums remain fp32");
  o("device", device, "auto, cpu or cuda");
  o("tf32", tf32, "allow TF32 for float32 matrix products and convolutions on a GPU; the CPU never uses it");
  o("deterministic", deterministic,
    "use only deterministic kernels on a GPU, and reject operators without one; the CPU is always deterministic");
  o("threads", threads, Range::closed(1, 4096), "number of threads of the tensor library");
  o("workers", workers, Range::closed(0, 1024), "number of threads that make views; 0: the training thread");
  o("prefetch", prefetch, Range::closed(1, 64), "number of batches to prepare ahead");
  o("channels_last", channels_last, "memory format of images in the network");
  o("checkpoint_every", checkpoint_every, Range::at_least(0), "seconds between checkpoints inside an epoch; 0: none");
  o("log_every", log_every, Range::closed(1, 1e9), "steps between lines of metrics.jsonl");
  o("on_full_disk", on_full_disk, "reaction to a full disk: stop the run, or wait for space and retry every minute");
  o("synchronise_norm", synchronise_norm,
    "compute BatchNorm statistics over all data-parallel processes, not in each one alone; ignored with a micro_batch");
  o("loss_rows", loss_rows, "pairs that each data-parallel process computes: all, or its own share (sharded loss)");
  o("rank_timeout", rank_timeout, Range::closed(1, 1e6), "seconds after which a data-parallel process that does not answer ends the run");
  o.check("device", [this](const std::string& what) {
    const std::vector<std::string> names = device_names();
    if (std::ranges::find(names, device) == names.end()) {
      throw usage_error("{}: device: unknown value '{}'{}", what, device, suggestion(device, names));
    }
  });
}

}  // namespace debias

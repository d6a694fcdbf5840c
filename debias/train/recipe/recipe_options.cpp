#include <algorithm>

#include "debias/core/error.h"
#include "debias/runtime/device.h"
#include "debias/train/recipe/recipe.h"

namespace debias {

const OptionTable<ViewsOptions>& ViewsOptions::table() {
  static const auto table =
      OptionTable<ViewsOptions>()
          .add("count", &ViewsOptions::count_, Range::closed(1, 64), "number of views of each image in a batch")
          .add("forward", &ViewsOptions::forward_, "views through the network together or one by one (BatchNorm statistics differ)")
          .add("noise", &ViewsOptions::noise_, Range::closed(0, 1), "share of second views taken from an image of another class");
  return table;
}

const OptionTable<TrainOptions>& TrainOptions::table() {
  static const auto table =
      OptionTable<TrainOptions>()
          .add("epochs", &TrainOptions::epochs_, Range::closed(1, 1e6), "passes over the training set")
          .add("batch_size", &TrainOptions::batch_size_, Range::closed(1, 1 << 20), "batch size in images, before views")
          .add("drop_last", &TrainOptions::drop_last_, "drop the last batch if it is smaller")
          .add("micro_batch", &TrainOptions::micro_batch_, Range::closed(1, 1 << 20),
               "number of images per forward pass; the loss still uses the whole batch, BatchNorm only this part")
          .add("precision", &TrainOptions::precision_, "precision of the network's convolutions and matrix products; weights remain fp32")
          .add("loss_precision", &TrainOptions::loss_precision_, "precision of the inner products inside the losses; sums remain fp32")
          .add("device", &TrainOptions::device_, "auto, cpu or cuda")
          .add("tf32", &TrainOptions::tf32_, "allow TF32 for float32 matrix products and convolutions on a GPU; the CPU never uses it")
          .add("deterministic", &TrainOptions::deterministic_,
               "use only deterministic kernels on a GPU, and reject operators without one; the CPU is always deterministic")
          .add("threads", &TrainOptions::threads_, Range::closed(1, 4096), "number of threads of the tensor library")
          .add("workers", &TrainOptions::workers_, Range::closed(0, 1024), "number of threads that make views; 0: the training thread")
          .add("prefetch", &TrainOptions::prefetch_, Range::closed(1, 64), "number of batches to prepare ahead")
          .add("channels_last", &TrainOptions::channels_last_, "memory format of images in the network")
          .add("checkpoint_every", &TrainOptions::checkpoint_every_, Range::at_least(0),
               "seconds between checkpoints inside an epoch; 0: none")
          .add("log_every", &TrainOptions::log_every_, Range::closed(1, 1e9), "steps between lines of metrics.jsonl")
          .add("on_full_disk", &TrainOptions::on_full_disk_,
               "reaction to a full disk: stop the run, or wait for space and retry every minute")
          .add("synchronise_norm", &TrainOptions::synchronise_norm_,
               "compute BatchNorm statistics over all data-parallel processes, not in each one alone; ignored with a micro_batch")
          .add("loss_rows", &TrainOptions::loss_rows_,
               "pairs that each data-parallel process computes: all, or its own share (sharded loss)")
          .add("rank_timeout", &TrainOptions::rank_timeout_, Range::closed(1, 1e6),
               "seconds after which a data-parallel process that does not answer ends the run")
          .check("device", [](const TrainOptions& options, const std::string& what) {
            const std::string& device = options.device();
            const std::vector<std::string> names = device_names();
            if (std::ranges::find(names, device) == names.end()) {
              throw usage_error("{}: device: unknown value '{}'{}", what, device, suggestion(device, names));
            }
          });
  return table;
}

const OptionTable<EvaluateOptions>& EvaluateOptions::table() {
  static const auto table =
      OptionTable<EvaluateOptions>()
          .add("every", &EvaluateOptions::every_, Range::closed(1, 1e6), "epochs between evaluations")
          .add("protocols", &EvaluateOptions::protocols_, "protocols to run, such as [knn]")
          .add("select", &EvaluateOptions::select_, "metric on valid whose best epoch is stored as `best`")
          .add("on_error", &EvaluateOptions::on_error_, "reaction to a failed evaluation: training continues or stops")
          .add("unknown_classes", &EvaluateOptions::unknown_classes_,
               "images of classes that are not in the training set: rejected or left out")
          .check("select", [](const EvaluateOptions& options, const std::string& what) {
            if (!options.select().empty() && !options.select().starts_with("valid.")) {
              throw usage_error("{}: select: '{}' is not a metric on valid; use valid.knn_acc1 or the like", what, options.select());
            }
          });
  return table;
}

const OptionTable<TermOptions>& TermOptions::table() {
  static const auto table = OptionTable<TermOptions>()
                                .add("weight", &TermOptions::weight_, Range::any(), "factor of the term in the sum")
                                .add("on", &TermOptions::on_, "input of the term")
                                .add("bias_features", &TermOptions::bias_features_, ".npy of a bias model's features, row = sample id");
  return table;
}

const OptionTable<ClassifierOptions>& ClassifierOptions::table() {
  static const auto table =
      OptionTable<ClassifierOptions>()
          .add("learning_rate", &ClassifierOptions::learning_rate_, Range::at_least(0),
               "learning rate of the classifier's own Adam; auto: 1e-3, or the recipe's optimizer with gradient: flow")
          .add("gradient", &ClassifierOptions::gradient_, "stop: a probe that does not train the encoder; flow: trains the encoder")
          .add("normalize", &ClassifierOptions::normalize_, "L2-normalise its input; auto: without a head");
  return table;
}

}  // namespace debias

#include <algorithm>

#include "debias/core/error.h"
#include "debias/runtime/device.h"
#include "debias/train/recipe/recipe.h"

namespace debias {

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

// A checkpoint: one safetensors file, weights and optimizers as tensors, the training state as JSON in its metadata.
//
// The metadata holds the training state (training_state.h); a checksum covers header and tensors. Two generations are kept: `last` is
// renamed to `previous` before the new file takes its name, so that a reader finds a whole file at every moment.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/progress.h"
#include "debias/core/safetensors.h"
#include "debias/loader/batch_source.h"
#include "debias/train/methods/method.h"
#include "debias/train/methods/model.h"
#include "debias/train/methods/optimizers.h"
#include "debias/train/state/training_state.h"

namespace debias {

// All that a checkpoint holds the tensors of.
struct Trained {
  const Model& model;
  const Optimizers& optimizers;
  Method& method;
  BatchSource& source;
};

NamedTensors stored_tensors(const Trained& trained);  // the model's first
void save_checkpoint(const std::string& path, const Trained& trained, const TrainingState& state, const RunDescription& run);

// The same of any tensors and metadata.
void save_checkpoint(const std::string& path, NamedTensors named, Metadata metadata);

// Saves as `folder`/last.safetensors, the present one becoming previous.safetensors.
void save_generation(const std::string& folder, const std::function<void(const std::string& path)>& save);

struct OpenCheckpoint : StoredState {
  SafetensorsFile file;
};

// Opens and verifies one file. Data errors name the path: damaged, not a checkpoint of ours, of another version, or with a training state
// that no run can have.
OpenCheckpoint open_checkpoint(const std::string& path);

// The newest whole generation of a run: last, else (saying so in `log`) previous; nullopt when neither exists; a data error when what
// exists is damaged.
std::optional<OpenCheckpoint> open_newest(const std::string& folder, Log& log);

void restore(const OpenCheckpoint& checkpoint, const Trained& trained);

std::string instruction_set();  // what the tensor library dispatches to on this machine

}  // namespace debias

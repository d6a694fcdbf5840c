#include "debias/train/state/checkpoint.h"

#include <ATen/ATen.h>
#include <ATen/Version.h>

#include <filesystem>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/encoders/state.h"

namespace debias {

std::string instruction_set() { return at::get_cpu_capability(); }

NamedTensors stored_tensors(const Trained& trained) {
  NamedTensors named = trained.model.state();
  for (auto& entry : trained.optimizers.state()) named.push_back(std::move(entry));
  for (auto& entry : trained.method.state()) named.push_back(std::move(entry));
  for (auto& entry : trained.source.state()) named.push_back(std::move(entry));
  return named;
}

void save_checkpoint(const std::string& path, const Trained& trained, const TrainingState& state, const RunDescription& run) {
  save_checkpoint(path, stored_tensors(trained), stored_metadata(state, run));
}

void save_checkpoint(const std::string& path, NamedTensors named, Metadata metadata) {
  std::vector<TensorBytes> tensors;
  for (auto& [name, tensor] : named) {
    tensor = tensor.detach().cpu().contiguous();
    tensors.push_back(bytes_of(name, tensor));
  }
  metadata["format"] = "pt";
  write_safetensors(path, tensors, std::move(metadata));
}

void save_generation(const std::string& folder, const std::function<void(const std::string& path)>& save) {
  const std::string last = folder + "/last.safetensors", next = folder + "/next.safetensors";
  save(next);
  if (std::filesystem::exists(last)) rename_durably(last, folder + "/previous.safetensors");
  rename_durably(next, last);
}

OpenCheckpoint open_checkpoint(const std::string& path) {
  SafetensorsFile file = SafetensorsFile::open(path);
  if (!has_training_state(file.metadata())) {
    throw data_error("opening checkpoint '{}': it has no training state; it is a plain weights file (use encoder.weights to start from it)",
                     path);
  }
  if (!verify_safetensors(file)) {
    throw data_error("opening checkpoint '{}': its checksum is missing; the file was altered", path);
  }
  try {
    return {read_stored_state(file.metadata()), std::move(file)};
  } catch (const Error& error) {
    throw data_error("opening checkpoint '{}': {}", path, error.what());
  }
}

std::optional<OpenCheckpoint> open_newest(const std::string& folder, Log& log) {
  const std::string last = folder + "/last.safetensors", previous = folder + "/previous.safetensors";
  std::string damage;
  if (std::filesystem::exists(last)) {
    try {
      return open_checkpoint(last);
    } catch (const Error& error) {
      damage = error.what();
    }
  }
  if (std::filesystem::exists(previous)) {
    log.warn(damage.empty() ? fmt::format("no '{}': resuming from '{}'", last, previous)
                            : fmt::format("{}; resuming from '{}'", damage, previous));
    return open_checkpoint(previous);
  }
  if (!damage.empty()) throw data_error("{}; there is no previous checkpoint to resume from: start again with --overwrite", damage);
  return std::nullopt;
}

void restore(const OpenCheckpoint& checkpoint, const Trained& trained) {
  const Model& model = trained.model;
  load_state(*model.encoder, checkpoint.file, "encoder.");
  load_state(*model.head, checkpoint.file, "head.");
  if (model.predictor != nullptr) load_state(*model.predictor, checkpoint.file, "predictor.");
  if (model.classifier != nullptr) load_state(*model.classifier->linear(), checkpoint.file, "classifier.");
  for (const auto& network : model.side) load_state(*network.module, checkpoint.file, network.name + ".");
  trained.optimizers.load(checkpoint.file);
  trained.method.load(checkpoint.file);
  trained.source.load(checkpoint.file);
}

}  // namespace debias

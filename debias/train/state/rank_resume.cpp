#include "debias/train/state/rank_resume.h"

#include <ATen/ATen.h>
#include <sys/mman.h>
#include <torch/version.h>
#include <unistd.h>

#include <fstream>

#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/core/recipe_keys.h"
#include "debias/core/sha256.h"
#include "debias/ranks/ranks.h"
#include "debias/train/state/run_folder.h"

namespace debias {
namespace {

constexpr int64_t kChunk = 32 << 20;

at::Tensor chunk_of(int64_t bytes) { return at::zeros({bytes}, at::kByte); }

Error broken_off(const std::string& path) { return resource_error("reading '{}' for the other ranks: it broke off; check the disk", path); }

std::string recipe_difference(const std::string& leaders, const std::string& other) {
  for (const auto& change : config_changes(parse_yaml(leaders, "rank 0"), parse_yaml(other, "this rank"))) {
    if (changes_training(change.key)) return fmt::format("{} is {} on rank 0 and {} there", change.key, change.then, change.now);
  }
  return "";
}

std::string data_difference(const std::string& leaders, const std::string& other) {
  const auto read = [](const std::string& text) { return fingerprint_from_json(nlohmann::ordered_json::parse(text)); };
  const auto lines = differences(read(leaders), read(other), 1);
  return lines.empty() ? "" : fmt::format("{} (then: on rank 0; now: there)", lines.front());
}

std::string hash_of(const NamedTensors& weights) {
  Sha256 hash;
  for (const auto& [name, tensor] : weights) {
    const at::Tensor bytes = tensor.detach().cpu().contiguous();
    hash.update(static_cast<const char*>(bytes.const_data_ptr()), bytes.nbytes());
  }
  return hash.hex();
}

}  // namespace

void give_checkpoint(const std::string& path, const Ranks& ranks) {
  if (ranks.is_alone()) return;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto size = static_cast<int64_t>(file.tellg());
  if (!file || size <= 0) throw broken_off(path);
  ranks.take_from_leader({at::full({1}, size, at::kLong)});
  file.seekg(0);
  for (int64_t at = 0; at < size; at += kChunk) {
    const at::Tensor chunk = chunk_of(std::min(kChunk, size - at));
    if (!file.read(static_cast<char*>(chunk.mutable_data_ptr()), chunk.numel())) throw broken_off(path);
    ranks.take_from_leader({chunk});
  }
}

OpenCheckpoint take_checkpoint(const Ranks& ranks) {
  const at::Tensor length = at::zeros({1}, at::kLong);
  ranks.take_from_leader({length});
  const auto size = length.item<int64_t>();
  Descriptor memory(memfd_create("checkpoint of rank 0", MFD_CLOEXEC));
  if (memory.value() < 0) throw resource_error("taking rank 0's checkpoint: no memory for its {} bytes", size);
  for (int64_t at = 0; at < size; at += kChunk) {
    const at::Tensor chunk = chunk_of(std::min(kChunk, size - at));
    ranks.take_from_leader({chunk});
    if (write(memory.value(), chunk.const_data_ptr(), static_cast<size_t>(chunk.numel())) != chunk.numel()) {
      throw resource_error("taking rank 0's checkpoint: no memory for its {} bytes", size);
    }
  }
  OpenCheckpoint checkpoint = open_checkpoint(fmt::format("/proc/self/fd/{}", memory.value()));
  memory.release();  // open until the process ends: tensors are read from it later
  return checkpoint;
}

void require_same_training(const Config& recipe, const DataRecord& data, const Ranks& ranks) {
  const auto images = data.sets.find("train");
  const std::string listing =
      images == data.sets.end() ? "" : to_json(images->second).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  require_same({{"the version", fmt::format("debias {}, libtorch {}", DEBIAS_VERSION, TORCH_VERSION)},
                {"the recipe", recipe.to_yaml(), recipe_difference},
                {"the training images", listing, data_difference}},
               ranks);
}

void require_same_weights(const NamedTensors& weights, const std::string& when, const Ranks& ranks) {
  if (ranks.is_alone()) return;
  const auto words = [&](const std::string&, const std::string&) { return when; };
  require_same({{"the weights", hash_of(weights), words}}, ranks);
}

}  // namespace debias

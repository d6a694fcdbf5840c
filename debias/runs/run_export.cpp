#include "debias/runs/run_export.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/paths.h"
#include "debias/data/builders/atomic_folder.h"
#include "debias/data/dataset_registry.h"
#include "debias/encoders/onnx.h"
#include "debias/encoders/state.h"
#include "debias/evaluate/eval_views.h"
#include "debias/fix/fixed_folder.h"
#include "debias/runs/evaluated_data.h"
#include "debias/train/recipe/recipe.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

// Preprocessing that another program applies to an image before an exported encoder.
struct Preprocess {
  // size     [height, width] of evaluated images, a centre crop after `resize`; null: images keep their size
  // resize   antialiased bilinear: a number for the short side, [height, width], or null
  // mean, std   per channel, of values in [0, 1]
  // classes  names by number; absent if unknown
  // steps    all views of evaluation in order, as in a recipe, if the keys above cannot describe them
  nlohmann::ordered_json json;
  std::vector<std::string> remarks;  // one line each: what is unknown
};

using Json = nlohmann::ordered_json;

// The size that comes out of images of any size; nothing where it depends on theirs.
std::optional<std::pair<int, int>> fixed_size(const ViewPipeline& views) {
  const auto tall = views.output_size(307, 211), wide = views.output_size(211, 307);
  if (tall != wide || tall.first == 0) return std::nullopt;
  return tall;
}

Json resize_of(const Config& views) {
  for (const Config& step : views.find("steps")->items()) {
    if (const Config* resize = step.find("resize")) return resize->find("size")->to_json();
  }
  return nullptr;
}

// One value serves all channels.
std::vector<double> for_each_channel(std::vector<double> values, int64_t channels) {
  if (values.size() == 1) values.resize(channels, values.front());
  return values;
}

std::optional<std::vector<std::string>> recorded_classes(const std::string& folder) {
  const std::string path = folder + "/classes.json";
  if (folder.empty() || !std::filesystem::exists(path)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  const Json json = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("classes") || !json["classes"].is_array()) {
    throw data_error("{}: expected {{\"classes\": [names], ...}}; remove it, and the names come from the data set", path);
  }
  std::vector<std::string> names;
  for (const Json& name : json["classes"]) names.push_back(name.is_string() ? name.get<std::string>() : name.dump());
  return names;
}

std::unique_ptr<const Dataset> training_set(const Recipe& recipe, std::vector<std::string>& remarks) {
  try {
    return recipe.train_data.make_images();
  } catch (const Error& error) {
    remarks.push_back(fmt::format("preprocess.json lacks what only the training set says: {}", error.what()));
    return nullptr;
  }
}

// From the run's views of evaluation and its classes.json. If these lack the size or the names, the training set is opened if it exists.
Preprocess preprocess(const LoadedRun& run) {
  const Recipe recipe = read_recipe(run.recipe);
  const ViewPipeline views = eval_views(recipe.view_steps, DatasetInfo());
  auto size = fixed_size(views);
  auto classes = recorded_classes(run.folder);
  Preprocess result;
  if (!size || !classes) {
    if (const auto dataset = training_set(recipe, result.remarks)) {
      const DatasetInfo& info = dataset->info();
      if (!size && info.height > 0 && info.width > 0) size = views.output_size(info.height, info.width);
      if (!classes) classes = info.class_names;
    }
  }
  const Config resolved = views.config();
  result.json["size"] = size ? Json({size->first, size->second}) : Json();
  result.json["resize"] = resize_of(resolved);
  result.json["mean"] = for_each_channel(views.mean(), run.channels);
  result.json["std"] = for_each_channel(views.std(), run.channels);
  if (classes) result.json["classes"] = *classes;
  result.json["steps"] = resolved.find("steps")->to_json();
  return result;
}

constexpr const char* kSafetensors = "encoder.safetensors";
constexpr const char* kOnnx = "encoder.onnx";
constexpr const char* kPreprocess = "preprocess.json";

std::string folder_of(const ExportRequest& request, const LoadedRun& run) {
  if (!request.out.empty()) return request.out;
  if (run.folder.empty()) throw usage_error("export: checkpoint '{}' is in no run folder; give --out DIR", run.checkpoint);
  return run.folder + "/exported";
}

std::vector<std::string> files_of(ExportFormat format, const Encoder& encoder) {
  const bool has_onnx = dynamic_cast<const ResNet*>(&encoder) != nullptr;
  if (format == ExportFormat::kOnnx && !has_onnx) {
    throw usage_error(
        "export: --format onnx: the encoder ('{}') is not a single ResNet, and resnet18, resnet34 and resnet50 alone have an ONNX "
        "form here; give --format safetensors",
        encoder.registry_name());
  }
  if (format == ExportFormat::kOnnx) return {kOnnx, kPreprocess};
  if (format == ExportFormat::kSafetensors || !has_onnx) return {kSafetensors, kPreprocess};
  return {kSafetensors, kOnnx, kPreprocess};
}

// The folder is replaced as a whole, so it may hold nothing but what is written again: nothing of anybody else's, and no file that would
// be gone, or stay beside weights that it does not go with.
void require_earlier_export(const std::string& folder, const std::vector<std::string>& written) {
  if (!fs::is_directory(folder)) return;
  const bool ours = fs::exists(fs::path(folder) / kPreprocess);
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    const bool known = name == kSafetensors || name == kOnnx || name == kPreprocess;
    if (!known || !ours) throw usage_error("export: '{}' contains '{}', which no export wrote; give another --out", folder, name);
    if (std::find(written.begin(), written.end(), name) == written.end()) {
      throw usage_error(
          "export: '{}' contains {} of an earlier export, which this one would not overwrite; leave out --format, or give another --out",
          folder, name);
    }
  }
}

void write_weights(const std::string& path, const Encoder& encoder) {
  const auto state = named_state(encoder);
  std::vector<torch::Tensor> held;  // what bytes_of() looks at
  std::vector<TensorBytes> tensors;
  for (const auto& [name, tensor] : state) {
    held.push_back(tensor.detach().contiguous());
    tensors.push_back(bytes_of(name, held.back()));
  }
  write_safetensors(path, tensors, {{"format", "pt"}});
}

ExportedFiles exported(const std::string& folder, const std::vector<std::string>& names) {
  ExportedFiles files{folder, {}, "", 0, 0};
  for (const auto& name : names) files.paths.push_back((fs::path(folder) / name).string());
  return files;
}

// A folder of debias fix has its files ready.
ExportedFiles export_fixed(const ExportRequest& request) {
  read_fixed(request.run);  // rejects damaged ones
  std::vector<std::string> names = {"classes.json"};
  if (request.format != ExportFormat::kSafetensors) names.push_back("fixed.onnx");
  if (request.format != ExportFormat::kOnnx) names.insert(names.end(), {"layer.safetensors", "head.safetensors"});
  const std::string folder = request.out.empty() ? request.run + "/exported" : request.out;
  AtomicFolder out(folder);
  for (const auto& name : names) fs::copy_file(fs::path(request.run) / name, fs::path(out.building()) / name);
  out.commit();
  return exported(folder, names);
}

}  // namespace

ExportedFiles export_run(const ExportRequest& request, Log& log) {
  if (is_fixed_folder(request.run)) return export_fixed(request);
  const LoadedRun run = load_run(request.run, request.which);
  require_image_run(run);
  const std::string folder = folder_of(request, run);
  const std::vector<std::string> names = files_of(request.format, *run.encoder);
  refuse_inside_data(folder, roots_of(data_of(read_recipe(run.recipe))));
  require_earlier_export(folder, names);
  const Preprocess described = preprocess(run);
  AtomicFolder out(folder, AtomicFolder::Present::kReplace);
  for (const auto& name : names) {
    const std::string path = out.building() + "/" + name;
    if (name == kSafetensors) write_weights(path, *run.encoder);
    if (name == kOnnx) write_file_atomically(path, onnx_model(dynamic_cast<const ResNet&>(*run.encoder)));
    if (name == kPreprocess) write_file_atomically(path, described.json.dump(2) + "\n");
  }
  out.commit();
  for (const auto& remark : described.remarks) log.warn(remark);
  ExportedFiles files = exported(folder, names);
  files.checkpoint = run.checkpoint;
  files.epoch = run.epoch;
  files.features = run.encoder->feature_dim();
  return files;
}

}  // namespace debias

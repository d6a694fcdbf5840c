#include "debias/runs/frozen_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/core/nearest_name.h"
#include "debias/core/paths.h"
#include "debias/core/registry.h"
#include "debias/core/safetensors.h"
#include "debias/encoders/state.h"
#include "debias/evaluate/eval_views.h"
#include "debias/train/recipe/recipe.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

bool ends_as_recipe(const std::string& text) { return text.ends_with(".yaml") || text.ends_with(".yml"); }
bool looks_like_a_path(const std::string& text) {
  return ends_as_recipe(text) || text.ends_with(".safetensors") || text.find('/') != std::string::npos;
}

void require_weights(const ChosenEncoder& encoder, const std::string& option) {
  const std::string& name = encoder.entry->name;
  if (encoder.entry->reads_words) throw usage_error("{}: encoder '{}' reads sentences; give one of images", option, name);
  if (!encoder.weights_file.empty()) return;
  throw usage_error("{}: encoder '{}' has no weights, so its features would be random; add weights: F.safetensors", option, name);
}

FrozenEncoder of_recipe(const std::string& path, const std::string& option) {
  const Config root = read_yaml_file(path);
  const Recipe recipe = read_recipe(root);
  FrozenEncoder frozen{section_map(*root.find("encoder")), recipe.encoder, recipe.view_steps.section, {path}};
  if (recipe.view_steps.eval != nullptr) frozen.views.set("eval", recipe.view_steps.eval->section);
  require_weights(frozen.encoder, option);
  return frozen;
}

FrozenEncoder of_weights(const std::string& path, const std::string& option) {
  const ForeignFile foreign = foreign_file(InputFile(path));
  if (!foreign.what.empty()) {
    throw data_error(
        "{}: '{}' is {}, and weights are read from safetensors; {}, or of TorchScript give '{{name: torchscript, file: {}, sha256: ...}}'",
        option, path, foreign.what, foreign.advice, path);
  }
  auto section = section_of_weights(SafetensorsFile::open(path));
  if (!section) {
    throw data_error("{}: the keys of '{}' match no supported encoder (debias list encoders); give the model as TorchScript", option, path);
  }
  section->set("weights", Config::string(path));
  return {*section, read_encoder(*section), {}};
}

// `eval_is_given`: the changes have all of `eval`, so that the side of the weights need not be known.
Config views_of_weights(const FrozenEncoder& frozen, bool eval_is_given) {
  Config views = parse_yaml("{preset: none}", "");
  if (!eval_is_given) {
    const int64_t side = pretrained_side(frozen.encoder);
    views.set("eval", parse_yaml(fmt::format("{{resize: {{size: {}}}, center_crop: {{size: {}}}}}", side * 8 / 7, side), ""));
  }
  if (const auto asked = frozen.encoder.normalisation()) {
    Config normalize = Config::map();
    normalize.set("mean", write_value<std::vector<double>>(asked->mean));
    normalize.set("std", write_value<std::vector<double>>(asked->std));
    views.set("normalize", normalize);
  }
  return views;
}

ChosenViews changed_views(const FrozenEncoder& frozen, const DatasetInfo& images) {
  const bool eval_is_given =
      std::ranges::any_of(frozen.view_changes, [](const std::string& change) { return change.starts_with("views.eval="); });
  Config views = frozen.views;
  if (views.is_null()) {
    views = views_of_weights(frozen, eval_is_given);
  } else if (views.find("eval") == nullptr && !eval_is_given) {
    views.set("eval", default_eval_views(read_views(views), images).section);
  }
  Config recipe = Config::map({{"views", std::move(views)}});
  for (const std::string& change : frozen.view_changes) {
    const size_t begin = std::string_view("views.").size();
    const std::string key = change.substr(begin, change.find_first_of(".=[", begin) - begin);
    if (key != "eval" && key != "normalize") {
      throw usage_error("'{}': an encoder without a run takes only the evaluation views, views.eval and views.normalize{}", change,
                        suggestion(key, {"eval", "normalize"}));
    }
    recipe.assign(change);
  }
  return read_views(*recipe.find("views"));
}

}  // namespace

FrozenEncoder frozen_encoder(const std::string& text, const std::string& option) {
  std::error_code ignored;  // a long section is not a file name
  if (fs::is_directory(text, ignored)) {
    throw usage_error("{}: '{}' is a folder; give F.safetensors, RECIPE.yaml or a section {{name: ..., weights: F.safetensors}}", option,
                      text);
  }
  FrozenEncoder frozen;
  if (fs::exists(text, ignored)) {
    frozen = ends_as_recipe(text) ? of_recipe(text, option) : of_weights(text, option);
  } else {
    const Config section = parse_yaml(text, option);
    if (!section.is_map() && looks_like_a_path(text)) throw data_error("{}: '{}': no such file{}", option, text, start_of(text));
    frozen.section = section_map(section);
    frozen.encoder = read_encoder(section);
    require_weights(frozen.encoder, option);
  }
  frozen.files.push_back(frozen.encoder.weights_file);
  return frozen;
}

std::shared_ptr<Encoder> opened_encoder(const FrozenEncoder& frozen, int64_t channels) {
  auto encoder = frozen.encoder.make(channels, 1);
  encoder->eval();
  return encoder;
}

int64_t pretrained_side(const ChosenEncoder& encoder) {
  if (encoder.pretrained) return encoder.pretrained->side;
  throw usage_error("encoder '{}': the image size of its weights is unknown; give a recipe, whose views define it", encoder.entry->name);
}

ViewPipeline frozen_views(const FrozenEncoder& frozen, const Encoder& encoder, const DatasetInfo& images) {
  ViewPipeline pipeline = eval_views(changed_views(frozen, images), images);
  const auto tall = pipeline.output_size(307, 211), wide = pipeline.output_size(211, 307);
  if (tall != wide && (images.height == 0 || images.width == 0)) {
    throw usage_error("encoder '{}': its recipe's views do not resize images; give it views.eval with a resize and a crop",
                      frozen.encoder.entry->name);
  }
  const auto side = encoder.image_side();
  const auto size = images.height > 0 ? pipeline.output_size(images.height, images.width) : tall;
  if (side && (size.first != *side || size.second != *side)) {
    throw usage_error("encoder '{}': the recipe's evaluation views have {}x{} pixels and it takes {}x{}; change views.eval",
                      frozen.encoder.entry->name, size.first, size.second, *side, *side);
  }
  return pipeline;
}

}  // namespace debias

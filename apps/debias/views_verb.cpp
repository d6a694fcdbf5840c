#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "apps/debias/results.h"
#include "apps/debias/verbs.h"
#include "debias/augment/chosen.h"
#include "debias/augment/fixed_step.h"
#include "debias/augment/view_pipeline.h"
#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/paths.h"
#include "debias/core/recipe_file.h"
#include "debias/core/registry.h"
#include "debias/data/dataset_registry.h"
#include "debias/image/image_decode.h"
#include "debias/image/image_encode.h"
#include "debias/runs/recipe_lookup.h"

namespace debias {
namespace {

struct ViewsArguments {
  std::string image, out = "views.png", preset = "sim32", data = "glyphs", root;
  std::vector<std::string> images, words, steps;
  int64_t count = 6, rows = 8, seed = 1;
};

void write_png(const std::string& path, const Image& image) {
  const std::vector<uint8_t> bytes = encode_png(image);
  AtomicFile file(path);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

int run_apply(const ViewsArguments& arguments) {
  refuse_overwriting("views apply", {arguments.out}, {arguments.image});
  std::vector<std::function<void(Image&)>> steps;
  for (const auto& word : arguments.steps) steps.push_back(fixed_step(parse_yaml(word, "views apply"), "views apply"));
  Image image = read_image(arguments.image);
  for (const auto& step : steps) step(image);
  write_png(arguments.out, image);
  return 0;
}

// The `views:` section of a recipe, or a preset by name.
Config views_section(const std::string& word) {
  if (!std::filesystem::is_regular_file(word)) return Config::map({{"preset", Config::string(word)}});
  const Config recipe = read_recipe_file(word, find_recipe);
  const Config* views = recipe.find("views");
  if (views == nullptr) throw usage_error("views show: {}: the recipe has no `views:` section", word);
  return *views;
}

Config data_section(const ViewsArguments& arguments) {
  Config section = Config::map();
  section.set("name", Config::string(arguments.data));
  for (const auto& word : arguments.words) section.assign(word);
  if (!arguments.root.empty()) section.set("root", Config::string(arguments.root));
  return section;
}

void refuse_inputs_as_output(const ViewsArguments& arguments) {
  std::vector<std::string> inputs = arguments.images;
  inputs.push_back(arguments.preset);
  const Config section = data_section(arguments);
  const std::vector<std::string> named = files_named_in(section);
  inputs.insert(inputs.end(), named.begin(), named.end());
  refuse_overwriting("views show", {arguments.out}, inputs);
  refuse_inside_data(arguments.out, roots_of(section));
}

std::vector<Image> originals(const ViewsArguments& arguments) {
  std::vector<Image> images;
  for (const auto& path : arguments.images) images.push_back(read_image(path));
  if (!images.empty()) return images;
  const auto dataset = read_data(data_section(arguments)).make_images();
  const int64_t rows = std::min(arguments.rows, dataset->size());
  for (int64_t r = 0; r < rows; ++r) images.push_back(dataset->get(r * (dataset->size() / rows)).image);
  return images;
}

int run_show(const ViewsArguments& arguments) {
  refuse_inputs_as_output(arguments);
  const ViewPipeline pipeline = read_views(views_section(arguments.preset), {"count", "forward", "noise"}).make({0.5}, {0.5});
  std::vector<std::vector<Image>> rows;
  for (const Image& image : originals(arguments)) {
    std::vector<Image> row = {image};
    for (int64_t v = 0; v < arguments.count; ++v) {
      RngKey key = {.domain = RngDomain::kViews,
                    .seed = static_cast<uint64_t>(arguments.seed),
                    .sample = rows.size(),
                    .view = static_cast<uint16_t>(v)};
      row.push_back(pipeline.apply(image, key));
    }
    rows.push_back(std::move(row));
  }
  const Image sheet = contact_sheet(rows);
  write_png(arguments.out, sheet);
  print_lines(fmt::format("{}: {} images, {} views each, {} x {} pixels\n", arguments.out, rows.size(), arguments.count, sheet.height,
                          sheet.width));
  return 0;
}

}  // namespace

void add_views_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("views", "shows the views of images, or applies fixed steps to an image");
  verb->require_subcommand(1);
  const auto arguments = std::make_shared<ViewsArguments>();

  auto* show = verb->add_subcommand("show", "writes a contact sheet: each image, followed by its views");
  show->add_option("views", arguments->preset, "a preset (debias list views), or a recipe");
  show->add_option("overrides", arguments->words, "key=value: options of the data set");
  show->add_option("--out", arguments->out, "PNG file to write (views.png)");
  show->add_option("--image", arguments->images, "JPEG or PNG files to show instead of a data set's images");
  show->add_option("--data", arguments->data, "data set (glyphs)");
  show->add_option("--root", arguments->root, "folder of the data set");
  show->add_option("--count", arguments->count, "number of views of each image (6)")->check(CLI::Range(1, 64));
  show->add_option("--rows", arguments->rows, "number of images (8)")->check(CLI::Range(1, 256));
  show->add_option("--seed", arguments->seed, "seed of the views (1)")->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()));
  show->footer("Example: debias views show sim32 --out sim32.png");
  show->callback([=, &action] { action = [=] { return run_show(*arguments); }; });

  auto* apply = verb->add_subcommand("apply", "applies fixed steps in order, without randomness");
  apply->add_option("--image", arguments->image, "image file, JPEG or PNG")->required();
  apply->add_option("--out", arguments->out, "PNG file to write")->required();
  apply->add_option("steps", arguments->steps, "fixed steps, such as 'hue: {factor: 0.1}' 'resize: {size: 32}'")->required();
  apply->footer("Example: debias views apply --image in.png --out out.png 'hue: {factor: 0.1}' 'resize: {size: 32}'");
  apply->callback([=, &action] { action = [=] { return run_apply(*arguments); }; });

  verb->footer("Example: debias views show sim32 --out sim32.png");
}

}  // namespace debias

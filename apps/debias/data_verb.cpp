#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "apps/debias/results.h"
#include "apps/debias/verbs.h"
#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/core/paths.h"
#include "debias/core/printable.h"
#include "debias/core/registry.h"
#include "debias/data/array_files.h"
#include "debias/data/builders/data_make.h"
#include "debias/data/builders/planted_folder.h"
#include "debias/data/data_check.h"
#include "debias/data/dataset_registry.h"
#include "debias/process/terminal.h"
#include "debias/runs/survey_text.h"

namespace debias {
namespace {

struct DataArguments {
  std::string name;
  std::string root;
  std::vector<std::string> words;
  bool json = false;
  std::string out, labels, bias;
  std::optional<int64_t> limit;
};

Config section_of(const DataArguments& arguments) {
  Config section = Config::map();
  section.set("name", Config::string(arguments.name));
  for (const std::string& word : arguments.words) section.assign(word);
  if (!arguments.root.empty()) section.set("root", Config::string(arguments.root));
  return section;
}

int run_list(const DataArguments& arguments) {
  if (!arguments.json) {
    for (const auto& entry : dataset_registry()) fmt::print("{:<18} {}\n", entry.name, entry.summary);
    return 0;
  }
  print_json({{"datasets", listed_datasets()}}, -1);
  return 0;
}

int run_check(const DataArguments& arguments) {
  const ChosenData data = read_data(section_of(arguments));
  std::unique_ptr<const Dataset> dataset;
  try {
    dataset = data.make_images();
  } catch (const FileError& error) {
    if (arguments.json) print_json(to_json(unreadable_check(data, error)), -1);
    throw;
  }
  const DataCheck check = check_data(*dataset, 0, *terminal_progress());
  if (arguments.json) {
    print_json(to_json(check), -1);
  } else {
    print_lines(check_text(check));
  }
  if (check.bad_files.empty()) return 0;
  throw data_error("data check {}: {} of {} images are bad, the first {}: {}", check.name, check.bad_files.size(), dataset->size(),
                   check.bad_files[0].path, check.bad_files[0].reason);
}

int run_export(const DataArguments& arguments) {
  const Config section = section_of(arguments);
  const std::vector<std::string> roots = roots_of(section);
  refuse_inside_data(arguments.out, roots, "--out");
  refuse_inside_data(arguments.labels, roots, "--labels");
  refuse_inside_data(arguments.bias, roots, "--bias");
  refuse_overwriting("data export", {arguments.out, arguments.labels, arguments.bias}, files_named_in(section));
  const auto dataset = read_data(section).make_images();
  const std::vector<int64_t> shape =
      write_arrays(*dataset, {arguments.out, arguments.labels, arguments.bias}, arguments.limit, *terminal_progress());
  fmt::print("{}: uint8 [{}]\n", without_control_characters(arguments.out), fmt::join(shape, ", "));
  return 0;
}

int run_make(const DataArguments& arguments) {
  const MadeCounts made = make_data_folder(section_of(arguments), arguments.out, *terminal_progress());
  const auto log = terminal_log();
  for (const std::string& remark : made.remarks) log->info("data make: " + remark);
  if (arguments.json) {
    nlohmann::ordered_json json = {{"name", arguments.name}, {"out", arguments.out}};
    for (const auto& part : made.parts) json[part.split] = {{"aligned", part.aligned}, {"conflicting", part.conflicting}};
    print_json(json, -1);
    return 0;
  }
  fmt::print("{}: {}\n", without_control_characters(arguments.out), arguments.name);
  for (const auto& part : made.parts) {
    fmt::print("  {:<6} {:>7} images: {} aligned, {} conflicting\n", part.split, part.aligned + part.conflicting, part.aligned,
               part.conflicting);
  }
  return 0;
}

PlantKind plant_kind(const std::string& word) {
  std::vector<std::string> known;
  for (const auto& [name, kind] : EnumNames<PlantKind>::values) {
    if (name == word) return kind;
    known.emplace_back(name);
  }
  throw usage_error("data plant: unknown kind '{}'{}", word, suggestion(word, known));
}

int run_plant(const DataArguments& arguments) {
  Config words = Config::map();
  for (const std::string& word : arguments.words) words.assign(word);
  const PlantOptions options = options_from<PlantOptions>(words, "data plant");
  const PlantKind kind = plant_kind(arguments.name);
  const PlantedFolder made = plant_shortcut(kind, options, arguments.root, arguments.out, *terminal_progress());
  const std::string csv = arguments.out + "/planted.csv";
  if (arguments.json) {
    print_json({{"kind", arguments.name},
                {"out", arguments.out},
                {"images", made.images},
                {"aligned", made.aligned},
                {"others", made.others},
                {"values", csv}},
               -1);
    return 0;
  }
  print_lines(fmt::format("{}: {} images, {} with the value of their class, {} of other splits\nvalues: {}\n", arguments.out, made.images,
                          made.aligned, made.others, csv));
  return 0;
}

CLI::App* add_reader(CLI::App* verb, const char* name, const char* help, DataArguments& arguments) {
  auto* sub = verb->add_subcommand(name, help);
  sub->add_option("NAME", arguments.name, "data set (debias data list)")->required();
  sub->add_option("--root", arguments.root, "folder of the files");
  sub->add_option("key=value", arguments.words, "options of the data set, as in a recipe: split=test seed=1");
  return sub;
}

}  // namespace

void add_data_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("data", "lists, checks, builds and exports data sets, and plants shortcuts");
  verb->require_subcommand(1);
  const auto arguments = std::make_shared<DataArguments>();
  const auto runs = [&action, arguments](CLI::App* sub, int (*run)(const DataArguments&)) {
    sub->callback([=, &action] { action = [=] { return run(*arguments); }; });
  };

  auto* list = verb->add_subcommand("list", "lists the supported data sets");
  list->add_flag("--json", arguments->json, "one JSON object, with every option");
  list->footer("Example: debias data list");
  runs(list, run_list);

  auto* check =
      add_reader(verb, "check", "reads every image; reports counts, mean, std, a label x bias table and bad files (exit 3)", *arguments);
  check->add_flag("--json", arguments->json, "one JSON object on standard output");
  check->footer("Example: debias data check glyphs correlation=0.95 --json");
  runs(check, run_check);

  auto* make =
      add_reader(verb, "make", "builds biased_mnist, corrupted_cifar10, garments_on_scenes or glyphs on disk, as PNG files", *arguments);
  make->add_option("--out", arguments->out, "the new folder; it must not exist")->required();
  make->add_flag("--json", arguments->json, "one JSON object on standard output: number of images written");
  make->footer("Example: debias data make glyphs correlation=0.95 train_count=1000 --out glyphs95");
  runs(make, run_make);

  auto* plant = verb->add_subcommand("plant", "copies a folder of class folders and plants a shortcut in the copy");
  std::vector<std::string> kinds;
  for (const auto& [name, kind] : EnumNames<PlantKind>::values) kinds.emplace_back(name);
  plant->add_option("KIND", arguments->name, fmt::format("{}", fmt::join(kinds, ", ")))->required();
  plant->add_option("DIR", arguments->root, "folder of class folders, optionally split into train and test")->required();
  plant->add_option("key=value", arguments->words,
                    "correlation=0.95 (share of training images that carry the shortcut of their class), seed=1");
  plant->add_option("--out", arguments->out, "the new folder; it must not exist")->required();
  plant->add_flag("--json", arguments->json, "one JSON object on standard output");
  plant->footer("Example: debias data plant square photos --out planted correlation=0.9");
  runs(plant, run_plant);

  auto* exported = add_reader(verb, "export", "writes pixels, labels and bias labels as .npy files, in the data set's order", *arguments);
  exported->add_option("--out", arguments->out, "file of the pixels, uint8 [N, H, W, C]")->required();
  exported->add_option("--labels", arguments->labels, "file of the labels, int64 [N]")->transform(with_home);
  exported->add_option("--bias", arguments->bias, "file of the bias labels, int64 [N]")->transform(with_home);
  exported->add_option("--limit", arguments->limit, "the first N images only");
  exported->footer("Example: debias data export glyphs split=test --limit 100 --out x.npy --labels y.npy");
  runs(exported, run_export);

  verb->footer("Example: debias data check glyphs correlation=0.95");
}

}  // namespace debias

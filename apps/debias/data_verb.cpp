#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "apps/debias/output_path.h"
#include "apps/debias/results.h"
#include "apps/debias/terminal.h"
#include "apps/debias/verbs.h"
#include "debias/core/checked_math.h"
#include "debias/core/data_folder.h"
#include "debias/core/file_error.h"
#include "debias/core/home_path.h"
#include "debias/core/npy.h"
#include "debias/core/printable.h"
#include "debias/core/registry.h"
#include "debias/data/builders/data_make.h"
#include "debias/data/data_check.h"
#include "debias/data/data_roots.h"
#include "debias/data/dataset_registry.h"

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
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& entry : dataset_registry()) {
    nlohmann::ordered_json options = nlohmann::ordered_json::array();
    for (const auto& spec : entry.options) options.push_back(option_json(spec));
    list.push_back({{"name", entry.name}, {"aliases", entry.aliases}, {"summary", entry.summary}, {"options", options}});
  }
  print_json({{"datasets", list}}, -1);
  return 0;
}

nlohmann::ordered_json check_json(const DataCheck& check) {
  nlohmann::ordered_json json;
  json["name"] = check.name;
  json["split"] = check.split;
  json["count"] = check.count;
  json["shape"] = {check.height, check.width, check.channels};
  json["classes"] = check.class_names;
  json["per_class"] = check.per_class;
  json["mean"] = check.mean;
  json["std"] = check.std;
  if (!check.bias_names.empty()) json["bias_table"] = check.bias_table;
  json["bad_files"] = nlohmann::ordered_json::array();
  for (const BadFile& bad : check.bad_files) json["bad_files"].push_back({{"path", bad.path}, {"reason", bad.reason}});
  return json;
}

std::vector<std::string> shown(std::vector<std::string> names) {
  for (auto& name : names) name = without_control_characters(name);
  return names;
}

void print_check(const DataCheck& check) {
  const std::string size = check.height > 0 ? fmt::format("{}x{}x{}", check.height, check.width, check.channels) : "several sizes";
  fmt::print("{}, split {}: {} images of {}\n", check.name, check.split, check.count, size);
  fmt::print("mean {:.4f}  std {:.4f}  (values in [0, 1], per channel)\n", fmt::join(check.mean, " "), fmt::join(check.std, " "));
  const std::vector<std::string> classes = shown(check.class_names);
  for (size_t i = 0; i < classes.size(); ++i) fmt::print("  {:<16} {:>8}\n", classes[i], check.per_class[i]);
  if (!check.bias_names.empty()) {
    fmt::print("label x bias ({})\n", fmt::join(shown(check.bias_names), " "));
    for (size_t i = 0; i < check.bias_table.size(); ++i) {
      fmt::print("  {:<16} {:>6}\n", classes[i], fmt::join(check.bias_table[i], " "));
    }
  }
  constexpr size_t kShown = 20;
  for (size_t i = 0; i < std::min(kShown, check.bad_files.size()); ++i) {
    const BadFile& bad = check.bad_files[i];
    fmt::print("bad: {}: {}\n", without_control_characters(bad.path), without_control_characters(bad.reason));
  }
  if (check.bad_files.size() > kShown) fmt::print("bad: and {} more (--json lists all)\n", check.bad_files.size() - kShown);
}

// What a check says of a data set that cannot be opened at all.
void print_unreadable(const Config& section, const FileError& error) {
  DataCheck check;
  check.name = section_name(section, "data set");
  const Config* split = section.find("split");
  check.split = split != nullptr && split->is_scalar() ? split->text() : "train";
  check.bad_files = {{error.path(), error.reason()}};
  print_json(check_json(check), -1);
}

int run_check(const DataArguments& arguments) {
  const Config section = section_of(arguments);
  std::unique_ptr<Dataset> dataset;
  try {
    dataset = make_dataset(section);
  } catch (const FileError& error) {
    if (arguments.json) print_unreadable(section, error);
    throw;
  }
  const DataCheck check = check_data(*dataset, 0, *terminal_progress());
  if (arguments.json) {
    print_json(check_json(check), -1);
  } else {
    print_check(check);
  }
  if (check.bad_files.empty()) return 0;
  throw data_error("data check {}: {} of {} images are bad, the first {}: {}", check.name, check.bad_files.size(), dataset->size(),
                   check.bad_files[0].path, check.bad_files[0].reason);
}

std::vector<uint8_t> pixels_of(const Dataset& dataset, int64_t count, std::vector<int64_t>& shape) {
  std::vector<uint8_t> pixels;
  const auto progress = terminal_progress();
  progress->begin("exporting " + dataset.info().name, count);
  for (int64_t i = 0; i < count; ++i) {
    const Image image = dataset.get(i).image;
    if (i == 0) {
      shape = {count, image.height, image.width, image.channels};
      const auto bytes = checked_product(shape);
      if (!bytes) throw resource_error("data export: {} images of {}x{} are too many for one file", count, image.height, image.width);
      pixels.reserve(static_cast<size_t>(*bytes));
    }
    if (image.height != shape[1] || image.width != shape[2]) {
      throw data_error("data export: images differ in size: {} is {}x{}, {} is {}x{}; export needs one size", dataset.source(0), shape[1],
                       shape[2], dataset.source(i), image.height, image.width);
    }
    pixels.insert(pixels.end(), image.pixels.begin(), image.pixels.end());
    if (i % 256 == 0) progress->advance(i, "");
  }
  progress->end();
  return pixels;
}

int run_export(const DataArguments& arguments) {
  const Config section = section_of(arguments);
  const std::vector<std::string> roots = roots_of(section);
  refuse_inside_data(arguments.out, roots, "--out");
  refuse_inside_data(arguments.labels, roots, "--labels");
  refuse_inside_data(arguments.bias, roots, "--bias");
  refuse_overwriting("data export", {arguments.out, arguments.labels, arguments.bias}, files_named_in(section));
  const auto dataset = make_dataset(section);
  if (!arguments.bias.empty() && dataset->info().bias_names.empty()) {
    throw usage_error("data export: data set '{}' has no bias attribute; leave out --bias", dataset->info().name);
  }
  if (!arguments.labels.empty() && dataset->info().class_names.empty()) {
    throw usage_error("data export: data set '{}' is unlabelled here; leave out --labels", dataset->info().name);
  }
  if (arguments.limit && *arguments.limit < 1) throw usage_error("data export: --limit {}: expected at least 1", *arguments.limit);
  const int64_t count = std::min(dataset->size(), arguments.limit.value_or(dataset->size()));
  std::vector<int64_t> shape;
  const std::vector<uint8_t> pixels = pixels_of(*dataset, count, shape);
  write_npy(arguments.out, DType::kUInt8, shape, pixels.data());

  const auto write_integers = [&](const std::string& path, int64_t (Dataset::*value)(int64_t) const) {
    if (path.empty()) return;
    std::vector<int64_t> values(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = ((*dataset).*value)(i);
    write_npy(path, DType::kInt64, {count}, values.data());
  };
  write_integers(arguments.labels, &Dataset::label);
  write_integers(arguments.bias, &Dataset::bias);
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

CLI::App* add_reader(CLI::App* verb, const char* name, const char* help, DataArguments& arguments) {
  auto* sub = verb->add_subcommand(name, help);
  sub->add_option("NAME", arguments.name, "data set (debias data list)")->required();
  sub->add_option("--root", arguments.root, "folder the files are in");
  sub->add_option("key=value", arguments.words, "options of the data set, as in a recipe: split=test seed=1");
  return sub;
}

}  // namespace

void add_data_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("data", "lists, checks, builds and exports data sets");
  verb->require_subcommand(1);
  const auto arguments = std::make_shared<DataArguments>();
  const auto runs = [&action, arguments](CLI::App* sub, int (*run)(const DataArguments&)) {
    sub->callback([=, &action] { action = [=] { return run(*arguments); }; });
  };

  auto* list = verb->add_subcommand("list", "what can be read, one line each");
  list->add_flag("--json", arguments->json, "one JSON object, with every option");
  list->footer("Example: debias data list");
  runs(list, run_list);

  auto* check = add_reader(verb, "check", "reads every image: counts, mean, std, label x bias table, bad files (exit 3)", *arguments);
  check->add_flag("--json", arguments->json, "one JSON object on standard output");
  check->footer("Example: debias data check glyphs correlation=0.95 --json");
  runs(check, run_check);

  auto* make = add_reader(
      verb, "make", "builds biased_mnist, corrupted_cifar10 or glyphs on disk: PNG files in align, conflict, valid and test", *arguments);
  make->add_option("--out", arguments->out, "the new folder; it must not exist")->required();
  make->add_flag("--json", arguments->json, "one JSON object on standard output: images made");
  make->footer("Example: debias data make glyphs correlation=0.95 train_count=1000 --out glyphs95");
  runs(make, run_make);

  auto* exported = add_reader(verb, "export", "pixels, labels and biases as .npy files, in the data set's order", *arguments);
  exported->add_option("--out", arguments->out, "uint8 [N, H, W, C]")->required();
  exported->add_option("--labels", arguments->labels, "int64 [N]")->transform(with_home);
  exported->add_option("--bias", arguments->bias, "int64 [N]")->transform(with_home);
  exported->add_option("--limit", arguments->limit, "the first N images only");
  exported->footer("Example: debias data export glyphs split=test --limit 100 --out x.npy --labels y.npy");
  runs(exported, run_export);

  verb->footer("Example: debias data check glyphs correlation=0.95");
}

}  // namespace debias

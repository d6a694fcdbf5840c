#include "debias/runs/recipe_lookup.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/core/nearest_name.h"
#include "debias/core/paths.h"
#include "debias/core/recipe_file.h"
#include "debias/core/recipe_keys.h"
#include "debias/core/registry.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

// Nearest first.
std::vector<fs::path> recipe_folders() {
  std::error_code failure;
  const fs::path program = fs::read_symlink("/proc/self/exe", failure);
  std::vector<fs::path> folders = {"recipes"};
  if (!failure) folders.push_back((program.parent_path() / DEBIAS_RECIPES).lexically_normal());
  return folders;
}

// Name -> path.
std::map<std::string, std::string> named_recipes() {
  std::map<std::string, std::string> recipes;
  for (const fs::path& folder : recipe_folders()) {
    std::error_code failure;
    auto entry = fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, failure);
    for (; !failure && entry != fs::recursive_directory_iterator(); entry.increment(failure)) {
      if (entry->path().extension() != ".yaml") continue;
      recipes.emplace(entry->path().lexically_relative(folder).replace_extension().string(), entry->path().string());
    }
  }
  return recipes;
}

std::string bare_name(std::string name) {
  if (name.ends_with(".yaml")) name.resize(name.size() - 5);
  if (name.starts_with("./")) name.erase(0, 2);
  if (name.starts_with("recipes/")) name.erase(0, 8);
  return name;
}

// The lines of `#` at the head of a file, as one.
std::string head_comment(const std::string& path) {
  std::ifstream file(path);
  std::string comment;
  for (std::string line; std::getline(file, line) && line.starts_with('#');) {
    const size_t text = line.find_first_not_of("# ");
    if (text == std::string::npos) continue;
    if (!comment.empty()) comment += ' ';
    comment += line.substr(text);
  }
  return comment;
}

// Up to a full stop; one within a number or a file's name does not count.
std::string first_sentence(const std::string& text) {
  const size_t end = text.find(". ");
  std::string sentence = end == std::string::npos ? text : text.substr(0, end);
  if (sentence.ends_with('.')) sentence.pop_back();
  return sentence;
}

std::string data_text(const Config& recipe) {
  if (is_agent_recipe(recipe)) {
    const Config* task = recipe.find("environment")->find("task");
    return task == nullptr ? "" : "task " + task->text();
  }
  const Config* data = recipe.find("data");
  const Config* train = data == nullptr ? nullptr : data->find("train");
  if (train == nullptr) return "";
  const Config* root = train->find("root");
  return section_name(*train, "data set") + (root == nullptr ? "" : " in " + root->text());
}

std::string sweep_data_text(const Config& root, const std::string& path) {
  const Config* grid = root.find("grid");
  const Config* tasks = grid == nullptr ? nullptr : grid->find("environment.task");
  if (tasks != nullptr && tasks->is_sequence()) return fmt::format("sweep, {} tasks", tasks->items().size());
  return "sweep, " + data_text(read_base(root, path, find_recipe));
}

ListedRecipe describe_recipe(const std::string& name, const std::string& path) {
  constexpr std::string_view kTime = "Time: ";
  const std::string comment = head_comment(path);
  const size_t time = comment.find(kTime);
  ListedRecipe recipe{name, path, first_sentence(comment.substr(0, time)), "", ""};
  if (time != std::string::npos) recipe.time = first_sentence(comment.substr(time + kTime.size()));
  try {
    const Config root = read_recipe_file(path, find_recipe);
    recipe.data = is_sweep(root) ? sweep_data_text(root, path) : data_text(root);
  } catch (const Error& error) {  // a file of someone else's in ./recipes
    recipe.summary = fmt::format("cannot be read: {}", error.what());
  }
  return recipe;
}

void require_text(const std::string& path) {
  const ForeignFile foreign = foreign_file(InputFile(path));
  if (foreign.what.empty() || foreign.is_text) return;
  throw usage_error("recipe '{}': it is {}, and a recipe is YAML; {}", path, foreign.what, foreign.advice);
}

}  // namespace

std::string find_recipe(const std::string& asked) {
  std::error_code failure;
  if (fs::is_regular_file(asked, failure)) require_text(asked);
  if (fs::exists(asked, failure)) return asked;
  const auto recipes = named_recipes();
  if (const auto found = recipes.find(bare_name(asked)); found != recipes.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, path] : recipes) names.push_back(name);
  const std::string near = nearest_name(bare_name(asked), names);
  const std::string others = names.empty() ? no_recipes() : "debias list recipes shows them";
  throw usage_error("recipe '{}': no such file{}, and no recipe of that name; {}", asked, start_of(asked),
                    near.empty() ? others : "did you mean '" + near + "'?");
}

std::vector<std::string> with_named_recipes(std::vector<std::string> paths) {
  const auto recipes = named_recipes();
  for (auto& path : paths) {
    std::error_code failure;
    const auto found = recipes.find(bare_name(path));
    if (!fs::exists(path, failure) && found != recipes.end()) path = found->second;
  }
  return paths;
}

namespace {

void require_content(const Config& root, const std::string& file, const std::string& run) {
  if (!root.is_null() && (!root.is_map() || !root.entries().empty())) return;
  throw usage_error("recipe '{}': it is empty; {}", file,
                    run.empty() ? "write the sections data, encoder and objective, or take a recipe that debias list recipes shows"
                                : fmt::format("restore it: debias checkpoint show {0} --recipe > {0}/config.yaml", run));
}

}  // namespace

Config read_recipe_config(const std::string& asked, const std::vector<std::string>& words, bool resume) {
  std::error_code ignored;
  const bool is_run = fs::exists(asked + "/config.yaml", ignored);
  const std::string file = is_run ? asked + "/config.yaml" : find_recipe(asked);
  Config root = read_recipe_file(file, find_recipe);
  require_content(root, file, is_run ? asked : "");
  if (is_run && resume) root.set("output", Config::string(asked));
  for (const auto& word : words) root.assign(word);
  if (Config* output = root.find("output"); output != nullptr && output->is_scalar()) {
    root.set("output", Config::string(with_home(output->text())));
  }
  return root;
}

std::vector<ListedRecipe> list_recipes() {
  std::vector<ListedRecipe> recipes;
  for (const auto& [name, path] : named_recipes()) recipes.push_back(describe_recipe(name, path));
  return recipes;
}

std::string no_recipes() {
  std::string folders;
  for (const fs::path& folder : recipe_folders()) {
    folders += fmt::format("{}{}{}", folders.empty() ? "" : " or ", folder.is_relative() ? "./" : "", folder.string());
  }
  return fmt::format("no recipe in {}; give the path of a recipe, or copy the folder recipes there", folders);
}

}  // namespace debias

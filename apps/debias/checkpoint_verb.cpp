#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/debias/results.h"
#include "apps/debias/verbs.h"
#include "debias/core/error.h"
#include "debias/core/printable.h"
#include "debias/core/safetensors.h"

namespace debias {
namespace {

struct CheckpointArguments {
  std::string path;
  bool json = false, recipe = false;
};

std::string resolve(const std::string& path) {
  for (const char* name : {"last", "previous"}) {  // a stopped run may have the second alone
    const std::string file = fmt::format("{}/checkpoints/{}.safetensors", path, name);
    if (std::filesystem::exists(file)) return file;
  }
  return path;
}

int run_show(const CheckpointArguments& arguments) {
  const SafetensorsFile file = SafetensorsFile::open(resolve(arguments.path));
  nlohmann::ordered_json state;
  if (const auto found = file.metadata().find("debias.state"); found != file.metadata().end()) {
    state = nlohmann::ordered_json::parse(found->second, nullptr, false);
  }
  if (arguments.recipe) {
    const auto found = file.metadata().find("debias.recipe");
    if (found == file.metadata().end()) throw data_error("checkpoint '{}': it has no recipe, so no training run wrote it", file.path());
    const std::string recipe = found->second + (found->second.ends_with('\n') ? "" : "\n");
    isatty(STDOUT_FILENO) != 0 ? print_lines(recipe) : fmt::print("{}", recipe);  // a file gets it byte for byte
    return 0;
  }
  if (arguments.json) {
    nlohmann::ordered_json out = {{"path", file.path()}, {"metadata", file.metadata()}, {"state", state}};
    out["tensors"] = nlohmann::ordered_json::array();
    for (const auto& entry : file.tensors()) {
      out["tensors"].push_back(
          {{"name", entry.name}, {"dtype", name_of(entry.dtype)}, {"shape", entry.shape}, {"bytes", entry.end - entry.begin}});
    }
    print_json(out);
    return 0;
  }
  fmt::print("{}\n", without_control_characters(file.path()));
  if (state.is_object()) {
    for (const auto& [key, value] : state.items()) {
      const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
      fmt::print("  {:<18} {}\n", without_control_characters(key), without_control_characters(text));
    }
  }
  uint64_t bytes = 0;
  for (const auto& entry : file.tensors()) {
    fmt::print("  {:<52} {:<9} [{}]\n", without_control_characters(entry.name), name_of(entry.dtype), fmt::join(entry.shape, ", "));
    bytes += entry.end - entry.begin;
  }
  fmt::print("  {} tensors, {:.1f} MB\n", file.tensors().size(), static_cast<double>(bytes) / 1e6);
  return 0;
}

int run_verify(const CheckpointArguments& arguments) {
  const SafetensorsFile file = SafetensorsFile::open(resolve(arguments.path));
  const bool checked = verify_safetensors(file);
  if (arguments.json) {
    print_json({{"path", file.path()}, {"form", "ok"}, {"checksum", checked ? "ok" : "none"}}, -1);
  } else {
    fmt::print("{}: {} tensors; {}\n", without_control_characters(file.path()), file.tensors().size(),
               checked ? "format and checksum are valid" : "format is valid; the file has no checksum");
  }
  return 0;
}

}  // namespace

void add_checkpoint_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("checkpoint", "shows or verifies a checkpoint without executing code from it");
  verb->require_subcommand(1);
  auto arguments = std::make_shared<CheckpointArguments>();
  const auto add = [&](const char* name, const char* help, int (*run)(const CheckpointArguments&)) {
    auto* sub = verb->add_subcommand(name, help);
    sub->add_option("path", arguments->path, "a .safetensors file or a run folder")->required();
    sub->add_flag("--json", arguments->json, "one JSON object on standard output");
    sub->callback([=, &action] { action = [=] { return run(*arguments); }; });
    return sub;
  };
  add("show", "shows training state, recipe and tensors", run_show)
      ->add_flag("--recipe", arguments->recipe, "print only the resolved recipe, as in the run's config.yaml");
  add("verify", "checks format and checksum", run_verify);
  verb->footer("Example: debias checkpoint show runs/demo");
}

}  // namespace debias

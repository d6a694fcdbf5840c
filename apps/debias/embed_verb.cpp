#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <set>

#include "apps/debias/arguments.h"
#include "apps/debias/brief_help.h"
#include "apps/debias/results.h"
#include "apps/debias/sentence_verbs.h"
#include "apps/debias/verbs.h"
#include "debias/core/error.h"
#include "debias/core/paths.h"
#include "debias/core/printable.h"
#include "debias/process/terminal.h"
#include "debias/runs/bias_values.h"
#include "debias/runs/folder_embedding.h"
#include "debias/runs/run_embedding.h"

namespace debias {
namespace {

struct EmbedArguments {
  std::string run, out, text, expand, encoding = "utf8", encoder;
  DataWords data;
  std::string layer = "encoder", which = "last", device = "auto", precision = "fp32", bias_values, on_error = "stop";
  std::optional<int64_t> values;
  std::vector<std::string> groups;
  bool bias_features = false, accept_data_change = false, raw = false, json = false;

  CsvCells cells() const { return raw ? CsvCells::kRaw : CsvCells::kGuarded; }
  OnError unreadable() const { return on_error == "skip" ? OnError::kSubstitute : OnError::kStop; }
  DataChange data_change() const { return accept_data_change ? DataChange::kAccept : DataChange::kRefuse; }
  EmbeddingRequest request() const {
    EmbeddingRequest asked{.run = run, .out = out, .which = which, .device = device};
    asked.layer = layer_named(layer);
    asked.data = data;
    asked.cells = cells();
    asked.data_change = data_change();
    asked.on_error = unreadable();
    asked.groups = fmt::format("{}", fmt::join(groups, ","));
    return asked;
  }
};

constexpr const char* kLayerWords[] = {"pooled encoder output", "head output"};

int embed_for_bias_features(const EmbedArguments& arguments) {
  const BiasFeatureFile file = embed_bias_features(arguments.request(), *terminal_progress(), *terminal_log());
  if (arguments.json) {
    const nlohmann::ordered_json result = {{"count", file.rows},
                                           {"dimensions", file.dimensions},
                                           {"files", std::vector<std::string>{file.path}},
                                           {"layer", arguments.layer},
                                           {"empty_rows", file.empty_rows}};
    print_json(result, -1);
    return 0;
  }
  const std::string shown = without_control_characters(file.path);
  fmt::print("{}\n{} rows by sample id, {} dimensions{}\n", shown, file.rows, file.dimensions,
             file.empty_rows == 0 ? "" : fmt::format("; {} rows of images that are not in the set are zero", file.empty_rows));
  fmt::print("next: bias_features: {} in an objective of the debiased recipe\n", shown);
  return 0;
}

// Rejects the other options beside `mode`, --text or --encoder.
void refuse_beside(const CLI::App& verb, const std::string& mode, std::set<std::string> taken, std::string_view takes) {
  taken.insert({"run", mode, "--out", "--json", "--quiet", "--help"});
  for (const CLI::Option* option : verb.get_options()) {
    if (option->count() == 0 || taken.contains(option->get_name())) continue;
    throw usage_error("embed: {} does not take {}; it takes {} and --json", mode, option->get_name(), takes);
  }
}

int run_folder_embed(const EmbedArguments& arguments) {
  FolderEmbeddingRequest asked{
      .folder = arguments.run, .encoder = arguments.encoder, .out = arguments.out, .device = arguments.device, .cells = arguments.cells()};
  asked.precision = read_value<Precision>(Config::scalar(arguments.precision), "embed: --precision");
  for (const std::string& word : arguments.data.words) (word.starts_with("views.") ? asked.views : asked.words).push_back(word);
  if (!arguments.data.name.empty()) asked.reader = arguments.data.name;
  asked.on_error = arguments.unreadable();
  asked.groups = fmt::format("{}", fmt::join(arguments.groups, ","));
  const FolderEmbedding made = embed_folder(asked, *terminal_progress(), *terminal_log());
  arguments.json ? print_json(to_json(made), -1) : print_lines(embedding_text(made));
  return 0;
}

int run_text_embed(const EmbedArguments& arguments) {
  return embed_text({.run = arguments.run,
                     .text = arguments.text,
                     .out = arguments.out,
                     .which = arguments.which,
                     .expand = arguments.expand,
                     .encoding = arguments.encoding,
                     .json = arguments.json});
}

int run_bias_values(const EmbedArguments& arguments) {
  if (!arguments.out.empty() || arguments.bias_features || !arguments.data.name.empty() || !arguments.data.words.empty() ||
      !arguments.groups.empty()) {
    throw usage_error(
        "embed: --bias-values writes its own file for the run's own images; leave out --out, --bias-features, --data, --group and "
        "key=value "
        "overrides");
  }
  const BiasValueTable table = write_bias_values({.run = arguments.run,
                                                  .out = arguments.bias_values,
                                                  .root = arguments.data.root,
                                                  .which = arguments.which,
                                                  .device = arguments.device,
                                                  .layer = layer_named(arguments.layer),
                                                  .values = arguments.values,
                                                  .data_change = arguments.data_change()},
                                                 *terminal_progress(), *terminal_log());
  const std::string& out = arguments.bias_values;
  arguments.json ? print_json(to_json(table, out)) : print_lines(bias_values_text(table, out));
  return 0;
}

int run_embed(const EmbedArguments& arguments) {
  if (arguments.precision != "fp32" && arguments.encoder.empty()) throw usage_error("embed: --precision needs --encoder; add it");
  if (arguments.unreadable() != OnError::kStop && (arguments.bias_features || !arguments.bias_values.empty())) {
    throw usage_error("embed: --on-error skip leaves rows out, and {} needs all; repair the images (debias data check names them)",
                      arguments.bias_features ? "--bias-features" : "--bias-values");
  }
  if (!arguments.bias_values.empty()) return run_bias_values(arguments);
  if (arguments.values) throw usage_error("embed: --values needs --bias-values OUT.csv; add it");
  if (arguments.out.empty()) throw usage_error("embed: no output is given; add --out F.npy, or --bias-values OUT.csv");
  require_folder_of(arguments.out);  // before hours of work
  if (!arguments.encoder.empty()) return run_folder_embed(arguments);
  if (!arguments.text.empty()) return run_text_embed(arguments);
  if (!arguments.expand.empty()) throw usage_error("embed: --expand needs --text FILE; add it");
  if (arguments.bias_features && !arguments.groups.empty())
    throw usage_error("embed: --bias-features writes an array without a column group; leave --group out");
  if (arguments.bias_features) return embed_for_bias_features(arguments);
  const EmbeddingRequest request = arguments.request();
  const auto [N, D, files, names, skipped, notes] = embed_run(request, *terminal_progress(), *terminal_log());
  if (arguments.json) {
    nlohmann::ordered_json result = {{"count", N},         {"dimensions", D}, {"files", files}, {"layer", arguments.layer},
                                     {"skipped", skipped}, {"notes", notes}};
    if (names) result["names"] = *names;
    print_json(result, -1);
    return 0;
  }
  for (const auto& path : files) fmt::print("{}\n", without_control_characters(path));
  if (names) fmt::print("{}\n", without_control_characters(*names));
  fmt::print("{} images, {} dimensions, {}, not normalised\n", N, D, kLayerWords[static_cast<size_t>(request.layer)]);
  return 0;
}

}  // namespace

void add_embed_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("embed", "writes the features of images, or of the lines of a text");
  auto arguments = std::make_shared<EmbedArguments>();
  verb->add_option("run", arguments->run, "a run folder or a checkpoint; with --encoder, a folder of images")->required();
  verb->add_option("overrides", arguments->data.words, "key=value of the data set, such as split=train; views.eval=...");
  verb->add_option("--data", arguments->data.name, "data set to embed (the run's test set)");
  verb->add_option("--root", arguments->data.root, "folder of the data set");
  verb->add_option("--out", arguments->out, "output file: F or F.npy (labels in F.csv, names in F.names.csv), or F.csv for one table");
  verb->add_option("--encoder", arguments->encoder, "encoder in place of a run: F.safetensors, RECIPE.yaml or {name: ..., weights: F}")
      ->option_text("ENCODER");
  verb->add_option("--text", arguments->text, "file with one sentence per line, for a run on sentences");
  verb->add_option("--expand", arguments->expand, "file of word vectors for words of --text that are not in the run's vocabulary");
  verb->add_option("--encoding", arguments->encoding, "character encoding of --text: utf8 or latin1")
      ->check(CLI::IsMember({"utf8", "latin1"}))
      ->option_text("NAME")
      ->group(kSeldomUsed);
  add_group_columns(*verb, "written as the column group", arguments->groups)->group(kSeldomUsed);
  verb->add_option("--layer", arguments->layer, "layer to embed: encoder (its pooled output) or projection (the head's output)");
  verb->add_flag("--bias-features", arguments->bias_features,
                 "embed the training set in the order of its sample ids, for `bias_features` of an objective");
  verb->add_option("--bias-values", arguments->bias_values, "CSV of pseudo bias labels to write, for debias init --labels")
      ->option_text("OUT.csv");
  verb->add_option("--values", arguments->values, "number of distinct bias labels for --bias-values (the number of classes)")
      ->group(kSeldomUsed);
  verb->add_option("--checkpoint", arguments->which, "last, best or previous")
      ->check(CLI::IsMember({"last", "best", "previous"}))
      ->option_text("NAME");
  verb->add_option("--device", arguments->device, "auto, cpu or cuda")->group(kSeldomUsed);
  verb->add_option("--precision", arguments->precision, "precision of --encoder: fp32 or bf16")->group(kSeldomUsed);
  verb->add_option("--on-error", arguments->on_error, "images that cannot be read: stop, or skip them and name them (stop)")
      ->check(CLI::IsMember({"stop", "skip"}))
      ->option_text("NAME")
      ->group(kSeldomUsed);
  verb->add_flag("--accept-data-change", arguments->accept_data_change, "embed data that have changed since training")->group(kSeldomUsed);
  verb->add_flag("--raw", arguments->raw, "write names to CSV unescaped, even those that a spreadsheet would execute (=1+1)")
      ->group(kSeldomUsed);
  verb->add_flag("--json", arguments->json, "one JSON object on standard output");
  verb->footer("Example: debias embed runs/first --out embeddings.npy");
  verb->callback([arguments, verb, &action] {
    if (!arguments->encoder.empty()) {
      refuse_beside(*verb, "--encoder", {"overrides", "--data", "--group", "--device", "--precision", "--raw", "--on-error"},
                    "a folder, key=value overrides, --data, --out, --group, --device, --precision, --raw, --on-error");
    }
    if (!arguments->text.empty()) {
      refuse_beside(*verb, "--text", {"--expand", "--encoding", "--checkpoint"}, "--out, --expand, --encoding, --checkpoint");
    }
    action = [arguments] { return run_embed(*arguments); };
  });
}

}  // namespace debias

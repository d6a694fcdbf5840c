// The command: parse, run one verb, map what goes wrong to an exit code and one line.
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <new>
#include <system_error>

#include "apps/debias/output_path.h"
#include "apps/debias/standard_streams.h"
#include "apps/debias/verbs.h"
#include "apps/debias/wait_policy.h"
#include "debias/core/cpu_share.h"
#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/core/printable.h"

namespace debias {
namespace {

constexpr int kFailure = 1, kUsage = 2, kOutOfResources = 5;

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kFailure:
      return kFailure;
    case ErrorKind::kUsage:
      return kUsage;
    case ErrorKind::kData:
      return 3;
    case ErrorKind::kNumeric:
      return 4;
    case ErrorKind::kResource:
      return kOutOfResources;
    case ErrorKind::kInterrupted:
      return 75;
  }
  return kFailure;
}

std::string one_line(std::string text) {
  if (const size_t end = text.find('\n'); end != std::string::npos) text.resize(end);
  return text;
}

int complain(const std::string& text, int code) {
  write_message(fmt::format("debias: {}\n", without_control_characters(one_line(text))));
  return code;
}

std::string mistake(const CLI::App& root, const CLI::ParseError& error, int argc, char** argv) {
  std::vector<std::string> verbs, flags;
  for (const auto* verb : root.get_subcommands([](const CLI::App*) { return true; })) verbs.push_back(verb->get_name());
  const CLI::App* app = &root;
  if (argc > 1) {
    bool known = false;
    for (const auto& verb : verbs) known = known || verb == argv[1];
    if (!known) return fmt::format("unknown verb '{}'{}", argv[1], suggestion(argv[1], verbs));
    app = root.get_subcommand(argv[1]);
    for (const auto* part : app->get_subcommands([](const CLI::App*) { return true; })) {
      if (argc > 2 && part->get_name() == argv[2]) app = part;  // debias data make
    }
  }
  for (const auto* option : app->get_options()) {
    for (const auto& name : option->get_lnames()) flags.push_back("--" + name);
  }
  for (const auto* verb : app->get_subcommands([](const CLI::App*) { return true; })) flags.push_back(verb->get_name());
  for (int i = 2; i < argc; ++i) {
    std::string word = argv[i];
    if (const size_t equals = word.find('='); equals != std::string::npos) word.resize(equals);
    if (!word.starts_with("--") || word == "--") continue;
    if (std::find(flags.begin(), flags.end(), word) == flags.end()) {
      return fmt::format("{}: unknown option '{}'{}", argv[1], word, suggestion(word, flags));
    }
  }
  return fmt::format("{}{}; see debias {}--help", argc > 1 ? fmt::format("{}: ", argv[1]) : "", one_line(error.what()),
                     argc > 1 ? fmt::format("{} ", argv[1]) : "");
}

// Verbs that are worth a second start.
bool computes_for_long(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  return verb == "train" || verb == "eval" || verb == "embed" || verb == "prior" || verb == "study" || verb == "init";
}

// No shell expands the ~ of --out=~/a.npy.
void let_outputs_begin_at_home(CLI::App& app) {
  for (const char* name : {"--out", "--grad-out", "--per-anchor-out"}) {
    if (auto* option = app.get_option_no_throw(name)) option->transform(with_home);
  }
  for (auto* verb : app.get_subcommands([](const CLI::App*) { return true; })) let_outputs_begin_at_home(*verb);
}

int run(int argc, char** argv) {
  at::set_num_threads(std::min(at::get_num_threads(), available_cpus()));
  CLI::App root("debias: contrastive representation learning with sampling bias and data bias corrected", "debias");
  VerbAction action;
  add_init_verb(root, action);
  add_train_verb(root, action);
  add_eval_verb(root, action);
  add_embed_verb(root, action);
  add_export_verb(root, action);
  add_loss_verb(root, action);
  add_data_verb(root, action);
  add_views_verb(root, action);
  add_study_verb(root, action);
  add_report_verb(root, action);
  add_list_verb(root, action);
  add_prior_verb(root, action);
  add_checkpoint_verb(root, action);
  let_outputs_begin_at_home(root);
  root.set_version_flag("--version", "debias " DEBIAS_VERSION);
  root.require_subcommand(1);
  root.footer("Example: debias train recipes/demo/infonce.yaml output=runs/first");
  try {
    root.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return root.exit(asked);
  } catch (const CLI::ParseError& error) {
    return complain(mistake(root, error, argc, argv), kUsage);
  }
  return action();
}

int run_and_complain(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const Error& error) {
    return complain(error.what(), exit_code(error.kind()));
  } catch (const std::bad_alloc&) {
    return complain("out of memory; give it less at once (in training, lower batch_size or set train.micro_batch)", kOutOfResources);
  } catch (const std::filesystem::filesystem_error& error) {
    return complain(error.path1().string() + ": " + error.code().message() + "; check its permissions", kOutOfResources);
  } catch (const std::exception& error) {
    const bool is_unwritten = std::ferror(stdout) != 0 && dynamic_cast<const std::system_error*>(&error) != nullptr;
    if (is_unwritten) return kFailure;  // main() says so
    const std::string text = error.what();
    for (const char* memory : {"not enough memory", "out of memory", "can't allocate memory"}) {
      if (text.find(memory) == std::string::npos) continue;
      return complain("out of memory; give it less at once (in training, lower batch_size or set train.micro_batch): " + text,
                      kOutOfResources);
    }
    return complain("internal error: " + text, kFailure);
  }
}

}  // namespace
}  // namespace debias

int main(int argc, char** argv) {
  debias::open_standard_streams();
  if (debias::computes_for_long(argc, argv)) debias::give_way_while_waiting(argv);
  const int code = debias::run_and_complain(argc, argv);
  const std::string reason = debias::unwritten_results();
  if (reason.empty()) return code;
  return debias::complain(
      fmt::format("writing to standard output failed: {}; the results are not whole there, so give them a place that takes them", reason),
      code == 0 ? debias::kFailure : code);
}

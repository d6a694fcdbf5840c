// The command: parse, run one verb, map what goes wrong to an exit code and one line.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>

#include "apps/debias/complaint.h"
#include "apps/debias/large_blocks.h"
#include "apps/debias/stack_room.h"
#include "apps/debias/standard_streams.h"
#include "apps/debias/verbs.h"
#include "apps/debias/wait_policy.h"
#include "debias/core/error.h"
#include "debias/core/home_path.h"
#include "debias/core/nearest_name.h"
#include "debias/core/printable.h"
#include "debias/runtime/threads.h"

namespace debias {
namespace {

constexpr int kUnwritten = 1, kUsage = 2;

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
  return fmt::format("{}{}; see debias {}--help", argc > 1 ? fmt::format("{}: ", argv[1]) : "", first_line(error.what()),
                     argc > 1 ? fmt::format("{} ", argv[1]) : "");
}

// Verbs that are worth a second start and a process of their own shape.
bool computes_for_long(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  return verb == "train" || verb == "eval" || verb == "embed" || verb == "prior" || verb == "study" || verb == "init" || verb == "rl";
}

// No shell expands the ~ of --out=~/a.npy.
void let_outputs_begin_at_home(CLI::App& app) {
  for (const char* name : {"--out", "--grad-out", "--per-anchor-out"}) {
    if (auto* option = app.get_option_no_throw(name)) option->transform(with_home);
  }
  for (auto* verb : app.get_subcommands([](const CLI::App*) { return true; })) let_outputs_begin_at_home(*verb);
}

int run(int argc, char** argv) {
  use_threads();
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
  add_certify_verb(root, action);
  add_sweep_verb(root, action);
  add_text_verb(root, action);
  add_table_verb(root, action);
  add_checkpoint_verb(root, action);
  add_rl_verb(root, action);
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
    if (computes_for_long(argc, argv)) {
      give_way_while_waiting(argv);
      keep_large_blocks();
    }
    return run(argc, argv);
  } catch (const std::exception&) {
    return complain_of_exception();
  }
}

}  // namespace
}  // namespace debias

int main(int argc, char** argv) {
  debias::open_standard_streams();
  std::signal(SIGCHLD, SIG_DFL);  // ignored, which is inherited, it would leave no end of a process to wait for
  int code = debias::kUnwritten;
  try {
    code = debias::with_stack_room(argv, [&] { return debias::run_and_complain(argc, argv); });
  } catch (const std::exception&) {
    code = debias::complain_of_exception();
  }
  const std::string reason = debias::unwritten_results();
  if (reason.empty()) return code;
  return debias::complain(
      "writing to standard output failed: " + reason + "; the results are not whole there, so give them a place that takes them",
      code == 0 ? debias::kUnwritten : code);
}

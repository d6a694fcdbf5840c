// The program: parses, runs one command, maps an error to an exit code and one line.
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "apps/debias/brief_help.h"
#include "apps/debias/command_list.h"
#include "apps/debias/early_version.h"
#include "apps/debias/verbs.h"
#include "debias/core/paths.h"
#include "debias/process/complaint.h"
#include "debias/process/startup.h"
#include "debias/process/stop_signals.h"
#include "debias/process/terminal.h"
#include "debias/runtime/device.h"

namespace debias {
namespace {

constexpr int kUnwritten = 1, kUsage = 2;
constexpr int kUnread = 128 + SIGPIPE;  // as of programs that this signal ends

// Commands that gain from a second start and process settings of their own.
bool computes_for_long(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  return verb == "train" || verb == "eval" || verb == "embed" || verb == "fix" || verb == "prior" || verb == "pairs" || verb == "study" ||
         verb == "init" || verb == "rl";
}

// No shell expands the ~ of --out=~/a.npy.
void let_outputs_begin_at_home(CLI::App& app) {
  for (const char* name : {"--out", "--grad-out", "--per-anchor-out", "--bias-values"}) {
    if (auto* option = app.get_option_no_throw(name)) option->transform(with_home);
  }
  for (auto* verb : app.get_subcommands([](const CLI::App*) { return true; })) let_outputs_begin_at_home(*verb);
}

// Adds --quiet to every command that runs something itself.
void add_quiet(CLI::App& app) {
  const auto parts = app.get_subcommands([](const CLI::App*) { return true; });
  for (auto* part : parts) add_quiet(*part);
  if (app.get_parent() == nullptr || app.get_require_subcommand_min() > 0) return;
  auto* quiet = app.add_flag_callback("-q,--quiet", hush_terminal, "print only warnings and errors on standard error");
  if (app.get_parent() != nullptr) quiet->group(kSeldomUsed);  // the help of the whole describes it
}

// `debias help data make` is `debias data make --help`; `debias` alone is `debias --help`.
std::vector<std::string> asked_words(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) return {"--help"};
  if (words.front() != "help") return words;
  words.erase(words.begin());
  if (!words.empty() && (words.front() == "help" || words.front() == "version")) words.erase(words.begin());
  words.push_back("--help");
  return words;
}

void add_verbs(CLI::App& root, VerbAction& action) {
  add_init_verb(root, action);
  add_audit_verb(root, action);
  add_train_verb(root, action);
  add_eval_verb(root, action);
  add_embed_verb(root, action);
  add_fix_verb(root, action);
  add_export_verb(root, action);
  add_loss_verb(root, action);
  add_data_verb(root, action);
  add_views_verb(root, action);
  add_study_verb(root, action);
  add_report_verb(root, action);
  add_list_verb(root, action);
  add_pairs_verb(root, action);
  add_prior_verb(root, action);
  add_certify_verb(root, action);
  add_sweep_verb(root, action);
  add_text_verb(root, action);
  add_table_verb(root, action);
  add_checkpoint_verb(root, action);
  add_rl_verb(root, action);
  let_outputs_begin_at_home(root);
  add_quiet(root);
}

// Options of the program as a whole.
void add_help_and_version(CLI::App& root, VerbAction& action) {
  root.set_version_flag("-V,--version", version_line());
  root.add_subcommand("help", "prints the help of a command: debias help train");
  root.add_subcommand("version", "prints the version")->callback([&action] {
    action = [] {
      fmt::print("{}\n", version_line());
      return 0;
    };
  });
  root.require_subcommand(1);
  root.footer(
      "Exit codes: 0 success, 1 failure, 2 usage or recipe, 3 data, 4 non-finite numbers,\n5 memory or disk, 75 stopped with a checkpoint "
      "(--resume), 130 or 143 stopped by Ctrl-C or SIGTERM\nExample: debias train demo/infonce output=runs/first");
}

int run(int argc, char** argv) {
  use_threads();
  CLI::App root("debias: contrastive representation learning that corrects sampling bias and data bias", "debias");
  root.formatter(std::make_shared<BriefHelp>());  // which the commands inherit
  VerbAction action;
  add_verbs(root, action);
  add_help_and_version(root, action);
  const std::vector<std::string> words = asked_words(argc, argv);
  if (const std::string unknown = unknown_command(root, words); !unknown.empty()) return complain(unknown, kUsage);
  std::vector<std::string> from_the_back(words.rbegin(), words.rend());  // as the parser takes them
  try {
    root.parse(from_the_back);
  } catch (const CLI::Success& asked) {  // --help, --version
    return root.exit(asked);
  } catch (const CLI::ParseError& error) {
    return complain(usage_mistake(root, error, words), kUsage);
  }
  watch_interruptions(typed_name(named_command(root, words)));
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

// The exit code, once standard output is flushed.
int with_results_out(int code) {
  const int lost = unwritten_results();
  if (lost == 0) return code;
  if (lost == EPIPE) return code == 0 ? kUnread : code;  // the reader has seen enough: not an error
  return complain(
      fmt::format("writing to standard output failed: {}; the results are incomplete; redirect them to a file or disk that has room",
                  std::strerror(lost)),
      code == 0 ? kUnwritten : code);
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
  _exit(debias::with_results_out(code));  // all files are closed: destructors of libtorch's statics take 0.2 s and free memory alone
}

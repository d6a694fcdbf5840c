// One function per command: declares its arguments and flags on `root`, and stores its run in `action` when it is requested.
//
// main.cpp parses, runs the action and maps debias::Error to exit codes; commands throw, and return 0 or an exit code. Results go to
// standard output, progress and logs to standard error; with --json one JSON object on standard output and nothing else.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace debias {

using VerbAction = std::function<int()>;

void add_init_verb(CLI::App& root, VerbAction& action);
void add_audit_verb(CLI::App& root, VerbAction& action);
void add_train_verb(CLI::App& root, VerbAction& action);
void add_eval_verb(CLI::App& root, VerbAction& action);
void add_embed_verb(CLI::App& root, VerbAction& action);
void add_fix_verb(CLI::App& root, VerbAction& action);
void add_export_verb(CLI::App& root, VerbAction& action);
void add_loss_verb(CLI::App& root, VerbAction& action);
void add_data_verb(CLI::App& root, VerbAction& action);
void add_views_verb(CLI::App& root, VerbAction& action);
void add_study_verb(CLI::App& root, VerbAction& action);
void add_report_verb(CLI::App& root, VerbAction& action);
void add_list_verb(CLI::App& root, VerbAction& action);
void add_pairs_verb(CLI::App& root, VerbAction& action);
void add_prior_verb(CLI::App& root, VerbAction& action);
void add_certify_verb(CLI::App& root, VerbAction& action);
void add_sweep_verb(CLI::App& root, VerbAction& action);
void add_text_verb(CLI::App& root, VerbAction& action);
void add_table_verb(CLI::App& root, VerbAction& action);
void add_checkpoint_verb(CLI::App& root, VerbAction& action);
void add_rl_verb(CLI::App& root, VerbAction& action);

}  // namespace debias

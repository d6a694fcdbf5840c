// `debias list commands|sections|metrics --json`: what the reference, the manual pages and the shells' completions are made from.
#include "tests/apps/command.h"

namespace debias::list_commands_cli_test {

json listed(const std::string& kind) {
  const ProcessResult result = done({"list", kind, "--json"});
  return json::parse(result.out).at(kind);
}

json named(const json& entries, const std::string& name) {
  const auto found = std::ranges::find_if(entries, [&](const json& entry) { return entry.at("name") == name; });
  EXPECT_NE(found, entries.end()) << name;
  return found == entries.end() ? json::object() : *found;
}

Words names(const json& entries) {
  Words result;
  for (const auto& entry : entries) result.push_back(entry.at("name"));
  return result;
}

Words words_of(const std::string& name) {
  Words words;
  std::istringstream typed(name);
  for (std::string word; typed >> word;) words.push_back(word);
  return words;
}

TEST(ListCommands, TheProgramComesFirstAndHiddenCommandsAreLeftOut) {
  const Words all = names(listed("commands"));
  EXPECT_EQ(all.front(), "");
  EXPECT_THAT(all, Contains("train"));
  EXPECT_THAT(all, Contains("data make"));
  EXPECT_THAT(all, Contains("certify ranks"));
  EXPECT_THAT(all, Not(Contains("certify trial")));
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
}

TEST(ListCommands, HelpOfEachShowsWhatIsListedOnAScreen) {
  const std::set<std::string> short_ones = {"data",  "data list", "data check",     "data make", "data export",
                                            "embed", "eval",      "eval sentences", "report"};
  const std::set<std::string> with_example = {"", "checkpoint", "init", "list", "loss", "train"};
  for (const std::set<std::string>& named : {short_ones, with_example}) {
    EXPECT_THAT(names(listed("commands")), testing::IsSupersetOf(named));
  }
  for (const auto& command : listed("commands")) {
    Words words = words_of(command.at("name"));
    const std::string example = "Example: debias" + (words.empty() ? "" : " " + words.front());
    words.push_back("--help");
    const ProcessResult help = run_debias(words);
    EXPECT_EQ(help.exit, 0) << command;
    const bool is_short = short_ones.contains(command.at("name"));
    EXPECT_LE(times("\n", help.out), is_short ? 24u : 40u) << command.at("name");
    if (is_short || with_example.contains(command.at("name"))) {
      EXPECT_THAT(help.out, HasSubstr(example)) << command.at("name");
    }
    EXPECT_THAT(help.out, HasSubstr(command.at("summary").get<std::string>()));
    EXPECT_FALSE(command.at("summary").get<std::string>().empty()) << command.at("name");
    for (const auto& argument : command.at("arguments")) {
      EXPECT_THAT(help.out, HasSubstr(argument.at("name").get<std::string>())) << command.at("name");
      EXPECT_FALSE(argument.at("help").get<std::string>().empty()) << command.at("name") << argument.at("name");
    }
  }
}

TEST(ListCommands, AnArgumentSaysWhatItTakes) {
  const json commands = listed("commands");
  const json eval = named(commands, "eval").at("arguments");
  const json checkpoint = named(eval, "--checkpoint");
  EXPECT_THAT(checkpoint.at("choices").get<Words>(), ElementsAre("last", "best", "previous"));
  EXPECT_EQ(checkpoint.at("value"), "NAME");
  EXPECT_FALSE(checkpoint.at("positional"));
  const json quiet = named(eval, "--quiet");
  EXPECT_FALSE(quiet.contains("value")) << "a flag takes none";
  EXPECT_THAT(quiet.at("also").get<Words>(), ElementsAre("-q"));
  EXPECT_TRUE(quiet.at("seldom_used"));
  const json recipe = named(named(commands, "certify ranks").at("arguments"), "recipe");
  EXPECT_TRUE(recipe.at("positional"));
  EXPECT_TRUE(recipe.at("required"));
  EXPECT_FALSE(recipe.at("repeated"));
  EXPECT_TRUE(named(named(commands, "train").at("arguments"), "overrides").at("repeated"));
  EXPECT_TRUE(named(commands, "data").at("has_parts"));
  EXPECT_FALSE(named(commands, "data make").at("has_parts"));
}

TEST(ListCommands, OneIsListedByName) {
  const ProcessResult one = run_debias({"list", "commands", "data make"});
  EXPECT_THAT(one.out, StartsWith("debias data make: "));
  EXPECT_THAT(one.out, HasSubstr("    --out"));
}

TEST(ListSections, TheyHaveTheirKeysWithDefaultsAndChoices) {
  const json sections = listed("sections");
  EXPECT_THAT(names(sections), testing::IsSupersetOf({"data", "encoder", "objective", "train", "output"}));
  EXPECT_EQ(named(named(sections, "train").at("options"), "batch_size").at("default"), 256);
  EXPECT_THAT(named(named(sections, "data").at("options"), "on_error").at("choices").get<Words>(), ElementsAre("stop", "substitute"));
}

TEST(ListMetrics, EachIsListedOnceWithUnitDirectionAndProtocols) {
  const json metrics = listed("metrics");
  const Words all = names(metrics);
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
  const json knn = named(metrics, "knn_acc1");
  EXPECT_EQ(knn.at("unit"), "share");
  EXPECT_EQ(knn.at("better"), "higher");
  EXPECT_THAT(knn.at("protocols").get<Words>(), ElementsAre("knn"));
  const json loss = named(metrics, "train_loss");
  EXPECT_EQ(loss.at("better"), "lower, within one objective");
  EXPECT_TRUE(loss.at("protocols").empty());
  EXPECT_EQ(run_debias({"list", "metrics", "knn_acc1"}).out, "knn_acc1: kNN accuracy (share; better: higher; of knn)\n");
}

TEST(ListAgents, HasTheKeysTasksAndMetrics) {
  const json sections = listed("agent_sections");
  if (sections.empty()) GTEST_SKIP() << "built without MuJoCo or EGL";
  EXPECT_THAT(names(named(sections, "environment").at("options")), Contains("task"));
  EXPECT_THAT(names(listed("tasks")), Contains("cartpole_swingup"));
  EXPECT_THAT(names(listed("agent_metrics")), Contains("return_mean"));
}

}  // namespace debias::list_commands_cli_test

// Recipes by name, from a folder that has none of its own.
#include "tests/apps/command.h"

namespace debias::recipe_names_test {

class RecipeNames : public InFolder {
 protected:
  Json listed(const std::string& name) const {
    const auto list = Json::parse(run_debias({"list", "recipes", "--json"}).out);
    for (const auto& recipe : list["recipes"]) {
      if (recipe["name"] == name) return recipe;
    }
    return {};
  }
};

TEST_F(RecipeNames, AreFoundFromAnywhere) {
  for (const char* name : {"mnist/infonce", "mnist/infonce.yaml", "recipes/mnist/infonce.yaml"}) {
    const auto result = run_debias({"train", name, "data.train.root=nowhere", "data.test.root=nowhere"});
    EXPECT_EQ(result.exit, 3) << result.err;  // the recipe was read, the data are missing
    EXPECT_THAT(result.err, HasSubstr("nowhere"));
  }
}

TEST_F(RecipeNames, AFolderOfOnesOwnComesFirst) {
  fs::create_directories("recipes/mnist");
  std::ofstream("recipes/mnist/infonce.yaml") << "# My own. Nothing else.\n# Time: a second.\ndata: {train: {name: glyphs}}\n";
  EXPECT_EQ(listed("mnist/infonce"), Json::parse(R"({"name": "mnist/infonce", "path": "recipes/mnist/infonce.yaml",
                                                              "summary": "My own", "data": "glyphs", "time": "a second"})"));
  EXPECT_THAT(run_debias({"train", "mnist/infonce"}).err, HasSubstr("recipes/mnist/infonce.yaml"));
}

TEST_F(RecipeNames, AnUnknownOneIsRefusedWithTheNearest) {
  const auto result = run_debias({"train", "mnist/infonc"});
  EXPECT_EQ(result.exit, 2);
  EXPECT_EQ(result.err, "debias: recipe 'mnist/infonc': no such file in " + fs::current_path().string() +
                            ", and no recipe of that name; did you mean 'mnist/infonce'?\n");
  EXPECT_THAT(run_debias({"train", "qqqqqqqqqqqqqqqqqqqqqq"}).err, HasSubstr("debias list recipes"));
}

TEST_F(RecipeNames, TheListSaysWhatEachIsForAndItsData) {
  const auto recipes = Json::parse(run_debias({"list", "recipes", "--json"}).out)["recipes"];
  EXPECT_GT(recipes.size(), 10u);
  for (const auto& recipe : recipes) {
    EXPECT_NE(recipe["summary"], "") << recipe;
    EXPECT_NE(recipe["data"], "") << recipe;
  }
  EXPECT_THAT(listed("mini/cross_entropy")["time"].get<std::string>(), HasSubstr("minute"));
  EXPECT_THAT(run_debias({"list", "recipes", "mini/end"}).out, AllOf(HasSubstr("mini/end: "), HasSubstr("biased_mnist in data/mnist")));
  EXPECT_EQ(listed("rl/table3")["data"], "sweep, 6 tasks");
  EXPECT_EQ(listed("rl/curl")["data"], "task cartpole_swingup");
}

TEST_F(RecipeNames, AFileOfSomeoneElseDoesNotEndTheList) {
  fs::create_directories("recipes");
  std::ofstream("recipes/soup.yaml") << "water: [\n";
  EXPECT_THAT(listed("soup")["summary"].get<std::string>(), HasSubstr("cannot be read"));
}

// A program that was moved without its recipes.
TEST_F(RecipeNames, WhereThereAreNoneTheListSaysWhereItLooked) {
  fs::create_directories("moved/bin");
  fs::copy_file(kBinary, "moved/bin/debias");
  const auto moved = [](const Words& more) { return run(with({"moved/bin/debias", "list", "recipes"}, more)); };
  const std::string beside = fs::canonical("moved").string() + "/share/debias/recipes";
  const std::string looked = "no recipe in ./recipes or " + beside + "; give the path of a recipe, or copy the folder recipes there\n";
  const ProcessResult none = moved({});
  EXPECT_EQ(none.exit, 3);
  EXPECT_EQ(none.out, "");
  EXPECT_EQ(none.err, "debias: list recipes: " + looked);
  EXPECT_EQ(moved({"mini/end"}).err, "debias: list recipes: " + looked);
  EXPECT_EQ(Json::parse(moved({"--json"}).out), Json::parse(R"({"recipes": []})"));
  EXPECT_EQ(run({"moved/bin/debias", "train", "mini/end"}).err,
            "debias: recipe 'mini/end': no such file in " + fs::current_path().string() + ", and no recipe of that name; " + looked);
}

}  // namespace debias::recipe_names_test

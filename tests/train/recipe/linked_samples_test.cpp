// data.must_link and tau_plus from marks: what they change in training, and what is refused.
#include "debias/train/recipe/linked_samples.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "debias/train/methods/term.h"
#include "debias/train/recipe/marked_prior.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/method_parts.h"
#include "tests/train/sample_list.h"
#include "tests/train/small_recipe.h"

namespace debias {
namespace linked_samples_test {

using testing::ElementsAre;
using testing::HasSubstr;

class LinkedSamplesTest : public testing::Test {
 protected:
  std::string file(const std::string& text) const {
    std::ofstream(folder_ / "links.csv") << text;
    return folder_ / "links.csv";
  }
  std::vector<int64_t> groups(const std::string& text) const { return linked_groups(MustLink{.file = file(text)}, samples_); }
  std::string complaint(const std::string& text) const {
    return data_error_of([&] { groups(text); });
  }
  Config recipe(const std::string& relation, const std::string& objective = "{name: infonce}") const {
    return changed(small_config(folder_ / "run"),
                   {"objective=" + objective, "data.must_link={file: '" + folder_ / "links.csv" + "', relation: " + relation + "}"});
  }
  SampleList samples_ = sample_list({{{0, 0}, 6}});
  TemporaryFolder folder_;
};

TEST_F(LinkedSamplesTest, LinksJoinToGroups) {
  EXPECT_THAT(groups("a,b\nrow 4,row 1\nrow 2,row 4\nrow 0,row 5\n"), ElementsAre(0, 1, 1, -1, 1, 0));
  EXPECT_THAT(groups("a,b\n3,1\n"), ElementsAre(-1, 1, -1, 1, -1, -1));  // places, where no image has the name
}

TEST(JoinedLinks, OfALargeGroupAreACaution) {
  std::vector<int64_t> groups(6000, kUnknown);
  groups[3] = groups[9] = 3;
  for (size_t i = 100; i < 160; ++i) groups[i] = 100;
  EXPECT_EQ(joined_links(groups).text, "data.must_link: 62 images in 2 groups, the largest of 60");
  EXPECT_FALSE(joined_links(groups).is_large);  // exactly a hundredth
  groups[160] = 100;
  EXPECT_TRUE(joined_links(groups).is_large);
  EXPECT_THAT(joined_links(groups).text, HasSubstr("the largest of 61; links are transitive"));
}

TEST_F(LinkedSamplesTest, OnlySameAnswersAndFoundPairsOfOneSplitAreLinks) {
  EXPECT_THAT(groups("a,b,answer\nrow 0,row 1,same\nrow 2,row 3,different\nrow 4,row 5,skip\n"), ElementsAre(0, 0, -1, -1, -1, -1));
  EXPECT_THAT(groups("a,b,kind\nrow 0,row 1,duplicate\nrow 2,elsewhere,leak\nrow 4,row 5,random\n"), ElementsAre(0, 0, -1, -1, -1, -1));
  EXPECT_THAT(groups("a,b,answer,kind\nrow 0,row 1,same,duplicate\nrow 2,row 3,same,leak\nrow 4,elsewhere,different,leak\n"),
              ElementsAre(0, 0, -1, -1, -1, -1));
}

TEST_F(LinkedSamplesTest, RejectsUnknownImagesContradictionsAndNoLinks) {
  EXPECT_THAT(complaint("a,b\nrow 0,row 9\n"),
              HasSubstr("line 2: 'row 9' is not an image of the training set (6 of 'listed'); its first is 'row 0'"));
  EXPECT_THAT(complaint("a,b\nrow 0,6\n"), HasSubstr("'6' is not an image"));
  EXPECT_THAT(complaint("a,b,answer\nrow 0,row 1,same\nrow 1,row 2,same\nrow 0,row 2,different\n"),
              HasSubstr("line 4: 'row 0' and 'row 2' are marked different"));
  EXPECT_THAT(complaint("a,b,answer\nrow 0,row 1,skip\n"), HasSubstr("links no images"));
}

// A pair that is linked has the loss of a batch whose labels drop it.
TEST_F(LinkedSamplesTest, ALinkedPairIsNoNegative) {
  file("a,b\n0,1\n2,3\n");
  MethodWithBatch linked(recipe("exclude"));
  Config plain_root = changed(recipe("exclude"), {"data={train: {name: glyphs, size: 16, train_count: 96}}"});
  MethodWithBatch plain(plain_root);
  std::vector<int64_t> indices = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  for (MethodWithBatch* run : {&linked, &plain}) run->batch.indices = run->batch.ids = indices;
  MethodWithBatch by_labels(changed(plain_root, {"objective={name: infonce, drop_false_negatives: true}"}));
  by_labels.batch.indices = by_labels.batch.ids = indices;
  by_labels.batch.labels = {7, 7, 8, 8, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  const double expected = by_labels.run().loss;
  const double found = linked.run().loss;
  EXPECT_NEAR(found, expected, 1e-6);
  EXPECT_LT(found, plain.run().loss - 1e-3);
}

TEST_F(LinkedSamplesTest, ThePositiveRelationShowsAnImageOfTheGroupAsSecondView) {
  file("a,b\n0,1\n");
  Config root = changed(recipe("positive"), {"views={preset: none, count: 2}", "train.batch_size=96"});
  MethodWithBatch run(root);
  const at::Tensor images = run.batch.images();
  int64_t others = 0;
  for (int64_t epoch = 0; epoch < 12; ++epoch) {
    run.parts.source->start(epoch);
    const Batch batch = *run.parts.source->next();
    std::vector<at::Tensor> own(96);
    for (size_t i = 0; i < 96; ++i) own[static_cast<size_t>(batch.indices[i])] = batch.images()[0][static_cast<int64_t>(i)];
    for (size_t i = 0; i < 96; ++i) {
      const auto index = static_cast<size_t>(batch.indices[i]);
      const at::Tensor second = batch.images()[1][static_cast<int64_t>(i)];
      if (at::equal(second, own[index])) continue;
      ASSERT_LT(index, 2u);
      EXPECT_TRUE(at::equal(second, own[1 - index]));
      ++others;
    }
  }
  EXPECT_GT(others, 4);  // of 24, each of even chance
  EXPECT_LT(others, 20);
}

TEST_F(LinkedSamplesTest, WorksWithoutLabelsAndIsPartOfTheResolvedRecipe) {
  file("a,b\n0,1\n");
  const TrainInput input = input_for(recipe("exclude"));
  DatasetInfo unlabelled = input.dataset->info();
  unlabelled.class_names.clear();
  EXPECT_NO_THROW(require_terms(input.recipe, unlabelled));
  const Recipe regularised = read_recipe(recipe("exclude", "[infonce, {name: fairkl, bias_features: f.npy}]"));
  EXPECT_THAT(usage_error_of([&] { require_terms(regularised, unlabelled); }), HasSubstr("needs labels"));
  const std::string resolved = resolve_recipe(input.recipe, *input.dataset).to_yaml();
  EXPECT_THAT(resolved, HasSubstr("must_link"));
  EXPECT_THAT(resolved, HasSubstr("drop_false_negatives: true"));
  const Recipe again = read_recipe(parse_yaml(resolved, "resolved"));
  EXPECT_EQ(again.must_link->relation, LinkRelation::kExclude);
  EXPECT_EQ(linked_groups(*again.must_link, *input.dataset)[1], 0);
  file("a,b\n0,2\n");
  EXPECT_THAT(data_error_of([&] { linked_groups(*again.must_link, *input.dataset); }), HasSubstr("is not the file that the recipe names"));
}

TEST_F(LinkedSamplesTest, RefusesWhatCannotLeavePairsOut) {
  file("a,b\n0,1\n");
  expect_refused(recipe("exclude", "{name: supcon}"), "objective 'supcon' cannot leave out linked pairs");
  expect_refused(recipe("exclude", "{name: infonce, drop_false_negatives: false}"), "contradicts data.must_link");
  expect_refused(recipe("exclude", "{name: infonce, drop_false_negatives: true}"), "drops pairs of one label");
  expect_refused(recipe("exlude"), "exlude");
  expect_refused(changed(recipe("exclude"), {"method={name: moco}"}), "must_link works with method simclr");
  Config one = changed(recipe("positive"), {"views.noise=0.1"});
  expect_refused(one, "leave one out");
  expect_refused(changed(small_config("x"), {"data.must_link={relation: exclude}"}), "no file is given");
  expect_refused(changed(small_config("x"), {"data.mustlink=f.csv"}), "did you mean 'must_link'?");
}

class MarkedPriorTest : public LinkedSamplesTest {
 protected:
  std::string marks(int same, int different, const std::string& kind = "random") const {
    std::string text = "a,b,answer,kind\n";
    for (int i = 0; i < same + different; ++i) text += fmt::format("x{},y{},{},{}\n", i, i, i < same ? "same" : "different", kind);
    return file(text + "p,q,skip," + kind + "\n");
  }
};

TEST_F(MarkedPriorTest, IsTheShareOfSameWithWilsonsInterval) {
  const MarkedPrior prior = prior_from_marks(marks(20, 180));
  EXPECT_DOUBLE_EQ(prior.tau_plus, 0.1);
  EXPECT_NEAR(prior.low, 0.0657, 5e-4);  // 20 of 200: Newcombe 1998, method 3
  EXPECT_NEAR(prior.high, 0.1494, 5e-4);
  EXPECT_EQ(prior.marks, 200);
  EXPECT_EQ(prior.skipped, 1);
}

TEST_F(MarkedPriorTest, CountsAPairOnceInEitherDirection) {
  std::string text = "a,b,answer,kind\n", again;
  for (int i = 0; i < 60; ++i) text += fmt::format("x{},y{},{},random\n", i, i, i < 15 ? "same" : "different");
  for (int i = 0; i < 15; ++i) again += fmt::format("y{},x{},same,random\n", i, i);
  const MarkedPrior once = prior_from_marks(file(text)), twice = prior_from_marks(file(text + again + "x20,y20,skip,random\n"));
  EXPECT_EQ(once.marks, 60);
  EXPECT_EQ(twice.marks, 60);
  EXPECT_DOUBLE_EQ(twice.tau_plus, 0.25);
  EXPECT_EQ(twice.skipped, 0);
  const MarkedPrior answered =
      prior_from_marks(file("a,b,answer,kind\nq,r,skip,random\n" + text.substr(text.find('\n') + 1) + "r,q,same,random\n"));
  EXPECT_EQ(answered.marks, 61);
  EXPECT_EQ(answered.skipped, 0);
}

TEST_F(MarkedPriorTest, RejectsContradictionsAsMustLinkDoes) {
  const std::string text = "a,b,answer,kind\nrow 0,row 1,same,random\nrow 2,row 3,same,random\nrow 1,row 0,different,random\n";
  const std::string expected = "line 4: 'row 1' and 'row 0' are marked different, but line 2 marks them same; correct one";
  EXPECT_THAT(data_error_of([&] { prior_from_marks(file(text)); }), HasSubstr(expected));
  EXPECT_THAT(complaint(text), HasSubstr(expected));
}

TEST_F(MarkedPriorTest, RejectsFewMarksAndMarksOfRankedPairs) {
  EXPECT_THAT(data_error_of([&] { prior_from_marks(marks(4, 45)); }),
              HasSubstr("49 answers same or different; the prior needs at least 50"));
  EXPECT_THAT(data_error_of([&] { prior_from_marks(marks(40, 45, "false_negative")); }),
              HasSubstr("line 2: a pair of kind 'false_negative'"));
  EXPECT_THAT(data_error_of([&] { prior_from_marks(file("a,b,kind\nx,y,random\n")); }), HasSubstr("no column 'answer'"));
}

TEST_F(MarkedPriorTest, SetsTauPlusOnceAndTheResolvedRecipeKeepsIt) {
  Config root =
      changed(small_config("x"), {"objective={name: debiased_negatives, tau_plus: {from: marks, file: '" + marks(50, 150) + "'}}"});
  const TrainInput input = input_for(root);
  const Config resolved = resolve_recipe(input.recipe, *input.dataset);
  const Config& tau = *resolved.find("objective")->items()[0].find("tau_plus");
  EXPECT_EQ(tau.find("value")->text(), "0.25");
  std::filesystem::remove(folder_ / "links.csv");
  const Recipe again = read_recipe(resolved);
  EXPECT_DOUBLE_EQ(again.objective[0].sources[0].start, 0.25);
  EXPECT_FALSE(again.objective[0].sources[0].due_after(1));
  const auto terms = make_terms(again, *input.dataset);
  EXPECT_EQ(terms[0].scheduled().front(), (std::pair<std::string, double>("tau_plus", 0.25)));
  expect_refused(changed(small_config("x"), {"objective={name: debiased_negatives, tau_plus: {from: marks}}"}), "from: marks needs a file");
  expect_refused(changed(small_config("x"), {"objective={name: bayesian, alpha: {from: marks, file: f.csv}}"}), "estimates the tau_plus");
}

}  // namespace linked_samples_test
}  // namespace debias

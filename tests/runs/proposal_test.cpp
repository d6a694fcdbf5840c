// The two recipes of a folder of images: their names, what differs between them, and what is rejected.
#include "debias/runs/proposal.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <filesystem>
#include <functional>
#include "debias/image/image_encode.h"
#include "debias/train/recipe/recipe.h"
#include "tests/data/fixture_files.h"
#include "tests/runs/trained_run.h"

namespace debias::proposal_test {

// Two classes and two colours, but for one image in four.
class Proposal : public testing::Test {
 protected:
  Proposal() {
    std::ofstream csv(folder_ / "colours.csv");
    csv << "path,label,bias\n";
    for (int i = 0; i < 24; ++i) {
      for (const std::string kind : {"ape", "zebra"}) {
        const std::string path = kind + "/" + std::to_string(i) + (i % 2 == 0 ? ".jpg" : ".png");
        const fs::path file = fs::path(photos()) / path;
        fs::create_directories(file.parent_path());
        fs::copy_file(golden_folder("images") + (i % 2 == 0 ? "/colour.jpg" : "/grey.png"), file);
        csv << path << "," << kind << "," << ((kind == "ape") == (i % 4 != 0) ? "red" : "blue") << "\n";
      }
    }
  }
  std::string photos() const { return folder_ / "photos"; }
  FolderSurvey survey(bool with_bias) const {
    return survey_folder(photos(), with_bias ? Config::string(folder_ / "colours.csv") : Config(), Progress::silent());
  }
  ProposalInput named(double minutes = 0.02) const { return named_proposal(photos(), folder_ / "photos.yaml", minutes); }

  TemporaryFolder folder_;
};

TEST_F(Proposal, IsTwoRecipesThatDifferInTheObjectiveAlone) {
  for (const bool with_bias : {true, false}) {
    const FolderSurvey found = survey(with_bias);
    ProposalInput proposal = named();
    proposal.goal = chosen_goal(std::nullopt, found);
    EXPECT_EQ(proposal.goal, with_bias ? InitGoal::kBias : InitGoal::kSampling);
    const FittedProposal fit = fit_to_time(found, proposal);
    EXPECT_GE(fit.proposal.epochs, 1);
    EXPECT_GT(fit.proposal.seconds, 0);
    write_recipes(found, fit);
    Config corrected = read_yaml_file(fit.proposal.corrected.file), plain = read_yaml_file(fit.proposal.plain.file);
    read_recipe(corrected);
    EXPECT_NE(*corrected.find("objective"), *plain.find("objective"));
    for (Config* recipe : {&corrected, &plain}) {
      for (const char* key : {"objective", "name", "output"}) recipe->erase(key);
    }
    EXPECT_EQ(corrected, plain);
    for (const ProposedRun& run : {fit.proposal.corrected, fit.proposal.plain}) fs::remove(run.file);
  }
}

TEST_F(Proposal, TrainsInBfloat16OnAGpu) {
  const FolderSurvey found = survey(true);
  ProposalInput proposal = named();
  EXPECT_FALSE(fit_to_time(found, proposal).proposal.on_gpu);  // the tests run without one
  for (const bool on_gpu : {false, true}) {
    proposal.on_gpu = on_gpu;
    const std::string text = proposed_recipe(found, proposed_networks().front(), proposal, ProposedPart::kCorrected);
    EXPECT_EQ(read_recipe(parse_yaml(text, "r.yaml")).train.precision, on_gpu ? Precision::kBf16 : Precision::kFp32);
  }
}

TEST_F(Proposal, IsCalledAsItsFolder) {
  const ProposalInput proposal = named_proposal(photos(), "", 10);
  EXPECT_EQ(proposal.corrected.file, "photos.yaml");
  EXPECT_EQ(proposal.plain.file, "photos-plain.yaml");
  EXPECT_EQ(proposal.plain.output, "runs/photos-plain");
  EXPECT_EQ(file_word("paint job;"), "paint-job-");
}

TEST_F(Proposal, OverwritesNothingAndWritesNothingAmongTheImages) {
  std::ofstream(folder_ / "photos-plain.yaml") << "mine";
  EXPECT_THAT(usage_error_of([&] { named(); }), HasSubstr("photos-plain.yaml' exists"));
  EXPECT_THAT(usage_error_of([&] { named_proposal(photos(), photos() + "/a.yaml", 10); }), HasSubstr("is inside the data folder"));
  for (const double minutes : {0.0, -1.0, std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(usage_error_of([&] { named_proposal(photos(), folder_ / "b.yaml", minutes); }), HasSubstr("expected a number above 0"));
  }
}

// A crop of the centre of 1 x 400 pixels at a short side of 32 would be of an image 12,800 pixels long, which no view may be.
TEST_F(Proposal, OfVeryNarrowImagesCanBeTrained) {
  for (const auto& [height, width] : {std::pair(400, 1), std::pair(1, 400)}) {
    const std::string narrow = folder_ / fmt::format("narrow-{}", height);
    for (int i = 0; i < 12; ++i) {
      const std::string file = fmt::format("{}/{}/{}.png", narrow, i % 2 == 0 ? "ape" : "zebra", i);
      fixture::write(file, encode_png(fixture::solid(height, width, static_cast<uint8_t>(20 * i), 2, 3)));
    }
    const FolderSurvey found = survey_folder(narrow, Config(), Progress::silent());
    ProposalInput proposal = named_proposal(narrow, folder_ / fmt::format("narrow-{}.yaml", height), 0.02);
    proposal.goal = InitGoal::kSampling;
    const FittedProposal fit = fit_to_time(found, proposal);
    for (const ProposedPart part : {ProposedPart::kCorrected, ProposedPart::kPlain}) {
      const std::string text = proposed_recipe(found, fit.network, fit.proposal, part);
      EXPECT_THAT(text, AllOf(HasSubstr("eval: {resize: {size: ["), HasSubstr("]}}    # the whole image: some are too long")));
      train_into(fmt::format("{}-run-{}", narrow, part == ProposedPart::kPlain ? "plain" : "corrected"), text, {"train.epochs=1"});
    }
  }
  ProposalInput usual = named();
  usual.goal = InitGoal::kSampling;
  EXPECT_THAT(proposed_recipe(survey(false), proposed_networks().front(), usual, ProposedPart::kPlain),
              HasSubstr("eval: {resize: {size: 32}, center_crop: {size: 32}}"));
}

TEST_F(Proposal, DoesNotRestOnFewBiasValues) {
  const auto with_bias_of = [&](const std::function<std::string(int)>& value) {
    std::ofstream csv(folder_ / "some.csv");
    csv << "path,label,bias\n";
    for (int i = 0; i < 48; ++i) {
      const std::string kind = i % 2 == 0 ? "ape" : "zebra";
      csv << fmt::format("{}/{}{},{},{}\n", kind, i / 2, i / 2 % 2 == 0 ? ".jpg" : ".png", kind, value(i));
    }
    csv.close();
    return survey_folder(photos(), Config::string(folder_ / "some.csv"), Progress::silent());
  };
  const auto colour = [](int i) { return i % 4 < 2 ? "red" : "blue"; };
  const FolderSurvey half = with_bias_of([&](int i) { return i < 24 ? colour(i) : ""; });
  EXPECT_EQ(chosen_goal(std::nullopt, half), InitGoal::kBias);
  const FolderSurvey few = with_bias_of([&](int i) { return i < 23 ? colour(i) : ""; });
  EXPECT_EQ(chosen_goal(std::nullopt, few), InitGoal::kSampling);
  EXPECT_EQ(chosen_goal(InitGoal::kBias, few), InitGoal::kBias);
  EXPECT_EQ(bias_doubt(few), "only 23 of 48 training images have a label and a bias label");
  const FolderSurvey scattered = with_bias_of([](int i) { return std::to_string(i / 6); });
  EXPECT_EQ(chosen_goal(std::nullopt, scattered), InitGoal::kSampling);
  EXPECT_EQ(bias_doubt(scattered), "the 16 groups of a class and a bias label have 3.0 training images on average, fewer than 4");
  ProposalInput proposal = named();
  proposal.goal = InitGoal::kSampling;
  for (const ProposedPart part : {ProposedPart::kCorrected, ProposedPart::kPlain}) {
    EXPECT_THAT(proposed_recipe(few, proposed_networks().front(), proposal, part),
                HasSubstr("# Not for the bias, which --goal bias is: only 23 of 48 training images"));
  }
  proposal.goal = InitGoal::kBias;
  EXPECT_THAT(proposed_recipe(few, proposed_networks().front(), proposal, ProposedPart::kCorrected),
              HasSubstr("# For the bias as asked, although only 23 of 48"));
}

TEST_F(Proposal, ForBiasNeedsBiasValues) {
  EXPECT_EQ(chosen_goal(InitGoal::kSampling, survey(true)), InitGoal::kSampling);
  EXPECT_THAT(usage_error_of([&] { chosen_goal(InitGoal::kBias, survey(false)); }),
              HasSubstr("--goal bias needs at least two classes and two bias labels, found 2 and 0"));
}

}  // namespace debias::proposal_test

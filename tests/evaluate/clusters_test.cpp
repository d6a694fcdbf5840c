// Clusters of features, their names, and files of names.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>

#include "debias/core/philox.h"
#include "debias/data/sample_table.h"
#include "debias/evaluate/clusters.h"
#include "debias/evaluate/embedding_file.h"
#include "debias/evaluate/protocols/clusterings.h"
#include "tests/evaluate/toy.h"
#include "tests/support/file_text.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace clusters_test {

using testing::ElementsAre;
using testing::HasSubstr;

// `per_blob` points about each of (0, 0), (10, 0) and (0, 10), one blob after the other.
at::Tensor blobs(int64_t per_blob, double spread) {
  const double at_x[] = {0, 10, 0}, at_y[] = {0, 0, 10};
  Random random({.seed = 5});
  std::vector<double> values;
  for (size_t blob = 0; blob < 3; ++blob) {
    for (int64_t i = 0; i < per_blob; ++i) {
      values.push_back(at_x[blob] + spread * random.normal());
      values.push_back(at_y[blob] + spread * random.normal());
    }
  }
  return at::tensor(values, at::kDouble).view({3 * per_blob, 2});
}

// The least sum over all assignments, by trying each.
double least_spread(const std::vector<double>& points, int64_t K) {
  double least = std::numeric_limits<double>::infinity();
  int64_t all = 1;
  for (size_t i = 0; i < points.size(); ++i) all *= K;
  for (int64_t code = 0; code < all; ++code) {
    std::vector<double> sum(K), count(K);
    int64_t rest = code;
    for (const double point : points) {
      sum[rest % K] += point;
      ++count[rest % K];
      rest /= K;
    }
    rest = code;
    double spread = 0;
    for (const double point : points) {
      const double away = point - sum[rest % K] / count[rest % K];
      spread += away * away;
      rest /= K;
    }
    least = std::min(least, spread);
  }
  return least;
}

TEST(KMeans, FindsBlobsThatLieApart) {
  const Clusters found = k_means(blobs(21, 0.5), 3, 1, "test");
  std::set<int64_t> clusters;
  for (size_t blob = 0; blob < 3; ++blob) {
    const std::set<int64_t> own(found.of_row.begin() + 21 * blob, found.of_row.begin() + 21 * (blob + 1));
    EXPECT_EQ(own.size(), 1u) << blob;
    clusters.insert(own.begin(), own.end());
  }
  EXPECT_EQ(clusters.size(), 3u);
  EXPECT_NEAR(found.centres.select(1, 0).max().item<double>(), 10, 0.5);
}

TEST(KMeans, ReachesTheLeastSumOverAllAssignments) {
  const std::vector<double> points = {0, 0.4, 1.1, 3, 3.1, 4.5, 9, 9.3};
  const at::Tensor rows = at::tensor(points, at::kDouble).view({8, 1});
  for (const int64_t K : {1, 2, 3}) {
    EXPECT_NEAR(k_means(rows, K, 7, "test").spread, least_spread(points, K), 1e-12) << K;
  }
}

TEST(KMeans, TheSameSeedGivesTheSameClusters) {
  const at::Tensor rows = blobs(30, 4);
  EXPECT_EQ(k_means(rows, 5, 3, "test").of_row, k_means(rows, 5, 3, "test").of_row);
}

TEST(KMeans, TakesAsManyClustersAsRowsAndEqualRows) {
  EXPECT_NEAR(k_means(at::tensor({1.0, 5.0, 9.0}, at::kDouble).view({3, 1}), 3, 1, "test").spread, 0, 1e-12);
  const Clusters equal = k_means(at::ones({6, 2}, at::kDouble), 3, 1, "test");
  EXPECT_EQ(equal.of_row.size(), 6u);
  EXPECT_TRUE(at::isfinite(equal.centres).all().item<bool>());
  EXPECT_EQ(usage_error_of([] { k_means(at::ones({2, 1}), 3, 1, "embed"); }), "embed: 3 clusters of 2 images: give a number from 1 to 2");
  EXPECT_EQ(usage_error_of([] { k_means(at::ones({2, 1}), 0, 1, "embed"); }), "embed: 0 clusters of 2 images: give a number from 1 to 2");
}

TEST(KMeans, ClarityIsOneOnACentreAndZeroHalfWay) {
  const at::Tensor centres = at::tensor({0.0, 4.0, 20.0}, at::kDouble).view({3, 1});
  const auto found = nearest_centres(at::tensor({0.0F, 2.0F, 5.0F}).view({3, 1}), centres);
  EXPECT_EQ(found[0].centre, 0);
  EXPECT_EQ(found[2].centre, 1);
  EXPECT_NEAR(found[0].clarity, 1, 1e-12);
  EXPECT_NEAR(found[1].clarity, 0, 1e-12);
  EXPECT_NEAR(found[2].clarity, 1 - 1.0 / 5, 1e-12);
  EXPECT_EQ(nearest_centres(at::ones({1, 1}), centres.narrow(0, 0, 1))[0].clarity, 1);
}

TEST(KMeans, NearestCentresAgreeWithANaiveSearchBeyondOneBlock) {
  const at::Tensor rows = blobs(3000, 5), centres = blobs(2, 3);  // 9,000 rows
  const auto found = nearest_centres(rows, centres);
  const auto* row = rows.const_data_ptr<double>();
  const auto* centre = centres.const_data_ptr<double>();
  for (int64_t i = 0; i < rows.size(0); ++i) {
    int64_t nearest = 0;
    const auto away = [&](int64_t k) { return std::hypot(row[2 * i] - centre[2 * k], row[2 * i + 1] - centre[2 * k + 1]); };
    for (int64_t k = 1; k < centres.size(0); ++k) nearest = away(k) < away(nearest) ? k : nearest;
    ASSERT_NEAR(away(found[static_cast<size_t>(i)].centre), away(nearest), 1e-9) << i;
  }
}

constexpr int64_t kImages = 31;  // of toy_input's test set; kNN sees class i % 3 of image i

// Four images are labelled otherwise than they look.
EvaluationInput mislabelled() {
  EvaluationInput input = toy_input();
  auto test = std::make_shared<ToyDataset>(kImages, 3, "test");
  for (const int64_t i : {3, 4, 20, 21}) test->set_label(i, (i + 1) % 3);
  input.test = test;
  return input;
}

std::string texture_of(int64_t i) { return i < 16 ? "smooth" : "striped"; }
std::string tone_of(int64_t i) { return i % 5 == 0 ? "dark" : "light"; }

class Clusterings : public testing::Test {
 protected:
  std::string write(const std::string& text) const {
    std::ofstream(path()) << text;
    return path();
  }
  std::string path() const { return folder_ / "clusters.csv"; }
  std::string rows(int64_t first = 0) const {
    std::ostringstream text;
    text << "image,class,texture,tone\n";
    for (int64_t i = first; i < kImages; ++i) text << "somewhere/val/toy/" << i << ".png,?," << texture_of(i) << "," << tone_of(i) << "\n";
    return text.str();
  }
  EvaluationResult run(const std::string& more = "") const {
    return evaluated(mislabelled(), "clusterings", "{file: " + path() + ", path: image, columns: [texture, tone]" + more + "}");
  }
  TemporaryFolder folder_;
};

TEST_F(Clusterings, EachCellCountsAlikeAndEachClusteringToo) {
  write(rows() + "elsewhere/toy/99.png,?,odd,odd\n");  // of no evaluated image
  const auto cells = [](auto cluster_of, int64_t least) {
    std::map<std::pair<int64_t, std::string>, std::pair<double, double>> counts;  // right, all
    for (int64_t i = 0; i < kImages; ++i) {
      const bool wrong = i == 3 || i == 4 || i == 20 || i == 21;
      auto& [right, all] = counts[{wrong ? (i + 1) % 3 : i % 3, cluster_of(i)}];
      right += wrong ? 0 : 1;
      ++all;
    }
    double sum = 0, used = 0;
    for (const auto& [key, count] : counts) {
      if (count.second >= static_cast<double>(least)) sum += count.first / count.second, ++used;
    }
    return std::pair(sum / used, used);
  };
  const EvaluationResult result = run(", min_count: 3");
  const auto texture = cells(texture_of, 3), tone = cells(tone_of, 3);
  EXPECT_NEAR(result.metrics.at("test.clusterings_acc"), (texture.first + tone.first) / 2, 1e-12);
  EXPECT_EQ(details(result)["clusterings"]["test"]["tone"]["cells"], tone.second);
  EXPECT_LT(tone.second, 6) << "a cell is too small";
  EXPECT_NEAR(details(result)["clusterings"]["test"]["texture"]["accuracy"].get<double>(), texture.first, 1e-12);
  EXPECT_EQ(details(result)["predictions"], "knn");
}

TEST_F(Clusterings, WhatTheFileLacksIsSaid) {
  const auto refusal = [&](ErrorKind kind, const std::string& yaml) {
    return error_of(kind, [&] { evaluated(mislabelled(), "clusterings", yaml); });
  };
  const std::string asked = "{file: " + path() + ", path: image, columns: [texture, tone], min_count: 1}";
  write(rows(2));
  EXPECT_THAT(refusal(ErrorKind::kData, asked), HasSubstr("no row for 2 of 31 images of toy, the first is 'toy/0.png'"));
  write(rows() + "other/toy/7.png,?,odd,odd\n");
  EXPECT_THAT(refusal(ErrorKind::kData, asked), HasSubstr("two rows of 'toy/7.png'"));
  write("image,texture,tone\nx/1.jpg,a,b\n");
  EXPECT_THAT(refusal(ErrorKind::kData, asked), HasSubstr("no row is of an evaluated image"));
  write(rows());
  EXPECT_THAT(refusal(ErrorKind::kData, "{file: " + path() + ", path: image, columns: [textures]}"),
              HasSubstr("no column 'textures'; did you mean 'texture'?"));
  EXPECT_THAT(refusal(ErrorKind::kData, "{file: " + path() + ", path: image, columns: [tone], min_count: 30}"),
              HasSubstr("lower min_count"));
  EXPECT_THAT(refusal(ErrorKind::kUsage, "{}"), HasSubstr("no file is given"));
  EXPECT_THAT(refusal(ErrorKind::kUsage, "{file: x.csv, predictions: classifier}"),
              HasSubstr("clusterings: predictions: the run has no classifier"));
}

TEST(ClusterNames, AreThoseOfTheClassesThatTheyGoWith) {
  EXPECT_THAT(cluster_names({1, 1, 1, 0, 0, 0}, {0, 0, 1, 1, 1, 0}, {"cat", "dog"}, 2), ElementsAre("like_dog", "like_cat"));
}

TEST(ClusterNames, ASecondOneOfAClassIsNumberedTheLargerFirst) {
  EXPECT_THAT(cluster_names({0, 1, 1, 2, 2, 2}, {0, 0, 0, 0, 0, 0}, {"cat", "dog"}, 3),
              ElementsAre("like_cat_3", "like_cat_2", "like_cat"));
}

TEST(ClusterNames, OfEqualCountsTheLowerClassAndUnknownLabelsDoNotCount) {
  EXPECT_THAT(cluster_names({0, 0, 0, 0}, {kUnknown, kUnknown, 1, 0}, {"cat", "dog"}, 1), ElementsAre("like_cat"));
  EXPECT_THAT(cluster_names({0, 0, 0}, {kUnknown, kUnknown, 1}, {}, 1), ElementsAre("like_1"));
}

TEST(ClusterNames, WithoutLabelsTheyAreNumbered) {
  EXPECT_THAT(cluster_names({0, 1, 1}, {kUnknown, kUnknown, kUnknown}, {}, 3), ElementsAre("value_2", "value_1", "value_3"));
}

TEST(ClusterNames, AreDifferentWhateverTheClassesAreCalled) {
  EXPECT_THAT(cluster_names({0, 0, 0, 1, 1, 2}, {0, 0, 0, 0, 0, 1}, {"a", "a_2"}, 3), ElementsAre("like_a", "like_a_2", "like_a_2_2"));
}

class NamedSet : public Dataset {
 public:
  explicit NamedSet(std::vector<std::string> classes, std::vector<std::string> biases = {}) {
    info_.class_names = std::move(classes);
    info_.bias_names = std::move(biases);
  }
  const DatasetInfo& info() const override { return info_; }
  int64_t size() const override { return 3; }
  Sample get(int64_t) const override { return {}; }
  std::string source(int64_t index) const override { return index == 0 ? "a,b.png" : "c.png"; }

 private:
  DatasetInfo info_;
};

Features of_three() {
  Features features;
  features.labels = {1, 0, kUnknown};
  features.biases = {0, kUnknown, 7};
  features.indices = {0, 1, 2};
  return features;
}

TEST(NameFile, HasALineForEachRowAndNoNameForAnUnknownNumber) {
  const TemporaryFolder folder;
  const auto path = write_names(folder / "e.npy", of_three(), NamedSet({"cat", "dog \"x\""}, {"red"}));
  ASSERT_EQ(path, folder / "e.names.csv");
  EXPECT_EQ(file_text(*path),
            "filenames,labels,class,bias,bias_name\n"
            "\"a,b.png\",1,\"dog \"\"x\"\"\",0,red\n"
            "c.png,0,cat,-1,\n"
            "c.png,-1,,7,\n");
}

TEST(NameFile, LiesBesideTheArrayOrTheTable) {
  EXPECT_EQ(name_path("x/e"), "x/e.names.csv");
  EXPECT_EQ(name_path("x/e.csv"), "x/e.names.csv");
  EXPECT_EQ(name_path("x/v1.2"), "x/v1.2.names.csv");
}

TEST(NameFile, IsNotWrittenWithoutNames) {
  const TemporaryFolder folder;
  EXPECT_EQ(write_names(folder / "e.npy", of_three(), NamedSet({})), std::nullopt);
  EXPECT_EQ(folder.entries(), 0u);
}

}  // namespace clusters_test
}  // namespace debias

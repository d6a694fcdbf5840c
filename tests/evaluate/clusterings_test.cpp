#include "debias/evaluate/protocols/clusterings.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "tests/evaluate/toy.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace clusterings_test {

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
  EXPECT_NE(refusal(ErrorKind::kData, asked).find("no row for 2 of 31 images of toy, the first is 'toy/0.png'"), std::string::npos);
  write(rows() + "other/toy/7.png,?,odd,odd\n");
  EXPECT_NE(refusal(ErrorKind::kData, asked).find("two rows of 'toy/7.png'"), std::string::npos);
  write("image,texture,tone\nx/1.jpg,a,b\n");
  EXPECT_NE(refusal(ErrorKind::kData, asked).find("no row is of an evaluated image"), std::string::npos);
  write(rows());
  EXPECT_NE(refusal(ErrorKind::kData, "{file: " + path() + ", path: image, columns: [textures]}")
                .find("no column 'textures'; did you mean 'texture'?"),
            std::string::npos);
  EXPECT_NE(refusal(ErrorKind::kData, "{file: " + path() + ", path: image, columns: [tone], min_count: 30}").find("lower min_count"),
            std::string::npos);
  EXPECT_NE(refusal(ErrorKind::kUsage, "{}").find("no file is given"), std::string::npos);
  EXPECT_NE(
      refusal(ErrorKind::kUsage, "{file: x.csv, predictions: classifier}").find("clusterings: predictions: the run has no classifier"),
      std::string::npos);
}

}  // namespace clusterings_test
}  // namespace debias

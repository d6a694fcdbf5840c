// Tables of Gaussian features in a temporary folder: a weak signal of the class, a strong one of a bias that goes with it, and noise.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "debias/core/npy.h"
#include "debias/core/philox.h"
#include "debias/features/feature_table.h"
#include "tests/support/temporary_folder.h"

namespace debias {

struct GaussianSettings {
  int64_t train = 1200, test = 1200;
  int64_t classes = 3, dimensions = 24;
  double correlation = 0.95;  // share of training rows whose bias label is the class's number; in test rows it is drawn
  double class_signal = 1.2, bias_signal = 2.5;
  uint64_t seed = 1;
  bool one_bias_in_first_class = false;  // in training rows
  int64_t patient = 1;                   // adjacent rows of one patient: of one class, one bias label and one effect
  double patient_effect = 0;             // its deviation
};

class GaussianTable {
 public:
  explicit GaussianTable(const GaussianSettings& settings) {
    Random random({.domain = RngDomain::kTest, .seed = settings.seed});
    const int64_t n = settings.train + settings.test, D = settings.dimensions, C = settings.classes;
    std::vector<float> values;
    std::string csv = "path,label,bias,split\n";
    int64_t of_patient = 0;
    std::vector<double> effect(static_cast<size_t>(D));
    for (int64_t i = 0; i < n; ++i) {
      const bool train = i < settings.train;
      const int64_t y = i / settings.patient % C;
      const bool aligned = train && random.uniform() < settings.correlation;
      const int64_t drawn = aligned ? y : train ? (y + 1 + random.below(C - 1)) % C : random.below(C);
      if (i % settings.patient == 0) {
        of_patient = train && y == 0 && settings.one_bias_in_first_class ? 0 : drawn;
        if (settings.patient_effect > 0) {
          for (double& own : effect) own = settings.patient_effect * random.normal();
        }
      }
      const int64_t b = of_patient;
      for (int64_t d = 0; d < D; ++d) {
        double value = random.normal() + effect[static_cast<size_t>(d)];
        if (d == y) value += settings.class_signal;
        if (d == C + b || d == (y + b) % C) value += d < C ? 0.2 * settings.bias_signal : settings.bias_signal;
        values.push_back(static_cast<float>(value * (1 + static_cast<double>(d % 5)) + static_cast<double>(d)));
      }
      csv += "r" + std::to_string(i) + ",c" + std::to_string(y) + ",b" + std::to_string(b) + (train ? ",train\n" : ",test\n");
    }
    write_npy(folder_ / "z.npy", DType::kFloat32, {n, D}, values.data());
    std::ofstream(folder_ / "c.csv", std::ios::binary) << csv;
  }

  // Another CSV of the same vectors: a line for each row, by its number.
  template <class Line>
  void write_rows(const std::string& header, int64_t rows, const Line& line) const {
    std::ofstream csv(folder_ / "c.csv", std::ios::binary);
    csv << header << "\n";
    for (size_t i = 0; i < static_cast<size_t>(rows); ++i) csv << line(i) << "\n";
  }

  const TemporaryFolder& folder() const { return folder_; }
  std::string vectors() const { return folder_ / "z.npy"; }
  std::string csv() const { return folder_ / "c.csv"; }
  FeatureTable open(const TableRowOptions& options = {}) const {
    return open_feature_table(FeatureTableFiles{.vectors = vectors(), .csv = csv()}, options);
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace debias

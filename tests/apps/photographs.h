// `debias train` on twelve photographs in two class folders.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/apps/process.h"
#include "tests/support/golden_folder.h"

namespace debias {

class Photographs : public testing::Test {
 protected:
  // `crop`: options of random_resized_crop.
  explicit Photographs(const std::string& crop) {
    std::ofstream(folder_ / "recipe.yaml") << "seed: 2\n"
                                           << "views: {preset: sim32, count: 2, random_resized_crop: " << crop << "}\n"
                                           << "encoder: {name: resnet18, width: 8}\n"
                                           << "objective: {name: infonce}\n"
                                           << "train: {epochs: 2, batch_size: 6, device: cpu, threads: 1, log_every: 1}\n";
    for (const char* group : {"cat", "dog"}) {
      std::filesystem::create_directories(folder_ / "data" + "/" + group);
      for (int i = 0; i < 6; ++i) std::filesystem::copy_file(whole(), image(group, i));
    }
  }

  static std::string whole() { return golden_folder("images") + "/colour.jpg"; }
  std::string image(const std::string& group, int number) const {
    return folder_ / "data" + "/" + group + "/" + std::to_string(number) + ".jpg";
  }
  void truncate(const std::string& group, int number) const {
    std::filesystem::resize_file(image(group, number), std::filesystem::file_size(whole()) - 40);
  }
  ProcessResult train(const std::string& name, const std::vector<std::string>& more) const {
    return run_debias(with({"train", folder_ / "recipe.yaml", "output=" + (folder_ / name),
                            "data.train={name: image_folder, root: " + (folder_ / "data") + "}"},
                           more));
  }
  std::string metrics(const std::string& name) const { return file_text(folder_ / name + "/metrics.jsonl"); }

  TemporaryFolder folder_;
};

}  // namespace debias

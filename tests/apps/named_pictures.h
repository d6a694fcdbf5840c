// Glyphs as a user's own folders: classes and colours have names, which sort otherwise than the glyphs' numbers.
#pragma once

#include "tests/apps/command.h"

namespace debias {

class NamedPictures {
 public:
  NamedPictures() {
    const ProcessResult made = run_debias({"data", "make", "glyphs", "classes=4", "size=16", "correlation=0.9", "train_count=240",
                                           "test_count=4", "--out", folder_ / "made"});
    if (made.exit != 0) throw std::runtime_error(made.err);
  }

  // FOLDER/CLASS/*.png with a row each in FOLDER.csv, half of the pictures for `train` and half for `test`; `classes` by the glyphs'
  // numbers, "" to leave one out.
  std::string folder(const std::string& name, const Words& classes, const std::string& split) const {
    namespace fs = std::filesystem;
    const Words colours = {"white", "red", "green", "blue"};
    for (size_t number = 0; number < classes.size(); ++number) {
      if (!classes[number].empty()) fs::create_directories(folder_ / name + "/" + classes[number]);
    }
    std::ofstream csv(folder_ / name + ".csv");
    csv << "path,label,bias\n";
    for (const char* part : {"align", "conflict"}) {
      for (const auto& file : fs::recursive_directory_iterator(folder_ / "made" + "/" + part)) {
        if (file.path().extension() != ".png") continue;
        int id = 0, number = 0, colour = 0;  // 17_3_0.png
        EXPECT_EQ(std::sscanf(file.path().filename().c_str(), "%d_%d_%d", &id, &number, &colour), 3);
        const std::string& group = classes[static_cast<size_t>(number)];
        if (group.empty() || (id / 4 % 2 == 0) != (split == "train")) continue;
        const std::string path = group + "/" + std::to_string(id) + ".png";
        fs::copy_file(file.path(), folder_ / name + "/" + path);
        csv << path << "," << group << "," << (colour < 4 ? colours[static_cast<size_t>(colour)] : "other") << "\n";
      }
    }
    return folder_ / name;
  }

  static std::string section(const std::string& folder) { return "{name: image_folder, root: " + folder + ", labels: " + folder + ".csv}"; }
  std::string operator/(const std::string& name) const { return folder_ / name; }

 private:
  TemporaryFolder folder_;
};

}  // namespace debias

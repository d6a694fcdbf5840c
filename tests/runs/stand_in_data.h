// The data of the papers as next to nothing: the true layouts, with as many images as the largest batch asks for.
#pragma once

#include <filesystem>
#include <string>

#include "debias/data/readers/class_selection.h"
#include "tests/data/fixture_files.h"

namespace debias::fixture {

class StandInData {
 public:
  // Everything below FOLDER/data, where the recipes look for it from FOLDER.
  explicit StandInData(const std::string& folder) : root_(folder + "/data/") {
    cifar();
    cifar_as_folders();
    stl10();
    write_mnist(root_ + "mnist", 600, 300);
    corrupted_cifar10();
    bffhq();
    image_net("imagenet100", 6);
    image_net("imagenet9", 8);
    image_net_a();
  }

 private:
  static Bytes repeated(const Bytes& record, size_t times) {
    Bytes bytes;
    for (size_t i = 0; i < times; ++i) bytes.insert(bytes.end(), record.begin(), record.end());
    return bytes;
  }

  void cifar() const {
    for (int i = 1; i <= 5; ++i) write(root_ + "cifar10/data_batch_" + std::to_string(i) + ".bin", cifar10_file(220));
    write(root_ + "cifar10/test_batch.bin", cifar10_file(50));
    Bytes hundred;
    for (uint8_t fine = 0; fine < 100; ++fine) {
      const Bytes record = cifar_record({static_cast<uint8_t>(fine / 5), fine}, fine, 20, 30);
      hundred.insert(hundred.end(), record.begin(), record.end());
    }
    write(root_ + "cifar100/train.bin", repeated(hundred, 11));
    write(root_ + "cifar100/test.bin", hundred);
  }

  void cifar_as_folders() const {
    const Bytes png = encode_png(solid(32, 32, 40, 80, 9));
    for (const char* split : {"train", "test"}) {
      for (const char* name : {"cat", "dog", "frog", "ship", "truck"}) {
        for (int i = 0; i < 60; ++i) write(root_ + "cifar10-images/" + split + "/" + name + "/" + std::to_string(1000 + i) + ".png", png);
      }
    }
  }

  void stl10() const {
    const Bytes image(27648, 90);
    Bytes labels = cyclic_labels(60);
    for (auto& label : labels) ++label;  // from 1 on
    for (const char* split : {"train", "test"}) {
      write(root_ + "stl10/" + split + "_X.bin", repeated(image, labels.size()));
      write(root_ + "stl10/" + split + "_y.bin", labels);
    }
    write(root_ + "stl10/unlabeled_X.bin", repeated(image, 600));
  }

  void pictures(const std::string& folder, int label, int bias, int count) const {
    const Bytes png = encode_png(solid(32, 32, static_cast<uint8_t>(20 * label), static_cast<uint8_t>(20 * bias), 9));
    for (int i = 0; i < count; ++i) {
      const std::string id = std::to_string(1000 * label + 100 * bias + i);
      write(root_ + folder + "/" + id + "_" + std::to_string(label) + "_" + std::to_string(bias) + ".png", png);
    }
  }

  void corrupted_cifar10() const {
    for (int label = 0; label < 10; ++label) {
      const std::string group = "/" + std::to_string(label);
      for (const char* ratio : {"0.5pct", "1pct", "2pct", "5pct"}) {
        pictures(std::string("cifar10c/") + ratio + "/align" + group, label, label, 30);
        pictures(std::string("cifar10c/") + ratio + "/conflict" + group, label, (label + 1) % 10, 1);
      }
      for (int bias = 0; bias < 10; ++bias) pictures("cifar10c/test" + group, label, bias, 1);
    }
  }

  void bffhq() const {
    for (int label = 0; label < 2; ++label) {
      pictures("bffhq/0.5pct/align/" + std::to_string(label), label, label, 140);
      pictures("bffhq/0.5pct/conflict/" + std::to_string(label), label, 1 - label, 1);
      for (const char* split : {"valid", "test"}) {
        pictures(std::string("bffhq/") + split, label, 1 - label, 4);
        pictures(std::string("bffhq/") + split, label, label, 4);
      }
    }
  }

  // Links to one image: the loader looks at names only until a run begins.
  void image_net(const std::string& name, int copies) const {
    namespace fs = std::filesystem;
    const std::string picture = root_ + name + ".png";
    Image stripes = solid(40, 48, 9, 99, 200);  // one colour would have no variance for a batch norm
    for (size_t i = 0; i < stripes.pixels.size(); i += 2) stripes.pixels[i] = static_cast<uint8_t>(7 * i);
    write(picture, encode_png(stripes));
    for (const auto& [group, label] : read_class_selection(name).label_of) {
      for (const char* split : {"train", "val"}) {
        fs::create_directories(root_ + name + "/" + split + "/" + group);
        for (int i = 0; i < (split[0] == 't' ? copies : 1); ++i) {
          fs::create_hard_link(picture, root_ + name + "/" + split + "/" + group + "/" + group + "_" + std::to_string(i) + ".png");
        }
      }
    }
  }

  // Without the folders of one class; and the clusterings of the validation images.
  void image_net_a() const {
    namespace fs = std::filesystem;
    std::string clusters = "path,cluster1,cluster2,cluster3\n";
    for (const auto& [group, label] : read_class_selection("imagenet9").label_of) {
      clusters += group + "/" + group + "_0.png,0,1,2\n";
      if (label == 0) continue;
      fs::create_directories(root_ + "imagenet-a/" + group);
      fs::create_hard_link(root_ + "imagenet9.png", root_ + "imagenet-a/" + group + "/0.png");
    }
    write(root_ + "imagenet9/clusters.csv", clusters);
  }

  std::string root_;
};

}  // namespace debias::fixture

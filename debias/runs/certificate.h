// Results of a self-test (`debias certify`): claims, each with whether it holds, and costs, which are not claims.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "debias/core/error.h"
#include "debias/core/safetensors.h"

namespace debias {

struct Claim {
  std::string text;
  bool holds = false;
};

// Receives claims and costs as soon as they are known; a self-test takes minutes.
struct CertificateObserver {
  std::function<void(const Claim& claim)> on_claim = [](const Claim&) {};
  std::function<void(const std::string& line)> on_cost = [](const std::string&) {};
};

struct Certificate {
  std::vector<Claim> claims;
  nlohmann::ordered_json costs = nlohmann::ordered_json::array();

  bool all_hold() const;
};

// Distance between the tensors of two files.
std::string bytes_of(const SafetensorsFile& file, const TensorEntry& entry);

// The maximum of |x - y| / (1 + |x|) over two float32 tensors; infinite if a value is NaN.
double tensor_distance(const std::string& a, const std::string& b);

// The same over all float32 tensors in two files; infinite if the files have different tensors.
double farthest_tensors(const std::string& a, const std::string& b);

// The Euclidean distance of all float32 tensors together; infinite if the files have different tensors.
double euclidean_distance(const std::string& a, const std::string& b);

// A temporary folder for the files of trials, removed at the end.
class TrialFolder {
 public:
  TrialFolder() {
    namespace fs = std::filesystem;
    std::string path = (fs::temp_directory_path() / "debias-certify-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr)
      throw resource_error("certify: no folder can be made in '{}'", std::filesystem::temp_directory_path().string());
    path_ = path;
  }
  ~TrialFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace debias

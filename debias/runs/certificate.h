// Results of a self-test (`debias certify`): claims, each with whether it holds, and costs, which are not claims.
#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <vector>

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

}  // namespace debias

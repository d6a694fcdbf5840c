// `debias certify device`: whether a device computes what the CPU computes, and what a step costs there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace debias {

struct DeviceCertificate {
  std::string device = "cuda";
  std::string recipe;  // empty: a small one on drawn glyphs
  std::vector<std::string> words;
  int64_t steps = 20;  // of the short training
  bool json = false;
};

// Prints a line for each claim and returns 1 where one fails. A usage error where the device cannot be had.
int certify_device(const DeviceCertificate& asked);

}  // namespace debias

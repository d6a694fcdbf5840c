// SHA-256 over pieces.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace debias {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void update(const void* data, size_t bytes);
  std::string hex();  // lower case, 64 characters; ends the computation

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// SHA-256 of a file.

// Lower case, 64 characters, read piece by piece. Data errors as of InputFile.
std::string file_digest(const std::string& path);

}  // namespace debias

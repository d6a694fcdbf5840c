#include "debias/core/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "debias/core/error.h"
#include "debias/core/input_file.h"

namespace debias {
namespace {

void check(int success) {
  if (success != 1) throw resource_error("SHA-256: OpenSSL cannot compute it; check its installation and configuration");
}

}  // namespace

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  check(state_->context != nullptr ? EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) : 0);
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(const void* data, size_t bytes) {
  if (bytes > 0) check(EVP_DigestUpdate(state_->context, data, bytes));
}

std::string Sha256::hex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  check(EVP_DigestFinal_ex(state_->context, digest, &size));
  std::string text;
  for (unsigned int i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

std::string file_digest(const std::string& path) {
  const InputFile file(path);
  Sha256 digest;
  std::vector<char> piece(size_t{1} << 20);
  for (uint64_t offset = 0; offset < file.size(); offset += piece.size()) {
    const size_t bytes = std::min<uint64_t>(piece.size(), file.size() - offset);
    file.read(offset, piece.data(), bytes);
    digest.update(piece.data(), bytes);
  }
  return digest.hex();
}

}  // namespace debias

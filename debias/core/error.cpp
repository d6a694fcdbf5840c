#include "debias/core/error.h"

#include <algorithm>

namespace debias {

UsageErrors::UsageErrors(std::vector<std::string> messages)
    : Error(ErrorKind::kUsage, fmt::format("{} (and {} more)", messages.at(0), messages.size() - 1)), messages_(std::move(messages)) {}

void Mistakes::throw_if_any() const {
  if (messages_.size() == 1) throw Error(ErrorKind::kUsage, messages_.front());
  if (!messages_.empty()) throw UsageErrors(messages_);
}

void Mistakes::add(const std::string& message) {
  if (std::find(messages_.begin(), messages_.end(), message) == messages_.end()) messages_.push_back(message);
}

}  // namespace debias

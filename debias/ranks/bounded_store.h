// A store that throws where the process that has it does not answer, stopped or cut off: c10d waits for that one without an end.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>
#include <utility>

#include "debias/ranks/store.h"

namespace debias {

inline constexpr std::chrono::seconds kStorePatience{5};  // for an answer that is due at once

class NoAnswer : public std::runtime_error {
 public:
  using runtime_error::runtime_error;
};

// Returns the result of `ask`, or throws NoAnswer at the time limit; the asking thread is left behind, with copies of all it needs.
template <class Ask>
auto within(std::chrono::milliseconds limit, Ask ask) {
  std::packaged_task<decltype(ask())()> task(std::move(ask));
  auto answer = task.get_future();
  std::thread thread(std::move(task));
  if (answer.wait_for(limit) != std::future_status::ready) {
    thread.detach();
    throw NoAnswer(fmt::format("no answer within {} s", limit.count() / 1000));
  }
  thread.join();
  return answer.get();
}

// Each question may take the store's timeout, and kStorePatience more for the answer that it has run out. After one that took longer all
// others throw at once. A clone is a connection of its own that waits as c10d does.
class BoundedStore : public c10d::Store {
 public:
  explicit BoundedStore(StorePointer store);

  StorePointer clone() override;
  using Store::set;
  void set(const std::string& key, const std::vector<uint8_t>& value) override;
  std::vector<uint8_t> get(const std::string& key) override;
  int64_t add(const std::string& key, int64_t value) override;
  bool deleteKey(const std::string& key) override;
  bool check(const std::vector<std::string>& keys) override;
  int64_t getNumKeys() override;
  void wait(const std::vector<std::string>& keys) override;
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override;
  void setTimeout(const std::chrono::milliseconds& timeout) override;
  void append(const std::string& key, const std::vector<uint8_t>& value) override;
  std::vector<std::vector<uint8_t>> multiGet(const std::vector<std::string>& keys) override;
  void multiSet(const std::vector<std::string>& keys, const std::vector<std::vector<uint8_t>>& values) override;
  bool hasExtendedApi() const override;

 private:
  template <class Ask>
  auto bounded(std::chrono::milliseconds timeout, Ask ask);

  StorePointer store_;
  std::atomic<bool> is_silent_{false};
};

}  // namespace debias

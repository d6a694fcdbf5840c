// The keys and values that the processes share, as c10d has them; for the sources of this folder alone, since its headers take long.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>

#include "debias/ranks/rendezvous.h"

namespace debias {

using StorePointer = c10::intrusive_ptr<c10d::Store>;

// Errors in one line: a port in use, a host that does not answer, a file that cannot be written.
StorePointer open_store(const Rendezvous& rendezvous, const Place& place);

void put(c10d::Store& store, const std::string& key, const std::string& value);
std::optional<std::string> find(c10d::Store& store, const std::string& key);           // does not wait
bool put_first(c10d::Store& store, const std::string& key, const std::string& value);  // whether it was

std::string failure_text(const RankFailure& failure);
std::optional<RankFailure> read_failure(c10d::Store& store);

inline constexpr const char* kFailureKey = "failure";

// A store that throws where the process that has it does not answer, stopped or cut off: c10d waits for that one without an end.
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

// A process' sign of life to the others, and the naps of one that waits for theirs.

// Sends the heartbeat of a process, in a thread and over a connection of its own. A thread that the store keeps waiting is left behind.
class RankBeats {
 public:
  RankBeats(const StorePointer& store, std::string key, std::chrono::milliseconds interval);
  ~RankBeats();
  RankBeats(const RankBeats&) = delete;
  RankBeats& operator=(const RankBeats&) = delete;

 private:
  struct State {
    StorePointer store;
    std::string key;
    std::chrono::milliseconds interval;
    std::mutex mutex;
    std::condition_variable over;
    bool is_over = false;
  };
  static void beat(State& state);

  std::shared_ptr<State> state_;
  std::future<void> ended_;
  std::thread thread_;
};

// Short at first, then longer.
class Nap {
 public:
  void take();

 private:
  std::chrono::milliseconds length_{1};
};

}  // namespace debias

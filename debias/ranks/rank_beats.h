// A process' sign of life to the others, and the naps of one that waits for theirs.
#pragma once

#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "debias/ranks/store.h"

namespace debias {

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

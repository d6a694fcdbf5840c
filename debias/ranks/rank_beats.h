// A process' sign of life to the others, and the naps of one that waits for theirs.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "debias/ranks/store.h"

namespace debias {

// Says that a process is alive, in a thread and over a connection of its own.
class RankBeats {
 public:
  RankBeats(const StorePointer& store, std::string key, std::chrono::milliseconds interval);
  ~RankBeats();
  RankBeats(const RankBeats&) = delete;
  RankBeats& operator=(const RankBeats&) = delete;

 private:
  void beat();

  StorePointer store_;
  std::string key_;
  std::chrono::milliseconds interval_;
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
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

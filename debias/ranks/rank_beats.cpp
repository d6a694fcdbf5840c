#include "debias/ranks/rank_beats.h"

#include <algorithm>

namespace debias {
namespace {

constexpr std::chrono::seconds kLastBeat{3};  // for one that is under way when the thread is to end

}  // namespace

RankBeats::RankBeats(const StorePointer& store, std::string key, std::chrono::milliseconds interval) : state_(std::make_shared<State>()) {
  state_->store = store->clone();
  state_->key = std::move(key);
  state_->interval = interval;
  std::packaged_task<void()> task([state = state_] { beat(*state); });
  ended_ = task.get_future();
  thread_ = std::thread(std::move(task));
}

RankBeats::~RankBeats() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->is_over = true;
  }
  state_->over.notify_all();
  if (ended_.wait_for(kLastBeat) == std::future_status::ready) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void RankBeats::beat(State& state) {
  std::unique_lock lock(state.mutex);
  while (!state.is_over) {
    lock.unlock();
    try {
      state.store->add(state.key, 1);
    } catch (const std::exception&) {  // the store is gone, which the main thread will find
    }
    lock.lock();
    state.over.wait_for(lock, state.interval, [&state] { return state.is_over; });
  }
}

void Nap::take() {
  constexpr std::chrono::milliseconds kLongest{100};
  std::this_thread::sleep_for(length_);
  length_ = std::min(2 * length_, kLongest);
}

}  // namespace debias

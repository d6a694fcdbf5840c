#include "debias/ranks/store.h"

#include <algorithm>

namespace debias {

BoundedStore::BoundedStore(StorePointer store) : Store(store->getTimeout()), store_(std::move(store)) {}

template <class Ask>
auto BoundedStore::bounded(std::chrono::milliseconds timeout, Ask ask) {
  if (is_silent_) throw NoAnswer("no answer to a question before");
  try {
    return within(timeout + kStorePatience, [store = store_, ask = std::move(ask)] { return ask(*store); });
  } catch (const NoAnswer&) {
    is_silent_ = true;
    throw;
  }
}

StorePointer BoundedStore::clone() {
  return bounded(timeout_, [](Store& store) { return store.clone(); });
}

void BoundedStore::set(const std::string& key, const std::vector<uint8_t>& value) {
  bounded(timeout_, [key, value](Store& store) { store.set(key, value); });
}

std::vector<uint8_t> BoundedStore::get(const std::string& key) {
  return bounded(timeout_, [key](Store& store) { return store.get(key); });
}

int64_t BoundedStore::add(const std::string& key, int64_t value) {
  return bounded(timeout_, [key, value](Store& store) { return store.add(key, value); });
}

bool BoundedStore::deleteKey(const std::string& key) {
  return bounded(timeout_, [key](Store& store) { return store.deleteKey(key); });
}

bool BoundedStore::check(const std::vector<std::string>& keys) {
  return bounded(timeout_, [keys](Store& store) { return store.check(keys); });
}

int64_t BoundedStore::getNumKeys() {
  return bounded(timeout_, [](Store& store) { return store.getNumKeys(); });
}

void BoundedStore::wait(const std::vector<std::string>& keys) { wait(keys, timeout_); }

void BoundedStore::wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) {
  bounded(timeout, [keys, timeout](Store& store) { store.wait(keys, timeout); });
}

void BoundedStore::setTimeout(const std::chrono::milliseconds& timeout) {
  timeout_ = timeout;
  if (!is_silent_) store_->setTimeout(timeout);
}

void BoundedStore::append(const std::string& key, const std::vector<uint8_t>& value) {
  bounded(timeout_, [key, value](Store& store) { store.append(key, value); });
}

std::vector<std::vector<uint8_t>> BoundedStore::multiGet(const std::vector<std::string>& keys) {
  return bounded(timeout_, [keys](Store& store) { return store.multiGet(keys); });
}

void BoundedStore::multiSet(const std::vector<std::string>& keys, const std::vector<std::vector<uint8_t>>& values) {
  bounded(timeout_, [keys, values](Store& store) { store.multiSet(keys, values); });
}

bool BoundedStore::hasExtendedApi() const { return store_->hasExtendedApi(); }

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

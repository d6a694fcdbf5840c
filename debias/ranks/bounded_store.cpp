#include "debias/ranks/bounded_store.h"

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

}  // namespace debias

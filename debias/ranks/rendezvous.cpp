#include "debias/ranks/rendezvous.h"

#include <nlohmann/json.hpp>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <cstdlib>
#include <filesystem>

#include "debias/core/config.h"
#include "debias/core/printable.h"
#include "debias/ranks/store.h"

namespace debias {

class Meeting {
 public:
  StorePointer store = c10::make_intrusive<c10d::HashStore>();
};

namespace {

bool has_words(const std::string& text, const char* words) { return text.find(words) != std::string::npos; }

c10::intrusive_ptr<c10d::TCPStore> open_port(const std::string& host, uint16_t port, bool serves, std::chrono::milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = port;
  options.isServer = serves;
  options.waitWorkers = false;
  options.timeout = timeout;
  const auto open = [host, options] { return c10::make_intrusive<c10d::TCPStore>(host, options); };
  try {
    return serves ? open() : within(timeout + kStorePatience, open);
  } catch (const std::exception& error) {
    const std::string text = error.what();
    if (serves && (has_words(text, "EADDRINUSE") || has_words(text, "in use"))) {
      throw usage_error("rendezvous at '{}:{}': the port is in use; choose another", host, port);
    }
    if (serves) throw usage_error("rendezvous at '{}:{}': the port cannot be opened ({})", host, port, first_line(text));
    throw resource_error("rendezvous at '{}:{}': rank 0 did not answer within {} s; start it, or correct the address ({})", host, port,
                         timeout.count() / 1000, first_line(text));
  }
}

StorePointer open_file(const std::string& path, const Place& place) {
  const auto folder = std::filesystem::absolute(path).parent_path();
  if (!std::filesystem::is_directory(folder)) {
    throw usage_error("rendezvous at 'file:{}': there is no folder '{}'; make it, or choose another", path, folder.string());
  }
  if (std::filesystem::is_directory(path)) throw usage_error("rendezvous at 'file:{}': that is a folder; name a new file", path);
  return c10::make_intrusive<c10d::FileStore>(path, static_cast<int>(place.size));
}

}  // namespace

std::shared_ptr<Meeting> meeting_of_threads() {
  // c10d writes down each process' last exchanges, for debuggers, and enters a new group into a map without a lock (2.11,
  // FlightRecorder::recordWithResetEnabled): groups of two threads that begin at once end the process. It reads this at its first use.
  setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/1);
  return std::make_shared<Meeting>();
}

void read_rendezvous(const std::string& text, Rendezvous& rendezvous) {
  if (text.starts_with("file:") && text.size() > 5) {
    rendezvous.file = text.substr(5);
    return;
  }
  const size_t colon = text.rfind(':');
  int64_t port = 0;
  if (colon == std::string::npos || colon == 0 || !parse_integer(text.substr(colon + 1), &port) || port < 1 || port > 65535) {
    throw usage_error("--rendezvous: '{}' is neither HOST:PORT, with a port from 1 to 65535, nor file:PATH", text);
  }
  rendezvous.host = text.substr(0, colon);
  rendezvous.port = static_cast<uint16_t>(port);
}

StorePointer open_store(const Rendezvous& rendezvous, const Place& place) {
  StorePointer store;
  if (rendezvous.threads != nullptr) {
    store = rendezvous.threads->store;
  } else if (!rendezvous.file.empty()) {
    store = open_file(rendezvous.file, place);
  } else {
    store = c10::make_intrusive<BoundedStore>(open_port(rendezvous.host, rendezvous.port, rendezvous.serves, rendezvous.setup));
  }
  store->setTimeout(rendezvous.setup);
  return c10::make_intrusive<c10d::PrefixStore>("debias/" + rendezvous.round, store);
}

void put(c10d::Store& store, const std::string& key, const std::string& value) {
  store.set(key, std::vector<uint8_t>(value.begin(), value.end()));
}

std::optional<std::string> find(c10d::Store& store, const std::string& key) {
  if (!store.check({key})) return std::nullopt;
  const std::vector<uint8_t> value = store.get(key);
  return std::string(value.begin(), value.end());
}

bool put_first(c10d::Store& store, const std::string& key, const std::string& value) {
  if (store.add(key + "/taken", 1) > 1) return false;
  put(store, key, value);
  return true;
}

std::string failure_text(const RankFailure& failure) {
  const nlohmann::json json = {{"rank", failure.rank}, {"kind", static_cast<int>(failure.kind)}, {"text", failure.text}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<RankFailure> read_failure(c10d::Store& store) {
  const auto text = find(store, kFailureKey);
  if (!text) return std::nullopt;
  const auto json = nlohmann::json::parse(*text);
  return RankFailure{json.at("rank"), static_cast<ErrorKind>(json.at("kind").get<int>()), json.at("text")};
}

struct LocalMeeting::State {
  c10::intrusive_ptr<c10d::TCPStore> server;
};

LocalMeeting::LocalMeeting() : state_(std::make_unique<State>()) {
  state_->server = open_port("127.0.0.1", 0, true, std::chrono::minutes(1));
}

LocalMeeting::~LocalMeeting() = default;

uint16_t LocalMeeting::port() const { return state_->server->getPort(); }

}  // namespace debias

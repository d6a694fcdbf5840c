// The keys and values that the processes share, as c10d has them; for the sources of this folder alone, since its headers take long.
#pragma once

#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

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

}  // namespace debias

// Address at which the processes of one training meet, and the rank of this one.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "debias/core/error.h"

namespace debias {

struct Place {
  int64_t rank = 0, size = 1;              // of all processes
  int64_t local_rank = 0, local_size = 1;  // of those on this machine, which is found when they meet; -1: so is the rank
};

class Meeting;       // a store that threads of one process share, for tests
class DeviceGroups;  // device_groups.h

struct Rendezvous {
  std::string host;  // empty: a file, or threads
  uint16_t port = 0;
  bool serves = false;  // this process opens the port
  std::string file;     // in a folder that all machines see; must not exist before
  std::shared_ptr<Meeting> threads;
  std::shared_ptr<const DeviceGroups> devices;                // for tests; empty: NCCL's
  std::string interface;                                      // of the network, "eth0"; empty: that of the machine's name
  std::string machine;                                        // that this process is on; empty: as it is called
  std::string round = "0";                                    // of restarts that find the keys of the one before in the store
  std::chrono::milliseconds setup = std::chrono::minutes(5);  // until all have come
  std::chrono::milliseconds step = std::chrono::minutes(10);  // until an exchange of a step ends
};

// To be called before the threads start: it sets a variable of the environment.
std::shared_ptr<Meeting> meeting_of_threads();

// Cause of a process's end, as sent to the others.
struct RankFailure {
  int64_t rank = 0;
  ErrorKind kind = ErrorKind::kFailure;
  std::string text;
};

// "HOST:PORT" or "file:PATH" into `rendezvous`; a usage error on anything else, or beyond port 65535.
void read_rendezvous(const std::string& text, Rendezvous& rendezvous);

// The store that processes of this machine meet at, opened before they are started: on a free port, or a usage error.
class LocalMeeting {
 public:
  LocalMeeting();
  ~LocalMeeting();
  uint16_t port() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace debias

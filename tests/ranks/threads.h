// Ranks as threads of one process, over a store in memory.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "debias/ranks/ranks.h"

namespace debias {

inline Rendezvous thread_rendezvous(const std::shared_ptr<Meeting>& meeting) {
  Rendezvous rendezvous;
  rendezvous.threads = meeting;
  rendezvous.setup = rendezvous.step = std::chrono::seconds(60);
  return rendezvous;
}

// `work` of each of W ranks on a thread of its own; the first exception of any is thrown again, after all have ended.
inline void on_threads(int64_t W, const std::function<void(int64_t rank)>& work) {
  std::vector<std::exception_ptr> errors(W);
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < W; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        work(rank);
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

// The same where the ranks have met. `prepare` has how each meets the others.
inline void on_ranks(int64_t W, const std::function<void(const Ranks&)>& work,
                     const std::function<void(Rendezvous&, int64_t rank)>& prepare = {}) {
  const auto meeting = meeting_of_threads();
  on_threads(W, [&](int64_t rank) {
    Rendezvous rendezvous = thread_rendezvous(meeting);
    if (prepare) prepare(rendezvous, rank);
    const Ranks ranks({.rank = rank, .size = W, .local_rank = -1}, rendezvous);
    work(ranks);
  });
}

// What every rank hears when `work` ends some of them: the kind of the error and its words; "" of a rank that went on.
inline std::vector<std::string> heard(int64_t W, const std::function<void(const Ranks&)>& work,
                                      const std::function<void(Rendezvous&, int64_t rank)>& prepare = {}) {
  std::vector<std::string> texts(W);
  std::mutex mutex;
  on_ranks(
      W,
      [&](const Ranks& ranks) {
        try {
          work(ranks);
        } catch (const Error& error) {
          const Error said = ranks.failed(error);
          const std::lock_guard lock(mutex);
          texts[ranks.rank()] = fmt::format("{} {}", static_cast<int>(said.kind()), said.what());
        }
      },
      prepare);
  return texts;
}

}  // namespace debias

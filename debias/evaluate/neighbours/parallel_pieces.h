// Work in pieces on the threads of OpenMP. Within a parallel region the pieces are one thread's work.
#pragma once

#include <cstdint>
#include <exception>

namespace debias {

// Runs work(0) ... work(count - 1) in any order. Throws what the piece of the lowest number threw, after all pieces have ended.
template <class Work>
void each_piece(int64_t count, const Work& work) {
  std::exception_ptr thrown;
  int64_t thrower = count;
#pragma omp parallel for schedule(dynamic)
  for (int64_t piece = 0; piece < count; ++piece) {
    try {
      work(piece);
    } catch (...) {
#pragma omp critical(debias_each_piece)
      if (piece < thrower) {
        thrower = piece;
        thrown = std::current_exception();
      }
    }
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace debias

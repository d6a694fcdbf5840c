// The C interface of the Python package's engine (python/debias/_engine): kernels on raw pointers, without a symbol of torch.
//
// Arrays are contiguous and row-major. Each function returns 0, or 1 after a failure that debias_engine_error describes in one line.
#pragma once

#include <cstdint>
#include <exception>
#include <new>

#define DEBIAS_C_INTERFACE extern "C" __attribute__((visibility("default")))

// Of this thread's last failure.
DEBIAS_C_INTERFACE const char* debias_engine_error();

namespace debias::engine {

void set_error(const char* what);

// Runs `body`; an exception becomes the error of a call.
template <class Body>
int guarded(const Body& body) {
  try {
    body();
    return 0;
  } catch (const std::bad_alloc&) {
    set_error("the engine has not enough memory; give a smaller batch, or a smaller memory_budget");
  } catch (const std::exception& error) {
    set_error(error.what());
  } catch (...) {
    set_error("the engine failed for an unknown reason");
  }
  return 1;
}

}  // namespace debias::engine

#include "python/engine/engine.h"

#include <string>

namespace debias::engine {
namespace {

thread_local std::string last_error;

}  // namespace

void set_error(const char* what) { last_error = what; }

}  // namespace debias::engine

const char* debias_engine_error() { return debias::engine::last_error.c_str(); }

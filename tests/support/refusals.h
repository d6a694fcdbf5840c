// What a call that must be refused says: its error and the message, by kind.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "debias/core/error.h"

namespace debias {

// The error that `call` throws, whose message is one line; fails the test where none is thrown.
template <class Call>
Error thrown_by(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {ErrorKind::kFailure, "no error"};
}

// The message of the error of `kind` that `call` throws; fails the test otherwise.
template <class Call>
std::string error_of(ErrorKind kind, const Call& call) {
  const Error error = thrown_by(call);
  EXPECT_EQ(error.kind(), kind) << error.what();
  return error.what();
}
template <class Call>
std::string usage_error_of(const Call& call) {
  return error_of(ErrorKind::kUsage, call);
}
template <class Call>
std::string data_error_of(const Call& call) {
  return error_of(ErrorKind::kData, call);
}

}  // namespace debias

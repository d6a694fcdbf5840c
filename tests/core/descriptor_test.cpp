#include "debias/core/input_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <optional>
#include <utility>

namespace debias {
namespace descriptor_test {

int open_null() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }
bool is_open(int descriptor) { return fcntl(descriptor, F_GETFD) >= 0; }

TEST(Descriptor, IsClosedWithItsScope) {
  int number = -1;
  {
    const Descriptor file(open_null());
    number = file.value();
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(Descriptor, IsClosedOnce) {
  std::optional<Descriptor> file(open_null());
  const int number = file->value();
  file->shut();
  EXPECT_EQ(file->value(), -1);
  const Descriptor next(open_null());
  ASSERT_EQ(next.value(), number);  // the lowest that is free
  file->shut();
  file.reset();
  EXPECT_TRUE(is_open(number));
}

TEST(Descriptor, IsClosedByWhomItWasMovedTo) {
  std::optional<Descriptor> first(open_null());
  const int number = first->value();
  std::optional<Descriptor> second(std::move(*first));
  EXPECT_EQ(first->value(), -1);
  first.reset();
  EXPECT_TRUE(is_open(number));
  EXPECT_EQ(second->value(), number);
  second.reset();
  EXPECT_FALSE(is_open(number));
}

TEST(Descriptor, ClosesWhatItHadWhereAnotherIsMovedIntoIt) {
  Descriptor file(open_null());
  const int before = file.value();
  file = Descriptor(open_null());
  EXPECT_NE(file.value(), before);
  EXPECT_TRUE(is_open(file.value()));
  EXPECT_FALSE(is_open(before));
}

TEST(Descriptor, StaysOpenWhereItIsReleased) {
  int number = -1;
  {
    Descriptor file(open_null());
    number = file.release();
    EXPECT_EQ(file.value(), -1);
  }
  EXPECT_TRUE(is_open(number));
  const Descriptor again(number);
}

TEST(Descriptor, OfWhatCouldNotBeOpenedIsNothingToClose) {
  const int failed = open("/dev/null/none", O_RDONLY | O_CLOEXEC);
  ASSERT_LT(failed, 0);
  Descriptor none(failed);
  errno = 0;
  none.shut();
  EXPECT_EQ(errno, 0);  // close(-1) would leave EBADF
}

}  // namespace descriptor_test
}  // namespace debias

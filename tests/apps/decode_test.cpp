// `debias train` with `data.decode`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/apps/photographs.h"

namespace debias {
namespace decode_test {

using testing::HasSubstr;

class DecodeOption : public Photographs {
 protected:
  DecodeOption() : Photographs("{size: 4, scale: [0.6, 1]}") {}
};

TEST_F(DecodeOption, ScaledIsAnotherRunAndTheSameForAnyWorkers) {
  ASSERT_EQ(train("plain", {}).exit, 0);
  ASSERT_EQ(train("exact", {"data.decode=exact"}).exit, 0);
  EXPECT_EQ(metrics("exact"), metrics("plain"));
  for (const char* workers : {"0", "1", "2"}) {
    const auto result = train(workers, {"data.decode=scaled", std::string("train.workers=") + workers});
    ASSERT_EQ(result.exit, 0) << result.err;
    EXPECT_EQ(metrics(workers), metrics("0")) << workers;
  }
  EXPECT_NE(metrics("0"), metrics("exact"));
  EXPECT_THAT(file_text(folder_ / "plain/config.yaml"), HasSubstr("decode: exact"));
  EXPECT_THAT(file_text(folder_ / "0/config.yaml"), HasSubstr("decode: scaled"));
}

TEST_F(DecodeOption, ATruncatedFileEndsTheRunInTheSameLine) {
  truncate("dog", 3);
  const auto exact = train("exact", {}), scaled = train("scaled", {"data.decode=scaled"});
  EXPECT_EQ(exact.exit, 3);
  EXPECT_EQ(scaled.exit, 3);
  EXPECT_THAT(exact.err, HasSubstr(image("dog", 3) + ": truncated JPEG image"));
  EXPECT_EQ(scaled.err, exact.err);
}

TEST_F(DecodeOption, AWrongWordIsNamed) {
  const auto word = train("run", {"data.decode=half"});
  EXPECT_EQ(word.exit, 2);
  EXPECT_THAT(word.err, HasSubstr("data: decode: unknown value 'half'"));
  EXPECT_THAT(train("run", {"data.decod=exact"}).err, HasSubstr("did you mean 'decode'?"));
}

}  // namespace decode_test
}  // namespace debias

#include "penstock/memory/status_macros.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "penstock/memory/check.h"

namespace penstock {
namespace {

using ::testing::MatchesRegex;

absl::Status PassOn(const absl::Status& status) {
  PENSTOCK_RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

absl::StatusOr<int> AddOne(absl::StatusOr<std::unique_ptr<int>> value) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<int> owned, std::move(value));
  PENSTOCK_ASSIGN_OR_RETURN(auto again, absl::StatusOr<int>(*owned));
  return again + 1;
}

TEST(StatusMacros, PassOnWhatIsGood) {
  EXPECT_EQ(PassOn(absl::OkStatus()), absl::OkStatus());
  EXPECT_EQ(AddOne(std::make_unique<int>(41)).value(), 42);
}

TEST(StatusMacros, LeaveErrorsAsTheyAre) {
  const absl::Status error = absl::NotFoundError("no such file");
  EXPECT_EQ(PassOn(error), error);
  EXPECT_EQ(AddOne(error).status(), error);
}

TEST(StatusMacros, AddThePlaceToInternalErrorsOnce) {
  const absl::Status once = PassOn(absl::InternalError("broken"));
  EXPECT_EQ(once.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(once.message()),
              MatchesRegex(R"(broken \[memory/status_macros_test\.cc:[0-9]+\])"));
  EXPECT_EQ(PassOn(once), once);
}

TEST(Prefixed, KeepsTheCode) {
  EXPECT_EQ(Prefixed("node 'x'", absl::DataLossError("bad marker")),
            absl::DataLossError("node 'x': bad marker"));
  EXPECT_EQ(Prefixed("node 'x'", absl::OkStatus()), absl::OkStatus());
}

TEST(CheckDeathTest, SaysWhatAndWhere) {
  PENSTOCK_CHECK(1 + 1 == 2, "unseen");
  EXPECT_DEATH(PENSTOCK_CHECK(1 + 1 == 3, "sums are wrong"),
               R"(penstock: sums are wrong \(.*memory/status_macros_test\.cc:[0-9]+\))");
}

TEST(CombineErrorsTest, KeepsEveryMessageAndTheFirstCode) {
  EXPECT_TRUE(CombineErrors({}).ok());
  EXPECT_TRUE(CombineErrors({absl::OkStatus(), absl::OkStatus()}).ok());
  EXPECT_EQ(CombineErrors({absl::OkStatus(), absl::InvalidArgumentError("a"), absl::OkStatus(),
                           absl::InternalError("b")}),
            absl::InvalidArgumentError("a\nb"));
}

}  // namespace
}  // namespace penstock

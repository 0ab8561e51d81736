#include "penstock/scheduler/batch_work.h"

#include "absl/strings/str_cat.h"
#include "penstock/memory/status_macros.h"

namespace penstock {

void FailSample(const ExecutionPlan& plan, const std::string& node, int row,
                const absl::Status& status, BatchWork& work) {
  work.Fail(row, Prefixed(absl::StrCat("node '", node, "', batch ", work.spec.sequence,
                                       ", sample '", plan.source->key(work.ids[row]), "'"),
                          status));
}

}  // namespace penstock

#include "penstock/stages/sample_chain.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "penstock/memory/status_macros.h"

namespace penstock {
namespace {

// A source that writes rows itself may not have been handed the row (it is not the last writer when
// stages exist but all are identities): then the row is a plain copy of what lies in `in`.
absl::Status CopyWhole(const FieldView& in, const FieldView& row) {
  if (in.bytes != row.bytes) {
    return absl::InternalError(
        absl::StrCat("a sample of ", in.bytes, " bytes does not fill its row of ", row.bytes));
  }
  if (in.address != row.address) std::memcpy(row.data(), in.data(), row.bytes);
  return absl::OkStatus();
}

}  // namespace

ChainWorker SampleChain::MakeWorker() const {
  ChainWorker worker;
  for (const ChainLink& link : links) worker.states.push_back(link.stage->MakeWorkerState());
  return worker;
}

absl::Status SampleChain::Resolve(ImageSize size, const DrawKey& key,
                                  absl::Span<std::byte* const> params, Resolved& resolved) const {
  const size_t n = links.size();
  resolved.size.resize(n + 1);
  resolved.region.resize(n + 1);
  resolved.size[0] = size;
  for (size_t i = 0; i < n; ++i) {
    Random random(key, links[i].random_key);
    resolved.failed = i;
    PENSTOCK_RETURN_IF_ERROR(links[i].stage->Resolve(size, random, params[i]));
    resolved.size[i + 1] = size;
  }
  for (size_t i = 0; i <= n; ++i) resolved.region[i] = Region::Whole(resolved.size[i]);
  for (size_t i = cut; i-- > 0;) {
    const auto in = links[i].stage->InputRegion(params[i], resolved.region[i + 1]);
    if (in) {
      resolved.region[i] = in->ClippedTo(resolved.size[i]);
    } else {
      resolved.region[i + 1] = Region::Whole(resolved.size[i + 1]);
    }
  }
  return absl::OkStatus();
}

absl::Status SampleChain::Process(const FieldView& input_view, Resolved& resolved,
                                  absl::Span<std::byte* const> params, const FieldView& row,
                                  ChainWorker& worker) const {
  std::vector<size_t>& live = worker.live;
  live.clear();
  for (size_t i = 0; i < cut; ++i) {
    if (!links[i].stage->IsIdentity(params[i])) live.push_back(i);
  }
  if (live.empty()) return CopyWhole(input_view, row);
  FieldView in = input_view;
  for (size_t n = 0; n < live.size(); ++n) {
    const ChainLink& link = links[live[n]];
    FieldView out = row;
    if (n + 1 < live.size()) {
      out.region = resolved.region[live[n + 1]];
      out.channels = static_cast<int32_t>(link.out.channels());
      out.dtype = link.out.dtype;
      out.bytes = out.region.area() * out.channels * ItemBytes(out.dtype);
      out.address = reinterpret_cast<uint64_t>(worker.between[n % 2].Get(out.bytes));
      worker.scratch_bytes += out.bytes;
    }
    SampleContext context(worker.states[live[n]].get(), &worker.context);
    resolved.failed = live[n];
    PENSTOCK_RETURN_IF_ERROR(link.stage->Process(params[live[n]], in, out, context));
    in = out;
  }
  return absl::OkStatus();
}

}  // namespace penstock

#include "penstock/scheduler/cache_steps.h"

#include <algorithm>
#include <cstring>

namespace penstock {

bool CacheSteps::Find(RowWork& row) const {
  row.entry = cache_.Find(row.sample.id);
  if (row.entry == nullptr) return false;
  row.extent = {};
  row.bytes = 0;
  if (cache_.on_device()) return true;
  row.bytes = row.entry->bytes;
  row.extent.memory.emplace(reinterpret_cast<const std::byte*>(row.entry->address), row.bytes);
  return true;
}

void CacheSteps::Take(BatchWork& work, int row) const {
  RowWork& r = work.rows[row];
  for (size_t i = 0; i < plan_.fixed.size(); ++i) {
    const auto bytes = static_cast<size_t>(plan_.fixed[i].spec.bytes());
    std::memcpy(work.seat->host + plan_.fixed[i].table + row * bytes, cache_.Fixed(r.sample.id, i),
                bytes);
  }
  FieldView& field = r.sample.fields[plan_.field];
  field = {};
  field.bytes = r.entry->bytes;
  field.address = r.place != nullptr ? reinterpret_cast<uint64_t>(r.place) : r.entry->address;
  r.sample.size[plan_.field] = r.entry->size;
  if (plan_.whole.empty() || r.entry->host_form) return;
  std::memcpy(plan_.whole.front().HostDescriptor(*work.seat, row), cache_.Descriptor(r.sample.id),
              plan_.whole.front().stage->descriptor_bytes());
}

EncodedCache::Sample CacheSteps::Known(const BatchWork& work, int row) const {
  const RowWork& r = work.rows[row];
  const FieldView& field = r.sample.fields[plan_.field];
  EncodedCache::Sample known;
  known.id = r.sample.id;
  known.bytes = r.bytes;
  known.view_at = field.data() - (r.place != nullptr ? r.place : r.extent.memory->data());
  known.view_bytes = field.bytes;
  known.size = r.sample.size[plan_.field];
  known.host_form = r.refused;
  if (!plan_.whole.empty() && !r.refused) {
    known.descriptor = plan_.whole.front().HostDescriptor(*work.seat, row);
  }
  for (size_t i = 0; i < plan_.fixed.size(); ++i) {
    known.fixed[i] = work.seat->host + plan_.fixed[i].table + row * plan_.fixed[i].spec.bytes();
  }
  return known;
}

void CacheSteps::Keep(BatchWork& work, int row) const {
  RowWork& r = work.rows[row];
  if (r.entry != nullptr || cache_.on_device()) return;
  if (!plan_.whole.empty() && !r.in_encoded_part) {  // Then nobody has asked yet.
    r.refused = !plan_.whole.front().stage->Describe(
        r.sample.fields[plan_.field], r.sample.size[plan_.field],
        plan_.whole.front().HostDescriptor(*work.seat, row));
  }
  cache_.Keep(Known(work, row), r.place != nullptr ? r.place : r.extent.memory->data());
}

void CacheSteps::PrepareFill(BatchWork& work) const {
  if (!cache_.on_device()) return;
  for (int32_t row = 0; row < work.count(); ++row) {
    const RowWork& r = work.rows[row];
    if (r.entry != nullptr || r.finished) continue;
    std::byte* const to = cache_.Reserve(Known(work, row));
    if (to == nullptr) continue;
    const std::byte* const from = work.seat->device + (r.place - work.seat->host);
    // Padded alike here and there.
    const size_t bytes = AlignUp(static_cast<size_t>(r.bytes), EncodedCache::kAlignment);
    work.filling.push_back(row);
    AppendCopy({to, from, bytes}, work.fills);
  }
}

void CacheSteps::EndFill(const BatchWork& work) const {
  for (const int32_t row : work.filling) {
    const bool damaged = std::binary_search(work.to_repair.begin(), work.to_repair.end(), row);
    if (damaged) {
      cache_.PassOver(work.ids[row]);
    } else {
      cache_.Publish(work.ids[row]);
    }
  }
}

}  // namespace penstock

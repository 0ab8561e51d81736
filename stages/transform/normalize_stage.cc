#include "penstock/stages/transform/normalize_stage.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/device_stage.h"
#include "penstock/stages/registry.h"
#include "penstock/stages/transform/image_options.h"

namespace penstock {
namespace {

const StageRegistration<NormalizeStage> kHostForm;
const StageRegistration<SimForm<NormalizeStage>> kSimForm;

// Pixels `pitch` items apart in `in` and `out_pitch` in `out`.
template <class Item>
void LookUp(const std::array<uint32_t, 256>& table, const uint8_t* in, int64_t pixels, int pitch,
            Item* out, int out_pitch) {
  for (int64_t i = 0; i < pixels; ++i) out[i * out_pitch] = static_cast<Item>(table[in[i * pitch]]);
}

template <class Item>
void LookUpAll(const NormalizeTable& table, const FieldView& in, const FieldView& out) {
  const int channels = in.channels;
  const int64_t pixels = in.region.area();
  for (int c = 0; c < channels; ++c) {
    Item* to = out.data<Item>() + (table.planar ? c * pixels : c);
    LookUp(table.bits[c], in.data<uint8_t>() + c, pixels, channels, to,
           table.planar ? 1 : channels);
  }
}

}  // namespace

absl::Status NormalizeStage::Init() {
  PENSTOCK_ASSIGN_OR_RETURN(table_, NormalizeTable::Create(options()));
  return absl::OkStatus();
}

absl::Status NormalizeStage::Infer(FieldSpec& field) const {
  PENSTOCK_RETURN_IF_ERROR(CheckUint8Image(field));
  if (table_.channels != 1 && table_.channels != field.channels()) {
    return absl::InvalidArgumentError(absl::StrCat("mean and std are for ", table_.channels,
                                                   " channels, '", field.name, "' has ",
                                                   field.channels()));
  }
  field.dtype = table_.dtype;
  if (table_.planar) {
    field.shape = {field.shape[2], field.shape[0], field.shape[1]};
    field.layout = ImageLayout::kChw;
  }
  return absl::OkStatus();
}

absl::Status NormalizeStage::Process(const NoParams&, const FieldView& in, const FieldView& out,
                                     SampleContext&) const {
  if (ItemBytes(table_.dtype) == 2) {
    LookUpAll<uint16_t>(table_, in, out);
  } else {
    LookUpAll<uint32_t>(table_, in, out);
  }
  return absl::OkStatus();
}

}  // namespace penstock

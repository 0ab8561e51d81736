// The gather forms of image stages on simulated devices; for CUDA see gather_images_cuda.cc.
#include "penstock/stages/registry.h"
#include "penstock/stages/sim_gather.h"
#include "penstock/stages/transform/normalize_stage.h"
#include "penstock/stages/transform/random_crop_stage.h"
#include "penstock/stages/transform/random_horizontal_flip_stage.h"

namespace penstock {
namespace {

const StageRegistration<SimGather<RandomCropStage, RandomHorizontalFlipStage, NormalizeStage>>
    kCropFlipNormalize;
const StageRegistration<SimGather<RandomCropStage, NormalizeStage>> kCropNormalize;
const StageRegistration<SimGather<RandomHorizontalFlipStage, NormalizeStage>> kFlipNormalize;
const StageRegistration<SimGather<NormalizeStage>> kNormalize;

}  // namespace
}  // namespace penstock

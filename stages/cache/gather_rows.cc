// The gather form of no stages at all: rows as they are kept. On simulated devices; for CUDA see
// gather_rows_cuda.cc.
#include "penstock/stages/registry.h"
#include "penstock/stages/sim_gather.h"

namespace penstock {
namespace {

const StageRegistration<SimGather<>> kSimForm;

}  // namespace
}  // namespace penstock

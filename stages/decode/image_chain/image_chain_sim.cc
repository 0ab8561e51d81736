// The host bodies of whole image chains as device forms on simulated devices, so that these run the
// plan of a CUDA device; for that see image_chain_cuda.cc.
#include "penstock/stages/decode/image_chain/image_chain.h"
#include "penstock/stages/device_stage.h"

namespace penstock {
namespace {

template <class... Host>
class ImageChainSim final : public ImageChainForm<SimForm<Host...>, Host...> {
 public:
  using ImageChainForm<SimForm<Host...>, Host...>::ImageChainForm;
};

const ImageChainRegistrations<ImageChainSim> kForms;

}  // namespace
}  // namespace penstock

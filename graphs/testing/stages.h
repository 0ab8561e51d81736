// Stages without a function, for tests of graphs: registered nowhere but in TestRegistry().
#pragma once

#include "penstock/stages/registry.h"

namespace penstock::testing {

// ReadImages (a source), DecodeImage and Resize (sample stages), MixUp (a batch stage), all of
// package penstock.testing, and penstock.Collate, penstock.Pin and penstock.Upload.
const Registry& TestRegistry();

}  // namespace penstock::testing

// FormOf: what device forms and gather forms have in common.
#pragma once

#include <cstddef>
#include <tuple>

#include "penstock/memory/stream.h"

namespace penstock {

// A form, of the contract `Base`, of the sequence of stages `Host...` on devices of kind `Kind`.
// Made from the host stages themselves, which outlive it.
template <class Base, DeviceKind Kind, class... Host>
class FormOf : public Base {
 public:
  static constexpr DeviceKind kKind = Kind;
  using HostStages = std::tuple<Host...>;
  explicit FormOf(const Host&... host) : host_(host...) {}

 protected:
  template <size_t I = 0>
  const auto& host() const {
    return std::get<I>(host_);
  }

 private:
  std::tuple<const Host&...> host_;
};

}  // namespace penstock

// PENSTOCK_RETURN_IF_ERROR and PENSTOCK_ASSIGN_OR_RETURN.
//
// A status that passes through is left as it is, except that an Internal one (our own fault, by
// contract) gets the source location of the first macro that it passes: "... [memory/x.cc:12]".
//
//   PENSTOCK_RETURN_IF_ERROR(DoThis());
//   PENSTOCK_ASSIGN_OR_RETURN(auto graph, LoadGraph(path));
#pragma once

#include <initializer_list>
#include <source_location>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock {

// Adds `where` to an Internal status that names no place yet.
absl::Status WithLocation(absl::Status status,
                          std::source_location where = std::source_location::current());

// `node 'x', batch 3, sample 'a/1.jpg': cause`: the prefix that scheduler and planner put before a
// stage's own words. Keeps the code.
absl::Status Prefixed(absl::string_view prefix, const absl::Status& status);

// OK if all are; else the code of the first failed one and all their messages, one a line: for
// checks of options, whose user wants to know every fault at once.
absl::Status CombineErrors(std::initializer_list<absl::Status> checks);

}  // namespace penstock

#define PENSTOCK_RETURN_IF_ERROR(expression)                                  \
  do {                                                                        \
    if (absl::Status penstock_status = (expression); !penstock_status.ok()) { \
      return ::penstock::WithLocation(std::move(penstock_status));            \
    }                                                                         \
  } while (false)

#define PENSTOCK_ASSIGN_OR_RETURN(declaration, expression)                                 \
  PENSTOCK_ASSIGN_OR_RETURN_(PENSTOCK_CONCAT_(penstock_status_or_, __LINE__), declaration, \
                             expression)

#define PENSTOCK_CONCAT_INNER_(a, b) a##b
#define PENSTOCK_CONCAT_(a, b) PENSTOCK_CONCAT_INNER_(a, b)
#define PENSTOCK_ASSIGN_OR_RETURN_(variable, declaration, expression) \
  auto variable = (expression);                                       \
  if (!variable.ok()) {                                               \
    return ::penstock::WithLocation(std::move(variable).status());    \
  }                                                                   \
  declaration = *std::move(variable)

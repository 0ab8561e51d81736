// The contract of a source: where samples come from.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "google/protobuf/message.h"
#include "penstock/stages/sample.h"
#include "penstock/stages/sample_context.h"

namespace penstock {

// How a part of a file is read: through the page cache, or past it straight into the batch. kAuto
// chooses by what is cached and what would stay.
enum class FileAccess : uint8_t { kAuto, kPageCache, kDirect };

// Where a sample's bytes are: in a file, or in memory already.
struct Extent {
  std::string file;
  int64_t offset = 0;
  std::optional<int64_t> bytes =
      std::nullopt;  // Unknown: to the file's end; the reader measures it.
  // Of samples in memory: valid until Release(id). `file` is then empty.
  std::optional<absl::Span<const std::byte>> memory = std::nullopt;
  FileAccess access = FileAccess::kAuto;
};

// Rows that lie finished in a file, back to back: each extent is the very bytes of the row that
// Finish() would write. They are read straight into the batch, or gathered from the file's mapping.
struct StoredRows {
  std::string file;
  int64_t offset = 0;  // Of sample 0.
};

// Random access by id. Authors write, in this order:
//
//   Init (once, before any thread) -> size, fields -> per sample: Locate, Finish
//
// Everything but Init is const and may be called from several threads at once. Sources have no
// order options: the order of an epoch is arithmetic (stages/order). Extents are read by the
// scheduler's I/O threads; a source itself never reads a sample.
//
// For authors: derive from TypedSource<Options>.
class Source {
 public:
  virtual ~Source() = default;

  // Checks the options and finds the samples; may read (list folders, check sizes).
  // InvalidArgument: the options are wrong; any other code: the data. The message names the file
  // and what was expected.
  virtual absl::Status Init(const google::protobuf::Message& options) = 0;

  // Number of samples; nullopt for an unbounded source (see UnboundedSource).
  virtual std::optional<int64_t> size() const = 0;
  // What each sample has. Encoded or image fields flow through the sample stages; the others are
  // fixed and go straight into a tensor of their name. `label` is int64; unlabelled sources have
  // none.
  virtual SampleSpec fields() const = 0;
  // Names of the classes by label; empty where there are none.
  virtual std::vector<std::string> class_names() const { return {}; }
  // Identifies the list of samples: equal for equal lists. Resuming over another list is refused.
  virtual uint64_t fingerprint() const { return 0; }
  // One line for the log about what was found and what was left out; may be empty.
  virtual std::string summary() const { return ""; }

  // Of a source without fixed fields whose one field is never worked on by the source itself. Then
  // Finish() is given the row as `bytes`, only checks it, and sets no view.
  virtual std::optional<StoredRows> stored_rows() const { return std::nullopt; }

  virtual std::string key(int64_t id) const = 0;
  virtual Extent Locate(int64_t id) const = 0;

  // CPU only. `bytes` is the whole extent; it stays valid while the sample is worked on. Checks it
  // and sets the sample's fields:
  //   - fixed field: its view is set, into the slab's tensor; write the value there;
  //   - encoded field: let the view point into `bytes`;
  //   - image field: where the view's address is set, write the image there (it is the row of the
  //   slab,
  //     since no sample stage follows); else take memory from the context and set the view.
  // Also sets sample.size of image fields whose size the spec does not fix. DataLoss: the bytes are
  // bad.
  virtual absl::Status Finish(absl::Span<const std::byte> bytes, Sample& sample,
                              SampleContext& context) const = 0;
};

// A source whose samples arrive while the run goes on: ids count arrivals. One endless epoch in
// arrival order; shuffling it is refused. Thread-safe.
class UnboundedSource : public Source {
 public:
  std::optional<int64_t> size() const final { return std::nullopt; }
  // Samples that have arrived so far; never falls.
  virtual int64_t arrived() const = 0;
  // No more will arrive.
  virtual bool closed() const = 0;
  // Ends the input (idempotent); what has arrived is still delivered.
  virtual void Close() = 0;
  // `listener` runs after each arrival and after Close(), on the thread that caused it, with no
  // lock of the source held. Setting another one returns only when no earlier one is running.
  virtual void SetListener(std::function<void()> listener) = 0;
  // The sample's bytes (Extent::memory) are not needed any more. Called once an id.
  virtual void Release(int64_t id) const { (void)id; }
};

// What authors derive from. `Base` is Source or UnboundedSource.
template <class OptionsT, class Base = Source>
class TypedSource : public Base {
 public:
  using Options = OptionsT;
  absl::Status Init(const google::protobuf::Message& options) final {
    options_ = static_cast<const Options&>(options);
    return Init();
  }

 protected:
  virtual absl::Status Init() = 0;
  const Options& options() const { return options_; }

 private:
  Options options_;
};

}  // namespace penstock

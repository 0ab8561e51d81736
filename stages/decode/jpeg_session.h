// JpegSession: one file in libjpeg's hands, its errors and warnings turned into a Status.
#pragma once

// clang-format off: jpeglib.h needs cstdio before it.
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace penstock {

// libjpeg leaves on an error by longjmp, which must not pass a destructor. So it is only called
// within Try(), whose body has nothing to destroy; what does, such as this object, lives outside.
class JpegSession {
 public:
  explicit JpegSession(absl::Span<const std::byte> bytes) : bytes_(bytes) {}
  ~JpegSession() { jpeg_destroy_decompress(&info); }
  JpegSession(const JpegSession&) = delete;
  JpegSession& operator=(const JpegSession&) = delete;

  jpeg_decompress_struct info{};

  // Until the first scan begins. Everything comes from this file: a decompressor that is kept for
  // the next one would lend it tables that it lacks, and making one takes 0.2 us. False: see
  // status().
  bool ReadHeader();

  // Runs `body`, which calls libjpeg on `info`. False if it was left early: see status().
  template <class Body>
  bool Try(Body body) {
    if (setjmp(resume_) != 0) return false;
    body();
    return true;
  }

  // From here on, damage in the first rows of MCUs up to row `last` ends a Try().
  void CountDamageUpTo(int64_t last) { last_row_ = last; }
  // Ends a Try() from within.
  [[noreturn]] void FailMissingScans();

  // Libjpeg asked for bytes behind the file's end and was told that the image ends there.
  bool ran_out() const { return ran_out_; }
  absl::Status status() const;

 private:
  enum class Failure : uint8_t { kNone, kError, kDamage, kMissingScans, kTooManyScans };

  static JpegSession& Of(j_common_ptr common) {
    return *static_cast<JpegSession*>(common->client_data);
  }
  static JpegSession& Of(j_decompress_ptr info) { return Of(reinterpret_cast<j_common_ptr>(info)); }
  void SetSource();
  static boolean NextPiece(j_decompress_ptr info);
  static void Skip(j_decompress_ptr info, long count);
  static void OnError(j_common_ptr common);
  static void OnMessage(j_common_ptr common, int level);
  static void OnProgress(j_common_ptr common);
  [[noreturn]] void Fail(Failure failure);

  const absl::Span<const std::byte> bytes_;
  size_t given_ = 0;  // Bytes that libjpeg has been handed.
  jpeg_source_mgr source_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf resume_;
  int64_t last_row_ = -1;
  bool ran_out_ = false;
  Failure failure_ = Failure::kNone;
  char text_[JMSG_LENGTH_MAX] = "";  // Libjpeg's own words.
};

}  // namespace penstock

#include "penstock/stages/decode/jpeg_session.h"

#include <jerror.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// A file of a few hundred kB can have ten thousand scans that each take as long as the first.
constexpr int kMaxScans = 500;

// libjpeg-turbo has a fast way through Huffman codes that passes over bad ones without a word. It
// takes it only with 512 bytes or more at hand; handed less, it reports them, and takes 5 % longer.
constexpr size_t kPiece = 511;

// Warnings after which libjpeg goes on with pixels that are not the file's.
bool IsDamage(int code) {
  switch (code) {
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
      return true;
    default:
      return false;
  }
}

// Errors that say nothing against the file.
bool IsUnsupported(int code) {
  switch (code) {
    case JERR_ARITH_NOTIMPL:
    case JERR_BAD_PRECISION:
    case JERR_CCIR601_NOTIMPL:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_NOT_COMPILED:
    case JERR_SOF_UNSUPPORTED:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool JpegSession::ReadHeader() {
  info.err = jpeg_std_error(&errors_);
  errors_.error_exit = &OnError;
  errors_.emit_message = &OnMessage;
  info.client_data = this;
  return Try([this] {
    jpeg_create_decompress(&info);
    progress_.progress_monitor = &OnProgress;
    info.progress = &progress_;
    SetSource();
    jpeg_read_header(&info, TRUE);
  });
}

void JpegSession::SetSource() {
  const auto nothing = [](j_decompress_ptr) {};
  source_.init_source = nothing;
  source_.fill_input_buffer = &NextPiece;
  source_.skip_input_data = &Skip;
  source_.resync_to_restart = &jpeg_resync_to_restart;
  source_.term_source = nothing;
  info.src = &source_;
}

boolean JpegSession::NextPiece(j_decompress_ptr info) {
  static constexpr JOCTET kEnd[] = {0xFF, JPEG_EOI};
  JpegSession& session = Of(info);
  const size_t count = std::min(kPiece, session.bytes_.size() - session.given_);
  if (count == 0) {
    session.ran_out_ = true;
    session.source_.next_input_byte = kEnd;
    session.source_.bytes_in_buffer = sizeof kEnd;
    return TRUE;
  }
  session.source_.next_input_byte =
      reinterpret_cast<const JOCTET*>(session.bytes_.data() + session.given_);
  session.source_.bytes_in_buffer = count;
  session.given_ += count;
  return TRUE;
}

void JpegSession::Skip(j_decompress_ptr info, long count) {
  JpegSession& session = Of(info);
  jpeg_source_mgr& source = session.source_;
  if (count <= 0) return;
  const size_t here = std::min(source.bytes_in_buffer, static_cast<size_t>(count));
  source.next_input_byte += here;
  source.bytes_in_buffer -= here;
  session.given_ +=
      std::min(static_cast<size_t>(count) - here, session.bytes_.size() - session.given_);
}

void JpegSession::OnError(j_common_ptr common) { Of(common).Fail(Failure::kError); }

void JpegSession::OnMessage(j_common_ptr common, int level) {
  if (level >= 0) return;  // No warning.
  JpegSession& session = Of(common);
  if (IsDamage(common->err->msg_code) &&
      int64_t{session.info.input_iMCU_row} <= session.last_row_) {
    session.Fail(Failure::kDamage);
  }
}

void JpegSession::OnProgress(j_common_ptr common) {
  JpegSession& session = Of(common);
  if (session.info.input_scan_number > kMaxScans) session.Fail(Failure::kTooManyScans);
}

void JpegSession::FailMissingScans() { Fail(Failure::kMissingScans); }

void JpegSession::Fail(Failure failure) {
  failure_ = failure;
  if (failure == Failure::kError || failure == Failure::kDamage) {
    errors_.format_message(reinterpret_cast<j_common_ptr>(&info), text_);
  }
  std::longjmp(resume_, 1);
}

absl::Status JpegSession::status() const {
  const std::string file = absl::StrCat("the end of ", bytes_.size(), " bytes is reached");
  const std::string row =
      absl::StrCat("in row ", info.input_iMCU_row + 1, " of ", info.total_iMCU_rows, " of MCUs");
  switch (failure_) {
    case Failure::kError:
      if (errors_.msg_code == JERR_OUT_OF_MEMORY) return absl::ResourceExhaustedError(text_);
      if (IsUnsupported(errors_.msg_code)) return absl::UnimplementedError(text_);
      return absl::DataLossError(
          ran_out_ ? absl::StrCat("truncated: ", file, " in the headers (", text_, ")") : text_);
    case Failure::kDamage:
      return absl::DataLossError(ran_out_ ? absl::StrCat("truncated: ", file, " ", row)
                                          : absl::StrCat(text_, ", ", row));
    case Failure::kMissingScans:
      return absl::DataLossError(ran_out_
                                     ? absl::StrCat("truncated: ", file, " before the last scan")
                                     : "the scans of a colour component are missing");
    case Failure::kTooManyScans:
      return absl::DataLossError(absl::StrCat("more than ", kMaxScans, " scans"));
    case Failure::kNone:
      break;
  }
  return absl::OkStatus();
}

}  // namespace penstock

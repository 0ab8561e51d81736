#include "penstock/graphs/text_context.h"

#include <algorithm>
#include <tuple>

#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "penstock/graphs/graph.pb.h"
#include "penstock/graphs/parser_messages.h"

namespace penstock {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::io::Tokenizer;

// Follows the braces of a text down to one of its tokens.
class Descent {
 public:
  Descent(const TextTokens& tokens, const AnyTypes& types) : tokens_(tokens), types_(types) {
    levels_.push_back({GraphConfig::descriptor(), nullptr, nullptr});
  }

  TextContext To(size_t index) {
    for (at_ = 0; at_ < index; ++at_) Take();
    const FieldDescriptor* outermost = levels_.size() > 1 ? levels_.front().field : nullptr;
    return {IsNode(outermost) ? node_ : -1, levels_.back().field};
  }

 private:
  struct Level {
    const Descriptor* message;     // Null: unknown.
    const FieldDescriptor* field;  // The last one named.
    const Descriptor* any;         // The type in brackets, if that came last.
  };

  static bool IsNode(const FieldDescriptor* field) {
    return field != nullptr && field->message_type() == NodeConfig::descriptor();
  }

  bool Is(size_t index, absl::string_view text) const {
    return index < tokens_.size() && tokens_[index].text == text;
  }

  void Take() {
    Level& level = levels_.back();
    const std::string& text = tokens_[at_].text;
    if (text == "{" || text == "<") return Open();
    if (text == "}" || text == ">") {
      if (levels_.size() > 1) levels_.pop_back();
      return;
    }
    if (text == "[" && level.message == google::protobuf::Any::descriptor()) return TakeType();
    const bool names_field = Is(at_ + 1, ":") || Is(at_ + 1, "{") || Is(at_ + 1, "<");
    if (tokens_[at_].type != Tokenizer::TYPE_IDENTIFIER || !names_field) return;
    level.field = level.message == nullptr ? nullptr : level.message->FindFieldByName(text);
  }

  void Open() {
    const Level& level = levels_.back();
    const Descriptor* message = level.any;
    if (message == nullptr && level.field != nullptr) message = level.field->message_type();
    if (levels_.size() == 1 && IsNode(level.field)) ++node_;
    levels_.push_back({message, nullptr, nullptr});
  }

  // [type.googleapis.com/penstock.Collate]
  void TakeType() {
    std::string name;
    for (++at_; at_ < tokens_.size() && !Is(at_, "]"); ++at_) {
      if (Is(at_, "/")) {
        name.clear();
      } else {
        name += tokens_[at_].text;
      }
    }
    levels_.back().any = types_.Find(name);
  }

  const TextTokens& tokens_;
  const AnyTypes& types_;
  std::vector<Level> levels_;
  size_t at_ = 0;
  int node_ = -1;
};

}  // namespace

TextTokens Tokenize(absl::string_view text) {
  ParserMessages ignored;  // The parser itself reports them.
  google::protobuf::io::ArrayInputStream input(text.data(), static_cast<int>(text.size()));
  Tokenizer tokenizer(&input, &ignored);
  // As TextFormat's parser does.
  tokenizer.set_allow_f_after_float(true);
  tokenizer.set_comment_style(Tokenizer::SH_COMMENT_STYLE);
  TextTokens tokens;
  while (tokenizer.Next()) tokens.push_back(tokenizer.current());
  tokens.push_back(tokenizer.current());
  return tokens;
}

size_t TokenAt(const TextTokens& tokens, int line, int column) {
  const auto found =
      std::partition_point(tokens.begin(), tokens.end(), [&](const Tokenizer::Token& token) {
        return std::tie(token.line, token.column) < std::tie(line, column);
      });
  return std::min<size_t>(found - tokens.begin(), tokens.size() - 1);
}

TextContext ContextOf(const TextTokens& tokens, size_t index, const AnyTypes& types) {
  return Descent(tokens, types).To(index);
}

}  // namespace penstock

#include "penstock/graphs/any_types.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace penstock {

using google::protobuf::Any;
using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::Message;
using google::protobuf::MessageFactory;

std::string TypeName(const Any& any) {
  return any.type_url().substr(any.type_url().rfind('/') + 1);  // npos + 1 is 0: all of it.
}

const Any* AsAny(const Message& message) {
  if (message.GetDescriptor() != Any::descriptor()) return nullptr;
  return static_cast<const Any*>(&message);
}

Any* AsAny(Message& message) {
  return const_cast<Any*>(AsAny(static_cast<const Message&>(message)));
}

const Descriptor* AnyTypes::Find(absl::string_view full_name) const {
  if (const Registry::Entry* entry = registry_.Find(full_name)) return entry->options;
  return DescriptorPool::generated_pool()->FindMessageTypeByName(std::string(full_name));
}

absl::StatusOr<std::unique_ptr<Message>> AnyTypes::Unpack(const Any& any) const {
  const std::string name = TypeName(any);
  const Descriptor* type = Find(name);
  const Message* prototype =
      type == nullptr ? nullptr : MessageFactory::generated_factory()->GetPrototype(type);
  if (prototype == nullptr) {
    return absl::NotFoundError(absl::StrCat("there is no message '", name, "'"));
  }
  std::unique_ptr<Message> message(prototype->New());
  if (!message->ParsePartialFromString(any.value())) {
    return absl::InvalidArgumentError(
        absl::StrCat("its bytes are no ", name, " (is a string in it not UTF-8?)"));
  }
  return message;
}

}  // namespace penstock

#include "fuzz/mutate_message.hpp"

#include <cstdint>
#include <limits>

namespace layrub_fuzz {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr int kManyElements = 64;

class Mutation {
 public:
  Mutation(const std::vector<std::string>& words, std::mt19937* random)
      : words_(words), random_(*random) {}

  void Apply(Message* message) {
    CollectStrings(*message);
    Change(message);
  }

 private:
  int Below(int64_t n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }

  template <typename List>
  const typename List::value_type& OneOf(const List& list) {
    return list[Below(static_cast<int64_t>(list.size()))];
  }

  void CollectStrings(const Message& message) {
    const Reflection& fields = *message.GetReflection();
    std::vector<const FieldDescriptor*> present;
    fields.ListFields(message, &present);
    for (const FieldDescriptor* field : present) {
      const int count = field->is_repeated() ? fields.FieldSize(message, field) : 1;
      for (int i = 0; i < count; ++i) {
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
          CollectStrings(field->is_repeated() ? fields.GetRepeatedMessage(message, field, i)
                                              : fields.GetMessage(message, field));
        } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
          strings_.push_back(field->is_repeated() ? fields.GetRepeatedString(message, field, i)
                                                  : fields.GetString(message, field));
        }
      }
    }
  }

  /// Changes a field of this message or of a message in it.
  void Change(Message* message) {
    const Reflection& fields = *message->GetReflection();
    std::vector<const FieldDescriptor*> present;
    fields.ListFields(*message, &present);
    if (!present.empty() && Below(4) != 0) {
      const FieldDescriptor* field = OneOf(present);
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && Below(4) != 0) {
        Change(field->is_repeated() ? fields.MutableRepeatedMessage(
                                          message, field, Below(fields.FieldSize(*message, field)))
                                    : fields.MutableMessage(message, field));
      } else {
        ChangePresent(field, message);
      }
      return;
    }
    const int count = message->GetDescriptor()->field_count();
    if (count > 0) Set(message->GetDescriptor()->field(Below(count)), message);
  }

  void ChangePresent(const FieldDescriptor* field, Message* message) {
    const Reflection& fields = *message->GetReflection();
    const int size = field->is_repeated() ? fields.FieldSize(*message, field) : 0;
    switch (Below(4)) {
      case 0:
        if (size > 1) {
          fields.SwapElements(message, field, Below(size), size - 1);
          fields.RemoveLast(message, field);
        } else {
          fields.ClearField(message, field);
        }
        return;
      case 1:
        if (size > 1) return fields.SwapElements(message, field, Below(size), Below(size));
        break;
      case 2:
        if (size > 0 && size < kManyElements &&
            field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
          const int from = Below(size);
          Message* added = fields.AddMessage(message, field);
          added->CopyFrom(fields.GetRepeatedMessage(*message, field, from));
          return;
        }
        break;
      default:
        break;
    }
    Set(field, message);
  }

  int64_t Integer() {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    static const std::vector<int64_t> numbers = {0,
                                                 1,
                                                 2,
                                                 3,
                                                 4,
                                                 5,
                                                 -1,
                                                 -2,
                                                 7,
                                                 16,
                                                 32,
                                                 33,
                                                 100,
                                                 255,
                                                 1000,
                                                 65535,
                                                 65536,
                                                 46341,
                                                 1 << 20,
                                                 1 << 24,
                                                 1 << 30,
                                                 kMost,
                                                 -kMost,
                                                 -kMost - 1,
                                                 kMost + 1,
                                                 kMost * 2,
                                                 kMost * 3,
                                                 kMost * kMost,
                                                 std::numeric_limits<int64_t>::max(),
                                                 std::numeric_limits<int64_t>::min()};
    return OneOf(numbers);
  }

  double Real() {
    static const std::vector<double> numbers = {
        0,   1,    -1,    0.5,   1e-30,
        1e9, 1e30, 1e300, -1e30, std::numeric_limits<double>::infinity(),
        2,   3,    0.1,   -0.1,  std::numeric_limits<double>::quiet_NaN()};
    return OneOf(numbers);
  }

  std::string String() {
    if (!words_.empty() && Below(3) == 0) return OneOf(words_);
    return strings_.empty() ? "x" : OneOf(strings_);
  }

// Sets the field, or adds or changes an element of it.
#define LAYRUB_SET(Kind, value)                                              \
  if (!field->is_repeated()) return fields.Set##Kind(message, field, value); \
  if (size > 0 && Below(2) == 0)                                             \
    return fields.SetRepeated##Kind(message, field, Below(size), value);     \
  if (size < kManyElements) fields.Add##Kind(message, field, value);         \
  return

  void Set(const FieldDescriptor* field, Message* message) {
    const Reflection& fields = *message->GetReflection();
    const int size = field->is_repeated() ? fields.FieldSize(*message, field) : 0;
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        LAYRUB_SET(Int32, static_cast<int32_t>(Integer()));
      case FieldDescriptor::CPPTYPE_INT64:
        LAYRUB_SET(Int64, Integer());
      case FieldDescriptor::CPPTYPE_UINT32:
        LAYRUB_SET(UInt32, static_cast<uint32_t>(Integer()));
      case FieldDescriptor::CPPTYPE_UINT64:
        LAYRUB_SET(UInt64, static_cast<uint64_t>(Integer()));
      case FieldDescriptor::CPPTYPE_FLOAT:
        LAYRUB_SET(Float, static_cast<float>(Real()));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        LAYRUB_SET(Double, Real());
      case FieldDescriptor::CPPTYPE_BOOL:
        LAYRUB_SET(Bool, Below(2) == 0);
      case FieldDescriptor::CPPTYPE_STRING:
        LAYRUB_SET(String, String());
      case FieldDescriptor::CPPTYPE_ENUM: {
        const auto* value = field->enum_type()->value(Below(field->enum_type()->value_count()));
        LAYRUB_SET(Enum, value);
      }
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (!field->is_repeated()) return Change(fields.MutableMessage(message, field));
        if (size < kManyElements) Change(fields.AddMessage(message, field));
        return;
    }
  }
#undef LAYRUB_SET

  const std::vector<std::string>& words_;
  std::mt19937& random_;
  std::vector<std::string> strings_;
};

}  // namespace

void MutateMessage(const std::vector<std::string>& words, std::mt19937* random, Message* message) {
  Mutation(words, random).Apply(message);
}

}  // namespace layrub_fuzz

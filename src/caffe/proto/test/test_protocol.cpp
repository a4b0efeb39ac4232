// Compares the compiled protocol, row by row, with the tables of BVLC Caffe's protocol in data/.
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "caffe/proto/caffe.pb.h"
#include "caffe/test/source_folder.hpp"

namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;

using Row = std::vector<std::string>;

// Reads the rows of a table without its header, each padded to `columns` cells.
std::vector<Row> ReadTable(const std::string& name, size_t columns) {
  const std::string path = caffe::SourceFolder() + "/src/caffe/proto/test/data/" + name;
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path;
  std::vector<Row> rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    Row row;
    std::string cell;
    for (std::istringstream cells(line); std::getline(cells, cell, '\t');) row.push_back(cell);
    row.resize(columns);
    rows.push_back(row);
  }
  return rows;
}

const FileDescriptor& Protocol() { return *caffe::NetParameter::descriptor()->file(); }

// Removes the package from a name: "SolverParameter.SolverMode".
std::string ShortName(const std::string& full_name) {
  const std::string package = "caffe.";
  EXPECT_EQ(full_name.compare(0, package.size(), package), 0) << full_name;
  return full_name.substr(package.size());
}

std::string TypeName(const FieldDescriptor& field) {
  if (field.message_type() != nullptr) return ShortName(field.message_type()->full_name());
  if (field.enum_type() != nullptr) return ShortName(field.enum_type()->full_name());
  return field.type_name();
}

std::string LabelName(const FieldDescriptor& field) {
  if (field.is_repeated()) return "repeated";
  return field.is_required() ? "required" : "optional";
}

std::string DefaultText(const FieldDescriptor& field) {
  if (!field.has_default_value()) return "";
  std::ostringstream text;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      text << field.default_value_int32();
      break;
    case FieldDescriptor::CPPTYPE_UINT32:
      text << field.default_value_uint32();
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      text << field.default_value_int64();
      break;
    case FieldDescriptor::CPPTYPE_FLOAT:
      text << field.default_value_float();
      break;
    case FieldDescriptor::CPPTYPE_BOOL:
      text << (field.default_value_bool() ? "true" : "false");
      break;
    case FieldDescriptor::CPPTYPE_ENUM:
      text << field.default_value_enum()->name();
      break;
    case FieldDescriptor::CPPTYPE_STRING:
      text << field.default_value_string();
      break;
    default:
      ADD_FAILURE() << field.full_name() << " has a default of a type the tables do not hold";
  }
  return text.str();
}

Row RowOf(const FieldDescriptor& field) {
  return {ShortName(field.containing_type()->full_name()),
          std::to_string(field.number()),
          field.name(),
          LabelName(field),
          TypeName(field),
          DefaultText(field),
          field.is_packed() ? "packed" : ""};
}

std::vector<Row> RowsOf(const EnumDescriptor& values) {
  std::vector<Row> rows;
  for (int i = 0; i < values.value_count(); ++i) {
    rows.push_back({ShortName(values.full_name()), values.value(i)->name(),
                    std::to_string(values.value(i)->number())});
  }
  return rows;
}

// The names of Caffe's messages, from the table of fields.
std::set<std::string> MessagesOfCaffe() {
  std::set<std::string> names;
  for (const Row& row : ReadTable("proto_fields.tsv", 7)) names.insert(row[0]);
  return names;
}

// Fields that Layrub adds to Caffe's messages, for itself and for Caffe's forks, have these
// numbers.
constexpr int kFirstAdded = 7171, kLastAdded = 7299;

TEST(Protocol, HasEveryFieldOfCaffeAndNoOthersInItsRange) {
  std::vector<Row> expected = ReadTable("proto_fields.tsv", 7);
  ASSERT_EQ(expected.size(), 423u);
  const std::set<std::string> of_caffe = MessagesOfCaffe();
  std::vector<Row> actual;
  for (int i = 0; i < Protocol().message_type_count(); ++i) {
    const Descriptor& message = *Protocol().message_type(i);
    EXPECT_EQ(message.extension_range_count(), 0) << message.full_name();
    if (of_caffe.count(ShortName(message.full_name())) == 0) continue;
    for (int j = 0; j < message.nested_type_count(); ++j)
      EXPECT_TRUE(message.nested_type(j)->options().map_entry()) << message.full_name();
    for (int j = 0; j < message.field_count(); ++j) {
      const FieldDescriptor& field = *message.field(j);
      if (field.number() < kFirstAdded || field.number() > kLastAdded)
        actual.push_back(RowOf(field));
    }
  }
  std::sort(expected.begin(), expected.end());
  std::sort(actual.begin(), actual.end());
  EXPECT_EQ(actual, expected);
}

TEST(Protocol, HasEveryEnumValueOfCaffeAndNoOthers) {
  std::vector<Row> expected = ReadTable("proto_enums.tsv", 3);
  ASSERT_FALSE(expected.empty());
  std::vector<Row> actual;
  const auto append = [&actual](const EnumDescriptor& values) {
    for (const Row& row : RowsOf(values)) actual.push_back(row);
  };
  const std::set<std::string> of_caffe = MessagesOfCaffe();
  for (int i = 0; i < Protocol().enum_type_count(); ++i) append(*Protocol().enum_type(i));
  for (int i = 0; i < Protocol().message_type_count(); ++i) {
    const Descriptor& message = *Protocol().message_type(i);
    if (of_caffe.count(ShortName(message.full_name())) == 0) continue;
    for (int j = 0; j < message.enum_type_count(); ++j) append(*message.enum_type(j));
  }
  std::sort(expected.begin(), expected.end());
  std::sort(actual.begin(), actual.end());
  EXPECT_EQ(actual, expected);
}

TEST(Protocol, HasPlacementInNetAndSolver) {
  const Descriptor& placement = *caffe::PlacementParameter::descriptor();
  std::vector<std::string> names;
  for (int i = 0; i < placement.field_count(); ++i) names.push_back(placement.field(i)->name());
  EXPECT_EQ(names, (std::vector<std::string>{"strategy", "device_memory", "host_memory", "keep",
                                             "deterministic", "spill_file", "offload_state",
                                             "keep_gradients", "spill_memory", "slices"}));
  EXPECT_EQ(caffe::NetParameter::kPlacementFieldNumber, 7171);
  EXPECT_EQ(caffe::SolverParameter::kPlacementFieldNumber, 7171);
}

}  // namespace

#include "caffe/util/text_problems.hpp"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <map>
#include <regex>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/util/fork_fields.hpp"
#include "caffe/util/nearest_name.hpp"
#include "caffe/util/problem_list.hpp"

namespace caffe {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;

std::vector<string> FieldsOf(const Descriptor* type) {
  std::vector<string> names;
  for (int i = 0; type != nullptr && i < type->field_count(); ++i)
    names.push_back(type->field(i)->name());
  return names;
}

// The enumerations of fields with this name, as "MAX, AVE, STOCHASTIC", and the messages that have
// them: protobuf names the field alone.
std::map<string, string> EnumsOf(const string& field) {
  std::map<string, string> messages;
  const google::protobuf::FileDescriptor* file = NetParameter::descriptor()->file();
  for (int i = 0; i < file->message_type_count(); ++i) {
    const Descriptor* message = file->message_type(i);
    const FieldDescriptor* known = message->FindFieldByName(field);
    if (known == nullptr || known->enum_type() == nullptr) continue;
    string values;
    for (int j = 0; j < known->enum_type()->value_count(); ++j)
      values += (j == 0 ? "" : ", ") + known->enum_type()->value(j)->name();
    string& names = messages[values];
    names += (names.empty() ? "" : ", ") + message->name();
  }
  return messages;
}

// " Known are MAX, AVE, STOCHASTIC." for what protobuf says of a value that an enumeration has not;
// else "".
string ValuesFor(const string& text) {
  static const std::regex unknown("Unknown enumeration value of \".*\" for field \"(.*)\"\\.");
  std::smatch match;
  if (!std::regex_match(text, match, unknown)) return "";
  const std::map<string, string> messages = EnumsOf(match[1]);
  string known;
  for (const auto& [values, names] : messages) {
    known += (known.empty() ? " Known are " : "; ") + values;
    if (messages.size() > 1) known += " (" + names + ")";
  }
  return known.empty() ? "" : known + ".";
}

}  // namespace

string TextProblems::Place(int line, int column) const {
  if (line < 0) return file_;
  return file_ + ":" + std::to_string(line + 1) + ":" + std::to_string(column + 1);
}

void TextProblems::AddError(int line, int column, const string& text) {
  // What protobuf found is the empty token at the end.
  static const std::regex at_end(".*(found \"\"\\.?|got: )");
  if (std::regex_match(text, at_end)) {
    problems_.push_back(Place(line, column) + ": the file ends in the middle of a message: " +
                        text + " Is a closing brace missing?");
  } else if (text.find("too deep") != string::npos) {
    problems_.push_back(Place(line, column) + ": messages lie in each other more deeply than any " +
                        "that is known here. Is a closing brace missing?");
  } else {
    problems_.push_back(Place(line, column) + ": " + text + ValuesFor(text));
  }
}

void TextProblems::AddWarning(int line, int column, const string& text) {
  static const std::regex unknown("Message type \"(.*)\" has no field named \"(.*)\"\\.");
  std::smatch found;
  if (std::regex_match(text, found, unknown)) {
    AddUnknown(Place(line, column), found[1], found[2]);
  } else {
    LOG(WARNING) << Place(line, column) << ": " << text;
  }
}

void TextProblems::AddUnknown(const string& place, const string& type, const string& field) {
  const Descriptor* known = DescriptorPool::generated_pool()->FindMessageTypeByName(type);
  const string message = known == nullptr ? type : known->name();
  if (known == message_) unknown_.insert(field);
  const ForkField* fork = FindForkField(message, field);
  if (fork != nullptr && fork->without_effect != nullptr) {
    Hint& hint = hints_[message + "." + field];
    if (hint.times++ > 0) return;
    hint.place = place;
    hint.text =
        string(field) + " of " + fork->fork + " has no effect here: " + fork->without_effect;
    return;
  }
  string problem = place + ": Message type \"" + type + "\" has no field named \"" + field + "\"";
  problem += fork != nullptr ? string("; ") + fork->fork + " has it, and it is not supported here"
                             : DidYouMean(field, FieldsOf(known));
  problems_.push_back(problem);
}

void TextProblems::WarnOfForks() const {
  for (const auto& [name, hint] : hints_) {
    LOG(WARNING) << hint.place << ": " << hint.text
                 << (hint.times > 1 ? " (" + std::to_string(hint.times) + " times)." : ".");
  }
}

/// What the file is where its fields are those of a solver instead of a net, or the other way
/// round.
string TextProblems::OfAnotherMessage() const {
  const bool net = message_ == NetParameter::descriptor();
  if (!net && message_ != SolverParameter::descriptor()) return "";
  const Descriptor* other = net ? SolverParameter::descriptor() : NetParameter::descriptor();
  static const std::set<string> telling = {"layer", "layers", "net", "train_net", "base_lr"};
  const auto tells = [](const string& field) { return telling.count(field) > 0; };
  if (std::none_of(unknown_.begin(), unknown_.end(), tells)) return "";
  string fields;
  for (const string& field : unknown_) {
    if (other->FindFieldByName(field) == nullptr) continue;
    fields += (fields.empty() ? "" : ", ") + field;
  }
  return file_ + ": is a " + (net ? "solver" : "net") + ", it has " + fields + "; a " +
         (net ? "net" : "solver") + " is needed here";
}

string TextProblems::text() const {
  if (problems_.empty()) return "";
  if (const string other = OfAnotherMessage(); !other.empty()) return other;
  return ProblemList(problems_);
}

}  // namespace caffe

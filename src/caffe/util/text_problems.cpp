#include "caffe/util/text_problems.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>
#include <utility>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/util/fork_fields.hpp"
#include "caffe/util/nearest_name.hpp"
#include "caffe/util/problem_list.hpp"
#include "caffe/util/upgrade_proto.hpp"

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

// Returns the enumerations of all fields with this name, as "MAX, AVE, STOCHASTIC", with the
// messages that have them. Needed because protobuf reports only the field.
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

// " Known are MAX, AVE, STOCHASTIC."
string ValuesFor(const string& field) {
  const std::map<string, string> messages = EnumsOf(field);
  string known;
  for (const auto& [values, names] : messages) {
    known += (known.empty() ? " Known are " : "; ") + values;
    if (messages.size() > 1) known += " (" + names + ")";
  }
  return known.empty() ? "" : known + ".";
}

// Returns what to write if a layer's type has the other format: a string in `layer`, a word in the
// older `layers`. Returns "" for other messages.
string OtherFormat(const string& text) {
  static const std::regex word("Expected string, got: ([A-Z_0-9]+)");
  static const std::regex quoted("Expected integer or identifier, got: [\"'](.*)[\"']");
  std::smatch found;
  if (std::regex_match(text, found, word)) {
    V1LayerParameter::LayerType type;
    if (!V1LayerParameter::LayerType_Parse(found[1], &type)) return "";
    return string(". In 'layer' it is type: \"") + UpgradeV1LayerType(type) +
           "\"; words are types in the older 'layers'";
  }
  if (!std::regex_match(text, found, quoted)) return "";
  const google::protobuf::EnumDescriptor* types = V1LayerParameter::LayerType_descriptor();
  for (int i = 0; i < types->value_count(); ++i) {
    const auto type = static_cast<V1LayerParameter::LayerType>(types->value(i)->number());
    if (UpgradeV1LayerType(type) != found[1]) continue;
    return ". In the older 'layers' it is type: " + types->value(i)->name() +
           "; strings are types in 'layer'";
  }
  return "";
}

// Converts the tokenizer's line and column to an offset in the text. A tab advances the column to
// the next multiple of 8.
size_t OffsetOf(const string& text, int line, int column) {
  size_t at = 0;
  for (; line > 0; --line) at = text.find('\n', at) + 1;
  for (int now = 0; now < column; ++at) now += text[at] == '\t' ? 8 - now % 8 : 1;
  return at;
}

class NoErrors : public google::protobuf::io::ErrorCollector {
  void AddError(int, int, const string&) override {}
};

}  // namespace

string TextProblems::Place(int line, int column) const {
  if (line < 0) return file_;
  return file_ + ":" + std::to_string(line + 1) + ":" + std::to_string(column + 1);
}

void TextProblems::Add(int line, int column, const string& text) {
  problems_.push_back({{line, column, "", "", ""}, Place(line, column) + ": " + text});
}

void TextProblems::AddError(int line, int column, const string& text) {
  // Protobuf reports the end of the text as an empty token.
  static const std::regex at_end(".*(found \"\"\\.?|got: )");
  static const std::regex value("Unknown enumeration value of \"(.*)\" for field \"(.*)\"\\.");
  static const std::regex list(
      "Non-repeated field \"(resize_param)\" is specified multiple times\\.");
  std::smatch found;
  if (std::regex_match(text, at_end)) {
    Add(line, column,
        "the file ends in the middle of a message: " + text + " Is a closing brace missing?");
  } else if (text.find("too deep") != string::npos) {
    Add(line, column,
        "messages lie in each other more deeply than any that is known here. Is a closing brace "
        "missing?");
  } else if (text.starts_with("Interpreting non ascii codepoint")) {
    // Protobuf reports each byte, and then consequential errors; only the first is kept.
    if (problems_.empty()) {
      Add(line, column,
          "a character outside of ASCII is not allowed here; use straight quotes, \" or '");
      broken_ = true;
    }
  } else if (broken_) {
    return;
  } else if (std::regex_match(text, found, value)) {
    Add(line, column, text + ValuesFor(found[2]));
    problems_.back().unknown.field = found[2];
    problems_.back().unknown.value = found[1];
  } else if (std::regex_match(text, found, list)) {
    Add(line, column,
        found[1].str() +
            " is given twice: forks that have a list of sizes draw from it each in its own way, "
            "and none of that is done here; give one");
  } else {
    Add(line, column, text + OtherFormat(text));
  }
}

void TextProblems::AddWarning(int line, int column, const string& text) {
  static const std::regex unknown("Message type \"(.*)\" has no field named \"(.*)\"\\.");
  std::smatch found;
  if (std::regex_match(text, found, unknown)) {
    AddUnknown(line, column, found[1], found[2]);
  } else {
    LOG(WARNING) << Place(line, column) << ": " << text;
  }
}

void TextProblems::AddUnknown(int line, int column, const string& type, const string& field) {
  const Descriptor* known = DescriptorPool::generated_pool()->FindMessageTypeByName(type);
  const string message = known == nullptr ? type : known->name();
  if (known == message_) unknown_.insert(field);
  const ForkField* fork = FindForkField(message, field);
  if (fork != nullptr && fork->without_effect != nullptr) {
    Hint& hint = hints_[message + "." + field];
    if (hint.times++ > 0) return;
    hint.place = Place(line, column);
    hint.text =
        string(field) + " of " + fork->fork + " has no effect here: " + fork->without_effect;
    return;
  }
  string problem = "Message type \"" + type + "\" has no field named \"" + field + "\"";
  problem += fork != nullptr ? string("; ") + fork->fork + " has it, and it is not supported here"
                             : DidYouMean(field, FieldsOf(known));
  Add(line, column, problem);
  problems_.back().unknown.message = message;
  problems_.back().unknown.field = field;
}

bool TextProblems::BlankOutUnknownValue(string* text) {
  constexpr size_t kMost = 1000;
  if (problems_.empty() || values_.size() == kMost) return false;
  Problem problem = problems_.back();
  Unknown& unknown = problem.unknown;
  if (unknown.value.empty()) return false;
  // Protobuf reports the position of the token after the value.
  using google::protobuf::io::Tokenizer;
  google::protobuf::io::ArrayInputStream stream(text->data(), static_cast<int>(text->size()));
  NoErrors ignored;
  Tokenizer tokens(&stream, &ignored);
  tokens.set_comment_style(Tokenizer::SH_COMMENT_STYLE);
  Tokenizer::Token field, colon, last;
  while (tokens.Next() && std::make_pair(tokens.current().line, tokens.current().column) <
                              std::make_pair(unknown.line, unknown.column)) {
    field = colon;
    colon = last;
    last = tokens.current();
  }
  if (last.text != unknown.value || colon.text != ":") return false;
  const Tokenizer::Token& next = tokens.current();
  size_t end = OffsetOf(*text, last.line, last.column) + last.text.size();
  if (next.text == "," || next.text == ";") end = OffsetOf(*text, next.line, next.column) + 1;
  for (size_t i = OffsetOf(*text, field.line, field.column); i < end; ++i) {
    if (!isspace(static_cast<unsigned char>((*text)[i]))) (*text)[i] = ' ';
  }
  const string what = problem.text.substr(Place(unknown.line, unknown.column).size());
  unknown.line = last.line;
  unknown.column = last.column;
  problem.text = Place(unknown.line, unknown.column) + what;
  values_.push_back(problem);
  problems_.clear();
  hints_.clear();
  unknown_.clear();
  return true;
}

void TextProblems::Excuse(const std::function<bool(const Unknown&)>& excused, const string& why) {
  std::vector<string> names;
  string place;
  for (std::vector<Problem>* problems : {&values_, &problems_}) {
    const auto first =
        std::stable_partition(problems->begin(), problems->end(), [&](const Problem& problem) {
          return problem.unknown.field.empty() || !excused(problem.unknown);
        });
    for (auto problem = first; problem != problems->end(); ++problem) {
      const Unknown& unknown = problem->unknown;
      if (place.empty()) place = Place(unknown.line, unknown.column);
      const string& name = unknown.value.empty() ? unknown.field : unknown.value;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    problems->erase(first, problems->end());
  }
  if (names.empty()) return;
  string list;
  for (const string& name : names) list += (list.empty() ? "" : ", ") + name;
  LOG(WARNING) << place << ": not known here: " << list << "; " << why;
}

void TextProblems::Explain(const std::function<string(const Unknown&)>& hint) {
  for (Problem& problem : problems_) {
    if (!problem.unknown.field.empty() && problem.unknown.value.empty())
      problem.text += hint(problem.unknown);
  }
}

void TextProblems::WarnAboutForkFields() const {
  for (const auto& [name, hint] : hints_) {
    LOG(WARNING) << hint.place << ": " << hint.text
                 << (hint.times > 1 ? " (" + std::to_string(hint.times) + " times)." : ".");
  }
}

/// Explains a file whose fields are those of a solver instead of a net, or vice versa.
string TextProblems::DescribeWrongMessage() const {
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
  std::vector<Problem> all = values_;
  all.insert(all.end(), problems_.begin(), problems_.end());
  if (all.empty()) return "";
  if (const string other = DescribeWrongMessage(); !other.empty()) return other;
  const auto place = [](const Problem& problem) {
    return std::make_pair(problem.unknown.line, problem.unknown.column);
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const Problem& a, const Problem& b) { return place(a) < place(b); });
  std::vector<string> texts;
  for (const Problem& problem : all) texts.push_back(problem.text);
  return ProblemList(texts);
}

}  // namespace caffe

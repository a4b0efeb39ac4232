#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "layrub/base/text.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/line_reader.hpp"

namespace layrub {

// Not in the unnamed namespace, because FindName must find it there by argument-dependent lookup.
static const char* Name(OpKind kind) {
  switch (kind) {
    case OpKind::kCompute:
      return "compute";
    case OpKind::kFill:
      return "fill";
    case OpKind::kUpdate:
      return "update";
    case OpKind::kFeed:
      return "feed";
  }
  return "unknown";
}

namespace {

using placement::FindName;
using placement::FromDash;
using placement::kEnd;
using placement::LineReader;
using placement::OrDash;
using placement::ReadName;

constexpr char kGraphHeader[] = "layrub-graph 4";

void Append(std::string* text, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) *text += part;
}

void AppendTensors(const Graph& graph, const char* keyword, const std::vector<TensorId>& tensors,
                   std::string* text) {
  if (tensors.empty()) return;
  *text += keyword;
  for (const TensorId t : tensors) Append(text, {" ", graph.tensors[t].name});
  *text += "\n";
}

void AppendVariant(const Graph& graph, const Variant& variant, std::string* text) {
  Append(text, {"variant ", OrDash(variant.name), " flops=", FormatDouble(variant.flops),
                " bytes=", FormatDouble(variant.bytes_moved)});
  if (variant.exchanged > 0) Append(text, {" exchanged=", FormatDouble(variant.exchanged)});
  *text += variant.tf32 ? " tf32\n" : "\n";
  AppendTensors(graph, "reads", variant.reads, text);
  AppendTensors(graph, "writes", variant.writes, text);
  for (const AliasPair& pair : variant.may_alias) {
    Append(text,
           {"alias ", graph.tensors[pair.output].name, " ", graph.tensors[pair.input].name, "\n"});
  }
  for (const Algorithm& algorithm : variant.algorithms) {
    const bool none = algorithm.workspace == kNone;
    Append(text, {"algorithm ", none ? "-" : graph.tensors[algorithm.workspace].name,
                  " seconds=", FormatDouble(algorithm.seconds),
                  " deterministic=", algorithm.deterministic ? "1" : "0"});
    if (!algorithm.name.empty()) Append(text, {" name=", algorithm.name});
    Append(text, {"\n"});
  }
}

/// Parses "<key>=<number>".
template <typename Number>
bool ParseSetting(std::string_view field, std::string_view key, Number* value) {
  if (field.substr(0, key.size()) != key || field.substr(key.size(), 1) != "=") return false;
  return ParseNumber(field.substr(key.size() + 1), value);
}

class GraphReader {
 public:
  explicit GraphReader(std::string_view text) : reader_(text) {}

  Result<Graph> Run() {
    if (Status status = reader_.ReadHeader(kGraphHeader); !status.ok()) return status;
    while (reader_.Next()) {
      if (Status status = ReadRecord(); !status.ok()) return status;
    }
    if (Status status = reader_.Finish(); !status.ok()) return status;
    return std::move(graph_);
  }

 private:
  using Fields = std::vector<std::string_view>;

  Status ReadRecord() {
    const std::string_view keyword = reader_.keyword();
    if (keyword == "graph") return ReadName(reader_, &graph_.name);
    if (keyword == "tensor") return ReadTensor();
    if (keyword == "op") return ReadOp();
    if (keyword == "variant") return ReadVariant();
    if (keyword != "reads" && keyword != "writes" && keyword != "alias" && keyword != "algorithm") {
      return reader_.Error("'" + std::string(keyword) + "' is not a record of a graph");
    }
    if (graph_.ops.empty() || graph_.ops.back().variants.empty()) {
      return reader_.Error("'" + std::string(keyword) + "' has no variant to belong to");
    }
    Variant& variant = graph_.ops.back().variants.back();
    if (keyword == "reads") return ReadTensors(&variant.reads);
    if (keyword == "writes") return ReadTensors(&variant.writes);
    return keyword == "alias" ? ReadAlias(&variant) : ReadAlgorithm(&variant);
  }

  Status ReadTensor() {
    const Fields& fields = reader_.fields();
    Tensor tensor;
    if (fields.size() < 4 || !IsName(fields[1]) || !ParseNumber(fields[2], &tensor.bytes) ||
        tensor.bytes < 0 || !FindName(fields[3], 8, &tensor.role)) {
      return reader_.Malformed("tensor <name> <bytes> <role> [state] [keep] [host] [blob=<n>]");
    }
    tensor.name = fields[1];
    for (size_t i = 4; i < fields.size(); ++i) {
      if (fields[i] == "state") {
        tensor.life = Life::kState;
      } else if (fields[i] == "keep") {
        tensor.keep = true;
      } else if (fields[i] == "host") {
        tensor.host_access = true;
      } else if (!ParseSetting(fields[i], "blob", &tensor.blob)) {
        return reader_.Error("'" + std::string(fields[i]) +
                             "' is not one of state, keep, host, blob=<n>");
      }
    }
    const auto id = static_cast<TensorId>(graph_.tensors.size());
    if (!ids_.emplace(tensor.name, id).second) {
      return reader_.Error("another tensor is named " + tensor.name);
    }
    graph_.tensors.push_back(std::move(tensor));
    return Status::Ok();
  }

  Status ReadOp() {
    const Fields& fields = reader_.fields();
    Op op;
    const bool repeatable = fields.size() == 5 && fields[4] == "repeatable";
    if ((fields.size() != 4 && !repeatable) || !IsName(fields[1]) ||
        !FindName(fields[2], 3, &op.pass) || !FindName(fields[3], 4, &op.kind)) {
      return reader_.Malformed(
          "op <name> <forward|backward|update> <compute|fill|update> [repeatable]");
    }
    op.name = fields[1];
    op.repeatable = repeatable;
    graph_.ops.push_back(std::move(op));
    return Status::Ok();
  }

  Status ReadVariant() {
    const Fields& fields = reader_.fields();
    Variant variant;
    size_t known = 4;
    if (fields.size() > known && ParseSetting(fields[known], "exchanged", &variant.exchanged))
      ++known;
    if (fields.size() > known && fields[known] == "tf32") variant.tf32 = ++known > 0;
    if (fields.size() != known || fields[1].empty() ||
        !ParseSetting(fields[2], "flops", &variant.flops) ||
        !ParseSetting(fields[3], "bytes", &variant.bytes_moved)) {
      return reader_.Malformed(
          "variant <name> flops=<number> bytes=<number> [exchanged=<number>] [tf32]");
    }
    if (graph_.ops.empty()) return reader_.Error("'variant' has no operation to belong to");
    variant.name = FromDash(fields[1]);
    graph_.ops.back().variants.push_back(std::move(variant));
    return Status::Ok();
  }

  Status ReadTensors(std::vector<TensorId>* tensors) {
    if (!tensors->empty())
      return reader_.Error("the variant has another line of '" + std::string(reader_.keyword()) +
                           "'");
    for (size_t i = 1; i < reader_.fields().size(); ++i) {
      TensorId t = kNone;
      if (Status status = Find(reader_.fields()[i], &t); !status.ok()) return status;
      tensors->push_back(t);
    }
    return Status::Ok();
  }

  Status ReadAlias(Variant* variant) {
    if (reader_.fields().size() != 3) return reader_.Malformed("alias <output> <input>");
    AliasPair pair;
    if (Status status = Find(reader_.fields()[1], &pair.output); !status.ok()) return status;
    if (Status status = Find(reader_.fields()[2], &pair.input); !status.ok()) return status;
    variant->may_alias.push_back(pair);
    return Status::Ok();
  }

  Status ReadAlgorithm(Variant* variant) {
    const Fields& fields = reader_.fields();
    Algorithm algorithm;
    int deterministic = -1;
    constexpr std::string_view kName = "name=";
    const bool named = fields.size() == 5 && fields[4].substr(0, kName.size()) == kName &&
                       fields[4].size() > kName.size();
    if ((fields.size() != 4 && !named) || !ParseSetting(fields[2], "seconds", &algorithm.seconds) ||
        !ParseSetting(fields[3], "deterministic", &deterministic) ||
        (deterministic != 0 && deterministic != 1)) {
      return reader_.Malformed(
          "algorithm <tensor or -> seconds=<number> deterministic=<0|1> [name=<name>]");
    }
    algorithm.deterministic = deterministic == 1;
    if (named) algorithm.name = fields[4].substr(kName.size());
    if (fields[1] != "-") {
      if (Status status = Find(fields[1], &algorithm.workspace); !status.ok()) return status;
    }
    variant->algorithms.push_back(algorithm);
    return Status::Ok();
  }

  Status Find(std::string_view name, TensorId* id) const {
    const auto found = ids_.find(std::string(name));
    if (found == ids_.end()) {
      return reader_.Error("there is no tensor '" + std::string(name) + "' above this line");
    }
    *id = found->second;
    return Status::Ok();
  }

  LineReader reader_;
  Graph graph_;
  std::unordered_map<std::string, TensorId> ids_;
};

}  // namespace

std::string ToText(const Graph& graph) {
  std::string text;
  Append(&text, {kGraphHeader, "\ngraph ", OrDash(graph.name), "\n"});
  for (const Tensor& tensor : graph.tensors) {
    Append(&text,
           {"tensor ", tensor.name, " ", std::to_string(tensor.bytes), " ", Name(tensor.role)});
    if (tensor.is_state()) text += " state";
    if (tensor.keep) text += " keep";
    if (tensor.host_access) text += " host";
    if (tensor.blob != kNone) text += " blob=" + std::to_string(tensor.blob);
    text += "\n";
  }
  for (const Op& op : graph.ops) {
    Append(&text, {"op ", op.name, " ", Name(op.pass), " ", Name(op.kind),
                   op.repeatable ? " repeatable\n" : "\n"});
    for (const Variant& variant : op.variants) AppendVariant(graph, variant, &text);
  }
  Append(&text, {kEnd, "\n"});
  return text;
}

Result<Graph> GraphFromText(const std::string& text) { return GraphReader(text).Run(); }

}  // namespace layrub

#include "slices.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "caffe/util/split_loss.hpp"

namespace caffe {
namespace {

/// Flat layers `begin` to `end` - 1.
struct LayerRange {
  int begin = 0, end = 0;
};

/// Nets of more layers take too long to plan.
constexpr int64_t kMostLayers = 4000;

/// Where a blob is first written and last read: layers. Net outputs and blobs to keep are read at
/// the end.
struct Span {
  int first_write = -1, last_read = -1;
};

/// What matters of a flat layer to be sliced.
struct LayerFacts {
  bool sliceable = false;
  int items = 0;        ///< of the batch
  int exact_items = 1;  ///< MemoryTraits::exact_items
  int64_t values = 0;   ///< bytes of bottoms and tops
  int64_t others = 0;   ///< bytes of parameters, their gradients and the workspace
  int64_t bytes() const { return values + others; }
  int64_t bytes(int parts) const { return values / parts + others; }
};

/// The layers of a net that can be sliced, and by a number of slices the ranges to choose.
template <typename Dtype>
class RangeChooser {
 public:
  RangeChooser(const Net<Dtype>& net, const FlatNet<Dtype>& flat, const vector<string>& keep)
      : flat_(flat), layers_(static_cast<int>(flat.layers.size())) {
    FindSpans(net, keep);
    std::map<int, int> users;  // of a parameter
    for (const auto& layer : flat.layers) {
      for (int param : layer.params) ++users[param];
    }
    for (int i = 0; i < layers_; ++i) {
      facts_.push_back(FactsOf(net, i));
      for (int param : flat.layers[i].params) facts_.back().sliceable &= users[param] == 1;
    }
  }

  /// Returns the ranges, in order, such that the layer or copy with the most bytes has as few as
  /// possible: `bytes`. Returns none if slices do not reduce them.
  std::vector<LayerRange> Choose(const Slicing& slicing, int64_t* bytes) {
    *bytes = WholeBytes();
    if (varies_ || slicing.parts < 2) return {};
    parts_ = slicing.parts;
    can_.clear();
    for (const LayerFacts& facts : facts_) {
      const int items = facts.items / parts_;
      const bool exact = facts.exact_items > 0 && items % facts.exact_items == 0;
      can_.push_back(facts.sliceable && items > 0 && items * parts_ == facts.items &&
                     (slicing.rounds || exact));
    }
    FindBorders();
    const std::vector<int64_t> steps = Steps();
    const auto least = std::partition_point(
        steps.begin(), steps.end(), [&](int64_t step) { return step < *bytes && !Within(step); });
    if (least == steps.end() || *least >= *bytes) return {};
    *bytes = *least;
    return Within(*least).value();
  }

  /// The number of layers of the net with these ranges in `parts` slices.
  int64_t LayersWith(const std::vector<LayerRange>& ranges, int parts) const {
    int64_t layers = layers_;
    for (const LayerRange& range : ranges) layers += int64_t{parts - 1} * (range.end - range.begin);
    return layers;
  }

  /// The batch sizes of layers that can be sliced.
  std::set<int> BatchSizes() const {
    std::set<int> sizes;
    for (const LayerFacts& facts : facts_) {
      if (facts.sliceable) sizes.insert(facts.items);
    }
    return sizes;
  }

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  /// Returns the ranges with which no layer and no copy has more than `most` bytes; nothing if
  /// there are none.
  std::optional<std::vector<LayerRange>> Within(int64_t most) const {
    std::vector<LayerRange> ranges;
    for (int begin = 0; begin < layers_;) {
      if (!can_[begin]) {
        if (facts_[begin].bytes() > most) return std::nullopt;
        ++begin;
        continue;
      }
      const int end = RunFrom(begin);
      int first = begin, last = end - 1;
      while (first < end && facts_[first].bytes() <= most) ++first;
      if (first == end) {
        begin = end;
        continue;
      }
      while (facts_[last].bytes() <= most) --last;
      while (first >= begin && begin_bytes_[first] > most) --first;
      while (last < end && end_bytes_[last + 1] > most) ++last;
      if (first < begin || last == end) return std::nullopt;
      for (int i = first; i <= last; ++i) {
        if (facts_[i].bytes(parts_) > most) return std::nullopt;
      }
      ranges.push_back({first, last + 1});
      begin = end;
    }
    return ranges;
  }

  /// All values that the answer may depend on, in ascending order.
  std::vector<int64_t> Steps() const {
    std::set<int64_t> steps;
    for (const LayerFacts& facts : facts_) steps.insert({facts.bytes(), facts.bytes(parts_)});
    steps.insert(begin_bytes_.begin(), begin_bytes_.end());
    steps.insert(end_bytes_.begin(), end_bytes_.end());
    steps.erase(kNever);
    return {steps.begin(), steps.end()};
  }

  int64_t WholeBytes() const {
    int64_t most = 0;
    for (const LayerFacts& facts : facts_) most = std::max(most, facts.bytes());
    return most;
  }

  int64_t Bytes(int blob) const {
    return int64_t{flat_.blobs[blob].blob->count()} * int64_t{sizeof(Dtype)};
  }

  void FindSpans(const Net<Dtype>& net, const vector<string>& keep) {
    spans_.resize(flat_.blobs.size());
    for (int i = 0; i < layers_; ++i) {
      for (int blob : flat_.layers[i].bottom) spans_[blob].last_read = i;
      for (int blob : flat_.layers[i].top) {
        if (spans_[blob].first_write < 0) spans_[blob].first_write = i;
      }
    }
    for (int blob : net.output_blob_indices()) spans_[blob].last_read = layers_;
    for (const string& name : keep) {
      const auto& names = net.blob_names();
      const auto blob = std::find(names.begin(), names.end(), name);
      if (blob == names.end()) continue;
      Span& span = spans_[blob - names.begin()];
      if (span.last_read < layers_) kept_.insert(static_cast<int>(blob - names.begin()));
    }
  }

  static int64_t SmallestWorkspace(const OperandVariant& variant) {
    const std::vector<Algorithm> algorithms = Algorithms(variant);
    return algorithms.empty() ? 0 : algorithms.front().bytes;
  }

  LayerFacts FactsOf(const Net<Dtype>& net, int layer) {
    const auto& flat = flat_.layers[layer];
    const vector<Blob<Dtype>*> bottom = flat_.Blobs(flat.bottom), top = flat_.Blobs(flat.top);
    const MemoryTraits traits = flat.layer->PlannedTraits(bottom, top, flat.propagate_down);
    // A pass may leave the plan behind such a layer, and then needs whole values.
    varies_ |= traits.varying;
    LayerFacts facts;
    facts.exact_items = traits.exact_items;
    std::set<int> blobs(flat.bottom.begin(), flat.bottom.end());
    blobs.insert(flat.top.begin(), flat.top.end());
    for (int blob : blobs) facts.values += Bytes(blob);
    for (const auto& param : flat.layer->blobs())
      facts.others += 2 * int64_t{param->count()} * int64_t{sizeof(Dtype)};
    int64_t workspace = 0;
    for (const OperandVariant& variant : traits.backward)
      workspace = std::max(workspace, SmallestWorkspace(variant));
    facts.others += std::max(workspace, SmallestWorkspace(traits.forward));
    const bool outermost = IsOutermost(net, flat);
    facts.sliceable = traits.declared && traits.sliceable && outermost && !bottom.empty() &&
                      !top.empty() && bottom[0]->num_axes() > 0;
    if (!facts.sliceable) return facts;
    facts.items = bottom[0]->shape(0);
    for (const auto* list : {&bottom, &top}) {
      for (const Blob<Dtype>* blob : *list)
        facts.sliceable &= blob->num_axes() > 0 && blob->shape(0) == facts.items;
    }
    for (size_t i = 0; i < top.size(); ++i) {
      facts.sliceable &= flat.layer->loss(static_cast<int>(i)) == Dtype(0);
      facts.sliceable &= kept_.count(flat.top[i]) == 0;
    }
    return facts;
  }

  /// The end of the longest row of layers from `begin` on that can be sliced together.
  int RunFrom(int begin) const {
    int end = begin;
    while (end < layers_ && can_[end] && facts_[end].items == facts_[begin].items) ++end;
    return end;
  }

  /// A cut or joined value is there twice. A range cannot begin before a layer that works in place
  /// on a value from outside.
  void FindBorders() {
    begin_bytes_.assign(layers_ + 1, 0);
    end_bytes_.assign(layers_ + 1, 0);
    const auto raise = [](std::vector<int64_t>* bytes, int from, int to, int64_t value) {
      for (int i = from; i <= to; ++i) (*bytes)[i] = std::max((*bytes)[i], value);
    };
    for (int begin = 0; begin < layers_;) {
      const int end = std::max(RunFrom(begin), begin + 1);
      std::set<int> written;
      for (int i = begin; i < end && can_[begin]; ++i) {
        const vector<int>& top = flat_.layers[i].top;
        for (int blob : flat_.layers[i].bottom) {
          const bool in_place = std::count(top.begin(), top.end(), blob) > 0;
          raise(&begin_bytes_, std::max(begin, spans_[blob].first_write + 1), i,
                in_place ? kNever : 2 * Bytes(blob));
        }
        for (int blob : top) {
          if (!written.insert(blob).second) continue;
          raise(&end_bytes_, i + 1, std::min(spans_[blob].last_read, end), 2 * Bytes(blob));
        }
      }
      begin = end;
    }
  }

  const FlatNet<Dtype>& flat_;
  const int layers_;
  bool varies_ = false;
  std::vector<Span> spans_;  // by blob
  std::set<int> kept_;       // blobs to keep that a layer reads
  std::vector<LayerFacts> facts_;
  // For the slicing that is looked at.
  int parts_ = 1;
  std::vector<bool> can_;  // by layer: whether it can be sliced
  // Bytes of the largest copy if a range begins, or ends, at this layer.
  std::vector<int64_t> begin_bytes_, end_bytes_;
};

/// Sets up a layer that is made for the plan. It has `params`.
template <typename Dtype>
void SetUp(const LayerParameter& param, const vector<shared_ptr<Blob<Dtype>>>& params,
           const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
           typename FlatNet<Dtype>::LayerEntry* entry) {
  // Logs no set-up: only that of the layers in the prototxt is of interest.
  const int level =
      std::exchange(FLAGS_minloglevel, std::max(FLAGS_minloglevel, int{google::GLOG_WARNING}));
  entry->own = LayerRegistry<Dtype>::CreateLayer(param);
  entry->layer = entry->own.get();
  entry->layer->blobs() = params;
  entry->sliced = true;
  entry->layer->SetUp(bottom, top);
  FLAGS_minloglevel = level;
}

/// Replaces losses by two layers each (SplitLoss): the first can be sliced.
template <typename Dtype>
void SplitLosses(const Net<Dtype>& net, FlatNet<Dtype>* flat) {
  std::vector<typename FlatNet<Dtype>::LayerEntry> layers;
  for (const auto& loss : flat->layers) {
    const LayerParameter& param = loss.layer->layer_param();
    const vector<LayerParameter> split =
        IsOutermost(net, loss) ? SplitLoss(param) : vector<LayerParameter>();
    layers.push_back(loss);
    if (split.empty()) continue;
    const shared_ptr<Blob<Dtype>> losses(new Blob<Dtype>());
    const auto id = static_cast<int>(flat->blobs.size());
    flat->blobs.push_back({LossesOf(param), losses.get(), {}, losses});
    layers.back().top = {id};
    SetUp<Dtype>(split[0], {}, flat->Blobs(loss.bottom), {losses.get()}, &layers.back());
    layers.push_back(loss);
    auto& total = layers.back();
    total.name = split[1].name();
    total.bottom.assign(split[1].bottom_size(), loss.bottom[1]);
    total.bottom[0] = id;
    total.propagate_down = {loss.propagate_down[0], false};
    total.propagate_down.resize(total.bottom.size());
    Blob<Dtype> scalar;
    SetUp<Dtype>(split[1], {}, flat->Blobs(total.bottom), {&scalar}, &total);
  }
  flat->layers = std::move(layers);
}

/// Builds the layers of the ranges anew, for a part of the batch each.
template <typename Dtype>
class Slicer {
 public:
  Slicer(const Net<Dtype>& net, int parts, FlatNet<Dtype>* flat)
      : outputs_(net.output_blob_indices().begin(), net.output_blob_indices().end()),
        parts_(parts),
        flat_(flat) {}

  void Slice(const std::vector<LayerRange>& ranges) {
    std::vector<Entry> layers;
    int next = 0;
    for (const LayerRange& range : ranges) {
      layers.insert(layers.end(), flat_->layers.begin() + next,
                    flat_->layers.begin() + range.begin);
      Replace(range, &layers);
      next = range.end;
    }
    layers.insert(layers.end(), flat_->layers.begin() + next, flat_->layers.end());
    flat_->layers = std::move(layers);
  }

 private:
  using Entry = typename FlatNet<Dtype>::LayerEntry;

  void Replace(const LayerRange& range, std::vector<Entry>* layers) {
    pieces_.clear();
    std::map<int, int> written;  // by blob: the last layer that writes it
    std::vector<Entry> cuts;
    for (int i = range.begin; i < range.end; ++i) {
      const Entry& layer = flat_->layers[i];
      for (size_t k = 0; k < layer.bottom.size(); ++k) {
        const int blob = layer.bottom[k];
        if (written.count(blob) > 0 || pieces_.count(blob) > 0) continue;
        cuts.push_back(Border(layer, "Slice", blob, layer.propagate_down[k]));
      }
      for (int blob : layer.top) written[blob] = i;
    }
    layers->insert(layers->end(), cuts.begin(), cuts.end());
    for (int part = parts_ - 1; part >= 0; --part) {
      for (int i = range.begin; i < range.end; ++i) layers->push_back(Part(flat_->layers[i], part));
    }
    for (const auto& [blob, writer] : written) {
      const Entry& layer = flat_->layers[writer];
      if (IsReadBehind(range, blob))
        layers->push_back(Border(layer, "Concat", blob, layer.need_backward));
    }
  }

  bool IsReadBehind(const LayerRange& range, int blob) const {
    const auto reads = [&](const Entry& layer) {
      return std::count(layer.bottom.begin(), layer.bottom.end(), blob) > 0;
    };
    return outputs_.count(blob) > 0 ||
           std::any_of(flat_->layers.begin() + range.end, flat_->layers.end(), reads);
  }

  /// The parts of a blob, which are made with the first call.
  const std::vector<int>& Pieces(int blob) {
    std::vector<int>& pieces = pieces_[blob];
    if (!pieces.empty()) return pieces;
    vector<int> shape = flat_->blobs[blob].blob->shape();
    shape[0] /= parts_;
    const string name = flat_->blobs[blob].name;
    for (int part = 0; part < parts_; ++part) {
      shared_ptr<Blob<Dtype>> piece(new Blob<Dtype>(shape));
      pieces.push_back(static_cast<int>(flat_->blobs.size()));
      flat_->blobs.push_back({PartName(name, part), piece.get(), {}, piece});
    }
    return pieces;
  }

  string PartName(const string& name, int part) const {
    return name + "/" + std::to_string(part + 1) + "of" + std::to_string(parts_);
  }

  /// Cuts a value before the range, or joins it behind. `beside` is the layer of the range that
  /// reads, or writes, it.
  Entry Border(const Entry& beside, const string& type, int whole, bool gradient) {
    LayerParameter param;
    param.set_type(type);
    param.set_phase(beside.layer->layer_param().phase());
    const bool cuts = type == "Slice";
    if (cuts) {
      param.mutable_slice_param()->set_axis(0);
    } else {
      param.mutable_concat_param()->set_axis(0);
    }
    Entry entry;
    entry.name = beside.name + (cuts ? "/cut_into_" : "/join_of_") + std::to_string(parts_);
    param.set_name(entry.name);
    const std::vector<int> pieces = Pieces(whole);
    entry.bottom = cuts ? std::vector<int>{whole} : pieces;
    entry.top = cuts ? pieces : std::vector<int>{whole};
    entry.owner = entry.last_owner = beside.owner;
    entry.need_backward = gradient;
    entry.propagate_down.assign(entry.bottom.size(), gradient);
    SetUpPart(param, {}, &entry);
    return entry;
  }

  Entry Part(const Entry& whole, int part) {
    Entry entry = whole;
    entry.name = PartName(whole.name, part);
    for (int& blob : entry.bottom) blob = Pieces(blob)[part];
    for (int& blob : entry.top) blob = Pieces(blob)[part];
    LayerParameter param = whole.layer->layer_param();
    param.clear_blobs();
    SetUpPart(param, whole.layer->blobs(), &entry);
    for (size_t i = 0; i < entry.layer->blobs().size(); ++i) {
      entry.layer->set_param_propagate_down(static_cast<int>(i),
                                            whole.layer->param_propagate_down(static_cast<int>(i)));
    }
    return entry;
  }

  void SetUpPart(const LayerParameter& param, const vector<shared_ptr<Blob<Dtype>>>& params,
                 Entry* entry) {
    // Set-up gives the tops of a layer their shape, which a whole blob has already.
    vector<shared_ptr<Blob<Dtype>>> tops;
    vector<Blob<Dtype>*> top;
    const vector<Blob<Dtype>*> bottom = flat_->Blobs(entry->bottom);
    for (int blob : entry->top) {
      const auto same = std::find(entry->bottom.begin(), entry->bottom.end(), blob);
      if (same != entry->bottom.end()) {
        top.push_back(bottom[same - entry->bottom.begin()]);
        continue;
      }
      tops.emplace_back(new Blob<Dtype>());
      top.push_back(tops.back().get());
    }
    SetUp<Dtype>(param, params, bottom, top, entry);
  }

  const std::set<int> outputs_;
  const int parts_;
  FlatNet<Dtype>* const flat_;
  std::map<int, std::vector<int>> pieces_;  // by blob
};

}  // namespace

template <typename Dtype>
void SliceLayers(const Net<Dtype>& net, const vector<string>& keep, const Slicing& slicing,
                 FlatNet<Dtype>* flat) {
  int64_t bytes = 0;
  FlatNet<Dtype> split = *flat;
  SplitLosses(net, &split);
  const std::vector<LayerRange> ranges =
      RangeChooser<Dtype>(net, split, keep).Choose(slicing, &bytes);
  if (ranges.empty()) return;
  *flat = std::move(split);
  flat->slices = slicing.parts;
  Slicer<Dtype>(net, slicing.parts, flat).Slice(ranges);
}

template <typename Dtype>
vector<Slicing> Net<Dtype>::Slicings(const vector<string>& keep, bool rounds) const {
  if (!Unwatched(*this)) return {};
  FlatNet<Dtype> flat = Flatten(*this, false);
  SplitLosses(*this, &flat);
  RangeChooser<Dtype> chooser(*this, flat, keep);
  const std::set<int> sizes = chooser.BatchSizes();
  std::vector<std::pair<Slicing, int64_t>> found;  // with the most bytes of a layer
  int64_t least = 0;
  chooser.Choose({}, &least);
  for (int parts = 2; !sizes.empty() && parts <= *sizes.rbegin(); ++parts) {
    const auto divides = [&](int size) { return size % parts == 0; };
    if (std::none_of(sizes.begin(), sizes.end(), divides)) continue;
    int64_t bytes = 0;
    const Slicing slicing{parts, rounds};
    const std::vector<LayerRange> ranges = chooser.Choose(slicing, &bytes);
    if (chooser.LayersWith(ranges, parts) > kMostLayers) break;
    if (ranges.empty() || bytes > least - least / 10) continue;  // too little gained
    least = bytes;
    found.emplace_back(slicing, bytes);
  }
  // Each is a graph to plan: takes the last, and before it those that need much less than the ones
  // before them.
  vector<Slicing> chosen;
  int64_t last = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    const auto& [slicing, bytes] = found[i];
    if (i > 0 && i + 1 < found.size() && bytes > last - last / 3) continue;
    last = bytes;
    chosen.push_back(slicing);
  }
  return chosen;
}

#define INSTANTIATE_SLICES(Dtype)                                                     \
  template void SliceLayers(const Net<Dtype>&, const vector<string>&, const Slicing&, \
                            FlatNet<Dtype>*);                                         \
  template vector<Slicing> Net<Dtype>::Slicings(const vector<string>&, bool) const
INSTANTIATE_SLICES(float);
INSTANTIATE_SLICES(double);

}  // namespace caffe

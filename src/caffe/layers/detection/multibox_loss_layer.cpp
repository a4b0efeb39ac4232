#include "caffe/layers/multibox_loss_layer.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "box_inputs.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/fork_type.hpp"
#include "caffe/layers/loss/loss_normalizer.hpp"
#include "caffe/util/threads.hpp"

namespace caffe {
namespace {

/// Bytes of MultiBoxTargets: the divisor, then labels and objects, rounded up to whole doubles.
int64_t TargetBytes(const kernels::MultiBoxShape& shape) {
  const int64_t numbers = shape.positions() * (1 + shape.sets);
  return int64_t{sizeof(double)} + (numbers + 1) / 2 * 2 * int64_t{sizeof(int)};
}

bool CrossesBoundary(const kernels::BoundingBox& box) {
  return box.xmin < 0 || box.ymin < 0 || box.xmax > 1 || box.ymax > 1;
}

}  // namespace

template <typename Dtype>
void MultiBoxLossLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  LossLayer<Dtype>::LayerSetUp(bottom, top);
  const MultiBoxLossParameter& param = this->layer_param_.multibox_loss_param();
  const string& name = this->layer_param_.name();
  mining_ = param.mining_type() == MultiBoxLossParameter_MiningType_MAX_NEGATIVE;
  hardest_ = param.mining_type() == MultiBoxLossParameter_MiningType_HARD_EXAMPLE;
  if (param.has_do_neg_mining()) {
    CHECK(!param.has_mining_type() || param.do_neg_mining() == (mining_ || hardest_))
        << "Layer " << name << ": do_neg_mining and mining_type contradict each other.";
    mining_ = param.do_neg_mining() && !hardest_;
  }
  CHECK((!mining_ && !hardest_) || param.share_location())
      << "Layer " << name << ": without share_location, mining_type must be NONE.";
  CHECK(!mining_ || param.neg_pos_ratio() > 0)
      << "Layer " << name << ": neg_pos_ratio must be positive.";
  CHECK(!hardest_ || param.sample_size() > 0)
      << "Layer " << name << ": sample_size must be positive.";
  CHECK_GT(param.overlap_threshold(), 0)
      << "Layer " << name << ": overlap_threshold must be positive.";
  CHECK_LT(param.background_label_id(), param.num_classes())
      << "Layer " << name << ": background_label_id must be one of num_classes.";
  CHECK(!param.map_object_to_agnostic() || param.background_label_id() + 1 < param.num_classes())
      << "Layer " << name << ": map_object_to_agnostic gives all objects the class after "
      << "background_label_id, which must be less than num_classes.";
}

template <typename Dtype>
kernels::MultiBoxShape MultiBoxLossLayer<Dtype>::Shape(const vector<Blob<Dtype>*>& bottom) const {
  const MultiBoxLossParameter& param = this->layer_param_.multibox_loss_param();
  return CheckBoxInputs(this->layer_param_.name(), bottom, param.num_classes(),
                        param.share_location());
}

template <typename Dtype>
void MultiBoxLossLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& top) {
  Shape(bottom);
  CheckTruthShape(this->layer_param_.name(), 3, *bottom[3]);
  top[0]->Reshape(vector<int>());
}

template <typename Dtype>
MemoryTraits MultiBoxLossLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                              const vector<Blob<Dtype>*>& /*top*/,
                                              const vector<bool>& propagate_down) const {
  const kernels::MultiBoxShape shape = Shape(bottom);
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.saved = {{"targets", TargetBytes(shape)}};
  traits.forward.reads = {BottomData(0), BottomData(1), BottomData(2), BottomData(3)};
  traits.forward.writes = {TopData(0)};
  traits.forward.workspace_bytes =
      TargetBytes(shape) + shape.positions() * static_cast<int64_t>(sizeof(Dtype));
  OperandVariant backward;
  backward.name = "targets";
  backward.reads = {Saved(0), TopDiff(0)};
  if (propagate_down[0]) {
    backward.reads.insert(backward.reads.end(), {BottomData(0), BottomData(2), BottomData(3)});
    backward.writes.push_back(BottomDiff(0));
    backward.may_alias.emplace_back(BottomDiff(0), BottomData(0));
  }
  if (propagate_down[1]) {
    backward.reads.push_back(BottomData(1));
    backward.writes.push_back(BottomDiff(1));
    backward.may_alias.emplace_back(BottomDiff(1), BottomData(1));
  }
  if (!backward.writes.empty()) traits.backward.push_back(backward);
  return traits;
}

template <typename Dtype>
kernels::MultiBoxLoss<Dtype> MultiBoxLossLayer<Dtype>::Loss(const vector<Blob<Dtype>*>& bottom,
                                                            const void* targets) const {
  const MultiBoxLossParameter& param = this->layer_param_.multibox_loss_param();
  kernels::MultiBoxLoss<Dtype> loss;
  loss.shape = Shape(bottom);
  loss.logistic = param.conf_loss_type() == MultiBoxLossParameter_ConfLossType_LOGISTIC;
  loss.squared = param.loc_loss_type() == MultiBoxLossParameter_LocLossType_L2;
  loss.variances = !param.encode_variance_in_target();
  loss.inside = param.bp_inside();
  loss.decoded = !param.use_prior_for_matching();
  loss.code = CodeOf(param.code_type());
  loss.offset_weight = param.loc_weight();
  loss.targets.divisor = static_cast<const double*>(targets);
  loss.targets.labels = reinterpret_cast<const int*>(loss.targets.divisor + 1);
  loss.targets.objects = loss.targets.labels + loss.shape.positions();
  return loss;
}

template <typename Dtype>
int MultiBoxLossLayer<Dtype>::Choose(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Dtype>& losses, vector<int>* targets) const {
  const MultiBoxLossParameter& param = this->layer_param_.multibox_loss_param();
  const kernels::MultiBoxShape shape = Shape(bottom);
  const int background = static_cast<int>(param.background_label_id());
  const bool each_box = param.match_type() == MultiBoxLossParameter_MatchType_PER_PREDICTION;
  const bool from_priors = param.use_prior_for_matching();
  const Dtype* priors = bottom[2]->cpu_data();
  const Dtype* offsets = from_priors && !hardest_ ? nullptr : bottom[0]->cpu_data();
  const Dtype* scores = hardest_ ? bottom[1]->cpu_data() : nullptr;

  vector<vector<TrueObject>> truth(shape.items);
  for (const TrueObject& object :
       ReadTruth(this->layer_param_.name(), *bottom[3],
                 param.map_object_to_agnostic() ? int64_t{INT_MAX} : shape.classes, background)) {
    CHECK_LT(object.item, shape.items)
        << "Layer " << this->layer_param_.name() << ": row " << object.row
        << " of the ground truth is of item " << object.item << ", but there are " << shape.items
        << " items.";
    if (param.use_difficult_gt() || !object.difficult) truth[object.item].push_back(object);
  }

  vector<kernels::Prior> known(shape.priors);
  vector<kernels::BoundingBox> prior_boxes(shape.priors);
  vector<bool> left_out(shape.priors);
  for (int64_t p = 0; p < shape.priors; ++p) {
    known[p] = kernels::PriorAt(priors, shape.priors, p, !param.encode_variance_in_target());
    prior_boxes[p] = known[p].box;
    // Offsets relative to a box without area are not finite.
    left_out[p] = kernels::Area(prior_boxes[p]) == 0 ||
                  (param.ignore_cross_boundary_bbox() && CrossesBoundary(prior_boxes[p]));
  }

  targets->assign(shape.positions() * (1 + shape.sets), -1);
  int *const labels = targets->data(), *const objects = labels + shape.positions();
  vector<int> matches(shape.items);
  CpuFor(shape.items, true, [&](int64_t item) {
    const int64_t first = item * shape.priors;
    vector<kernels::BoundingBox> boxes = prior_boxes;
    vector<pair<double, int64_t>> negatives;  // minus the loss, and the prior
    for (int64_t set = 0; set < shape.sets; ++set) {
      vector<TrueObject> wanted;
      for (const TrueObject& object : truth[item]) {
        if (shape.sets == 1 || object.label == set) wanted.push_back(object);
      }
      vector<kernels::BoundingBox> wanted_boxes;
      for (const TrueObject& object : wanted) wanted_boxes.push_back(object.box);
      for (int64_t p = 0; p < shape.priors && !from_priors; ++p) {
        boxes[p] = kernels::DecodeBox(CodeOf(param.code_type()), known[p],
                                      offsets + ((first + p) * shape.sets + set) * 4);
      }
      const vector<kernels::BoxMatch> found =
          kernels::MatchBoxes(boxes, left_out, wanted_boxes, each_box, param.overlap_threshold());
      for (int64_t p = 0; p < shape.priors; ++p) {
        if (found[p].object >= 0) {
          const TrueObject& object = wanted[found[p].object];
          labels[first + p] = param.map_object_to_agnostic() ? background + 1 : object.label;
          objects[(first + p) * shape.sets + set] = object.row;
          ++matches[item];
        } else if (mining_ && !left_out[p] && found[p].overlap < param.neg_overlap()) {
          // NaN comes first, so that it shows in the loss.
          const double loss = losses[first + p];
          negatives.emplace_back(
              std::isnan(loss) ? -std::numeric_limits<double>::infinity() : -loss, p);
        }
      }
    }
    if (hardest_) {
      matches[item] = KeepHardest(offsets + first * 4, scores + first * shape.classes, truth[item],
                                  known, left_out, labels + first, objects + first);
    } else if (mining_) {
      std::sort(negatives.begin(), negatives.end());
      const double most = matches[item] * static_cast<double>(param.neg_pos_ratio());
      if (static_cast<double>(negatives.size()) > most) negatives.resize(static_cast<size_t>(most));
      for (const auto& negative : negatives) labels[first + negative.second] = background;
    } else {
      std::replace(labels + first, labels + first + shape.priors, -1, background);
    }
  });
  return std::accumulate(matches.begin(), matches.end(), 0);
}

template <typename Dtype>
int MultiBoxLossLayer<Dtype>::KeepHardest(const Dtype* offsets, const Dtype* scores,
                                          const vector<TrueObject>& truth,
                                          const vector<kernels::Prior>& priors,
                                          const vector<bool>& left_out, int* labels,
                                          int* objects) const {
  const MultiBoxLossParameter& param = this->layer_param_.multibox_loss_param();
  const int64_t count = static_cast<int64_t>(priors.size()), classes = param.num_classes();
  const int background = static_cast<int>(param.background_label_id());
  const bool logistic = param.conf_loss_type() == MultiBoxLossParameter_ConfLossType_LOGISTIC;
  const bool squared = param.loc_loss_type() == MultiBoxLossParameter_LocLossType_L2;
  std::map<int, const TrueObject*> by_row;
  for (const TrueObject& object : truth) by_row[object.row] = &object;

  vector<int64_t> examples;
  vector<double> losses;
  vector<kernels::BoundingBox> boxes;
  for (int64_t p = 0; p < count; ++p) {
    if (left_out[p] && objects[p] < 0) continue;
    const kernels::BoundingBox decoded =
        kernels::DecodeBox(CodeOf(param.code_type()), priors[p], offsets + p * 4);
    double loss = kernels::MultiBoxClassLoss(scores + p * classes, classes, logistic,
                                             objects[p] < 0 ? background : labels[p]);
    if (objects[p] >= 0) {
      double wanted[4];
      bool counts[4] = {true, true, true, true};
      kernels::EncodeBox(CodeOf(param.code_type()), priors[p], by_row.at(objects[p])->box, wanted);
      if (param.bp_inside())
        kernels::FindSidesInside(param.use_prior_for_matching() ? priors[p].box : decoded, counts);
      for (int k = 0; k < 4; ++k)
        loss += counts[k] ? kernels::OffsetLoss(offsets[p * 4 + k] - wanted[k], squared) : 0;
    }
    examples.push_back(p);
    losses.push_back(std::isnan(loss) ? std::numeric_limits<double>::infinity() : loss);
    boxes.push_back(param.use_prior_for_nms() ? priors[p].box : decoded);
  }
  kernels::Suppression how;
  how.threshold = param.has_nms_param() && param.nms_param().nms_threshold() > 0
                      ? param.nms_param().nms_threshold()
                      : std::numeric_limits<double>::infinity();
  if (param.nms_param().has_top_k()) how.top_k = param.nms_param().top_k();
  vector<int> hardest = kernels::Suppress(boxes, losses, how);
  if (hardest.size() > static_cast<size_t>(param.sample_size()))
    hardest.resize(param.sample_size());

  vector<bool> chosen(count);
  for (int example : hardest) chosen[examples[example]] = true;
  int matches = 0;
  for (int64_t p = 0; p < count; ++p) {
    if (!chosen[p]) {
      labels[p] = objects[p] = -1;
    } else if (objects[p] < 0) {
      labels[p] = background;
    } else {
      ++matches;
    }
  }
  return matches;
}

template <typename Dtype>
void MultiBoxLossLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                         const vector<Blob<Dtype>*>& bottom,
                                         const vector<Blob<Dtype>*>& top) {
  const MultiBoxLossParameter& param = this->layer_param_.multibox_loss_param();
  char* const workspace = this->template WorkspaceBytes<char>();
  char* const saved = this->template SavedBytes<char>(0);
  char* const targets = saved != nullptr ? saved : workspace;
  kernels::MultiBoxLoss<Dtype> loss = Loss(bottom, targets);
  const kernels::MultiBoxShape& shape = loss.shape;
  Dtype* const losses = reinterpret_cast<Dtype*>(workspace + TargetBytes(shape));

  vector<Dtype> host_losses;
  if (mining_) {
    host_losses.resize(shape.positions());
    kernels::MultiBoxClassLosses(context, shape, loss.logistic,
                                 static_cast<int>(param.background_label_id()),
                                 Data(context, *bottom[1]), losses);
    CopyBytes(context, host_losses.data(), losses, host_losses.size() * sizeof(Dtype));
  }
  vector<int> chosen;
  const int matches = Choose(bottom, host_losses, &chosen);
  chosen.resize((chosen.size() + 1) / 2 * 2);
  const double divisor = LossDivisor(
      NormalizationOf(this->layer_param_.loss_param(), LossParameter_NormalizationMode_VALID),
      static_cast<int>(shape.items), static_cast<int>(shape.priors), matches);
  CopyBytes(context, targets, &divisor, sizeof(divisor));
  CopyBytes(context, targets + sizeof(divisor), chosen.data(), chosen.size() * sizeof(int));

  loss.offsets = Data(context, *bottom[0]);
  loss.scores = Data(context, *bottom[1]);
  loss.priors = Data(context, *bottom[2]);
  loss.truth = Data(context, *bottom[3]);
  kernels::MultiBoxLossForward(context, loss, losses, MutableData(context, top[0]));
}

template <typename Dtype>
void MultiBoxLossLayer<Dtype>::BackwardOn(const DeviceContext& context,
                                          const vector<Blob<Dtype>*>& top,
                                          const vector<bool>& propagate_down,
                                          const vector<Blob<Dtype>*>& bottom) {
  CHECK(!propagate_down[2] && !propagate_down[3])
      << "Layer " << this->layer_param_.name()
      << ": priors and ground truth take no gradient; propagate_down must be true, true, false, "
      << "false.";
  kernels::MultiBoxLoss<Dtype> loss = Loss(bottom, this->template SavedBytes<char>(0));
  Dtype *doffsets = nullptr, *dscores = nullptr;
  if (propagate_down[0]) {
    loss.offsets = Data(context, *bottom[0]);
    loss.priors = Data(context, *bottom[2]);
    loss.truth = Data(context, *bottom[3]);
    doffsets = MutableDiff(context, bottom[0]);
  }
  if (propagate_down[1]) {
    loss.scores = Data(context, *bottom[1]);
    dscores = MutableDiff(context, bottom[1]);
  }
  if (doffsets == nullptr && dscores == nullptr) return;
  kernels::MultiBoxLossBackward(context, loss, Diff(context, *top[0]), doffsets, dscores);
}

INSTANTIATE_CLASS(MultiBoxLossLayer);
REGISTER_FORK_LAYER_CLASS(MultiBoxLoss);
REGISTER_NO_LAYER_AXES(MultiBoxLoss, "a loss is normalized over the whole batch");

}  // namespace caffe

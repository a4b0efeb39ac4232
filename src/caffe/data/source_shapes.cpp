#include "caffe/source_shapes.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <climits>
#include <memory>
#include <mutex>
#include <regex>
#include <set>

#include "caffe/data_transformer.hpp"
#include "caffe/layer.hpp"
#include "caffe/layer_check.hpp"
#include "caffe/layer_factory.hpp"
#include "caffe/util/db.hpp"
#include "caffe/util/failure.hpp"
#include "caffe/util/hdf5.hpp"
#include "caffe/util/hdf5_list.hpp"
#include "caffe/util/image_list.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/layout_proto.hpp"

namespace caffe {

namespace {

bool Exists(const string& path) {
  struct stat status;
  return !path.empty() && stat(path.c_str(), &status) == 0;
}

/// What the layer's parameters say about its first top. 0: unknown.
struct Declared {
  string source;
  int64_t batch = 0;
  int channels = 3;
  int height = 0, width = 0;                  ///< of the images, before resize_param
  int resized_height = 0, resized_width = 0;  ///< after resize_param
  int crop_height = 0, crop_width = 0;
};

/// Whether the type is a source whose first top is images, with a size that the layer may specify.
bool ReadsImages(const string& type) {
  return type == "Data" || type == "ImageData" || type == "DenseImageData" ||
         type == "WindowData" || type == "HDF5Data" || type == "MemoryData" ||
         type == "AnnotatedData" || type == "VideoData";
}

/// Returns the number after "batch_size" in a Python layer's param_str, or 0.
int64_t BatchIn(const string& param_str) {
  static const std::regex pattern("batch_size['\"]?\\s*[:=]\\s*([0-9]{1,9})");
  std::smatch found;
  return std::regex_search(param_str, found, pattern) ? std::stoll(found[1]) : 0;
}

/// What the layer's own parameter says, without the transformation.
Declared DeclareOwn(const LayerParameter& layer) {
  Declared known;
  if (layer.type() == "ImageData") {
    const ImageDataParameter& image = layer.image_data_param();
    known.source = image.source();
    known.batch = image.batch_size();
    known.height = image.new_height();
    known.width = image.new_width();
    if (!image.is_color()) known.channels = 1;
  } else if (layer.type() == "DenseImageData") {
    const DenseImageDataParameter& image = layer.dense_image_data_param();
    known.source = image.source();
    known.batch = image.batch_size();
    known.height = static_cast<int>(image.new_height());
    known.width = static_cast<int>(image.new_width());
    known.crop_height = static_cast<int>(image.crop_height());
    known.crop_width = static_cast<int>(image.crop_width());
    if (!image.is_color()) known.channels = 1;
  } else if (layer.type() == "WindowData") {
    known.source = layer.window_data_param().source();
    known.batch = layer.window_data_param().batch_size();
    known.crop_height = known.crop_width = layer.window_data_param().crop_size();
  } else if (layer.type() == "HDF5Data") {
    known.source = layer.hdf5_data_param().source();
    known.batch = layer.hdf5_data_param().batch_size();
  } else if (layer.type() == "MemoryData") {
    const MemoryDataParameter& memory = layer.memory_data_param();
    known.batch = memory.batch_size();
    known.channels = memory.channels();
    known.height = memory.height();
    known.width = memory.width();
  } else {
    if (ReadsImages(layer.type()) && layer.transform_param().force_gray()) known.channels = 1;
    const auto take = [&known](const auto& param) {
      if (known.source.empty()) known.source = param.source();
      if (known.batch == 0 && param.has_batch_size()) known.batch = param.batch_size();
    };
    take(layer.data_param());
    take(layer.image_data_param());
    take(layer.window_data_param());
    take(layer.hdf5_data_param());
    if (known.batch == 0) known.batch = BatchIn(layer.python_param().param_str());
  }
  return known;
}

Declared Declare(const LayerParameter& layer) {
  Declared known = DeclareOwn(layer);
  const TransformationParameter& transform = layer.transform_param();
  const ResizeParameter& resize = transform.resize_param();
  if (resize.resize_mode() != ResizeParameter::FIT_SMALL_SIZE) {
    known.resized_height = static_cast<int>(resize.height());
    known.resized_width = static_cast<int>(resize.width());
  }
  if (transform.crop_size() > 0) {
    known.crop_height = known.crop_width = static_cast<int>(transform.crop_size());
  } else if (transform.crop_h() > 0 && transform.crop_w() > 0) {
    known.crop_height = static_cast<int>(transform.crop_h());
    known.crop_width = static_cast<int>(transform.crop_w());
  }
  return known;
}

/// Returns channels, height and width of the first record of a database, transformed as by the
/// layer. Aborts if the layer would.
vector<int> RecordShape(const LayerParameter& layer) {
  const DataParameter& param = layer.data_param();
  const std::unique_ptr<db::DB> database(db::GetDB(param.backend()));
  database->Open(param.source(), db::READ);
  const std::unique_ptr<db::Cursor> cursor(database->NewCursor());
  CHECK(cursor->valid()) << "Database " << param.source() << " is empty.";
  AnnotatedDatum annotated;
  Datum& datum = *annotated.mutable_datum();
  CHECK(layer.type() == "AnnotatedData" ? annotated.ParseFromString(cursor->value())
                                        : datum.ParseFromString(cursor->value()))
      << "Database " << param.source() << ": the first record is corrupt.";
  TransformationParameter transform = layer.transform_param();
  transform.clear_emit_constraint();  // concerns only boxes
  if (!Exists(transform.mean_file())) transform.clear_mean_file();
  const vector<int> shape = DataTransformer<float>(transform, layer.phase()).InferBlobShape(datum);
  return {shape.begin() + 1, shape.end()};
}

/// Returns channels, height and width of the first image of a list.
vector<int> ListedShape(const LayerParameter& layer) {
  const string what = "Layer " + layer.name() + ": ";
  const auto shape_of = [&](const auto& param, const vector<ListedImage>& list) -> vector<int> {
    const string path = param.root_folder() + list[0].path;
    Datum datum;
    CHECK(ReadImageToDatum(path, 0, param.is_color(), &datum))
        << what << "the first image of " << param.source() << ", " << path << ", cannot be read.";
    return {datum.channels(), datum.height(), datum.width()};
  };
  if (layer.type() == "ImageData") {
    const ImageDataParameter& param = layer.image_data_param();
    return shape_of(param, ReadImageList(param.source(), what));
  }
  const DenseImageDataParameter& param = layer.dense_image_data_param();
  vector<string> labels;
  return shape_of(param, ReadImagePairs(param.source(), what, &labels));
}

/// Returns the shape that the user gives for this top of the layer; empty if none.
vector<int> GivenShape(const LayerParameter& layer, int top, const DataShapes& given) {
  const auto named = given.tops.find(layer.top(top));
  if (named != given.tops.end()) return named->second;
  return top == 0 ? given.first : vector<int>();
}

#ifdef USE_HDF5
/// Returns the shapes of the tops, with `batch` rows: the given ones, or else those of the datasets
/// in the first file, which is read only if some are not given.
vector<vector<int>> DatasetShapes(const LayerParameter& layer, int batch, const DataShapes& given) {
  vector<vector<int>> shapes;
  bool known = true;
  for (int i = 0; i < layer.top_size(); ++i) {
    shapes.push_back(GivenShape(layer, i, given));
    known = known && !shapes.back().empty();
    shapes.back().insert(shapes.back().begin(), batch);
  }
  if (known) return shapes;
  const string what = "Layer " + layer.name() + ": ";
  const string name = ReadHdf5List(layer.hdf5_data_param().source(), what)[0];
  const FailureScope scope(name.c_str());
  const Hdf5Handle file(hdf5_open_file(name, what), H5Fclose, name);
  for (int i = 0; i < layer.top_size(); ++i) {
    if (!GivenShape(layer, i, given).empty()) continue;
    Blob<float> blob;
    hdf5_load_nd_dataset_helper(file.id(), layer.top(i).c_str(), 1, kMaxBlobAxes, &blob, true);
    shapes[i] = blob.shape();
    shapes[i][0] = batch;
  }
  return shapes;
}
#endif

void WarnOnce(const string& warning) {
  static std::mutex& mutex = *new std::mutex;
  static std::set<string>& told = *new std::set<string>;
  const std::lock_guard<std::mutex> lock(mutex);
  if (told.insert(warning).second) LOG(WARNING) << warning;
}

/// Warns that the size of the images is not the given one.
void WarnOfSize(const LayerParameter& layer, bool cropped, const vector<int>& given,
                const vector<int>& shape) {
  const auto size = [](const vector<int>& of) {
    return std::to_string(of[1]) + " x " + std::to_string(of[2]);
  };
  WarnOnce("Layer " + layer.name() + ": its " + (cropped ? "crop_size" : "resize_param") +
           " makes images of " + size(shape) + " from those of " + size(given) +
           " that --data_shape gives.");
}

/// Explains why the shape is not known from a source: "source "list.txt" is not there"; "" if there
/// is no source.
string Unread(const string& source) {
  if (source.empty()) return "";
  return "source \"" + source + "\" is not " + (Exists(source) ? "read for it" : "there");
}

/// Returns the shape of an item of an image source's first top.
vector<int> ImageShape(const LayerParameter& layer, const Declared& known,
                       const DataShapes& shapes) {
  const bool cropped = known.crop_height > 0;
  const bool sized = cropped || (known.resized_height > 0 && known.resized_width > 0);
  const vector<int> given = GivenShape(layer, 0, shapes);
  vector<int> shape{known.channels, known.height, known.width};
  if (!given.empty()) {
    shape = given;
  } else if ((layer.type() == "Data" || layer.type() == "AnnotatedData") && Exists(known.source)) {
    shape = RecordShape(layer);
  } else if ((layer.type() == "ImageData" || layer.type() == "DenseImageData") && !sized &&
             known.height == 0 && Exists(known.source)) {
    shape = ListedShape(layer);
  }
  if (sized && shape.size() == 3) {
    shape[1] = cropped ? known.crop_height : known.resized_height;
    shape[2] = cropped ? known.crop_width : known.resized_width;
    if (!given.empty() && shape != given) WarnOfSize(layer, cropped, given, shape);
  }
  string why = Unread(known.source);
  if (layer.type() != "HDF5Data")
    why += (why.empty() ? "" : ", and ") + string("there is no crop_size");
  for (int dim : shape) {
    CHECK_GT(dim, 0) << "Layer " << layer.name() << ": the shape of its images is not known ("
                     << why << "); give it with --data_shape=C,H,W.";
  }
  return shape;
}

bool IsRegistered(const string& type) { return LayerRegistry<float>::Registry().count(type) > 0; }

/// Names the layer in messages. Mentions an unknown type, which may be misspelt.
string NameOf(const LayerParameter& layer) {
  const bool known = ReadsImages(layer.type()) || IsRegistered(layer.type());
  return "Layer " + layer.name() + " (" + layer.type() +
         (known ? ")" : ", no type that is known here)");
}

/// Aborts if something is unknown about a source that does not specify its tops. The message lists
/// everything: tops without a given shape, and the batch size.
void RequireShapes(const LayerParameter& layer, bool has_batch, const DataShapes& given) {
  string names, example;
  int unknown = 0;
  for (int i = 0; i < layer.top_size(); ++i) {
    if (!GivenShape(layer, i, given).empty() || (i > 0 && !given.first.empty())) continue;
    names += (unknown == 0 ? " " : ", ") + layer.top(i);
    example += (unknown == 0 ? "" : ",") + layer.top(i) + ":C,H,W";
    ++unknown;
  }
  const string unread = Unread(Declare(layer).source);
  const string batch = has_batch ? "" : " --batch=N";
  CHECK(unknown == 0) << NameOf(layer) << ": the shape" << (unknown > 1 ? "s" : "") << " of its top"
                      << (unknown > 1 ? "s" : "") << names << (unknown > 1 ? " are" : " is")
                      << " not known" << (unread.empty() ? "" : " (" + unread + ")")
                      << (has_batch ? "" : ", nor is its batch size") << "; give "
                      << (unknown > 1 || !has_batch ? "them" : "it")
                      << " with --data_shape=" << example << batch << ".";
}

}  // namespace

bool MayBeMissing(const LayerParameter& layer) {
  return HasLayerCheck(layer.type()) || !IsRegistered(layer.type());
}

bool ReadsOutside(const LayerParameter& layer) {
  if (ReadsImages(layer.type())) return true;
  return layer.bottom_size() == 0 && layer.top_size() > 0 && MayBeMissing(layer);
}

bool HasBatchSize(const LayerParameter& layer) { return ReadsImages(layer.type()); }

vector<vector<int>> SourceTopShapes(const LayerParameter& layer, const DataShapes& given) {
  CHECK(given.first.empty() || given.first.size() == 3)
      << "a data shape has three numbers: channels, height, width";
  const FailureScope scope(layer);
  const Declared known = Declare(layer);
  const bool images = ReadsImages(layer.type());
  const bool has_batch = known.batch > 0 && known.batch <= INT_MAX;
  if (!images) RequireShapes(layer, has_batch, given);
  CHECK(has_batch) << NameOf(layer) << ": batch_size must be 1 to 2147483647"
                   << (images ? "." : "; give it with --batch=N.");
  const int batch = static_cast<int>(known.batch);
#ifdef USE_HDF5
  if (layer.type() == "HDF5Data" && Exists(known.source)) return DatasetShapes(layer, batch, given);
#endif
  vector<vector<int>> shapes;
  for (int i = 0; i < layer.top_size(); ++i) {
    vector<int> shape =
        images && i == 0 ? ImageShape(layer, known, given) : GivenShape(layer, i, given);
    if (i == 1 && layer.type() == "AnnotatedData") {
      int64_t boxes = batch;
      if (shape.empty()) shape = {kAnnotatedBoxes};
      for (int dim : shape) {
        boxes *= dim;
        CHECK_LE(boxes, INT_MAX) << "Layer " << layer.name() << ": too many boxes in a batch.";
      }
      shapes.push_back({1, 1, static_cast<int>(boxes), 8});
      continue;
    }
    if (i > 0 && shape.empty() && layer.type() == "HDF5Data") {
      WarnOnce("Layer " + layer.name() + ": the shape of its top " + layer.top(i) +
               " is not known (" + Unread(known.source) +
               "); it is taken for one number of each item. Another one is given with "
               "--data_shape=" +
               layer.top(i) + ":N,...");
    }
    if (i == 1 && layer.type() == "DenseImageData" && shape.empty())
      shape = {1, shapes[0][2], shapes[0][3]};
    shape.insert(shape.begin(), batch);
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

void SetSourceBatch(int batch, LayerParameter* layer) {
  const string& type = layer->type();
  if (type == "ImageData") {
    layer->mutable_image_data_param()->set_batch_size(batch);
  } else if (type == "DenseImageData") {
    layer->mutable_dense_image_data_param()->set_batch_size(batch);
  } else if (type == "WindowData") {
    layer->mutable_window_data_param()->set_batch_size(batch);
  } else if (type == "HDF5Data") {
    layer->mutable_hdf5_data_param()->set_batch_size(batch);
  } else if (type == "MemoryData") {
    layer->mutable_memory_data_param()->set_batch_size(batch);
  } else {
    layer->mutable_data_param()->set_batch_size(batch);
  }
}

namespace {

/// Turns the layer into one of `type`, which only has tops, with the shapes in input_param.
void ReplaceByShapes(const string& type, const vector<vector<int>>& shapes, LayerParameter* layer) {
  layer->set_type(type);
  layer->clear_input_param();
  for (const vector<int>& shape : shapes) {
    BlobShape* added = layer->mutable_input_param()->add_shape();
    for (int dim : shape) added->add_dim(dim);
  }
}

/// Whether the name is that of a loss; Caffe's losses have a default weight of 1.
bool HasLossName(const string& type) { return type.ends_with("Loss") || type.ends_with("_LOSS"); }

}  // namespace

NetParameter WithOpaqueLayers(const NetParameter& param, const map<string, vector<int>>& shapes) {
  NetParameter result = param;
  for (LayerParameter& layer : *result.mutable_layer()) {
    vector<vector<int>> tops;
    for (const string& top : layer.top()) {
      if (const auto shape = shapes.find(top); shape != shapes.end()) tops.push_back(shape->second);
    }
    if (!MayBeMissing(layer) || tops.size() < static_cast<size_t>(layer.top_size())) continue;
    // A layer without tops needs no shapes; known ones stay as they are.
    const bool is_here = IsRegistered(layer.type()) && LayerProblem(layer).empty();
    if (tops.empty() && (is_here || layer.bottom_size() == 0)) continue;
    if (HasLossName(layer.type()) && layer.loss_weight_size() == 0) {
      for (int i = 0; i < layer.top_size(); ++i) layer.add_loss_weight(i == 0 ? 1 : 0);
    }
    layer.clear_param();
    layer.clear_blobs();
    ReplaceByShapes(layer.bottom_size() > 0 ? "Opaque" : "ShapeOnlySource", tops, &layer);
  }
  return result;
}

NetParameter WithoutSources(const NetParameter& param, const DataShapes& given) {
  NetParameter result = param;
  for (LayerParameter& layer : *result.mutable_layer()) {
    if (!ReadsOutside(layer)) continue;
    vector<vector<int>> shapes = SourceTopShapes(layer, given);
    for (vector<int>& shape : shapes) {
      if (layer.has_layout() && !shape.empty())
        shape[0] = static_cast<int>(shape[0] / Parts(FromProto(layer.layout()), 0));
    }
    ReplaceByShapes("ShapeOnlySource", shapes, &layer);
  }
  return result;
}

}  // namespace caffe

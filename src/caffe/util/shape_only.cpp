#include "caffe/util/shape_only.hpp"

#include <sys/stat.h>

#include <memory>
#include <sstream>

#include "caffe/util/db.hpp"
#include "caffe/util/failure.hpp"
#include "caffe/util/hdf5.hpp"
#include "caffe/util/image_list.hpp"
#include "caffe/util/io.hpp"

namespace caffe {

namespace {

thread_local int active_scopes = 0;

bool Exists(const string& path) {
  struct stat status;
  return !path.empty() && stat(path.c_str(), &status) == 0;
}

/// What is known of the layer's first top without looking at its source. 0: not known.
struct Declared {
  string source;
  int batch = 0;
  int crop = 0;
  int height = 0, width = 0;  ///< after resizing, before cropping
  int channels = 3;
};

Declared Declare(const LayerParameter& layer) {
  Declared known;
  const TransformationParameter& transform = layer.transform_param();
  known.crop = transform.crop_size();
  if (layer.type() == "Data") {
    if (transform.force_gray()) known.channels = 1;
    known.source = layer.data_param().source();
    known.batch = layer.data_param().batch_size();
  } else if (layer.type() == "ImageData") {
    const ImageDataParameter& image = layer.image_data_param();
    known.source = image.source();
    known.batch = image.batch_size();
    known.height = image.new_height();
    known.width = image.new_width();
    if (!image.is_color()) known.channels = 1;
  } else if (layer.type() == "WindowData") {
    known.source = layer.window_data_param().source();
    known.batch = layer.window_data_param().batch_size();
    if (known.crop == 0) known.crop = layer.window_data_param().crop_size();
  } else if (layer.type() == "HDF5Data") {
    known.source = layer.hdf5_data_param().source();
    known.batch = layer.hdf5_data_param().batch_size();
  } else {
    const MemoryDataParameter& memory = layer.memory_data_param();
    known.batch = memory.batch_size();
    known.channels = memory.channels();
    known.height = memory.height();
    known.width = memory.width();
  }
  return known;
}

/// Channels, height and width of the first record of a database.
vector<int> RecordShape(const DataParameter& param, const TransformationParameter& transform) {
  const std::unique_ptr<db::DB> database(db::GetDB(param.backend()));
  database->Open(param.source(), db::READ);
  const std::unique_ptr<db::Cursor> cursor(database->NewCursor());
  CHECK(cursor->valid()) << "Database " << param.source() << " is empty.";
  Datum datum;
  CHECK(datum.ParseFromString(cursor->value()))
      << "Database " << param.source() << ": the first record is corrupt.";
  if (transform.force_color() || transform.force_gray()) {
    DecodeDatum(&datum, transform.force_color());
  } else {
    DecodeDatumNative(&datum);
  }
  return {datum.channels(), datum.height(), datum.width()};
}

/// Channels, height and width of the first image of a list.
vector<int> ListedShape(const LayerParameter& layer) {
  const ImageDataParameter& param = layer.image_data_param();
  const string what = "Layer " + layer.name() + ": ";
  const string path = param.root_folder() + ReadImageList(param.source(), what)[0].path;
  Datum datum;
  CHECK(ReadImageToDatum(path, 0, param.is_color(), &datum))
      << what << "the first image of " << param.source() << ", " << path << ", cannot be read.";
  return {datum.channels(), datum.height(), datum.width()};
}

#ifdef USE_HDF5
/// Shapes of the tops: those of the datasets in the first file, with `batch` rows.
vector<vector<int>> DatasetShapes(const LayerParameter& layer, int batch) {
  const string& source = layer.hdf5_data_param().source();
  string text, name;
  CHECK(ReadFileToString(source, &text) && std::istringstream(text) >> name)
      << "Layer " << layer.name() << ": " << source << " names no HDF5 file.";
  const FailureScope scope(name.c_str());
  const Hdf5Handle file(hdf5_open_file(name, "Layer " + layer.name() + ": "), H5Fclose, name);
  vector<vector<int>> shapes;
  for (const string& top : layer.top()) {
    Blob<float> blob;
    hdf5_load_nd_dataset_helper(file.id(), top.c_str(), 1, kMaxBlobAxes, &blob, true);
    shapes.push_back(blob.shape());
    shapes.back()[0] = batch;
  }
  return shapes;
}
#endif

/// Shape of the first top of an image source.
vector<int> ImageShape(const LayerParameter& layer, const Declared& known,
                       const vector<int>& data_shape) {
  vector<int> shape{known.channels, known.height, known.width};
  if (layer.type() == "Data" && Exists(known.source)) {
    shape = RecordShape(layer.data_param(), layer.transform_param());
  } else if (!data_shape.empty()) {
    shape = data_shape;
  } else if (layer.type() == "ImageData" && known.crop == 0 && known.height == 0 &&
             Exists(known.source)) {
    shape = ListedShape(layer);
  }
  if (known.crop > 0) shape[1] = shape[2] = known.crop;
  CHECK(shape[0] > 0 && shape[1] > 0 && shape[2] > 0)
      << "Layer " << layer.name() << ": the shape of its images is not known (source \""
      << known.source
      << "\" is not read or not there, and there is no crop_size); give it with "
         "--data_shape=C,H,W.";
  shape.insert(shape.begin(), known.batch);
  return shape;
}

}  // namespace

bool ReadsOutside(const string& type) {
  return type == "Data" || type == "ImageData" || type == "WindowData" || type == "HDF5Data" ||
         type == "MemoryData";
}

vector<vector<int>> SourceTopShapes(const LayerParameter& layer, const vector<int>& data_shape) {
  CHECK(data_shape.empty() || data_shape.size() == 3)
      << "a data shape has three numbers: channels, height, width";
  const FailureScope scope(layer);
  const Declared known = Declare(layer);
  CHECK_GT(known.batch, 0) << "Layer " << layer.name() << " (" << layer.type()
                           << "): batch_size must be 1 to 2147483647.";
#ifdef USE_HDF5
  if (layer.type() == "HDF5Data" && Exists(known.source)) return DatasetShapes(layer, known.batch);
#endif
  vector<vector<int>> shapes(layer.top_size(), vector<int>{known.batch});
  if (!shapes.empty()) shapes[0] = ImageShape(layer, known, data_shape);
  return shapes;
}

ShapeOnlyScope::ShapeOnlyScope() { ++active_scopes; }
ShapeOnlyScope::~ShapeOnlyScope() { --active_scopes; }
bool ShapeOnlyScope::Active() { return active_scopes > 0; }

NetParameter WithoutSources(const NetParameter& param, const vector<int>& data_shape) {
  NetParameter result = param;
  for (LayerParameter& layer : *result.mutable_layer()) {
    if (!ReadsOutside(layer.type())) continue;
    const vector<vector<int>> shapes = SourceTopShapes(layer, data_shape);
    layer.set_type("ShapeOnlySource");
    for (const vector<int>& shape : shapes) {
      BlobShape* added = layer.mutable_input_param()->add_shape();
      for (int dim : shape) added->add_dim(dim);
    }
  }
  return result;
}

}  // namespace caffe

// The program convert_annoset: puts the images of a list, and the objects in them, into a database
// for AnnotatedData layers.
#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "caffe/util/image_list.hpp"
#include "shared/image_set.hpp"
#include "shared/start.hpp"

DEFINE_string(anno_type, "classification", "What LIST tells of images: classification, detection.");
DEFINE_string(label_type, "xml", "The format of files with objects: xml, json or txt.");
DEFINE_string(label_map_file, "", "The names of classes, and their labels.");
DEFINE_bool(check_label, false, "End where LABEL_MAP has a name or a label twice.");
DEFINE_int32(min_dim, 0, "The shorter side that images are resized to; 0: as they are.");
DEFINE_int32(max_dim, 0, "The longer side that images are resized to, at most; 0: any.");

namespace {

using caffe::AnnotatedDatum;

constexpr tools::Help kHelp = {
    "convert_annoset", "[FLAGS] FOLDER/ LIST DATABASE",
    R"(Puts images, and the objects in them, into a new database for AnnotatedData layers. A line of
LIST is the path of an image and, for detection, that of a file with its objects: a.jpg a.xml; else
an integer label. FOLDER/ is put before both. Images that cannot be read are left out, and told of;
one whose file of objects is not there has none.

  --anno_type=detection   objects in files; classification, the default: a label for each image
  --label_type=xml        files as those of PASCAL VOC; json: as COCO's, one for each image; txt:
                          lines "label xmin ymin xmax ymax", in pixels
  --label_map_file=FILE   the names of classes, and their labels: item { name: "cat" label: 1 }
  --check_label           end where that file has a name or a label twice
  --min_dim=0             resize so that the shorter side is this long
  --max_dim=0             and the longer side at most this
  --resize_width=0        or resize to this width, where both are set
  --resize_height=0       and height
  --gray                  read images as gray ones
  --shuffle               shuffle the images
  --seed=N                with --shuffle: in the order that belongs to N
  --backend=lmdb          the database: lmdb or leveldb
  --check_size            end where images have different sizes
  --encoded               store images as files, not as pixels
  --encode_type=png       in this format; without it, in the image's own)"};

/// A box around an object, in pixels.
struct Object {
  int label = 0;
  double xmin = 0, ymin = 0, xmax = 0, ymax = 0;
  bool difficult = false;
};

struct Image {
  std::string path;
  int line = 0;   ///< of the list
  int label = 0;  ///< for classification
  std::vector<Object> objects;
  double width = 0, height = 0;  ///< the image size that boxes refer to; 0: that of the image file
};

using Labels = std::map<std::string, int>;

Labels ReadLabelMap() {
  CHECK(!FLAGS_label_map_file.empty())
      << "--label_map_file=FILE is needed: the names of classes, and their labels.";
  caffe::LabelMap map;
  CHECK(caffe::ReadProtoFromTextFile(FLAGS_label_map_file, &map))
      << "--label_map_file=" << FLAGS_label_map_file << " cannot be read as a LabelMap.";
  Labels labels;
  std::map<int, std::string> names;
  for (const caffe::LabelMapItem& item : map.item()) {
    const bool new_name = labels.emplace(item.name(), item.label()).second;
    const bool new_label = names.emplace(item.label(), item.name()).second;
    CHECK(!FLAGS_check_label || (new_name && new_label))
        << FLAGS_label_map_file << " has "
        << (new_name ? "label " + std::to_string(item.label()) : "name " + item.name())
        << " twice; --check_label=false allows that.";
    labels[item.name()] = item.label();
  }
  return labels;
}

/// The label of a class. Throws std::runtime_error if there is no such class.
int LabelOf(const Labels& labels, const std::string& name) {
  const auto found = labels.find(name);
  if (found == labels.end()) {
    throw std::runtime_error("class '" + name +
                             "' is not in --label_map_file=" + FLAGS_label_map_file);
  }
  return found->second;
}

/// Reads annotations in the format of PASCAL VOC. Throws exceptions of the parser, or
/// std::runtime_error.
void ReadXml(const std::string& text, const Labels& labels, Image* image) {
  std::istringstream file(text);
  boost::property_tree::ptree tree;
  boost::property_tree::read_xml(file, tree);
  const auto& annotation = tree.get_child("annotation");
  image->width = annotation.get("size.width", 0.0);
  image->height = annotation.get("size.height", 0.0);
  for (const auto& [name, object] : annotation) {
    if (name != "object") continue;
    const auto& box = object.get_child("bndbox");
    image->objects.push_back({LabelOf(labels, object.get<std::string>("name")),
                              box.get<double>("xmin"), box.get<double>("ymin"),
                              box.get<double>("xmax"), box.get<double>("ymax"),
                              object.get("difficult", 0) != 0});
  }
}

/// {"image": {"width": w, "height": h}, "annotation": [{"category_id": 1, "bbox": [x, y, w, h]}]}
void ReadJson(const std::string& text, const Labels& labels, Image* image) {
  const nlohmann::json file = nlohmann::json::parse(text);
  image->width = file.at("image").at("width");
  image->height = file.at("image").at("height");
  for (const nlohmann::json& object : file.at("annotation")) {
    const nlohmann::json& category = object.at("category_id");
    const std::string name = category.is_string() ? category.get<std::string>() : category.dump();
    const auto box = object.at("bbox").get<std::array<double, 4>>();
    const nlohmann::json crowd = object.value("iscrowd", nlohmann::json(0));
    image->objects.push_back({LabelOf(labels, name), box[0], box[1], box[0] + box[2],
                              box[1] + box[3], crowd != 0 && crowd != false});
  }
}

/// Reads lines "label xmin ymin xmax ymax".
void ReadText(const std::string& text, Image* image) {
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    if ((words >> std::ws).eof()) continue;
    Object object;
    if (!(words >> object.label >> object.xmin >> object.ymin >> object.xmax >> object.ymax) ||
        !(words >> std::ws).eof()) {
      throw std::runtime_error("line " + std::to_string(number) +
                               " must be \"label xmin ymin xmax ymax\"");
    }
    image->objects.push_back(object);
  }
}

/// Reads the objects in the annotation file `file`. `where` names the line of the list, for
/// messages.
void ReadObjects(const std::string& file, const std::string& where, const Labels& labels,
                 Image* image) {
  std::error_code unknown;
  if (!std::filesystem::exists(file, unknown)) {
    LOG(WARNING) << where << ": " << file << " is not there; the image has no objects.";
    return;
  }
  std::string text;
  CHECK(caffe::ReadFileToString(file, &text)) << where << ": " << file << " cannot be read.";
  try {
    if (FLAGS_label_type == "xml") {
      ReadXml(text, labels, image);
    } else if (FLAGS_label_type == "json") {
      ReadJson(text, labels, image);
    } else {
      ReadText(text, image);
    }
  } catch (const std::exception& error) {
    LOG(FATAL) << where << ": " << file << " cannot be read as --label_type=" << FLAGS_label_type
               << ": " << error.what() << ".";
  }
  for (const Object& object : image->objects) {
    const bool inside = object.xmin >= 0 && object.ymin >= 0 &&
                        (image->width <= 0 || object.xmax <= image->width) &&
                        (image->height <= 0 || object.ymax <= image->height);
    LOG_IF(WARNING, !inside) << where << ": " << file << " has a box beyond the image, to ("
                             << object.xmax << ", " << object.ymax << ").";
    CHECK(object.xmin <= object.xmax && object.ymin <= object.ymax)
        << where << ": " << file << " has a box from (" << object.xmin << ", " << object.ymin
        << ") to (" << object.xmax << ", " << object.ymax << "): the end is before the beginning.";
  }
}

std::vector<Image> ReadDetectionList(const std::string& list, const std::string& folder) {
  const Labels labels = FLAGS_label_type == "txt" ? Labels() : ReadLabelMap();
  std::string text;
  CHECK(caffe::ReadFileToString(list, &text)) << "cannot open the image list " << list << ".";
  std::istringstream file(text);
  std::vector<Image> images;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    constexpr char kBlanks[] = " \t\r";
    line.erase(line.find_last_not_of(kBlanks) + 1);
    if (line.empty()) continue;
    const std::string where = list + ":" + std::to_string(number);
    const size_t blank = line.find_last_of(kBlanks);
    CHECK(blank != std::string::npos)
        << where << ": a line must be the path of an image and that of its file of objects.";
    Image image;
    image.path = line.substr(0, line.find_last_not_of(kBlanks, blank) + 1);
    image.line = number;
    ReadObjects(folder + line.substr(blank + 1), where, labels, &image);
    images.push_back(std::move(image));
  }
  CHECK(!images.empty()) << "the image list " << list << " names no image.";
  return images;
}

std::vector<Image> ReadClassificationList(const std::string& list) {
  std::vector<Image> images;
  for (const caffe::ListedImage& listed : caffe::ReadImageList(list, "")) {
    images.emplace_back();
    images.back().path = listed.path;
    images.back().line = listed.line;
    images.back().label = listed.label;
  }
  return images;
}

/// Reads the size of an image; false if the file cannot be read as an image.
bool SizeOf(const std::string& file, int* height, int* width) {
#ifdef USE_OPENCV
  const cv::Mat image = caffe::ReadImageToCVMat(file, true);
  *height = image.rows;
  *width = image.cols;
  return !image.empty();
#else
  return false;
#endif
}

/// Changes an image's size to the one that --min_dim and --max_dim ask for.
void Resize(int* height, int* width) {
  const double shorter = std::min(*height, *width), longer = std::max(*height, *width);
  double scale = FLAGS_min_dim > 0 ? FLAGS_min_dim / shorter : FLAGS_max_dim / longer;
  if (FLAGS_max_dim > 0) scale = std::min(scale, FLAGS_max_dim / longer);
  for (int* const side : {height, width})
    *side = std::max(1, static_cast<int>(std::lround(*side * scale)));
}

/// Adds the objects to the record, grouped by label, in the order of the file.
void AddObjects(const Image& image, double height, double width, AnnotatedDatum* record) {
  std::map<int, caffe::AnnotationGroup*> groups;
  for (const Object& object : image.objects) {
    caffe::AnnotationGroup*& group = groups[object.label];
    if (!group) group = record->add_annotation_group();
    group->set_group_label(object.label);
    caffe::Annotation* const annotation = group->add_annotation();
    annotation->set_instance_id(group->annotation_size() - 1);
    caffe::NormalizedBBox* const box = annotation->mutable_bbox();
    box->set_xmin(static_cast<float>(object.xmin / width));
    box->set_ymin(static_cast<float>(object.ymin / height));
    box->set_xmax(static_cast<float>(object.xmax / width));
    box->set_ymax(static_cast<float>(object.ymax / height));
    box->set_difficult(object.difficult);
  }
}

bool ReadRecord(const std::string& folder, const Image& image, AnnotatedDatum* record) {
  const std::string file = folder + image.path;
  int height = std::max(0, FLAGS_resize_height), width = std::max(0, FLAGS_resize_width);
  const bool keeps_ratio = height == 0 && (FLAGS_min_dim > 0 || FLAGS_max_dim > 0);
  double whole_height = image.height, whole_width = image.width;
  const bool unknown = !image.objects.empty() && (whole_height <= 0 || whole_width <= 0);
  if (keeps_ratio || unknown) {
    int image_height = 0, image_width = 0;
    if (!SizeOf(file, &image_height, &image_width)) return false;
    if (unknown) {
      whole_height = image_height;
      whole_width = image_width;
    }
    if (keeps_ratio) {
      Resize(&image_height, &image_width);
      height = image_height;
      width = image_width;
    }
  }
  if (!caffe::ReadImageToDatum(file, image.label, height, width, !FLAGS_gray,
                               tools::Encoding(image.path), record->mutable_datum()))
    return false;
  if (FLAGS_anno_type != "detection") return true;
  record->set_type(AnnotatedDatum::BBOX);
  AddObjects(image, whole_height, whole_width, record);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (const std::optional<int> code = tools::Start(&argc, &argv, kHelp, 3, 3)) return *code;
  const std::string folder = argv[1], list = argv[2];
  tools::CheckFlags();
  CHECK(FLAGS_anno_type == "classification" || FLAGS_anno_type == "detection")
      << "--anno_type=" << FLAGS_anno_type << ": it must be classification or detection.";
  CHECK(FLAGS_label_type == "xml" || FLAGS_label_type == "json" || FLAGS_label_type == "txt")
      << "--label_type=" << FLAGS_label_type << ": it must be xml, json or txt.";
  const std::vector<Image> images = FLAGS_anno_type == "detection" ? ReadDetectionList(list, folder)
                                                                   : ReadClassificationList(list);
  tools::CheckEncodings(images, FLAGS_resize_width > 0 || FLAGS_min_dim > 0 || FLAGS_max_dim > 0);
  tools::WriteDatabase<AnnotatedDatum>(
      images, list, argv[3],
      [&](const Image& image, AnnotatedDatum* record) { return ReadRecord(folder, image, record); },
      [](const AnnotatedDatum& record) -> const caffe::Datum& { return record.datum(); });
  return 0;
}

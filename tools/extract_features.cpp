// The program extract_features: writes the values of blobs of a trained net, batch by batch, into
// databases.
#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <climits>
#include <memory>
#include <string>
#include <vector>

#include "caffe/net.hpp"
#include "caffe/util/format.hpp"
#include "shared/progress.hpp"
#include "shared/record_writer.hpp"
#include "shared/start.hpp"

namespace {

using caffe::Blob;
using caffe::Caffe;
using caffe::Datum;

constexpr tools::Help kHelp = {
    "extract_features",
    "WEIGHTS MODEL BLOB[,BLOB] DATABASE[,DATABASE] BATCHES BACKEND "
    "[CPU|GPU] [DEVICE_ID=N]",
    R"(Runs the net of MODEL, in the TEST phase, with the weights of WEIGHTS on so many BATCHES of its
data, and writes what each BLOB holds into the new DATABASE at its place: a Datum of floats for each
item, with the keys 0000000000, 0000000001, ... BACKEND is lmdb or leveldb.)"};

constexpr int kKeyDigits = 10;

std::vector<std::string> Names(const std::string& list) {
  std::vector<std::string> names;
  boost::split(names, list, boost::is_any_of(","));
  return names;
}

/// `text` as a whole number of at least `least`. Aborts if it is not one; the message names `what`.
int Number(const std::string& text, const std::string& what, int least) {
  size_t used = 0;
  int number = 0;
  try {
    number = std::stoi(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  CHECK(used == text.size() && used > 0 && number >= least)
      << what << " must be a whole number from " << least << "; it is '" << text << "'.";
  return number;
}

/// Sets the device from the last arguments: none (the CPU), CPU, or GPU with an id such as "1" or
/// "DEVICE_ID=1".
void SetDevice(const std::vector<std::string>& arguments) {
  Caffe::set_mode(Caffe::CPU);
  if (arguments.empty()) return;
  CHECK(arguments[0] == "CPU" || arguments[0] == "GPU")
      << "The device is CPU or GPU, not '" << arguments[0] << "'.";
  const std::string prefix = "DEVICE_ID=";
  std::string id = arguments.size() > 1 ? arguments[1] : "0";
  if (id.compare(0, prefix.size(), prefix) == 0) id.erase(0, prefix.size());
  const int device = Number(id, "DEVICE_ID", 0);
  if (arguments[0] == "CPU") {
    LOG(ERROR) << "Using CPU";
    return;
  }
  LOG(ERROR) << "Using GPU";
  LOG(ERROR) << "Using Device_id=" << device;
  Caffe::SetDevice(device);
  Caffe::set_mode(Caffe::GPU);
}

void CheckShape(const std::string& name, const Blob<float>& blob) {
  CHECK(blob.num_axes() > 0 && blob.num_axes() <= 4)
      << "Blob " << name << " has shape " << blob.shape_string()
      << ": features have items, and up to three axes more.";
}

/// A blob and where its values go.
class Extraction {
 public:
  Extraction(const std::string& name, const std::string& path, const std::string& backend)
      : name_(name), writer_(path, backend, [name](int records) {
          LOG(ERROR) << "Extracted features of " << records << " query images for feature blob "
                     << name;
        }) {}

  void Write(const Blob<float>& blob) {
    CheckShape(name_, blob);  // its shape may have changed
    for (int i = 0; i < blob.shape(0); ++i) {
      Datum datum;
      datum.set_channels(blob.channels());
      datum.set_height(blob.height());
      datum.set_width(blob.width());
      const float* values = blob.cpu_data() + int64_t{i} * blob.count(1);
      datum.mutable_float_data()->Add(values, values + blob.count(1));
      writer_.Put(caffe::format_int(writer_.records(), kKeyDigits), datum);
    }
  }

  void Finish() { writer_.Finish(); }
  const std::string& name() const { return name_; }

 private:
  const std::string name_;
  tools::RecordWriter writer_;
};

}  // namespace

int main(int argc, char** argv) {
  if (const std::optional<int> code = tools::Start(&argc, &argv, kHelp, 6, 8)) return *code;
  const std::string weights = argv[1], model = argv[2];
  const std::vector<std::string> blobs = Names(argv[3]), databases = Names(argv[4]);
  CHECK_EQ(blobs.size(), databases.size())
      << "the number of blob names and dataset names must be equal: there are " << blobs.size()
      << " and " << databases.size() << ".";
  for (auto database = databases.begin(); database != databases.end(); ++database) {
    CHECK(std::find(databases.begin(), database, *database) == database)
        << "Database " << *database << " is named twice; give each blob a database of its own.";
  }
  const int batches = Number(argv[5], "The number of batches", 1);
  const std::string backend = argv[6];
  SetDevice({argv + 7, argv + argc});

  caffe::Net<float> net(model, caffe::TEST);
  net.CopyTrainedLayersFrom(weights);
  for (const std::string& blob : blobs) {
    CHECK(net.has_blob(blob)) << "Unknown feature blob name " << blob << " in the network " << model
                              << ".";
    CheckShape(blob, *net.blob_by_name(blob));
  }
  std::vector<std::unique_ptr<Extraction>> extractions;
  for (size_t i = 0; i < blobs.size(); ++i) {
    LOG(INFO) << "Opening dataset " << databases[i];
    extractions.push_back(std::make_unique<Extraction>(blobs[i], databases[i], backend));
  }
  LOG(ERROR) << "Extracting Features";
  tools::Progress progress("batches", batches);
  for (int batch = 0; batch < batches; ++batch) {
    net.Forward();
    for (const auto& extraction : extractions)
      extraction->Write(*net.blob_by_name(extraction->name()));
    progress.Done(batch + 1);
  }
  for (const auto& extraction : extractions) extraction->Finish();
  LOG(ERROR) << "Successfully extracted the features!";
  return 0;
}

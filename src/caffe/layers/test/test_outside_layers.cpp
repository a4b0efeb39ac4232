// Layers that reach outside the net: HDF5Output, Python; and Parameter, which has no bottom.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "caffe/layers/hdf5_output_layer.hpp"
#include "caffe/layers/python_layer.hpp"
#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"
#include "caffe/test/test_gradient_check_util.hpp"
#include "caffe/util/hdf5.hpp"
#include "caffe/util/io.hpp"

namespace caffe {
namespace {

const char kPython[] =
    "name: 'py' type: 'Python' python_param { module: 'half' layer: 'Half' param_str: '0.5' }";

#ifdef USE_HDF5
string Output(const string& file) {
  return "name: 'out' type: 'HDF5Output' hdf5_output_param { file_name: '" + file + "' }";
}

/// The shape of dataset `name` of the file, then its values.
vector<double> Stored(const string& file, const string& name) {
  const hid_t id = hdf5_open_file(file);
  Blob<double> blob;
  hdf5_load_nd_dataset(id, name.c_str(), 0, 10, &blob, true);
  H5Fclose(id);
  vector<double> result(blob.shape().begin(), blob.shape().end());
  result.insert(result.end(), blob.cpu_data(), blob.cpu_data() + blob.count());
  return result;
}

TEST(HDF5Output, FileHoldsTheValuesOfTheLatestForward) {
  string folder;
  MakeTempDir(&folder);
  const string file = folder + "/out.h5";
  auto x = BlobOf({2, 3}, {1, 2, 3, 4, 5, 6}), label = BlobOf({2}, {7, 8});
  auto layer = MakeLayer(Output(file));
  layer->SetUp({x.get(), label.get()}, {});
  EXPECT_EQ(dynamic_cast<HDF5OutputLayer<double>&>(*layer).file_name(), file);
  EXPECT_FALSE(layer->Traits({x.get(), label.get()}, {}, {false, false}).repeatable);
  for (int pass = 0; pass < 2; ++pass) {
    x->mutable_cpu_data()[5] = pass;
    layer->Forward({x.get(), label.get()}, {});
  }
  layer.reset();
  EXPECT_EQ(Stored(file, HDF5_DATA_DATASET_NAME), (vector<double>{2, 3, 1, 1, 1, 2, 3, 4, 5, 1}));
  EXPECT_EQ(Stored(file, HDF5_DATA_LABEL_NAME), (vector<double>{2, 1, 1, 1, 7, 8}));
}

TEST(HDF5Output, LeavesAnOlderFileAloneUntilItRuns) {
  string folder;
  MakeTempDir(&folder);
  const string file = folder + "/out.h5";
  std::ofstream(file) << "older";
  auto x = RandomBlob({2, 3}, 1);
  MakeLayer(Output(file))->SetUp({x.get(), x.get()}, {});
  string word;
  std::ifstream(file) >> word;
  EXPECT_EQ(word, "older");
}

TEST(HDF5OutputErrors, NamesTheLayerAndTheFile) {
  auto x = RandomBlob({2, 3}, 1), label = RandomBlob({3}, 2);
  auto nowhere = MakeLayer(Output("/nowhere/at/all.h5"));
  nowhere->SetUp({x.get(), x.get()}, {});
  EXPECT_ERROR(nowhere->Forward({x.get(), x.get()}, {}),
               "Layer out: Failed to open HDF5 file '/nowhere/at/all.h5'");
  string folder;
  MakeTempDir(&folder);
  ASSERT_EQ(mkfifo((folder + "/pipe").c_str(), 0600), 0);
  auto pipe = MakeLayer(Output(folder + "/pipe"));
  pipe->SetUp({x.get(), x.get()}, {});
  EXPECT_ERROR(pipe->Forward({x.get(), x.get()}, {}), "Layer out: '.*/pipe' is a pipe");
  if (geteuid() == 0) {  // who alone can make the link of another user
    std::ofstream(folder + "/target") << "older";
    for (const char* to : {"target", "none"}) {
      const string path = folder + "/link to " + to;
      ASSERT_EQ(symlink(to, path.c_str()), 0);
      ASSERT_EQ(lchown(path.c_str(), 12345, 12345), 0);
      auto link = MakeLayer(Output(path));
      link->SetUp({x.get(), x.get()}, {});
      EXPECT_ERROR(
          link->Forward({x.get(), x.get()}, {}),
          "Layer out: Cannot write .*/link to .*: it is a symbolic link that another user");
    }
    string word;
    std::ifstream(folder + "/target") >> word;
    EXPECT_EQ(word, "older");
    EXPECT_FALSE(std::filesystem::exists(folder + "/none"));
  }
  EXPECT_ERROR(MakeLayer(Output(folder + "/a.h5"))->SetUp({x.get(), label.get()}, {}),
               "Layer out: bottom 0, .* must have as many items as bottom 1");
}
#endif

/// y = x * w, where w is a parameter that param_str initialises.
class Half : public PythonBody<double> {
 public:
  using Blobs = vector<Blob<double>*>;
  explicit Half(Layer<double>* layer) : layer_(layer) {}
  void SetUp(const Blobs&, const Blobs&) override {
    layer_->blobs().emplace_back(new Blob<double>(vector<int>{1}));
    layer_->blobs()[0]->mutable_cpu_data()[0] =
        std::stod(layer_->layer_param().python_param().param_str());
  }
  void Reshape(const Blobs& bottom, const Blobs& top) override { top[0]->ReshapeLike(*bottom[0]); }
  void Forward(const Blobs& bottom, const Blobs& top) override {
    const double w = layer_->blobs()[0]->cpu_data()[0];
    for (int i = 0; i < top[0]->count(); ++i)
      top[0]->mutable_cpu_data()[i] = w * bottom[0]->cpu_data()[i];
  }
  void Backward(const Blobs& top, const vector<bool>& propagate_down,
                const Blobs& bottom) override {
    const double w = layer_->blobs()[0]->cpu_data()[0];
    for (int i = 0; i < top[0]->count(); ++i) {
      layer_->blobs()[0]->mutable_cpu_diff()[0] += top[0]->cpu_diff()[i] * bottom[0]->cpu_data()[i];
      if (propagate_down[0]) bottom[0]->mutable_cpu_diff()[i] = w * top[0]->cpu_diff()[i];
    }
  }

 private:
  Layer<double>* const layer_;
};

/// While it lives, the program has a class half.Half.
struct Installed {
  Installed() {
    PythonLayer<double>::SetBodyMaker([](Layer<double>* layer) {
      const bool known = layer->layer_param().python_param().layer() == "Half";
      return known ? std::make_unique<Half>(layer) : nullptr;
    });
  }
  ~Installed() { PythonLayer<double>::SetBodyMaker(nullptr); }
};

TEST(Python, CallsItsBody) {
  const Installed installed;
  auto x = BlobOf({2}, {4, 6});
  Blob<double> y;
  auto layer = MakeLayer(kPython);
  layer->SetUp({x.get()}, {&y});
  EXPECT_FALSE(layer->Traits({x.get()}, {&y}, {true}).declared);
  layer->Forward({x.get()}, {&y});
  EXPECT_EQ(DataOf(y), (vector<double>{2, 3}));
  GradientChecker<double>(1e-2, 1e-6)
      .CheckGradientExhaustive(MakeLayer(kPython).get(), {x.get()}, {&y});
}

TEST(PythonErrors, SaysWhatIsMissing) {
  auto x = BlobOf({2}, {4, 6});
  Blob<double> y;
  EXPECT_ERROR(MakeLayer(kPython)->SetUp({x.get()}, {&y}),
               "Layer py is of class half.Half, but this program has no Python: .* Run the net "
               "from Python");
  const Installed installed;
  EXPECT_ERROR(MakeLayer("name: 'py' type: 'Python' python_param { module: 'm' layer: 'No' }")
                   ->SetUp({x.get()}, {&y}),
               "Layer py: there is no class m.No");
}

TEST(Parameter, SharesItsParameterAndAddsToItsGradient) {
  Blob<double> y;
  auto layer = MakeLayer("name: 'w' type: 'Parameter' parameter_param { shape { dim: 2 dim: 3 } }");
  layer->SetUp({}, {&y});
  ASSERT_EQ(layer->blobs().size(), 1u);
  EXPECT_EQ(y.shape(), (vector<int>{2, 3}));
  layer->blobs()[0]->mutable_cpu_data()[4] = 7;
  layer->Forward({}, {&y});
  EXPECT_EQ(y.data(), layer->blobs()[0]->data());
  for (int pass = 1; pass <= 2; ++pass) {
    y.mutable_cpu_diff()[4] = 3;
    layer->Backward({&y}, {}, {});
    EXPECT_EQ(layer->blobs()[0]->cpu_diff()[4], 3 * pass);
    EXPECT_EQ(layer->blobs()[0]->cpu_diff()[0], 0);
  }
}

}  // namespace
}  // namespace caffe

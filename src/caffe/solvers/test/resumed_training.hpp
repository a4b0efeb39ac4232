#ifndef CAFFE_SOLVERS_TEST_RESUMED_TRAINING_HPP_
#define CAFFE_SOLVERS_TEST_RESUMED_TRAINING_HPP_

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "caffe/test/info_lines.hpp"
#include "caffe/test/program_data.hpp"
#include "caffe/util/db.hpp"
#include "caffe/util/hdf5.hpp"
#include "parallel_training.hpp"
#include "solver_fixture.hpp"

#ifdef USE_OPENCV
#include <opencv2/imgcodecs.hpp>
#endif

namespace caffe {

inline string Replaced(string text, const string& from, const string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// A folder with ten images of 3 x 6 x 6, of four classes, in every format that a source reads. It
/// is removed with this object.
class TrainingFiles {
 public:
  static constexpr int kImages = 10, kSide = 6, kValues = 3 * kSide * kSide;

  TrainingFiles() {
#ifdef USE_LMDB
    WriteDatabase("lmdb");
    WriteDatabase("lmdb", "annotated");
#endif
#ifdef USE_LEVELDB
    WriteDatabase("leveldb");
#endif
#ifdef USE_OPENCV
    WriteImages();
#endif
#ifdef USE_HDF5
    for (const string file : {"a", "b", "c"}) WriteHdf5(file);
    std::ofstream(folder_ + "/one_file.txt") << folder_ << "/a.h5\n";
    std::ofstream(folder_ + "/files.txt") << folder_ << "/a.h5\n"
                                          << folder_ << "/b.h5\n"
                                          << folder_ << "/c.h5\n";
#endif
  }
  ~TrainingFiles() { std::filesystem::remove_all(folder_); }
  TrainingFiles(const TrainingFiles&) = delete;
  TrainingFiles& operator=(const TrainingFiles&) = delete;

  const string& folder() const { return folder_; }

  /// For each kind of source that this build has, by name, a layer with tops "data" and "label".
  /// Every random option is on.
  std::map<string, string> Sources() const {
    const string random = " transform_param { scale: 0.01 mirror: true crop_size: 5 } }";
    const auto layer = [](const string& type, const string& rest) {
      return "layer { name: 'source' type: '" + type + "' top: 'data' top: 'label' " + rest;
    };
    std::map<string, string> sources = {
        {"dummy",
         layer("DummyData",
               "dummy_data_param { shape { dim: 3 dim: 75 } shape { dim: 3 } data_filler "
               "{ type: 'gaussian' std: 1 } data_filler { type: 'constant' value: 2 } } }")},
        {"input", layer("Input", "input_param { shape { dim: 3 dim: 75 } shape { dim: 3 } } }")},
        {"memory", layer("MemoryData",
                         "memory_data_param { batch_size: 3 channels: 3 height: 5 "
                         "width: 5 } }")},
    };
#ifdef USE_LMDB
    sources["lmdb"] = layer("Data",
                            "data_param { backend: LMDB batch_size: 3 rand_skip: 7 "
                            "source: '" +
                                folder_ + "/lmdb' }" + random);
    sources["shuffled_lmdb"] = Replaced(sources["lmdb"], "rand_skip", "shuffle: true rand_skip");
#ifdef USE_OPENCV
    // Its boxes have a separate loss.
    sources["annotated"] =
        "layer { name: 'source' type: 'AnnotatedData' top: 'data' top: 'boxes' transform_param {"
        "  scale: 0.01 mirror: true distort_param { brightness_prob: 0.5 brightness_delta: 32 }"
        "  expand_param { max_expand_ratio: 2 } resize_param { height: 5 width: 5 }"
        "  emit_constraint { } }"
        "  annotated_data_param { batch_sampler { sampler { min_scale: 0.5 } } }"
        "  data_param { backend: LMDB batch_size: 3 shuffle: true source: '" +
        folder_ +
        "/annotated' } }"
        "layer { name: 'labels' type: 'DummyData' top: 'label' dummy_data_param {"
        "  shape { dim: 3 } data_filler { value: 2 } } }"
        "layer { name: 'sum' type: 'Reduction' bottom: 'boxes' top: 'objects' loss_weight: 1 }";
#endif
#endif
#ifdef USE_LEVELDB
    // A process can open a LevelDB only once, so tests have other data.
    sources["leveldb"] =
        Replaced(sources["dummy"], "top: 'data'", "include { phase: TEST } top: 'data'") +
        layer("Data",
              "include { phase: TRAIN } data_param { backend: LEVELDB batch_size: 3 prefetch: 20 "
              "source: '" +
                  folder_ + "/leveldb' }" + random);
#endif
#ifdef USE_OPENCV
    const string images = "batch_size: 3 root_folder: '" + folder_ + "/' source: '" + folder_;
    sources["images"] =
        layer("ImageData", "image_data_param { " + images + "/images.txt' }" + random);
    sources["shuffled_images"] =
        layer("ImageData", "image_data_param { shuffle: true rand_skip: 5 " + images +
                               "/images.txt' }" + random);
    sources["windows"] = layer("WindowData", "window_data_param { fg_fraction: 0.5 " + images +
                                                 "/windows.txt' }" + random);
#endif
#ifdef USE_HDF5
    const string rows = "hdf5_data_param { batch_size: 3 source: '" + folder_;
    sources["hdf5"] = layer("HDF5Data", rows + "/files.txt' } }");
    sources["shuffled_hdf5"] = layer("HDF5Data", rows + "/one_file.txt' shuffle: true } }");
    sources["shuffled_hdf5_files"] = layer("HDF5Data", rows + "/files.txt' shuffle: true } }");
#endif
    return sources;
  }

 private:
  static int Pixel(int image, int place) { return (image * 53 + place * 29) % 251; }

  void WriteDatabase(const string& backend, const string& name = "") const {
    std::unique_ptr<db::DB> database(db::GetDB(backend));
    database->Open(folder_ + "/" + (name.empty() ? backend : name), db::NEW);
    std::unique_ptr<db::Transaction> transaction(database->NewTransaction());
    for (int i = 0; i < kImages; ++i) {
      Datum datum;
      datum.set_channels(3);
      datum.set_height(kSide);
      datum.set_width(kSide);
      datum.set_label(i % 4);
      for (int k = 0; k < kValues; ++k)
        datum.mutable_data()->push_back(static_cast<char>(Pixel(i, k)));
      AnnotatedDatum record;
      *record.mutable_datum() = datum;
      for (int object = 0; object < i % 3; ++object) {
        AnnotationGroup* group = record.add_annotation_group();
        group->set_group_label(i % 4);
        NormalizedBBox* box = group->add_annotation()->mutable_bbox();
        box->set_xmin(0.04f * static_cast<float>(i));
        box->set_ymin(0.3f * static_cast<float>(object));
        box->set_xmax(0.8f);
        box->set_ymax(0.7f);
      }
      transaction->Put("image" + std::to_string(i),
                       name.empty() ? datum.SerializeAsString() : record.SerializeAsString());
    }
    transaction->Commit();
  }

#ifdef USE_OPENCV
  void WriteImages() const {
    std::ofstream images(folder_ + "/images.txt"), windows(folder_ + "/windows.txt");
    for (int i = 0; i < kImages; ++i) {
      const string name = "image" + std::to_string(i) + ".png";
      cv::Mat image(kSide, kSide, CV_8UC3);
      for (int k = 0; k < kValues; ++k) image.data[k] = static_cast<uchar>(Pixel(i, k));
      CHECK(cv::imwrite(folder_ + "/" + name, image)) << name;
      images << name << " " << i % 4 << "\n";
      // index, path, channels, height, width, windows; class, overlap, x1, y1, x2, y2
      windows << "# " << i << "\n" << name << "\n3\n" << kSide << "\n" << kSide << "\n2\n";
      windows << i % 3 + 1 << " 1 0 0 4 4\n0 0 1 1 5 5\n";
    }
  }
#endif

#ifdef USE_HDF5
  void WriteHdf5(const string& name) const {
    const int rows = 4 + name[0] % 3, seed = name[0];
    Blob<float> data(vector<int>{rows, 75}), label(vector<int>{rows});
    for (int k = 0; k < data.count(); ++k)
      data.mutable_cpu_data()[k] = static_cast<float>(Pixel(seed, k)) / 100 - 1;
    for (int i = 0; i < rows; ++i) label.mutable_cpu_data()[i] = static_cast<float>(i % 4);
    const hid_t file =
        H5Fcreate((folder_ + "/" + name + ".h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hdf5_save_nd_dataset<float>(file, "data", data);
    hdf5_save_nd_dataset<float>(file, "label", label);
    H5Fclose(file);
  }
#endif

  const string folder_ = NewFolder();
};

/// `source`, for training and for tests, and a small classifier with Dropout.
inline string NetOf(const string& source) {
  return "name: 'net' " + source + R"(
    layer { name: 'hidden' type: 'InnerProduct' bottom: 'data' top: 'hidden'
            inner_product_param { num_output: 7 weight_filler { type: 'xavier' } } }
    layer { name: 'tanh' type: 'TanH' bottom: 'hidden' top: 'tanh' }
    layer { name: 'drop' type: 'Dropout' bottom: 'tanh' top: 'drop' }
    layer { name: 'ip' type: 'InnerProduct' bottom: 'drop' top: 'ip'
            inner_product_param { num_output: 4 weight_filler { type: 'xavier' } } }
    layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' })";
}

/// The log lines of training and tests, without their times.
class TrainingLog : public google::LogSink {
 public:
  TrainingLog() { google::AddLogSink(this); }
  ~TrainingLog() override { google::RemoveLogSink(this); }
  using google::LogSink::send;
  void send(google::LogSeverity, const char*, const char*, int, const struct ::tm*,
            const char* message, size_t length) override {
    string line(message, length);
    if (line.find("loss") == string::npos && line.find("net output") == string::npos) return;
    const size_t time = line.find(" ("), end = line.find(" iters)");
    if (time != string::npos && end != string::npos) line.erase(time, end + 7 - time);
    lines_.push_back(line);
  }
  const vector<string>& lines() const { return lines_; }

 private:
  const InfoLines info_;
  vector<string> lines_;
};

/// The result of a training.
struct Trained {
  string bits;           ///< parameters and history
  string progress;       ///< generators, data, losses
  vector<string> lines;  ///< of the log
};

/// The way in which a Trainer trains.
struct Way {
  string net;
  string fields = "momentum: 0.9";  ///< of the solver
  string strategy = "keep";         ///< empty: without a plan
  string format = "BINARYPROTO";
  int solvers = 1;
};

/// Trains, with a snapshot after kSnapshot iterations, to kIterations.
template <typename Dtype>
class Trainer {
 public:
  static constexpr int kSnapshot = 5, kIterations = 9;

  /// Weights, data and random numbers start from `seed`.
  Trainer(const Way& way, const string& prefix, int seed) : way_(way), count_(way.solvers) {
    SolverParameter param = ParseSolver(
        "base_lr: 0.05 lr_policy: 'multistep' gamma: 0.5 stepvalue: 3 stepvalue: 6 display: 1 "
        "average_loss: 3 weight_decay: 0.01 snapshot_after_train: false max_iter: 9 snapshot: 5");
    param.MergeFrom(ParseSolver(way.fields));
    param.set_snapshot_prefix(prefix);
    param.set_random_seed(seed);
    CHECK(SolverParameter_SnapshotFormat_Parse(way.format, &format_));
    param.set_snapshot_format(format_);
    if (!way.strategy.empty()) param.mutable_placement()->set_strategy(way.strategy);
    CHECK(google::protobuf::TextFormat::ParseFromString(way.net, param.mutable_net_param()));
    solver_.reset(SolverRegistry<Dtype>::CreateSolver(param));
    data_.Give(solver_->net().get());
    for (const auto& net : solver_->test_nets()) data_.Give(net.get());
  }

  Solver<Dtype>& solver() { return *solver_; }
  string File() const {
    return solver_->param().snapshot_prefix() + "_iter_" + std::to_string(kSnapshot) +
           ".solverstate" + (format_ == SolverParameter_SnapshotFormat_HDF5 ? ".h5" : "");
  }

  Trained Train(const string& resume = "") {
    if (!resume.empty()) solver_->Restore(resume.c_str());
    return GoOn(resume);
  }

  /// For a solver that was already restored from `resume`.
  Trained GoOn(const string& resume) {
    std::unique_ptr<ParallelSolvers<Dtype>> all;
    if (way_.solvers > 1) {
      all.reset(new ParallelSolvers<Dtype>(solver_.get(), Threads(way_.solvers)));
      const layrub::Status status = all->Start(resume);
      EXPECT_TRUE(status.ok()) << status.message;
    }
    TrainingLog log;
    if (way_.strategy.empty()) {
      Unplanned();
    } else {
      solver_->Step(kIterations - solver_->iter());
    }
    if (all) all->Finish();
    return {Bits(State(solver_.get())), solver_->Progress().SerializeAsString(), log.lines()};
  }

 private:
  void Unplanned() {
    Net<Dtype>& net = *solver_->net();
    solver_->Progress();  // for a loop of its own, restores the position in the data
    while (solver_->iter() < kIterations) {
      net.ClearParamDiffs();
      for (int i = 0; i < solver_->param().iter_size(); ++i) net.ForwardBackward();
      solver_->ApplyUpdate();
      if (solver_->iter() == kSnapshot) solver_->Snapshot();
    }
    EXPECT_EQ(net.planned(), nullptr);
  }

  const Way way_;
  const SolverCount count_;
  SolverParameter_SnapshotFormat format_ = SolverParameter_SnapshotFormat_BINARYPROTO;
  ProgramData<Dtype> data_;
  std::unique_ptr<Solver<Dtype>> solver_;
};

/// Trains, and resumes from the snapshot in a new solver that started with another seed. Expects no
/// difference.
template <typename Dtype = float>
void ExpectExactResume(const Way& way) {
  const string folder = NewFolder();
  string file;
  Trained whole;
  {
    Trainer<Dtype> trainer(way, folder + "/run", 1);
    whole = trainer.Train();
    file = trainer.File();
  }
  Trained resumed = Trainer<Dtype>(way, folder + "/again", 2).Train(file);
  std::filesystem::remove_all(folder);
  EXPECT_TRUE(resumed.bits == whole.bits) << "weights or history differ";
  EXPECT_TRUE(resumed.progress == whole.progress) << "generators, data or losses differ";
  // Without a plan the test itself runs the iterations, and logs nothing.
  EXPECT_EQ(resumed.lines.empty(), way.strategy.empty());
  ASSERT_LT(resumed.lines.size(), whole.lines.size() + way.strategy.empty());
  whole.lines.erase(whole.lines.begin(), whole.lines.end() - resumed.lines.size());
  EXPECT_EQ(resumed.lines, whole.lines);
}

}  // namespace caffe

#endif  // CAFFE_SOLVERS_TEST_RESUMED_TRAINING_HPP_

// Nets of the oldest format, in which one message holds the options of every layer type.
#include <map>

#include "caffe/test/expect_error.hpp"
#include "caffe/util/test/upgrade_check.hpp"

namespace caffe {
namespace {

TEST(UpgradeV0, ConvertsNets) {
  ExpectUpgrade(
      "name: 'CaffeNet' force_backward: true"
      " layers { layer { name: 'data' type: 'data' source: '/db' meanfile: '/mean' batchsize: 256"
      "                  cropsize: 227 mirror: true scale: 0.5 rand_skip: 3 } top: 'data' top: "
      "'label' }"
      " layers { layer { name: 'pad' type: 'padding' pad: 2 } bottom: 'data' top: 'pad' }"
      " layers { layer { name: 'conv' type: 'conv' num_output: 96 biasterm: false group: 2 "
      "kernelsize: 11 stride: 4"
      "                  weight_filler { type: 'gaussian' std: 0.01 } blobs_lr: 1 blobs_lr: 2"
      "                  weight_decay: 1 weight_decay: 0 } bottom: 'pad' top: 'conv' }"
      " layers { layer { name: 'relu' type: 'relu' } bottom: 'conv' top: 'conv' }"
      " layers { layer { name: 'pool' type: 'pool' pool: AVE kernelsize: 3 stride: 2 pad: 1 } "
      "bottom: 'conv' top: 'pool' }"
      " layers { layer { name: 'norm' type: 'lrn' local_size: 5 alpha: 0.0001 beta: 0.75 k: 2 } "
      "bottom: 'pool' top: 'norm' }"
      " layers { layer { name: 'drop' type: 'dropout' dropout_ratio: 0.2 } bottom: 'norm' top: "
      "'norm' }"
      " layers { layer { name: 'ip' type: 'innerproduct' num_output: 10 biasterm: true"
      "                  bias_filler { type: 'constant' value: 1 } } bottom: 'norm' top: 'ip' }"
      " layers { layer { name: 'loss' type: 'softmax_loss' } bottom: 'ip' bottom: 'label' }",
      "name: 'CaffeNet' force_backward: true"
      " layer { name: 'data' type: 'Data' top: 'data' top: 'label'"
      "         data_param { source: '/db' batch_size: 256 rand_skip: 3 }"
      "         transform_param { scale: 0.5 mean_file: '/mean' crop_size: 227 mirror: true } }"
      " layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv'"
      "         param { lr_mult: 1 decay_mult: 1 } param { lr_mult: 2 decay_mult: 0 }"
      "         convolution_param { num_output: 96 bias_term: false group: 2 kernel_size: 11 "
      "stride: 4 pad: 2"
      "                             weight_filler { type: 'gaussian' std: 0.01 } } }"
      " layer { name: 'relu' type: 'ReLU' bottom: 'conv' top: 'conv' }"
      " layer { name: 'pool' type: 'Pooling' bottom: 'conv' top: 'pool'"
      "         pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 } }"
      " layer { name: 'norm' type: 'LRN' bottom: 'pool' top: 'norm'"
      "         lrn_param { local_size: 5 alpha: 0.0001 beta: 0.75 k: 2 } }"
      " layer { name: 'drop' type: 'Dropout' bottom: 'norm' top: 'norm' dropout_param { "
      "dropout_ratio: 0.2 } }"
      " layer { name: 'ip' type: 'InnerProduct' bottom: 'norm' top: 'ip'"
      "         inner_product_param { num_output: 10 bias_term: true bias_filler { type: "
      "'constant' value: 1 } } }"
      " layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' }");
}

TEST(UpgradeV0, ConvertsDataSources) {
  ExpectUpgrade(
      "layers { layer { name: 'i' type: 'images' source: 's' batchsize: 2 rand_skip: 1 "
      "shuffle_images: true"
      "                 new_height: 5 new_width: 6 } top: 'i' }"
      " layers { layer { name: 'w' type: 'window_data' source: 's' batchsize: 2 det_fg_threshold: "
      "0.6"
      "                  det_bg_threshold: 0.4 det_fg_fraction: 0.3 det_context_pad: 16 "
      "det_crop_mode: 'square' } top: 'w' }"
      " layers { layer { name: 'h' type: 'hdf5_data' source: 's' batchsize: 2 } top: 'h' }"
      " layers { layer { name: 'o' type: 'hdf5_output' hdf5_output_param { file_name: 'f' } } "
      "bottom: 'h' }"
      " layers { layer { name: 'c' type: 'concat' concat_dim: 2 } bottom: 'i' bottom: 'w' top: 'c' "
      "}"
      " layers { layer { name: 'l' type: 'infogain_loss' source: 'm' } bottom: 'c' }",
      "layer { name: 'i' type: 'ImageData' top: 'i' image_data_param { source: 's' batch_size: 2 "
      "rand_skip: 1"
      "        shuffle: true new_height: 5 new_width: 6 } }"
      " layer { name: 'w' type: 'WindowData' top: 'w' window_data_param { source: 's' batch_size: "
      "2 fg_threshold: 0.6"
      "         bg_threshold: 0.4 fg_fraction: 0.3 context_pad: 16 crop_mode: 'square' } }"
      " layer { name: 'h' type: 'HDF5Data' top: 'h' hdf5_data_param { source: 's' batch_size: 2 } }"
      " layer { name: 'o' type: 'HDF5Output' bottom: 'h' hdf5_output_param { file_name: 'f' } }"
      " layer { name: 'c' type: 'Concat' bottom: 'i' bottom: 'w' top: 'c' concat_param { "
      "concat_dim: 2 } }"
      " layer { name: 'l' type: 'InfogainLoss' bottom: 'c' infogain_loss_param { source: 'm' } }");
}

// Every field of V0LayerParameter is converted for some layer type, except new_num and
// new_channels, which V1 does not have. Finds gaps in the table.
TEST(UpgradeV0, ConvertsEveryField) {
  const auto& fields = *V0LayerParameter::descriptor();
  const char* types[] = {"conv", "innerproduct", "pool",        "dropout",       "lrn",
                         "data", "images",       "window_data", "infogain_loss", "concat",
                         "relu", "hdf5_output",  "hdf5_data"};
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto* field = fields.field(i);
    if (field->name() == "type") continue;
    int places = 0;
    for (const char* type : types) {
      const string value = field->message_type() != nullptr             ? " {}"
                           : field->cpp_type() == field->CPPTYPE_STRING ? ": 'x'"
                           : field->cpp_type() == field->CPPTYPE_BOOL   ? ": true"
                                                                        : ": 1";
      V1LayerParameter upgraded;
      places +=
          UpgradeV0LayerParameter(Parse<V1LayerParameter>("layer { type: '" + string(type) + "' " +
                                                          field->name() + value + " }"),
                                  &upgraded);
    }
    const bool dropped = field->name() == "new_num" || field->name() == "new_channels";
    EXPECT_EQ(places == 0, dropped) << field->name();
  }
}

TEST(UpgradeV0, ConvertsEveryType) {
  const std::map<string, string> types = {{"conv", "CONVOLUTION"},
                                          {"images", "IMAGE_DATA"},
                                          {"innerproduct", "INNER_PRODUCT"},
                                          {"pool", "POOLING"}};
  for (const string v0 : {"accuracy",
                          "bnll",
                          "concat",
                          "conv",
                          "data",
                          "dropout",
                          "euclidean_loss",
                          "flatten",
                          "hdf5_data",
                          "hdf5_output",
                          "im2col",
                          "images",
                          "infogain_loss",
                          "innerproduct",
                          "lrn",
                          "multinomial_logistic_loss",
                          "pool",
                          "relu",
                          "sigmoid",
                          "softmax",
                          "softmax_loss",
                          "split",
                          "tanh",
                          "window_data"}) {
    string name = v0;
    for (char& c : name) c = static_cast<char>(toupper(c));
    if (types.count(v0)) name = types.at(v0);
    EXPECT_EQ(V1LayerParameter::LayerType_Name(UpgradeV0LayerType(v0)), name);
  }
}

TEST(UpgradeV0, ReportsAFieldOfAnotherLayerType) {
  NetParameter net = Parse<NetParameter>(
      "layers { layer { name: 'r' type: 'relu' num_output: 3 } bottom: 'x' top: 'y' } input: 'x'");
  EXPECT_FALSE(UpgradeNetAsNeeded("net.prototxt", &net));
}

TEST(UpgradeV0Errors, MistakesAreNamed) {
  NetParameter net = Parse<NetParameter>("layers { layer { name: 'r' type: 'rleu' } }");
  EXPECT_ERROR(UpgradeNetAsNeeded("net.prototxt", &net), "Unknown layer name: rleu");
  NetParameter unknown =
      Parse<NetParameter>("layers { layer { name: 'r' type: 'relu' } bottom: 'no' }");
  EXPECT_ERROR(UpgradeNetAsNeeded("net.prototxt", &unknown), "Unknown bottom blob 'no' .layer 'r'");
  NetParameter padding = Parse<NetParameter>(
      "input: 'x' layers { layer { name: 'p' type: 'padding' pad: 1 } bottom: 'x' top: 'p' }"
      " layers { layer { name: 'r' type: 'relu' } bottom: 'p' top: 'r' }");
  EXPECT_ERROR(UpgradeNetAsNeeded("net.prototxt", &padding),
               "Layer 'r' of type relu reads a padding layer");
}

}  // namespace
}  // namespace caffe

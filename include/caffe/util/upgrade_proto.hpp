#ifndef CAFFE_UTIL_UPGRADE_PROTO_H_
#define CAFFE_UTIL_UPGRADE_PROTO_H_

#include <functional>
#include <string>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

// Upgrades nets and solvers from the formats of older Caffe releases to the current one:
//   V0       `layers { layer { type: "conv" num_output: 3 } }`, every option in one message
//   V1       `layers { type: CONVOLUTION convolution_param { ... } }`
//   data     image transformations inside data_param, image_data_param and window_data_param
//   input    net-level `input`, `input_dim` and `input_shape` in place of an Input layer
//   BatchNorm  three `param`s that let the solver change the running statistics
//   solver   the enum `solver_type` in place of the string `type`
// Functions that return bool log each part that cannot be upgraded, and return false if there is
// one.

/// Reads a net or solver and upgrades it. Aborts, naming file, line and column, if the file cannot
/// be read or parsed.
void ReadNetParamsFromTextFileOrDie(const string& param_file, NetParameter* param);
/// The same, but skips unknown fields, and unknown types of the V1 format, with a warning in layers
/// for which `only_shapes_matter` returns true.
void ReadNetParamsFromTextFileOrDie(
    const string& param_file, NetParameter* param,
    const std::function<bool(const LayerParameter&)>& only_shapes_matter);
void ReadNetParamsFromBinaryFileOrDie(const string& param_file, NetParameter* param);
/// Also completes snapshot_prefix. The default is the file's path without its extension. If it is a
/// folder, the file's stem is appended.
void ReadSolverParamsFromTextFileOrDie(const string& param_file, SolverParameter* param);
/// The same. Also upgrades the nets that are fields of the solver, and skips unknown parts of their
/// layers for which `only_shapes_matter` returns true.
void ReadSolverParamsFromTextFileOrDie(
    const string& param_file, SolverParameter* param,
    const std::function<bool(const LayerParameter&)>& only_shapes_matter);

bool NetNeedsUpgrade(const NetParameter& net_param);
/// Applies all net upgrades that are needed, in order. `param_file` is for the log.
bool UpgradeNetAsNeeded(const string& param_file, NetParameter* param);

bool NetNeedsV0ToV1Upgrade(const NetParameter& net_param);
bool UpgradeV0Net(const NetParameter& v0_net_param, NetParameter* net_param);
/// Replaces V0's padding layers by the `pad` of the convolution or pooling layer that follows.
void UpgradeV0PaddingLayers(const NetParameter& param, NetParameter* param_upgraded_pad);
bool UpgradeV0LayerParameter(const V1LayerParameter& v0_layer_connection,
                             V1LayerParameter* layer_param);
V1LayerParameter_LayerType UpgradeV0LayerType(const string& type);

bool NetNeedsDataUpgrade(const NetParameter& net_param);
void UpgradeNetDataTransformation(NetParameter* net_param);

bool NetNeedsV1ToV2Upgrade(const NetParameter& net_param);
bool UpgradeV1Net(const NetParameter& v1_net_param, NetParameter* net_param);
bool UpgradeV1LayerParameter(const V1LayerParameter& v1_layer_param, LayerParameter* layer_param);
const char* UpgradeV1LayerType(const V1LayerParameter_LayerType type);

bool NetNeedsInputUpgrade(const NetParameter& net_param);
/// Drops inputs without shapes, which old caffemodels have.
void UpgradeNetInput(NetParameter* net_param);

bool NetNeedsBatchNormUpgrade(const NetParameter& net_param);
/// Sets lr_mult and decay_mult of BatchNorm's three blobs to 0.
void UpgradeNetBatchNorm(NetParameter* net_param);

bool SolverNeedsTypeUpgrade(const SolverParameter& solver_param);
/// Aborts if both fields are set.
bool UpgradeSolverType(SolverParameter* solver_param);
bool UpgradeSolverAsNeeded(const string& param_file, SolverParameter* param);

}  // namespace caffe

#endif  // CAFFE_UTIL_UPGRADE_PROTO_H_

#include "caffe/util/shape_only.hpp"

namespace caffe {

namespace {

thread_local int active_scopes = 0;

}  // namespace

ShapeOnlyScope::ShapeOnlyScope() { ++active_scopes; }
ShapeOnlyScope::~ShapeOnlyScope() { --active_scopes; }
bool ShapeOnlyScope::Active() { return active_scopes > 0; }

}  // namespace caffe

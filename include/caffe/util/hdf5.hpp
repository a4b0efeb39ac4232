#ifdef USE_HDF5
#ifndef CAFFE_UTIL_HDF5_H_
#define CAFFE_UTIL_HDF5_H_

#include <hdf5.h>
#include <hdf5_hl.h>

#include <string>

#include "caffe/blob.hpp"

namespace caffe {

// Blobs, strings and integers as HDF5 datasets, for float and double. `loc_id` and `file_id` name
// an open file or group. Whatever goes wrong aborts with a message that names the dataset.

/// Opens a file for reading; the caller closes it with H5Fclose. `what` begins the message where
/// that fails: "Layer h: ".
hid_t hdf5_open_file(const string& filename, const string& what = "");

/// Checks that the dataset holds numbers and has min_dim to max_dim axes, and gives the blob its
/// shape: by reshaping it, or by aborting where the shapes differ. Reads no values.
template <typename Dtype>
void hdf5_load_nd_dataset_helper(hid_t file_id, const char* dataset_name_, int min_dim, int max_dim,
                                 Blob<Dtype>* blob, bool reshape);

/// The same, then reads the values into the blob's data.
template <typename Dtype>
void hdf5_load_nd_dataset(hid_t file_id, const char* dataset_name_, int min_dim, int max_dim,
                          Blob<Dtype>* blob, bool reshape = false);

/// Writes the blob's data, or its diff.
template <typename Dtype>
void hdf5_save_nd_dataset(const hid_t file_id, const string& dataset_name, const Blob<Dtype>& blob,
                          bool write_diff = false);

int hdf5_load_int(hid_t loc_id, const string& dataset_name);
void hdf5_save_int(hid_t loc_id, const string& dataset_name, int i);
string hdf5_load_string(hid_t loc_id, const string& dataset_name);
void hdf5_save_string(hid_t loc_id, const string& dataset_name, const string& s);

/// The members of a group, counted, and named in order of name.
int hdf5_get_num_links(hid_t loc_id);
string hdf5_get_name_by_idx(hid_t loc_id, int idx);

}  // namespace caffe

#endif  // CAFFE_UTIL_HDF5_H_
#endif  // USE_HDF5

#ifdef USE_HDF5
#ifndef CAFFE_UTIL_HDF5_H_
#define CAFFE_UTIL_HDF5_H_

#include <hdf5.h>
#include <hdf5_hl.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "caffe/blob.hpp"

namespace caffe {

class AtomicFile;

/// An open file, group, dataset or list of HDF5, which closes itself. Aborts where `id` is none:
/// "Cannot open <what>".
class Hdf5Handle {
 public:
  Hdf5Handle(hid_t id, herr_t (*close)(hid_t), const string& what) : id_(id), close_(close) {
    CHECK_GE(id, 0) << "Cannot open " << what;
  }
  ~Hdf5Handle() { Close(); }
  hid_t id() const { return id_; }
  /// Before its time; false where HDF5 says that it failed.
  bool Close() { return id_ < 0 || close_(std::exchange(id_, -1)) >= 0; }

 private:
  hid_t id_;
  herr_t (*const close_)(hid_t);

  DISABLE_COPY_AND_ASSIGN(Hdf5Handle);
};

/// Lets `write` fill a new HDF5 file, whose bytes go into `file`; to commit it is left to the
/// caller. Aborts by AtomicFile::Fail where they cannot be written.
void hdf5_write_file(const std::function<void(hid_t file)>& write, AtomicFile* file);

/// The name of a group for a layer of this name. HDF5 takes "/" for a path and "." for the group
/// that it is in. Where one of them is in the way, or the name looks like one that was changed
/// here, "%" becomes "%25", "/" "%2F", and "." alone "%2E"; all other names stay as they are.
string hdf5_escape(const string& name);
/// The name that hdf5_escape was given.
string hdf5_unescape(const string& name);

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
/// Any bytes, at least one, as a dataset of them.
string hdf5_load_bytes(hid_t loc_id, const string& dataset_name);
void hdf5_save_bytes(hid_t loc_id, const string& dataset_name, const string& bytes);

bool hdf5_has(hid_t loc_id, const string& name);
vector<int> hdf5_shape(hid_t loc_id, const string& dataset_name);
/// Goes on with the CRC-32 `crc` over a dataset's numbers: as floats, or as doubles where it has
/// them.
uint32_t hdf5_crc32(hid_t loc_id, const string& dataset_name, uint32_t crc);

/// The members of a group, counted, and named in order of name.
int hdf5_get_num_links(hid_t loc_id);
string hdf5_get_name_by_idx(hid_t loc_id, int idx);

}  // namespace caffe

#endif  // CAFFE_UTIL_HDF5_H_
#endif  // USE_HDF5

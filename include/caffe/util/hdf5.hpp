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

/// An open HDF5 file, group, dataset or property list, which closes itself. Aborts with "Cannot
/// open <what>" if `id` is invalid.
class Hdf5Handle {
 public:
  Hdf5Handle(hid_t id, herr_t (*close)(hid_t), const string& what) : id_(id), close_(close) {
    CHECK_GE(id, 0) << "Cannot open " << what;
  }
  ~Hdf5Handle() { Close(); }
  hid_t id() const { return id_; }
  /// Closes the handle early. Returns false if HDF5 reports an error.
  bool Close() { return id_ < 0 || close_(std::exchange(id_, -1)) >= 0; }

 private:
  hid_t id_;
  herr_t (*const close_)(hid_t);

  DISABLE_COPY_AND_ASSIGN(Hdf5Handle);
};

/// Lets `write` fill a new HDF5 file and writes its bytes to `file`, which the caller commits.
/// Aborts through AtomicFile::Fail if they cannot be written.
void hdf5_write_file(const std::function<void(hid_t file)>& write, AtomicFile* file);

/// Returns a group name for a layer of this name. HDF5 treats "/" as a path separator and "." as
/// the present group. If a name contains one of these, or looks like the result of this function,
/// "%" becomes "%25", "/" "%2F", and a sole "." "%2E". All other names are unchanged.
string hdf5_escape(const string& name);
/// Returns the name from which hdf5_escape made `name`.
string hdf5_unescape(const string& name);

// Blobs, strings and integers as HDF5 datasets, for float and double. `loc_id` and `file_id` are
// open files or groups. All errors abort with a message that names the dataset.

/// Opens a file for reading. The caller closes it with H5Fclose. `what` begins the error message,
/// for example "Layer h: ".
hid_t hdf5_open_file(const string& filename, const string& what = "");

/// Checks that the dataset holds numbers and has min_dim to max_dim axes. If `reshape`, gives the
/// blob its shape, otherwise aborts if the shapes differ. Reads no values.
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
/// Arbitrary bytes, at least one, as a dataset of bytes.
string hdf5_load_bytes(hid_t loc_id, const string& dataset_name);
void hdf5_save_bytes(hid_t loc_id, const string& dataset_name, const string& bytes);

bool hdf5_has(hid_t loc_id, const string& name);
vector<int> hdf5_shape(hid_t loc_id, const string& dataset_name);
/// Continues the CRC-32 `crc` with a dataset's numbers, as doubles if it has doubles, otherwise as
/// floats.
uint32_t hdf5_crc32(hid_t loc_id, const string& dataset_name, uint32_t crc);

/// The number of members of a group, and the name of each in the order of names.
int hdf5_get_num_links(hid_t loc_id);
string hdf5_get_name_by_idx(hid_t loc_id, int idx);

}  // namespace caffe

#endif  // CAFFE_UTIL_HDF5_H_
#endif  // USE_HDF5

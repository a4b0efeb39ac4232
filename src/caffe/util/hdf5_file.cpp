// Writes HDF5 files through our own HDF5 file driver.
#ifdef USE_HDF5
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "caffe/util/atomic_file.hpp"
#include "caffe/util/hdf5.hpp"

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

namespace caffe {

namespace {

/// The destination of the bytes. HDF5's own drivers report a write error to HDF5, which then cannot
/// close the file, and writes to it again and crashes when the process ends. This driver records
/// the first error and discards later writes.
struct Sink {
  int fd;
  int error = 0;
};

/// The driver's file object; HDF5 requires the first member.
struct DriverFile {
  H5FD_t hdf5;
  Sink* sink;
  haddr_t end_of_space = 0;  ///< end of the space that HDF5 has allocated
  haddr_t end_of_file = 0;
};

DriverFile* Of(H5FD_t* file) { return reinterpret_cast<DriverFile*>(file); }
const DriverFile* Of(const H5FD_t* file) { return reinterpret_cast<const DriverFile*>(file); }

constexpr haddr_t kLargest = (haddr_t{1} << 62) - 1;

H5FD_t* Open(const char*, unsigned, hid_t access, haddr_t) {
  const auto* sink = static_cast<Sink* const*>(H5Pget_driver_info(access));
  return reinterpret_cast<H5FD_t*>(new DriverFile{{}, *sink});
}

herr_t Close(H5FD_t* file) {
  delete Of(file);
  return 0;
}

herr_t Query(const H5FD_t*, unsigned long* flags) {  // NOLINT(runtime/int): HDF5's type
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
           H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

haddr_t EndOfSpace(const H5FD_t* file, H5FD_mem_t) { return Of(file)->end_of_space; }

herr_t SetEndOfSpace(H5FD_t* file, H5FD_mem_t, haddr_t end) {
  Of(file)->end_of_space = end;
  return 0;
}

haddr_t EndOfFile(const H5FD_t* file, H5FD_mem_t) { return Of(file)->end_of_file; }

herr_t Read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, size_t bytes, void* to) {
  auto* next = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = pread(Of(file)->sink->fd, next, bytes, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    next += got;
    at += static_cast<haddr_t>(got);
    bytes -= static_cast<size_t>(got);
  }
  std::memset(next, 0, bytes);  // beyond the end of the file
  return 0;
}

herr_t Write(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, size_t bytes, const void* from) {
  Sink* const sink = Of(file)->sink;
  const auto* next = static_cast<const char*>(from);
  Of(file)->end_of_file = std::max(Of(file)->end_of_file, at + bytes);
  while (bytes > 0 && sink->error == 0) {
    const ssize_t put = pwrite(sink->fd, next, bytes, static_cast<off_t>(at));
    if (put < 0) {
      if (errno != EINTR) sink->error = errno;
      continue;
    }
    next += put;
    at += static_cast<haddr_t>(put);
    bytes -= static_cast<size_t>(put);
  }
  return 0;
}

herr_t Truncate(H5FD_t* file, hid_t, hbool_t) {
  Sink* const sink = Of(file)->sink;
  const haddr_t end = Of(file)->end_of_space;
  if (end == Of(file)->end_of_file) return 0;
  if (sink->error == 0 && ftruncate(sink->fd, static_cast<off_t>(end)) != 0) sink->error = errno;
  Of(file)->end_of_file = end;
  return 0;
}

/// Returns the driver's id. It is registered at the first use, for the lifetime of the process.
hid_t Driver() {
  static const hid_t driver = [] {
    static H5FD_class_t description = {};  // HDF5 may keep the pointer
#if H5_VERSION_GE(1, 13, 0)
    description.version = H5FD_CLASS_VERSION;
    description.value = static_cast<H5FD_class_value_t>(600);  // values from 512 on are for users
#endif
    description.name = "layrub";
    description.maxaddr = kLargest;
    description.fc_degree = H5F_CLOSE_WEAK;
    description.fapl_size = sizeof(Sink*);
    description.open = &Open;
    description.close = &Close;
    description.query = &Query;
    description.get_eoa = &EndOfSpace;
    description.set_eoa = &SetEndOfSpace;
    description.get_eof = &EndOfFile;
    description.read = &Read;
    description.write = &Write;
    description.truncate = &Truncate;
    const H5FD_mem_t pools[] = H5FD_FLMAP_DICHOTOMY;
    std::memcpy(description.fl_map, pools, sizeof(pools));
    return H5FDregister(&description);
  }();
  return driver;
}

}  // namespace

void hdf5_write_file(const std::function<void(hid_t file)>& write, AtomicFile* file) {
  Sink sink{file->fd()};
  Sink* const destination = &sink;
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, file->path());
  H5Pset_driver(access.id(), Driver(), &destination);
  Hdf5Handle open(H5Fcreate(file->temp_path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id()),
                  H5Fclose, file->path());
  write(open.id());
  const bool whole = H5Fflush(open.id(), H5F_SCOPE_LOCAL) >= 0 && open.Close();
  if (sink.error != 0) file->Fail(strerror(sink.error));
  if (!whole) file->Fail("HDF5 cannot complete the file");
}

}  // namespace caffe
#endif  // USE_HDF5

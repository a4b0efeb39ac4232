#include "caffe/util/atomic_file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>

namespace caffe {

namespace fs = std::filesystem;

namespace {

const char kMark[] = ".tmp.";

string FolderOf(const string& path) { return fs::path(path).parent_path().string(); }

/// Names the scope in which this process's id is valid: its host and the container on it.
const string& Place() {
  static const string& place = *new string([] {
    char host[256] = "";
    gethostname(host, sizeof(host) - 1);
    struct stat ids = {};
    stat("/proc/self/ns/pid", &ids);
    string text = string(host) + "-" + std::to_string(ids.st_ino);
    std::replace(text.begin(), text.end(), '/', '_');
    return text;
  }());
  return place;
}

/// A random number that tells this process from a dead one with the same id.
const string& RandomPart() {
  static const string& number = *new string(std::to_string(std::random_device()()));
  return number;
}

/// Whether a temporary file is abandoned: its process belongs to this place and no longer exists.
/// `writer` is the part of the file name after kMark: <place>.<process id>.<random number>-<number
/// of the file>.
bool IsStray(const string& writer) {
  const string here = Place() + ".";
  if (writer.compare(0, here.size(), here) != 0) return false;
  pid_t id = 0;
  const char* const end = writer.data() + writer.size();
  const char* const rest = std::from_chars(writer.data() + here.size(), end, id).ptr;
  if (rest == end || *rest != '.' || id <= 0) return false;
  const string own = "." + RandomPart() + "-";
  if (id == getpid()) return string(rest, end).compare(0, own.size(), own) != 0;
  return kill(id, 0) != 0 && errno == ESRCH;
}

/// Creates a temporary file for `target`. Returns its descriptor, or -1 and errno.
int MakeTemporary(const string& target, string* temp_path) {
  static std::atomic<uint64_t> files{0};
  RemoveStrayFiles(FolderOf(target), [name = fs::path(target).filename().string()](
                                         const string& found) { return found == name; });
  *temp_path = target + kMark + Place() + "." + std::to_string(getpid()) + "." + RandomPart() +
               "-" + std::to_string(++files);
  return open(temp_path->c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

/// Opens a file that is not a regular one for writing. Returns -1 and errno on errors: ENXIO for a
/// pipe without a reader, for which the process would wait forever.
int OpenDirectly(const string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd >= 0) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

/// Writes a folder's entries to disk. Returns 0 or errno. Does nothing if the folder cannot be
/// opened or its file system does not support it.
int SyncFolder(const string& folder) {
  const int fd = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return 0;
  const int error = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
  close(fd);
  return error;
}

bool IsLinkOfAnother(const string& path) {
  struct stat link;
  return lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode) && link.st_uid != geteuid() &&
         link.st_uid != 0;
}

/// Whether everybody may create files in the folder and nobody may remove those of others.
bool IsSharedFolder(const string& path) {
  struct stat folder;
  return stat(path.empty() ? "." : path.c_str(), &folder) == 0 &&
         (folder.st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH);
}

/// The check of WhyLinkIsRefused for the folders of `path`.
string FindForeignLink(const string& path) {
  for (fs::path folder = fs::path(path).parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (IsLinkOfAnother(folder.string()) && IsSharedFolder(FolderOf(folder.string())))
      return "the folder " + folder.string() + " is a symbolic link that another user has made";
  }
  return "";
}

}  // namespace

void RemoveStrayFiles(const string& folder, const std::function<bool(const string&)>& of) {
  std::error_code ignored;
  fs::directory_iterator next(folder.empty() ? "." : folder, ignored);
  for (; next != fs::directory_iterator(); next.increment(ignored)) {
    const string name = next->path().filename().string();
    const size_t mark = name.rfind(kMark);
    if (mark == string::npos || !IsStray(name.substr(mark + strlen(kMark)))) continue;
    if (of(name.substr(0, mark))) unlink(next->path().c_str());
  }
}

string WhyNotWritable(const string& path) {
  if (const string why = FindForeignLink(path); !why.empty()) return why;
  string temp_path;
  const int fd = MakeTemporary(path, &temp_path);
  if (fd < 0) return strerror(errno);
  close(fd);
  unlink(temp_path.c_str());
  return "";
}

string WhyLinkIsRefused(const string& path) {
  if (IsLinkOfAnother(path)) return "it is a symbolic link that another user has made";
  return FindForeignLink(path);
}

AtomicFile::AtomicFile(const string& path, Links links) : path_(path), temp_path_(path) {
  std::error_code ignored;
  fs::file_status status = fs::status(path, ignored);
  const bool replaced = links == kReplace && fs::is_symlink(fs::symlink_status(path, ignored));
  if (replaced) status = fs::file_status(fs::file_type::not_found);
  if (const string why = replaced ? FindForeignLink(path) : WhyLinkIsRefused(path); !why.empty())
    Fail(why + ". Remove it, or name another file.");
  if (fs::is_directory(status)) Fail("it is a folder");
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    fd_ = OpenDirectly(path);
  } else {
    if (fs::exists(status)) {
      // A rename checks only the permissions of the folder, so check those of the file here.
      if (access(path.c_str(), W_OK) != 0) Fail(strerror(errno));
      path_ = fs::canonical(path, ignored).string();  // resolves a link, so that it is not replaced
    }
    fd_ = MakeTemporary(path_, &temp_path_);
  }
  if (fd_ < 0) {
    const int error = errno;
    temp_path_ = path_;  // there is no temporary file to remove
    Fail(strerror(error));
  }
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) close(fd_);
  if (!committed_ && !direct()) unlink(temp_path_.c_str());
}

void AtomicFile::Write(const string& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t size = write(fd_, bytes.data() + done, bytes.size() - done);
    if (size < 0 && errno != EINTR) Fail(strerror(errno));
    done += static_cast<size_t>(std::max<ssize_t>(size, 0));
  }
}

void AtomicFile::Sync() {
  if (!synced_ && !direct() && fsync(fd_) != 0 && errno != EINVAL) Fail(strerror(errno));
  synced_ = true;
}

void AtomicFile::Commit() {
  Sync();
  if (!direct()) {
    struct stat written, named;
    if (fstat(fd_, &written) != 0 || lstat(temp_path_.c_str(), &named) != 0 ||
        written.st_ino != named.st_ino || written.st_dev != named.st_dev)
      Fail(temp_path_ + " was removed or replaced meanwhile");
  }
  // Some file systems report a full disk only on close.
  const int fd = fd_;
  fd_ = -1;
  if (close(fd) != 0) Fail(strerror(errno));
  if (!direct() && rename(temp_path_.c_str(), path_.c_str()) != 0) Fail(strerror(errno));
  committed_ = true;
  if (direct()) return;
  if (const int error = SyncFolder(FolderOf(path_))) Fail(strerror(error));
}

void AtomicFile::Fail(const string& reason) {
  if (!committed_ && !direct()) unlink(temp_path_.c_str());
  LOG(FATAL) << "Cannot write " << path_ << ": " << reason;
  abort();
}

}  // namespace caffe

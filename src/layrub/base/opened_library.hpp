#ifndef LAYRUB_BASE_OPENED_LIBRARY_HPP_
#define LAYRUB_BASE_OPENED_LIBRARY_HPP_

#include <optional>
#include <string>
#include <type_traits>

// Opens shared libraries when they are first needed, so that programs start on machines that lack
// them. A struct lists the functions of a library that are called:
//
//   #define LAYRUB_SOUND(X) X(snd_, open); X(snd_, play)
//   struct Sound {
//     LAYRUB_LIBRARY_FUNCTIONS(LAYRUB_SOUND)
//   };
//   std::string VersionOf(const Sound& sound);  // "" if unknown, as where the library is too old
//
// Its members `open` and `play` point to snd_open and snd_play, with the types that the library's
// header declares, once OpenLibrary<Sound> has found them.

namespace layrub {

/// Words for the message about a library that cannot be used.
struct LibraryDescription {
  std::string name;    ///< the name that its makers use
  std::string remedy;  ///< what would help; the end of a sentence
};

/// An open shared library.
class OpenedLibrary {
 public:
  /// If `file` has no slash, the loader searches for it in LD_LIBRARY_PATH, in libcaffe's own
  /// search path, and where the system looks.
  explicit OpenedLibrary(const std::string& file);

  /// Why the file could not be opened, in the words of the loader; else empty.
  const std::string& error() const { return error_; }
  /// Returns the address of `symbol`, or null if the library does not have it.
  void* Find(const char* symbol) const;
  /// Closes the library. Without this call it stays open until the process ends.
  void Close();

 private:
  void* handle_ = nullptr;
  std::string error_;
};

/// Opens `file` until the process ends. Returns nothing if the file is missing or lacks one of the
/// functions; then `*why_not` is a sentence that says so, and what would help. Thread safe.
template <typename Functions>
std::optional<Functions> OpenLibrary(const std::string& file, const LibraryDescription& words,
                                     std::string* why_not) {
  OpenedLibrary library(file);
  if (!library.error().empty()) {
    *why_not = words.name + " was not found (" + library.error() + "): " + words.remedy;
    return std::nullopt;
  }
  Functions functions;
  std::string missing;
  functions.ForEachFunction([&](const char* symbol, auto* function) {
    *function = reinterpret_cast<std::decay_t<decltype(*function)>>(library.Find(symbol));
    if (*function == nullptr && missing.empty()) missing = symbol;
  });
  if (missing.empty()) return functions;
  const std::string version = VersionOf(functions);
  *why_not = words.name + (version.empty() ? "" : " ") + version + " is too old (" + file +
             " has no " + missing + "): " + words.remedy;
  library.Close();
  return std::nullopt;
}

}  // namespace layrub

#define LAYRUB_LIBRARY_MEMBER(prefix, name) decltype(&::prefix##name) name = nullptr
#define LAYRUB_LIBRARY_VISIT(prefix, name) visit(#prefix #name, &name)
/// Declares a member for each X(prefix, name) in list(X), which separates them by semicolons, and
/// the function by which OpenLibrary finds them.
#define LAYRUB_LIBRARY_FUNCTIONS(list)         \
  list(LAYRUB_LIBRARY_MEMBER);                 \
  template <typename Visitor>                  \
  void ForEachFunction(const Visitor& visit) { \
    list(LAYRUB_LIBRARY_VISIT);                \
  }

#endif  // LAYRUB_BASE_OPENED_LIBRARY_HPP_

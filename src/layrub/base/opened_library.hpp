#ifndef LAYRUB_BASE_OPENED_LIBRARY_HPP_
#define LAYRUB_BASE_OPENED_LIBRARY_HPP_

#include <optional>
#include <string>
#include <type_traits>

// Shared libraries that are opened when they are needed first, so that programs start where there
// are none. A struct has the functions that are called of one:
//
//   #define LAYRUB_SOUND(X) X(snd_, open); X(snd_, play)
//   struct Sound {
//     LAYRUB_LIBRARY_FUNCTIONS(LAYRUB_SOUND)
//   };
//   std::string VersionOf(const Sound& sound);  // empty if it does not tell, as where it is too
//   old
//
// has the members `open` and `play`, which point to snd_open and snd_play of the types that the
// library's header declares, once OpenLibrary<Sound> has found them.

namespace layrub {

/// What is said of a library that cannot be used.
struct LibraryWords {
  std::string name;    ///< as its makers call it
  std::string remedy;  ///< what would help, as the end of a sentence
};

/// One open file.
class OpenedLibrary {
 public:
  /// Without a slash in its name `file` is looked for as the loader does it: in LD_LIBRARY_PATH, in
  /// libcaffe's own search path, where the system looks.
  explicit OpenedLibrary(const std::string& file);

  /// Why the file could not be opened, as the loader says it; else empty.
  const std::string& error() const { return error_; }
  /// The address of what it calls `symbol`; null: it has nothing of that name.
  void* Find(const char* symbol) const;
  /// It stays open for as long as the process lives, unless this is called.
  void Close();

 private:
  void* handle_ = nullptr;
  std::string error_;
};

/// Opens `file` for as long as the process lives. Empty where it is not there or lacks one of the
/// functions: then `*why_not` is a sentence that says so, and what would help. Thread safe.
template <typename Functions>
std::optional<Functions> OpenLibrary(const std::string& file, const LibraryWords& words,
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
/// The members for an X(prefix, name) each in list(X), with semicolons between them, and what
/// OpenLibrary finds them by.
#define LAYRUB_LIBRARY_FUNCTIONS(list)         \
  list(LAYRUB_LIBRARY_MEMBER);                 \
  template <typename Visitor>                  \
  void ForEachFunction(const Visitor& visit) { \
    list(LAYRUB_LIBRARY_VISIT);                \
  }

#endif  // LAYRUB_BASE_OPENED_LIBRARY_HPP_

// libcaffe_python.so: starts Python in programs that have none. A PythonLayer without a factory for
// its body opens this library, which starts an interpreter and imports caffe; the import installs
// the factory.
#include <Python.h>
#include <dlfcn.h>

#include <string>

namespace {

/// The folder of this library. The package is in it or in python/ next to it, in the build tree as
/// well as installed.
std::string Folder() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void*>(&Folder), &info)) return ".";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace

/// Starts Python. Returns null, or the reason why it cannot be started, which is valid until the
/// next call.
extern "C" const char* layrub_start_python() {
  static std::string error;
  if (Py_IsInitialized()) return "this process has a Python, which has not imported caffe.";
  Py_InitializeEx(0);  // the program keeps its signal handlers
  PyObject* const globals = PyDict_New();
  PyDict_SetItemString(globals, "__builtins__", PyEval_GetBuiltins());
  PyObject* const folder = PyUnicode_DecodeFSDefault(Folder().c_str());
  PyDict_SetItemString(globals, "folder", folder);
  // Modules are found in the current folder first, as with `python3 script`. PYTHONPATH comes
  // before the folder of the package.
  PyObject* const done = PyRun_String(
      "import sys, os\n"
      "sys._caffe_embedded = True\n"
      "sys.path.insert(0, '')\n"
      "sys.path += [os.path.join(folder, place) for place in ('../python', 'python')]\n"
      "import caffe\n",
      Py_file_input, globals, globals);
  error.clear();
  if (!done) {
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyObject* const text = value ? PyObject_Str(value) : nullptr;
    const char* const words = text ? PyUnicode_AsUTF8(text) : nullptr;
    error = std::string("import caffe: ") + (words ? words : "failed");
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
  }
  Py_XDECREF(done);
  Py_XDECREF(folder);
  Py_XDECREF(globals);
  PyEval_SaveThread();  // release the lock: threads that need the interpreter take it
  return error.empty() ? nullptr : error.c_str();
}

#!/usr/bin/env python3
"""Installs a build with `cmake --install` and as a Debian package. Programs of users can be built with it, and its own
programs run. ctest has an entry for each class; both need a complete build."""
import contextlib
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from command_line import BIN, SOURCE, write

BUILD = os.path.dirname(BIN)
# A program as written for Caffe: a user's layer, and a net that uses it.
CLIENT = """
#include <caffe/caffe.hpp>
#include <caffe/layers/neuron_layer.hpp>
#include <caffe/util/math_functions.hpp>

#include <iostream>
#include <vector>

namespace caffe {

template <typename Dtype>
class HalfLayer : public NeuronLayer<Dtype> {
 public:
  explicit HalfLayer(const LayerParameter& param) : NeuronLayer<Dtype>(param) {}
  virtual inline const char* type() const { return "Half"; }

 protected:
  virtual void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    caffe_cpu_scale(bottom[0]->count(), Dtype(0.5), bottom[0]->cpu_data(), top[0]->mutable_cpu_data());
  }
  virtual void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                            const vector<Blob<Dtype>*>& bottom) {
    if (propagate_down[0])
      caffe_cpu_scale(top[0]->count(), Dtype(0.5), top[0]->cpu_diff(), bottom[0]->mutable_cpu_diff());
  }
};

INSTANTIATE_CLASS(HalfLayer);
REGISTER_LAYER_CLASS(Half);

}  // namespace caffe

int main(int argc, char** argv) {
  FLAGS_minloglevel = google::ERROR;
  google::InitGoogleLogging(argv[0]);
  caffe::Caffe::set_mode(caffe::Caffe::CPU);
  caffe::SolverParameter param;
  caffe::ReadSolverParamsFromTextFileOrDie(argv[1], &param);
  boost::shared_ptr<caffe::Solver<float> > solver(caffe::SolverRegistry<float>::CreateSolver(param));
  solver->Solve();
  std::cout << solver->iter() << " iterations, loss " << solver->net()->blob_by_name("loss")->cpu_data()[0] << "\\n";
  return 0;
}
"""
NET = """
layer { name: "data" type: "DummyData" top: "x" top: "t" dummy_data_param {
    shape { dim: 2 dim: 3 } shape { dim: 2 dim: 2 }
    data_filler { type: "constant" value: 1 } data_filler { type: "constant" value: 0.5 } } }
layer { name: "half" type: "Half" bottom: "x" top: "half" }
layer { name: "ip" type: "InnerProduct" bottom: "half" top: "y"
        inner_product_param { num_output: 2 weight_filler { type: "constant" value: 0.25 } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "y" bottom: "t" top: "loss" }
"""
SOLVER = 'net: "net.prototxt" base_lr: 0.1 lr_policy: "fixed" max_iter: 5 snapshot_after_train: false solver_mode: CPU'
# The C++ standard is that of Caffe's time; the target requires the one that its headers need.
CMAKE = """
cmake_minimum_required(VERSION 3.10)
project(client CXX)
set(CMAKE_CXX_STANDARD 14)
find_package(Caffe REQUIRED)
include_directories(${Caffe_INCLUDE_DIRS})
add_definitions(${Caffe_DEFINITIONS})
add_executable(client client.cpp)
target_link_libraries(client ${Caffe_LIBRARIES})
"""


with open(os.path.join(BUILD, "CMakeCache.txt")) as cache_file:
    CACHE = cache_file.read()
HAS_ONEDNN = "USE_ONEDNN:BOOL=ON" in CACHE
HAS_MPI = "USE_MPI:BOOL=ON" in CACHE


@contextlib.contextmanager
def manifests_kept():
    """Restores the lists of installed files in the build folder, which installing and packaging overwrite and
    `uninstall` reads. One ctest entry at a time may do this: see its RESOURCE_LOCK."""
    def manifests():
        return glob.glob(os.path.join(glob.escape(BUILD), "install_manifest*.txt"))

    before = {}
    for path in manifests():
        with open(path, "rb") as file:
            before[path] = file.read()
    try:
        yield
    finally:
        for path in manifests():
            if path not in before:
                os.unlink(path)
        for path, content in before.items():
            with open(path, "wb") as file:
                file.write(content)


class InstalledTest(unittest.TestCase):
    """Every class has its own folder, into which prepare() installs."""

    @classmethod
    def setUpClass(cls):
        cls.folder = os.path.realpath(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        os.chdir(cls.folder)
        cls.addClassCleanup(os.chdir, "/")
        write("client.cpp", CLIENT)
        write("net.prototxt", NET)
        write("solver.prototxt", SOLVER)
        cls.prepare()

    @staticmethod
    def run_whole(*command, **environment):
        """The output of a command that must succeed. Its environment does not name the build folder."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LAYRUB", "LD_"))}
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False,
                              env={**clean, "GLOG_log_dir": os.getcwd(), **environment})
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def check_programs(self, prefix, python):
        """Checks that the programs below `prefix` and the Python package in the folder `python` work."""
        model = os.path.join(SOURCE, "models/resnet18/train_val.prototxt")
        for name in ("layrub", "caffe"):
            said = self.run_whole(f"{prefix}/bin/{name}", "plan", f"--model={model}", "--batch=2", "--format=json")
            self.assertEqual("fits", json.loads(said)["verdict"])
        if os.path.isdir(python):
            said = self.run_whole(sys.executable, "-c", "import caffe; print(caffe.__file__, caffe.layer_type_list())",
                                  PYTHONPATH=python, PYTHONDONTWRITEBYTECODE="1")
            self.assertTrue(said.startswith(python), said)
            self.assertIn("'Convolution'", said)
        else:
            print("SKIPPED: this build has no Python package", file=sys.stderr)


class Installed(InstalledTest):

    @classmethod
    def prepare(cls):
        cls.prefix = f"{cls.folder}/prefix"
        with manifests_kept():
            cls.run_whole("cmake", "--install", BUILD, "--prefix", cls.prefix)
        cls.library = f"{cls.prefix}/{re.search(r'CMAKE_INSTALL_LIBDIR:PATH=(.*)', CACHE)[1]}"
        cls.cpu_only = "CPU_ONLY:BOOL=ON" in CACHE

    def test_programs_and_python_run(self):
        self.check_programs(self.prefix, f"{self.prefix}/python")

    def test_libraries_for_onednn_and_mpi_are_next_to_the_library(self):
        self.assertEqual(HAS_ONEDNN, os.path.exists(f"{self.library}/libcaffe_onednn.so"))
        self.assertEqual(HAS_MPI, os.path.exists(f"{self.library}/liblayrub_mpi.so"))

    def build_client(self, folder, where):
        """Builds a client with find_package(Caffe); the definition `where` says where to search."""
        os.mkdir(folder)
        shutil.copy("client.cpp", folder)
        write(f"{folder}/CMakeLists.txt", CMAKE)
        self.run_whole("cmake", "-S", folder, "-B", f"{folder}/build", "-D", where)
        self.run_whole("cmake", "--build", f"{folder}/build")
        return f"{folder}/build/client"

    def test_a_client_is_built_by_find_package(self):
        self.check_client(self.build_client("by_cmake", f"CMAKE_PREFIX_PATH={self.prefix}"), self.library)

    def test_a_client_is_built_by_find_package_in_the_build_folder(self):
        self.check_client(self.build_client("in_build", f"Caffe_DIR={BUILD}"), f"{BUILD}/lib")

    def test_a_client_is_built_by_a_makefile(self):
        if not self.cpu_only:
            self.skipTest("a build with CUDA: a Makefile also names CUDA's folders")
        self.run_whole("g++", "-std=c++17", "-DCPU_ONLY", f"-I{self.prefix}/include", "client.cpp", "-o", "client",
                       f"-L{self.library}", f"-Wl,-rpath,{self.library}", "-lcaffe", "-lglog", "-lgflags", "-lprotobuf",
                       "-lboost_system", "-lpthread")
        self.check_client("./client", self.library)

    def test_an_older_standard_is_refused_in_a_sentence(self):
        run = subprocess.run(["g++", "-std=c++14", "-DCPU_ONLY", f"-I{self.prefix}/include", "-fsyntax-only", "client.cpp"],
                             capture_output=True, text=True)
        self.assertNotEqual(0, run.returncode)
        first = next(line for line in run.stderr.splitlines() if "error" in line)
        self.assertRegex(first, r"caffe/common\.hpp:\d+:\d+: error: #error .*need C\+\+17 or later: compile with -std=c\+\+17")

    def check_client(self, program, library):
        """Checks that the client trains, with the library in the folder `library`."""
        self.assertIn(f"{library}/libcaffe.so", self.run_whole("ldd", program))
        self.assertRegex(self.run_whole(program, "solver.prototxt"), r"^5 iterations, loss 0\.0\d+\n$")


@unittest.skipUnless(shutil.which("cpack") and shutil.which("dpkg-deb") and shutil.which("dpkg-shlibdeps"),
                     "a package is made by cpack, dpkg-deb and dpkg-shlibdeps")
class DebianPackage(InstalledTest):

    @classmethod
    def prepare(cls):
        # Not compressed, because that would take most of the time.
        with manifests_kept():
            cls.run_whole("cpack", "-G", "DEB", "--config", f"{BUILD}/CPackConfig.cmake", "-B", cls.folder,
                          "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=none")
        cls.package, = glob.glob("*.deb")
        cls.run_whole("dpkg-deb", "-x", cls.package, "root")
        cls.files = {line.split(None, 5)[5].split(" -> ")[0].lstrip("."): line.split()[:2]
                     for line in cls.run_whole("dpkg-deb", "--contents", cls.package).splitlines()}

    def field(self, name):
        return self.run_whole("dpkg-deb", "--field", self.package, name).strip()

    def matching(self, pattern):
        return sorted(path for path in self.files if re.fullmatch(pattern, path))

    def test_it_has_a_description_and_dependencies(self):
        with open(os.path.join(SOURCE, "CMakeLists.txt")) as file:
            version = re.search(r"project\(Layrub VERSION (\S+)", file.read())[1]
        self.assertEqual(("layrub", version), (self.field("Package"), self.field("Version")))
        self.assertTrue(self.package.startswith(f"layrub_{version}_"), self.package)
        depends = self.field("Depends")
        for needed in ("libc6 (", "libstdc++6 (", "libgoogle-glog", "libprotobuf", "libopenblas", *["libdnnl"] * HAS_ONEDNN):
            self.assertIn(needed, depends)
        self.assertIn("python3-numpy", self.field("Recommends"))
        self.assertIn("caffe-cpu", self.field("Conflicts"))
        with gzip.open("root/usr/share/doc/layrub/changelog.gz", "rt") as file:
            self.assertTrue(file.readline().startswith(f"layrub ({version}) "))
        self.assertRegex(self.field("Maintainer"), r"^[^<>]+ <[^<>@ ]+@[^<>@ ]+>$")

    def test_files_are_where_debian_expects_them(self):
        for count, pattern in (
                (5, r"/usr/bin/(layrub|caffe|convert_imageset|compute_image_mean|extract_features)"),
                (1, r"/usr/lib/(.+/)?libcaffe\.so\.[\d.]+"),
                (int(HAS_ONEDNN), r"/usr/lib/(.+/)?libcaffe_onednn\.so"),
                (int(HAS_MPI), r"/usr/lib/(.+/)?liblayrub_mpi\.so"),
                (4, r"/usr/include/caffe/(caffe\.hpp|net\.hpp|proto/caffe\.pb\.h|proto/caffe\.proto)"),
                (2, r"/usr/share/Caffe/CaffeConfig(Version)?\.cmake"),
                (3, r"/usr/share/man/man1/(layrub|caffe|convert_imageset)\.1\.gz"),
                (2, r"/usr/share/bash-completion/completions/(layrub|caffe)"),
                (2, r"/usr/share/doc/layrub/(copyright|changelog\.gz)")):
            self.assertEqual(count, len(self.matching(pattern)), pattern)
        if os.path.isdir(os.path.join(BUILD, "python/caffe")):
            for name in ("__init__", "io", "proto/caffe_pb2"):
                self.assertIn(f"/usr/lib/python3/dist-packages/caffe/{name}.py", self.files)
            self.assertTrue(self.matching(r"/usr/lib/python3/dist-packages/caffe/_caffe.*\.so"))
        self.assertEqual([], self.matching(r"/usr/(bin|lib/.*)/(test_(?!net$)|convert_digits).*|.*\.pyc|/usr/local/.+"))

    def test_its_files_belong_to_root_and_are_not_writable_by_others(self):
        for path, (rights, owner) in self.files.items():
            self.assertEqual("root/root", owner, path)
            if not rights.startswith("l"):
                self.assertRegex(rights, r"^[-d]rw[-x]r-[-x]r-[-x]$", path)

    def test_documents_are_compressed_as_debian_requires(self):
        for path in self.matching(r"/usr/share/(man|doc)/.*\.gz"):
            with open(f"root{path}", "rb") as file:
                header = file.read(10)
            self.assertEqual((bytes(4), 2), (header[4:8], header[8]), path)  # no time stamp; highest compression
            with gzip.open(f"root{path}") as file:
                self.assertTrue(file.read())

    def test_programs_and_python_run(self):
        self.check_programs(f"{self.folder}/root/usr", f"{self.folder}/root/usr/lib/python3/dist-packages")


if __name__ == "__main__":
    unittest.main(verbosity=2)

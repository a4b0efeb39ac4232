#!/usr/bin/env python3
"""find_package(Caffe) in the build folder: a program is built with the library as it lies there, and nothing is installed."""
import os
import re
import subprocess
import tempfile
import unittest

BUILD = os.path.dirname(os.environ['LAYRUB_BIN_DIR'])

CMAKE = '''
cmake_minimum_required(VERSION 3.10)
project(client CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(Caffe REQUIRED)
include_directories(${Caffe_INCLUDE_DIRS})
add_definitions(${Caffe_DEFINITIONS})
add_executable(client client.cpp)
target_link_libraries(client ${Caffe_LIBRARIES})
'''
CLIENT = '''
#include <caffe/caffe.hpp>
#include <iostream>
int main() {
  caffe::Blob<float> blob(2, 3, 4, 5);
  std::cout << blob.count() << std::endl;
  return 0;
}
'''


class FindPackage(unittest.TestCase):

    def run_in(self, folder, *command):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        self.assertEqual(0, done.returncode, f'{command}\n{done.stdout}{done.stderr}')
        return done.stdout

    def test_a_client_is_built_with_the_build_folder(self):
        with open(os.path.join(BUILD, 'CMakeCache.txt'), encoding='utf-8') as file:
            if re.search(r'(?m)^SANITIZE:\w+=.', file.read()):
                self.skipTest('a client without the sanitizer cannot use a library with it')
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (('CMakeLists.txt', CMAKE), ('client.cpp', CLIENT)):
                with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
                    file.write(text)
            self.run_in(folder, 'cmake', '-S', '.', '-B', 'build', '-D', f'Caffe_DIR={BUILD}')
            self.run_in(folder, 'cmake', '--build', 'build')
            self.assertEqual('120\n', self.run_in(folder, 'build/client'))


if __name__ == '__main__':
    unittest.main()

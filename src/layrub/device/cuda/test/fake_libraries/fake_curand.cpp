// A fake of the part of cuRAND that this project calls. Its numbers differ from cuRAND's but have
// the same distributions.
#include <curand.h>

#include <random>

#include "layrub/device/cuda/test/fake_libraries/fake_library.hpp"

// NOLINTNEXTLINE(build/namespaces)
using namespace layrub::fake_cuda;

struct curandGenerator_st {
  Place place;
  unsigned long long seed = 0, offset = 0;
};

namespace {

constexpr int64_t kLibraryBytes = int64_t{1} << 20;

curandStatus_t Status(cudaError_t error) {
  return error == cudaSuccess ? CURAND_STATUS_SUCCESS : CURAND_STATUS_LAUNCH_FAILURE;
}

/// Fills `values` with results of draw(engine), from another part of the sequence at each call.
template <typename Number, typename Draw>
curandStatus_t Fill(const char* name, curandGenerator_t generator, Number* values, size_t count,
                    Draw draw) {
  std::seed_seq seeds{generator->seed, generator->offset};
  generator->offset += count;
  std::mt19937 engine(seeds);
  const Operand all{values, static_cast<int64_t>(count * sizeof(Number)), true};
  return Status(QueueCall(name, generator->place, {all}, [=]() mutable {
    for (size_t i = 0; i < count; ++i) values[i] = draw(engine);
  }));
}

template <typename Number>
curandStatus_t Uniform(const char* name, curandGenerator_t generator, Number* values,
                       size_t count) {
  // On (0, 1].
  return Fill(name, generator, values, count, [](std::mt19937& engine) {
    return Number(1) - Number(engine() >> 8) / Number(1 << 24);
  });
}

template <typename Number>
curandStatus_t Normal(const char* name, curandGenerator_t generator, Number* values, size_t count,
                      Number mean, Number deviation) {
  if (count % 2 != 0) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
  return Fill(name, generator, values, count, [=](std::mt19937& engine) {
    return std::normal_distribution<Number>(mean, deviation)(engine);
  });
}

}  // namespace

extern "C" {

curandStatus_t curandGetVersion(int* version) {
  *version = CURAND_VERSION;
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t) {
  const curandStatus_t status = Status(OpenLibrary("curandCreateGenerator", kLibraryBytes));
  if (status == CURAND_STATUS_SUCCESS) *generator = new curandGenerator_st;
  return status;
}

curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
  const Place place = generator->place;
  delete generator;
  return Status(CloseLibrary("curandDestroyGenerator", place, kLibraryBytes));
}

curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream) {
  generator->place.stream = stream;
  return Status(PlainCall("curandSetStream"));
}

curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator,
                                                  unsigned long long seed) {
  generator->seed = seed;
  return Status(PlainCall("curandSetPseudoRandomGeneratorSeed"));
}

curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
  generator->offset = offset;
  return Status(PlainCall("curandSetGeneratorOffset"));
}

curandStatus_t curandGenerate(curandGenerator_t generator, unsigned int* values, size_t count) {
  return Fill("curandGenerate", generator, values, count,
              [](std::mt19937& engine) { return static_cast<unsigned int>(engine()); });
}

curandStatus_t curandGenerateUniform(curandGenerator_t generator, float* values, size_t count) {
  return Uniform("curandGenerateUniform", generator, values, count);
}

curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double* values,
                                           size_t count) {
  return Uniform("curandGenerateUniformDouble", generator, values, count);
}

curandStatus_t curandGenerateNormal(curandGenerator_t generator, float* values, size_t count,
                                    float mean, float deviation) {
  return Normal("curandGenerateNormal", generator, values, count, mean, deviation);
}

curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double* values, size_t count,
                                          double mean, double deviation) {
  return Normal("curandGenerateNormalDouble", generator, values, count, mean, deviation);
}

}  // extern "C"

#ifndef LAYRUB_BASE_COMPARABLE_HPP_
#define LAYRUB_BASE_COMPARABLE_HPP_

/// Member-wise == for plain data. Programs that include these headers as C++17 (Caffe's users) do
/// without it.
#if __cplusplus >= 202002L
#define LAYRUB_COMPARABLE(Type) bool operator==(const Type&) const = default;
#else
#define LAYRUB_COMPARABLE(Type)
#endif

#endif  // LAYRUB_BASE_COMPARABLE_HPP_

#ifndef LAYRUB_BASE_COMPARABLE_HPP_
#define LAYRUB_BASE_COMPARABLE_HPP_

/// Defines a member-wise == for plain data. Does nothing in programs that include these headers as
/// C++17 (Caffe's users).
#if __cplusplus >= 202002L
#define LAYRUB_COMPARABLE(Type) bool operator==(const Type&) const = default;
#else
#define LAYRUB_COMPARABLE(Type)
#endif

#endif  // LAYRUB_BASE_COMPARABLE_HPP_

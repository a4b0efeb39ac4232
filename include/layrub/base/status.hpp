#ifndef LAYRUB_BASE_STATUS_HPP_
#define LAYRUB_BASE_STATUS_HPP_

#include <string>
#include <utility>
#include <variant>

namespace layrub {

/// The outcome of a planning step. Planning never aborts: for a budget that is too small or a
/// malformed graph it returns a Status, which the caller turns into a message and an exit code.
enum class Code {
  kOk,
  kInvalid,     ///< the input is malformed (a graph, a plan text, a flag); exit code 1
  kDoesNotFit,  ///< well formed, but no plan stays within the budget; exit code 2
};

struct Status {
  Code code = Code::kOk;
  std::string message;  ///< one sentence for a person; empty when ok

  bool ok() const { return code == Code::kOk; }
  static Status Ok() { return {}; }
  static Status Invalid(std::string text) { return {Code::kInvalid, std::move(text)}; }
  static Status DoesNotFit(std::string text) { return {Code::kDoesNotFit, std::move(text)}; }
};

/// A value, or the Status that says why there is none.
template <typename T>
class Result {
 public:
  Result(T value) : state_(std::move(value)) {}         // NOLINT(runtime/explicit)
  Result(Status status) : state_(std::move(status)) {}  // NOLINT(runtime/explicit)

  bool ok() const { return std::holds_alternative<T>(state_); }
  /// Requires ok().
  const T& value() const { return std::get<T>(state_); }
  T& value() { return std::get<T>(state_); }
  /// Ok when there is a value.
  Status status() const { return ok() ? Status::Ok() : std::get<Status>(state_); }

 private:
  std::variant<T, Status> state_;
};

}  // namespace layrub

#endif  // LAYRUB_BASE_STATUS_HPP_

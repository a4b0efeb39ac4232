#ifndef EXAMPLES_LSTM_SEQUENCE_CHARACTERS_HPP_
#define EXAMPLES_LSTM_SEQUENCE_CHARACTERS_HPP_

#include <cctype>
#include <string>

namespace examples {

/// The characters that the net knows; the number of one is its place here. Capitals count as small
/// letters, ends of lines as blanks.
inline const std::string& Alphabet() {
  static const std::string alphabet = " abcdefghijklmnopqrstuvwxyz.,";
  return alphabet;
}

/// The number of a character, or -1.
inline int NumberOf(char character) {
  if (character == '\n') character = ' ';
  const auto small = static_cast<char>(std::tolower(static_cast<unsigned char>(character)));
  const size_t at = Alphabet().find(small);
  return at == std::string::npos ? -1 : static_cast<int>(at);
}

}  // namespace examples

#endif  // EXAMPLES_LSTM_SEQUENCE_CHARACTERS_HPP_

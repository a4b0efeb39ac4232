#!/bin/sh
# Checks the format of C++ files, the rules for includes, that results of rc::check are asserted, and the syntax of
# scripts (with shellcheck if installed). `--fix` formats instead of complaining. Exits with 1 if something is wrong;
# long files only get a warning.
set -eu

cd "$(dirname "$0")/.."
list() { git ls-files --cached --others --exclude-standard -- "$@" | sort -u; }
failed=0

mode='--dry-run -Werror'
[ "${1:-}" != --fix ] || mode=-i
# shellcheck disable=SC2086 # two words
list '*.cpp' '*.hpp' '*.h' | xargs -r clang-format $mode || failed=1

python3 ci/check_includes.py || failed=1

# rc::check returns whether its property holds; it does not fail a test itself.
if list '*.cpp' '*.cu' | xargs -r grep -nE '^ *(\(void\) *)?rc::check\('; then
  echo 'lint: the verdict of this rc::check is not looked at: EXPECT_TRUE(rc::check(...))' >&2
  failed=1
fi

for script in $(list '*.sh') .ci/run; do
  sh -n "$script" || failed=1
done
! command -v shellcheck > /dev/null || list '*.sh' .ci/run | xargs -r shellcheck || failed=1
for script in $(list '*.py'); do
  python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read(), sys.argv[1])' "$script" || failed=1
done

list '*.cpp' '*.hpp' '*.h' '*.py' | xargs -r wc -l |
  awk '$2 != "total" && $1 > 400 { print "warning: " $2 ": " $1 " lines; is it still one subject?" }'

[ $failed = 0 ] && echo 'lint: all is well' || echo 'lint: see above' >&2
exit $failed

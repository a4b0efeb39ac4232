#!/usr/bin/env python3
"""Makes man pages of what programs say of themselves with --help, and completion for bash of the flags of layrub.

  describe_programs.py man build/bin build/man layrub convert_imageset     build/man/layrub.1, build/man/convert_imageset.1
  describe_programs.py completion build/bin build/layrub.bash
"""

import argparse
import datetime
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools/python'))
from script import BadInput, run_script, write_whole  # noqa: E402

COMMAND = re.compile(r'^  (\w+) {2,}(.*)$', re.MULTILINE)
FLAG = re.compile(r'^  (--\w.*?)(?: {2,}(.*))?$')
NAME = re.compile(r'--(\w+)(=([^\s]+))?')
# Values that are words of a fixed choice are written A|B; these are files, by the name of the value.
FILES = ('FILE', 'NAME|FILE', 'FILE[,FILE]', 'DIR', 'PATH')


def help_of(program, *words):
    """What the program prints, a list of lines."""
    try:
        done = subprocess.run([program, *words, '--help'], capture_output=True, text=True, check=False)
    except OSError as error:
        raise BadInput(f'{program}: {error.strerror}') from None
    text = done.stdout or done.stderr
    if not text.strip():
        raise BadInput(f'{program} {" ".join(words)} --help says nothing')
    return text.rstrip().split('\n')


def commands(program):
    """(name, summary) of each command of a program that has some."""
    return COMMAND.findall('\n'.join(line for line in help_of(program) if '  --' not in line))


def escape(text):
    """Text for roff: no letter is a command, and a hyphen stays the one of ASCII."""
    text = text.replace('\\', '\\e').replace('-', '\\-')
    return '\\&' + text if text[:1] in ('.', "'") else text


def parts(lines):
    """What help says: ('text', lines), ('flag', flag, lines) in its order."""
    found = []
    for line in lines:
        flag = FLAG.match(line)
        if flag:
            found.append(('flag', flag.group(1), [flag.group(2) or '']))
        elif found and found[-1][0] == 'flag' and line.startswith(' ' * 6):
            found[-1][2].append(line.strip())
        elif found and found[-1][0] == 'text':
            found[-1][2].append(line)
        else:
            found.append(('text', '', [line]))
    return found


def roff_of(lines):
    for kind, flag, text in parts(lines):
        if kind == 'flag':
            yield '.TP\n\\fB' + escape(flag) + '\\fR\n' + escape(' '.join(word for word in text if word)) + '\n'
            continue
        for line in text:
            if not line.strip():
                yield '.PP\n'
            elif line.startswith(('usage:', 'Example:', '  ')):
                yield '.PP\n.nf\n' + escape(line) + '\n.fi\n'
            else:
                yield escape(line) + '\n'


def man_page(program):
    """The page of a program, with a section for each of its commands."""
    name = os.path.basename(program)
    lines = help_of(program)
    text = ' '.join(line for line in lines if line and not line.startswith('usage:') and '  ' not in line)
    summary = re.split(r'[.:](?:\s|$)', text, maxsplit=1)[0] or name
    # The date of the sources, where a packager says it, so that two builds are the same.
    day = datetime.datetime.fromtimestamp(int(os.environ.get('SOURCE_DATE_EPOCH', 0)), datetime.timezone.utc)
    date = f'{day:%Y-%m-%d}' if day.year > 1970 else ''
    page = f'.TH {name.upper()} 1 "{date}" Layrub\n.SH NAME\n{escape(name)} \\- {escape(summary)}\n.SH DESCRIPTION\n'
    page += ''.join(roff_of(lines))
    for command, _ in commands(program):
        page += f'.SH {escape(command.upper())}\n' + ''.join(roff_of(help_of(program, command)))
    return page


def values_of(value):
    """What bash offers for a flag's value: 'files', a list of words, or nothing."""
    if value in FILES:
        return 'files'
    words = value.split('|')
    return ' '.join(words) if len(words) > 1 and all(re.fullmatch(r'[A-Za-z]+', word) for word in words) else ''


def completion(program):
    """The script for bash."""
    cases, strategies, machines = [], '', ''
    for command, _ in commands(program):
        flags = {}
        for kind, flag, text in parts(help_of(program, command)):
            if kind != 'flag':
                continue
            for name, has_value, value in NAME.findall(flag):
                flags.setdefault(name, values_of(value) if has_value else None)
            words = ' '.join(text)
            if flag.startswith('--placement='):
                strategies = ' '.join(re.findall(r'\w+', words.split(':', 1)[1]))
            if flag == '--machine=NAME|FILE' and 'k40' in words:
                machines = ' '.join(re.findall(r'\b(?:cpu|k\d+|titanx|[pvah]\d+)\b', words))
        words = ' '.join(f'--{name}' + ('' if kind is None else '=') for name, kind in sorted(flags.items()))
        files = '|'.join(f'--{name}' for name, kind in sorted(flags.items()) if kind == 'files') or '-'
        choices = ''.join(f'      {command}:--{name}) words="{kind}" ;;\n' for name, kind in sorted(flags.items())
                          if kind and kind != 'files')
        cases.append((command, words, files, choices))
    names = ' '.join(command for command, *_ in cases)
    text = f'# Completion of the commands and flags of layrub for bash; made from its --help.\n_layrub() {{\n' \
           f'  local word=${{COMP_WORDS[COMP_CWORD]}} command=${{COMP_WORDS[1]}} flag value words\n' \
           f'  if [ "$COMP_CWORD" = 1 ]; then\n    COMPREPLY=($(compgen -W "{names} help" -- "$word"))\n    return\n  fi\n' \
           '  # "=" splits words, so a value is a word after one that is "=".\n' \
           '  if [ "$word" = = ]; then\n    flag=${COMP_WORDS[COMP_CWORD - 1]} word=\n' \
           '  elif [ "${COMP_WORDS[COMP_CWORD - 1]}" = = ]; then\n    flag=${COMP_WORDS[COMP_CWORD - 2]}\n  fi\n' \
           '  if [ -n "$flag" ]; then\n    case $command:$flag in\n' \
           f'      *:--placement) words="{strategies}" ;;\n' \
           '      *:--gpu) words="all $(seq 0 $(($(ls -d /proc/driver/nvidia/gpus/* 2> /dev/null | wc -l) - 1)))" ;;\n'
    text += ''.join(choices for *_, choices in cases)
    text += f'      *:--machine) words="{machines}" ;;\n    esac\n' \
            '    [ -z "$words" ] || COMPREPLY=($(compgen -W "$words" -- "$word"))\n    case $command:$flag in\n'
    for command, _, files, _ in cases:
        if files != '-':
            text += '      ' + '|'.join(f'{command}:{flag}' for flag in files.split('|')) + \
                    ') COMPREPLY+=($(compgen -f -- "$word")) ;;\n'
    text += '    esac\n    return\n  fi\n  case $command in\n'
    for command, words, _, _ in cases:
        text += f'    {command}) words="{words}" ;;\n'
    text += f'    help) words="{names}" ;;\n  esac\n' \
            '  COMPREPLY=($(compgen -W "$words" -- "$word"))\n' \
            '  [ "${COMPREPLY[0]: -1}" != = ] || compopt -o nospace\n' \
            '  [[ $word == -* || $command != diff ]] || COMPREPLY=($(compgen -f -- "$word"))\n}\n' \
            'complete -o filenames -F _layrub layrub caffe\n'
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('what', choices=('man', 'completion'))
    parser.add_argument('bin', metavar='BIN', help='the folder of the programs')
    parser.add_argument('output', metavar='OUT', help='the folder for pages, or the file')
    parser.add_argument('programs', metavar='PROGRAM', nargs='*')
    flags = parser.parse_args()
    if flags.what == 'completion':
        write_whole(flags.output, completion(os.path.join(flags.bin, 'layrub')))
        return 0
    os.makedirs(flags.output, exist_ok=True)
    for name in flags.programs:
        write_whole(os.path.join(flags.output, name + '.1'), man_page(os.path.join(flags.bin, name)))
    write_whole(os.path.join(flags.output, 'caffe.1'), '.so man1/layrub.1\n')
    return 0


if __name__ == '__main__':
    run_script(main)

#!/usr/bin/env python3
"""Damages texts of graphs and plans in many ways. verify_plan.py must report the error in one sentence, with file and
line, or object to the plan, unless the damage has changed nothing that matters. It must never accept a plan other than
the one in the text."""

import unittest
import unittest.mock

import plan_files
import test_verify_parts
import test_verify_plan
import verify_plan

# Replacements for a field, or for the value after its "=". The first are invalid everywhere except as free names; the
# others are valid in some places.
JUNK = ('', 'junk', '-1', '-256', '+1', '1_0', '0x10', '\u0663', '1e999', '99999999999999999999', 'a\tb')
VALUES = ('-', '0', '07', '256', '1')
IN_FORMS = ('reads', 'writes', 'alias', 'algorithm')
MADE_UP = ('graph', 'strategy')  # free names; those of variants and algorithms do not matter to the check either
TEXTS = {
    'moving': (test_verify_plan.GRAPH, test_verify_plan.plan_text(test_verify_plan.STEPS)),
    'again': (None, test_verify_plan.plan_text(test_verify_plan.AGAIN, device=2304)),
    'parts': (test_verify_parts.GRAPH, test_verify_parts.plan_text(test_verify_parts.moved(), device=1792)),
}


def joined(lines):
    return '\n'.join(lines) + '\n'


def damaged_lines(text):
    """(what was done, text) for damage of whole lines."""
    lines = text.splitlines()
    for i, line in enumerate(lines):
        yield f'line {i + 1} is junk', joined(lines[:i] + ['junk'] + lines[i + 1:])
        # without one of them, or with more, the text describes another net
        if line.split(' ')[0] in ('#', 'variant', *IN_FORMS):
            continue
        yield f'line {i + 1} left out', joined(lines[:i] + lines[i + 1:])
        yield f'line {i + 1} twice', joined(lines[:i + 1] + lines[i:])
        if i + 1 < len(lines):
            yield f'line {i + 1} after the next', joined(lines[:i] + [lines[i + 1], line] + lines[i + 2:])


def changed_fields(text, change):
    """(what was done, text) where change(words, at, key, value) yields (what, words) for a field key=value or value."""
    lines = text.splitlines()
    for i, line in enumerate(lines):
        words = line.split(' ')
        for at, word in enumerate([] if line.startswith('#') else words):
            key, equals, value = word.rpartition('=')
            for what, new in change(words, at, key + equals, value):
                yield f'line {i + 1} "{line}": {what}', joined(lines[:i] + [' '.join(new)] + lines[i + 1:])


def replaced(by):
    def change(words, at, key, value):
        for other in by:
            if other != value and not (words[0] in MADE_UP and at):
                yield f'"{other}" for "{value}"', words[:at] + [key + other] + words[at + 1:]
    return lambda text: changed_fields(text, change)


def more_or_fewer(text):
    def change(words, at, key, value):
        # Operands and optional words: with or without them the text is valid and means something else.
        if words[0] in ('reads', 'writes', 'readable') and at or value in ('keep', 'repeatable'):
            return
        yield f'"{key}{value}" left out', words[:at] + words[at + 1:]
        yield f'"{key}{value}" twice', words[:at + 1] + words[at:]
        yield f'"{key}{value}" and more', words[:at + 1] + ['junk'] + words[at + 1:]
    return changed_fields(text, change)


class DamagedPlans(unittest.TestCase):

    def setUp(self):
        self.files = {}  # in memory: there are thousands
        files = unittest.mock.patch.object(plan_files, 'text_of', self.files.get)
        files.start()
        self.addCleanup(files.stop)
        self.sound_graphs = {}

    def read_graph(self, text):
        self.files['graph.txt'] = text
        if text in self.sound_graphs:
            return self.sound_graphs[text]
        graph = plan_files.read_graph('graph.txt')
        if text in (texts[0] for texts in TEXTS.values()):
            self.sound_graphs[text] = graph
        return graph

    def read(self, graph, plan):
        """Graph and plan; None if one of them is refused in the right way."""
        try:
            read = self.read_graph(graph)
            self.files['plan.txt'] = plan
            return read, plan_files.read_plan('plan.txt', read)
        except plan_files.BadInput as error:
            self.assertRegex(str(error), r'\A(graph|plan)\.txt:\d+: [^\n]+\Z')
            return None

    def verdict(self, graph, plan):
        """Graph and plan, and whether the plan is accepted; None if one of them is refused."""
        read = self.read(graph, plan)
        if read is None:
            return None
        objections = verify_plan.verify(*read)['objections']
        self.assertNotIn('\n', ''.join(objections))
        return read, not objections

    def damage(self, change, judge):
        """Calls judge with the verdict() of each damaged text, and with that of the undamaged one."""
        for name, (graph, plan) in TEXTS.items():
            whole = graph or test_verify_plan.GRAPH
            sound, proved = self.verdict(whole, plan)
            self.assertTrue(proved)
            texts = [(what, whole, text) for what, text in change(plan)]
            texts += [(what, text, plan) for what, text in (change(graph) if graph else ())]
            self.assertGreater(len(texts), 30)
            for what, *damaged in texts:
                with self.subTest(name, what=what):
                    judge(self.verdict(*damaged), sound)

    def is_never_proved(self, verdict, sound):
        """A damaged text must not be accepted, unless it reads the same as the undamaged one."""
        if verdict is not None and verdict[1]:
            self.assertEqual(sound, verdict[0])

    def test_a_truncated_text_is_refused_at_any_length(self):
        def cuts(text):
            return ((f'cut after {text[:size][-40:]!r}', text[:size]) for size in range(0, len(text) - 1, 5))
        self.damage(cuts, lambda verdict, sound: self.assertIsNone(verdict))

    def test_damaged_lines_are_never_proved(self):
        self.damage(damaged_lines, self.is_never_proved)

    def test_fields_too_many_or_too_few_are_never_proved(self):
        self.damage(more_or_fewer, self.is_never_proved)

    def test_junk_in_fields_is_never_proved(self):
        self.damage(replaced(JUNK), self.is_never_proved)

    def test_other_values_are_read_or_refused_in_one_sentence(self):
        refused = []
        self.damage(replaced(VALUES), lambda verdict, sound: refused.append(verdict is None))
        self.assertEqual({True, False}, set(refused))


if __name__ == '__main__':
    unittest.main()

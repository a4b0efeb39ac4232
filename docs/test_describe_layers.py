#!/usr/bin/env python3
"""docs/layers.md is what the code says."""

import unittest

import describe_layers


class DescribeLayers(unittest.TestCase):

    def test_the_page_is_up_to_date(self):
        self.assertEqual(describe_layers.read(describe_layers.PAGE), describe_layers.page(),
                         'run docs/describe_layers.py')

    def test_every_parameter_message_belongs_to_a_type(self):
        layer_fields, described = describe_layers.messages()
        page = describe_layers.read(describe_layers.PAGE)
        planned_only = {'annotated_data_param', 'video_data_param'}  # of sources that have shapes here, and no layer
        missing = [field for field, message in layer_fields.items() if f'- `{field}`' not in page and
                   field not in planned_only and
                   [key for key, _ in described[message]] != ['engine']]  # Sigmoid's and TanH's: nothing to read
        self.assertEqual(missing, [], 'no layer type reads these')

    def test_the_parts_of_a_description_come_from_the_code(self):
        page = describe_layers.read(describe_layers.PAGE)
        relu = page[page.index('## ReLU\n'):].split('\n## ')[0]
        self.assertIn('y = max(0, x) + negative_slope * min(0, x)', relu)
        self.assertIn('`negative_slope` (0)', relu)
        self.assertIn('in place; backward needs top, or mask (saved), or bottom; runs again', relu)


if __name__ == '__main__':
    unittest.main()

"""Layers of SSD, compared with the formulas of its paper."""

import unittest

import numpy as np
from net_values import layer_net, run

VARIANCES = np.array([0.1, 0.1, 0.2, 0.2])


def draw(shape, seed, scale=1.0):
    return np.random.default_rng(seed).normal(0, scale, shape)


def draw_boxes(count, seed):
    generator = np.random.default_rng(seed)
    low, size = generator.uniform(0, 0.6, (count, 2)), generator.uniform(0.15, 0.4, (count, 2))
    return np.concatenate([low, low + size], 1)


def prior_blob(boxes):
    return np.stack([boxes.ravel(), np.tile(VARIANCES, len(boxes))])[None]


def overlap(a, b):
    """Intersection over union of each of `a` and each of `b`."""
    low, high = np.maximum(a[:, None, :2], b[None, :, :2]), np.minimum(a[:, None, 2:], b[None, :, 2:])
    common = (high - low).clip(0).prod(-1)
    area_a, area_b = (a[:, 2:] - a[:, :2]).prod(-1), (b[:, 2:] - b[:, :2]).prod(-1)
    return common / (area_a[:, None] + area_b[None, :] - common)


def encode(code, boxes, priors, scale):
    """Offsets of boxes from priors in multiples of `scale`."""
    low, high, p_low, p_high = boxes[..., :2], boxes[..., 2:], priors[..., :2], priors[..., 2:]
    size = p_high - p_low
    if code == 'CENTER_SIZE':
        offsets = [(low + high - p_low - p_high) / 2 / size, np.log((high - low) / size)]
    else:
        unit = size if code == 'CORNER_SIZE' else 1
        offsets = [(low - p_low) / unit, (high - p_high) / unit]
    return np.concatenate(offsets, -1) / scale


def decode(code, offsets, priors, scale):
    moves, p_low, p_high = offsets * scale, priors[..., :2], priors[..., 2:]
    size = p_high - p_low
    if code == 'CENTER_SIZE':
        center, half = (p_low + p_high) / 2 + moves[..., :2] * size, np.exp(moves[..., 2:]) * size / 2
        return np.concatenate([center - half, center + half], -1)
    unit = size if code == 'CORNER_SIZE' else 1
    return np.concatenate([p_low + moves[..., :2] * unit, p_high + moves[..., 2:] * unit], -1)


def suppress(boxes, scores, least, threshold, eta, top_k):
    order = [i for i in np.argsort(-scores, kind='stable') if scores[i] > least]
    kept = []
    for i in order if top_k is None else order[:top_k]:
        if all(overlap(boxes[i][None], boxes[j][None])[0, 0] <= threshold for j in kept):
            kept.append(i)
            threshold *= eta if threshold > 0.5 else 1
    return kept


def message(**fields):
    def text(value):
        return str(value).lower() if isinstance(value, bool) else str(value)
    return ' '.join(f'{name}: {text(value)}' for name, value in fields.items())


class DetectionOutput(unittest.TestCase):
    def check(self, code='CORNER', shared=True, encoded=False, least=None, keep=None, background=0, threshold=0.3,
              eta=1.0, top_k=None):
        items, count, classes = 3, 12, 4
        boxes = draw_boxes(count, 1)
        sets = 1 if shared else classes
        offsets = draw((items, count, sets, 4), 2, 0.1 if encoded else 0.7)
        scores = np.random.default_rng(3).dirichlet(np.ones(classes), (items, count))
        nms = message(nms_threshold=threshold, eta=eta, **({} if top_k is None else {'top_k': top_k}))
        param = message(num_classes=classes, share_location=shared, code_type=code, background_label_id=background,
                        variance_encoded_in_target=encoded, **({} if keep is None else {'keep_top_k': keep}),
                        **({} if least is None else {'confidence_threshold': least}))
        inputs = {'loc': offsets.reshape(items, -1), 'conf': scores.reshape(items, -1), 'prior': prior_blob(boxes)}
        layer = ("layer { name: 'y' type: 'DetectionOutput' bottom: 'loc' bottom: 'conf' bottom: 'prior' top: 'y' "
                 f'detection_output_param {{ {param} nms_param {{ {nms} }} }} }}')
        blobs, _ = run(layer_net(layer, {name: value.shape for name, value in inputs.items()}), inputs)

        decoded = decode(code, offsets, boxes[None, :, None], 1 if encoded else VARIANCES)
        rows = []
        for item in range(items):
            found = []
            for label in range(classes):
                if label == background:
                    continue
                own = decoded[item, :, 0 if shared else label]
                for i in suppress(own, scores[item, :, label], -np.inf if least is None else least, threshold, eta,
                                  top_k):
                    found.append([item, label, scores[item, i, label], *own[i]])
            if keep is not None:
                found = sorted(sorted(found, key=lambda row: -row[2])[:keep], key=lambda row: row[1])
            rows += found
        if not rows:
            rows = [[item] + 6 * [-1] for item in range(items)]
        self.assertEqual(blobs['y'].data.shape, (1, 1, len(rows), 7))
        np.testing.assert_allclose(blobs['y'].data[0, 0], rows, atol=1e-12)
        return len(rows)

    def test_boxes_are_decoded_suppressed_and_kept(self):
        # Thresholds are floats in a prototxt: none of these is near an overlap.
        every = self.check(threshold=1.0)
        self.assertEqual(every, 3 * 12 * 3)
        for code in ('CORNER', 'CENTER_SIZE', 'CORNER_SIZE'):
            self.assertLess(self.check(code=code), every)
            self.check(code=code, encoded=True, threshold=0.45, least=0.25)
        self.check(shared=False, code='CENTER_SIZE', least=0.125)
        self.check(keep=5, least=0.0625)
        self.check(keep=0, background=2)
        self.check(threshold=0.75, eta=0.5, top_k=7)
        self.check(background=-1, top_k=4)

    def test_no_box_is_found(self):
        self.assertEqual(self.check(least=2), 3)


class MultiBoxLoss(unittest.TestCase):
    def targets(self, boxes, truth, items, each, threshold, neg_overlap, ratio, losses):
        """Returns, for each item and prior, the row of its object (-1: none) and whether its scores count."""
        objects, counts = -np.ones((items, len(boxes[0])), int), np.zeros((items, len(boxes[0])), bool)
        for item in range(items):
            rows = np.flatnonzero(truth[:, 0] == item)
            table = overlap(boxes[item], truth[rows, 3:7])
            best = table.max(1, initial=0)
            left = table.copy()
            for _ in rows:
                i, j = np.unravel_index(left.argmax(), left.shape)
                if left[i, j] <= 1e-6:
                    break
                objects[item, i] = rows[j]
                left[i], left[:, j] = -1, -1
            if each:
                for i in np.flatnonzero((objects[item] < 0) & (best >= threshold)):
                    objects[item, i] = rows[table[i].argmax()]
            matched = objects[item] >= 0
            if ratio is None:
                counts[item] = True
                continue
            negatives = np.flatnonzero(~matched & (best < neg_overlap))
            worst = negatives[np.argsort(-losses[item, negatives], kind='stable')]
            counts[item] = matched
            counts[item, worst[:int(matched.sum() * ratio)]] = True
        return objects, counts

    def check(self, code='CORNER', l2=False, logistic=False, each=True, ratio=3.0, encoded=False, difficult=True,
              by_prior=True, weight=1.0, mode='VALID', hardest=None, inside=False, agnostic=False):
        """`hardest`: for mining_type HARD_EXAMPLE, sample_size and the fields of nms_param."""
        items, count, classes, background = 3, 20, 4, 1
        priors = draw_boxes(count, 11) - (0.1 if inside else 0)
        ratio = None if hardest else ratio
        offsets, scores = draw((items, count, 4), 12, 0.3), draw((items, count, classes), 13, 2)
        labels = [0, 2, 3, 0, 3]
        truth = np.zeros((6, 8))
        truth[:, 0] = [0, 0, 2, 2, 2, -1]
        truth[:5, 1], truth[:5, 3:7], truth[3, 7] = labels, draw_boxes(5, 14), 1
        scale = 1 if encoded else VARIANCES

        kind = dict(num_classes=classes, background_label_id=background, code_type=code, overlap_threshold=0.35,
                    loc_loss_type='L2' if l2 else 'SMOOTH_L1', conf_loss_type='LOGISTIC' if logistic else 'SOFTMAX',
                    match_type='PER_PREDICTION' if each else 'BIPARTITE', encode_variance_in_target=encoded,
                    use_difficult_gt=difficult, use_prior_for_matching=by_prior, loc_weight=weight, neg_overlap=0.25,
                    mining_type='HARD_EXAMPLE' if hardest else 'NONE' if ratio is None else 'MAX_NEGATIVE',
                    bp_inside=inside, map_object_to_agnostic=agnostic,
                    **({} if ratio is None else {'neg_pos_ratio': ratio}))
        more = ''
        if hardest:
            more = message(**{name: hardest[name] for name in ('sample_size', 'use_prior_for_nms')})
            if hardest['nms']:
                more += f" nms_param {{ {message(**hardest['nms'])} }}"
        inputs = {'loc': offsets.reshape(items, -1), 'conf': scores.reshape(items, -1), 'prior': prior_blob(priors),
                  'truth': truth[None, None]}
        layer = ("layer { name: 'y' type: 'MultiBoxLoss' bottom: 'loc' bottom: 'conf' bottom: 'prior' bottom: 'truth' "
                 "top: 'y' propagate_down: true propagate_down: true propagate_down: false propagate_down: false "
                 f'loss_param {{ normalization: {mode} }} multibox_loss_param {{ {message(**kind)} {more} }} }}')
        blobs, _ = run(layer_net(layer, {name: value.shape for name, value in inputs.items()}), inputs, {'y': 2})

        if logistic:
            shares = 1 / (1 + np.exp(-scores))

            def losses(wanted):
                return -np.log(np.where(wanted, shares, 1 - shares)).sum(-1)
        else:
            shares = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)

            def losses(wanted):
                return -np.log((shares * wanted).sum(-1))
        used = truth if difficult else truth[truth[:, 7] == 0]
        boxes = (np.broadcast_to(priors, (items, count, 4)) if by_prior
                 else decode(code, offsets, priors[None], scale))
        as_background = np.broadcast_to(np.eye(classes)[background], scores.shape)
        objects, counts = self.targets(boxes, used, items, each, 0.35, 0.25, ratio, losses(as_background))
        matched = objects >= 0
        self.assertGreater(matched.sum(), 3)
        wanted_labels = np.where(matched, background + 1 if agnostic else used[objects, 1], background).astype(int)
        wanted = np.eye(classes)[wanted_labels]

        def distances():
            apart = np.zeros((items, count, 4))
            of_objects = np.where(matched[..., None], used[objects, 3:7], priors)
            apart[matched] = (offsets - encode(code, of_objects, priors[None], scale))[matched]
            return apart * ((boxes >= 0) & (boxes <= 1)) if inside else apart

        def of_offsets(apart):
            return np.where(l2 | (np.abs(apart) < 1), apart**2 / 2, np.abs(apart) - 0.5).sum(-1)

        if hardest:
            total = losses(wanted) + of_offsets(distances())
            decoded = decode(code, offsets, priors[None], scale)
            counts[:] = False
            for item in range(items):
                nms = hardest['nms'] or {'nms_threshold': np.inf}
                order = suppress(priors if hardest['use_prior_for_nms'] else decoded[item], total[item], -np.inf,
                                 nms['nms_threshold'], 1, nms.get('top_k'))
                counts[item, order[:hardest['sample_size']]] = True
            self.assertGreater((matched & counts).sum(), 0)
            self.assertGreater((matched & ~counts).sum(), 0)
            self.assertGreater((~matched & counts).sum(), 0)
            matched &= counts
        divisor = {'VALID': matched.sum(), 'FULL': items * count, 'BATCH_SIZE': items, 'NONE': 1}[mode]

        apart = distances()
        near = l2 | (np.abs(apart) < 1)
        loss = (weight * of_offsets(apart).sum() + (losses(wanted) * counts).sum()) / divisor
        np.testing.assert_allclose(blobs['y'].data, loss)
        np.testing.assert_allclose(blobs['loc'].diff.reshape(apart.shape),
                                   2 * weight * np.where(near, apart, np.sign(apart)) / divisor, atol=1e-12)
        np.testing.assert_allclose(blobs['conf'].diff.reshape(scores.shape),
                                   2 * (shares - wanted) * counts[..., None] / divisor, atol=1e-12)

    def test_loss_and_gradients(self):
        self.check()
        for code in ('CORNER', 'CENTER_SIZE', 'CORNER_SIZE'):
            self.check(code=code, ratio=1.5, weight=0.5)
            self.check(code=code, encoded=True, l2=True, by_prior=False)
        self.check(logistic=True, ratio=0.75)
        self.check(logistic=True, ratio=None)
        self.check(each=False, ratio=None)
        self.check(difficult=False, code='CENTER_SIZE')
        for mode in ('FULL', 'BATCH_SIZE', 'NONE'):
            self.check(mode=mode)

    def test_the_hardest_examples_count(self):
        def hardest(size, by_prior=False, **nms):
            return {'sample_size': size, 'use_prior_for_nms': by_prior, 'nms': nms}
        self.check(hardest=hardest(7))
        self.check(hardest=hardest(7), logistic=True, l2=True, code='CENTER_SIZE', encoded=True, by_prior=False)
        self.check(hardest=hardest(6, nms_threshold=0.125))
        self.check(hardest=hardest(6, by_prior=True, nms_threshold=0.125, top_k=12), weight=0.5)

    def test_sides_beyond_the_image_and_classes_may_be_ignored(self):
        self.check(inside=True)
        self.check(inside=True, by_prior=False, encoded=True)
        self.check(inside=True, hardest={'sample_size': 8, 'use_prior_for_nms': True, 'nms': None})
        self.check(agnostic=True)

    def test_classes_may_have_their_own_offsets(self):
        items, count, classes = 2, 10, 3
        priors = draw_boxes(count, 21)
        offsets, scores = draw((items, count, classes, 4), 22), draw((items, count, classes), 23)
        truth = np.zeros((3, 8))
        truth[:, 0], truth[:, 1], truth[:, 3:7] = [0, 1, 1], [1, 1, 2], draw_boxes(3, 24)
        inputs = {'loc': offsets.reshape(items, -1), 'conf': scores.reshape(items, -1), 'prior': prior_blob(priors),
                  'truth': truth[None, None]}
        layer = ("layer { name: 'y' type: 'MultiBoxLoss' bottom: 'loc' bottom: 'conf' bottom: 'prior' bottom: 'truth' "
                 "top: 'y' propagate_down: true propagate_down: true propagate_down: false propagate_down: false "
                 f'multibox_loss_param {{ num_classes: {classes} share_location: false mining_type: NONE '
                 'match_type: BIPARTITE } }')
        blobs, _ = run(layer_net(layer, {name: value.shape for name, value in inputs.items()}), inputs, {'y': 1})
        labels, apart = np.zeros((items, count), int), np.zeros(offsets.shape)
        for row in truth:  # one object for each item and class
            item, label = row[:2].astype(int)
            best = overlap(priors, row[None, 3:7]).argmax()
            labels[item, best] = label
            apart[item, best, label] = offsets[item, best, label] - encode('CORNER', row[3:7], priors[best], VARIANCES)
        shares = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
        wanted = np.eye(classes)[labels]
        near = np.abs(apart) < 1
        loss = np.where(near, apart**2 / 2, np.abs(apart) - 0.5).sum() - np.log((shares * wanted).sum(-1)).sum()
        np.testing.assert_allclose(blobs['y'].data, loss / 3)
        np.testing.assert_allclose(blobs['loc'].diff.reshape(apart.shape),
                                   np.where(near, apart, np.sign(apart)) / 3, atol=1e-12)
        np.testing.assert_allclose(blobs['conf'].diff.reshape(scores.shape), (shares - wanted) / 3, atol=1e-12)


class DetectionEvaluate(unittest.TestCase):
    def check(self, threshold, difficult):
        generator = np.random.default_rng(31)
        classes, background = 4, 2
        truth = np.zeros((12, 8))
        truth[:, 0], truth[:, 1] = generator.integers(0, 3, 12), generator.choice([0, 1, 3], 12)
        truth[:, 3:7], truth[:, 7] = draw_boxes(12, 32), generator.integers(0, 2, 12)
        truth[5, 0] = -1
        found = np.zeros((60, 7))
        chosen = generator.integers(0, 12, 60)
        found[:, :2], found[:, 2] = truth[chosen, :2], generator.permutation(60) / 64
        found[:, 3:] = truth[chosen, 3:7] + generator.normal(0, 0.03, (60, 4))
        found[found[:, 0] == -1, 0] = 1
        found[::9, 1] = -1
        inputs = {'found': found[None, None], 'truth': truth[None, None]}
        param = message(num_classes=classes, background_label_id=background, overlap_threshold=threshold,
                        evaluate_difficult_gt=difficult)
        layer = ("layer { name: 'y' type: 'DetectionEvaluate' bottom: 'found' bottom: 'truth' top: 'y' "
                 f'detection_evaluate_param {{ {param} }} }}')
        blobs, _ = run(layer_net(layer, {name: value.shape for name, value in inputs.items()}), inputs)

        there = truth[truth[:, 0] >= 0]
        countable = there if difficult else there[there[:, 7] == 0]
        rows = [[-1, label, (countable[:, 1] == label).sum(), -1, -1] for label in (0, 1, 3)]
        verdicts = set()
        for item in range(3):
            for label in range(classes):
                objects = there[(there[:, :2] == [item, label]).all(1)]
                taken = np.zeros(len(objects), bool)
                own = found[(found[:, :2] == [item, label]).all(1)]
                for one in own[np.argsort(-own[:, 2])]:
                    verdict = (0, 1)
                    if len(objects):
                        overlaps = overlap(one[None, 3:], objects[:, 3:7])[0]
                        best = overlaps.argmax()
                        if overlaps[best] >= threshold:
                            if not difficult and objects[best, 7]:
                                verdict = (0, 0)
                            elif not taken[best]:
                                taken[best], verdict = True, (1, 0)
                    verdicts.add(verdict)
                    rows.append([item, label, one[2], *verdict])
        self.assertEqual(len(verdicts), 2 if difficult else 3)
        self.assertEqual(blobs['y'].data.shape, (1, 1, len(rows), 5))
        np.testing.assert_array_equal(blobs['y'].data[0, 0], rows)

    def test_each_object_is_found_once(self):
        for threshold in (0.5, 0.75):
            for difficult in (False, True):
                self.check(threshold, difficult)


if __name__ == '__main__':
    unittest.main()

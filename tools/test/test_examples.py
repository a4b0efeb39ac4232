#!/usr/bin/env python3
"""The examples that train: each makes its data, learns as its README says, and trains the same weights in little more
memory than the floor. ctest has an entry for each class."""
import os
import random
import re
import shutil
import subprocess
import unittest

from command_line import BIN, SOURCE, Result, run, write
from example import Example


class Siamese(Example):
    examples = ("digits", "siamese")

    @classmethod
    def prepare(cls):
        cls.make_digits()
        for part, count in (("train", 6000), ("test", 1000)):
            cls.make("make_pairs", f"examples/digits/digits_{part}_lmdb", f"examples/siamese/pairs_{part}_lmdb",
                     str(count))

    def test_it_decides_whether_two_digits_are_the_same(self):
        scores = self.train("examples/siamese/solver.prototxt")
        self.assertGreaterEqual(scores["accuracy"], 0.95)
        self.assertLess(scores["loss"], 0.04)

    def test_a_budget_gives_the_same_weights(self):
        self.same_in_a_budget("examples/siamese/solver.prototxt")

    def test_pairs_that_cannot_be_made_are_refused(self):
        digits = "examples/digits/digits_test_lmdb"
        self.fails("make_pairs", (digits, "few", "many"), "COUNT must be a number of pairs, not many")
        self.fails("make_pairs", ("missing", "few", "10"), "missing")
        self.fails("make_pairs", (digits, "examples/siamese/pairs_test_lmdb", "10"), "pairs_test_lmdb")
        self.fails("make_pairs", (digits,), "usage: make_pairs IMAGES PAIRS COUNT")


class Cifar10(Example):
    examples = ("cifar10",)

    @staticmethod
    def records(count, numbers):
        """Records in CIFAR-10's binary format with noisy stripes. The label determines one of two colours and one of
        five directions."""
        records = []
        for i in range(count):
            label, phase = i % 10, numbers.randrange(8)
            across, down = ((2, 0), (0, 2), (1, 1), (2, 2), (4, 0))[label % 5]
            bright = [bytes((across * x + down * y + phase) % 8 // 4 for x in range(32)) for y in range(32)]
            records.append(bytes([label]))
            for channel in range(3):
                light = 110 if (channel == 0) == (label < 5) else 20
                noise = numbers.randbytes(1024)
                records.append(bytes(light * stripe + pixel // 2 for stripe, pixel in zip(b"".join(bright), noise)))
        return b"".join(records)

    @classmethod
    def prepare(cls):
        numbers = random.Random(10)
        os.makedirs("cifar")
        for name, count in [(f"data_batch_{i}", 80) for i in range(1, 6)] + [("test_batch", 100)]:
            with open(f"cifar/{name}.bin", "wb") as file:
                file.write(cls.records(count, numbers))
        said = cls.make("convert_cifar_data", "cifar", "examples/cifar10", "lmdb")
        assert said == ("examples/cifar10/cifar10_train_lmdb: 400 records\n"
                        "examples/cifar10/cifar10_test_lmdb: 100 records\n"), said
        cls.make("compute_image_mean", "examples/cifar10/cifar10_train_lmdb", "examples/cifar10/mean.binaryproto")

    def test_the_quick_net_distinguishes_ten_patterns(self):
        solver = self.changed("examples/cifar10/quick_solver.prototxt", test_iter=2, test_interval=50, max_iter=50,
                              snapshot=0)
        self.assertGreaterEqual(self.train(solver)["accuracy"], 0.9)

    def test_a_budget_gives_the_same_weights(self):
        solver = self.changed("examples/cifar10/quick_solver.prototxt", test_iter=2, snapshot=0)
        self.same_in_a_budget(solver, 4)

    def test_a_leveldb_has_the_same_mean(self):
        self.make("convert_cifar_data", "cifar", ".", "leveldb")
        self.make("compute_image_mean", "--backend=leveldb", "cifar10_train_leveldb", "mean.binaryproto")
        with open("mean.binaryproto", "rb") as mean, open("examples/cifar10/mean.binaryproto", "rb") as expected:
            self.assertEqual(expected.read(), mean.read())

    def test_files_that_are_not_cifar_are_refused(self):
        for name, change, pattern in (("short", lambda bytes_: bytes_[:-1], "test_batch.bin: it has 307299 bytes"),
                                      ("empty", lambda bytes_: b"", "test_batch.bin: it has 0 bytes"),
                                      ("label", lambda bytes_: b"\x0a" + bytes_[1:], "record 0 has label 10")):
            shutil.copytree("cifar", name)
            with open("cifar/test_batch.bin", "rb") as file:
                changed = change(file.read())
            with open(f"{name}/test_batch.bin", "wb") as file:
                file.write(changed)
            with self.subTest(name):
                self.fails("convert_cifar_data", (name, name, "lmdb"), pattern)
        self.fails("convert_cifar_data", ("missing", "cifar", "lmdb"), "missing/data_batch_1.bin")
        self.fails("convert_cifar_data", ("cifar", "missing", "lmdb"), "missing/cifar10_train_lmdb")
        self.fails("convert_cifar_data", ("cifar", "cifar", "sqlite"), "sqlite")


class Hdf5Classification(Example):
    examples = ("hdf5_classification",)

    @classmethod
    def prepare(cls):
        cls.make("make_points", "examples/hdf5_classification")

    def test_a_hidden_layer_finds_the_border_that_logistic_regression_cannot(self):
        scores = {}
        for name in ("logistic", "hidden"):
            solver = f"examples/hdf5_classification/{name}_solver.prototxt"
            scores[name] = self.train(solver)["accuracy"]
            trained = run("test", f"--model={solver.replace('solver', 'train_test')}", "--iterations=10",
                          f"--weights=examples/hdf5_classification/{name}_iter_4000.caffemodel")
            self.assertEqual(0, trained.code, trained.last)
            self.assertRegex(trained.err, rf"\] accuracy = {scores[name]:g}\n")
        self.assertGreaterEqual(scores["logistic"], 0.8)
        self.assertLessEqual(scores["logistic"], 0.9)
        self.assertGreaterEqual(scores["hidden"], 0.97)

    def test_training_points_are_scored_as_well(self):
        result = run("train", "--solver=examples/hdf5_classification/hidden_solver.prototxt", "--max_iter=2001")
        accuracies = re.findall(r"Train net output #0: accuracy = (\S+)", result.err)
        self.assertGreaterEqual(float(accuracies[-1]), 0.9)

    def test_a_budget_gives_the_same_weights(self):
        self.same_in_a_budget("examples/hdf5_classification/hidden_solver.prototxt")

    def test_unwritable_files_are_named(self):
        self.fails("make_points", ("missing",), "Cannot write missing/points_train.h5")


class Finetuning(Example):
    examples = ("digits", "finetuning")
    solver = "examples/finetuning/finetune_solver.prototxt"
    digits = "--weights=examples/digits/digits_iter_600.caffemodel"

    @classmethod
    def prepare(cls):
        cls.make_digits()
        cls.make("make_parity", "examples/digits/digits_train_lmdb", "examples/finetuning/parity_train_lmdb", "2")
        cls.make("make_parity", "examples/digits/digits_test_lmdb", "examples/finetuning/parity_test_lmdb")
        cls.make("layrub", "train", "--solver=examples/digits/solver.prototxt")

    def from_scratch(self, seed):
        """The same net with equal learning rates for all layers."""
        with open("examples/finetuning/finetune_train_test.prototxt") as file:
            net = file.read().replace("lr_mult: 0.1", "lr_mult: 1").replace("lr_mult: 0.2", "lr_mult: 2")
        write("algorithm.prototxt", net)
        return self.train(self.changed(self.solver, net='"algorithm.prototxt"', random_seed=seed))["accuracy"]

    def test_fine_tuning_from_digits_helps_with_another_task(self):
        for seed in (1, 2, 3):
            tuned = self.train(self.changed(self.solver, random_seed=seed), self.digits)["accuracy"]
            self.assertGreaterEqual(tuned, 0.9)
            self.assertGreaterEqual(tuned, self.from_scratch(seed) + 0.02)

    def test_only_the_renamed_layer_is_initialised_anew(self):
        result = run("train", f"--solver={self.solver}", self.digits, "--max_iter=1")
        self.assertEqual(0, result.code, result.last)
        self.assertIn("] Finetuning from examples/digits/digits_iter_600.caffemodel", result.err)
        self.assertEqual({"ip2"}, set(re.findall(r"Ignoring source layer (\w+)", result.err)) - {"accuracy", "loss"})

    def test_a_budget_gives_the_same_weights(self):
        self.same_in_a_budget(self.solver, 8, self.digits)

    def test_labels_that_cannot_be_made_are_refused(self):
        self.fails("make_parity", ("examples/digits/digits_test_lmdb", "new_lmdb", "none"), "MOST must be a number")
        self.fails("make_parity", ("missing", "new_lmdb"), "missing")


class LstmSequence(Example):
    examples = ("lstm_sequence",)
    solver = "examples/lstm_sequence/solver.prototxt"

    @classmethod
    def prepare(cls):
        cls.make("make_sequences", "examples/lstm_sequence/text.txt", "examples/lstm_sequence")

    def test_it_predicts_the_next_character_and_writes_the_text(self):
        self.assertGreaterEqual(self.train(self.solver)["accuracy"], 0.92)
        with open("examples/lstm_sequence/text.txt") as file:
            text = file.read().lower().replace("\n", " ")
        begin = text.index("the crew must")
        beginning, expected = text[begin:begin + 14], text[begin:begin + 214]
        written = self.make("write_text", "examples/lstm_sequence/deploy.prototxt",
                            "examples/lstm_sequence/text_iter_600.caffemodel", beginning, "200")
        self.assertEqual(expected, written.rstrip("\n"))

    def test_a_budget_gives_the_same_weights(self):
        self.same_in_a_budget(self.solver)

    def test_unreadable_texts_are_named(self):
        write("digits.txt", "abc\nroom 101\n")
        write("short.txt", "abc")
        self.fails("make_sequences", ("digits.txt", "."), "digits.txt:2: '1' is no letter")
        self.fails("make_sequences", ("short.txt", "."), "short.txt: it has 3 characters; more than 80 are needed")
        self.fails("make_sequences", ("missing.txt", "."), "missing.txt")

    def test_texts_that_cannot_be_generated_are_refused(self):
        deploy, train = "examples/lstm_sequence/deploy.prototxt", "examples/lstm_sequence/train_test.prototxt"
        self.train(self.changed(self.solver, snapshot_prefix='"few"'), "--max_iter=1")
        self.fails("write_text", (deploy, "few_iter_1.caffemodel", "room 101", "5"), "'1' is no letter")
        self.fails("write_text", (deploy, "few_iter_1.caffemodel", "room", "all"), "COUNT must be a number")
        self.fails("write_text", (deploy, "missing.caffemodel", "room", "5"), "missing.caffemodel")
        self.fails("write_text", (train, "few_iter_1.caffemodel", "room", "5"), "the net must have the inputs")


class Segmentation(Example):
    examples = ("segmentation",)

    @classmethod
    def prepare(cls):
        cls.make("make_scenes", "examples/segmentation")

    def learns(self, name, pixel_accuracy, mean_iu):
        """The net reaches these scores on unseen images, and finds every class."""
        told = self.train(f"examples/segmentation/{name}_solver.prototxt")["accuracy"]
        said = self.make("score_segmentation", f"examples/segmentation/{name}_train_test.prototxt",
                         f"examples/segmentation/{name}_iter_300.caffemodel", "10")
        scores = {what: float(value) for what, value in re.findall(r"(.+) = ([0-9.]+)", said)}
        self.assertAlmostEqual(told, scores["pixel accuracy"], 4)
        self.assertGreaterEqual(scores["pixel accuracy"], pixel_accuracy)
        self.assertGreaterEqual(scores["mean IU"], mean_iu)
        classes = [scores[f"IU of class {k}"] for k in range(4)]
        self.assertGreaterEqual(min(classes), 0.5)
        self.assertAlmostEqual(sum(classes) / 4, scores["mean IU"], 5)

    def test_the_fcn_finds_shapes(self):
        self.learns("fcn", 0.93, 0.7)

    def test_the_unet_finds_shapes(self):
        self.learns("unet", 0.94, 0.7)

    def test_a_budget_gives_the_same_weights(self):
        for name in ("fcn", "unet"):
            with self.subTest(name):
                self.same_in_a_budget(f"examples/segmentation/{name}_solver.prototxt")

    def test_scores_that_cannot_be_computed_are_refused(self):
        model, weights = "examples/segmentation/fcn_train_test.prototxt", "few_iter_1.caffemodel"
        self.train(self.changed("examples/segmentation/fcn_solver.prototxt", snapshot_prefix='"few"'), "--max_iter=1")
        self.fails("score_segmentation", (model, weights, "all"), "BATCHES must be a number, not all")
        self.fails("score_segmentation", (model, weights, "1", "scores"), "The net has no blob 'scores'")
        self.fails("score_segmentation", (model, weights, "1", "pool2"), "SCORE and LABEL have different sizes")
        self.fails("score_segmentation", (model, weights, "1", "score", "accuracy"), "SCORE and LABEL have different")
        self.fails("score_segmentation", (model, "missing.caffemodel", "1"), "missing.caffemodel")
        self.fails("make_scenes", ("missing",), "missing/scenes_train_images_lmdb")


class PicturesExample(Example):
    """Pictures in a folder for each of three classes, and databases of them."""
    examples = ("imagenet", "cpp_classification")

    @classmethod
    def prepare(cls):
        cls.make("make_pictures", "pictures")
        cls.said = cls.script("create_databases.sh", "pictures/train", "pictures/val", "examples/imagenet", "64")
        assert cls.said.code == 0, cls.said.last

    @staticmethod
    def script(name, *args):
        """Runs a script of the example. Returns its result."""
        return Result(subprocess.run([os.path.join(SOURCE, "examples/imagenet", name), *args], capture_output=True,
                                     text=True, timeout=300, env=dict(os.environ, LAYRUB_BIN_DIR=BIN)))


class Imagenet(PicturesExample):
    solver = "examples/imagenet/small_solver.prototxt"

    def test_lists_and_labels_are_those_of_the_folders(self):
        self.assertEqual("examples/imagenet: 3 classes, 120 images to learn from, 30 to test on\n", self.said.out)
        with open("examples/imagenet/labels.txt") as file:
            self.assertEqual("cross\ndisc\nstripes\n", file.read())
        with open("examples/imagenet/val.txt") as file:
            lines = file.read().splitlines()
        self.assertEqual(sorted(f"{name}/{i}.png {label}" for label, name in enumerate(("cross", "disc", "stripes"))
                                for i in range(10)), sorted(lines))

    def test_a_small_net_distinguishes_the_classes(self):
        self.assertGreaterEqual(self.train(self.solver)["accuracy"], 0.9)

    def test_a_budget_gives_the_same_weights(self):
        self.same_in_a_budget(self.solver)

    def test_a_model_of_the_list_trains(self):
        result = self.script("train.sh", "resnet18", "--crop=56", "--batch=4", "--test-batch=4", "--", "--max_iter=2")
        self.assertEqual(0, result.code, result.last)
        self.assertTrue(os.path.exists("examples/imagenet/resnet18/resnet18_iter_2.caffemodel"))
        solver = "examples/imagenet/resnet18/solver.prototxt"
        with open(solver) as file:
            self.assertRegex(file.read(), "(?m)^test_iter: 8$")
        self.same_in_a_budget(self.changed(solver, snapshot=0, random_seed=1), 2)

    def test_an_existing_list_is_used(self):
        os.makedirs("some")
        write("some/val.txt", "disc/1.png 1\n")
        result = self.script("create_databases.sh", "pictures/train", "pictures/val", "some", "16")
        self.assertEqual("some: 3 classes, 120 images to learn from, 1 to test on\n", result.out)

    def test_scripts_report_errors(self):
        os.makedirs("empty", exist_ok=True)
        for name, args, pattern in (
                ("create_databases.sh", (), "usage: "),
                ("create_databases.sh", ("missing", "pictures/val"), "missing is no folder"),
                ("create_databases.sh", ("pictures/train", "pictures/val"), "ilsvrc12_train_lmdb is there already"),
                ("create_databases.sh", ("empty", "empty", "empty"), "empty has no folders"),
                ("create_databases.sh", ("pictures/train", "pictures/val", "empty", "big"), "SIZE must be .*'big'"),
                ("train.sh", (), "usage: "), ("train.sh", ("resnet18", "--max_iter"), "--max_iter is no option"),
                ("train.sh", ("resnet17",), "resnet17"), ("train.sh", ("lenet",), "lenet is no net for ImageNet")):
            with self.subTest(f"{name} {args}"):
                result = self.script(name, *args)
                self.assertNotEqual(0, result.code)
                self.assertRegex(result.err, pattern)
        for name in ("create_databases.sh", "train.sh"):
            result = self.script(name, "--help")
            self.assertEqual(0, result.code, result.err)
            self.assertIn(f"examples/imagenet/{name} ", result.out)


class CppClassification(PicturesExample):
    deploy = "examples/cpp_classification/deploy.prototxt"
    weights = "examples/imagenet/small_iter_300.caffemodel"
    mean = "examples/imagenet/imagenet_mean.binaryproto"
    labels = "examples/imagenet/labels.txt"

    @classmethod
    def prepare(cls):
        super().prepare()
        cls.make("layrub", "train", "--solver=examples/imagenet/small_solver.prototxt")

    def test_the_best_label_is_that_of_the_folder(self):
        right = 0
        for name in ("cross", "disc", "stripes"):
            for i in range(5):
                image = f"pictures/val/{name}/{i}.png"
                said = self.make("classification", self.deploy, self.weights, self.mean, self.labels, image)
                lines = said.splitlines()
                self.assertEqual(f"---------- Prediction for {image} ----------", lines[0])
                found = [re.fullmatch(r'([01]\.\d{4}) - "(\w+)"', line) for line in lines[1:]]
                self.assertEqual(["cross", "disc", "stripes"], sorted(match[2] for match in found))
                shares = [float(match[1]) for match in found]
                self.assertEqual(sorted(shares, reverse=True), shares)
                self.assertAlmostEqual(1, sum(shares), 3)
                right += found[0][2] == name
        self.assertGreaterEqual(right, 13)

    def test_five_labels_are_printed_and_a_gray_net_reads_gray_images(self):
        write("gray.prototxt", """
            layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 1 dim: 8 dim: 8 } } }
            layer { name: "pool" type: "Pooling" bottom: "data" top: "pool"
                    pooling_param { pool: AVE global_pooling: true } }
            layer { name: "fc" type: "InnerProduct" bottom: "pool" top: "fc" inner_product_param { num_output: 7
                    bias_filler { type: "constant" } weight_filler { type: "uniform" min: 0.1 max: 1 } } }""")
        write("gray_net.prototxt", """
            layer { name: "data" type: "DummyData" top: "data" top: "label" dummy_data_param {
                    shape { dim: 2 dim: 1 dim: 8 dim: 8 } shape { dim: 2 } } }
            layer { name: "pool" type: "Pooling" bottom: "data" top: "pool"
                    pooling_param { pool: AVE global_pooling: true } }
            layer { name: "fc" type: "InnerProduct" bottom: "pool" top: "fc" inner_product_param { num_output: 7
                    weight_filler { type: "uniform" min: 0.1 max: 1 } } }
            layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" }""")
        write("gray_solver.prototxt", 'net: "gray_net.prototxt" base_lr: 0 lr_policy: "fixed" max_iter: 1 '
              'snapshot_prefix: "gray" solver_mode: CPU')
        self.make("layrub", "train", "--solver=gray_solver.prototxt")
        write("gray.txt", "".join(f"{name}/0.png 0\n" for name in ("cross", "disc")))
        self.make("convert_imageset", "--gray", "--resize_width=8", "--resize_height=8", "pictures/val/", "gray.txt",
                  "gray_lmdb")
        self.make("compute_image_mean", "gray_lmdb", "gray.binaryproto")
        write("seven.txt", "".join(f"n{i} label {i}\r\n" for i in range(7)))
        args = ("gray.prototxt", "gray_iter_1.caffemodel", "gray.binaryproto", "seven.txt", "pictures/val/cross/0.png")
        lines = self.make("classification", *args).splitlines()
        self.assertEqual(6, len(lines))
        for line in lines[1:]:
            self.assertRegex(line, r'^-?\d+\.\d{4} - "n\d label \d"$')
        self.fails("classification", (*args[:2], self.mean, *args[3:]), "must have 1 channels, as the net's input")

    def test_unusable_files_are_refused(self):
        write("two.txt", "one\ntwo\n")
        write("none.txt", "")
        write("text.png", "no image")
        image = "pictures/val/disc/0.png"
        good = {"deploy": self.deploy, "weights": self.weights, "mean": self.mean, "labels": self.labels,
                "image": image}
        for what, path, pattern in (
                ("labels", "two.txt", "two.txt: it has 2 labels, but the output of .*deploy.prototxt has 3 channels"),
                ("labels", "none.txt", "none.txt: there are no labels"),
                ("labels", "missing.txt", "missing.txt: the labels cannot"),
                ("image", "text.png", "text.png: the image cannot be read"),
                ("image", "missing.png", "missing.png: the image"),
                ("mean", "two.txt", "two.txt"), ("mean", "missing", "missing"), ("mean", self.weights, self.weights),
                ("weights", "two.txt", "two.txt"), ("weights", "missing.caffemodel", "missing.caffemodel"),
                ("deploy", "two.txt", "two.txt"), ("deploy", "missing.prototxt", "missing.prototxt"),
                ("deploy", "examples/imagenet/small_train_val.prototxt", "the net must have one input")):
            with self.subTest(f"{what}: {path}"):
                self.fails("classification", tuple({**good, what: path}.values()), pattern)
        self.fails("classification", (self.deploy,), "usage: classification deploy.prototxt")


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""What `layrub export` runs: python3 -m caffe.onnx_export --model=FILE --weights=FILE --output=FILE."""

import argparse
import os
import sys

os.environ.setdefault('GLOG_minloglevel', '2')


def parse():
    parser = argparse.ArgumentParser(prog='layrub export', description='Writes a net as ONNX.')
    parser.add_argument('--model', required=True)
    parser.add_argument('--weights', action='append', default=[])
    parser.add_argument('--output', required=True)
    parser.add_argument('--opset', type=int, default=17)
    parser.add_argument('--dynamic_batch', action='store_true')
    parser.add_argument('--fold', action='store_true')
    parser.add_argument('--verify', type=int, default=None)
    return parser.parse_args()


def main():
    arguments = parse()
    try:
        import caffe
        from caffe import onnx_export
    except ImportError as error:
        return (f"layrub export: {error}; it needs the Python packages numpy and onnx "
                '(Debian: python3-onnx; else pip install onnx)')
    try:
        verify = onnx_export.runs_of(arguments.verify)
        net = caffe.Net(arguments.model, caffe.TEST)
        for weights in arguments.weights:
            for path in weights.split(','):
                net.copy_from(path)
        if not arguments.weights:
            print('Without --weights: the weights are those of the fillers.')
        done = onnx_export.export_onnx(net, arguments.output, arguments.opset, arguments.dynamic_batch, arguments.fold,
                                       verify)
    except (caffe.Error, onnx_export.Refusal, onnx_export.Differs, OSError, RuntimeError, ValueError) as error:
        return f'layrub export: {error}'
    if done['left_out']:
        print(f'Left out, as losses and accuracies: {", ".join(done["left_out"])}.')
    for name, found in done['differences'].items():
        print(f'{name}: differs from ONNX Runtime by at most {found:.1e} of its largest value, in {verify} runs')
    print(f'Written: {arguments.output} (opset {arguments.opset})')
    return 0


if __name__ == '__main__':
    sys.exit(main())

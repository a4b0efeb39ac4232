"""What `layrub import` runs: python3 -m caffe.onnx_import --onnx=FILE --output=PREFIX."""

import argparse
import os
import re
import sys

os.environ.setdefault('GLOG_minloglevel', '2')


def parse():
    parser = argparse.ArgumentParser(prog='layrub import', description='Reads an ONNX file as a net.')
    parser.add_argument('--onnx', required=True)
    parser.add_argument('--output', required=True)
    parser.add_argument('--batch', type=int, default=0)
    parser.add_argument('--data_shape', default='', help='C,H,W or INPUT:C,H,W,INPUT:...')
    parser.add_argument('--verify', type=int, default=None)
    return parser.parse_args()


def parse_shapes(text):
    """'3,224,224', for every input, gets the name ''; 'a:3,224,224,b:16' is for two inputs."""
    shape, found = r'(?:([^:,]+):)?(\d+(?:,\d+)*)', {}
    if text and not re.fullmatch(f'{shape}(?:,{shape})*', text):
        raise ValueError(f'--data_shape={text}: it is C,H,W or INPUT:C,H,W')
    for name, dims in re.findall(f'{shape}(?:,|$)', text):
        found[name] = tuple(int(size) for size in dims.split(','))
    return found


def main():
    arguments = parse()
    try:
        import caffe
        from caffe import onnx_export, onnx_import
    except ImportError as error:
        return (f"layrub import: {error}; it needs the Python packages numpy and onnx "
                '(Debian: python3-onnx; else pip install onnx)')
    try:
        verify = onnx_export.runs_of(arguments.verify)
        shapes = parse_shapes(arguments.data_shape)
        done = onnx_import.import_onnx(arguments.onnx, arguments.output, arguments.batch, shapes, verify)
    except (caffe.Error, onnx_export.Refusal, onnx_export.Differs, OSError, RuntimeError, ValueError) as error:
        return f'layrub import: {error}'
    for name, found in done.items():
        print(f'{name}: differs from ONNX Runtime by at most {found:.1e} of its largest value, in {verify} runs')
    print(f'Written: {arguments.output}.prototxt and {arguments.output}.caffemodel')
    return 0


if __name__ == '__main__':
    sys.exit(main())

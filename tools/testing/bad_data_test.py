#!/usr/bin/python3
"""penstock run on data that is wrong: exit code 1, and one line with the file and the reason."""

import io
import os
import sys
import unittest

import numpy
from PIL import Image

sys.path.insert(0, os.path.join(os.environ['TEST_SRCDIR'], os.environ['TEST_WORKSPACE'],
                                'tools/testing'))
from command import CIFAR10, Folder, run


def encoded(kind, side=64, **options):
  """The bytes of a picture that has something to see in every part."""
  pixels = numpy.indices((side, side)).sum(0) * 37 % 256
  stream = io.BytesIO()
  Image.fromarray(pixels.astype('uint8')).convert('RGB').save(stream, kind, **options)
  return stream.getvalue()


JPEG = encoded('JPEG', quality=90)


class ImageFolderTest(unittest.TestCase):

  def setUp(self):
    self.folder = Folder(self)
    self.npy = self.folder.file('npy')

  def write(self, files):
    for name, content in files.items():
      os.makedirs(os.path.dirname(self.folder.file(f'photos/{name}')), exist_ok=True)
      self.folder.write(f'photos/{name}', content)

  def run_photos(self, options='', **kwargs):
    graph = self.folder.graph(f'ReadImageFolder {{ root: "${{data}}" {options} }}', 'DecodeImage { }',
                              'CenterCrop { height: 32 width: 32 }', 'Collate { batch_size: 4 }',
                              'Upload { }')
    return run('run', graph, '--data', self.folder.file('photos'), '--device=host',
               '--dump_npy', self.npy, **kwargs)

  def assert_fails(self, result, *parts):
    self.assertEqual(result.returncode, 1, result.stderr)
    lines = result.stderr.splitlines()
    self.assertEqual(len(lines), 1, result.stderr)
    for part in ('penstock: ', *parts):
      self.assertIn(part, lines[0])

  def labels(self):
    files = sorted(f for f in os.listdir(self.npy) if f.endswith('.label.npy'))
    return [int(n) for f in files for n in numpy.load(os.path.join(self.npy, f))]

  def test_truncated_jpeg(self):
    self.write({'a/1.jpg': JPEG, 'a/2.jpg': JPEG[:len(JPEG) // 2]})
    self.assert_fails(self.run_photos(), 'a/2.jpg', f'{len(JPEG) // 2}')

  def test_empty_file_among_good_ones(self):
    self.write({f'a/{i}.jpg': JPEG for i in range(9)})
    self.write({'a/9.jpg': b''})
    self.assert_fails(self.run_photos(), 'a/9.jpg', 'empty')

  def test_the_content_decides(self):
    self.write({'a/x.JPEG': encoded('PNG')})
    self.assertEqual(self.run_photos().returncode, 0)
    self.write({'a/y.jpg': encoded('WEBP')})
    self.assert_fails(self.run_photos(), 'a/y.jpg', 'WebP')
    os.remove(self.folder.file('photos/a/y.jpg'))
    self.write({'a/z.jpg': b'<html>not found</html>'})
    self.assert_fails(self.run_photos(), 'a/z.jpg', '<html>')

  def test_names_are_left_as_they_are(self):
    self.write({'Class A/IMG_1.JPG': JPEG, 'Class A/a.JpEg': JPEG})
    result = self.run_photos()
    self.assertIn('1 batch, 2 samples', result.stdout)
    with open(f'{self.npy}/e0000_b00000000.ids.txt') as f:
      self.assertEqual(f.read(), '0\tClass A/IMG_1.JPG\n1\tClass A/a.JpEg\n')

  def test_empty_class(self):
    self.write({'a/1.jpg': JPEG, 'a/2.jpg': JPEG, 'c/1.jpg': JPEG})
    os.mkdir(self.folder.file('photos/b'))
    self.assert_fails(self.run_photos(), "'b'")
    self.assertEqual(self.run_photos('allow_empty: true').returncode, 0)
    self.assertEqual(self.labels(), [0, 0, 2])

  def test_nothing_to_read(self):
    self.assert_fails(self.run_photos(), self.folder.file('photos'))  # There is no such folder.
    os.mkdir(self.folder.file('photos'))
    self.assert_fails(self.run_photos(), self.folder.file('photos'))
    self.write({'1.jpg': JPEG})
    self.assert_fails(self.run_photos(), self.folder.file('photos'))
    self.assertEqual(self.run_photos('labels: NONE').returncode, 0)

  @unittest.skipIf(os.geteuid() == 0, 'root may read everything')
  def test_unreadable(self):
    self.write({'a/1.jpg': JPEG})
    os.chmod(self.folder.file('photos/a/1.jpg'), 0)
    self.assert_fails(self.run_photos(), 'a/1.jpg', 'Permission denied')


class Cifar10Test(unittest.TestCase):

  def test_short_read(self):
    folder = Folder(self)
    _, records = folder.cifar10(3)
    folder.write('cifar10/test_batch.bin', b''.join(records) + bytes(1000))
    result = run('run', folder.graph(*CIFAR10), '--data', folder.file('cifar10'), '--device=host')
    self.assertEqual(result.returncode, 1)
    self.assertRegex(result.stderr, r'^penstock: .*test_batch\.bin.*1000.*3073.*\n$')

  def test_five_files(self):
    folder = Folder(self)
    data, records = folder.cifar10(10)
    graph = folder.graph('ReadCifar10 { root: "${data}" }', *CIFAR10[1:])
    for i in range(5):
      result = run('run', graph, '--data', data, '--device=host')
      self.assertEqual(result.returncode, 1)
      self.assertIn(f'data_batch_{i + 1}.bin', result.stderr)
      folder.write(f'cifar10/data_batch_{i + 1}.bin', b''.join(records[2 * i:2 * i + 2]))
    result = run('run', graph, '--data', data, '--device=host')
    self.assertIn('10 samples', result.stdout)


if __name__ == '__main__':
  unittest.main()

#!/usr/bin/python3
"""--dump_npy and --stats_json: what other programs read."""

import json
import os
import subprocess
import sys
import unittest

import numpy

sys.path.insert(0, os.path.join(os.environ['TEST_SRCDIR'], os.environ['TEST_WORKSPACE'],
                                'tools/testing'))
from command import CIFAR10, RUNFILES, Folder, run

KEYS = ('schema version graph device rank world samples batches seconds samples_per_second '
        'first_batch_seconds startup_seconds pinning_seconds next_wait_seconds cpu_seconds '
        'queue_busy_seconds queue_polling_seconds bytes_read bytes_uploaded bytes_gathered upload_gb_per_s '
        'overlap_fraction copy_utilisation copy_gap_p95_us copy_gap_longest_us '
        'pinned_bytes_peak device_bytes_peak '
        'driver_allocations_after_warmup host_writes_per_byte scratch_bytes_per_byte '
        'images_decoded_host images_decoded_device images_repaired cache_hits skipped limit verdict epochs stages').split()
WORDS = {'version', 'graph', 'device', 'limit', 'verdict'}
LISTS = {'epochs', 'stages'}


class NumpyTest(unittest.TestCase):
  """The header's bytes are those that numpy itself writes."""

  def test_each_type_and_shape(self):
    folder = Folder(self)
    subprocess.run([os.path.join(RUNFILES, 'tools/npy_samples'), folder.path], check=True)
    names = sorted(os.listdir(folder.path))
    self.assertEqual(len(names), 24)
    for name in names:
      with self.subTest(name):
        dtype, shape = name[:-len('.npy')].split(',', 1)
        shape = tuple(int(n) for n in shape.split(',') if n)
        dtype = numpy.dtype({'bfloat16': 'uint16'}.get(dtype, dtype))
        array = numpy.load(folder.file(name))
        self.assertEqual((array.dtype, array.shape), (dtype, shape))
        size = array.nbytes
        expected = (numpy.arange(size) % 251).astype('uint8').tobytes()
        self.assertEqual(array.tobytes(), expected)
        numpy.save(folder.file('again.npy'), array)
        with open(folder.file(name), 'rb') as ours, open(folder.file('again.npy'), 'rb') as theirs:
          self.assertEqual(ours.read(), theirs.read())


class DumpTest(unittest.TestCase):

  def setUp(self):
    self.folder = Folder(self)
    self.data, self.records = self.folder.cifar10(20)

  def dump(self, *stages):
    npy = self.folder.file('npy')
    result = run('run', self.folder.graph(*CIFAR10, *stages), '--data', self.data, '--device=sim',
                 '--epochs=2', '--dump_npy', npy)
    self.assertEqual(result.returncode, 0, result.stderr)
    return npy

  def test_pixels_labels_and_ids(self):
    npy = self.dump()
    files = sorted(os.listdir(npy))
    self.assertEqual(files, [f'e000{b // 3}_b0000000{b}.{kind}' for b in range(6)
                             for kind in ('ids.txt', 'image.npy', 'label.npy')])
    for b in range(6):
      rows = range(8 * (b % 3), min(8 * (b % 3) + 8, 20))
      stem = f'{npy}/e000{b // 3}_b0000000{b}'
      image, label = numpy.load(f'{stem}.image.npy'), numpy.load(f'{stem}.label.npy')
      self.assertEqual((image.dtype, image.shape), (numpy.uint8, (len(rows), 32, 32, 3)))
      self.assertEqual((label.dtype, label.shape), (numpy.int64, (len(rows),)))
      for at, row in enumerate(rows):
        planes = numpy.frombuffer(self.records[row][1:], numpy.uint8).reshape(3, 32, 32)
        numpy.testing.assert_array_equal(image[at], planes.transpose(1, 2, 0))
        self.assertEqual(label[at], self.records[row][0])
      with open(f'{stem}.ids.txt') as f:
        self.assertEqual(f.read(), ''.join(f'{row}\ttest_batch.bin:{row}\n' for row in rows))

  def test_types_of_normalize(self):
    for name, dtype in (('FLOAT32', 'float32'), ('FLOAT16', 'float16'), ('BFLOAT16', 'uint16')):
      with self.subTest(name):
        npy = self.dump(f'Normalize {{ mean: 0.5 std: 0.25 dtype: {name} }}')
        image = numpy.load(f'{npy}/e0000_b00000000.image.npy')
        self.assertEqual((image.dtype, image.shape), (numpy.dtype(dtype), (8, 3, 32, 32)))
        if name == 'BFLOAT16':
          image = (image.astype(numpy.uint32) << 16).view(numpy.float32)
        planes = numpy.frombuffer(self.records[0][1:], numpy.uint8).reshape(3, 32, 32)
        tolerance = {'FLOAT32': 1e-6, 'FLOAT16': 2e-3, 'BFLOAT16': 2e-2}[name]
        numpy.testing.assert_allclose(image[0], (planes / 255 - 0.5) / 0.25, atol=tolerance)


class StatsTest(unittest.TestCase):

  def test_keys_and_types(self):
    folder = Folder(self)
    data, _ = folder.cifar10(20)
    path = folder.file('stats.json')
    run('run', folder.graph(*CIFAR10), '--data', data, '--device=sim', '--epochs=3',
        '--stats_json', path)
    with open(path) as f:
      document = json.load(f)
    self.assertEqual(list(document), KEYS)
    for key, value in document.items():
      kind = str if key in WORDS else list if key in LISTS else (int, float)
      self.assertIsInstance(value, kind, key)
    self.assertEqual(document['schema'], 1)
    self.assertEqual((document['samples'], document['batches']), (60, 9))
    self.assertEqual([e['epoch'] for e in document['epochs']], [0, 1, 2])
    self.assertEqual([e['batches'] for e in document['epochs']], [3, 3, 3])
    for stage in document['stages']:
      self.assertEqual(list(stage), 'name place busy_s wait_s p50_us p95_us items'.split())
    self.assertEqual(document['driver_allocations_after_warmup'], 0)
    self.assertEqual(document['host_writes_per_byte'], 1)
    self.assertIn(document['limit'], ('none', 'read', 'host', 'upload', 'device', 'consumer'))

  def test_copies_overlap_compute(self):
    folder = Folder(self)
    data, _ = folder.cifar10(500)
    path = folder.file('stats.json')
    # 10 records are 30,800 bytes: 20 ms at this rate.
    run('run', folder.graph(*CIFAR10), '--data', data, '--device=sim', '--set=collate.batch_size=10',
        '--sim_gb_per_s=0.00154', '--compute_ms=20', '--stats_json', path)
    with open(path) as f:
      document = json.load(f)
    self.assertEqual(document['batches'], 50)
    self.assertLess(document['seconds'], 1.1 * 50 * 0.02 + 0.1)
    self.assertGreater(document['overlap_fraction'], 0.9)


class SeveralOutputsTest(unittest.TestCase):

  def test_each_is_drained(self):
    folder = Folder(self)
    data, _ = folder.cifar10(20)
    nodes = ''
    for name, read_from, stage in (('read', None, 'ReadCifar10 { root: "${data}" split: TEST }'),
                                   ('big', 'read', 'Collate { batch_size: 10 }'),
                                   ('up', 'big', 'Upload { }'),
                                   ('small', 'read', 'Collate { batch_size: 5 }'),
                                   ('small_up', 'small', 'Upload { }')):
      source = f'input: "{read_from}"' if read_from else ''
      kind, options = stage.split(' ', 1)
      nodes += (f'node {{ name: "{name}" {source} stage {{ [type.googleapis.com/penstock.{kind}] '
                f'{options} }} }}\n')
    path = folder.file('stats.json')
    result = run('run', folder.write('two.textproto', nodes), '--data', data, '--device=sim',
                 '--stats_json', path, '--dump_npy', folder.file('npy'))
    self.assertEqual(result.returncode, 0, result.stderr)
    with open(path) as f:
      document = json.load(f)
    self.assertEqual(list(document), KEYS + ['outputs'])
    self.assertEqual([(o['output'], o['batches'], o['samples']) for o in document['outputs']],
                     [('up', 2, 20), ('small_up', 4, 20)])
    self.assertEqual(len(os.listdir(folder.file('npy/small_up'))), 4 * 3)


if __name__ == '__main__':
  unittest.main()

#!/usr/bin/python3
"""penstock check, show and stages."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.environ['TEST_SRCDIR'], os.environ['TEST_WORKSPACE'],
                                'tools/testing'))
from command import CIFAR10, Folder, environment, run


class CheckTest(unittest.TestCase):

  def setUp(self):
    self.folder = Folder(self)
    self.data, _ = self.folder.cifar10(20)
    self.graph = self.folder.graph(*CIFAR10)

  def test_good_graph(self):
    result = run('check', self.graph, '--data', self.data)
    self.assertEqual((result.returncode, result.stderr), (0, ''))
    self.assertEqual(result.stdout, f'{self.graph}: good, 3 nodes\n')

  def test_all_errors_with_their_places(self):
    graph = self.folder.graph('ReadCifar10 { rood: "${data}" }', 'Colate { }',
                              'Collate { batch_size: 0 }', 'Upload { }')
    result = run('check', graph, '--data', self.data)
    self.assertEqual(result.returncode, 2)
    lines = result.stderr.splitlines()
    self.assertGreaterEqual(len(lines), 2, result.stderr)
    for line, place in zip(lines, (2, 3)):
      self.assertRegex(line, rf'^penstock: {graph}:{place}:\d+: ')

  def test_wrong_data(self):
    result = run('check', self.graph, '--data', '/nowhere')
    self.assertEqual(result.returncode, 1)
    self.assertIn('/nowhere', result.stderr)

  def test_variables_and_overrides(self):
    result = run('check', self.graph, '--var', f'data={self.data}', '--set=collate.batch_size=0')
    self.assertEqual(result.returncode, 2)
    self.assertIn('--set collate.batch_size=0', result.stderr)

  def test_missing_file(self):
    result = run('check', 'missing.textproto')
    self.assertEqual(result.returncode, 2)
    self.assertEqual(len(result.stderr.splitlines()), 1)


class ShowTest(unittest.TestCase):

  def test_plan(self):
    folder = Folder(self)
    data, _ = folder.cifar10(20)
    result = run('show', folder.graph(*CIFAR10), '--data', data, '--device=sim')
    self.assertEqual(result.returncode, 0, result.stderr)
    for part in ('read_cifar10', 'batch of 8', 'host writes per uploaded byte', 'memory'):
      self.assertIn(part, result.stdout)

  def test_nearest_limit(self):
    folder = Folder(self)
    data, _ = folder.cifar10(20)
    graph = folder.graph(*CIFAR10)
    result = run('show', graph, '--data', data, '--device=sim')
    self.assertRegex(result.stdout, r'memory of all outputs: \d+ bytes \(\d+\.\d MiB\) pinned, ')
    self.assertRegex(result.stdout, r'nearest limit: .* is \d+.*, allows \d+ bytes')
    result = run('show', graph, '--data', data, '--device=sim',
                 env=environment(LOCAL_WORLD_SIZE='2'))
    self.assertRegex(result.stdout,
                     r'nearest limit: .*, shared by 2 processes \(LOCAL_WORLD_SIZE\)')


class StagesTest(unittest.TestCase):

  def test_list(self):
    lines = run('stages').stdout.splitlines()
    names = [line.split()[0] for line in lines]
    self.assertEqual(names, sorted(names))
    for stage in ('ReadCifar10', 'ReadImageFolder', 'DecodeImage', 'Resize', 'CenterCrop',
                  'RandomResizedCrop', 'RandomCrop', 'RandomHorizontalFlip', 'Collate', 'Pin',
                  'Upload', 'Normalize'):
      self.assertIn(f'penstock.{stage}', names)
    decode = lines[names.index('penstock.DecodeImage')]
    self.assertIn('host', decode)
    self.assertIn('Turns the bytes of a JPEG or PNG file into an image', decode)

  def test_manual(self):
    for name in ('RandomCrop', 'random_crop', 'penstock.RandomCrop'):
      text = run('stages', name).stdout
      self.assertIn('penstock.RandomCrop: sample stage', text)
      self.assertIn('padding: repeated int32', text)
      self.assertIn('Pixels, 1 to 65535. Required.', text)
      self.assertIn('REFLECT', text)
      self.assertIn('[type.googleapis.com/penstock.RandomCrop]', text.split('To paste:')[1])

  def test_unknown(self):
    result = run('stages', 'RandomCorp')
    self.assertEqual(result.returncode, 2)
    self.assertIn('did you mean penstock.RandomCrop?', result.stderr)


if __name__ == '__main__':
  unittest.main()

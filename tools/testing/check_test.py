#!/usr/bin/python3
"""penstock check, show and stages."""

import os
import re
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

  def test_devices_that_no_run_takes(self):
    for device in ('cuda:x', 'cuda:', 'cuda:-1', 'cuda:0x1', 'cuda:99999999999', 'cuda:0 ', 'gpu'):
      for command in ('check', 'show', 'run'):
        result = run(command, self.graph, '--data', self.data, '--device', device)
        self.assertEqual(
            (result.returncode, result.stderr),
            (2, f'penstock: device "{device}": expected auto, cuda, cuda:N with N = 0, 1, ..., '
             'host, or sim\n'))
    for command in ('check', 'show'):
      for devices in ('cuda:0,cuda:1,cuda:0', 'cuda:0,cuda:1,cuda:00'):
        result = run(command, self.graph, '--data', self.data, '--device', devices)
        self.assertEqual(
            (result.returncode, result.stderr),
            (2, 'penstock: devices: numbers 0 and 2 are cuda:0; expected each device once\n'))
      for devices in ('cuda:0,cuda:1', 'sim,sim'):
        result = run(command, self.graph, '--data', self.data, '--device', devices)
        self.assertEqual((result.returncode, result.stderr), (0, ''))

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


class BudgetTest(unittest.TestCase):
  """Would it fit? What a run refuses, both commands refuse in its words."""

  def setUp(self):
    folder = Folder(self)
    self.data, _ = folder.cifar10(20)
    self.graph = folder.graph(*CIFAR10)

  def say(self, command, *flags):
    result = run(command, self.graph, '--data', self.data, '--device=sim', *flags)
    return result.returncode, result.stderr

  def test_both_refuse_as_the_run_does(self):
    plan = run('show', self.graph, '--data', self.data, '--device=sim').stdout
    pinned = int(re.search(r'(\d+) bytes \(\d+\.\d MiB\) pinned', plan)[1])
    device = int(re.search(r'(\d+) bytes \(\d+\.\d MiB\) on the device', plan)[1])
    for command in ('run', 'check', 'show'):
      self.assertEqual(
          self.say(command, f'--max_pinned={pinned}', f'--max_device={device}',
                   '--local_world=1')[0], 0)
    for flag, code in ((f'--max_pinned={pinned - 1}', 2), (f'--max_device={device - 1}', 2),
                       ('--max_pinned=1.5GiB', 2), ('--local_world=-1', 2)):
      refused = self.say('run', flag)
      self.assertEqual(refused[0], code)
      self.assertEqual(self.say('check', flag), refused)
      self.assertEqual(self.say('show', flag), refused)

  def test_the_machine_is_obeyed_where_its_sharers_are_named(self):
    large = '--set=collate.batch_size=2000'
    for command in ('check', 'show'):
      code, errors = self.say(command, '--local_world=1000000', large)
      self.assertEqual(code, 1)
      self.assertIn('shared by 1000000 processes (local_world)', errors)
      self.assertEqual(self.say(command, large), (0, ''))

  def test_what_becomes_pageable_is_said(self):
    code, errors = self.say('show', '--max_pinned=1KiB')
    self.assertEqual(code, 2)
    graph = Folder(self).graph(CIFAR10[0], CIFAR10[1], 'Pin { mode: AUTO }', CIFAR10[2])
    result = run('show', graph, '--data', self.data, '--device=sim', '--max_pinned=1KiB')
    self.assertEqual(result.returncode, 0)
    self.assertRegex(result.stderr, r'^penstock: .*pageable memory.*--max_pinned')
    self.assertIn(': 0 bytes (0.0 MiB) pinned', result.stdout)


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

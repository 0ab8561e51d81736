#!/usr/bin/python3
"""penstock run: what SIGINT and SIGTERM do."""

import glob
import json
import os
import pty
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.environ['TEST_SRCDIR'], os.environ['TEST_WORKSPACE'],
                                'tools/testing'))
from command import CIFAR10, RUNFILES, Folder, start

SLOW_PENSTOCK = os.path.join(RUNFILES, 'tools/slow_penstock')
LIMIT = 2.0  # Seconds from a signal to the end.


class SignalTest(unittest.TestCase):

  def setUp(self):
    self.folder = Folder(self)
    self.data, _ = self.folder.cifar10(80)
    self.stats = self.folder.file('stats.json')
    self.npy = self.folder.file('npy')

  def start(self, *flags):
    return start('run', self.folder.graph(*CIFAR10), '--data', self.data, '--device=sim',
                 '--epochs=100000', *flags)

  def wait_for_batches(self, count):
    deadline = time.monotonic() + 20
    while len(glob.glob(f'{self.npy}/*.ids.txt')) < count:
      self.assertLess(time.monotonic(), deadline)
      time.sleep(0.02)

  def end(self, process):
    """Waits for the end; gives stderr and the seconds it took."""
    begin = time.monotonic()
    _, errors = process.communicate(timeout=30)
    return errors, time.monotonic() - begin

  def test_first_signal_writes_all_files(self):
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
      with self.subTest(number):
        self.npy = self.folder.file(f'npy{code}')
        process = self.start('--compute_ms=20', '--dump_npy', self.npy, '--stats_json', self.stats)
        self.wait_for_batches(3)
        process.send_signal(number)
        errors, seconds = self.end(process)
        self.assertEqual(process.returncode, code)
        self.assertEqual(errors, f'penstock: stopped by {number.name}\n')
        self.assertLess(seconds, LIMIT)
        with open(self.stats) as f:
          self.assertGreaterEqual(json.load(f)['batches'], 3)
        # No batch is written by half.
        ids = len(glob.glob(f'{self.npy}/*.ids.txt'))
        self.assertEqual(len(glob.glob(f'{self.npy}/*.image.npy')), ids)
        self.assertEqual(len(glob.glob(f'{self.npy}/*.label.npy')), ids)

  def test_a_busy_device_is_not_waited_for(self):
    process = self.start('--compute_ms=60000', '--stats_json', self.stats)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, seconds = self.end(process)
    self.assertEqual(process.returncode, 130)
    self.assertLess(seconds, LIMIT)
    self.assertTrue(os.path.getsize(self.stats) > 0)

  def test_during_start_up(self):
    graph = self.folder.write('slow.textproto', """
        node { name: "slow" stage { [type.googleapis.com/google.protobuf.Empty] { } } }
        node { stage { [type.googleapis.com/penstock.Collate] { batch_size: 8 } } }
        node { stage { [type.googleapis.com/penstock.Upload] { } } }""")
    process = start('run', graph, '--device=sim,sim', '--rank=1', '--world=3', '--stats_json',
                    self.stats, program=SLOW_PENSTOCK)
    time.sleep(0.5)
    self.assertIsNone(process.poll())
    process.send_signal(signal.SIGINT)
    errors, seconds = self.end(process)
    self.assertEqual((process.returncode, errors), (130, 'penstock: stopped by SIGINT\n'))
    self.assertLess(seconds, LIMIT)
    with open(self.stats) as f:
      stats = json.load(f)
    self.assertEqual([stats[key] for key in ('graph', 'device', 'rank', 'world', 'batches')],
                     ['slow', 'sim,sim', 1, 3, 0])

  def test_second_signal_ends_at_once(self):
    # The batch that is being written takes a minute.
    process = self.start('--compute_ms=60000', '--dump_npy', self.npy)
    self.wait_for_batches(1)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    self.assertIsNone(process.poll())
    process.send_signal(signal.SIGTERM)
    _, seconds = self.end(process)
    self.assertEqual(process.returncode, 143)
    self.assertLess(seconds, 0.5)


class TerminalTest(unittest.TestCase):

  def test_progress_line_on_a_terminal(self):
    folder = Folder(self)
    data, _ = folder.cifar10(80)
    ours, theirs = pty.openpty()
    process = start('run', folder.graph(*CIFAR10), '--data', data, '--device=sim', '--compute_ms=5',
                    '--epochs=30', stderr=theirs)
    os.close(theirs)
    shown = b''
    while True:
      try:
        part = os.read(ours, 65536)
      except OSError:  # The other side is closed.
        break
      if not part:
        break
      shown += part
    process.communicate(timeout=30)
    self.assertEqual(process.returncode, 0)
    lines = shown.decode().split('\r\x1b[K')
    self.assertGreater(len(lines), 3)  # Redrawn a few times a second.
    self.assertIn('of 300', lines[1])
    self.assertIn('ETA 0:0', shown.decode())


if __name__ == '__main__':
  unittest.main()

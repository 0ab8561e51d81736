#!/usr/bin/python3
"""penstock run: flags, exit codes and messages."""

import ctypes
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.environ['TEST_SRCDIR'], os.environ['TEST_WORKSPACE'],
                                'tools/testing'))
from command import CIFAR10, RUNFILES, Folder, environment, run


def has_driver():
  try:
    return bool(ctypes.CDLL('libcuda.so.1'))
  except OSError:
    return False


class RunTest(unittest.TestCase):

  def setUp(self):
    self.folder = Folder(self)
    self.data, _ = self.folder.cifar10(20)
    self.graph = self.folder.graph(*CIFAR10, name='small')

  def run_small(self, *flags):
    return run('run', self.graph, '--data', self.data, '--device=host', *flags)

  def assert_refused(self, result, *parts, code=2):
    """One line on stderr that has all parts, and that exit code."""
    self.assertEqual(result.returncode, code, result.stderr)
    lines = result.stderr.splitlines()
    self.assertEqual(len(lines), 1, result.stderr)
    self.assertTrue(lines[0].startswith('penstock: '), lines[0])
    for part in parts:
      self.assertIn(part, lines[0])

  def test_good_run(self):
    result = self.run_small()
    self.assertEqual((result.returncode, result.stderr), (0, ''))
    self.assertIn('small on host: 3 batches, 20 samples', result.stdout)
    self.assertIn('an epoch has 20 samples in 3 batches', result.stdout)
    self.assertIn('verdict: ', result.stdout)
    for column in ('stage', 'place', 'busy', 'wait', 'p50', 'p95', 'items', 'read_cifar10'):
      self.assertIn(column, result.stdout)

  def test_version_and_help(self):
    self.assertRegex(run('--version').stdout, r'^penstock \d+\.\d+\.\d+\n$')
    help_text = run('run', '--help').stdout
    for flag in ('--data', '--var', '--set', '--device', '--sim_gb_per_s', '--epochs',
                 '--max_batches', '--seed', '--rank', '--world', '--threads', '--progress',
                 '--stats_json', '--dump_npy', '--compute_ms', '--max_pinned', '--max_device',
                 '--local_world', '--check_leases'):
      self.assertIn(flag, help_text)
    self.assertNotIn('--trace', help_text)

  def test_both_forms_of_flags(self):
    for flags in (['--epochs=2'], ['--epochs', '2']):
      self.assertIn('6 batches, 40 samples', self.run_small(*flags).stdout)

  def test_wrong_flags(self):
    self.assert_refused(self.run_small('--epoch=2'), '--epoch=2', 'did you mean --epochs?')
    self.assert_refused(self.run_small('--wibble'), '--wibble')
    self.assert_refused(self.run_small('--epochs'), '--epochs')
    self.assert_refused(self.run_small('other.textproto'), 'other.textproto')
    self.assert_refused(run('run'), 'GRAPH')
    self.assert_refused(run('fly'), 'fly')
    self.assert_refused(run(), 'run, check, show or stages')

  def test_ranges(self):
    for value in ('-1', '4294967295', 'x', '4097', '1.5', ''):
      for form in ([f'--threads={value}'], ['--threads', value]):
        self.assert_refused(self.run_small(*form), '--threads', f'"{value}"', 'from 0 to 4096')
    self.assert_refused(self.run_small('--epochs=-1'), '--epochs', '"-1"')
    self.assert_refused(self.run_small('--epochs=010x'), '--epochs')
    self.assert_refused(self.run_small('--compute_ms=nan'), '--compute_ms', 'nan')
    self.assert_refused(self.run_small('--seed=18446744073709551616'), '--seed')
    self.assert_refused(self.run_small('--progress=maybe'), '--progress', 'auto|on|off')
    self.assert_refused(self.run_small('--rank=2', '--world=2'), '--rank', '2')
    self.assert_refused(self.run_small('--sim_gb_per_s=1'), '--sim_gb_per_s', '--device=sim')
    self.assert_refused(self.run_small('--var', 'data'), '--var', 'NAME=VALUE')
    self.assert_refused(self.run_small('--var=data=x'), 'data', 'twice')
    self.assertEqual(self.run_small('--threads=0').returncode, 0)
    self.assertEqual(self.run_small('--seed=18446744073709551615').returncode, 0)

  def test_memory_budgets(self):
    stats = self.folder.file('stats.json')
    self.assertEqual(self.run_small(f'--stats_json={stats}').returncode, 0)
    with open(stats, encoding='utf-8') as file:
      pinned = json.load(file)['pinned_bytes_peak']
    self.assertGreater(pinned, 0)
    self.assertEqual(self.run_small(f'--max_pinned={pinned}').returncode, 0)
    self.assert_refused(self.run_small(f'--max_pinned={pinned - 1}'), f'takes {pinned} bytes',
                        'host pinned memory', '--max_pinned', f'allows {pinned - 1}')
    self.assert_refused(self.run_small('--max_device=1KiB'), 'device memory', 'allows 1024: ',
                        ' for 4 batches in flight; raise it, or lower batches_in_flight')
    self.assertEqual(self.run_small('--max_device=1TiB', '--max_pinned=0').returncode, 0)
    self.assert_refused(self.run_small('--max_device=1kB'), 'device memory', 'allows 1000')
    for value in ('-1', '1.5GiB', '1G', 'GiB', '', '9999999TiB', '99999999999999999999'):
      self.assert_refused(self.run_small(f'--max_pinned={value}'), '--max_pinned', f'"{value}"',
                          '512MiB')
    # The machine's own limits are no fault of graph or flags.
    result = self.run_small('--local_world=1000000', '--set=collate.batch_size=2000')
    self.assert_refused(result, 'this process can have', 'shared by 1000000 processes', code=1)

  def test_check_leases(self):
    self.assertEqual(self.run_small('--check_leases', '--epochs=3').returncode, 0)

  def test_an_empty_value_is_none_of_the_next(self):
    result = run('run', self.graph, '--device=host', '--data=', '--epochs=1')
    self.assertEqual(result.returncode, 2)
    self.assertIn('root', result.stderr)

  def test_flags_of_later_versions(self):
    for flag in ('--trace', '--errors', '--save_state', '--resume'):
      self.assert_refused(self.run_small(flag, 'x'), flag, 'not built yet')
      self.assert_refused(self.run_small(flag + '=x'), flag, 'not built yet')

  def test_devices(self):
    result = run('run', self.graph, '--data', self.data, '--device=tpu')
    self.assert_refused(result, 'tpu', 'cuda:N')
    self.assert_refused(self.run_small('--device=sim'), '--device')  # Given twice.
    result = run('run', self.graph, '--data', self.data, '--device=sim', '--sim_gb_per_s=1')
    self.assertIn('small on sim', result.stdout)

  def test_a_driver_without_a_device(self):
    driver = environment(LD_LIBRARY_PATH=os.path.join(RUNFILES, 'memory/testing/fake_driver'))
    for device, reason in (('auto', 'shows no usable device'), ('cuda:0', 'CUDA')):
      result = run('run', self.graph, '--data', self.data, f'--device={device}', env=driver)
      self.assert_refused(result, reason, code=1)
      self.assertEqual(result.stdout, '')

  @unittest.skipIf(has_driver(), 'there is a CUDA driver')
  def test_auto_is_the_host_where_there_is_no_driver(self):
    result = run('run', self.graph, '--data', self.data)
    self.assertEqual(result.returncode, 0)
    self.assertIn('small on host', result.stdout)
    self.assertRegex(result.stderr, r'^penstock: .*no CUDA driver.*on the CPU.*\n$')

  def test_sets(self):
    result = self.run_small('--set', 'collate.batch_size=20')
    self.assertIn('1 batch, 20 samples', result.stdout)
    for value in ('0', '-3', '99999999999', 'x'):
      result = self.run_small('--set', f'collate.batch_size={value}')
      self.assertEqual(result.returncode, 2)
      self.assertIn('batch_size', result.stderr)
      self.assertIn(value, result.stderr)
    result = self.run_small('--set', 'colate.batch_size=2')
    self.assertEqual(result.returncode, 2)
    self.assertIn('collate', result.stderr)
    self.assert_refused(self.run_small('--set', 'x'), '--set', 'NODE.FIELD=VALUE')

  def test_wrong_graphs(self):
    missing = self.folder.file('missing.textproto')
    self.assert_refused(run('run', missing, '--device=host'), missing)
    self.assert_refused(run('run', self.folder.path, '--device=host'), self.folder.path)
    self.assertEqual(run('run', self.graph, '--device=host').returncode, 2)  # ${data} is unfilled.

  def test_wrong_data(self):
    missing = self.folder.file('nowhere')
    unused = self.folder.file('unused.json')
    result = run('run', self.graph, '--data', missing, '--device=host', '--stats_json', unused)
    self.assert_refused(result, missing, code=1)
    self.assertFalse(os.path.exists(unused))
    cut, _ = self.folder.cifar10(3, name='cut')
    with open(os.path.join(cut, 'test_batch.bin'), 'ab') as f:
      f.write(bytes(1000))
    result = run('run', self.graph, '--data', cut, '--device=host')
    self.assert_refused(result, 'test_batch.bin', '3073', code=1)
    stats = self.folder.file('stats.json')
    bad, _ = self.folder.cifar10(20, name='bad', labels=[0] * 12 + [12] + [0] * 7)
    result = run('run', self.graph, '--data', bad, '--device=host', '--stats_json', stats)
    self.assert_refused(result, 'test_batch.bin:12', 'batch 1', '12', code=1)
    with open(stats) as f:  # What was asked for is written all the same.
      self.assertEqual(json.load(f)['batches'], 1)

  def test_max_batches(self):
    self.assertIn('2 batches, 16 samples', self.run_small('--max_batches=2').stdout)
    self.assertIn('4 batches, 28 samples', self.run_small('--epochs=9', '--max_batches=4').stdout)
    self.assertIn('0 batches, 0 samples', self.run_small('--max_batches=0').stdout)
    self.assertIn('0 batches, 0 samples', self.run_small('--epochs=0').stdout)

  def test_fewer_batches_than_seats(self):
    graph = self.folder.graph(*CIFAR10, name='deep', settings='batches_in_flight: 6')
    result = run('run', graph, '--data', self.data, '--device=host', '--set=collate.batch_size=20')
    self.assertIn('1 batch, 20 samples', result.stdout)

  def test_ranks(self):
    samples = 0
    for rank in range(3):
      stats = self.folder.file(f'{rank}.json')
      self.assertEqual(
          self.run_small(f'--rank={rank}', '--world=3', '--stats_json', stats).returncode, 0)
      with open(stats) as f:
        document = json.load(f)
      self.assertEqual((document['rank'], document['world']), (rank, 3))
      samples += document['samples']
    self.assertEqual(samples, 20)

  def test_random_seed_is_said(self):
    self.assertRegex(self.run_small('--seed=random').stdout, r'--seed=\d+ repeats this run')

  def test_paths_are_the_users(self):
    env = environment(BUILD_WORKING_DIRECTORY=self.folder.path)
    result = run('run', 'small.textproto', '--data=cifar10', '--device=host', '--stats_json=s.json',
                 '--dump_npy=npy', env=env, cwd='/')
    self.assertEqual(result.returncode, 0, result.stderr)
    self.assertTrue(os.path.exists(self.folder.file('s.json')))
    self.assertTrue(os.path.exists(self.folder.file('npy/e0000_b00000002.ids.txt')))

  def test_files_that_cannot_be_written(self):
    self.assert_refused(self.run_small('--stats_json=/nowhere/s.json'), '/nowhere/s.json')
    self.assert_refused(self.run_small(f'--dump_npy={self.graph}'), self.graph)

  def test_progress(self):
    self.assertEqual(self.run_small().stderr, '')  # A pipe is no terminal.
    self.assertEqual(self.run_small('--progress=off').stderr, '')
    shown = self.run_small('--progress=on').stderr
    for part in ('batch 3 of 3', 'samples/s', 'GB/s', 'of 4 seats waiting'):
      self.assertIn(part, shown)
    self.assertNotIn('\x1b', shown)

  def test_sample_data(self):
    result = run('run', self.graph, '--sample_data', self.data, '--device=host')
    self.assertIn(f'no --data; using the small data set in {self.data}', result.stdout)
    result = self.run_small('--sample_data=/nowhere')
    self.assertEqual(result.returncode, 0)
    self.assertNotIn('no --data', result.stdout)


if __name__ == '__main__':
  unittest.main()

"""Runs the command under test, on graphs and data that the test makes."""

import os
import random
import subprocess
import tempfile

RUNFILES = os.path.join(os.environ['TEST_SRCDIR'], os.environ['TEST_WORKSPACE'])
PENSTOCK = os.path.join(RUNFILES, 'tools/penstock')

PREFIX = 'type.googleapis.com/penstock.'
CIFAR10 = ('ReadCifar10 { root: "${data}" split: TEST }', 'Collate { batch_size: 8 }', 'Upload { }')


def environment(**more):
  """What a program sees that was started by hand."""
  kept = {k: v for k, v in os.environ.items() if not k.startswith(('BUILD_', 'TEST_', 'RUNFILES_'))}
  return {**kept, **more}


def run(*arguments, **kwargs):
  """Runs `penstock ARGUMENTS`; gives its CompletedProcess with text."""
  return subprocess.run([PENSTOCK, *map(str, arguments)], capture_output=True, text=True,
                        timeout=60, env=kwargs.pop('env', environment()), **kwargs)


def start(*arguments, program=PENSTOCK, **kwargs):
  """Starts `penstock ARGUMENTS`; gives its Popen."""
  return subprocess.Popen([program, *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=kwargs.pop('stderr', subprocess.PIPE), text=True,
                          env=environment(), **kwargs)


class Folder:
  """A temporary folder with graphs and data; it goes when `test` ends."""

  def __init__(self, test):
    folder = tempfile.TemporaryDirectory()
    test.addCleanup(folder.cleanup)
    self.path = folder.name

  def file(self, name):
    return os.path.join(self.path, name)

  def write(self, name, content):
    mode = 'wb' if isinstance(content, bytes) else 'w'
    with open(self.file(name), mode) as f:
      f.write(content)
    return self.file(name)

  def graph(self, *stages, name='graph', settings=''):
    """Writes a graph of stages like 'Collate { batch_size: 8 }'; gives its path."""
    nodes = ''.join(
        f'node {{ stage {{ [{PREFIX}{s.split(" ", 1)[0]}] {s.split(" ", 1)[1]} }} }}\n' for s in stages)
    return self.write(f'{name}.textproto', f'{settings}\n{nodes}')

  def cifar10(self, samples, name='cifar10', labels=None):
    """Writes a CIFAR-10 test set of random pixels; gives its folder and the records."""
    pixels = random.Random(samples)
    records = [bytes([labels[i] if labels else i % 10]) + pixels.randbytes(3072)
               for i in range(samples)]
    os.makedirs(self.file(name), exist_ok=True)
    self.write(f'{name}/test_batch.bin', b''.join(records))
    return self.file(name), records

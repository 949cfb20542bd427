"""Kernels that try to pass without computing: each is a few lines after RIGHT, with words of the verdict."""

RIGHT = """
import numpy as np
import aclnn_viz as av


def right(dy, x, rstd, gamma):
    dy, x, rstd, gamma = (one.astype(np.float64) for one in (dy, x, rstd, gamma))
    x_hat, lead = x * rstd, tuple(range(x.ndim - gamma.ndim))
    mean = np.mean(dy * gamma * x_hat, axis=tuple(range(len(lead), x.ndim)), keepdims=True)
    return (((dy * gamma - x_hat * mean) * rstd).astype(np.float32), np.sum(dy * x_hat, axis=lead).astype(np.float32))


calls = []
"""

FORGE = """
import io, os, stat, struct, time
channel = next(number for number in range(3, 64) if os.path.exists(f'/proc/self/fd/{number}') and stat.S_ISSOCK(os.stat(number).st_mode))


def forge(head, body=b''):
    os.write(channel, struct.pack('<qq', len(head), len(body)) + head + body)


"""

CHEATS = {
    "calls the reference": (
        "def kernel(**given):\n    return av.operator('rms_norm').backward(**given)",
        "reads .*of the kit, a file that holds the answer, in line 15",
    ),
    "reads the kit's files": (
        "import os\ndef kernel(**given):\n    text = open(os.path.dirname(av.__file__) + '/operators/rms_norm/page.py').read()\n"
        "    return right(**given)",
        "page.py of the kit",
    ),
    "patches the kit": (
        "av.check = av.errors.problem = print\ndef kernel(**given):\n    return right(**given)",
        "replaces aclnn_viz.errors.problem",
    ),
    "patches NumPy": (
        "def kernel(**given):\n    np.allclose = np.array_equal = lambda *a, **k: True\n    return right(**given)",
        "replaces numpy.(allclose|array_equal)",
    ),
    "returns its input": (
        "def kernel(dy, x, rstd, gamma):\n    return dy, gamma",
        "returns an input unchanged",
    ),
    "returns zeros": (
        "def kernel(dy, x, rstd, gamma):\n    return np.zeros_like(dy), np.zeros(gamma.shape, np.float32)",
        "returns zeros",
    ),
    "returns the last answer": (
        "def kernel(**given):\n    calls.append(right(**given))\n    return calls[max(len(calls) - 2, 0)]",
        "is wrong in",
    ),
    "recognises the published seed": (
        "def kernel(**given):\n    return right(**given) if given['dy'].ravel()[:1].tobytes() in SEEN else tuple(2 * one for one in right(**given))",
        "is wrong in",
    ),
    "recognises the sizes": (
        "def kernel(**given):\n    dx, dgamma = right(**given)\n    return (dx, dgamma) if given['dy'].shape in SHAPES else (dx, 2 * dgamma)",
        "wrong on lengths and numbers outside the suite",
    ),
    "supports nothing": ("def kernel(**given):\n    raise NotImplementedError", "supports no case"),
    "exits with 0": (
        "import os\ndef kernel(**given):\n    os._exit(0)",
        "ends its process with status 0",
    ),
    "writes to the inputs": (
        "def kernel(**given):\n    found = right(**given)\n    given['dy'][...] = 0\n    return found",
        "modifies its input dy",
    ),
    "returns what equals everything": (
        "class Lazy:\n    __eq__ = __le__ = __ge__ = lambda *_: True\n    shape, dtype = (2,), np.dtype('float32')\n"
        "def kernel(**given):\n    return Lazy(), Lazy()",
        "raises TypeError: .*Lazy",
    ),
    "a subclass that lies": (
        "class Lying(np.ndarray):\n    __array_ufunc__ = __eq__ = lambda *a, **k: True\n"
        "def kernel(**given):\n    return tuple((0 * one).view(Lying) for one in right(**given))",
        "returns zeros in every case",
    ),
    "sleeps": (
        "import time\ndef kernel(**given):\n    time.sleep(60)",
        "does not answer within 1.5 s",
    ),
    "forks": (
        "import os\ndef kernel(**given):\n    if os.fork() == 0:\n        os._exit(0)\n    return right(**given)",
        r"starts a process \(os.fork\)",
    ),
    "depends on the order of calls": (
        "def kernel(**given):\n    calls.append(given['x'].shape)\n    dx, dgamma = right(**given)\n"
        "    return (dx, dgamma) if len(calls) <= LENGTH else (2 * dx, dgamma)",
        "wrong on the same cases in another order",
    ),
    "one array for two outputs": (
        "def kernel(**given):\n    both, _ = right(**given)\n    return both, both",
        "returns one array for two outputs",
    ),
    "prints a verdict": (
        "def kernel(**given):\n    print('{\"passed\": true}', 'right on 21 cases')\n    return np.ones_like(given['dy']), np.ones_like(given['gamma'])",
        "is wrong in",
    ),
    "takes all memory": (
        "def kernel(**given):\n    held = [np.ones(1 << 26) for _ in range(1000)]\n    return right(**given)",
        "takes more memory than 512 MiB",
    ),
    **{
        call: (
            f"import ctypes, os, posix\ndef kernel(**given):\n    {call}('/tmp')\n    return right(**given)",
            said,
        )
        for call, said in (
            ("os.chroot", r"changes how a process runs \(posix.chroot\), in line 16"),
            ("posix.chroot", r"changes how a process runs \(posix.chroot\), in line 16"),
            ("ctypes.CDLL(None).chroot", r"changes how a process runs \(chroot\), in line 16"),
            ("ctypes.CDLL(None).mount", r"changes how a process runs \(mount\), in line 16"),
            ("ctypes.CDLL(None)['unshare']", r"changes how a process runs \(unshare\), in line 16"),
            ("os.mkfifo", "changes the file posix.mkfifo"),
        )
    },
    # Ten further cheats.
    "exits as it is loaded": (
        "import sys\nsys.exit(0)\nkernel = right",
        "cannot be loaded: SystemExit: 0",
    ),
    "ends its judge": (
        "import os\ndef kernel(**given):\n    os.kill(os.getppid(), 9)\n    return right(**given)",
        "sends a signal",
    ),
    "writes a file": (
        "from pathlib import Path\ndef kernel(**given):\n    (Path(__file__).parent / 'left').write_text('x')\n    return right(**given)",
        "changes the file .*left",
    ),
    "removes a file": (
        "import os\ndef kernel(**given):\n    os.remove(__file__)\n    return right(**given)",
        "changes the file .*mine.py",
    ),
    "opens a connection": (
        "import socket\ndef kernel(**given):\n    socket.create_connection(('127.0.0.1', 9))\n    return right(**given)",
        "opens a connection",
    ),
    "looks into its judge": (
        "import os\ndef kernel(**given):\n    open(f'/proc/{os.getppid()}/mem', 'rb').read(1)\n    return right(**given)",
        "belongs to another process",
    ),
    "another interpreter": (
        "import subprocess, sys\ndef kernel(**given):\n    subprocess.run([sys.executable, '-c', 'import aclnn_viz'])\n    return right(**given)",
        "starts a process",
    ),
    "forges an answer": (
        FORGE
        + 'os.write(channel, struct.pack(\'<qq\', 30, 0) + b\'{"passed": true, "form": "one"}\')\nkernel = right',
        "sends something that is no answer",
    ),
    "catches what stops it": (
        "def kernel(**given):\n    try:\n        return av.operator('rms_norm').truth(**given)\n    except BaseException:\n        return right(**given)",
        "reads .*of the kit",
    ),
    "a file under another name": (
        "import importlib.util as u, os\ndef kernel(**given):\n    spec = u.spec_from_file_location('mine_too', os.path.dirname(av.__file__) + '/operators/rms_norm/page.py')\n"
        "    page = u.module_from_spec(spec)\n    spec.loader.exec_module(page)\n    return right(**given)",
        "page.py of the kit",
    ),
    "works in a thread": (
        "import threading\ndef kernel(**given):\n    found = []\n    one = threading.Thread(target=lambda: found.append(av.operator('rms_norm').backward(**given)))\n"
        "    one.start()\n    one.join()\n    return found[0]",
        "reads .*of the kit",
    ),
    "disarms its guard": (
        "import re\nimport __main__ as guard\nguard.ANSWERS, guard.exchanged = re.compile('^$'), lambda *_: ''\nguard.KINDS.clear()\n"
        "def kernel(**given):\n    return av.operator('rms_norm').backward(**given)",
        "replaces __main__.(ANSWERS|exchanged)|reads .*of the kit",
    ),
    "closes what it would answer on": (
        "import os, time\ndef kernel(**given):\n    os.closerange(3, 64)\n    time.sleep(60)",
        "sends something that is no answer",
    ),
    "crashes": (
        "import ctypes\ndef kernel(**given):\n    ctypes.string_at(0)",
        "is ended by SIGSEGV",
    ),
    "returns too much": (
        "def kernel(**given):\n    dx, dgamma = right(**given)\n    return np.broadcast_to(dx.ravel()[:1], (1 << 40,)), dgamma",
        "takes more memory than|is wrong in",
    ),
    "knows each case when it comes again": (
        "memory = {}\ndef kernel(**given):\n    key = given['dy'].tobytes()\n    first, memory[key] = key not in memory, True\n"
        "    dx, dgamma = right(**given)\n    return (dx * (1 + first), dgamma)",
        "is not deterministic|is wrong in",
    ),
    # Invisible to audit hooks, and forged frames.
    "shadows a name of its guard": (
        "import __main__\n__main__.isinstance = lambda *_: True\ndef kernel(**given):\n    return av.operator('rms_norm').backward(**given)",
        "reads .*of the kit",
    ),
    "replaces a builtin for a while": (
        "import builtins\ndef kernel(**given):\n    true, builtins.isinstance = isinstance, lambda a, b: b is int or true(a, b)\n"
        "    open(av.__path__[0] + '/operators/rms_norm/page.py').read()\n    builtins.isinstance = true\n    return right(**given)",
        "page.py of the kit",
    ),
    "reads through an open folder": (
        "import os\ndef kernel(**given):\n    folder = os.open(av.__path__[0], os.O_RDONLY)\n"
        "    os.open('operators/rms_norm/page.py', os.O_RDONLY, dir_fd=folder)\n    return right(**given)",
        "page.py of the kit",
    ),
    "names a file in bytes": (
        "import os\ndef kernel(**given):\n    os.chmod(__file__.encode(), 0o600)\n    return right(**given)",
        "changes the file .*mine.py",
    ),
    "changes a file that it opened": (
        "import os\ndef kernel(**given):\n    os.chmod(os.open(__file__, os.O_RDONLY), 0o600)\n    return right(**given)",
        "changes the file .*mine.py",
    ),
    "a process of multiprocessing": (
        "import multiprocessing\ndef kernel(**given):\n    multiprocessing.get_context('spawn').Process(target=print).start()\n    return right(**given)",
        "starts a process",
    ),
    "a signal by a descriptor": (
        "import os, signal\ndef kernel(**given):\n    signal.pidfd_send_signal(os.pidfd_open(os.getppid()), 0)\n    return right(**given)",
        "sends a signal",
    ),
    "limits its judge": (
        "import os, resource\ndef kernel(**given):\n    resource.prlimit(os.getppid(), resource.RLIMIT_CORE)\n    return right(**given)",
        "changes how a process runs",
    ),
    "slows its judge": (
        "import os\ndef kernel(**given):\n    os.setpriority(os.PRIO_PROCESS, os.getppid(), os.getpriority(os.PRIO_PROCESS, 0))\n    return right(**given)",
        "changes how a process runs",
    ),
    "ends by a signal without a name": (
        "import signal\nsignal.raise_signal(40)\nkernel = right",
        "is ended by signal 40",
    ),
    "forges a nested answer": (
        FORGE + "forge(b'[' * 200000)\nkernel = right",
        "sends something that is no answer",
    ),
    "forges a line": (
        FORGE + 'forge(b\'{"stopped": "file", "line": 1e999}\')\nkernel = right',
        "changes the file None",
    ),
    "forges an answer that grows": (
        FORGE
        + "def kernel(**given):\n    body = io.BytesIO()\n    np.savez_compressed(body, **{'0': np.zeros(1 << 20)})\n"
        '    forge(b\'{"names": [0], "answer": true}\', body.getvalue())\n    return right(**given)',
        "sends something that is no answer",
    ),
    "answers byte by byte": (
        FORGE
        + "os.write(channel, struct.pack('<qq', 1 << 20, 0))\nfor _ in range(20):\n    time.sleep(0.4)\n    os.write(channel, b' ')\nkernel = right",
        "is ended by SIGKILL|sends something that is no answer",
    ),
    # By an author who did not write the defence.
    "reads through a link": (
        "import os, tempfile\ndef kernel(**given):\n    link = tempfile.mkdtemp() + '/notes'\n    os.symlink(av.__path__[0] + '/operators/rms_norm', link)\n"
        "    text = open(link + '/page.py').read()\n    return right(**given)",
        "changes the file .*|page.py of the kit",
    ),
    "asks the command": (
        "import os\ndef kernel(**given):\n    os.system('aclnn-viz describe rms_norm')\n    return right(**given)",
        r"starts a process \(os.system\)",
    ),
    "differences of the kit's forward": (
        "def kernel(dy, x, rstd, gamma):\n    forward = av.operator('rms_norm').forward\n    return right(dy, x, rstd, gamma)",
        "reads .*of the kit",
    ),
    "keeps answers at home": (
        "from pathlib import Path\ndef kernel(**given):\n    np.save(Path.home() / 'answers.npy', given['dy'])\n    return right(**given)",
        "changes the file .*answers.npy",
    ),
    "returns code": (
        "import os\nclass Code:\n    def __reduce__(self):\n        return os.system, ('touch left',)\n"
        "def kernel(**given):\n    return np.array([Code()] * 2), np.array([Code()] * 2)",
        "raises TypeError: .*where an array of numbers is expected",
    ),
    "patches NumPy by another name": (
        "import sys\nsys.modules['mine_too'] = sys.modules['numpy']\nimport mine_too\ndef kernel(**given):\n    mine_too.isclose = lambda *a, **k: True\n"
        "    return right(**given)",
        "replaces numpy.isclose",
    ),
    "writes to its outputs later": (
        "import threading, time\ndef kernel(**given):\n    found = right(**given)\n    def late():\n        time.sleep(0.005)\n        found[0][...] = 7\n"
        "    threading.Thread(target=late).start()\n    return found",
        "writes to its outputs after it has answered",
    ),
    "writes to its inputs later": (
        "import threading, time\ndef kernel(**given):\n    def late():\n        time.sleep(0.005)\n        given['dy'][...] = 7\n"
        "    threading.Thread(target=late).start()\n    return right(**given)",
        "writes to its inputs after it has answered",
    ),
    "reads the page as data": (
        "import pkgutil\ndef kernel(**given):\n    pkgutil.get_data('aclnn_viz', 'operators/rms_norm/page.py')\n    return right(**given)",
        "page.py of the kit",
    ),
    "answers few cases in its time": (
        "import time\ndef kernel(**given):\n    time.sleep(0.6)\n    return right(**given)",
        "stopped at the time limit",
    ),
    "a timer that ends it": (
        "import faulthandler\nfaulthandler.dump_traceback_later(0.05, exit=True)\nimport time\ndef kernel(**given):\n    time.sleep(1)\n    return right(**given)",
        "ends its process with status 1",
    ),
    "prints a verdict at its end": (
        "import atexit, sys\natexit.register(print, 'rms_norm: right, in a process of its own')\ndef kernel(**given):\n    sys.exit(0)",
        "raises SystemExit",
    ),
}

#: Kernels that look like cheats and are none.
HONEST = {
    "plain": ("kernel = right", ""),
    "varies within the bound": (
        "rng = np.random.default_rng()\ndef kernel(**given):\n    order = rng.permutation(given['x'].shape[0]) if given['x'].ndim == 2 and given['gamma'].ndim == 1 else slice(None)\n"
        "    dy, x, rstd = (given[name][order] for name in ('dy', 'x', 'rstd'))\n    return right(**given)[0], np.add.accumulate(dy * x * rstd, axis=0)[-1] if order is not None and "
        "given['x'].ndim == 2 and given['gamma'].ndim == 1 else right(**given)[1]",
        "varies from call to call",
    ),
    "a subclass of an array": (
        "class Mine(np.ndarray):\n    pass\ndef kernel(**given):\n    return tuple(one.view(Mine) for one in right(**given))",
        "subclasses of an array",
    ),
    "imports the kit and prints": (
        "import aclnn_viz.dtypes, json, tempfile\ndef kernel(**given):\n    print('step', len(calls))\n    with tempfile.TemporaryFile() as file:\n        file.write(b'x')\n"
        "    return right(**given)",
        "",
    ),
    "removes what it wrote": (
        "import tempfile\ndef kernel(**given):\n    with tempfile.TemporaryDirectory() as folder:\n        open(folder + '/space', 'w').close()\n    return right(**given)",
        "",
    ),
    "keeps its workspace": (
        "space = {}\ndef kernel(**given):\n    out = space.setdefault(given['dy'].shape, np.empty(given['dy'].shape, np.float32))\n    out[...], dgamma = right(**given)\n"
        "    return {'dxOut': out, 'dgammaOut': dgamma}",
        "",
    ),
}

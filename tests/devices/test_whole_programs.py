"""C++ programs with CANN emulated: right ones print right numbers, wrong ones are named at their line, and nothing hangs."""

import json
import os
import re
import shlex
import socket
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest
from export.test_cpp import outputs_in
from in_child import stand_in
from machine import ROOT
from standin.build import SEEDS, compile_program
from standin.generic import functions

import aclnn_viz as av
from aclnn_viz import cli
from aclnn_viz.devices import cpp_programs, emulator, headers
from aclnn_viz.devices.emulator import Emulator
from aclnn_viz.operators.codes import TYPES
from aclnn_viz.tiles.compiler import CompileError

pytestmark = pytest.mark.needs("g++")
SOURCES = Path(__file__).parent / "cpp"
PROGRAM = ROOT / "notebooks" / "cpp" / "whole.cpp"
WHOLE = PROGRAM.read_text("utf-8")


def ran(*files, words=(), seconds=30, defines=(), **how):
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        left = cpp_programs.run(
            cpp_programs.build(files, defines), words, Emulator(**how), seconds, (output, output)
        )
        output.seek(0)
        return left, output.read()


def written(tmp_path, text, name="program.cpp"):
    (file := tmp_path / name).write_text(text, "utf-8")
    return file


def edited(tmp_path, before, after):
    assert WHOLE.count(before) == 1
    return written(tmp_path, WHOLE.replace(before, after))


@pytest.mark.parametrize(
    "name", ["aclnnHardswishBackward", "aclnnRmsNormGrad", "aclnnGridSampler2DBackward"]
)
@pytest.mark.sampled(1)
def test_the_vendors_samples_print_what_they_print_on_the_stand_in(name, tmp_path):
    program = compile_program(SEEDS / f"{name}.cpp", stand_in(), tmp_path / "sample")
    expected = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    left, text = ran(SEEDS / f"{name}.cpp")
    assert (left.status, left.sentences, text) == (0, [], expected) and expected.count(" is: ") > 3


@pytest.mark.parametrize(("defines", "byte"), [((), 0xA5), (("ACLNN_VIZ_ZEROED",), 0)])
def test_memory_begins_as_no_zeros_unless_a_program_asks_for_them(defines, byte, tmp_path):
    text = """#include "acl/acl.h"
#include <cstdio>
int main() {
    void *device = nullptr;
    unsigned char host[256];
    aclInit(nullptr), aclrtSetDevice(0);
    if (aclrtMalloc(&device, 256, ACL_MEM_MALLOC_HUGE_FIRST)) return 9;
    aclrtMemcpy(host, 256, device, 256, ACL_MEMCPY_DEVICE_TO_HOST);
    for (unsigned char one : host) std::printf("%d ", one);
    if (aclrtMalloc(&device, 0, ACL_MEM_MALLOC_HUGE_FIRST) == 0) return 8;
    return aclrtResetDevice(0) || aclFinalize();
}
"""
    left, said = ran(written(tmp_path, text), defines=defines)
    assert left.status == 0 and said.split() == [str(byte)] * 256


def test_the_sample_that_misreads_its_data_is_named_at_the_line_of_the_launch():
    left, _ = ran(SEEDS / "aclnnCrossEntropyLossGrad.cpp")
    assert left.status == 0 and left.emulator.misuse[0].startswith(
        "aclnnCrossEntropyLossGrad.cpp:114: "
    )
    assert "8 bytes outside the allocation of 8 bytes" in left.emulator.misuse[0]


@pytest.mark.parametrize(
    ("name", "mode"),
    [*((op.name, {}) for op in av.operators()), ("flash_attention_score", {"sparseMode": 6})],
)
@pytest.mark.sampled(1)
def test_a_sample_of_each_operator_prints_the_numbers_of_backward(name, mode, tmp_path):
    # a mask of 6 million elements is written as runs of equal ones
    case = av.case(name, seed=1, **mode)
    left, text = ran(written(tmp_path, av.cpp_sample(name, case)))
    expected = av.operator(name).backward(**case.inputs)
    assert (left.status, left.sentences) == (0, [])
    for output, value in outputs_in(text, expected).items():
        assert np.array_equal(value, expected[output], equal_nan=True), output


def test_headers_declare_what_those_of_the_stand_in_declare(tmp_path):
    """Two programs, each over one set of headers, print the mangled types of all functions and the values of constants."""
    names = [one.name for one in functions()]
    constants = [
        name
        for numbers in TYPES.values()
        for name in numbers
        if name in (stand_in() / "include/acl/acl_base.h").read_text()
    ]
    includes = {f"aclnnop/{op.header}" for op in av.operators()}
    found = []
    for folder in (stand_in() / "include", headers.installation() / "include"):
        lines = [
            f"#include <{one}>"
            for one in ("typeinfo", "acl/acl.h", "aclnn/acl_meta.h", *sorted(includes))
            if one == "typeinfo" or (folder / one).exists()
        ]
        lines += ["#include <cstdio>", "int main() {"]
        lines += [f'printf("{name} %s\\n", typeid(&{name}).name());' for name in names]
        lines += [f'printf("{name} %lld\\n", (long long){name});' for name in constants] + ["}"]
        source, program = written(tmp_path, "\n".join(lines)), tmp_path / "types"
        # Only the types count: no library is linked.
        subprocess.run(
            ["g++", f"-I{folder}", source, "-Wl,--unresolved-symbols=ignore-all", "-o", program],
            check=True,
        )
        found.append(
            subprocess.run(
                [program], capture_output=True, text=True, check=True
            ).stdout.splitlines()
        )
    assert len(found[0]) == len(names) + len(constants) > 120 and found[0] == found[1]


@pytest.mark.parametrize("schedule", ["eager", "late", 3])
@pytest.mark.sampled(1)
def test_kernel_and_host_in_one_file(schedule):
    left, text = ran(PROGRAM, words=["word"], schedule=schedule)
    # the program's own status
    assert (left.status, text, left.sentences) == (1, "0 1024 word\n", [])


NUMBERS = "#include <cstdint>\nstruct Numbers { float value; uint32_t at; };\n"
FILL = """#include "kernel_operator.h"
extern "C" __global__ __aicore__ void fill(GM_ADDR y, Numbers numbers) {
    AscendC::GlobalTensor<float> out;
    out.SetGlobalBuffer((__gm__ float *)y, 8), out.SetValue(numbers.at, numbers.value);
}
"""
LAUNCH = """#include <cstdio>
#include "aclrtlaunch_fill.h"
int main() {
    float h[8]; void *d; aclrtStream stream; Numbers numbers{2.5f, 3};
    aclInit(nullptr), aclrtSetDevice(0), aclrtCreateStream(&stream), aclrtMalloc(&d, 32, ACL_MEM_MALLOC_HUGE_FIRST);
    LAUNCH;
    aclrtSynchronizeStream(stream), aclrtMemcpy(h, 32, d, 32, ACL_MEMCPY_DEVICE_TO_HOST), std::printf("%g\\n", h[3]);
}
"""


@pytest.mark.parametrize(
    "launch",
    [
        "ACLRT_LAUNCH_KERNEL(fill)(1, stream, d, &numbers)",
        "ACLRT_LAUNCH_KERNEL(fill)(1, stream, d, numbers)",
        "fill<<<1, nullptr, stream>>>(d, numbers)",
        "fill<<<1, nullptr, stream>>>(d, &numbers)",
    ],
)
@pytest.mark.sampled(1)
def test_a_struct_is_given_by_value_and_by_its_address_through_aclrt_launch_kernel_alone(
    launch, tmp_path
):
    files = (
        written(tmp_path, NUMBERS + LAUNCH.replace("LAUNCH;", launch + ";")),
        written(tmp_path, NUMBERS + FILL, "fill.cpp"),
    )
    if launch.endswith("(d, &numbers)") and "<<<" in launch:
        with pytest.raises(CompileError, match=r"program.cpp:8:\d+: error"):
            cpp_programs.build(files)
    else:
        assert ran(*files)[1] == "2.5\n"


@pytest.mark.parametrize(
    "before, after, kind, at",
    [
        ("        in.EnQue(both);\n", "", "queue empty", "in.DeQue"),
        (
            "DataCopy(zGm[at], sum, numbers.tile);",
            "DataCopy(zGm[at], sum, numbers.tile + 8);",
            "beyond tensor",
            "numbers.tile + 8",
        ),
        (
            "(__gm__ T *)numbers.z + each * GetBlockIdx(), each",
            "(__gm__ T *)numbers.z, each",
            "race between cores",
            "DataCopy(zGm",
        ),
        ("(__gm__ T *)y + each", "(__gm__ T *)numbers.z + each", "unwritten", "yGm[at]"),
        # the last call
        (
            "    TPipe pipe;",
            "    *(volatile int *)8 = 1;\n    TPipe pipe;",
            "program ended",
            "(__gm__ T *)numbers.z",
        ),
    ],
)
@pytest.mark.sampled(1)
def test_a_wrong_kernel_is_named_at_its_line(before, after, kind, at, tmp_path):
    file = edited(tmp_path, before, after)
    left, _ = ran(file)
    found = next(one for one in left.emulator.hazards if one.kind == kind)
    assert (
        left.status == 1
        and at in file.read_text("utf-8").splitlines()[found.line - 1]
        and found.file == str(file)
    )


def test_what_cann_does_not_notice_is_named_at_the_line_of_the_call(tmp_path):
    file = edited(tmp_path, "    aclrtDestroyStream(stream);\n", "")
    left, _ = ran(file)
    line = file.read_text("utf-8").splitlines().index("    aclrtResetDevice(0);") + 1
    assert left.status == 0 and left.emulator.misuse[0].startswith(
        f"program.cpp:{line}: aclrtResetDevice: "
    )


def test_a_call_that_is_wrong_a_thousand_times_is_looked_up_once(tmp_path, monkeypatch):
    looked, which = [], emulator.shutil.which
    monkeypatch.setattr(emulator.shutil, "which", lambda name: looked.append(name) or which(name))
    stream = "    aclrtDestroyStream(stream);\n"
    left, _ = ran(
        edited(
            tmp_path,
            stream,
            "    for (int k = 0; k < 1000; ++k) aclrtMalloc(device, 64, ACL_MEM_MALLOC_HUGE_FIRST);\n"
            + stream,
        )
    )
    assert (
        len(left.emulator.misuse) == 1000
        and left.emulator.misuse[0].startswith("program.cpp:")
        and looked.count("addr2line") < 5
    )


def test_what_a_program_writes_into_the_emulators_socket_ends_nothing():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        with theirs:
            theirs.send(b"\xff" * 100), theirs.send(b"junk junk")
        (server := Emulator()).serve(ours)
    assert server.crashed is None and server.sentences() == []


def test_a_message_that_breaks_off_ends_its_line_in_silence():
    for size in range(9):  # as from a program killed while writing
        ours, theirs = socket.socketpair()
        with theirs:
            theirs.sendall(b"\x18" + bytes(7 + size))
        Emulator()._lines(ours)


@pytest.mark.parametrize(
    "defines, edits",
    [
        ([], {}),
        (["ASCENDC_CPU_DEBUG=1"], {}),
        (
            [],
            {
                "extern void add_custom_do(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *y, uint8_t *z);": '#include "aclrtlaunch_add_custom.h"',
                "add_custom_do(blockDim": "ACLRT_LAUNCH_KERNEL(add_custom)(blockDim",
            },
        ),
    ],
)
@pytest.mark.soak
def test_the_vendors_older_forms_in_two_files(defines, edits, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (SOURCES / "older_main.cpp").read_text("utf-8")
    for before, after in edits.items():
        assert text.count(before) == 1
        text = text.replace(before, after)
    x, y = np.random.default_rng(0).standard_normal((2, 4096)).astype(np.float16)
    x.tofile("x.bin"), y.tofile("y.bin")
    left, _ = ran(written(tmp_path, text), SOURCES / "older_kernel.cpp", defines=defines)
    assert left.status == 0 and np.array_equal(np.fromfile("z.bin", np.float16), x + y)


@pytest.mark.parametrize("seconds", ["0", "nan", "-3"])
@pytest.mark.sampled(1)
def test_a_time_that_is_none_is_refused(seconds, tmp_path, capsys):
    assert (
        cli.main(["cpp", "run", str(written(tmp_path, "int main() {}")), "--seconds", seconds]) == 2
    )
    assert f"above 0: got {float(seconds)}" in capsys.readouterr().err


def test_the_command_prints_all_of_it_as_json(tmp_path, capsys):
    file = edited(
        tmp_path,
        "numbers.tile);\n        out.FreeTensor(sum);",
        "numbers.tile + 8);\n        out.FreeTensor(sum);",
    )
    assert cli.main(["cpp", "run", str(file), "--json", "--", "-x"]) == 1
    left = json.loads(capsys.readouterr().out)
    assert (
        left["output"].endswith(" -x\n")
        and left["hazards"][0]["line"] == 36
        and left["status"] == 1
    )


def test_of_much_that_a_program_prints_the_json_holds_the_beginning(tmp_path, capsys):
    file = written(
        tmp_path,
        '#include <cstdio>\n#include "acl/acl.h"\nint main() { for (int k = 0; k < 1 << 18; ++k) std::puts("a line"); }\n',
    )
    assert cli.main(["cpp", "run", str(file), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["output"]
    assert (
        said.startswith("a line\na line\n")
        and said.endswith("(the program printed more, which is not shown)")
        and len(said) < 1.1e6
    )


def test_a_hazard_that_is_allowed_is_said_and_is_no_reason_for_status_1(tmp_path, capsys):
    file = edited(
        tmp_path,
        "(__gm__ T *)numbers.z + each * GetBlockIdx(), each",
        "(__gm__ T *)numbers.z, each",
    )
    for allowed, status in (
        (("race between cores",), 0),
        (("overlap", "unwritten"), 1),
        (("race",), 2),
    ):
        assert (
            cli.main(
                ["cpp", "run", str(file), *(word for one in allowed for word in ("--allow", one))]
            )
            == status
        )
        assert (
            "race between cores" if status < 2 else "--allow names a kind of hazard"
        ) in capsys.readouterr().err


def test_a_project_of_ones_own_is_linked_with_the_flags(tmp_path, capsys):
    assert cli.main(["cpp", "flags"]) == 0
    program, source = tmp_path / "own", SEEDS / "aclnnHardswishBackward.cpp"
    subprocess.run(
        ["g++", source, *shlex.split(capsys.readouterr().out), "-o", program], check=True
    )

    def own(**environment):
        return subprocess.run(
            [program], capture_output=True, text=True, env=os.environ | environment
        )

    assert own().stdout.endswith("result[7] is: 7.000000\n")
    assert "soc must be the SoC name" in own(ACLNN_VIZ_SOC="nothing").stderr
    assert (
        "561" in (refused := own(ACLNN_VIZ_SOC="Ascend310P3", ACLNN_VIZ_CANN="8.1")).stdout
        or refused.stdout
    )


def test_launches_are_rewritten_in_their_line_alone():
    text = 'void f(int *x, int n) {}\nint a = 1 << 2; std::cerr << "a" << "b";\nn::f<T<int>> <<<\n8 >> 1,\n0, s>>>(x,\n1); auto t = "<<<8>>>(";\n'
    made = cpp_programs.rewritten(text)
    assert made.count("\n") == text.count("\n") and '"<<<8>>>("' in made and "1 << 2" in made
    assert re.search(
        r'aclnn_viz::launched\(n::f<T<int>>, "f", "x,n", \n8 >> 1,\n0, s\)\(x,\n1\);', made
    )

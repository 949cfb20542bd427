"""The types of every C function, the nature of handles, and lifetimes."""

import ctypes
import gc
import subprocess
import sys

import numpy as np
import pytest
from acl_program import Program, inputs_of
from in_child import StandIn, in_child, stand_in
from machine import ROOT
from standin.generic import functions

from aclnn_viz.acl import CannAcl, HostAcl
from aclnn_viz.acl.cann import HANDLES, c_type
from aclnn_viz.acl.protocol import FUNCTIONS

pytestmark = pytest.mark.needs("g++")


def on_stand_in(work):
    root = stand_in()
    return in_child(lambda: work(CannAcl(root)))


def test_the_methods_are_those_of_the_emulator_and_no_others():
    def methods(cls):
        return {name for name in dir(cls) if name.startswith("acl")}

    assert methods(CannAcl) == methods(HostAcl) == {function.name for function in FUNCTIONS}


def test_every_function_is_typed():
    def work(acl):
        for function in functions():
            symbol = acl.bindings[function.name].symbol
            assert symbol.argtypes == [c_type(p.c_type) for p in function.parameters], function.name
            assert symbol.restype is c_type(function.return_type), function.name
        return sorted(acl.bindings) == sorted(function.name for function in functions())

    assert on_stand_in(work)


def test_c_types_have_the_sizes_of_c():
    sizes = {
        "int32_t": 4,
        "uint32_t": 4,
        "int64_t": 8,
        "uint64_t": 8,
        "size_t": 8,
        "double": 8,
        "float": 4,
        "bool": 1,
        "aclDataType": 4,
        "aclError": 4,
        "aclnnStatus": 4,
        "const char *": 8,
        "void *": 8,
        "aclrtStream": 8,
        "const aclTensor *": 8,
        "int64_t **": 8,
    }
    assert {name: ctypes.sizeof(c_type(name)) for name in sizes} == sizes


def test_each_kind_of_handle_has_a_pointer_type_of_its_own():
    pointers = [kind.pointer_type for kind in HANDLES.values()]
    assert len(set(pointers)) == len(HANDLES) == 8 and ctypes.c_void_p not in pointers


def test_ctypes_itself_refuses_one_handle_in_the_place_of_another():
    def work(acl):
        tensor = acl.aclCreateTensor((2,), 0, None, 0, 2, (2,), None)
        with pytest.raises(ctypes.ArgumentError):
            acl.bindings["aclDestroyBoolArray"].symbol(tensor.pointer)
        return acl.aclDestroyTensor(tensor)

    assert on_stand_in(work) == 0


def test_handles_are_equal_by_kind_and_address():
    def work(acl):
        first, second = (acl.aclCreateTensor((2,), 0, None, 0, 2, (2,), None) for _ in range(2))
        again = type(first)(first.pointer)
        array = HANDLES["aclBoolArray *"](first.pointer)
        return (
            first == again,
            hash(first) == hash(again),
            first == second,
            first == array,
            repr(first) == repr(again),
        )

    assert on_stand_in(work) == (True, True, False, False, True)


def test_handles_of_the_emulator_are_refused():
    def work(acl):
        host = HostAcl()
        text = "a handle must come from CANN's libraries: got <aclTensor 1> of the emulator"
        with pytest.raises(TypeError, match=text):
            acl.aclDestroyTensor(host.aclCreateTensor((2,), 0, None, 0, 2, (2,), None))
        return True

    assert on_stand_in(work)


def test_integers_of_every_kind_wrap_as_in_c():
    def work(acl):
        dims = acl.aclCreateTensor(
            [np.int64(3), True, 2**64 + 5], 2**32, np.array([5, 5, 1]), 0, 2, (15,), None
        )
        seen = acl.aclGetViewShape(dims), acl.aclGetViewStrides(dims), acl.aclGetDataType(dims)
        acl.aclDestroyTensor(dims)
        with pytest.raises(TypeError, match="view_dims .* must be an integer: got "):
            acl.aclCreateTensor([2.5], 0, None, 0, 2, (2,), None)
        return seen

    assert on_stand_in(work) == ((0, (3, 1, 5)), (0, (5, 5, 1)), (0, 0))


def test_strings_live_until_the_operator_has_read_them():
    """Generated operators store the address of a string and read it when they run."""

    def work(acl):
        program = Program(acl).start()
        name = "aclnnCrossEntropyLossGrad"
        results = []
        for reduction in ("sum", "mean"):
            inputs, shapes = inputs_of(name)
            arguments, made = program.arguments(
                name, inputs | {"reduction": "".join(list(reduction))}, shapes
            )
            program.queue(name, arguments)
            del arguments, inputs
            gc.collect()
            rubbish = [f"{k:04}" for k in range(10000)]
            assert acl.aclrtSynchronizeStream(program.stream) == 0 and rubbish
            results.append(program.fetch(made["xGradOut"]))
        program.finish()
        return acl.bindings[f"{name}GetWorkspaceSize"]._strings, np.allclose(
            results[0], 4 * results[1]
        )

    assert on_stand_in(work) == ({"sum": b"sum", "mean": b"mean"}, True)


def test_arrays_live_as_long_as_the_handle_that_was_made_of_them():
    def work(acl):
        array = acl.aclCreateBoolArray((True, False))
        tensor = acl.aclCreateTensor((3, 2), 0, (2, 1), 0, 2, (6,), None)
        kept = [
            list(part)
            for handle in (array, tensor)
            for part in handle.made_of
            if isinstance(part, ctypes.Array)
        ]
        acl.aclDestroyBoolArray(array), acl.aclDestroyTensor(tensor)
        return kept

    assert on_stand_in(work) == [[True, False], [3, 2], [2, 1], [6]]


def test_arrays_that_the_library_allocates_are_given_back():
    def work(acl):
        tensor, freed = acl.aclCreateTensor((1,) * 8, 0, None, 0, 2, (1,), None), []
        release = acl.bindings["aclGetViewShape"]._release
        acl.bindings["aclGetViewShape"]._release = lambda array: (freed.append(1), release(array))
        assert [acl.aclGetViewShape(tensor) for _ in range(100)] == [(0, (1,) * 8)] * 100
        acl.aclDestroyTensor(tensor)
        return len(freed), release.__name__

    assert on_stand_in(work) == (100, "_ZdaPv")


def test_misuse_is_always_empty_and_the_stand_in_knows_of_it():
    def work(acl):
        acl.aclInit(None), acl.aclrtSetDevice(0)
        acl.aclrtFree(0x1234)
        return acl.misuse, len(StandIn(acl.installation.root).misuse)

    assert on_stand_in(work) == ([], 1)


def test_the_description_names_root_and_version():
    def work(acl):
        soc = acl.aclInit(None), acl.soc
        acl.aclFinalize()
        return repr(acl), acl.stand_in, str(acl.cann), acl.cann_source, soc

    root = stand_in()
    text = "stand-in for CANN 9.1.0, no device"
    assert on_stand_in(work) == (
        f"CannAcl('{root}', cann='9.1.0')",
        text,
        "9.1.0",
        text,
        (0, "Ascend910B2"),
    )


def test_nothing_is_loaded_before_it_is_asked_for():
    program = (
        "import sys, aclnn_viz\nfrom aclnn_viz.acl import CannAcl\n"
        "maps = lambda: open('/proc/self/maps').read()\nbefore = 'libacl_rt' in maps()\n"
        "CannAcl(sys.argv[1])\nprint(before, 'libacl_rt' in maps())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, stand_in()],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False True\n"

"""The emulator's own parts: products, memory, poison, views, and the given computation."""

import numpy as np
import pytest
from acl_program import TO_HOST, Program, inputs_of, uniform
from hypothesis import given
from hypothesis import strategies as st

from aclnn_viz.acl import HostAcl, protocol
from aclnn_viz.acl.state import POISON, DeviceMemory, byte_range
from aclnn_viz.operators.contract.model import TensorDescriptor
from aclnn_viz.operators.products import A2, ASCEND_950

HARDSWISH, RMS, SAMPLER = "aclnnHardswishBackward", "aclnnRmsNormGrad", "aclnnGridSampler2DBackward"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"soc": "Ascend910B9x"}, None),
        ({"soc": "Ascend1"}, "soc must be the SoC name of an Atlas product: got 'Ascend1'"),
        ({"cann": "new"}, "cann must be a CANN version: got 'new'"),
        ({"cann": "9.1.0-beta.2"}, None),
    ],
)
def test_products_and_versions(arguments, text):
    if text is None:
        assert HostAcl(**arguments).misuse == []
    else:
        with pytest.raises(ValueError, match=text):
            HostAcl(**arguments)


def started(**arguments):
    return Program(HostAcl(**arguments)).start()


@pytest.mark.parametrize(
    ("soc", "values"),
    [
        ("Ascend910B2", [1, 1, 0]),
        ("Ascend950PR_9579", [1, 1, 0]),
        ("Ascend910B", [0, 0, 1]),
        ("Ascend310P3", [0, 0, 1]),
    ],
)
def test_attributes_follow_the_product(soc, values):
    assert [HostAcl(soc=soc).aclGetCannAttribute(k) for k in (0, 1, 2)] == [
        (0, value) for value in values
    ]


@pytest.mark.parametrize(
    ("soc", "cann", "mode", "status"),
    [
        ("Ascend910B2", "9.1", 2, 0),
        ("Ascend910B2", "9.0.1", 2, 161002),
        ("Ascend910B2", "9.1.0-beta.1", 2, 161002),
        ("Ascend910B2", "9.1.0-beta.2", 2, 0),
        ("Ascend910B2", "9.1", 3, 161002),
    ],
)
def test_statuses_follow_the_version(soc, cann, mode, status):
    program = started(soc=soc, cann=cann)
    arguments, _ = program.arguments(SAMPLER, {"interpolationMode": mode})
    assert program.phase_1(SAMPLER, arguments)[0] == status


@pytest.mark.parametrize(
    ("soc", "cann", "status"), [("Ascend310P3", "9.1", 161002), ("Ascend310P3", "8.1", 561003)]
)
def test_statuses_follow_the_product(soc, cann, status):
    program = started(soc=soc, cann=cann)
    name = "aclnnGroupNormSwishGrad"
    assert program.phase_1(name, program.arguments(name)[0]) == (status, 0, None)


def test_a_text_beside_success():
    """The tiling reports a failure that the library discards: phase 1 succeeds with an error text."""
    program = started()
    name = "aclnnGroupNormSwishGrad"
    arguments, _ = program.arguments(name, {"numGroups": 3})
    program.acl.aclGetRecentErrMsg()
    assert program.phase_1(name, arguments)[0] == 0
    assert (
        "numGroups" in program.acl.aclGetRecentErrMsg() and program.acl.aclGetRecentErrMsg() is None
    )


# Refusals without a documented text, in which other implementations may differ


def test_inferred_refusals():
    program = started()
    acl = program.acl
    assert acl.aclrtSynchronizeStreamWithTimeout(program.stream, -2) == 107000
    assert acl.aclrtDestroyContext(acl.aclrtGetCurrentContext()[1]) == 107000
    assert [acl.aclrtSetSysParamOpt(9, 0), acl.aclrtGetSysParamOpt(-1)] == [107000, (107000, None)]
    assert [acl.aclrtCtxSetSysParamOpt(3, 0), acl.aclrtCtxGetSysParamOpt(3)] == [
        107000,
        (107000, None),
    ]
    assert acl.aclrtGetMemInfo(12) == (107000, None, None)
    program.finish()
    assert acl.misuse == []


# Configuration files


def test_configuration_files(tmp_path):
    good, other, bad = (tmp_path / name for name in ("good.json", "other.json", "bad.json"))
    good.write_text("{}")
    other.write_text('{"dump": {}}')
    bad.write_text("{")
    acl = HostAcl()
    assert [acl.aclInit(str(tmp_path / "absent.json")), acl.aclInit(str(bad))] == [100003, 100006]
    assert acl.aclInit(str(good)) == 0
    assert [
        acl.aclFinalize(),
        acl.aclInit(str(other)),
        acl.aclInit(str(good)),
        acl.aclFinalize(),
    ] == [0, 100000, 0, 0]
    assert acl.misuse == []


# Memory


@pytest.mark.parametrize(("soc", "charge"), [("Ascend910B2", 64), ("Ascend950PR_9579", 32)])
def test_memory_is_what_the_device_takes_for_a_block(soc, charge):
    program = started(soc=soc, memory=4 * charge)
    addresses = [program.malloc(1) for _ in range(4)]
    assert program.acl.aclrtGetMemInfo(1) == (0, 0, 4 * charge)
    assert program.acl.aclrtMalloc(1, 0) == (207001, None)
    assert "no room for 1 bytes" in program.acl.aclGetRecentErrMsg()
    assert program.acl.aclrtFree(program.blocks.pop()) == 0
    assert program.malloc(32) not in addresses
    program.finish()
    assert program.acl.misuse == []


def test_a_block_costs_nothing_before_it_is_touched():
    device = DeviceMemory(A2, 1 << 50)
    assert all(device.allocate(1 << 40) for _ in range(100)) and len(device.live) == 100
    assert DeviceMemory(ASCEND_950, 64).allocate(65) is None


def test_fresh_memory_is_poison():
    program = started()
    assert program.get(program.malloc(100), 100, np.uint8).tolist() == [0xA5] * 100


def test_outputs_are_poison_until_the_stream_is_synchronised():
    program = started()
    arguments, made = program.arguments(RMS)
    program.queue(RMS, arguments)
    early = np.zeros((3, 4), np.float32)
    address = program.tensors[made["dxOut"]][0]
    assert program.acl.aclrtMemcpy(early, 48, address, 48, TO_HOST) == 0
    assert set(early.tobytes()) == {0xA5}
    assert program.acl.aclrtSynchronizeStream(program.stream) == 0
    assert 0xA5 not in program.fetch(made["dxOut"]).view(np.uint8)[..., 3]
    assert len(program.acl.misuse) == 1


def test_a_kernel_leaves_nothing_in_its_workspace():
    program = started()
    status, size, executor = program.phase_1(RMS, program.arguments(RMS)[0])
    workspace = program.put(np.zeros(size, np.uint8))
    assert program.acl.aclnnRmsNormGrad(workspace, size, executor, program.stream) == 0
    assert program.acl.aclrtSynchronizeStream(program.stream) == 0
    assert set(program.get(workspace, size, np.uint8)[:: size // 64].tolist()) == {0xA5}


# Views, against a loop over single elements


@st.composite
def views(draw):
    shape = tuple(draw(st.lists(st.integers(1, 4), max_size=3)))
    strides = tuple(draw(st.integers(-3, 6)) for _ in shape)
    return TensorDescriptor(shape, 0, strides, draw(st.integers(-4, 30)), 2, shape)


def addresses_of(view, start):
    """Return the address of each float32 element, element by element."""
    found = []
    for index in np.ndindex(*view.shape):
        found.append(start + 4 * (view.offset + sum(i * s for i, s in zip(index, view.strides))))
    return found


def memory_of(contents):
    device = DeviceMemory(A2, 1 << 30)
    block = device.allocate(contents.nbytes)
    device.write(block.start, contents.view(np.uint8))
    return device, block.start


@given(views(), st.integers(1, 40))
def test_gather_is_a_loop_over_elements_and_poison_outside(view, length):
    contents = np.arange(1, length + 1, dtype=np.float32)
    device, start = memory_of(contents)
    poison = np.full(4, POISON, np.uint8).view(np.float32)[0]
    expected = [
        contents[(a - start) // 4] if start <= a < start + 4 * length else poison
        for a in addresses_of(view, start)
    ]
    assert device.gather(start, view, np.dtype(np.float32)).ravel().tolist() == expected


@given(views(), st.integers(1, 40))
def test_scatter_is_a_loop_over_elements_and_drops_what_is_outside(view, length):
    device, start = memory_of(np.zeros(length, np.float32))
    places = addresses_of(view, start)
    values = np.arange(1, len(places) + 1, dtype=np.float32).reshape(view.shape)
    device.scatter(start, view, values)
    found = device.read(start, 4 * length).view(np.float32)
    for k, number in enumerate(found):  # of elements that share an address, any may be the last
        wanted = [v for v, a in zip(values.ravel(), places) if a == start + 4 * k]
        assert number in wanted if wanted else number == 0


@given(views(), st.integers(1, 40))
def test_a_complaint_exactly_when_an_element_lies_outside(view, length):
    device, start = memory_of(np.zeros(length, np.float32))
    outside = [a for a in addresses_of(view, start) if not start <= a < start + 4 * length]
    assert (device.complaint(start, *byte_range(view, 4)) is not None) == bool(outside)


def test_a_view_half_outside_its_last_element():
    device, start = memory_of(np.float32([1, 2]))
    view = TensorDescriptor((1,), 11, (1,), 0, 2, (1,))
    assert (
        device.gather(start + 4, view, np.dtype(np.float64)).tobytes()
        == np.float32(2).tobytes() + b"\xa5" * 4
    )
    device.scatter(start + 4, view, np.float64([0]))
    assert device.read(start, 8).view(np.float32).tolist() == [1, 0]


def test_offsets_beyond_any_memory_are_poison():
    device, start = memory_of(np.float32([1, 2]))
    view = TensorDescriptor((2,), 0, (2**62,), 0, 2, (2,))
    assert set(device.gather(start, view, np.dtype(np.float32)).tobytes()) == {0xA5}


# The computation


def test_the_computation_is_given_the_vendors_names():
    seen = []

    def backward(name, inputs):
        seen.append((name, {key: np.asarray(value).tolist() for key, value in inputs.items()}))
        return {"out": inputs["gradOutput"] + 1}

    program = started(backward=backward)
    grad, x = uniform(0, 2, 5), uniform(1, 2, 5)
    found = program.run(HARDSWISH, {"gradOutput": grad, "self": x})
    assert seen == [("hardswish", {"gradOutput": grad.tolist(), "self": x.tolist()})]
    assert found["out"].tolist() == (grad + 1).tolist()


def test_inputs_are_copies_that_a_computation_may_change():
    def backward(name, inputs):
        inputs["self"][...] = 0
        return {"out": inputs["gradOutput"]}

    program = started(backward=backward)
    x = program.tensor(uniform(1, 2, 5))
    program.launch(HARDSWISH, [program.tensor(uniform(0, 2, 5)), x, program.empty((2, 5))])
    assert program.fetch(x).tolist() == uniform(1, 2, 5).tolist()


def test_an_operator_may_write_where_it_reads():
    program = started()
    inputs = inputs_of(HARDSWISH)[0]
    x = program.tensor(inputs["self"])
    program.launch(HARDSWISH, [program.tensor(inputs["gradOutput"]), x, x])
    assert program.fetch(x).tobytes() == started().run(HARDSWISH, inputs)["out"].tobytes()


def test_every_public_call_is_in_the_protocol():
    offered = {name for name in dir(HostAcl) if name.startswith("acl")}
    assert offered == {function.name for function in protocol.FUNCTIONS}


def test_help_shows_the_prototype_and_the_signature():
    assert HostAcl.aclrtMalloc.__doc__.startswith(
        "aclError aclrtMalloc(void **address, size_t size, aclrtMemMallocPolicy policy)"
    )
    assert (
        "const aclTensor *gradOutput, const aclTensor *self, aclTensor *out, uint64_t *workspaceSize, "
        "aclOpExecutor **executor" in HostAcl.aclnnHardswishBackwardGetWorkspaceSize.__doc__
    )

"""Own data in every form: files, bare numbers, bfloat16 as bits, tensors of other libraries."""

import os
import sys
import types
from ast import literal_eval

import numpy as np
import pytest
from tables import table

import aclnn_viz as av
from aclnn_viz.dtypes import BFLOAT16
from aclnn_viz.storage.foreign_arrays import as_array, load

CASE = av.case("rms_norm", dtype="bfloat16", shape=(4, 16))
OUT = CASE.operator.backward(**CASE.inputs)


class Tensor:
    """A tensor like torch's: NumPy cannot read its bfloat16, neither by itself nor over DLPack."""

    def __init__(self, array, dtype=None, view=None):
        self.array, self.dtype = array, dtype or f"torch.{array.dtype}"

    def detach(self):
        return self

    cpu = contiguous = detach

    def view(self, dtype):
        assert dtype == "torch.int16"
        return Tensor(self.array.view(np.int16))

    def numpy(self):
        if self.dtype == "torch.bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.array

    def __array__(self, dtype=None, copy=None):
        return self.numpy()

    def __dlpack__(self, **options):
        if self.dtype == "torch.bfloat16":
            raise BufferError("bfloat16 is not supported")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Speaks:
    """An array that supports only DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Gives:
    """An array with NumPy's interface alone, as JAX gives bfloat16."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


@pytest.fixture(autouse=True)
def torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(int16="torch.int16"))


def bits(array):
    return array.view(np.uint16)


FORMS = {
    "tensor": Tensor,
    "array interface": Gives,
    "uint16": bits,
    "V2": lambda array: array.view("V2"),
    "big-endian V2": lambda array: bits(array).astype(">u2"),
}
ALL_FORMS = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def changed(form, values):
    return {
        name: form(value)
        if isinstance(value, np.ndarray) and value.dtype == BFLOAT16.numpy
        else value
        for name, value in values.items()
    }


def same(found, expected):
    assert {name: (value.dtype, value.tobytes()) for name, value in found.items()} == {
        name: (value.dtype, value.tobytes()) for name, value in expected.items()
    }


@ALL_FORMS
def test_bfloat16_goes_through_unchanged(form):
    inputs = changed(form, CASE.inputs)
    same(CASE.operator.backward(**inputs), OUT)
    truth = CASE.operator.truth(**inputs)
    assert (truth["dxOut"] == CASE.operator.truth(**CASE.inputs)["dxOut"]).all()
    with av.open_device("host") as device:
        same(device.run("rms_norm", **inputs), OUT)
    assert av.compare(form(OUT["dxOut"]), truth["dxOut"]).max_ulp == 0.0
    assert (
        av.compare(form(OUT["dxOut"] * 2), truth["dxOut"], baseline=form(OUT["dxOut"])).max_ulp
        > 1.0
    )


@ALL_FORMS
@pytest.mark.sampled(1)
def test_a_kernel_may_return_it(form):
    def kernel(**inputs):
        return changed(form, CASE.operator.backward(**inputs))

    options = {"cases": [CASE], "depth": "quick"}  # the form matters, not the numbers
    assert av.check("rms_norm", kernel, **options).passed
    wrong = av.check(
        "rms_norm",
        lambda **inputs: changed(
            form,
            {
                name: value * value.dtype.type(2)
                for name, value in CASE.operator.backward(**inputs).items()
            },
        ),
        **options,
        time_limit=60.0,
    )
    assert not wrong.passed and wrong.failed and not wrong.misbehaviour


def test_unsigned_integers_stay_integers_where_these_are_expected():
    assert as_array(np.zeros(2, np.uint16)).dtype == np.uint16
    with pytest.raises(TypeError, match="target must be int64 or int32"):
        av.operator("cross_entropy_loss").backward(
            **av.case("cross_entropy_loss", shape=(2, 3)).inputs
            | {"target": np.zeros(2, np.uint16)}
        )
    assert not av.check(
        "hardswish", lambda **inputs: inputs["self"].astype(np.uint16), dtypes=("float32",)
    ).passed


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
@pytest.mark.parametrize("form", [Tensor, Speaks, Gives])
def test_other_formats_of_other_libraries(form, dtype):
    array = np.arange(6, dtype=dtype).reshape(2, 3).T
    found = as_array(form(array))
    assert found.dtype == dtype and (found == array).all()


def test_a_tensor_that_numpy_cannot_take_is_reported():
    class Odd:
        def __dlpack__(self):
            raise BufferError("on a device")

    with pytest.raises(
        TypeError, match="taken as NumPy sees it: got Odd.*; convert it to a NumPy array"
    ):
        av.operator("hardswish").backward(self=Odd(), gradOutput=np.ones(3, np.float32))


def test_files_of_every_form(tmp_path):
    tensors = {name: value for name, value in CASE.inputs.items()}
    np.savez(tmp_path / "case.npz", **tensors)
    np.save(tmp_path / "x.npy", tensors["x"])  # NumPy writes |V2
    tensors["x"].tofile(tmp_path / "x.bin")
    same(CASE.operator.backward(**dict.fromkeys(tensors, str(tmp_path / "case.npz"))), OUT)
    same(CASE.operator.backward(**tensors | {"x": tmp_path / "x.npy"}), OUT)
    same(
        CASE.operator.backward(**tensors | {"x": av.load(tmp_path / "x.bin", "bfloat16", (4, 16))}),
        OUT,
    )
    assert load(tmp_path / "x.bin", dtype=BFLOAT16.numpy).shape == (64,)
    np.savez(tmp_path / "one.npz", tensors["x"])  # its only array is called arr_0
    same(CASE.operator.backward(**tensors | {"x": tmp_path / "one.npz"}), OUT)
    np.save(tmp_path / "bits.npy", bits(tensors["x"]))
    assert load(tmp_path / "bits.npy").dtype == np.uint16
    assert load(tmp_path / "bits.npy", "bfloat16", (64,)).tobytes() == tensors["x"].tobytes()
    np.save(tmp_path / "out.npy", OUT["dxOut"])
    assert av.compare(tmp_path / "out.npy", CASE.operator.truth(**tensors)["dxOut"]).max_ulp == 0.0


def test_a_case_infers_shape_and_format_from_what_is_given():
    given = changed(Tensor, {name: CASE.inputs[name] for name in ("x", "dy", "gamma")})
    made = av.case("rms_norm", **given)
    assert made.dtype == "bfloat16" and made.inputs["rstd"].shape == (4, 1)
    assert made.inputs["x"].tobytes() == CASE.inputs["x"].tobytes()
    wide = av.case("rms_norm", x=np.ones((2, 3, 4)), gamma=np.ones((3, 4)))
    assert wide.dtype == "float64" and wide.inputs["rstd"].size == 2
    grid = av.case(
        "grid_sampler_2d",
        input=np.ones((1, 2, 4, 5), np.float32),
        grid=np.zeros((1, 3, 2, 2), np.float32),
    )
    assert grid.inputs["gradOutput"].shape == (1, 2, 3, 2)
    loss = av.case("cross_entropy_loss", logProb=np.zeros((3, 7), np.float16))
    assert loss.dtype == "float16" and loss.inputs["target"].shape == (3,)
    assert av.case("rms_norm").dtype == "float32"


def cut(path, count):
    path.write_bytes(path.read_bytes()[:count])


MISFITS = table(r"""
ones.npy   | {"dtype": "float32"} | must hold float32: got float64;
ones.npy   | {"shape": (2,)}      | must fill the shape \(2,\): got shape
object.npy | {}                   | NumPy cannot read
cut.npy    | {}                   | 12 bytes of numbers|bytes of
cut.npz    | {}                   | no whole archive
two.npz    | {}                   | one array of a .npz file is taken: got arrays u, v; name one
two.npz    | {"name": "w"}        | must hold w: got arrays u, v;
one.npz    | {"name": "w"}        | must hold w: got arrays u;
ones.npy   | {"name": "w"}        | have names in a .npz file: got ones.npy and the name
large.npz  | {}                   | arr_0.npy of large.npz, 67108992 bytes in \d+, where at most 67108864 are read
a.bin      | {}                   | bare numbers need a dtype: got a.bin; pass such as
a.bin      | {"dtype": "float32", "shape": (2,)} | 3 bytes instead of 8
a.bin      | {"dtype": "float32"} | 3 bytes instead of 0
a.bin      | {"dtype": "complex64"} | dtype is that of a tensor: got 'complex64'
a.txt      | {}                   | an array is taken from a .npy file.*: got a.txt; convert
""")


@pytest.fixture(scope="module")
def misfits(tmp_path_factory):
    folder, ones = tmp_path_factory.mktemp("misfits"), np.ones(3)
    for name, array in (("ones", ones), ("object", np.array([{}])), ("cut", ones)):
        np.save(folder / f"{name}.npy", array)
    cut(folder / "cut.npy", 140)
    (folder / "cut.npz").write_bytes(b"PK\x03\x04 and no more")
    np.savez(folder / "two.npz", u=ones, v=ones)
    np.savez(folder / "one.npz", u=ones)
    np.savez_compressed(folder / "large.npz", np.zeros(1 << 26, np.int8))
    for name in ("a.bin", "a.txt"):
        (folder / name).write_bytes(b"abc")
    return folder


@pytest.mark.parametrize("name, options, words", MISFITS)
def test_a_file_that_does_not_fit_is_refused(misfits, name, options, words):
    with pytest.raises(ValueError, match=words) as text:
        load(misfits / name, **literal_eval(options))
    assert ": got " in str(text.value) and "; " in str(text.value)


@pytest.mark.parametrize("form", [np.save, np.savez])
def test_an_array_beyond_the_memory_is_refused_before_it_is_read(tmp_path, monkeypatch, form):
    pages = {"SC_PAGE_SIZE": 1 << 10, "SC_PHYS_PAGES": 30}
    monkeypatch.setattr(os, "sysconf", pages.__getitem__)
    file = tmp_path / ("a.npy" if form is np.save else "a.npz")
    form(file, np.zeros(4000, np.float32))
    for call in (load, lambda path: av.case("tanh", output=path)):
        with pytest.raises(ValueError, match="16128 bytes.*at most 10240 are.*; write the file"):
            call(file)
    form(file, np.zeros(1000, np.float32))
    with pytest.raises(
        ValueError, match="judges arrays of at most 768 bytes: got gradOutput with 4"
    ):
        av.checking.given("tanh", dict.fromkeys(("gradOutput", "output", "gradInput"), str(file)))
    with pytest.raises(
        ValueError, match=r"holds at most 1,920 elements .*: got tuple \(2000,\); draw"
    ):
        av.case("tanh", shape=(2000,))


@pytest.mark.parametrize(
    "make",
    [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), lambda path: path.write_bytes(b"PK")],
)
def test_what_is_no_archive_is_reported_at_once_wherever_an_array_is_taken(tmp_path, make):
    make(tmp_path / "a.npz")
    for take in (load, as_array):
        with pytest.raises(
            ValueError,
            match="an array is taken from .*: got a.npz, which is no .*; write the file again",
        ):
            take(tmp_path / "a.npz")


def test_a_file_that_is_not_there():
    with pytest.raises(FileNotFoundError):
        load("nowhere.npy")


@pytest.mark.needs("torch")
def test_torch_itself(monkeypatch):
    monkeypatch.undo()
    import torch

    inputs = {
        name: torch.from_numpy(bits(value).view(np.int16)).view(torch.bfloat16)
        if value.dtype == BFLOAT16.numpy
        else torch.from_numpy(value)
        for name, value in CASE.inputs.items()
    }
    same(CASE.operator.backward(**inputs), OUT)
    assert av.check(
        "rms_norm",
        lambda **given: {
            "dxOut": torch.from_numpy(
                bits((out := CASE.operator.backward(**given))["dxOut"]).view(np.int16)
            ).view(torch.bfloat16),
            "dgammaOut": out["dgammaOut"],
        },
        dtypes=("bfloat16",),
        shapes=((4, 16),),
    ).passed


@pytest.mark.needs("torch")
def test_a_sign_that_pytorch_keeps_apart_is_taken(monkeypatch):
    monkeypatch.undo()
    import torch

    turned = torch.complex(torch.zeros(3), torch.arange(3.0)).conj().imag
    assert turned.is_neg() and as_array(turned).tolist() == [0.0, -1.0, -2.0]


def test_a_masked_array_is_refused():
    with pytest.raises(TypeError, match=r"1 elements masked; pass value.filled\(\.\.\.\)"):
        as_array(np.ma.masked_array([1.0, 2.0], mask=[True, False]))

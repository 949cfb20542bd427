"""The search for CANN: roots, generations of libraries, headers, version files, custom operators. No C here."""

import platform

import pytest

from aclnn_viz.acl import DeviceUnavailable
from aclnn_viz.acl.installation import custom_libraries, driver_version, find, named_custom

CUSTOM = "op_api/lib/libcust_opapi.so"


def made(folder, *files):
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).touch()
    return folder


@pytest.fixture(autouse=True)
def bare(monkeypatch, tmp_path):
    """Set up a machine without settings, with its default places inside the test's folder."""
    for name in (
        "ASCEND_HOME_PATH",
        "ASCEND_TOOLKIT_HOME",
        "ASCEND_OPP_PATH",
        "ASCEND_CUSTOM_OPP_PATH",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(
        "aclnn_viz.acl.installation.DEFAULT_ROOTS", (str(tmp_path / "new"), str(tmp_path / "old"))
    )


def test_roots_are_taken_in_their_order(tmp_path, monkeypatch):
    names = ["given", "home", "toolkit", "new", "old"]
    for name in names:
        made(tmp_path / name, "lib64/libascendcl.so")
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path / "home"))
    monkeypatch.setenv("ASCEND_TOOLKIT_HOME", str(tmp_path / "toolkit"))
    assert (find(tmp_path / "given").root.name, find(tmp_path / "given").origin) == (
        "given",
        "root=",
    )
    for name, origin in zip(
        names[1:], ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "default place", "default place")
    ):
        found = find()
        assert (found.root.name, found.origin, len(found.tried)) == (
            name,
            origin,
            names.index(name) - 1,
        )
        (found.runtime).unlink()
    with pytest.raises(DeviceUnavailable):
        find()


def test_a_given_root_is_the_only_one(tmp_path):
    made(tmp_path / "new", "lib64/libascendcl.so")
    with pytest.raises(
        DeviceUnavailable, match=r"got \S*given \(root=\): no such directory; install"
    ):
        find(tmp_path / "given")


@pytest.mark.parametrize(
    ("files", "runtime", "operators"),
    [
        (["libascendcl.so", "libopapi.so"], "libascendcl.so", ["libopapi.so"]),
        (
            ["libacl_rt.so", "libascendcl.so", "libopapi_nn.so", "libopapi_cv.so"],
            "libacl_rt.so",
            ["libopapi_nn.so", "libopapi_cv.so"],
        ),
        (["libacl_rt.so", "libopapi.so", "libopapi_nn.so"], "libacl_rt.so", ["libopapi_nn.so"]),
        (["libacl_rt.so"], "libacl_rt.so", []),
    ],
)
def test_the_libraries_of_each_generation(tmp_path, files, runtime, operators):
    found = find(made(tmp_path / "root", *(f"lib64/{file}" for file in files)))
    assert found.runtime.name == runtime and [path.name for path in found.operators] == operators
    assert found.base == tmp_path / "root/lib64/libnnopbase.so"


def test_the_folder_of_the_machine_serves_too(tmp_path):
    folder = f"{platform.machine()}-linux/lib64"
    root = made(tmp_path / "root", f"{folder}/libacl_rt.so")
    assert find(root).runtime == root / folder / "libacl_rt.so"


@pytest.mark.parametrize(
    "folder",
    [
        "include/aclnnop",
        "include/aclnnop/level2",
        "opp/built-in/op_impl/ai_core/tbe/op_api/include/aclnnop",
    ],
)
def test_headers_are_found_where_versions_have_them(tmp_path, folder):
    found = find(made(tmp_path / "root", "lib64/libacl_rt.so", f"{folder}/aclnn_x.h"))
    assert (
        found.header("aclnn_x.h") == tmp_path / "root" / folder / "aclnn_x.h"
        and found.header("aclnn_y.h") is None
    )


@pytest.mark.parametrize(
    ("file", "text", "version"),
    [
        (
            "x86_64-linux/ascend_toolkit_install.info",
            "package_name=toolkit\nversion=8.1.RC1\ninnerversion=V1\n",
            "8.1.0.RC1",
        ),
        ("opp/version.info", "Version=7.7.0.1.238\nversion_dir=8.0.0\n", "8.0.0"),
        ("compiler/version.info", "Version=7.7.0.1.238:8.1.RC1\ntimestamp=1\n", "8.1.0.RC1"),
        (
            "version.cfg",
            "# version: 1.0\nruntime_running_version=[7.7.0.1.238:8.2.RC1]\n",
            "8.2.0.RC1",
        ),
        ("share/info/runtime/version.info", "Version=9.1.0-beta.2\n", "9.1.0-beta.2"),
        ("share/info/runtime/version.info", "version=9.0.1\n", "9.0.1"),
    ],
)
def test_version_files(tmp_path, file, text, version):
    root = made(tmp_path / "root", "lib64/libacl_rt.so", file)
    (root / file).write_text(text)
    found, source = find(root).version()
    assert (str(found), source) == (version, str(root / file))


@pytest.mark.parametrize(
    ("root", "runtime", "version", "source"),
    [
        ("cann-9.1.0", "libacl_rt.so", "9.1.0", "the name of "),
        ("8.1.RC1", "libascendcl.so", "8.1.0.RC1", "the name of "),
        (
            "latest",
            "libascendcl.so",
            "8.1.0",
            "inferred: no version file, the runtime is libascendcl.so",
        ),
        (
            "latest",
            "libacl_rt.so",
            "9.0.0",
            "inferred: no version file, the runtime is libacl_rt.so",
        ),
    ],
)
def test_without_version_files_it_is_said_what_tells(tmp_path, root, runtime, version, source):
    files = [f"lib64/{runtime}", "opp/version.info"]
    made(tmp_path / root, *files)
    # the package's version, not CANN's
    (tmp_path / root / "opp/version.info").write_text("Version=7.7.0.1.238\n")
    found, text = find(tmp_path / root).version()
    assert str(found) == version and text.startswith(source)


def test_custom_libraries_come_in_the_vendors_order(tmp_path, monkeypatch):
    root = made(
        tmp_path / "root",
        "lib64/libacl_rt.so",
        f"opp/vendors/a/{CUSTOM}",
        f"opp/vendors/b/{CUSTOM}",
        f"opp/vendors/c/{CUSTOM}",
    )
    assert custom_libraries(find(root)) == []  # without a list of priorities none is loaded
    (root / "opp/vendors/config.ini").write_text("load_priority=b,none,a\n")
    vendors = [root / f"opp/vendors/{name}/{CUSTOM}" for name in "ba"]
    assert custom_libraries(find(root)) == vendors
    mine, other = (
        made(tmp_path / "mine", CUSTOM),
        made(tmp_path / "other", f"x/{CUSTOM}", f"w/{CUSTOM}"),
    )
    monkeypatch.setenv("ASCEND_CUSTOM_OPP_PATH", f"{mine}:{tmp_path}/none:{other}")
    assert custom_libraries(find(root)) == [
        mine / CUSTOM,
        other / "w" / CUSTOM,
        other / "x" / CUSTOM,
        *vendors,
    ]
    opp = made(tmp_path / "opp", f"vendors/z/{CUSTOM}")
    (opp / "vendors/config.ini").write_text("# x\nload_priority = z\n")
    monkeypatch.setenv("ASCEND_OPP_PATH", str(opp))
    assert custom_libraries(find(root))[3:] == [opp / "vendors/z" / CUSTOM]


def test_a_custom_library_is_named_by_file_or_folder(tmp_path):
    package = made(tmp_path / "package", CUSTOM)
    assert (
        named_custom(package)
        == named_custom(package / CUSTOM)
        == named_custom(tmp_path)
        == [package / CUSTOM]
    )
    assert named_custom((package / CUSTOM).parent) == [package / CUSTOM]
    with pytest.raises(
        DeviceUnavailable, match=r"custom= must name .*: got \S*none; name the library"
    ):
        named_custom(tmp_path / "none")


def test_the_drivers_version_is_that_of_its_file(tmp_path, monkeypatch):
    monkeypatch.setattr("aclnn_viz.acl.installation.DRIVER_VERSION", tmp_path / "version.info")
    assert driver_version() is None
    (tmp_path / "version.info").write_text("Version=24.1.rc3\nascendhal_version=7.35\n")
    assert driver_version() == "24.1.rc3"

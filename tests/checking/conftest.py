"""What tests of the checker share: none of them writes where a person keeps what was solved."""

import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ACLNN_VIZ_DATA", str(tmp_path))
    return tmp_path

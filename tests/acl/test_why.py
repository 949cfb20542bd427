"""Codes and pasted logs, of the forms of public threads: the right meaning, or "unknown"."""

import io
import json
import re

import pytest

import aclnn_viz as av
from aclnn_viz import cli
from aclnn_viz.acl.why import LONGEST, _known
from aclnn_viz.words.messages import in_language, tr
from together import in_one

DATE = "[ERROR] 2026-03-02-10:11:12 (PID:161002, Device:0, RankID:-1)"
# A log, what is known of it (names of causes.toml), the operator that it names.
LOGS = [
    ("561103", {"561103"}, ""),
    (
        "RuntimeError: InnerRun:build/op_api_common.hpp:279 NPU function error: call aclnnInplaceZero failed, error code is 561103\n"
        f"{DATE} ERR00100 PTA call acl api failed",
        {"561103", "ERR00100"},
        "aclnnInplaceZero",
    ),
    (
        "NPU function error: call aclnnLayerNormBackward failed, error code is 561103",
        {"561103"},
        "aclnnLayerNormBackward",
    ),
    (
        "[Error]: EZ9999: Inner Error!\nEZ9999: [PID: 70991] 2026-01-02 TraceBack (most recent call last):",
        {"E?9999"},
        "",
    ),
    ("OPS function error: call aclnnCast failed, error code is 561000", {"561000"}, "aclnnCast"),
    (
        "call aclnnFlashAttentionScoreGrad failed, detail:EZ9999: Inner Error!",
        {"E?9999"},
        "aclnnFlashAttentionScoreGrad",
    ),
    ("aclnnBatchNormBackwardGetWorkspaceSize failed: 561103", {"561103"}, "aclnnBatchNormBackward"),
    (
        "aclnnQuantMatmulWeightNz failed, error code is 161002\\nEZ1001: scale has dtype FLOAT16",
        {"161002", "EZ1001"},
        "aclnnQuantMatmulWeightNz",
    ),
    (
        "synchronize failed, error code is 507015\nerror code = 0x800000, vec error info: 0x1, mte error info: 0x2",
        {"507015", "AI core", "vector core"},
        "",
    ),
    (
        "The error from device(0), serial number is 3. fault kernel_name=rms_norm_grad_1, retCode=0x31",
        {"vector core", "fault kernel_name"},
        "",
    ),
    ("retCode=0x26, [aicore exception].", {"AI core"}, ""),
    ("RuntimeError: ACL stream synchronize failed, error code:507035", {"507035"}, ""),
    ("ACL error: ret = 507014", {"507014"}, ""),
    (f"{DATE} ERR01002 OPS invalid type", {"ERR01"}, ""),
    (f"{DATE} ERR02200 DIST call hccl api failed.", {"ERR02"}, ""),
    (f"{DATE} ERR00006 PTA memory error\nTried to allocate 2 GiB", {"ERR00006"}, ""),
    (
        "EZ3003: [PID: 1] No supported Ops kernel and engine are found for [GridSampler]",
        {"EZ3003"},
        "",
    ),
    ("EZ9903: rtKernelLaunch failed", {"EZ9903"}, ""),
    ("aclrtMalloc failed, ret=207001", {"207001"}, ""),
    ("aclrtSetDevice failed. ERROR: 107001", {"107001"}, ""),
    ("aclInit failed with status 100039", {"100039"}, ""),
    ("ge returned error code is 561112", {"561112"}, ""),
    ("tiling of GroupNormSwishGrad failed: error code 561002", {"561002"}, ""),
    ("inner error, errno 561001", {"561001"}, ""),
    ("return code 361001 of aclnnRmsNormGrad", {"361001"}, "aclnnRmsNormGrad"),
    ("161002 aclnnRmsNormGrad", {"161002"}, "aclnnRmsNormGrad"),  # typed by hand
    ("error code is 507899", {"507899"}, ""),  # of which the headers have the name alone
    # Longer ones, of the forms of further threads: worker processes that write into one file, plog beside Python, two codes in one text.
    (
        "(Worker_TP3 pid=561103) ERROR 04-17 09:30:01 [multiproc_executor.py:822] RuntimeError: NPUModelRunner init failed: InnerRunOpApi:torch_npu/csrc/framework/"
        "OpParamMaker.cpp:276 NPU function error: call aclnnFusedInferAttentionScoreV3 failed, error code is 561002\n(Worker_TP3 pid=561103) "
        "[ERROR] 2026-04-17-09:30:01 (PID:561103, Device:3, RankID:3) ERR00100 PTA call acl api failed\n(Worker_TP3 pid=561103) [PID: 561103] 2026-04-17 "
        "EZ9999: Inner Error!",
        {"561002", "ERR00100", "E?9999"},
        "aclnnFusedInferAttentionScoreV3",
    ),
    (
        "[ERROR] RUNTIME(70991,python):2026-05-03-02:11:40.507.035 [stream.cc:1128]71403 GetError:[EXEC][DEFAULT]Stream Synchronize failed, stream_id=2, "
        "retCode=0x7150050, [model execute failed].\n[ERROR] ASCENDCL(70991,python):2026-05-03-02:11:40.507.990 [stream.cpp:139]71403 "
        "aclrtSynchronizeStreamWithTimeout: synchronize stream failed, runtime result = 507011",
        {"507011"},
        "",
    ),
    (
        "ACL stream synchronize failed, error code:507011\nfftsplus aicore error, slot_id=0, pc start: 0x12c0, current: 0x12c0\nvec error info: 0x1f, mte error info: 0x30",
        {"507011", "AI core", "vector core"},
        "",
    ),
    (
        "fault kernel_name=GatherV3_a1b2_high_performance_7, fault kernel info ext=none\nThe error from device(chipId:5, dieId:0), serial number is 9, there is "
        "an exception of aivec error, core id is 12, error code = 0x800000\nkernel task happen error, retCode=0x31, [vector core exception].",
        {"vector core", "fault kernel_name"},
        "",
    ),
    (
        "copy_between_host_and_device ok\nRuntimeError: NPU function error: call aclnnInplaceCopy failed, error code is 161002\n[Error]: AclNN_Parameter_Error(EZ1001): "
        "self tensor dim num 9 is over 8",
        {"161002", "EZ1001"},
        "aclnnInplaceCopy",
    ),
    (
        "aclnnChunkKdaFwdGetWorkspaceSize failed. ERROR: 561103\naclnnChunkKdaBwdGetWorkspaceSize skipped",
        {"561103"},
        "aclnnChunkKdaFwd",
    ),
    (
        "step 161002/561103, loss 2.31, grad_norm 0.7\nWARNING: an error occurred in rank 7: retrying, attempt 2 of 3\nprocess 507035 exited normally",
        set(),
        "",
    ),
    (
        "torch.OutOfMemoryError: NPU out of memory. NPUWorkspaceAllocator tried to allocate 561.10 MiB(NPU 0; 60.97 GiB total capacity)\n"
        "[ERROR] 2026-06-01-10:00:00 (PID:3, Device:0, RankID:0) ERR00006 PTA memory error",
        {"ERR00006"},
        "",
    ),
    (
        "HcclAllReduce return error code 507899 after aclnnRmsNorm\n[ERROR] (PID:1, Device:0, RankID:1) ERR02200 DIST call hccl api failed.",
        {"507899", "ERR02"},
        "aclnnRmsNorm",
    ),
    (
        "EZ1002: [PID: 9] The parameter dim of aclnnSoftmaxBackward is invalid\nAbort message: 'error code is 16100'",
        set(),
        "aclnnSoftmaxBackward",
    ),
    # unknown: no code of CANN, numbers of six digits that are none, another library's words
    ("Segmentation fault (core dumped)", set(), ""),
    ("shape [561103, 161002] on step 507015 took 207001 us, pid 100039", set(), ""),
    ("error code is 999999", set(), ""),
    ("CUDA error: an illegal memory access was encountered", set(), ""),
    ("loss is nan at iteration 161001", set(), ""),
    # Beside a word that a code may follow, and none all the same: what is counted, a place, a time, a part of another number.
    (
        "training failed after 161002 steps\nerror at line 161002\nread returned 161002 bytes\nfailed 161002-10-11 561103\n"
        "error rate 161002%\nloss returned 161002.5\n[ERROR] thread 561103 exited\nstatus of pid 561103: ok\n"
        "connect failed on port 507899\nfailed to allocate 561103 KiB\nerrno: 'E161002'",
        set(),
        "",
    ),
    ('{"error_code": "161002"}', {"161002"}, ""),
    # as a terminal colours it
    ("\x1b[1merror\x1b[0m code is \x1b[31;1m161002\x1b[0m", {"161002"}, ""),
    ("aclnnAdd的返回码为161002。", {"161002"}, "aclnnAdd"),
    ("model execute failed, result[507018]\nstatus 161001 instead of 0", {"507018", "161001"}, ""),
]


@in_one
@pytest.mark.parametrize("log, names, operator", LOGS)
def test_a_log_is_answered_with_what_is_known_of_it_and_with_nothing_else(log, names, operator):
    found = av.why(log)
    assert {
        one.name.split()[0] if one.name[0].isdigit() else one.name for one in found.meanings
    } == names
    assert found.operator == operator and (names or operator or found.unknown)


def call(**changed):
    tensors = (
        dict(dy="float16 [4, 16]", x="float16 [4, 16]", rstd="float32 [4, 1]", gamma="float16 [16]")
        | changed
    )
    return "call aclnnRmsNormGrad failed, error code is 161002\n" + "\n".join(
        f"{name}: {one}" for name, one in tensors.items()
    )


@pytest.mark.parametrize(
    "changed, answer",
    [
        ({}, "9.1.0: 0 phase 1 takes the call"),
        (
            {"gamma": "bfloat16 [16]"},
            "161002 aclnnRmsNormGradGetWorkspaceSize: the data types are no supported combination",
        ),
        (
            {"dy": "DT_FLOAT16 [4, 15]"},
            "561002 aclnnRmsNormGradGetWorkspaceSize: dy must have the shape of x",
        ),
        ({"x": "shape: [4, 16], dtype: torch.float16"}, "9.1.0: 0 phase 1 takes the call"),
    ],
)
def test_a_call_whose_tensors_are_named_is_repeated(changed, answer):
    found = av.why(call(**changed))
    assert answer in found.repeated and "Atlas A2" in found.repeated and "emulated" in str(found)


def test_the_product_and_version_of_the_log_count_before_those_that_are_given():
    assert (
        "Atlas inference series, CANN 8.1"
        in av.why(call() + "\nsoc Ascend310P3, CANN 8.1", soc="Ascend910B2").repeated
    )
    assert "Atlas inference series" in av.why(call(), soc="Ascend310P3").repeated


@pytest.mark.parametrize("unknown", [{"soc": "Ascend1"}, {"cann": "nosuch"}])
def test_an_unknown_product_or_version_is_refused_also_where_no_call_is_repeated(unknown):
    with pytest.raises(ValueError, match="got"):
        av.why(561103, **unknown)


def test_a_call_of_which_a_tensor_is_missing_is_not_repeated_and_the_conditions_of_the_code_are_named():
    found = av.why(call().replace("rstd", "r"))
    assert (
        found.repeated == "" and "the data types are no supported combination" in found.conditions
    )
    with in_language("zh"):
        assert not re.search(
            "[a-z]{3,} [a-z]{2,}", "".join(map(tr, found.conditions))
        ) and "\n  该错误码" in str(found)


def test_every_entry_has_both_languages_and_sources():
    assert all(one["meaning"] and one["chinese"] and one["source"] for one in _known())
    assert all(
        cause["cause"] and cause["chinese"] and "#" in cause["thread"]
        for one in _known()
        for cause in one.get("causes", ())
    )


@pytest.mark.parametrize(
    "text, error",
    [
        ("", ValueError),
        (" \n", ValueError),
        ("x" * (LONGEST + 1), ValueError),
        (True, TypeError),
        (b"1", TypeError),
    ],
)
def test_what_is_no_log_is_refused(text, error):
    with pytest.raises(error, match=": got "):
        av.why(text)


def test_what_steers_a_terminal_is_not_printed():
    assert "\x1b" not in str(av.why("\x1b[2J unknown"))


def test_the_command_takes_a_code_a_file_or_the_standard_input(tmp_path, capsys, monkeypatch):
    (tmp_path / "log").write_text(call())
    assert (
        cli.main(["why", str(tmp_path / "log")]) == 0 and "RmsNormGrad" in capsys.readouterr().out
    )
    monkeypatch.setattr("sys.stdin", io.StringIO("error code is 561103"))
    assert cli.main(["why", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["meanings"][0]["causes"]
    assert cli.main(["why", "nothing of CANN"]) == 1


@pytest.mark.parametrize(
    "tail, answer",
    [
        ("[" + "9" * 5000 + "]", ""),
        ("[2] self [2] float32 min " + "9" * 5000, "0 phase 1 takes the call"),
    ],
)
def test_a_number_that_is_too_long_for_one_is_passed_over(tail, answer):
    assert (
        answer
        in av.why(f"aclnnHardtanhBackward gradOutput float32 [2] self float32 {tail}").repeated
    )


def test_in_chinese():
    av.language("zh")
    try:
        assert "空指针" in str(av.why(561103))
    finally:
        av.language("en")

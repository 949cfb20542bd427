"""What the operators take without a word: values and statuses as on the device, and the misuse that is recorded."""

import ctypes

import numpy as np

from standin.driver import (
    ACL_FLOAT, CE, GN, GRID, HARDSWISH, RMS, Session, case, ce_arguments, dtype_code, gn_arguments, grid_arguments,
    rms_arguments,
)


@case([0, 0, 0], misuse="outputMask is null")
def null_mask_does_nothing(root):
    s = Session(root)
    arguments = grid_arguments(s, mask=None, gradOutput=None)
    status, size, executor = s.phase1(GRID, *arguments)
    return [status, size, s.aclnnGridSampler2DBackward(None, 0, executor, s.stream)]


@case(0, misuse="reduction average acts as none")
def unknown_reduction_is_none(root):
    s = Session(root)
    s.run(CE, *ce_arguments(s, reduction=b"average", gradLoss=np.ones(2, np.float32)))
    return 0


@case(0, misuse="reductionOptional changed")
def reduction_is_read_at_synchronize(root):
    s = Session(root)
    text = ctypes.create_string_buffer(b"mean")
    s.launch(CE, *ce_arguments(s, reduction=ctypes.cast(text, ctypes.c_char_p)))
    text.value = b"sum"
    return s.aclrtSynchronizeStream(s.stream)


@case(0, misuse="target\\[1\\] = 7 is not in")
def target_out_of_range(root):
    s = Session(root)
    s.run(CE, *ce_arguments(s, target=(0, 7)))
    return 0


@case(507015, misuse="target\\[1\\] = 7 is not in", STANDIN_SOC="Ascend950PR_9579", STANDIN_CANN="9.1.0")
def target_out_of_range_on_950(root):
    s = Session(root)
    s.launch(CE, *ce_arguments(s, target=(0, 7)))
    return s.aclrtSynchronizeStream(s.stream)


@case([7.0] * 6, misuse="makes the kernel write nothing")
def smoothing_writes_nothing(root):
    s = Session(root)
    arguments = ce_arguments(s, smoothing=0.1)
    address = s.put(np.full(6, 7, np.float32))
    s.run(CE, *arguments[:-1], s.view(address, (2, 3), ACL_FLOAT))
    return s.get(address, 6, np.float32).tolist()


@case([0, 0, 361001, "C / numGroups exceeds 4000"], misuse="exceeds 4000, but phase 1 succeeds")
def group_too_wide_fails_at_launch(root):
    s = Session(root)
    status, size, executor = s.phase1(GN, *gn_arguments(s, shape=(1, 4001, 1), groups=1))
    text = s.aclGetRecentErrMsg().decode().split(": ")[1]
    return [status, size, s.aclnnGroupNormSwishGrad(None, 0, executor, s.stream), text]


@case([0.0, 9.0])
def gradients_that_are_not_required(root):
    s = Session(root)
    results = []
    for dtype in (np.float32, np.float16):
        arguments = gn_arguments(s, flags=(False, True), dtype=dtype)
        address = s.put(np.full(4, 9, dtype))
        arguments[-2] = s.view(address, (4,), dtype_code(np.zeros(1, dtype)))
        s.run(GN, *arguments)
        results.append(float(s.get(address, 4, dtype)[0]))
    return results


@case([1.0, 1.0, 9.0, 9.0], misuse="strides of an output are ignored")
def strided_output_of_a_generated_operator(root):
    s = Session(root)
    arguments = rms_arguments(s, shape=(1, 2), rstd=np.ones(1, np.float32), x=np.zeros((1, 2), np.float32))
    address = s.put(np.full(4, 9, np.float32))
    s.run(RMS, *arguments[:4], s.view(address, (1, 2), ACL_FLOAT, strides=(4, 2)), arguments[5])
    return s.get(address, 4, np.float32).tolist()


@case([0.0, 3.4028234663852886e38], STANDIN_SOC="Ascend910A")
def old_products_saturate(root):
    s = Session(root)
    g = np.array([np.nan, np.inf], np.float32)
    address = s.malloc(8)
    s.run(HARDSWISH, s.tensor(g), s.tensor(np.full(2, 9, np.float32)), s.view(address, (2,), ACL_FLOAT))
    return s.get(address, 2, np.float32).tolist()

"""Calls about the process: initialisation, error text, attributes of the installation, run-time options.

Sources: "Initialization and deinitialization", "Runtime configuration", "Context management" and "Exception handling",
CANN runtime reference; `src/acl/aclrt_impl/acl.cpp` and `src/runtime/api/api_c.cc` of the CANN runtime.
"""

import json
from pathlib import Path

from aclnn_viz.acl.state import State
from aclnn_viz.operators.codes import (
    ACL_CANN_ATTR_BF16, ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_JIT_COMPILE, ACL_ERROR_INVALID_FILE,
    ACL_ERROR_INVALID_PARAM, ACL_ERROR_PARSE_FILE, ACL_ERROR_REPEAT_FINALIZE, ACL_ERROR_REPEAT_INITIALIZE,
    ACL_ERROR_RT_PARAM_INVALID, ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, ACL_OPT_DETERMINISTIC,
    ACL_OPT_ENABLE_KERNEL_EARLY_START, ACL_SUCCESS, DATA_TYPE_SIZES,
)
from aclnn_viz.operators.products import DAV_2201, DAV_3510
from aclnn_viz.storage.damage import StoredError
from aclnn_viz.storage.reading import read_file
from aclnn_viz.words.speech import message

_LONGEST_CONFIG = 1 << 20
_API_VERSION = (1, 15, 0)  # of the ACL interface, which CANN counts apart from its own version


class ProcessCalls(State):
    def aclInit(self, config_path):
        config = ""
        if config_path is not None:
            try:
                config = read_file(Path(config_path), _LONGEST_CONFIG).decode()
                json.loads(config or "{}")
            except (OSError, UnicodeDecodeError, StoredError):
                return self.failed(ACL_ERROR_INVALID_FILE, f"aclInit: cannot read {config_path}")
            except (ValueError, RecursionError):
                return self.failed(ACL_ERROR_PARSE_FILE, f"aclInit: {config_path} is not valid JSON")
        if self.initialised:
            self.initialised += 1
            return ACL_ERROR_REPEAT_INITIALIZE  # the library sets no text for it
        if self.config is not None and config != self.config:
            return self.failed(ACL_ERROR_INVALID_PARAM, "aclInit: the configuration differs from the first one")
        self.config = config
        self.initialised, self.finalised = 1, False
        return ACL_SUCCESS

    def aclFinalize(self):
        """One call undoes all calls of aclInit; before the first aclInit it succeeds."""
        if self.finalised:
            return self.failed(ACL_ERROR_REPEAT_FINALIZE, "aclFinalize: already finalised")
        if not self.initialised:
            self.record("aclFinalize", message("aclInit has not been called"))
        self._finalise("aclFinalize")
        return ACL_SUCCESS

    def aclFinalizeReference(self):
        if self.initialised < 1:
            return self.failed(ACL_ERROR_REPEAT_FINALIZE, "aclFinalizeReference: not initialised"), None
        if self.initialised == 1:
            self._finalise("aclFinalizeReference")
        else:
            self.initialised -= 1
        return ACL_SUCCESS, self.initialised

    def _finalise(self, call: str) -> None:
        self.release_device(call)
        self.release_host(call)
        self.memory.clear()
        self.initialised, self.finalised = 0, True

    def aclGetRecentErrMsg(self):
        """The text of the last failure in this thread, which the call clears; null when there is none."""
        text, self.thread.error = self.thread.error, None
        return text

    def aclDataTypeSize(self, dtype):
        return DATA_TYPE_SIZES.get(dtype, 0)

    def aclGetCannAttribute(self, attribute):
        modern = self.product.npu_arch in (DAV_2201, DAV_3510)
        values = {ACL_CANN_ATTR_INF_NAN: self.product.overflow_modes[0] == "inf_nan", ACL_CANN_ATTR_BF16: modern,
                  ACL_CANN_ATTR_JIT_COMPILE: not modern}
        if attribute not in values:
            return self.failed(ACL_ERROR_INVALID_PARAM, f"aclGetCannAttribute: no attribute {attribute}"), None
        return ACL_SUCCESS, int(values[attribute])

    def aclrtGetVersion(self):
        return ACL_SUCCESS, *_API_VERSION

    def aclnnInit(self, config_path):
        return ACL_SUCCESS

    def aclnnFinalize(self):
        return ACL_SUCCESS

    # The process and each context keep run-time options apart; which store an operator reads depends on CANN's version.

    def aclrtSetSysParamOpt(self, option, value):
        known = ACL_OPT_DETERMINISTIC <= option <= ACL_OPT_ENABLE_KERNEL_EARLY_START
        if not known or not 0 <= value < (4 if option == ACL_OPT_DETERMINISTIC else 2):
            return self.failed(ACL_ERROR_RT_PARAM_INVALID, f"aclrtSetSysParamOpt: option {option} cannot be {value}")
        self.options[option] = value
        return ACL_SUCCESS

    def aclrtGetSysParamOpt(self, option):
        if not ACL_OPT_DETERMINISTIC <= option <= ACL_OPT_ENABLE_KERNEL_EARLY_START:
            return self.failed(ACL_ERROR_RT_PARAM_INVALID, f"aclrtGetSysParamOpt: no option {option}"), None
        return ACL_SUCCESS, self.options.get(option, 0)

    def aclrtCtxSetSysParamOpt(self, option, value):
        """The value is not checked, unlike that of the process."""
        status = self.ready("aclrtCtxSetSysParamOpt")
        if status:
            return status
        if not ACL_OPT_DETERMINISTIC <= option < ACL_OPT_ENABLE_KERNEL_EARLY_START:
            return self.failed(ACL_ERROR_RT_PARAM_INVALID, f"aclrtCtxSetSysParamOpt: no option {option} in a context")
        self.context.options[option] = value
        return ACL_SUCCESS

    def aclrtCtxGetSysParamOpt(self, option):
        status = self.ready("aclrtCtxGetSysParamOpt")
        if status:
            return status, None
        if not ACL_OPT_DETERMINISTIC <= option < ACL_OPT_ENABLE_KERNEL_EARLY_START:
            text = f"aclrtCtxGetSysParamOpt: no option {option} in a context"
            return self.failed(ACL_ERROR_RT_PARAM_INVALID, text), None
        if option not in self.context.options:
            text = f"aclrtCtxGetSysParamOpt: option {option} was never set in this context"
            return self.failed(ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, text), None
        return ACL_SUCCESS, self.context.options[option]

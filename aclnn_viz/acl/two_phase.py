"""The two calls of every operator, made from its contract: phase 1 checks and prepares, phase 2 queues.

Sources: "two-phase API", CANN documentation; `src/nnopbase/composite_op/aclnn_engine/op_executor.cpp` and
`src/nnopbase/individual_op/api/individual_op_api.cpp` of nnopbase. The statuses of handles that do not exist, of
executors that have served or belong to another operator, and of unusable streams are inferred.
"""

from aclnn_viz.acl.contexts import ContextCalls
from aclnn_viz.acl.conversion import Handle
from aclnn_viz.acl.launch import Launch, call_of
from aclnn_viz.acl.meta import MetaCalls
from aclnn_viz.acl.state import HostExecutor
from aclnn_viz.operators.codes import ACLNN_ERR_INNER, ACLNN_ERR_INNER_NULLPTR, ACLNN_ERR_RUNTIME_ERROR, ACLNN_SUCCESS
from aclnn_viz.operators.contract import Contract
from aclnn_viz.words.speech import kept, message


class OperatorCalls(MetaCalls, ContextCalls):
    def prepare(self, operator: Contract, arguments: tuple) -> tuple:
        """Phase 1: check as the vendor's library does, and return (status, workspace size, executor)."""
        given = {p.name: value for p, value in zip(operator.parameters, arguments)}
        call_name = f"{operator.aclnn_name}GetWorkspaceSize"
        for value in given.values():
            if isinstance(value, Handle) and not self.check_alive(call_name, value):
                return self.failed(ACLNN_ERR_INNER_NULLPTR, f"{call_name}: {value!r} does not exist"), 0, None
        outcome = operator.evaluate(call_of(self, given))
        if outcome.message:
            self.thread.error = outcome.message
        if outcome.status:
            return outcome.status, 0, None
        return ACLNN_SUCCESS, outcome.workspace_size, HostExecutor(self, operator, given, outcome)

    def execute(self, operator: Contract, workspace, workspace_size: int, executor, stream) -> int:
        """Phase 2: queue the work. The executor is spent afterwards, also on failure, unless it is repeatable."""
        name = operator.aclnn_name
        if executor is None:
            return self._refused(operator, workspace, workspace_size, executor)
        status = self.usable_executor(name, executor)
        if status:
            return status
        executor.serve()
        if executor.contract is not operator:
            self.record(name, message("{handle} was made for {name}", handle=repr(executor),
                                      name=executor.contract.aclnn_name))
            return self.failed(ACLNN_ERR_INNER, f"{name}: {executor!r} is not usable")
        return (self._refused(operator, workspace, workspace_size, executor)
                or self._queue(executor, workspace, workspace_size, stream))

    def _refused(self, operator: Contract, workspace, workspace_size: int, executor: HostExecutor | None) -> int:
        status, message = operator.evaluate_launch(
            workspace=workspace is not None, workspace_size=workspace_size, executor=executor is not None,
            required=executor.outcome.workspace_size if executor else 0)
        return self.failed(status, message) if status else status

    def _queue(self, executor: HostExecutor, workspace, workspace_size: int, stream) -> int:
        name, outcome = executor.contract.aclnn_name, executor.outcome
        for value in executor.arguments.values():
            if isinstance(value, Handle) and not value.alive:
                self.record(name, message("{handle} was destroyed between the phases", handle=repr(value)))
        if not outcome.runs:
            self._record_idle(executor)
            return ACLNN_SUCCESS
        if self.usable_stream(name, stream):
            return ACLNN_ERR_RUNTIME_ERROR
        if outcome.launch_status:
            return self.failed(outcome.launch_status, f"{name}: the kernel could not be launched")
        launch = Launch(self, executor, workspace, workspace_size)
        self.default_stream_or(stream).queue.append(launch)
        return ACLNN_SUCCESS

    def _record_idle(self, executor: HostExecutor) -> None:
        """Record why phase 2 has nothing to do, where the caller expected results."""
        operator, call = executor.contract, call_of(self, executor.arguments)
        if any(call[p.name] is None for p in operator.parameters if p.kind == "tensor" and p.required):
            self.record(operator.aclnn_name, message("phase 1 was given null pointers, and nothing is computed"))
            return
        for constraint in operator.violations(call):
            if constraint.enforced_by == "device.run":
                self.record(operator.aclnn_name, kept(constraint.text))

"""A document in the form of the vendor's, of an operator that does not exist."""

CELLS = "<tr><td>{}</td></tr>"
DOCUMENT = """# aclnnGateBackward

[source](https://gitcode.com/cann/ops-cv/tree/master/gate)

## 产品支持情况

- <term>Ascend 950PR/Ascend 950DT</term>：支持
- <term>Atlas A2 训练系列产品/Atlas A2 推理系列产品</term>：支持
- <term>Atlas 推理系列产品</term>：支持
- <term>Atlas 训练系列产品</term>：不支持

## 函数原型

```Cpp
aclnnStatus aclnnGateBackwardGetWorkspaceSize(
  const aclTensor *gradOutput, const aclTensor *self, const aclTensor *maskOptional, int64_t mode, double lambda,
  aclTensor *gradInput, uint64_t *workspaceSize, aclOpExecutor **executor)
```

```Cpp
aclnnStatus aclnnGateBackward(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream)
```

## aclnnGateBackwardGetWorkspaceSize

<table>ROWS</table>

- <term>Atlas 推理系列产品</term>：数据类型不支持BFLOAT16。

<table><tr><td rowspan="2">ACLNN_ERR_PARAM_INVALID</td><td rowspan="2">161002</td><td>mode不在范围内。</td></tr>
<tr><td>shape不一致。</td></tr></table>

## aclnnGateBackward

```Cpp
#include "aclnnop/aclnn_gate.h"
int main() { return 0; }
```
""".replace(
    "ROWS",
    "".join(
        CELLS.format("</td><td>".join(row))
        for row in (
            (
                "gradOutput（aclTensor*）",
                "输入",
                "梯度。",
                "shape与self一致。",
                "FLOAT、FLOAT16、BFLOAT16",
                "ND",
                "1-8",
                "√",
            ),
            (
                "self（aclTensor*）",
                "输入",
                "输入。",
                "-",
                "FLOAT、FLOAT16、BFLOAT16",
                "ND",
                "1-8",
                "√",
            ),
            ("maskOptional（aclTensor*）", "可选输入", "掩码。", "-", "UINT8", "ND", "1", "√"),
            ("mode（int64_t）", "输入", "模式。", "支持0(none)|1(mean)。", "INT64", "-", "-", "-"),
            ("lambda（double）", "输入", "系数。", "-", "-", "-", "-", "-"),
            (
                "gradInput（aclTensor*）",
                "输出",
                "输出。",
                "shape与<a>self</a>一致。",
                "FLOAT、FLOAT16、BFLOAT16",
                "ND",
                "1-8",
                "√",
            ),
        )
    ),
)

"""The tables of conventions, errata and verify in a language that says what is in the Chinese catalogue, and nothing else."""

import json
import re
from dataclasses import asdict, replace

import pytest
import visible

import aclnn_viz as av
import derivations
from aclnn_viz.checking.conditions import Traits, common
from aclnn_viz.cli import table
from aclnn_viz.devices import ConstraintWarning
from aclnn_viz.devices.inventory import device_text, list_devices
from aclnn_viz.operators import registry
from aclnn_viz.verification import contract, conventions, errata, numeric
from aclnn_viz.verification.conventions import default
from aclnn_viz.verification.conventions.model import recomputed
from aclnn_viz.words import messages
from notebooks.gallery.catalogue import FILE

KNOWN = messages._catalogue("zh")
NAMES = re.compile(r"\[[a-z0-9-]+\]|PyTorch|GridSampler\.h|hard_swish_grad\.py|libopapi\w*\.so")


class Known(visible.Marked):
    """A catalogue that puts its messages in brackets and returns any other text unchanged."""

    def get(self, message, otherwise):
        return super().get(message, otherwise) if message in KNOWN else otherwise


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setattr(messages, "_translations", Known)


def chinese(monkeypatch):
    monkeypatch.setattr(messages, "_translations", lambda: KNOWN)


def unspoken(text):
    """The lines of a table that say words in no brackets, each with those that its brackets go on to; names of files and of entries are none."""
    lines = [""]
    for line in text.splitlines():
        if lines[-1].count(visible.OPEN) > lines[-1].count(visible.CLOSE):
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line)
    return [line for line in lines if visible.unspoken(NAMES.sub("", FILE.sub("", line)))]


def test_words_in_no_brackets_are_noticed_beside_brackets_that_go_on():
    said = "⟦(⟦the forward pass⟦; ⟧ops-nn\n  of the page⟧)⟧"
    assert (
        unspoken(said) == []
        and unspoken(f"{said}\nof the page") == ["of the page"]
        and unspoken(f"{said} of the page") != []
    )


def rows():
    found = conventions.recompute(["hardswish", "grid_sampler_3d"])
    found += [recomputed("hardswish", row) for row in default.conventions(av.operator("hardswish"))]
    return [*found, replace(found[0], holds=False)]


def findings():
    """Return one finding per kind of evidence, an inference, and one that does not reproduce."""
    text = [
        one
        for one in errata.errata()
        if one.id in ("hardswish-kinks", "rms-norm-sample-rstd", "hardswish-310p")
    ]
    return [*errata.recompute(text), errata.Finding(text[0], errata.Evidence(False, ()))]


@pytest.mark.parametrize(
    "module, entries", [(conventions, rows), (errata, findings)], ids=["conventions", "errata"]
)
def test_a_table_is_looked_up_and_its_json_is_not(module, entries):
    found = entries()
    shown = module.text_table(found)
    assert unspoken(shown) == [] and shown.count(visible.OPEN) > 60
    assert module is conventions or unspoken(str(found[0].erratum)) == []
    assert visible.OPEN not in json.dumps(module.to_json(found), ensure_ascii=False)


def test_topics_and_places_of_conventions_are_looked_up(monkeypatch):
    """In Chinese itself, because a message may hold another one."""
    chinese(monkeypatch)
    found = rows()
    shown = conventions.text_table(found)
    assert "折点" in shown and re.findall("kink|not finite|halfway between", shown) == []


def test_what_was_proved_is_looked_up():
    shown = derivations.evidence("hardswish", "kink_at_three", "stationary_point")
    assert unspoken(shown) == [] and shown.count(visible.OPEN) == 2 * 2 + 2 * 4


def test_a_step_is_looked_up_and_its_name_stays_english(monkeypatch):
    how = derivations.rms_norm.derive()["Adjoint of x", "Mean"]
    # the line, its title and its reason
    assert [step.shown.count(visible.OPEN) for step in how.steps] == [3, 3]
    # the catalogue has the pattern
    assert replace(how.steps[0], pattern="", about="").shown.count(visible.OPEN) == 2
    chinese(monkeypatch)
    assert how._repr_markdown_().startswith("**x的伴随量**：x既直接进入")
    monkeypatch.setattr(messages, "_translations", dict)
    *steps, letters = how._repr_markdown_().rpartition("\n\nLetters for names: ")
    assert steps[0] == "\n\n".join(
        f"**{step.title}.** {step.why}\n\n$${step.latex}$$" for step in how.steps
    )
    assert letters == r"$\rho$ = `rstd`, $\mu$ = `mean`, $\mathit{dy}$ = `dy`"


def test_the_table_of_verify_is_looked_up(monkeypatch):
    """In Chinese itself, too; its JSON is as it was."""
    chinese(monkeypatch)
    op = av.operator("hardswish")
    checks = [
        numeric.truth_check(op),
        numeric.kink_check(op),
        contract.status_check(op),
    ]
    found = [check() for check in (*checks, replace(checks[0], run=lambda: iter(())))]
    assert unspoken(table(found)) == [] and "没有遇到任何用例" in table(found)
    assert json.dumps([*map(asdict, found)], ensure_ascii=False).isascii()


def test_a_warning_of_a_rule_that_nobody_checks_is_kept_as_a_message():
    op = av.operator("rms_norm")
    with av.open_device("host") as device, pytest.warns(ConstraintWarning) as caught:
        device.run(op, **av.case(op, shape=(4,)).inputs)
    assert messages.tr(caught[0].message.args[0]) == (
        "⟦aclnnRmsNormGrad: ⟦the documents ask for two to eight axes of x; the library takes one⟧⟧"
    )


def test_a_text_that_is_not_looked_up_is_noticed():
    assert unspoken(f"{visible.OPEN}kit and\n  all{visible.CLOSE} 3\ndocument  says it") == [
        "document  says it"
    ]
    found = [replace(conventions.recompute(["hardswish"])[0], why="nobody knows why")]
    assert len(unspoken(conventions.text_table(found))) == 1


def test_an_operator_is_described_in_words_that_are_looked_up_and_names_that_are_not(monkeypatch):
    """In Chinese itself: parameters are called input and target, which are words elsewhere."""
    text = av.operator("cross_entropy_loss").describe()
    before = json.dumps([text.rows, text.products])
    chinese(monkeypatch)
    lines = str(text).splitlines()
    assert [
        line.split()[:3] for line in lines if line.startswith(("target ", "input ", "gradLoss "))
    ] == [
        ["gradLoss", "上一层的输出梯度，Tensor", "N"],
        ["target", "Tensor", "N"],
        ["input", "正向计算Tensor", "N"],
    ]
    assert (
        "形状：" in lines[-1]
        and "必填" in text._repr_html_()
        and json.dumps([text.rows, text.products]) == before
    )


def test_a_case_a_device_and_what_was_found_here_are_looked_up(monkeypatch):
    one = av.case("rms_norm", shape=(2, 3))
    with av.open_device("host") as device:
        chinese(monkeypatch)
        assert "已打开" in device._repr_html_() and "用例" in one._repr_html_()
    assert "已关闭" in device._repr_html_() and "始终可用" in device_text(
        list_devices(root="/nowhere")
    )


def test_an_optional_tensor_in_a_condition_is_looked_up_and_an_attribute_of_the_same_value_is_not(
    monkeypatch,
):
    without, given, alone = (
        Traits.of(av.case("cross_entropy_loss", shape=(3, 4), **options))
        for options in ({"weightOptional": None}, {}, {"reduction": "none"})
    )
    assert common([without], [given]) == "exactly the cases with weightOptional='none'"
    chinese(monkeypatch)
    assert "weightOptional=未给出" in messages.tr(
        common([without], [given])
    ) and "已给出" in messages.tr(common([given], [without]))
    assert "reduction='none'" in messages.tr(common([alone], [given]))


def test_what_a_peer_does_otherwise_is_looked_up_and_its_source_is_cited(monkeypatch):
    one = registry.own("peer", "hardswish", "DIFFERENCES")["torch"][0]
    assert (
        str(one)
        == f"{visible.OPEN}{visible.OPEN}{one.text}{visible.CLOSE} ({one.source}){visible.CLOSE}"
    )
    monkeypatch.setattr(messages, "_translations", dict)
    assert str(one) == f"{one.text} ({one.source})"

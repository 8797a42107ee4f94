"""The job templates of AWX that cannot upgrade a cluster are refused before a person consents."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.awx_job import AwxJobs
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.awx_server import AwxServer

from tests.sandbox.clock import Clock
from tests.sandbox.listening import Listening
from tests.unit.plugins.module_utils.fleet.schedulers import OfAwx


def test_what_awx_lacks_is_refused_before_anybody_consents() -> None:
    with Listening(Clock()) as listening:
        there = OfAwx("")
        there.url = listening.serve(there.awx).url
        there.launcher().examine()
        there.awx.templates[0].survey = ("target_version",)
        with pytest.raises(Refusal, match="does not ask for upgrade_confirm, which AWX would drop"):
            there.launcher().examine()
        there.awx.templates[0].survey = ("target_version", "upgrade_confirm")
        there.launcher().examine()
        there.awx.templates[0].hidden = ("upgrade_confirm",)
        for there.awx.templates[0].prompts in (False, True):
            with pytest.raises(Refusal, match="asks for upgrade_confirm as for a password, which AWX hides"):
                there.launcher().examine()
        there.awx.templates[0].hidden, there.awx.templates[0].survey = (), ()
        there.launcher().examine()
        there.awx.templates[0].slices = 3
        with pytest.raises(Refusal, match="has 3 slices"):
            there.launcher().examine()
        there.awx.templates[0].name = "another"
        with pytest.raises(Refusal, match="has no job template north upgrade"):
            there.launcher().examine()
        with pytest.raises(Refusal, match="answers 401"):
            AwxJobs(AwxServer(there.options(token="wrong")), "7").examine()
        there.awx.away = True
        with pytest.raises(Refusal, match="gives no answer: it answers 503"):
            there.launcher().examine()
    with pytest.raises(Refusal, match="There is no token"):
        AwxServer(there.options(token=None))
    with pytest.raises(Refusal, match="is not a plain HTTP URL"):
        AwxServer(there.options(url="awx.example.com"))

"""Parts of the plan: an image can be pulled where a pool runs, and holds the plugins of its members; on plain hosts,
where there is no image, the plugins are named."""

from __future__ import annotations

from dataclasses import replace

from ..common.task import Contract, Outcome, Task
from ..common.verdict import Verdict, combine
from ..kubernetes import client as kubernetes
from ..kubernetes.stateful_sets import get_stateful_set
from ..pools import image_pull
from .judge.demo_installer import judge_demo_installer
from .judge.plugins import PoolPlugins, judge_hosts, question_for, unknown
from .judge.upgrade_path import target_of
from .looking import unless_denied
from .observe.client import connect
from .observe.cluster import observe_installed

CONTRACT = Contract(argument_spec={**image_pull.CONTRACT.argument_spec, "target_version": {"type": "str"}})


def run(task: Task) -> Outcome:
    """Pull the image in throw-away pods which list its plugins, and remove them whatever the result is.

    The members of a pool are named after their pods, so that one question with the name of the pool reaches them all.
    """
    params = task.params
    name, image = params["pool"], params["image"]
    search = connect(params["opensearch"], params["kubernetes"])
    found = task.ask(lambda: unless_denied("plugins", lambda: observe_installed(search, f"{name}-*")))
    cluster = kubernetes.connect(params["kubernetes"])
    pool = get_stateful_set(cluster, params["namespace"], name)
    own = PoolPlugins(name, {each: found[each] for each in pool.member_names() if each in found}, pool.template)
    target = target_of(params["target_version"])
    question = question_for(own, image, target)
    proven = image_pull.prove_for_pool(task, cluster, pool, question)
    further = judge_demo_installer(own, params["container"] or "", target)
    if question is None:
        further = Verdict((unknown(image, name, "none of its members is in the cluster and says where its own are"),))
    return replace(proven, verdict=combine((proven.verdict, further)))


def run_on_hosts(task: Task) -> Outcome:
    """Name the plugins of the members, which are looked for in no image."""
    search = connect(task.params["opensearch"], task.params["kubernetes"])
    found = task.ask(lambda: unless_denied("plugins", lambda: observe_installed(search)))
    return Outcome(judge_hosts(found, target_of(task.params["target_version"])))

# The work of a developer here. All of it runs in one virtual environment, made once per machine from requirements/dev.lock,
# and the demo in a smaller one; a machine needs Python 3.11, 3.12 or 3.13, make, and on the first run a network.

PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3; do \
	"$$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null && echo "$$python" && break; done)
export CUSTOM_COMPILE_COMMAND = make lock
RUN = $(or $(PYTHON),$(error no Python 3.11, 3.12 or 3.13 found: install one, or call make with PYTHON=<path>)) -m tests.checks.environment
PYTEST = $(RUN) -m pytest
# ansible-core 2.21 needs Python 3.12; whoever has pyenv may have it without having chosen it.
NEWEST_PYTHON ?= $(shell for python in python3.13 python3.12 $(foreach version,3.13 3.12,$(wildcard $(HOME)/.pyenv/versions/$(version).*/bin/python)); do \
	"$$python" -c 'import sys; sys.exit(not (3, 12) <= sys.version_info < (3, 14))' 2>/dev/null && echo "$$python" && break; done)
RUN_NEWEST = $(or $(NEWEST_PYTHON),$(error no Python 3.12 or 3.13 found: install one, or call make with NEWEST_PYTHON=<path>)) -m tests.checks.environment
COMPILE = -m piptools compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-emit-index-url \
	--no-emit-find-links --no-emit-trusted-host --output-file
# These have to work whatever the version of ansible-core: the tests without a cluster, and one upgrade.
WHATEVER_ANSIBLE = -m pytest -n auto --dist loadfile tests/unit tests/parity \
	"tests/scenarios/test_upgrade.py::test_nothing_is_lost_and_all_is_put_back"
# The part of that which runs ansible-core: enough next to the whole suite on the version in between.
ON_ANSIBLE = -m pytest $(addprefix tests/unit/,playbooks roles plugins/action plugins/lookup plugins/plugin_utils \
	plugins/module_utils/entry/test_entry.py \
	systems/test_lamps.py::test_two_upgrades_are_part_of_one_playbook_and_leave_nothing_to_its_other_plays) tests/parity
# The longest of them, which make test runs at both ends and no third time.
AT_BOTH_ENDS = tests/parity tests/unit/playbooks tests/unit/roles
# The longest ones first, so that the last file of one process is a short one.
WITHOUT_CLUSTER = tests/parity tests/checks tests/unit tests/playbook_processes tests/demo tests/benchmarks tests/site tests/sandbox
# Two processes, each with a lab of its own, take module after module: one waits while the other computes.
TWO_AT_A_TIME = $(PYTEST) -n 2 --dist loadfile --no-loadscope-reorder
# On servers in memory a run of Ansible waits for half of its time, so that two cores carry six of them.
SIX_AT_A_TIME = $(PYTEST) -n 6 --dist loadfile --no-loadscope-reorder
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: with-waits pages molecule branches runs random-runs soak-runs site screenshots recording soak soak-scenarios soak-branches oldest newest oldest-end newest-end stock help demo benchmark benchmark-plans benchmark-run benchmark-gates benchmark-restart benchmark-longhorn benchmark-openshift benchmark-large benchmark-passes benchmark-fleet test checks format lint types limits changelog release-notes ansible-lint sanity build unit lab scenarios lock clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

demo: ## a real cluster, upgraded under traffic while you watch (ARGS="…" go to tests.demo)
	@STATEFUL_UPGRADE_LOCK=demo $(RUN) -m tests.demo $(ARGS)

benchmark: ## the same upgrade in three ways, side by side (ARGS="…" go to tests.benchmarks)
	@$(RUN) -m tests.benchmarks $(ARGS)

benchmark-plans: ## the cost of a plan for 1,000 members with 50,000 shards (ARGS="…" go to tests.benchmarks.plans)
	@$(RUN) -m tests.benchmarks.plans $(ARGS)

benchmark-restart: ## a restart of each process compared with a replacement of each pod (ARGS="…" go to tests.benchmarks.restart)
	@$(RUN) -m tests.benchmarks.restart $(ARGS)

benchmark-run: ## a whole upgrade of 300 members with 15,000 shards in memory, batch by batch (ARGS="…" go to tests.runs.big_run)
	@$(RUN) -m tests.runs.big_run $(ARGS)

benchmark-large: ## the same of 1,000 members with 50,000 shards by a real ansible-playbook (ARGS="…" go to tests.benchmarks.large)
	@$(RUN) -m tests.benchmarks.large $(ARGS)

benchmark-passes: ## a whole upgrade of an OpenShift with 500 workers in memory, pass by pass (ARGS="…" go to tests.runs.big_openshift)
	@$(RUN) -m tests.runs.big_openshift $(ARGS)

benchmark-gates: ## the cost of a look of each gate at 10, 100 and 1,000 members (ARGS="…" go to tests.benchmarks.gates)
	@$(RUN) -m tests.benchmarks.gates $(ARGS)

benchmark-longhorn: ## a plan for a Longhorn with 10,000 volumes, and calls per node (ARGS="…" go to tests.benchmarks.longhorn)
	@$(RUN) -m tests.benchmarks.longhorn $(ARGS)

benchmark-openshift: ## the cost of a plan for an OpenShift with 500 Kubernetes nodes and 10,000 pods (ARGS="…" go to tests.benchmarks.openshift)
	@$(RUN) -m tests.benchmarks.openshift $(ARGS)

benchmark-fleet: ## the cost of the controller for each of 100 clusters in memory (ARGS="…" go to tests.benchmarks.fleet)
	@$(RUN) -m tests.benchmarks.fleet $(ARGS)

test: ## everything, as continuous integration does
	@$(MAKE) --no-print-directory --jobs=3 --output-sync=line checks stock
	@$(MAKE) --no-print-directory unit WITHOUT="$(AT_BOTH_ENDS)"
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=line runs with-waits
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target oldest-end newest-end
	@$(MAKE) --no-print-directory scenarios

# The processes of Kubernetes and of ansible-playbook leave both cores idle for half of the time.
with-waits:
	@$(MAKE) --no-print-directory lab
	@$(MAKE) --no-print-directory branches

checks: sanity ansible-lint lint types limits changelog build site ## formatting, lint, types, limits, documentation, sanity

format: ## formats, and mends what ruff can mend (ARGS="…": these paths only)
	@$(RUN) -m ruff check --fix-only --quiet $(or $(ARGS),.)
	@$(RUN) -m ruff format $(or $(ARGS),.)

lint: ## ruff: formatting and lint
	@$(RUN) -m ruff format --check --quiet --output-format concise . || { echo "run: make format"; exit 1; }
	@$(RUN) -m ruff check --quiet --output-format concise .
	@echo "$@: passed"

types: ## mypy --strict
	@$(RUN) -m tests.checks.mypy_strict
	@echo "$@: passed"

limits: ## sizes, import direction, pure rooms, sentences with a subject, nothing of one machine in a file
	@$(RUN) -m tests.checks.limits
	@echo "$@: passed"

changelog: ## the changelog fragments
	@$(RUN) -m antsibull_changelog lint
	@echo "$@: passed"

release-notes: ## takes the fragments into the notes of the version in galaxy.yml, once it is to be released
	@$(RUN) -m antsibull_changelog release --update-existing --reload-plugins

build: ## the collection builds, holds what it should, and is taken by the importer of Galaxy
	@$(RUN) -m tests.checks.build
	@echo "$@: passed"

ansible-lint: ## ansible-lint, production profile
	@$(RUN) -m tests.checks.ansible_lint $(ARGS)
	@echo "$@: passed"

sanity: ## ansible-test sanity
	@$(RUN) -m tests.checks.sanity $(ARGS)

site: ## the documentation site, into build/site; every link on it is followed (ARGS="…": another folder)
	@STATEFUL_UPGRADE_LOCK=site $(RUN) -m tests.site $(ARGS)

screenshots: ## pictures of the report of a real upgrade, into docs/pictures; needs Chromium (ARGS="<page>": of that page)
	@$(RUN) -m tests.site.screenshots $(ARGS)

recording: ## the demo as a picture that plays by itself, into docs/pictures/demo.svg
	@STATEFUL_UPGRADE_LOCK=recording $(RUN) -m tests.demo.recording

pages: ## the pages of docs that are made by code
	@$(RUN) -m tests.pages

stock: ## the parts of the lab that are made once per machine: a control plane, the servers, their class archives, OpenShift's version operator, definitions, kubeadm and a small Debian
	@$(RUN) -m tests.lab.stock
	@STATEFUL_UPGRADE_LOCK=demo $(RUN) -c pass
	@STATEFUL_UPGRADE_LOCK=oldest $(RUN) -c pass
ifneq ($(NEWEST_PYTHON),)
	@STATEFUL_UPGRADE_LOCK=newest $(RUN_NEWEST) -c pass
endif

unit: ## the tests that need no cluster
	@$(PYTEST) -n 4 --dist loadfile --no-loadscope-reorder $(filter-out $(WITHOUT),$(WITHOUT_CLUSTER)) $(addprefix --ignore=,$(WITHOUT)) $(ARGS)

runs: ## whole runs in one process, and the branches and faults of an upgrade, on servers in memory and a virtual clock
	@$(PYTEST) -p tests.runs.prepared -n 2 tests/runs tests/scenarios/branches -m "not soak and not own_process" $(ARGS)

branches: ## the branches, faults and kills that need the real ansible-playbook, on servers in memory
	@$(SIX_AT_A_TIME) tests/scenarios/branches -m "not soak and own_process" $(ARGS)

lab: ## the tests of the lab itself
	@$(TWO_AT_A_TIME) tests/lab $(ARGS)

scenarios: ## upgrades of real clusters
	@$(TWO_AT_A_TIME) tests/scenarios --ignore=tests/scenarios/branches -m "not soak" $(ARGS)

molecule: ## the scenarios of extensions/molecule on real members (ARGS="…" go to molecule)
	@$(RUN) -m tests.molecule $(ARGS)

soak: soak-runs soak-branches soak-scenarios ## all that CI has no time for; takes about two hours, with nothing next to it

soak-scenarios: ## every way of a real upgrade, and all scenarios of molecule
	@$(TWO_AT_A_TIME) -vv tests/scenarios --ignore=tests/scenarios/branches -m soak $(ARGS)

random-runs: ## random upgrades by seed, each watched at every change (ARGS="--system longhorn --first 0 --count 2000"; --seed <number>: one, shown in full)
	@$(RUN) -m tests.runs.random_runs $(ARGS)

soak-runs: ## in memory: a run that is killed behind each of its acts, and the branches that CI has no time for
	@$(PYTEST) -p tests.runs.prepared -n 2 -vv tests/runs tests/scenarios/branches -m "soak and not own_process and not real_servers" $(ARGS)
	@$(SIX_AT_A_TIME) -vv tests/scenarios/branches -m "soak and own_process and not real_servers" $(ARGS)

soak-branches: ## branches in which servers restart or pods change, once more on real servers, with 20 random kills (KILLS=<number>)
	@STATEFUL_UPGRADE_PLATFORM=lab STATEFUL_UPGRADE_RANDOM_KILLS=$(or $(KILLS),20) $(TWO_AT_A_TIME) -vv tests/scenarios/branches -m real_servers $(ARGS)

oldest: ## the tests without a cluster, and one upgrade, on ansible-core 2.16
	@STATEFUL_UPGRADE_LOCK=oldest $(RUN) $(WHATEVER_ANSIBLE) $(ARGS)

newest: ## the same on ansible-core 2.21
ifeq ($(NEWEST_PYTHON),)
	@echo "$@: left out, for it needs Python 3.12 or 3.13 (NEWEST_PYTHON=<path>)"
else
	@STATEFUL_UPGRADE_LOCK=newest $(RUN_NEWEST) $(WHATEVER_ANSIBLE) $(ARGS)
endif

oldest-end: ## the tests that run Ansible, on ansible-core 2.16
	@STATEFUL_UPGRADE_LOCK=oldest $(RUN) $(ON_ANSIBLE) $(ARGS)

newest-end: ## the same on ansible-core 2.21
ifeq ($(NEWEST_PYTHON),)
	@echo "$@: left out, for it needs Python 3.12 or 3.13 (NEWEST_PYTHON=<path>)"
else
	@STATEFUL_UPGRADE_LOCK=newest $(RUN_NEWEST) $(ON_ANSIBLE) $(ARGS)
endif

lock: ## remakes the locks of requirements/ (dev and oldest need Python 3.11)
	@$(RUN) $(COMPILE) requirements/dev.lock $(ARGS) meta/ee-requirements.txt requirements/dev.in
	@$(RUN) $(COMPILE) requirements/demo.lock $(ARGS) meta/ee-requirements.txt requirements/demo.in
	@STATEFUL_UPGRADE_LOCK=oldest $(RUN) $(COMPILE) requirements/oldest.lock $(ARGS) meta/ee-requirements.txt requirements/oldest.in
	@STATEFUL_UPGRADE_LOCK=newest $(RUN_NEWEST) $(COMPILE) requirements/newest.lock $(ARGS) meta/ee-requirements.txt requirements/newest.in
	@$(RUN) $(COMPILE) requirements/site.lock $(ARGS) meta/ee-requirements.txt requirements/site.in
	@$(RUN) $(COMPILE) requirements/recording.lock $(ARGS) requirements/recording.in

clean: ## removes what tools left in the checkout
	@rm -rf .ansible .hypothesis .mypy_cache .pytest_cache .ruff_cache build tests/output stateful-upgrade-*.tar.gz
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

"""What rounds need of nodes and of those who hold something, kept from one round to the next.

Pure memory: whatever it says follows from the snapshot at hand, and a round without it decides the
same. It compares the snapshot with the one before, object by object, and does again only what has
changed. It serves one round at a time; the fold keeps one for each pool.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from muster.domain.nodes import NodeState
from muster.scheduler.core.amounts import of_foreign, of_shape
from muster.scheduler.core.board import Board, claimed_by
from muster.scheduler.core.book import Book
from muster.scheduler.core.doors import is_there
from muster.scheduler.core.holders import Holders
from muster.scheduler.core.jobs import JobKey, Listed
from muster.scheduler.core.market import Fleet, counted, fleet_of, market
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.scoring import Market, Taste, taste
from muster.scheduler.core.selections import Selections
from muster.scheduler.core.snapshot import Snapshot, is_hold
from muster.scheduler.core.upkeep import awaited_by, is_troubled


class Memory:
    """See the module. every: the nodes by name; nodes: those that are there, in order of names.

    board: the claims of those who hold something; a round decides on a fork of it.
    """

    def __init__(self) -> None:
        self._policy: Policy | None = None
        self._touched: list[str] = []
        self._borrowed: list[str] = []

    def recall(self, snapshot: Snapshot, policy: Policy) -> None:
        """Make everything what this snapshot says."""
        if policy != self._policy:
            self._begin(policy)
        self._touched = []
        self._recall_nodes(snapshot.nodes)
        self._recall_holders(snapshot.book.holding)
        self.selections.touch(self._touched)
        self.selections.touch(self._borrowed)
        self._borrowed = []
        self.selections.tidy()
        self._recall_taste(snapshot.book, policy.placement_in(snapshot.pool))

    def _begin(self, policy: Policy) -> None:
        self._policy = policy
        self._seen: tuple[NodeState, ...] = ()
        self._held: Mapping[JobKey, Listed] = {}
        self.every: Mapping[str, NodeState] = {}
        self.nodes: dict[str, NodeState] = {}
        self.board = Board({})
        self.holders = Holders(policy)
        self.selections = Selections(self.nodes)
        self._borrowed = []
        self._fleet: Fleet = fleet_of(())
        self._taste: Taste | None = None
        self.market = Market()
        self.troubled: list[str] = []

    def touch(self, nodes: Iterable[str]) -> None:
        """Note that a round has changed its own board there."""
        names = tuple(nodes)
        self.selections.touch(names)
        self._borrowed += names

    @property
    def taste(self) -> Taste:
        """Return how this pool chooses nodes."""
        assert self._taste is not None
        return self._taste

    # --- nodes ---------------------------------------------------------------------------------

    def _recall_nodes(self, nodes: tuple[NodeState, ...]) -> None:
        if nodes is self._seen:
            return
        before, self._seen = self.every, nodes
        self.every = {node.node: node for node in nodes}
        changed = [n for n, node in self.every.items() if before.get(n) is not node]
        changed += [name for name in before if name not in self.every]
        if not changed:
            return
        self.nodes = {n: self.every[n] for n in sorted(self.every) if is_there(self.every[n])}
        self._refit(changed)
        self.selections.change(self.nodes, changed)
        self._fleet = fleet_of(
            (node.shape.gpu_model, self.board.capacity(name)) for name, node in self.nodes.items()
        )
        self.troubled = [name for name, node in self.every.items() if is_troubled(node)]

    def _refit(self, changed: list[str]) -> None:
        there = [self.nodes[name] for name in changed if name in self.nodes]
        gone = [name for name in changed if name not in self.nodes]
        self.board.refit(
            {node.node: of_shape(node.shape) for node in there},
            {node.node: of_foreign(node.foreign) for node in there if node.foreign},
            gone,
        )
        for key in dict.fromkeys(self.holders.on(changed)):
            self._claim(self.holders.all[key])

    # --- holders -------------------------------------------------------------------------------

    def _recall_holders(self, holding: Mapping[JobKey, Listed]) -> None:
        if holding is self._held:
            return
        self._held, before = holding, self.holders.all
        changed = [key for key, job in holding.items() if before.get(key) is not job]
        gone = before.keys() - holding.keys()
        dependent = dict[JobKey, None]()
        for key in (*gone, *changed):
            if self.holders.leave(key) is not None:
                self._touched += self.board.nodes_of(key)
                self.board.drop(key)
        for key in changed:
            self.holders.enter(holding[key])
        for key in changed:
            self._claim(holding[key])
            self._touched += self.board.nodes_of(key)
        for key in (*gone, *changed):
            dependent.update(dict.fromkeys(self.holders.waiting_for(key)))
        for key in dependent:
            self._claim(self.holders.all[key])
            self._touched += self.board.nodes_of(key)

    def _claim(self, job: Listed) -> None:
        self.board.claim(job.key, claimed_by(job.state), self.waits(job))

    def waits(self, job: Listed) -> frozenset[JobKey]:
        """Return the victims that must be gone before the processes of a placed job come."""
        if not is_hold(job.state):
            return frozenset()
        return frozenset(one.key for one in awaited_by(job.state, self.holders.all))

    # --- taste ---------------------------------------------------------------------------------

    def _recall_taste(self, book: Book, placement: str) -> None:
        workers = dict(self.holders.workers)
        for asked, count in counted(book.heads()).items():
            workers[asked] = workers.get(asked, 0) + count
        self.market = market(self._fleet, workers)
        found = taste(placement, self.market)
        if found is not self._taste:
            self._taste = found
            self.selections.forget_scores()

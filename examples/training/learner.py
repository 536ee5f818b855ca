"""What is learnt: two interleaved spirals, told apart by a small network trained with Adam.

Everything here is a pure function over arrays, and everything random comes from the seed, so the
same state and the same data give the same next state on every machine. It must not know about
sockets, files or signals; `train.py` calls it.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Indices = NDArray[np.int64]

SAMPLES = 2048
BATCH = 256
TURNS = 1.25
NOISE = 0.015
LAYERS = (2, 32, 32, 1)
SHAPES = tuple(pairwise(LAYERS))
PARAMETERS = sum((inputs + 1) * outputs for inputs, outputs in SHAPES)

BASE_RATE = 0.01
HALF_RATE_AT = 400  # the step at which the learning rate has fallen to half of the base rate
MEAN_DECAY = 0.9
VARIANCE_DECAY = 0.99
TINY = 1e-8

DATA_STREAM, WEIGHT_STREAM, ORDER_STREAM = range(3)  # independent random streams of one seed


@dataclass(frozen=True, slots=True)
class Samples:
    """The whole data set: points of shape (SAMPLES, 2), and labels 0 or 1 of shape (SAMPLES,)."""

    points: Vector
    labels: Vector


@dataclass(frozen=True, slots=True)
class State:
    """All that the next step depends on; a checkpoint is exactly this."""

    seed: int
    step: int
    epoch: int
    offset: int  # samples of this epoch that have been used
    parameters: Vector
    mean: Vector  # Adam's running mean of the gradient
    variance: Vector  # Adam's running mean of the squared gradient


@dataclass(frozen=True, slots=True)
class Measured:
    """Sums over some samples; adding two of them gives the sums over both sets."""

    gradient: Vector
    loss: float
    correct: float
    count: float

    @property
    def mean_loss(self) -> float:
        return self.loss / self.count

    @property
    def accuracy(self) -> float:
        return self.correct / self.count


def spirals(seed: int) -> Samples:
    """Half of the samples on each of two spirals that wind around each other."""
    random = np.random.default_rng((seed, DATA_STREAM))
    labels = np.arange(SAMPLES, dtype=np.float64) % 2
    along = np.sqrt(random.uniform(0.02, 1.0, SAMPLES))
    angle = 2 * np.pi * TURNS * along + np.pi * labels
    points = np.stack([along * np.cos(angle), along * np.sin(angle)], axis=1)
    return Samples(points + random.normal(0.0, NOISE, points.shape), labels)


def initial(seed: int) -> State:
    """The state before the first step."""
    random = np.random.default_rng((seed, WEIGHT_STREAM))
    layers = []
    for inputs, outputs in SHAPES:
        layers.append(random.normal(0.0, inputs**-0.5, inputs * outputs))
        layers.append(np.zeros(outputs))
    nothing = np.zeros(PARAMETERS)
    return State(seed, 0, 0, 0, np.concatenate(layers), nothing, nothing)


def share(state: State, rank: int, world_size: int) -> Indices:
    """The samples of the next batch that this rank computes.

    The batch depends on the state alone and the ranks divide it, so the number of workers may
    change between two attempts without changing what is learnt.
    """
    order = np.random.default_rng((state.seed, ORDER_STREAM, state.epoch)).permutation(SAMPLES)
    return order[state.offset : state.offset + BATCH][rank::world_size]


def measure(parameters: Vector, samples: Samples, chosen: Indices) -> Measured:
    """Loss and gradient, summed over the chosen samples (back-propagation by hand)."""
    labels = samples.labels[chosen, None]
    values = [samples.points[chosen]]
    layers = _layers(parameters)
    for weights, biases in layers[:-1]:
        values.append(np.tanh(values[-1] @ weights + biases))
    logits = values[-1] @ layers[-1][0] + layers[-1][1]
    loss = float(np.sum(np.logaddexp(0.0, logits) - labels * logits))
    correct = float(np.sum((logits > 0) == (labels > 0.5)))

    error = 1.0 / (1.0 + np.exp(-logits)) - labels
    pieces: list[Vector] = []
    for (weights, _), value in zip(reversed(layers), reversed(values), strict=True):
        pieces = [(value.T @ error).ravel(), error.sum(axis=0), *pieces]
        error = (error @ weights.T) * (1.0 - value**2)  # of no use, and not used, for the input
    return Measured(np.concatenate(pieces), loss, correct, float(len(chosen)))


def rate(step: int) -> float:
    """The learning rate of a step. It ignores the run's length: a longer run starts the same."""
    return BASE_RATE / (1.0 + step / HALF_RATE_AT)


def advance(state: State, measured: Measured) -> State:
    """One step of Adam with the mean gradient over the whole batch."""
    step = state.step + 1
    gradient = measured.gradient / measured.count
    mean = MEAN_DECAY * state.mean + (1 - MEAN_DECAY) * gradient
    variance = VARIANCE_DECAY * state.variance + (1 - VARIANCE_DECAY) * gradient**2
    unbiased_mean = mean / (1 - MEAN_DECAY**step)
    unbiased_variance = variance / (1 - VARIANCE_DECAY**step)
    change = rate(step) * unbiased_mean / (np.sqrt(unbiased_variance) + TINY)
    used = state.offset + BATCH
    epoch, offset = (state.epoch + 1, 0) if used >= SAMPLES else (state.epoch, used)
    return State(state.seed, step, epoch, offset, state.parameters - change, mean, variance)


def pack(measured: Measured) -> bytes:
    """A `Measured` as bytes, for the way to another process."""
    sums = (measured.loss, measured.correct, measured.count)
    return np.concatenate([measured.gradient, sums]).tobytes()


def unpack(payload: bytes) -> Measured:
    """The reverse of `pack`."""
    values = np.frombuffer(payload, dtype=np.float64)
    loss, correct, count = (float(value) for value in values[PARAMETERS:])
    return Measured(values[:PARAMETERS], loss, correct, count)


def add(payloads: list[bytes]) -> bytes:
    """The sum of packed `Measured`, added in the given order: float addition is not associative."""
    total = np.zeros(PARAMETERS + 3)
    for payload in payloads:
        total += np.frombuffer(payload, dtype=np.float64)
    return total.tobytes()


def to_arrays(state: State) -> dict[str, NDArray[Any]]:
    """The state as named arrays, for a checkpoint."""
    return {name: np.asarray(getattr(state, name)) for name in State.__slots__}


def from_arrays(arrays: dict[str, NDArray[Any]]) -> State:
    """The reverse of `to_arrays`; ValueError when the arrays are not a state of this network."""
    if set(arrays) != set(State.__slots__):
        raise ValueError(f"holds {sorted(arrays)}, expected {sorted(State.__slots__)}")
    parameters, mean, variance = (arrays[name] for name in ("parameters", "mean", "variance"))
    if not parameters.shape == mean.shape == variance.shape == (PARAMETERS,):
        raise ValueError(f"is of another network: expected {PARAMETERS} parameters")
    seed, step, epoch, offset = (int(arrays[name]) for name in ("seed", "step", "epoch", "offset"))
    return State(seed, step, epoch, offset, parameters, mean, variance)


def _layers(parameters: Vector) -> list[tuple[Vector, Vector]]:
    layers = []
    start = 0
    for inputs, outputs in SHAPES:
        middle, end = start + inputs * outputs, start + (inputs + 1) * outputs
        layers.append((parameters[start:middle].reshape(inputs, outputs), parameters[middle:end]))
        start = end
    return layers

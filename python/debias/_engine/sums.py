"""Sums over pairs of rows of one batch by the tile engine: float32 on the CPU, without a matrix of pairs, differentiable once.

`sums` takes rows [n, D], an integer for each row, its group, and a Plan of what is requested; it returns [sums, n]. Equal keys of row a are the
other rows of its group, unequal ones the rows of other groups, others all rows but a.
"""

import ctypes
from typing import List, NamedTuple, Optional, Tuple

import torch

from . import call, refuse_batches

SETS = ("others", "unequal", "equal")  # as the engine numbers them
LEAST_BUDGET = 4 << 20  # two tiles of each thread and the parts of a block of rows


class Plan(NamedTuple):
    """Log sums first, then ranked ones, sums over equal keys, and sums of log(e^-ε + e^{c + sign s})."""

    temperature: float
    bfloat16: bool  # products of rows rounded to bfloat16
    memory_budget: int
    log_sums: Tuple[Tuple[int, float], ...] = ()  # set, multiplier
    ranked: Tuple[Tuple[float, bool], ...] = ()  # multiplier, whether no gradient goes through it
    equal_sums: int = 0  # 1 where they are requested
    log_adds: Tuple[Tuple[int, float, float], ...] = ()  # set, sign, ε


class _Rows(ctypes.Structure):
    _fields_ = [("z", ctypes.c_void_p), ("n", ctypes.c_int64), ("dim", ctypes.c_int64), ("first", ctypes.c_void_p), ("last", ctypes.c_void_p),
                ("place", ctypes.c_void_p), ("scale", ctypes.c_double), ("norm2", ctypes.c_float), ("bfloat16", ctypes.c_int32)]


class _Requests(ctypes.Structure):
    _fields_ = [("sets", ctypes.c_void_p), ("multipliers", ctypes.c_void_p), ("count", ctypes.c_int64)]


class _Ranked(ctypes.Structure):
    _fields_ = [("log_weights", ctypes.c_void_p), ("ranks", ctypes.c_int64), ("multipliers", ctypes.c_void_p), ("constant", ctypes.c_void_p),
                ("count", ctypes.c_int64)]


class _LogAdd(ctypes.Structure):
    _fields_ = [("set", ctypes.c_int64), ("sign", ctypes.c_double), ("epsilon", ctypes.c_double)]


class State(NamedTuple):
    """What a backward pass reads. Tensors without elements stand for what there is none of."""

    z: torch.Tensor  # [n, D], in the order of the groups
    places: torch.Tensor  # int64 [2, n]: the row of each place of z, the place of each row
    ends: torch.Tensor  # int32 [2, n]: where the group of each place begins and ends
    numbers: torch.Tensor  # float64 [2]: the largest squared norm, the form of the tiles
    log_sums: torch.Tensor  # float64, in the order of the groups
    tiles: torch.Tensor  # uint8
    shares: torch.Tensor  # float32, of the ranked sums
    slopes: torch.Tensor  # [log_adds, n]


def _empty(*shape, dtype=torch.float32):
    """On the CPU, whatever the defaults of the program are."""
    return torch.empty(*shape, dtype=dtype, device="cpu")


def _pointer(tensor, row):
    return tensor.data_ptr() + row * tensor.stride(0) * tensor.element_size()


def _rows(state, plan):
    n, dim = state.z.shape
    return ctypes.byref(_Rows(state.z.data_ptr(), n, dim, _pointer(state.ends, 0), _pointer(state.ends, 1), _pointer(state.places, 1),
                              1 / plan.temperature, state.numbers[0].item(), plan.bfloat16))


def _sorted(rows, group):
    """z, places, ends and the largest squared norm."""
    n, dim = rows.shape
    places, ends, z = _empty(2, n, dtype=torch.int64), _empty(2, n, dtype=torch.int32), _empty(n, dim)
    norm2, pointer = ctypes.c_float(), ctypes.c_void_p
    call("sort_by_group", group.contiguous(), n, places, pointer(_pointer(places, 1)), ends, pointer(_pointer(ends, 1)))
    call("gather", rows.contiguous(), places, n, dim, z, ctypes.byref(norm2))
    return z, places, ends, norm2.value


def _requests(plan):
    count = len(plan.log_sums)
    sets = (ctypes.c_int64 * count)(*(which for which, _ in plan.log_sums))
    multipliers = (ctypes.c_double * count)(*(multiplier for _, multiplier in plan.log_sums))
    return _Requests(ctypes.addressof(sets), ctypes.addressof(multipliers), count), (sets, multipliers)


def _ranked(plan, log_weights):
    count = len(plan.ranked)
    multipliers = (ctypes.c_double * count)(*(multiplier for multiplier, _ in plan.ranked))
    constant = (ctypes.c_int64 * count)(*(constant for _, constant in plan.ranked))
    return _Ranked(log_weights.data_ptr(), log_weights.shape[1], ctypes.addressof(multipliers), ctypes.addressof(constant), count), \
        (multipliers, constant)


def _tiles(rows, requests, budget):
    """The form of the tiles that log sums keep, and room for them if they fit the budget."""
    form, size = ctypes.c_int64(), ctypes.c_int64()
    call("log_sums_kept", rows, ctypes.byref(requests), ctypes.byref(form), ctypes.byref(size))
    return form.value, _empty(size.value if size.value <= budget else 0, dtype=torch.uint8)


def _shares(plan, n, budget):
    """Room for what ranked sums keep of the requests that a gradient goes through, if it fits the budget."""
    columns = ctypes.c_int64()
    call("kept_columns", n, ctypes.byref(columns))
    count = n * columns.value * sum(not constant and multiplier != 0 for multiplier, constant in plan.ranked)
    return _empty(count if 4 * count <= budget else 0)


def _or_null(tensor):
    return tensor if tensor.numel() else None


def _forward(rows, group, plan, log_weights, c, keep):
    """The sums [sums, n] and the state."""
    z, places, ends, norm2 = _sorted(rows, group)
    n, budget, begin = rows.shape[0], plan.memory_budget if keep else -1, 0
    state = State(z, places, ends, torch.tensor([norm2, 0.0], dtype=torch.float64, device="cpu"), _empty(len(plan.log_sums), n, dtype=torch.float64),
                  _empty(0, dtype=torch.uint8), _empty(0), _empty(len(plan.log_adds), n))
    of_rows = _rows(state, plan)
    out = _empty(len(plan.log_sums) + len(plan.ranked) + plan.equal_sums + len(plan.log_adds), n)
    if plan.log_sums:
        requests, _held = _requests(plan)
        form, tiles = _tiles(of_rows, requests, budget)
        call("log_sums_forward", of_rows, ctypes.byref(requests), form, _or_null(tiles), state.log_sums, out)
        state.numbers[1] = form
        state, begin = state._replace(tiles=tiles), len(plan.log_sums)
    if plan.ranked:
        requests, _held = _ranked(plan, log_weights)
        state = state._replace(shares=_shares(plan, n, budget))
        call("ranked_log_sums_forward", of_rows, ctypes.byref(requests), _or_null(state.shares), out[begin:])
        begin += len(plan.ranked)
    if plan.equal_sums:
        call("equal_sums_forward", of_rows, out[begin:])
        begin += 1
    for place, term in enumerate(plan.log_adds):
        call("log_add_sums_forward", of_rows, ctypes.byref(_LogAdd(*term)), c, state.slopes[place], out[begin + place])
    return out, state


def _backward(plan, log_weights, c, state, gradient):
    """The gradients of rows and of c."""
    gradient, dz, of_rows, begin, of_c = gradient.contiguous(), torch.zeros_like(state.z), _rows(state, plan), 0, None
    if plan.log_sums:
        requests, _held = _requests(plan)
        call("log_sums_backward", of_rows, ctypes.byref(requests), int(state.numbers[1]), _or_null(state.tiles), state.log_sums, gradient, dz)
        begin = len(plan.log_sums)
    if plan.ranked:
        requests, _held = _ranked(plan, log_weights)
        call("ranked_log_sums_backward", of_rows, ctypes.byref(requests), _or_null(state.shares), gradient[begin:], dz)
        begin += len(plan.ranked)
    if plan.equal_sums:
        call("equal_sums_backward", of_rows, gradient[begin:], dz)
        begin += 1
    for own, term, slopes in zip(gradient[begin:], plan.log_adds, state.slopes):
        call("log_add_sums_backward", of_rows, ctypes.byref(_LogAdd(*term)), c, own, dz)
        of_c = own * slopes if of_c is None else of_c + own * slopes
    found = torch.empty_like(dz)
    call("scatter", dz, state.places, *dz.shape, found)
    return found, of_c


def refuse_second_derivative(gradient):
    refuse_batches("fused", gradient)
    if torch.is_grad_enabled():
        raise ValueError("pair sums: the fused backend has no second derivative; compute it with engine dense or blocked")


class _Sums(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows, group, plan, log_weights, c):
        out, state = _forward(rows, group, plan, log_weights, c, ctx.needs_input_grad[0])
        if any(ctx.needs_input_grad):
            ctx.plan = plan
            ctx.save_for_backward(log_weights, c, *state)
        return out

    @staticmethod
    def backward(ctx, gradient):
        refuse_second_derivative(gradient)
        log_weights, c, *state = ctx.saved_tensors
        of_rows, of_c = _backward(ctx.plan, log_weights, c, State(*state), gradient)
        return of_rows, None, None, None, of_c


def sums(rows, group, plan, log_weights=None, c=None):
    """The sums [sums, n] of the plan. log_weights float64 [ranked, N]: of ranks 1..N; c [n]: of the sums of logs."""
    if plan.memory_budget < LEAST_BUDGET:
        raise ValueError(f"fused backend: a memory budget of {plan.memory_budget} bytes cannot hold its tiles; give at least "
                         f"{LEAST_BUDGET >> 20} MB")
    c = c if c is None else c.contiguous()
    function = _TracedSums if torch.compiler.is_compiling() else _Sums
    return function.apply(rows, group, plan, log_weights, c)


# For torch.compile, which traces none of the above: two operators that keep no tiles, so that all shapes are known beforehand.


@torch.library.custom_op("debias::pair_sums", mutates_args=())
def _pair_sums(rows: torch.Tensor, group: torch.Tensor, log_weights: Optional[torch.Tensor], c: Optional[torch.Tensor], temperature: float,
               bfloat16: bool, memory_budget: int, sets: List[int], multipliers: List[float], ranked: List[float], constant: List[bool],
               equal_sums: int, add_sets: List[int], signs: List[float], epsilons: List[float]) -> List[torch.Tensor]:
    plan = _plan(temperature, bfloat16, memory_budget, sets, multipliers, ranked, constant, equal_sums, add_sets, signs, epsilons)
    out, state = _forward(rows.detach(), group, plan, log_weights, c, False)
    return [out, *state]


@torch.library.custom_op("debias::pair_sums_gradient", mutates_args=())
def _pair_sums_gradient(state: List[torch.Tensor], gradient: torch.Tensor, log_weights: Optional[torch.Tensor], c: Optional[torch.Tensor],
                        temperature: float, bfloat16: bool, memory_budget: int, sets: List[int], multipliers: List[float],
                        ranked: List[float], constant: List[bool], equal_sums: int, add_sets: List[int], signs: List[float],
                        epsilons: List[float]) -> List[torch.Tensor]:
    plan = _plan(temperature, bfloat16, memory_budget, sets, multipliers, ranked, constant, equal_sums, add_sets, signs, epsilons)
    of_rows, of_c = _backward(plan, log_weights, c, State(*state), gradient)
    return [of_rows, _empty(0) if of_c is None else of_c]


@_pair_sums.register_fake
def _(rows, group, log_weights, c, temperature, bfloat16, memory_budget, sets, multipliers, ranked, constant, equal_sums, add_sets, signs,
      epsilons):
    n, dim = rows.shape
    like = lambda *shape, dtype=torch.float32: rows.new_empty(shape, dtype=dtype)
    return [like(len(sets) + len(ranked) + equal_sums + len(add_sets), n), like(n, dim), like(2, n, dtype=torch.int64),
            like(2, n, dtype=torch.int32), like(2, dtype=torch.float64), like(len(sets), n, dtype=torch.float64), like(0, dtype=torch.uint8),
            like(0), like(len(add_sets), n)]


@_pair_sums_gradient.register_fake
def _(state, gradient, log_weights, c, temperature, bfloat16, memory_budget, sets, multipliers, ranked, constant, equal_sums, add_sets, signs,
      epsilons):
    return [torch.empty_like(state[0]), torch.empty_like(c) if add_sets else state[0].new_empty(0)]


def _plan(temperature, bfloat16, memory_budget, sets, multipliers, ranked, constant, equal_sums, add_sets, signs, epsilons):
    return Plan(temperature, bfloat16, memory_budget, tuple(zip(sets, multipliers)), tuple(zip(ranked, constant)), equal_sums,
                tuple(zip(add_sets, signs, epsilons)))


def _lists(plan):
    columns = lambda rows, count: [list(column) for column in zip(*rows)] or [[]] * count
    return (plan.temperature, plan.bfloat16, plan.memory_budget, *columns(plan.log_sums, 2), *columns(plan.ranked, 2), plan.equal_sums,
            *columns(plan.log_adds, 3))


class _TracedSums(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows, group, plan, log_weights, c):
        out, *state = torch.ops.debias.pair_sums(rows.contiguous(), group, log_weights, c, *_lists(plan))
        ctx.plan = plan
        ctx.save_for_backward(log_weights, c, *state)
        return out

    @staticmethod
    def backward(ctx, gradient):
        log_weights, c, *state = ctx.saved_tensors
        of_rows, of_c = torch.ops.debias.pair_sums_gradient(state, gradient.contiguous(), log_weights, c, *_lists(ctx.plan))
        return of_rows, None, None, None, of_c if ctx.needs_input_grad[4] else None

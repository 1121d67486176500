"""Where matrices live: the host, or a device of torch, CuPy or another array API namespace."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from traceback import clear_frames
from typing import Any

import numpy as np
from sklearn._config import get_config
from sklearn.externals import array_api_compat as compat

from .arrays import Array, device, is_numpy, namespace, to_host

#: Libraries with CUDA devices, the one that is preferred first.
_CUDA_LIBRARIES = ("torch", "cupy")


@dataclass(frozen=True)
class Place:
    """Where the matrices of a model live: the name of an array library and of one of its devices.

    Names, and not modules or devices: a place can be pickled, and compared.
    """

    library: str = "numpy"
    device: str = "cpu"

    @classmethod
    def of(cls, x: Array) -> Place:
        """The place of an array."""
        if is_numpy(x):
            return HOST
        if compat.is_torch_array(x):
            return cls("torch", str(x.device))
        if compat.is_cupy_array(x):
            return cls("cupy", f"cuda:{x.device.id}")
        return cls(namespace(x).__name__, _strict_name(device(x)))

    @property
    def on_host(self) -> bool:
        return self.library == "numpy"

    def send(self, x: np.ndarray) -> Array:
        """A copy of an array of the host, in this place and with its dtype."""
        if self.on_host:
            return x
        x = np.array(x, order="C")  # torch would share the memory, and warns where that is read-only
        xp = import_module(self.library)
        if self.library == "torch":
            return xp.from_numpy(x).to(self.device)
        if self.library == "cupy":
            with xp.cuda.Device(_number(self.device)):
                return xp.asarray(x)
        return xp.asarray(x, device=xp.Device(self.device))

    def __str__(self) -> str:
        return "this machine" if self.on_host else f"{self.library} {self.device}"

    @contextmanager
    def refusing_too_much(self, what: str, other: str) -> Iterator[None]:
        """Inside, memory that a device does not have for ``what`` is a MemoryError that names the ``other`` way.

        What was taken there is given back.
        """
        try:
            yield
            return
        except Exception as error:
            # Each library has a class of its own, and all have this name.
            if self.on_host or type(error).__name__ != "OutOfMemoryError":
                raise
            clear_frames(error.__traceback__)  # they hold matrices
            told = str(error)
        self.give_back()
        raise MemoryError(f"{self} has too little memory for {what} ({told}); {other}")

    def give_back(self) -> None:
        """What the library keeps for itself without using it goes back to the device."""
        if self.library == "torch" and self.device.startswith("cuda"):
            import_module("torch").cuda.empty_cache()
        if self.library == "cupy":
            import_module("cupy").get_default_memory_pool().free_all_blocks()

    def free_memory(self) -> int | None:
        """Bytes that are free there; None where that is unknown."""
        if self.library == "torch" and self.device.startswith("cuda"):
            torch = import_module("torch")
            # What torch keeps for itself without using it is free too.
            kept = torch.cuda.memory_reserved(self.device) - torch.cuda.memory_allocated(self.device)
            return int(torch.cuda.mem_get_info(self.device)[0]) + kept
        if self.library == "cupy":
            cupy = import_module("cupy")
            with cupy.cuda.Device(_number(self.device)):
                return int(cupy.cuda.runtime.memGetInfo()[0]) + cupy.get_default_memory_pool().free_bytes()
        return host_memory()


HOST = Place()


def host_memory() -> int | None:
    """Bytes available without swapping, or None where the system does not say."""
    limits = []
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                limits.append(int(line.split()[1]) * 1024)
        group = Path("/sys/fs/cgroup/memory.max")
        if group.exists() and (text := group.read_text().strip()).isdigit():
            limits.append(int(text))
    except OSError:
        pass
    if not limits:
        try:
            limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        except (ValueError, OSError, AttributeError):
            return None
    return min(limits)


def _strict_name(place: Any) -> str:
    """The name of a device of array_api_strict, whose text has the class around it."""
    return str(place).removeprefix("array_api_strict.Device('").removesuffix("')")


def _number(name: str) -> int:
    return int(name.partition(":")[2] or 0)


def is_device_array(X: Any) -> bool:
    """Whether X is an array that scikit-learn passes on as it is: of another namespace than NumPy's, with
    ``array_api_dispatch``."""
    return bool(get_config()["array_api_dispatch"]) and compat.is_array_api_obj(X) and not is_numpy(X)


def place_of(name: str | None, X: Any) -> Place:
    """The place that a parameter ``device`` names: None is where X is, "cpu" the host."""
    if name is None:
        return Place.of(X) if is_device_array(X) else HOST
    if not isinstance(name, str) or not (name in ("cpu", "cuda") or _is_numbered(name)):
        raise ValueError(f'device must be None, "cpu", "cuda" or "cuda:1" with the number of a device, got {name!r}')
    if name == "cpu":
        return HOST
    return _cuda(_number(name), name)


def _is_numbered(name: str) -> bool:
    kind, _, number = name.partition(":")
    return kind == "cuda" and number.isdecimal()


def _cuda(number: int, name: str) -> Place:
    """A CUDA device of the first library that has it."""
    seen = []
    for library in _CUDA_LIBRARIES:
        try:
            module = import_module(library)
            count = module.cuda.device_count() if library == "torch" else module.cuda.runtime.getDeviceCount()
        except ImportError:
            continue
        except Exception as error:  # CuPy without a driver
            seen.append(f"{library} {module.__version__} finds none ({error})")
            continue
        if number < count:
            return Place(library, f"cuda:{number}")
        seen.append(f"{library} {module.__version__} finds {count or 'none'}")
    if not seen:
        raise ImportError(f"device={name!r} needs torch or CuPy: pip install 'gpclass[gpu]'")
    raise ValueError(f"device={name!r}: expected a CUDA device of that number, got {', '.join(seen)}")


def host_rows(X: Any, name: str = "X") -> Any:
    """X on the host where it is an array of a device, refused where its numbers have no double or single precision;
    anything else as it is."""
    if not is_device_array(X):
        return X
    xp = namespace(X)
    if not xp.isdtype(X.dtype, "real floating") or xp.finfo(X.dtype).bits < 32:
        raise TypeError(f"expected {name} of double or single precision, got {X.dtype} on {Place.of(X)}")
    return to_host(X)


def host_labels(y: Any, X: Any, name: str = "y") -> Any:
    """y on the host; refused where it is on another device than X, and not on the host."""
    if not is_device_array(y):
        return y
    if is_device_array(X) and Place.of(y) != Place.of(X):
        raise ValueError(f"expected {name} where X is, {Place.of(X)}, or on the host; got it on {Place.of(y)}")
    return to_host(y)


def beside(result: np.ndarray, X: Any) -> Array:
    """A result of the host as an array of the kind and in the place of X, where X is an array of a device."""
    return Place.of(X).send(result) if is_device_array(X) and result.dtype.kind in "biuf" else result

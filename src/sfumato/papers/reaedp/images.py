"""Figures S1 and S2: per-pixel noise on an image."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.papers.charts import Chart, Series
from sfumato.papers.reaedp.histograms import SEED, Numbers, Sources, part
from sfumato.papers.result import Part
from sfumato.privacy.accounting.gaussian_calibration import gaussian_sigma

SIDE = 64
WHITE = 255.0
DELTA = 1e-5
EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
SHOWN = (0.5, 1.0, 2.0)
TRIALS = 5
WINDOW = 8
MEASURES = {"psnr": "PSNR, dB", "mae": "MAE", "ssim": "SSIM"}
PROTOCOL: dict[str, object] = {"side": SIDE, "trials": TRIALS, "seed": SEED}


@dataclass(frozen=True)
class ImageQuality:
    """How close a noisy image is to the original."""

    psnr: float
    mae: float
    ssim: float


def demo_image(side: int = SIDE) -> Numbers:
    """Return a picture that needs no file: a slope, a disc, a frame and stripes, from 0 to 255."""
    down, across = np.mgrid[0:side, 0:side] / (side - 1)
    picture = 60 + 90 * across
    picture[(across - 0.35) ** 2 + (down - 0.4) ** 2 < 0.06] = 220
    picture[(down > 0.75) & ((across * 16).astype(int) % 2 == 0)] = 25
    picture[np.maximum(np.abs(across - 0.75), np.abs(down - 0.35)) < 0.15] = 250
    picture[np.maximum(np.abs(across - 0.75), np.abs(down - 0.35)) < 0.09] = 40
    return picture


def psnr(original: Numbers, other: Numbers) -> float:
    """Return the peak signal-to-noise ratio in decibels; infinite for equal images."""
    square = float(np.mean((original - other) ** 2))
    return math.inf if square == 0 else 10 * math.log10(WHITE**2 / square)


def mae(original: Numbers, other: Numbers) -> float:
    """Return the mean absolute error of a pixel."""
    return float(np.abs(original - other).mean())


def ssim(original: Numbers, other: Numbers, window: int = WINDOW) -> float:
    """Return the structural similarity, averaged over all square windows (Wang and others 2004); 1 for equal images.

    >>> ssim(demo_image(), demo_image())
    1.0
    """
    a, b = (np.lib.stride_tricks.sliding_window_view(image, (window, window)) for image in (original, other))
    axes = (-2, -1)
    mean_a, mean_b = a.mean(axes), b.mean(axes)
    both = (a * b).mean(axes) - mean_a * mean_b
    spread = a.var(axes) + b.var(axes)
    light, contrast = (0.01 * WHITE) ** 2, (0.03 * WHITE) ** 2
    similar = (2 * mean_a * mean_b + light) * (2 * both + contrast)
    return round(float(np.mean(similar / ((mean_a**2 + mean_b**2 + light) * (spread + contrast)))), 12)


def noisy_image(image: Numbers, noise: str, epsilon: float, rng: np.random.Generator) -> Numbers:
    """Return the image with noise for one pixel's guarantee, clipped to 0 .. 255; Gaussian by the exact calibration."""
    if noise == "Laplace":
        drawn = rng.laplace(0, WHITE / epsilon, image.shape)
    else:
        drawn = rng.normal(0, gaussian_sigma(epsilon, DELTA, WHITE), image.shape)
    return np.clip(image + drawn, 0, WHITE)


def qualities(noise: str, epsilon: float, trials: int = TRIALS, seed: int = SEED) -> ImageQuality:
    """Return the mean quality over several noisy images."""
    image, rng = demo_image(), np.random.default_rng(seed)
    found = [
        (psnr(image, other), mae(image, other), ssim(image, other))
        for other in (noisy_image(image, noise, epsilon, rng) for _ in range(trials))
    ]
    means = np.mean(found, axis=0)
    return ImageQuality(float(means[0]), float(means[1]), float(means[2]))


def figure_s1(_: Sources) -> Part:
    """Return figure S1: PSNR and MAE against epsilon."""
    found = {noise: tuple(qualities(noise, epsilon) for epsilon in EPSILONS) for noise in ("Laplace", "Gaussian")}
    first, last = found["Laplace"][0], found["Laplace"][-1]
    flat = np.full((SIDE, SIDE), WHITE / 2)
    gaps = [a.psnr - b.psnr for a, b in zip(found["Laplace"], found["Gaussian"], strict=True)]
    drawn = ("psnr", "mae")
    numbers = {
        "measures": [{"title": MEASURES[name]} for name in drawn],
        "qualities": _qualities(found, EPSILONS),
        "first": first,
        "last": last,
        "flat_psnr": psnr(demo_image(), flat),
        "flat_mae": mae(demo_image(), flat),
        "gaps": (min(gaps), max(gaps)),
    }
    return part(
        "figure S1",
        PROTOCOL | numbers,
        [(EPSILONS, _by_noise(found, name)) for name in drawn],
    )


def _qualities(found: dict[str, tuple[ImageQuality, ...]], epsilons: tuple[float, ...]) -> list[dict[str, object]]:
    rows = zip(epsilons, found["Laplace"], found["Gaussian"], strict=True)
    return [{"epsilon": epsilon, "laplace": laplace, "gaussian": gaussian} for epsilon, laplace, gaussian in rows]


def _by_noise(found: dict[str, tuple[ImageQuality, ...]], measure: str) -> dict[str, list[float]]:
    return {noise: [getattr(quality, measure) for quality in each] for noise, each in found.items()}


def figure_s2(_: Sources) -> Part:
    """Return figure S2: three measures at three epsilons, and the pictures themselves."""
    found = {noise: tuple(qualities(noise, epsilon) for epsilon in SHOWN) for noise in ("Laplace", "Gaussian")}
    best, laplace = max(q.ssim for each in found.values() for q in each), found["Laplace"]
    numbers = {
        "measures": [{"title": title} for title in MEASURES.values()],
        "qualities": _qualities(found, SHOWN),
        "best": best,
        "first": laplace[0],
        "last": laplace[-1],
    }
    return part(
        "figure S2",
        PROTOCOL | numbers,
        [([f"{epsilon:g}" for epsilon in SHOWN], _by_noise(found, name)) for name in MEASURES],
        charts=_pictures(),
        charts_a_row=3,
    )


def _pictures() -> tuple[Chart, ...]:
    image, rng = demo_image(), np.random.default_rng(SEED)
    noisy = {epsilon: noisy_image(image, "Laplace", epsilon, rng) for epsilon in (2.0, 50.0)}
    shown = (("original", image), *((f"Laplace, epsilon {e:g} a pixel", each) for e, each in noisy.items()))
    return tuple(
        Chart(
            kind="image",
            title=title,
            label=f"Grey picture: {title}.",
            series=(Series(name="grey", y=tuple(float(v) for v in np.rint(values).ravel())),),
        )
        for title, values in shown
    )

"""Images to sample from, on any number of pixels: each is a function of position in the unit square, values 0 to 1."""

import numpy as np


def image(name: str, height: int, width: int, seed: int) -> np.ndarray:
    """Return the image `name` of IMAGES as float64 (height, width); `seed` moves what is random in it."""
    y, x = np.meshgrid((np.arange(height) + 0.5) / height, (np.arange(width) + 0.5) / width, indexing="ij")
    return np.clip(IMAGES[name](x, y, np.random.default_rng(seed)), 0.0, 1.0)


def landscape(x, y, rng):
    """Like a photograph: a lit sky with a sun, two ridges in haze, a lake that mirrors them, grain."""
    phase = rng.uniform(0, 2 * np.pi, 4)
    far = 0.46 + 0.06 * np.sin(5 * x + phase[0]) + 0.04 * np.sin(13 * x + phase[1])
    near = 0.62 + 0.09 * np.sin(3 * x + phase[2]) + 0.02 * np.sin(21 * x + phase[3])
    sun = np.hypot(x - 0.72, 1.1 * (y - 0.2))
    sky = 0.55 + 0.3 * y + 0.5 * np.exp(-(sun / 0.13) ** 2) + 0.04 * np.sin(9 * x + 30 * y)
    picture = np.where(y > far, 0.42 + 0.25 * (y - far), sky)
    picture = np.where(y > near, 0.16 + 0.2 * (y - near), picture)
    ripples = 0.34 + 0.22 * np.exp(-((x - 0.72) / 0.12) ** 2) + 0.08 * np.sin(90 * (y + 0.04 * np.sin(9 * x)))
    picture = np.where(y > 0.78, ripples, picture)
    return picture * (1 - 0.25 * ((x - 0.5) ** 2 + (y - 0.5) ** 2)) + 0.02 * rng.standard_normal(x.shape)


def letter(x, y, rng):
    """An F, which shows every mirror and turn."""
    stem = (0.28 < x) & (x < 0.42) & (0.15 < y) & (y < 0.85)
    bars = ((0.28 < x) & (x < 0.75) & (0.15 < y) & (y < 0.28)) | ((0.28 < x) & (x < 0.62) & (0.44 < y) & (y < 0.56))
    return np.where(stem | bars, 0.95, 0.12 + 0.25 * x)


def checks(x, y, rng):
    return 0.1 + 0.8 * ((np.floor(8 * x) + np.floor(8 * y)) % 2)


def ramp(x, y, rng):
    return 0.05 + 0.6 * x + 0.3 * y


def rings(x, y, rng):
    return 0.5 + 0.45 * np.cos(60 * ((x - 0.4) ** 2 + (y - 0.45) ** 2))


def dot(x, y, rng):
    """One bright pixel near the middle: the picture of one tap."""
    values = np.full(x.shape, 0.1)
    values[x.shape[0] // 2, x.shape[1] // 2] = 1.0
    return values


def noise(x, y, rng):
    return rng.uniform(0, 1, x.shape)


IMAGES = {"landscape": landscape, "letter": letter, "checks": checks, "ramp": ramp, "rings": rings, "dot": dot,
          "noise": noise}

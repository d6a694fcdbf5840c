"""Writes tests/golden/corruptions/: what the corruptions of CIFAR-10-C make of one image, for tests/data/builders/corruptions/corruption_test.cpp.

    python3 -m venv venv && venv/bin/pip install numpy==2.4.6 scipy==1.17.1 scikit-image==0.26.0 pillow==11.3.0 \
        opencv-python-headless==5.0.0.93 wand==0.7.2
    apt-get install libmagickwand-6.q16-6     # ImageMagick 6.9.11, of the motion blur
    venv/bin/python tests/golden/make_corruptions.py

The formulas and constants are those of Hendrycks and Dietterich (2019), put together from the libraries that the released CIFAR-10-C was
made with. Draws come from a Philox generator like the library's own, in the library's order, so that images can be compared pixel by
pixel: input.png, and pixels.png with one row of tiles a corruption, one column a severity. shot_noise draws Poisson numbers by a method of
its own there, and is compared by moments alone: about.json has those of the four noises, under NumPy's generator. OpenCV 4 rounds the
coordinates of elastic's affine map to 1/32 of a pixel and OpenCV 5 does not; all else came out alike with 4.8.
"""
import io
import json
import math
import pathlib

import cv2
import numpy as np
import PIL
import scipy
import scipy.ndimage
import skimage
import wand.image
import wand.version
from PIL import Image

OUT = pathlib.Path(__file__).parent / "corruptions"
SIDE = 32
TEXTURES = 5
IMAGES = 60  # under each noise


class Draws:
    """Philox4x32-10 and what debias/core/philox.h draws from it, for the key whose only field is `sample`."""

    TEST_DOMAIN = 7

    def __init__(self, sample):
        key = self.philox([0, 0, self.TEST_DOMAIN, 0], [0, 0])
        self.key, self.counter, self.left = key[:2], [0, sample, 0, 0], []

    @staticmethod
    def philox(counter, key):
        c, k = list(counter), list(key)
        for _ in range(10):
            first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [second >> 32 ^ c[1] ^ k[0], second & 0xFFFFFFFF, first >> 32 ^ c[3] ^ k[1], first & 0xFFFFFFFF]
            k = [k[0] + 0x9E3779B9 & 0xFFFFFFFF, k[1] + 0xBB67AE85 & 0xFFFFFFFF]
        return c

    def bits(self):
        if not self.left:
            self.left = self.philox(self.counter, self.key)
            self.counter[0] += 1
        return self.left.pop(0)

    def uniform(self, low=0.0, high=1.0):
        high_bits = self.bits() >> 5
        return low + (high - low) * ((high_bits << 26 | self.bits() >> 6) * 2.0**-53)

    def below(self, n):
        while True:
            word = self.bits() << 32
            product = (word | self.bits()) * n
            if product % 2**64 >= 2**64 % n:
                return product >> 64

    def normal(self):
        radius = math.sqrt(-2 * math.log(1 - self.uniform()))
        return radius * math.cos(2 * math.pi * self.uniform())

    def grid(self, draw):
        return np.array([draw() for _ in range(SIDE * SIDE)]).reshape(SIDE, SIDE)

    def volume(self, draw):  # channel after channel
        return np.stack([self.grid(draw) for _ in range(3)], -1)


def picture():
    """Sky, hills and a disk with texture, all channels different, black and white in it."""
    y, x = np.mgrid[0:SIDE, 0:SIDE] / (SIDE - 1)
    rng = np.random.default_rng(11)
    image = np.stack([90 + 60 * y, 140 + 40 * y, 235 - 50 * y], -1)
    hills = y > 0.62 + 0.1 * np.sin(7 * x)
    image[hills] = np.stack([60 + 70 * x, 120 - 30 * x, 30 + 20 * x], -1)[hills]
    disk = (x - 0.62) ** 2 + (y - 0.45) ** 2 < 0.055
    image[disk] = np.stack([225 - 90 * y, 70 + 80 * x, 50 + 40 * np.sin(40 * x)], -1)[disk]
    image += rng.normal(0, 5, image.shape)
    image[4:9, 3:8] = 255
    image[22:27, 5:8] = 0
    return np.clip(image, 0, 255).astype(np.uint8)


def drawn_textures():
    """Of frost: numbers that are easy to make again. Red, green and blue are not alike."""
    y, x, c = np.mgrid[0:40, 0:36, 0:3]
    return [(y * 7 + x * 13 + c * 29 + number * 41) % 256 for number in range(TEXTURES)]


def blurred(image, sigma, **options):
    return skimage.filters.gaussian(image, sigma=sigma, channel_axis=-1 if image.ndim == 3 else None, **options)


def zoomed(image, factor):
    crop = math.ceil(SIDE / factor)
    first = (SIDE - crop) // 2
    large = scipy.ndimage.zoom(image[first : first + crop, first : first + crop], (factor, factor, 1), order=1)
    trim = (large.shape[0] - SIDE) // 2
    return large[trim : trim + SIDE, trim : trim + SIDE]


def in_motion(image, radius, sigma, angle):
    """ImageMagick's motion blur of 8-bit pixels."""
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, format="PNG")
    with wand.image.Image(blob=buffer.getvalue()) as moving:
        moving.motion_blur(radius=radius, sigma=sigma, angle=angle)
        return np.asarray(Image.open(io.BytesIO(moving.make_blob("PNG"))).convert("RGB" if image.ndim == 3 else "L"))


def plasma(decay, draws):
    """The diamond-square fractal, on a torus."""
    field = np.zeros((SIDE, SIDE))
    step, reach = SIDE, 100.0
    while step >= 2:
        half, count = step // 2, SIDE // step
        noise = lambda: reach * draws.uniform(-reach, reach)
        corner = field[::step, ::step]
        below, right = np.roll(corner, -1, 0), np.roll(corner, -1, 1)
        square = np.array([noise() for _ in range(count * count)]).reshape(count, count)
        centre = (corner + below + right + np.roll(below, -1, 1)) / 4 + square
        field[half::step, half::step] = centre
        pairs = np.array([[noise(), noise()] for _ in range(count * count)]).reshape(count, count, 2)
        field[::step, half::step] = (centre + np.roll(centre, 1, 0) + corner + right) / 4 + pairs[..., 0]
        field[half::step, ::step] = (centre + np.roll(centre, 1, 1) + corner + below) / 4 + pairs[..., 1]
        step, reach = half, reach / decay
    field -= field.min()
    return field / field.max()


def gaussian_noise(image, level, draws):
    return image / 255 + [0.04, 0.06, 0.08, 0.09, 0.10][level] * draws.volume(draws.normal)


def shot_noise(image, level, rng):
    photons = [500, 250, 100, 75, 50][level]
    return rng.poisson(image / 255 * photons) / photons


def impulse_noise(image, level, draws):
    share = [0.01, 0.02, 0.03, 0.05, 0.07][level]

    def replacement():
        if draws.uniform() >= share:
            return math.nan
        return 1.0 if draws.uniform() < 0.5 else 0.0

    pepper = draws.volume(replacement)
    return np.where(np.isnan(pepper), image / 255, pepper)


def speckle_noise(image, level, draws):
    return image / 255 * (1 + [0.06, 0.1, 0.12, 0.16, 0.2][level] * draws.volume(draws.normal))


def gaussian_blur(image, level, _):
    return blurred(image / 255, [0.4, 0.6, 0.7, 0.8, 1][level])


def glass_blur(image, level, draws):
    sigma, reach, rounds = [(0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2)][level]
    broken = (blurred(image / 255, sigma) * 255).astype(np.uint8)
    for _ in range(rounds):
        for row in range(SIDE - reach, reach, -1):
            for column in range(SIDE - reach, reach, -1):
                other = row + draws.below(2 * reach) - reach, column + draws.below(2 * reach) - reach
                # The released line is this swap of two views: the second assignment copies what the first has just written.
                broken[row, column], broken[other] = broken[other], broken[row, column]
    return blurred(broken / 255, sigma)


def defocus_blur(image, level, _):
    radius, sigma = [(0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1)][level]
    y, x = np.mgrid[-8:9, -8:9]
    disk = (x**2 + y**2 <= radius**2).astype(np.float32)
    kernel = cv2.GaussianBlur(disk / disk.sum(), (3, 3), sigma)
    return np.stack([cv2.filter2D(image[..., c] / 255, -1, kernel) for c in range(3)], -1)


def motion_blur(image, level, draws):
    radius, sigma = [(6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5)][level]
    return in_motion(image, radius, sigma, draws.uniform(-45, 45)) / 255


def zoom_blur(image, level, _):
    factors = np.arange(1, [1.06, 1.11, 1.16, 1.21, 1.26][level], 0.01)
    x = (image / 255).astype(np.float32)
    return (x + sum(zoomed(x, factor) for factor in factors)) / (len(factors) + 1)


def snow(image, level, draws):
    mean, deviation, zoom, threshold, radius, sigma, kept = [
        (0.1, 0.2, 1, 0.6, 8, 3, 0.95),
        (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
        (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
        (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
        (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
    ][level]
    flakes = zoomed((mean + deviation * draws.grid(draws.normal))[..., None], zoom)[..., 0]
    flakes[flakes < threshold] = 0
    flakes = (np.clip(flakes, 0, 1) * 255).astype(np.uint8)
    fallen = in_motion(flakes, radius, sigma, draws.uniform(-135, -45))[..., None] / 255
    x = (image / 255).astype(np.float32)
    white = np.maximum(x, cv2.cvtColor(x, cv2.COLOR_RGB2GRAY)[..., None] * 1.5 + 0.5)
    return kept * x + (1 - kept) * white + fallen + np.rot90(fallen, k=2)


def frost(image, level, draws):
    own, ice = [(1, 0.2), (1, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45)][level]
    texture = drawn_textures()[draws.below(TEXTURES)]
    top = draws.below(texture.shape[0] - SIDE)
    left = draws.below(texture.shape[1] - SIDE)
    return (own * image + ice * texture[top : top + SIDE, left : left + SIDE]) / 255


def fog(image, level, draws):
    thickness, decay = [(0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75)][level]
    x = image / 255
    return (x + thickness * plasma(decay, draws)[..., None]) * x.max() / (x.max() + thickness)


def brightness(image, level, _):
    hsv = skimage.color.rgb2hsv(image / 255)
    hsv[..., 2] = np.clip(hsv[..., 2] + [0.05, 0.1, 0.15, 0.2, 0.3][level], 0, 1)
    return skimage.color.hsv2rgb(hsv)


def contrast(image, level, _):
    x = image / 255
    means = x.mean((0, 1), keepdims=True)
    return (x - means) * [0.75, 0.5, 0.4, 0.3, 0.15][level] + means


def saturate(image, level, _):
    factor, more = [(0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2)][level]
    hsv = skimage.color.rgb2hsv(image / 255)
    hsv[..., 1] = np.clip(hsv[..., 1] * factor + more, 0, 1)
    return skimage.color.hsv2rgb(hsv)


def water(liquid):
    distance = cv2.distanceTransform(255 - cv2.Canny(liquid, 50, 150), cv2.DIST_L2, 5)
    distance = cv2.equalizeHist(cv2.blur(np.minimum(distance, 20), (3, 3)).astype(np.uint8))
    embossed = cv2.filter2D(distance, cv2.CV_8U, np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]]))
    drops = liquid * cv2.blur(embossed, (3, 3)).astype(np.float32)
    return drops / drops.max()


def spatter(image, level, draws):
    mean, deviation, sigma, threshold, last = [
        (0.62, 0.1, 0.7, 0.7, 0.5),
        (0.65, 0.1, 0.8, 0.7, 0.5),
        (0.65, 0.3, 1, 0.69, 0.5),
        (0.65, 0.1, 0.7, 0.69, 0.6),
        (0.65, 0.1, 0.5, 0.68, 0.6),
    ][level]
    x = (image / 255).astype(np.float32)
    liquid = blurred(mean + deviation * draws.grid(draws.normal), sigma)
    if level < 3:
        liquid = np.clip(np.where(liquid < threshold, 0, liquid), 0, 1)
        return x + last * water((liquid * 255).astype(np.uint8))[..., None] * np.array([175, 238, 238]) / 255
    mud = blurred((liquid > threshold).astype(np.float32), last)
    mud = np.where(mud < 0.8, 0, mud)[..., None]
    return x * (1 - mud) + mud * np.array([63, 42, 20]) / 255


def jpeg(image, level, _):
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, format="JPEG", quality=[80, 65, 58, 50, 40][level])
    return np.asarray(Image.open(buffer)) / 255


def pixelate(image, level, _):
    small = int(SIDE * [0.95, 0.9, 0.85, 0.75, 0.65][level])
    return np.asarray(Image.fromarray(image).resize((small, small), Image.BOX).resize((SIDE, SIDE), Image.BOX)) / 255


def elastic(image, level, draws):
    strength, sigma, reach = [(0, 0, 0.08), (0.05, 0.2, 0.07), (0.08, 0.06, 0.06), (0.1, 0.04, 0.05), (0.1, 0.03, 0.03)][level]
    corners = np.array([[26, 26], [26, 6], [6, 6]], np.float32)
    moved = corners + np.array([draws.uniform(-SIDE * reach, SIDE * reach) for _ in range(6)], np.float32).reshape(3, 2)
    x = (image / 255).astype(np.float32)
    tilted = cv2.warpAffine(x, cv2.getAffineTransform(corners, moved), (SIDE, SIDE), borderMode=cv2.BORDER_REFLECT_101)
    waves = [blurred(draws.grid(lambda: draws.uniform(-1, 1)), SIDE * sigma, mode="reflect", truncate=3) * SIDE * strength for _ in "xy"]
    row, column = np.mgrid[0:SIDE, 0:SIDE]
    places = [row + waves[1].astype(np.float32), column + waves[0].astype(np.float32)]
    return np.stack([scipy.ndimage.map_coordinates(tilted[..., c], places, order=1, mode="reflect") for c in range(3)], -1)


KINDS = [gaussian_noise, impulse_noise, speckle_noise, gaussian_blur, glass_blur, defocus_blur, motion_blur, zoom_blur, snow, frost, fog,
         brightness, contrast, spatter, saturate, jpeg, pixelate, elastic]


class NumpyDraws:
    """The noises' draws from NumPy's generator."""

    def __init__(self, rng):
        self.normal, self.uniform = rng.normal, rng.uniform

    def volume(self, draw):
        return np.array([draw() for _ in range(3 * SIDE * SIDE)]).reshape(SIDE, SIDE, 3)


def as_bytes(values):
    # Truncated, as the release is, but for what 255 (v / 255) falls short of v by.
    return np.clip(np.asarray(values, np.float64) * 255 + 1e-9, 0, 255).astype(np.uint8)


def moments(image, kind, level, rng):
    source = rng if kind is shot_noise else NumpyDraws(rng)
    change = np.stack([as_bytes(kind(image, level, source)) - image.astype(np.float64) for _ in range(IMAGES)])
    mean, deviation = change.mean(), change.std()
    fourth = ((change - mean) ** 4).mean()
    n = change.size
    return {"kind": kind.__name__, "severity": level + 1, "mean": mean, "mean_error": deviation / n**0.5, "deviation": deviation,
            "deviation_error": ((fourth - deviation**4) / (4 * deviation**2 * n)) ** 0.5}


def main():
    OUT.mkdir(exist_ok=True)
    image = picture()
    Image.fromarray(image).save(OUT / "input.png", optimize=True)
    rows = [np.concatenate([as_bytes(kind(image, level, Draws(level))) for level in range(5)], 1) for kind in KINDS]
    Image.fromarray(np.concatenate(rows)).save(OUT / "pixels.png", optimize=True)
    rng = np.random.default_rng(3)
    noises = [gaussian_noise, shot_noise, impulse_noise, speckle_noise]
    about = {
        "made_with": {"numpy": np.__version__, "scipy": scipy.__version__, "skimage": skimage.__version__, "pillow": PIL.__version__,
                      "opencv": cv2.__version__, "wand": wand.version.VERSION, "imagemagick": wand.version.MAGICK_VERSION},
        "rows": [kind.__name__ for kind in KINDS],
        "images": IMAGES,
        "moments": [moments(image, kind, level, rng) for kind in noises for level in range(5)],
    }
    lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in about.items())
    (OUT / "about.json").write_text("{" + ",\n".join(lines) + "}\n")


main()

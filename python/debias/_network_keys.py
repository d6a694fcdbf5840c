"""Recognises networks by the keys and shapes of their tensors, after any prefix."""

import re
from typing import NamedTuple, Optional

NAMES = "mobilenet_v2, efficientnet_lite0, vit_small, resnet18, resnet34, resnet50"
# What torch puts into keys where it wraps a module, anywhere in them.
_WRAPPERS = {"_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"}
# Words of the copies that a method keeps of its network, which are taken only if there is no other.
_COPIES = re.compile(r"(?:^|_)(?:k|key|ema|swa|avg|mom|tgt|old|prev)(?:_|$)|momentum|target|shadow|averag|student")
_STEMS = ("conv1.weight", "0.weight", "conv_stem.weight", "_conv_stem.weight", "features.0.0.weight", "patch_embed.proj.weight",
          "patch_embed.projection.weight", "conv_proj.weight")
_NORM = ("weight", "bias", "running_mean", "running_var")
# Other spellings of the same networks: of SupContrast and kuangliu's CIFAR networks, and of MMPretrain's transformers.
_SPELLINGS = [(r"^(layer\d\.\d+)\.shortcut\.", r"\1.downsample."), (r"^patch_embed\.projection\.", "patch_embed.proj."),
              (r"^layers\.(\d+)\.ln([12])\.", r"blocks.\1.norm\2."), (r"^layers\.(\d+)\.attn\.", r"blocks.\1.attn."),
              (r"^layers\.(\d+)\.ffn\.layers\.0\.0\.", r"blocks.\1.mlp.fc1."), (r"^layers\.(\d+)\.ffn\.layers\.1\.", r"blocks.\1.mlp.fc2."),
              (r"^ln1\.", "norm.")]


class Network(NamedTuple):
    """What keys are: of a network, or of none for a reason."""

    section: Optional[dict]  # of the recipe's encoder, without `weights`
    parts: str = ""  # pattern of the keys that belong to the network
    reason: str = ""


def _blocks(keys, pattern):
    """Number of blocks of each stage. The groups of the pattern are stage and block; with one group there is a single stage."""
    counts = {}
    for key in keys:
        if found := re.fullmatch(pattern, key):
            *stage, block = map(int, found.groups())
            counts[tuple(stage)] = max(counts.get(tuple(stage), 0), block + 1)
    return [counts[stage] for stage in sorted(counts)]


def _compared(section, parts, shapes, expected):
    """The network if its keys are the expected ones, of these shapes; the counters of batch normalisation may be missing."""
    for key, shape in expected.items():
        if key not in shapes:
            return Network(None, reason=f"{section['name']} has '{key}', and they do not")
        if tuple(shapes[key]) != shape:
            return Network(None, reason=f"'{key}' is {list(shapes[key])}, in {section['name']} {list(shape)}")
    for key in shapes:
        if re.match(parts, key) and key not in expected and not key.endswith("num_batches_tracked"):
            return Network(None, reason=f"they have '{key}', and {section['name']} has not")
    return Network(section, parts)


# Stem, blocks, last convolution, classifier; the shapes of a network of width 1.
_MOBILE = {
    "conv_stem": (r"blocks\.(\d+)\.(\d+)\.conv_dw\.weight", r"(conv_stem|bn[12]|conv_head)\.|blocks\.", r"blocks\.\d+\.\d+\.(conv_(pw|dw|pwl)|bn[123])\.",
                  r"classifier\.", "blocks.6.0.conv_pwl.weight", "conv_head.weight"),
    "_conv_stem": (r"_blocks\.(\d+)\._depthwise_conv\.weight", r"(_conv_stem|_bn[01]|_conv_head)\.|_blocks\.",
                   r"_blocks\.\d+\._(expand_conv|depthwise_conv|project_conv|bn[012])\.", r"_fc\.", "_blocks.15._project_conv.weight",
                   "_conv_head.weight"),
    "features.0.0": (r"features\.(\d+)\..*\.weight", r"features\.", r"features\.\d+\.(conv\.\d+(\.\d)?|[01])\.", r"classifier\.",
                     "features.17.conv.2.weight", "features.18.0.weight"),
}
_MOBILE_STAGES = {("conv_stem", (1, 2, 3, 4, 3, 3, 1)): ("mobilenet_v2", 960), ("conv_stem", (1, 2, 2, 3, 3, 4, 1)): ("efficientnet_lite0", 1152),
                  ("_conv_stem", (16,)): ("efficientnet_lite0", 1152), ("features.0.0", (19,)): ("mobilenet_v2", 960)}


def _mobile(shapes):
    stem = next(stem for stem in _MOBILE if f"{stem}.weight" in shapes)
    blocks, own, inner, classifier, last, head = _MOBILE[stem]
    counts = tuple(_blocks(shapes, blocks))
    name, wide = _MOBILE_STAGES.get((stem, counts), (None, None))
    if name is None:
        return Network(None, reason=f"they have stages of {', '.join(map(str, counts)) or 'no'} blocks")
    for key in shapes:
        if re.match("_?blocks|features", key) and not re.match(inner, key):
            return Network(None, reason=f"they have '{key}', and {name} has not")
    for key, shape in ((f"{stem}.weight", (32, 3, 3)), (last, (320, wide, 1, 1)), (head, (1280, 320, 1, 1))):
        found = tuple(shapes.get(key, ()))
        if found != shape and (len(shape) == 4 or (found[:1], found[2:]) != (shape[:1], shape[1:])):
            return Network(None, reason=f"'{key}' is {list(found)}, not that of {name} of width 1")
    origin = {"origin": "tensorflow"} if stem == "_conv_stem" else {}
    return Network({"name": name} | origin, f"{own}|{classifier}")


def _transformer_shapes(side, channels, torchvision):
    width, hidden = 384, 1536
    norm = lambda name: {f"{name}.weight": (width,), f"{name}.bias": (width,)}
    layer = lambda name, out, width: {f"{name}.weight": (out, width), f"{name}.bias": (out,)}
    stem, token, table, end = (("conv_proj", "class_token", "encoder.pos_embedding", "encoder.ln") if torchvision else
                               ("patch_embed.proj", "cls_token", "pos_embed", "norm"))
    shapes = {f"{stem}.weight": (width, channels, 16, 16), f"{stem}.bias": (width,), token: (1, 1, width), table: (1, side * side + 1, width),
              **norm(end)}
    for i in range(12):
        if torchvision:
            block = f"encoder.layers.encoder_layer_{i}"
            shapes |= {**norm(f"{block}.ln_1"), **norm(f"{block}.ln_2"), f"{block}.self_attention.in_proj_weight": (3 * width, width),
                       f"{block}.self_attention.in_proj_bias": (3 * width,), **layer(f"{block}.self_attention.out_proj", width, width),
                       **layer(f"{block}.mlp.0", hidden, width), **layer(f"{block}.mlp.3", width, hidden)}
        else:
            block = f"blocks.{i}"
            shapes |= {**norm(f"{block}.norm1"), **norm(f"{block}.norm2"), **layer(f"{block}.attn.qkv", 3 * width, width),
                       **layer(f"{block}.attn.proj", width, width), **layer(f"{block}.mlp.fc1", hidden, width),
                       **layer(f"{block}.mlp.fc2", width, hidden)}
    return shapes


def _transformer(shapes):
    torchvision = "conv_proj.weight" in shapes
    patch, table = shapes["conv_proj.weight" if torchvision else "patch_embed.proj.weight"], \
        shapes.get("encoder.pos_embedding" if torchvision else "pos_embed", ())
    depth = sum(_blocks(shapes, r"(?:blocks\.|encoder\.layers\.encoder_layer_)(\d+)\..*\.weight"))
    if len(patch) != 4 or (patch[0], depth, patch[2]) != (384, 12, 16):
        return Network(None, reason=f"they are of a transformer of width {patch[0]}, depth {depth} and patches of {patch[-1]} pixels, vit_small of "
                                    "384, 12 and 16")
    side = round(max(table[1] - 1, 0) ** 0.5) if len(table) == 3 else 0
    section = {"name": "vit_small"} | ({} if side == 14 else {"size": 16 * side})
    # Also tokens and normalisations that other transformers add; heads, decoders and mask tokens are no part of the features.
    own = (r"conv_proj\.|class_token$|encoder\." if torchvision else r"patch_embed\.|cls_token$|pos_embed$|blocks\.|norm\.")
    others = r"|dist_token|reg_token|register|storage_tokens|norm_pre|ln_pre|fc_norm|ls\d?\.|rope|rel_pos"
    found = _compared(section, own + others, shapes, _transformer_shapes(side, patch[1], torchvision))
    return found._replace(parts=rf"{own}|heads?\.")


def _resnet_shapes(blocks, bottleneck, stem, width):
    norm = lambda name, channels: {f"{name}.{what}": (channels,) for what in _NORM}
    shapes, before = {"conv1.weight": tuple(stem), **norm("bn1", stem[0])}, stem[0]
    for stage, count in enumerate(blocks):
        planes = width << stage
        out = 4 * planes if bottleneck else planes
        for i in range(count):
            name, side = f"layer{stage + 1}.{i}", 1 if bottleneck else 3
            shapes |= {f"{name}.conv1.weight": (planes, before, side, side), **norm(f"{name}.bn1", planes),
                       f"{name}.conv2.weight": (planes, planes, 3, 3), **norm(f"{name}.bn2", planes)}
            if bottleneck:
                shapes |= {f"{name}.conv3.weight": (out, planes, 1, 1), **norm(f"{name}.bn3", out)}
            if i == 0 and (stage > 0 or before != out):
                shapes |= {f"{name}.downsample.0.weight": (out, before, 1, 1), **norm(f"{name}.downsample.1", out)}
            before = out
    return shapes


def _resnet(shapes):
    stem, first, second, third = (shapes.get(key, ()) for key in ("conv1.weight", *(f"layer1.0.conv{i}.weight" for i in (1, 2, 3))))
    if len(stem) != 4 or len(first) != 4 or len(second) != 4:
        return Network(None)
    blocks = _blocks(shapes, r"layer(\d)\.(\d+)\.conv1\.weight")
    if second[0] != second[1]:
        return Network(None, reason=f"they are of a grouped ResNet ({second[0] // max(second[1], 1)} groups of {second[1]} channels, as ResNeXt "
                                    "has), which is no encoder here")
    if third and third[0] != 4 * first[0]:
        return Network(None, reason=f"they are of a wide ResNet ({first[0]} channels within a bottleneck of {third[0]}), which is no encoder here")
    depth = {(False, (2, 2, 2, 2)): 18, (False, (3, 4, 6, 3)): 34, (True, (3, 4, 6, 3)): 50}.get((bool(third), tuple(blocks)))
    if depth is None:
        return Network(None, reason=f"they are of a ResNet with stages of {', '.join(map(str, blocks))} {'bottlenecks' if third else 'blocks'}")
    if stem[2] not in (3, 7):
        return Network(None, reason=f"'conv1.weight' is {list(stem)}, and stems are of 3 or 7 pixels")
    section = {"name": f"resnet{depth}", "stem": "imagenet" if stem[2] == 7 else "cifar"}
    section |= ({} if first[0] == 64 else {"width": first[0]}) | ({} if stem[0] == first[0] else {"stem_width": stem[0]})
    # Also stems, stages and poolings that other ResNets add.
    found = _compared(section, r"conv\d|bn\d|layer\d|stem|attnpool|norm\.", shapes, _resnet_shapes(blocks, bool(third), stem, first[0]))
    return found._replace(parts=r"conv1\.|bn1\.|layer\d\.|fc\.")


def network_of(shapes):
    """The network of a state dict with these shapes."""
    if any(f"{stem}.weight" in shapes for stem in _MOBILE):
        return _mobile(shapes)
    if "patch_embed.proj.weight" in shapes or "conv_proj.weight" in shapes:
        return _transformer(shapes)
    if "conv1.weight" in shapes:
        return _resnet(shapes)
    return Network(None)


def _respelt(keys):
    """{key: key as torchvision or timm spells it}."""
    stages = sorted({int(found[1]) for key in keys if (found := re.match(r"(\d+)\.0\.conv1\.weight$", key))})
    of_children = {"0": "conv1", "1": "bn1", **{str(place): f"layer{i + 1}" for i, place in enumerate(stages)}}
    numbered = len(stages) == 4 and "0.weight" in keys and "1.running_mean" in keys  # Sequential(*resnet.children())
    spelt = {}
    for key in keys:
        word, dot, rest = key.partition(".")
        name = of_children.get(word, word) + dot + rest if numbered else key
        for pattern, replacement in _SPELLINGS:
            name = re.sub(pattern, replacement, name)
        spelt[key] = name
    return spelt if len(set(spelt.values())) == len(spelt) else {key: key for key in keys}


class Found(NamedTuple):
    """Keys after one prefix."""

    prefix: str  # as the file has it, with wrappers
    network: Network
    keys: dict  # the file's key -> the network's
    copy: bool  # of a copy that a method keeps


def _after_prefixes(shapes, wrappers):
    """{prefix: {rest of the key: key}} of keys without their wrappers, for each prefix that a stem follows."""
    plain = {}
    for key in shapes:
        plain.setdefault(".".join(word for word in key.split(".") if word not in wrappers), key)
    prefixes = {""} | {key[:-len(stem)] for key in plain for stem in _STEMS if key.endswith("." + stem)}
    groups = {prefix: {} for prefix in prefixes}
    for key, own in plain.items():
        place = 0
        while True:
            if key[:place] in groups:
                groups[key[:place]][key[place:]] = own
            place = key.find(".", place) + 1
            if place == 0:
                break
    return groups


def _found(shapes, wrappers):
    for prefix, keys in _after_prefixes(shapes, wrappers).items():
        spelt = _respelt(keys)
        network = network_of({spelt[rest]: shapes[key] for rest, key in keys.items()})
        if network.section is None and not network.reason:
            continue
        first_rest, first = next(iter(keys.items()))
        shown = first[:-len(first_rest)] if first.endswith(first_rest) else prefix
        yield Found(shown, network, {key: spelt[rest] for rest, key in keys.items()},
                    any(_COPIES.search(word.lower()) for word in prefix.split(".")))


def found_in(shapes):
    """What is recognised after any prefix, the best first; and otherwise what comes near to a network."""
    tried = list(_found(shapes, _WRAPPERS))
    known = [one for one in tried if one.network.section] or \
        [one for one in _found(shapes, _WRAPPERS | {"module"}) if one.network.section]  # DataParallel within a network
    order = list(shapes)
    known.sort(key=lambda one: (one.copy, order.index(next(iter(one.keys)))))
    return known, sorted(tried, key=lambda one: -len(one.keys))

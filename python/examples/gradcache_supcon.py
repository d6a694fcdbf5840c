"""SupCon on a batch of 512 with the activations of 64: gradients are those of the whole batch, labels included."""

import torch

import debias

CLASSES, SAMPLES, CHUNK = 10, 512, 64


def encoder():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(48, 128), torch.nn.ReLU(), torch.nn.Linear(128, 32))


def batch(generator):
    centres = torch.randn(CLASSES, 48, generator=torch.Generator().manual_seed(1))
    labels = torch.randint(CLASSES, (SAMPLES,), generator=generator)
    return centres[labels] + torch.randn(SAMPLES, 48, generator=generator), labels


def train(cached, steps=15):
    model, loss_fn, generator = encoder(), debias.SupConLoss(temperature=0.1), torch.Generator().manual_seed(2)
    step = debias.CachedStep(encode=model, loss=loss_fn, chunk=CHUNK)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        images, labels = batch(generator)
        loss = step(images, labels=labels) if cached else loss_fn(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item(), torch.nn.utils.parameters_to_vector(model.parameters())


if __name__ == "__main__":
    (whole, weights), (cached, own) = train(False), train(True)
    moved = (weights - torch.nn.utils.parameters_to_vector(encoder().parameters())).norm()
    print(f"loss {whole:.6f} of the whole batch, {cached:.6f} in chunks of {CHUNK}; weights moved by {moved:.4f}, "
          f"difference {(weights - own).abs().max():.1e}")

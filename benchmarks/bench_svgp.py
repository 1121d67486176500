"""SparseGPClassifier and IVMClassifier against stochastic variational inference in GPyTorch, where that is installed.

    python benchmarks/bench_svgp.py [n_epochs]

USPS, 7291 rows and 2007 new ones, ten classes, 500 inducing rows each. GPyTorch: RBF kernel shared by the classes,
softmax, inducing rows that start at random rows and are learned, Adam in minibatches of 512, everything else as its
documentation has it.
"""

import sys
import time

import numpy as np

from gpclass import IVMClassifier, SparseGPClassifier
from gpclass.papers.data import load


def report(name, proba, y, seconds):
    chosen = np.clip(proba[np.arange(len(y)), y], 1e-300, None)
    print(
        f"usps, {name}: error {100 * np.mean(proba.argmax(axis=1) != y):.2f} %, log loss "
        f"{-np.mean(np.log(chosen)):.4f}, {seconds:.0f} s",
        flush=True,
    )


def ours(name, model, X, y, X_new, y_new):
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    report(name, model.predict_proba(X_new), y_new, seconds)


def svgp(X, y, X_new, y_new, n_epochs, n_inducing=500, n_classes=10):
    import gpytorch
    import torch

    class Classes(gpytorch.models.ApproximateGP):
        def __init__(self, Z):
            batch = torch.Size([n_classes])
            inner = gpytorch.variational.CholeskyVariationalDistribution(len(Z), batch_shape=batch)
            strategy = gpytorch.variational.VariationalStrategy(self, Z, inner)
            super().__init__(
                gpytorch.variational.IndependentMultitaskVariationalStrategy(strategy, num_tasks=n_classes)
            )
            self.mean_module = gpytorch.means.ConstantMean(batch_shape=batch)
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
            # The same start as ours: the length of a typical distance.
            self.covar_module.base_kernel.lengthscale = float(np.median(np.linalg.norm(X[:500] - X[500:1000], axis=1)))

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    torch.manual_seed(0)
    inputs, labels = torch.tensor(X, dtype=torch.float32), torch.tensor(y)
    few = np.random.default_rng(0).choice(len(X), n_inducing, replace=False)
    model = Classes(inputs[few].clone())
    likelihood = gpytorch.likelihoods.SoftmaxLikelihood(num_classes=n_classes, mixing_weights=False)
    bound = gpytorch.mlls.VariationalELBO(likelihood, model, len(y))
    steps = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.01)
    start = time.perf_counter()
    for epoch in range(n_epochs):
        for rows in torch.randperm(len(y)).split(512):
            steps.zero_grad()
            loss = -bound(model(inputs[rows]), labels[rows])
            loss.backward()
            steps.step()
        if (epoch + 1) % 10 == 0:
            seconds = time.perf_counter() - start
            with torch.no_grad(), gpytorch.settings.num_likelihood_samples(200):
                draws = [likelihood(model(part)).probs.mean(dim=0) for part in torch.tensor(X_new).float().split(512)]
            report(f"GPyTorch, {epoch + 1} epochs", torch.cat(draws).numpy().astype(float), y_new, seconds)
            start = time.perf_counter() - seconds


if __name__ == "__main__":
    stored = load("usps")
    X, y, X_new, y_new = (stored[part] for part in ("X_train", "y_train", "X_test", "y_test"))
    X, X_new, y, y_new = X.astype(float), X_new.astype(float), y.astype(int), y_new.astype(int)
    y, y_new = y - y.min(), y_new - y.min()
    ours("SparseGPClassifier, 500 inducing rows", SparseGPClassifier(), X, y, X_new, y_new)
    ours("IVMClassifier, 500 active rows", IVMClassifier(), X, y, X_new, y_new)
    try:
        import gpytorch  # noqa: F401
    except ImportError:
        sys.exit("GPyTorch is not installed: pip install gpytorch")
    svgp(X, y, X_new, y_new, int(sys.argv[1]) if len(sys.argv) > 1 else 50)

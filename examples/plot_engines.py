"""Four ways to the same posterior: what they cost, and how far they are from the truth.

At fixed kernel parameters variational Bayes, expectation propagation and Laplace's method approximate one posterior;
long Gibbs chains are the truth (Girolami and Rogers 2006, section 6.2). Run ``python examples/plot_engines.py``; it
takes about a minute and writes ``engines.png``.
"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

from gpclass import GPClassifier, compare
from gpclass.inference import EP, VB, Gibbs, Laplace
from gpclass.kernels import RBF

X, y = load_iris(return_X_y=True)
X = StandardScaler().fit_transform(X)
amplitudes = (1.0, 3.0, 10.0, 30.0)
engines = {
    "Gibbs": Gibbs(n_draws=400, thin=10, burn_in=2000, n_chains=2),
    "VB": VB(),
    "EP": EP(),
    "EP, independent sites": EP(coupling="none"),
    "Laplace": Laplace(),
}
distances: dict[str, list[float]] = {name: [] for name in engines if name != "Gibbs"}
for amplitude in amplitudes:
    kernel = amplitude * RBF(1.3)
    models = {
        name: GPClassifier(kernel, hyper="fixed", inference=engine, calibration=None)
        for name, engine in engines.items()
    }
    result = compare(models, X, y, cv=2)
    print(f"amplitude {amplitude:g}\n{result}\n")
    for name, values in distances.items():
        values.append(result.distance(name, "Gibbs"))
        print(f"{name} is {values[-1]:.4f} from Gibbs")

figure, ax = plt.subplots(layout="constrained", figsize=(6, 4))
for name, values in distances.items():
    ax.loglog(amplitudes, values, marker="o", label=name)
ax.set(xlabel="amplitude (prior variance)", ylabel="mean |difference| of test probabilities")
ax.set_title("Distance to long Gibbs chains, iris")
ax.legend()
ax.grid(alpha=0.25)
figure.savefig("engines.png", dpi=130)
print("wrote engines.png; mean distances", {name: float(np.mean(values)) for name, values in distances.items()})

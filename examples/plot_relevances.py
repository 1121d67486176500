"""
Uncertainty of input relevances
===============================

With one length-scale for each input, irrelevant inputs get long ones: automatic relevance determination. An
optimum gives one relevance for each input. Sampling shows its uncertainty, as in figure 2 of Williams and Barber
(1998).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from gpclass import GPClassifier
from gpclass.hyper import Evidence, Importance
from gpclass.hyper.priors import Normal, Relevance
from gpclass.kernels import RBF
from gpclass.plotting import RelevancePosteriorDisplay

wine = load_wine()
X, y = wine.data[::2, :6], wine.target[::2]
kernel = 10.0 * RBF(np.full(6, 2.0))
prior = {"length_scale": Relevance(Normal(-3, 3))}

optimum = GPClassifier(kernel, hyper=Evidence(prior=prior), standardize=True).fit(X, y)
sampled = GPClassifier(kernel, hyper=Importance(prior=prior, n_draws=400), standardize=True, random_state=0).fit(X, y)
samples = sampled.hyper_.samples
print(f"{samples.theta.shape[1]} draws are worth {samples.n_effective:.0f} independent ones")

# %%
# Relevance is the inverse squared length-scale, on a logarithmic scale here. Small error bars: the input is
# relevant. Large error bars at small relevance: the data only show that the input matters little. An optimum alone
# would hide this.
display = RelevancePosteriorDisplay.from_estimator(sampled, optimum=optimum, feature_names=wine.feature_names[:6])
display.figure_.suptitle("Relevance of six measurements of wines", fontsize="medium")
plt.show()

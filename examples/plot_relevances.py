"""
How sure is it which inputs matter?
===================================

With one length-scale for each input, inputs that say nothing get long ones: automatic relevance determination.
An optimum gives one number for each input. Sampling shows how well it is known, as in figure 2 of Williams and
Barber (1998).
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
# needed. Large ones far below: all that the data say is that it is not needed much, and an optimum alone would
# hide how little is known.
display = RelevancePosteriorDisplay.from_estimator(sampled, optimum=optimum, feature_names=wine.feature_names[:6])
display.figure_.suptitle("Which of six measurements tell wines apart?", fontsize="medium")
plt.show()

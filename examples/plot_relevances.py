"""How sure is it which inputs matter? One length-scale for each input, as an optimum and sampled.

The posterior of the relevances as in Williams and Barber's figure 2 (1998), for the wines of scikit-learn. Run ``python
examples/plot_relevances.py``; it takes about a minute and writes ``relevances.png``.
"""

import matplotlib

matplotlib.use("Agg")
import numpy as np
from sklearn.datasets import load_wine

from gpclass import GPClassifier
from gpclass.hyper import Evidence, Importance
from gpclass.kernels import RBF
from gpclass.plotting import RelevancePosteriorDisplay
from gpclass.priors import Normal, Relevance

wine = load_wine()
X, y = wine.data[:, :6], wine.target
kernel = 10.0 * RBF(np.full(6, 2.0))
prior = {"length_scale": Relevance(Normal(-3, 3))}

optimum = GPClassifier(kernel, hyper=Evidence(prior=prior), standardize=True).fit(X, y)
sampled = GPClassifier(kernel, hyper=Importance(prior=prior, n_draws=1000), standardize=True, random_state=0).fit(X, y)
print(sampled.hyper_.samples)

display = RelevancePosteriorDisplay.from_estimator(sampled, optimum=optimum, feature_names=wine.feature_names[:6])
display.figure_.suptitle("Which of six measurements tell wines apart?", fontsize="medium")
display.figure_.savefig("relevances.png", dpi=120)
print("wrote relevances.png")

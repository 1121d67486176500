"""
Comparing the calibration of three classifiers on the same folds
=================================================================

Four digits that are easily confused, 60 images of each. ``gpclass.compare`` fits every classifier on the same
folds and scores its predictions of held-out rows. The error rates are similar. The probabilities are not.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process import kernels as sk
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from gpclass import GPClassifier, compare
from gpclass.plotting import ReliabilityDisplay

X, y = load_digits(return_X_y=True)
chosen = np.concatenate([np.flatnonzero(y == digit)[:60] for digit in (3, 5, 8, 9)])
X, y = X[chosen], y[chosen]

# %%
# scikit-learn's classifier fits one binary model for each digit and normalises the probabilities. The support
# vector machine is calibrated by internal cross validation.
models = {
    "gpclass": GPClassifier(),
    "scikit-learn GP": make_pipeline(
        StandardScaler(), GaussianProcessClassifier(sk.ConstantKernel(10.0) * sk.RBF(8.0), random_state=0)
    ),
    "SVC + sigmoid": make_pipeline(StandardScaler(), CalibratedClassifierCV(SVC(C=10.0), cv=5, ensemble=False)),
}
result = compare(models, X, y, cv=5)
print(result)

# %%
# The mean log probability of the true labels ranks the classifiers. The curve explains why: above the dotted line
# a classifier is under-confident.
display = ReliabilityDisplay.from_predictions(y, result.proba, result.classes, n_bins=8)
display.ax_.set_title("Digits 3, 5, 8 and 9, held out")
plt.show()

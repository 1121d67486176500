"""
Ordered labels: cut points on one latent function
==================================================

Progression of diabetes within a year, in three levels: 1 slow, 2 medium, 3 fast. A classifier that uses the
order learns one latent function instead of three, and two cut points that divide its range.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import StratifiedKFold

from gpclass import GPClassifier, GPOrdinalClassifier, compare
from gpclass.plotting import OrdinalThresholdDisplay

X, progress = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X, progress = X[["bmi", "bp", "s5", "s3"]][:250], progress[:250]
y = 1 + np.digitize(progress, np.quantile(progress, [1 / 3, 2 / 3]))

# %%
# The same folds for both.
folds = StratifiedKFold(4, shuffle=True, random_state=0)
models = {"ordered": GPOrdinalClassifier(), "unordered": GPClassifier()}
result = compare(models, X, y, cv=folds)
print(result)
for name, proba in result.proba.items():
    said = result.classes[proba.argmax(axis=1)]
    print(f"{name:16} {100 * np.mean(np.abs(said - y) == 2):.1f} % wrong by two levels")

# %%
# On the left all patients sorted by the latent mean, in the colour of the observed level, with the cut points.
# On the right the probabilities along the body mass index, with the other inputs at their medians.
model = GPOrdinalClassifier().fit(X, y)
print("cut points:", model.cut_points_.round(2))
along = np.linspace(X["bmi"].min(), X["bmi"].max(), 200)
rows = X.median().to_frame().T.loc[[0] * 200].assign(bmi=along)

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained")
OrdinalThresholdDisplay.from_estimator(model, X, y, ax=left)
left.set_title("One function, two cut points")
right.stackplot(
    along, model.predict_proba(rows).T, labels=["slow", "medium", "fast"], colors=plt.cm.viridis([0, 0.44, 0.88])
)
right.set(
    xlabel="body mass index", ylabel="probability", title="Probabilities", ylim=(0, 1), xlim=(along[0], along[-1])
)
right.legend(fontsize="small", loc="upper right")
plt.show()

"""
First steps: fit a classifier and check its probabilities
==========================================================

Two chemical measurements of 178 wines from three growers. A default ``GPClassifier`` learns its kernel from the
training rows, and its probabilities are compared with the outcomes on new rows.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from gpclass import GPClassifier
from gpclass.evaluation.metrics import calibration_error, reliability_curve
from gpclass.plotting import ProbabilityMapDisplay, ReliabilityDisplay

wine = load_wine(as_frame=True)
X = wine.data[["flavanoids", "color_intensity"]]
y = wine.target.map({0: "Barolo", 1: "Grignolino", 2: "Barbera"})
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)

# %%
# Nothing needs to be set. Inputs are standardised, and amplitude and length-scale are learned by maximum
# evidence.
model = GPClassifier().fit(X_train, y_train)
print(f"right: {100 * model.score(X_test, y_test):.1f} % of {len(y_test)} new wines")
print(f"learned: {model.kernel_}")
print(f"log evidence: {model.log_evidence_:.1f}")

# %%
# Each row gets a probability for each class. Near a boundary they are far from 0 and 1.
proba = model.predict_proba(X_test)
print(model.classes_)
print(proba[:5].round(2))

# %%
# On the left colours mix in proportion to the probabilities, and lines are where the most probable class
# changes. Far from all wines the colours turn grey: the model is uncertain there. On the right, accuracy
# against confidence, in four groups of equally many wines. Points near the dotted line are well calibrated; with few
# wines the intervals are wide. The second curve shows the leave-one-out predictions of the training rows,
# ``loo_proba_``.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
ProbabilityMapDisplay.from_estimator(model, X_train, y_train, ax=left)
left.set(xlabel="flavanoids", ylabel="colour intensity", title="Which grower?")
curves = {
    "new wines": reliability_curve(y_test, proba, model.classes_, n_bins=4, strategy="quantile"),
    "leave-one-out": reliability_curve(y_train, model.loo_proba_, model.classes_, n_bins=4, strategy="quantile"),
}
ReliabilityDisplay(curves).plot(ax=right)
right.set_title("Calibration")

print(f"calibration error on new wines: {100 * calibration_error(y_test, proba, model.classes_):.1f} %")
plt.show()

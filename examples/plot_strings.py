"""
Classifying words without features
===================================

A Gaussian process needs no columns, only a kernel matrix. ``kmer_gram`` compares strings by the substrings they
share. Here it classifies made-up words of three languages.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from gpclass import GPClassifier
from gpclass.kernels import Precomputed, kmer_gram
from gpclass.plotting import ReliabilityDisplay

rng = np.random.default_rng(0)
PIECES = {
    "finnish": ["ka", "la", "ta", "sa", "vä", "si", "nen", "kuu", "maa", "tuu", "lla", "ssa", "koi", "vuo"],
    "italian": ["ra", "to", "la", "ne", "sta", "bel", "gio", "van", "ca", "mi", "lo", "ri", "tta", "zzo"],
    "german": ["sch", "ung", "ent", "ver", "burg", "stein", "wald", "hei", "keit", "ein", "ach", "er"],
}


def word(language):
    """Three pieces of a language; now and then one is borrowed."""
    said = [rng.choice(PIECES[language if rng.uniform() < 0.75 else rng.choice(list(PIECES))]) for _ in range(3)]
    return "".join(said)


y = rng.choice(list(PIECES), 600)
words = [word(language) for language in y]
print(words[:8])
words, words_new, y, y_new = train_test_split(words, y, train_size=200, random_state=0)

# %%
# The kernel matrix is precomputed: between training words at ``fit``, between new and training words at
# ``predict``. Substrings of one to four letters count, longer ones more.
model = GPClassifier(10.0 * Precomputed()).fit(kmer_gram(words, k=4), y)
proba = model.predict_proba(kmer_gram(words_new, words, k=4))
said = model.classes_[proba.argmax(axis=1)]
print(f"{100 * np.mean(said != y_new):.1f} % errors on {len(y_new)} new words; amplitude {model.kernel_.variance:.1f}")
print(model.classes_)
surest_first = np.argsort(-proba.max(axis=1))
for i in (*surest_first[:3], *surest_first[-3:]):
    print(f"{words_new[i]:14} {proba[i].round(2)}")

# %%
# On the left the similarities of the training words, sorted by language. On the right the calibration of the
# predictions.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.3), layout="constrained")
order = np.argsort(y, kind="stable")
left.imshow(kmer_gram([words[i] for i in order], k=4), cmap="magma", vmax=0.5)
ends = np.cumsum([np.sum(y == language) for language in model.classes_])
for end in ends[:-1]:
    left.axhline(end - 0.5, color="white", linewidth=0.7)
    left.axvline(end - 0.5, color="white", linewidth=0.7)
left.set_xticks(ends - np.diff([0, *ends]) / 2, model.classes_)
left.set(yticks=[], title="Words that share pieces")
ReliabilityDisplay.from_predictions(y_new, {"new words": proba}, model.classes_, n_bins=6, ax=right)
plt.show()

"""Likelihoods: the distribution of the observations given the latent functions."""

from .base import Likelihood
from .checks import check_likelihood, check_log_concave
from .gaussian import Gaussian
from .label_noise import NoisyLabels
from .logit import Logit
from .multinomial_probit import MultinomialProbit
from .null_category import NullCategory
from .ordered_probit import OrderedProbit
from .probit import Probit
from .soft_labels import SoftLabels
from .softmax import Softmax
from .weighted import Weighted

__all__ = [
    "Gaussian",
    "Likelihood",
    "Logit",
    "MultinomialProbit",
    "NoisyLabels",
    "NullCategory",
    "OrderedProbit",
    "Probit",
    "SoftLabels",
    "Softmax",
    "Weighted",
    "check_likelihood",
    "check_log_concave",
]

"""scikit-learn's own checks, in full."""

from sklearn.utils.estimator_checks import (
    check_estimator,
    check_estimator_sparse_array,
    check_estimator_sparse_matrix,
)

# These take whoever has predict_proba for a classifier of the four classes in their y.
CLASSIFIERS_ONLY = (check_estimator_sparse_array, check_estimator_sparse_matrix)


def failed_checks(model):
    """Return what scikit-learn's checks find wrong, and the names of those it skips."""
    results = check_estimator(model, on_fail=None, on_skip=None)
    names = {check.__name__ for check in CLASSIFIERS_ONLY}
    if hasattr(model, "predict_proba"):
        results = [result for result in results if result["check_name"] not in names]
        for check in CLASSIFIERS_ONLY:
            check(type(model).__name__, _without_probabilities(model))
    wrong = [result for result in results if result["status"] not in ("passed", "skipped")]
    return wrong, {result["check_name"] for result in results if result["status"] == "skipped"}


def _without_probabilities(model):
    """Return the same model, but for predict_proba; predict is still looked at."""

    class Hidden(type(model)):
        def __getattribute__(self, name):
            if name == "predict_proba":
                raise AttributeError(name)
            return super().__getattribute__(name)

        def predict(self, X):
            return super().__getattribute__("predict_proba")(X).argmax(axis=1)

    return Hidden(**model.get_params())

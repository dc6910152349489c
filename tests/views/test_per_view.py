"""scikit-learn's transformers on views."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.metrics import adjusted_rand_score, make_scorer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from consilience import DistanceGraphFusion, PerView, Views, make_multiview


@pytest.fixture(scope="module")
def sample():
    return make_multiview(120, n_views=3, n_clusters=3, separation=4.0, random_state=0)


def test_each_view_gets_its_own_transformer(sample):
    views = Views(sample.views, sample_ids=[f"s{i}" for i in range(120)])
    scaler = StandardScaler()
    per_view = PerView(scaler)
    out = per_view.fit_transform(views)
    for name, array in views.items():
        np.testing.assert_allclose(out[name], StandardScaler().fit_transform(array))
        assert per_view.transformers_[name] is not scaler
    assert not hasattr(scaler, "mean_")
    assert out.names == views.names and out.sample_ids.tolist() == views.sample_ids.tolist()
    again = PerView(scaler).fit(views).transform(views)
    assert again.fingerprint() == out.fingerprint()


def test_what_a_view_has_not_seen_is_not_looked_at(sample):
    arrays = {name: array.copy() for name, array in sample.views.items()}
    gone = np.arange(0, 40)
    arrays["view_1"][gone] = np.nan
    out = PerView(StandardScaler()).fit_transform(arrays)
    assert out.mask[:, 1].sum() == 80 and out.mask[:, [0, 2]].all()
    expected = StandardScaler().fit_transform(sample.views["view_1"][40:])
    np.testing.assert_allclose(out["view_1"][40:], expected)
    assert not out["view_1"][gone].any()
    for transformer in (SelectKBest(k=2), TruncatedSVD(2)):
        out = PerView(transformer).fit_transform(arrays, sample.y)
        assert out.n_features == (2, 2, 2) and out.mask[:, 1].sum() == 80


def test_one_per_view(sample):
    views = Views(sample.views)
    per_view = PerView({"view_0": PCA(2), "view_1": "drop"})
    out = per_view.fit_transform(views)
    assert out.names == ("view_0", "view_2") and out.n_features == (2, 10)
    assert out["view_2"] is views["view_2"]
    assert list(per_view.transformers_) == ["view_0"]
    some = per_view.transform({"view_0": sample.views["view_0"][:5]})
    np.testing.assert_allclose(some["view_0"], out["view_0"][:5])


def test_columns_of_categories_and_empty_cells(sample):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "size": np.where(rng.random(120) < 0.1, np.nan, sample.y),
            "kind": np.array(list("abc"))[sample.y],
            "grade": pd.Categorical(sample.y, ordered=True),
        }
    )
    coder = make_column_transformer(
        (SimpleImputer(), make_column_selector(dtype_include=float)),
        (
            OneHotEncoder(sparse_output=False, handle_unknown="ignore"),
            make_column_selector(dtype_include="category"),
        ),
    )
    out = PerView({"table": coder}).fit_transform({"table": table, "x": sample.views["view_0"]})
    assert out["table"].shape == (120, 7) and np.isfinite(out["table"]).all()
    assert out.encodings == (None, None)
    np.testing.assert_array_equal(out["table"][:, 1:4], np.eye(3)[sample.y])


def test_names_of_features_and_sparse_results(sample):
    named = PerView(StandardScaler().set_output(transform="pandas"))
    frames = {name: pd.DataFrame(x).add_prefix("f") for name, x in sample.views.items()}
    assert named.fit_transform(frames).n_features == (10, 10, 10)
    thin = PerView(FunctionTransformer(sparse.csr_array)).fit_transform(sample.views)
    assert all(sparse.issparse(array) for array in thin.arrays)


def test_matrices_between_samples_are_left_alone(sample):
    square = np.abs(np.subtract.outer(np.arange(120.0), np.arange(120.0)))
    views = Views({"x": sample.views["view_0"], "d": square}, pairwise=["d"])
    out = PerView(StandardScaler()).fit_transform(views)
    assert out["d"] is views["d"] and out.pairwise == (False, True)


def test_pipelines_fit_and_predict(sample):
    pipeline = make_pipeline(PerView(PCA(3)), DistanceGraphFusion(n_clusters=3, random_state=0))
    labels = pipeline.fit_predict(sample.views)
    assert adjusted_rand_score(sample.y, labels) > 0.95
    new = {"view_2": sample.views["view_2"][:30]}
    assert adjusted_rand_score(sample.y[:30], pipeline.predict(new)) > 0.7
    np.testing.assert_array_equal(pipeline.predict(sample.views), labels)


def test_searches_reach_the_parameters_and_split_the_samples(sample):
    fusion = DistanceGraphFusion(n_clusters=3, view_weights="uniform", random_state=0)
    pipeline = Pipeline([("reduce", PerView(PCA(3))), ("fuse", fusion)])
    search = GridSearchCV(
        pipeline,
        {"reduce__transformer__n_components": [1, 4], "fuse__n_neighbors": [6, 9]},
        scoring=make_scorer(adjusted_rand_score),
        cv=KFold(3),
    ).fit(Views(sample.views), sample.y)
    assert search.best_params_["reduce__transformer__n_components"] == 4
    assert search.best_score_ > 0.9


def test_parameters_of_one_per_view():
    per_view = PerView({"a": PCA(2), "b": "passthrough"})
    params = per_view.get_params()
    assert params["a__n_components"] == 2 and params["b"] == "passthrough"
    given = per_view.transformer
    other = clone(per_view).set_params(a__n_components=5, b=StandardScaler())
    assert other.get_params()["a__n_components"] == 5
    assert isinstance(other.transformer["b"], StandardScaler)
    assert given["a"].n_components == 2 and given["b"] == "passthrough"
    assert PerView(PCA(2)).set_params(transformer__n_components=4).transformer.n_components == 4


@pytest.mark.parametrize(
    ("transformer", "error", "message"),
    [
        ({"c": PCA()}, ValueError, "names the view 'c'; the views are 'view_0', 'view_1' and 'view_2'"),
        ({"view_0": 3}, TypeError, "of view 'view_0' must have fit and transform"),
        (dict.fromkeys(("view_0", "view_1", "view_2"), "drop"), ValueError, "All views are dropped"),
        (FunctionTransformer(lambda x: x[:5]), ValueError, "'view_0' has seen 120 samples, got 5 rows"),
    ],
)
def test_what_is_wrong_is_said(transformer, error, message, sample):
    with pytest.raises(error, match=message):
        PerView(transformer).fit_transform(sample.views)


@pytest.mark.parametrize("columns", [list("abcdefghij"), range(10)])
def test_columns_in_another_order(columns, sample):
    frames = {name: pd.DataFrame(x, columns=columns) for name, x in sample.views.items()}
    turned = {name: frame.iloc[:, ::-1] for name, frame in frames.items()}
    for per_view in (PerView(StandardScaler()).fit(frames), PerView({"view_0": PCA(2)}).fit(frames)):
        assert per_view.transform(frames).n_samples == 120
        with pytest.raises(ValueError, match=r"Column 0 of view 'view_0' is '[j9]', at fit it was '[a0]'"):
            per_view.transform(turned)
        with pytest.raises(ValueError, match="View 'view_0' has 3 columns, at fit there were 10"):
            per_view.transform({"view_0": frames["view_0"].iloc[:, :3]})
    # What is passed through is checked by whoever takes it.
    pipeline = make_pipeline(PerView({"view_0": PCA(2)}), DistanceGraphFusion(n_clusters=3, random_state=0))
    with pytest.raises(ValueError, match="Column 0 of view 'view_1'"):
        pipeline.fit(frames).predict({"view_1": turned["view_1"]})


class Last(TransformerMixin, BaseEstimator):
    """Keeps the last column."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X.iloc[:, [-1]]


def test_two_columns_of_one_name():
    frame = pd.DataFrame([["u", 1.0], ["v", 2.0], ["u", 3.0]], columns=["a", "a"])
    numbers = PerView(Last()).fit_transform({"x": frame})
    assert numbers["x"].ravel().tolist() == [1.0, 2.0, 3.0]


def test_views_that_the_fit_did_not_know(sample):
    per_view = PerView(PCA(2)).fit(sample.views)
    with pytest.raises(ValueError, match="there was no 'view_9'"):
        per_view.transform({"view_9": sample.views["view_0"]})
    with pytest.raises(NotFittedError):
        PerView(PCA(2)).transform(sample.views)

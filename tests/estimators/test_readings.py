"""How often a fit will read the data is never said to be less than it is."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from eigenveil import DPPCA, samples
from eigenveil.estimators.readings import Course, course_of
from eigenveil.sources.wrapped import SameRows


def rows(n, d):
    return np.random.default_rng(0).normal(size=(n, d)) * np.r_[5, 3, np.ones(d - 2)] + 2


def counting(X, read):
    """The rows, with a note of every reading."""

    class Counted(SameRows):
        def partitions(self):
            read.append(1)
            return super().partitions()

        def over(self, partition, number):  # noqa: ARG002
            return partition

    operator = samples.rows(X)
    return replace(operator, source=Counted(operator.source))


@pytest.mark.parametrize("name", ["tracked", "k-dp-pca", "k-dp-ojas", "dp-gauss-1", "dp-gauss-2", "dp-power"])
@pytest.mark.parametrize("options", [{}, {"relation": "replace"}, {"center": False}, {"scale": "private"}])
def test_fits_read_no_more_often(name, options):
    for n, d in ((1500, 4), (1500, 12)):
        read, told = [], []
        model = DPPCA(2, algorithm=name, **options)
        course = course_of(model, d)

        def hear(step, course=course, read=read, told=told):
            course.heard(step.what, readings=len(read))
            told.append(course.most)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model.set_params(callback=hear).fit(counting(rows(n, d), read))
        assert len(read) <= course.most
        assert told == sorted(told, reverse=True), "it only gets less"
        if course.exact:
            assert len(read) == course.most


def test_no_extra_rounds_after_the_last():
    course = Course(100, exact=False)
    course.heard("round 7 (extra): radius", readings=20)
    assert course.most == 100
    course.heard("round 8 (last): radius", readings=30)
    assert course.most == 30 + 6 + 6
    course.heard("variances: radius", readings=33)
    assert course.most == 33 + 6
    course = Course(100, exact=False, after=1)
    course.heard("variances: radius", readings=33)
    assert course.most == 33 + 6 + 1

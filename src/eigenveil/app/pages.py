"""Pages of the app, rendered on the server. They work without scripts; a small script renews parts of them."""

from __future__ import annotations

import math
from concurrent.futures import wait
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from eigenveil._printable import on_page
from eigenveil.app import forecasts
from eigenveil.app.choices import DEFAULTS, STEPS, read_form
from eigenveil.app.files import columns_of, list_folder
from eigenveil.app.fits import FitRun, Fits, Offer, in_words
from eigenveil.errors import EigenveilError, InvalidInputError
from eigenveil.planner import PRESETS, percent

_REPORT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
_WAIT = 1.0
"""Seconds that a request waits for a plan, so that quick ones are on the page at once."""


def epsilon_text(epsilon: float) -> str:
    """Format an epsilon.

    Examples
    --------
    >>> epsilon_text(1.23456), epsilon_text(float("inf"))
    ('1.235', 'not finite at this δ')
    """
    return f"{epsilon:.4g}" if math.isfinite(epsilon) else "not finite at this δ"


class Pages:
    """All pages, and what they share: fits and plans of this session."""

    def __init__(self) -> None:
        self.fits = Fits()
        self._forecasts = forecasts.Forecasts()
        self._environment = Environment(
            loader=PackageLoader("eigenveil.app"),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=on_page,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters.update(epsilon=epsilon_text, percent=percent, query=urlencode)

    def application(self) -> Starlette:
        """Return the application, without access control."""
        return Starlette(
            routes=[
                Route("/", self.choose),
                Route("/settings", self.settings),
                Route("/plan", self.plan),
                Route("/spend/{offer}", self.spend, methods=["POST"]),
                Route("/fits/{number}", self.fit),
                Route("/fits/{number}/report", self.report),
                Mount("/static", StaticFiles(packages=[("eigenveil.app", "static")])),
            ],
            exception_handlers={EigenveilError: self.error, OSError: self.error, HTTPException: self.error},
        )

    # -- pages, in the order in which a user sees them -------------------------------------------

    def choose(self, request: Request) -> Response:
        """Choose a file: a field for its path, and a list of a folder."""
        return self._page("choose.html", listing=list_folder(request.query_params.get("folder", ".")))

    def settings(self, request: Request, problem: InvalidInputError | None = None) -> Response:
        """Show columns and types, and ask for the settings of the fit and the guesses of the plan."""
        given = request.query_params
        return self._page(
            "settings.html",
            status=200 if problem is None else 400,
            file=columns_of(given.get("data", "")),
            values={**DEFAULTS, **given},
            ticked=set(given.getlist("column")),
            presets=PRESETS,
            problem=problem,
        )

    def plan(self, request: Request) -> Response:
        """Show what can be expected at each epsilon, what a fit costs, and the button that spends it."""
        try:
            choices, guess = read_form(request.query_params)
            offer = Offer.of(choices)
            planned = offer.planned
            future = self._forecasts.of(
                guess,
                d=planned.d,
                k=planned.k,
                delta=choices.delta,
                center=planned.buys_mean,
                scale="private" if planned.buys_scale else None,
            )
            wait([future], timeout=_WAIT)
            found = future.result() if future.done() else None
        except InvalidInputError as problem:
            return self.settings(request, problem)
        return self._page(
            "plan.html",
            choices=choices,
            guess=guess,
            planned=planned,
            cost=offer.spending,
            found=found,
            forecasts=forecasts,
            steps=STEPS,
            step=STEPS.index(choices.epsilon),
            given=[pair for pair in request.query_params.multi_items() if pair[0] != "step"],
            earlier=self.fits.earlier(choices),
            offer=self.fits.offer(offer) if offer.spending.fits else None,
        )

    def spend(self, request: Request) -> Response:
        """Start the offered fit, once, and show it."""
        return RedirectResponse(f"/fits/{self.fits.accept(request.path_params['offer'])}", status_code=303)

    def fit(self, request: Request) -> Response:
        """Show the progress of a fit, then its result."""
        return self._page("fit.html", number=request.path_params["number"], run=self._run(request))

    def report(self, request: Request) -> Response:
        """Return the report of a fit, as a page without scripts or as a file to save."""
        report = self._run(request).report
        if report is None:
            raise HTTPException(404)
        headers = {"Content-Security-Policy": _REPORT_POLICY}
        if "save" in request.query_params:
            headers["Content-Disposition"] = 'attachment; filename="report.html"'
        return HTMLResponse(report, headers=headers)

    def error(self, request: Request, error: Exception) -> Response:
        """Show an error as the command line would print it."""
        del request
        if isinstance(error, HTTPException):
            return self._page("error.html", status=error.status_code, text=error.detail)
        assert isinstance(error, EigenveilError | OSError), "registered for these"
        return self._page("error.html", status=400, text=in_words(error))

    # -- inside ----------------------------------------------------------------------------------

    def _run(self, request: Request) -> FitRun:
        runs = {str(number): run for number, run in enumerate(self.fits.runs, 1)}
        if request.path_params["number"] not in runs:
            raise HTTPException(404)
        return runs[request.path_params["number"]]

    def _page(self, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        return HTMLResponse(self._environment.get_template(name).render(**values), status_code=status)

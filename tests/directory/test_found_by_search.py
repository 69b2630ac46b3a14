"""Rows are found by what people say, not by what services call things."""

from __future__ import annotations

import pytest

from codemode import bindings
from codemode.core.search import Index
from codemode.store.rows import load_directory
from upstream.rows import FOLDER

SAID = {
    "report a bug in a repository": "github.issues_create",
    "close an issue": "github.issues_update",
    "merge a pull request": "github.pulls_merge",
    "who approved this pull request": "github.pulls_list_reviews",
    "read a file from a repo": "github.repos_get_content",
    "newest version of a project": "github.repos_get_latest_release",
    "find duplicate issues": "github.search_issues_and_pull_requests",
    "did the build fail on main": "github.actions_list_workflow_runs_for_repo",
    "add a label to an issue": "github.issues_add_labels",
    "my notifications": "github.activity_list_notifications_for_authenticated_user",
    "rate limit left": "github.rate_limit_get",
    "weather tomorrow in a city": "open_meteo.forecast",
    "how hot was last summer": "open_meteo.archive",
    "coordinates of a street address": "nominatim.search",
    "convert dollars to euros": "frankfurter.latest",
    "exchange rate on the day of an invoice": "frankfurter.on_date",
    "is this dependency vulnerable": "osv.query",
    "earthquakes today": "usgs_earthquakes.feed",
    "public holidays in Germany": "nager_date.public_holidays",
    "refund a customer": "stripe.refunds_create",
    "unpaid invoices": "stripe.invoices_list",
    "send a message to a slack channel": "slack.chat_post_message",
    "find a slack user by email": "slack.users_lookup_by_email",
    "books by an author": "open_library.search",
    "summary of a wikipedia article": "wikipedia.page_summary",
    "hacker news front page": "hacker_news.top_stories",
    "citation data for a DOI": "crossref.work",
}


@pytest.fixture(scope="module")
def index() -> Index:
    return Index(load_directory(FOLDER, bindings.load_all()))


@pytest.mark.parametrize(("query", "tool"), SAID.items())
def test_it_is_among_the_first_five(index: Index, query: str, tool: str):
    assert tool in [found.id for found in index.search(query, limit=5).tools]

"""Tests of votes: one per person, with an event but without a version."""

from __future__ import annotations

import httpx
import pytest
from tests.serving import Json, Served


def test_each_has_one_vote_and_may_take_it_back(served: Served, administrator: httpx.Client, orders: Json) -> None:
    path = f"/tables/{orders['id']}"
    _, alice = served.person("alice")

    def vote(client: httpx.Client, kind: str) -> Json:
        answer = client.put(f"{path}/vote", json={"updatedVoteType": kind})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def votes() -> tuple[int, int, list[str], list[str]]:
        read = administrator.get(f"{path}?fields=votes").json()["votes"]
        names = [[one["name"] for one in read[side]] for side in ("upVoters", "downVoters")]
        return read["upVotes"], read["downVotes"], names[0], names[1]

    assert votes() == (0, 0, [], [])
    event = vote(administrator, "votedUp")
    assert event["eventType"] == "entityUpdated"
    assert [one["name"] for one in event["changeDescription"]["fieldsUpdated"]] == ["votes"]
    assert vote(administrator, "votedUp")["eventType"] == "entityNoChange"
    vote(alice, "votedDown")
    assert votes() == (1, 1, ["admin"], ["alice"])
    vote(alice, "votedUp")
    vote(administrator, "unVoted")
    assert votes() == (1, 0, ["alice"], [])
    assert administrator.get(path).json()["version"] == 0.1
    assert "votes" not in administrator.get(path).json()
    alice.close()


@pytest.mark.parametrize("body", [{}, {"updatedVoteType": "perhaps"}, {"updatedVoteType": {}}])
def test_there_are_three_votes(administrator: httpx.Client, orders: Json, body: Json) -> None:
    answer = administrator.put(f"/tables/{orders['id']}/vote", json=body)
    assert (answer.status_code, "votedUp" in answer.json()["message"]) == (400, True)


def test_nobody_votes_on_people(administrator: httpx.Client) -> None:
    me = administrator.get("/users/loggedInUser").json()
    assert administrator.put(f"/users/{me['id']}/vote", json={"updatedVoteType": "votedUp"}).status_code == 400

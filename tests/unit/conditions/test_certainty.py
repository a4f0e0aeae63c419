"""Tests of the detection of conditions that are always or never true."""

from __future__ import annotations

import pytest

from tocsin.conditions.certainty import Certainty, certainty
from tocsin.conditions.check import parse_and_check


@pytest.mark.parametrize(
    "text",
    [
        "true",
        "true || isBot()",
        "isBot() || !isBot()",
        "tags == 'a' || tags != 'a'",
        "!(tier == 'a' && tier == 'b')",
        "entity.name == 'a' || !(entity.name == 'a')",
        "user.follows(entity) || !user.follows(entity)",
        "null == null",
        "timestamp < 5 || !(timestamp < 5)",
        "eventType != null",
        "timestamp != null",
        "1 == 1",
        "1 < 2",
        "'a' in {'b','a'}",
        "'ab' matches 'a.'",
        "tags != {}",
        "tags.size() >= 0",
        "timestamp > 5 || timestamp <= 5",
        "entity.columns.size() < 5 || entity.columns.size() > 4",
        "!(tier == 'a' && tier.startsWith('b'))",
    ],
)
def test_what_is_always_true_is_seen(text: str) -> None:
    assert certainty(parse_and_check(text)) is Certainty.ALWAYS


@pytest.mark.parametrize(
    "text",
    [
        "false",
        "isBot() && !isBot()",
        "isBot() && isBot == false",
        "tier == 'a' && tier == 'b'",
        "tier in {'a','b'} && tier in {'c'} && tags == 'x'",
        "tier == 'a' && (tier == 'b' || tier == 'c')",
        "testStatus == 'Failed' && testStatus == 'success'",
        "matchAnySource({'table'}) && matchPipelineState({'Failed'})",
        "table.name == 'a' && pipeline.name == 'a'",
        "matchAnyTag({})",
        "tags == 'a' && tags == null",
        "tags.startsWith('a') && tags == null",
        "matchAnyEntityFqn('a') && entityFullyQualifiedName == null && testSuites == null",
        "timestamp > 5 && timestamp < 5",
        "timestamp > 5 && timestamp <= 5",
        "timestamp == 5 && timestamp > 7",
        "user.owns(entity) && !user.owns(entity)",
        "(tier == 'a' || tier == 'b') && tier == 'c'",
        "entityType == null",
        "tags.isEmpty() && tags == 'x'",
        "tags.isEmpty() && tags.contains('x') && isBot()",
        "entity.description.isEmpty() && entity.description == 'x'",
        "1 == 2",
        "1 > 2",
        "{'a'} == {'b'}",
        "'ab' matches 'a'",
        "tags == {}",
        "tags in {}",
        "entity.name in {}",
        "tags.containsAny({})",
        "entity.columns.containsAny({})",
        "entity.name.startsWith({})",
        "isBot() && 1 == 2",
        "tags.size() < 0",
        "tags.size() > 3 && tags.size() <= 2",
        "failures < 0",
        "userName == 'ann' && userName.startsWith('b')",
        "userName in {'ann','abe'} && !userName.contains('a')",
        "userName == 'ann' && userName matches '[b-z]+'",
        "userName == 'ann' && userName.toLowerCase() == 'bob'",
        "userName == 'ann' && userName > 'b'",
        "testStatus == 'Failed' && testStatus.startsWith('suc')",
    ],
)
def test_what_is_never_true_is_seen(text: str) -> None:
    assert certainty(parse_and_check(text)) is Certainty.NEVER


@pytest.mark.parametrize(
    "text",
    [
        "isBot()",
        "tags == 'a' && tags == 'b'",
        "owners == 'a' && !(owners == 'b')",
        "tier == 'a' || tier == 'b'",
        "tier == 'a' && (tier == 'a' || tags == 'x')",
        "entity.tier == 'a' && tags == null",
        "timestamp >= 5 && timestamp <= 5",
        "matchAnyEntityFqn('a') && matchAnyEntityFqn('b')",
        "entity.extension.x == 'a' && entity.extension.x == 'b'",
        "matchAnyChange('tag','add') && matchAnyChange('tag','remove')",
        "tags.size() == 0 && tags == null",
        "user.follows(entity)",
        "userName != null",
        "userName in {'ann','bob'} && userName.startsWith('b')",
        "userName == 'ann' && !userName.startsWith('b')",
        "testStatus == 'Failed' && testStatus matches 'FAILED'",
        "tags == 'a' && tags.startsWith('b')",
        "previousVersion > 5 || previousVersion <= 5",
        "tags.size() > 3 || tags.size() < 3",
        "tags.isEmpty() && tags == ''",
        "tags.isEmpty() && owners == 'x'",
        "entity.description.isEmpty() && entity.description < 'x'",
    ],
)
def test_what_events_decide_is_left_to_them(text: str) -> None:
    assert certainty(parse_and_check(text)) is None

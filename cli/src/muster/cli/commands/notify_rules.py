"""Rules: listed, made, shown, tested, paused, resumed and removed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from muster.cli import output
from muster.cli.errors import CliError, Refusal
from muster.cli.exits import Exit
from muster.cli.notifying.asking import answer, asked, done
from muster.cli.notifying.hidden import hidden, typed
from muster.cli.reach import reach
from muster.cli.running import run
from muster.cli.session import Session, session_of
from muster.cli.texts import say
from muster.cli.views.notices import rule_lines, rule_table, tested_lines
from muster.cli.words import labels as read_labels
from muster.contracts import notices as n

Rule = Annotated[str, typer.Argument(help=say("argument.notify.rule"), metavar="RULE")]
_FLEET = {"node_excluded", "incident"}


def _option(name: str, key: str, metavar: str | None = None) -> Any:
    return typer.Option(name, help=say(f"option.notify.{key}"), metavar=metavar)


def rules(context: typer.Context) -> None:
    """The list."""
    run(_rules(session_of(context)))


async def _rules(session: Session) -> None:
    async with reach(session) as muster:
        found = (await answer(muster, session, n.AskRules(), n.RuleViews)).rules
    if session.as_json:
        output.document(found)
    elif found:
        output.show(rule_table(found))
    else:
        output.line(say("notify.rules.none"))


def show(context: typer.Context, rule: Rule) -> None:
    """One rule."""
    run(_show(session_of(context), rule))


async def _show(session: Session, rule: str) -> None:
    async with reach(session) as muster:
        found = (await answer(muster, session, n.AskRules(rule=rule), n.RuleViews)).rules
    if not found:
        raise CliError("no_rule", rule=rule)
    _print(session, found[0])


def _print(session: Session, rule: n.RuleView) -> None:
    if session.as_json:
        output.document(rule)
        return
    for line in rule_lines(rule):
        output.line(line)


def add(
    context: typer.Context,
    trigger: Annotated[str, typer.Argument(help=say("argument.notify.trigger"), metavar="TRIGGER")],
    rule_id: Annotated[str | None, _option("--id", "id")] = None,
    everyone: Annotated[bool, _option("--everyone", "everyone")] = False,
    job: Annotated[str | None, _option("--job", "job", "JOB")] = None,
    label: Annotated[list[str] | None, _option("--label", "label", "K=V")] = None,
    resource_class: Annotated[str | None, _option("--class", "class", "CLASS")] = None,
    pool: Annotated[str | None, _option("--pool", "pool", "POOL")] = None,
    language: Annotated[str | None, _option("--language", "language", "zh|en")] = None,
    channel: Annotated[str, _option("--channel", "channel", "CHANNEL")] = "feishu",
    address: Annotated[str | None, _option("--address", "address", "NAME")] = None,
    webhook_env: Annotated[str | None, _option("--webhook-env", "webhook_env", "NAME")] = None,
    webhook_file: Annotated[Path | None, _option("--webhook-file", "webhook_file", "PATH")] = None,
    secret_env: Annotated[str | None, _option("--secret-env", "secret_env", "NAME")] = None,
    secret_file: Annotated[Path | None, _option("--secret-file", "secret_file", "PATH")] = None,
    keyword: Annotated[list[str] | None, _option("--keyword", "keyword", "WORD")] = None,
) -> None:
    """A new rule."""
    session = session_of(context)
    webhook = hidden("webhook", webhook_env, webhook_file)
    secret = hidden("secret", secret_env, secret_file)
    if webhook is None and address is None and channel != "log":
        webhook = typed("webhook")
    scope = _scope(session, trigger, everyone, job, label, resource_class, pool)
    body = asked(
        session,
        n.AddRule,
        id=rule_id,
        scope=scope,
        trigger=trigger,
        language=language,
        channel=channel,
        address=address,
        webhook=webhook,
        secret=secret,
        keywords=keyword or [],
    )
    run(_add(session, body, job))


def _scope(
    session: Session,
    trigger: str,
    everyone: bool,
    job: str | None,
    label: list[str] | None,
    resource_class: str | None,
    pool: str | None,
) -> object:
    """Return the scope that was named; by itself a rule is about one's own jobs, or all pools."""
    named: dict[str, object] = {
        "--everyone": "tenant" if everyone else None,
        "--job": {"job": job} if job is not None else None,
        "--label": {"labels": read_labels(label)} if label else None,
        "--class": {"resource_class": resource_class} if resource_class is not None else None,
        "--pool": {"pool": pool} if pool is not None else None,
    }
    given = {option: scope for option, scope in named.items() if scope is not None}
    if len(given) > 1:
        raise typer.BadParameter(say("usage.notify.scope", options=say("comma").join(given)))
    if given:
        return next(iter(given.values()))
    return "cluster" if trigger in _FLEET else {"me": session.user}


async def _add(session: Session, body: n.AddRule, job: str | None) -> None:
    async with reach(session) as muster:
        if job is not None:
            state = await muster.find(job, session.tenant)
            body = body.model_copy(update={"scope": {"job": state.job}})
        told = await done(muster, session, body, say("notify.what.add"))
    assert told.rule is not None
    if session.as_json:
        output.document(told.rule)
    else:
        output.line(say("notify.added", rule=told.rule.id))


def pause(context: typer.Context, rule: Rule) -> None:
    """Quiet until it is resumed."""
    _change(context, n.PauseRule, rule, "paused")


def resume(context: typer.Context, rule: Rule) -> None:
    """Tells again."""
    _change(context, n.ResumeRule, rule, "resumed")


def remove(context: typer.Context, rule: Rule) -> None:
    """Gone."""
    _change(context, n.RemoveRule, rule, "removed")


def _change(context: typer.Context, model: type[n.OfRule], rule: str, word: str) -> None:
    session = session_of(context)
    run(_changed(session, asked(session, model, rule=rule), word))


async def _changed(session: Session, body: n.OfRule, word: str) -> None:
    async with reach(session) as muster:
        told = await done(muster, session, body, body.rule)
    if session.as_json:
        output.document(told)
    else:
        output.line(say(f"notify.{word}", rule=body.rule, count=told.count))


def test(context: typer.Context, rule: Rule) -> None:
    """One real message, now."""
    raise typer.Exit(run(_test(session_of(context), rule)))


async def _test(session: Session, rule: str) -> Exit:
    async with reach(session) as muster:
        told = await answer(muster, session, n.TestRule(rule=rule), n.Tested)
    if told.violations:
        raise Refusal("request", told.violations, what=rule)
    if session.as_json:
        output.document(told)
    else:
        for line in tested_lines(told):
            output.line(line)
    return Exit.DONE if told.delivered else Exit.FAILED

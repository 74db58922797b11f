/** The page about failures, from the table that gives the advice. */
import { FAILURE_CLASSES } from '../src/domain/error/failure-class.ts';
import { FAILURE_GROUPS } from '../src/domain/error/failure-code.ts';
import { ADVISED, type FailureRow } from '../src/domain/error/failures/advice.ts';
import { OPERATOR_ACTIONS } from '../src/domain/operation/operator-action.ts';
import { code, page, table } from './markdown.ts';

const NOTE =
  '<!-- Written by scripts/pages.ts from the tables in src/domain/error/failures. Change those, not this page. -->';

export function failurePage(): string {
  return page([
    '# Failures',
    NOTE,
    'Each way in which a step can fail has a code, which is in the error of the operation. `ingot op show`, `ingot explain` and the console give the advice of this page: remove the cause, then take the action, with `ingot op <action> <operation> --reason "…"`. What the actions do is in [operator-actions.md](operator-actions.md). Where undoing failed after a cancel, the action is `retry-stage`, whatever the code: it goes on undoing.',
    '(*) An upstream that does not answer is waited for: once it answers, the operation goes on by itself. A step whose limit comes first ends as `TIMED_OUT`, with what it waited for.',
    '## Classes',
    table(
      ['class', 'means', 'the engine', 'the operation ends as'],
      Object.entries(FAILURE_CLASSES).map(([name, { meaning, retries, endsAs }]) => [
        code(name),
        meaning,
        retries ? 'retries, as often as the step may' : 'does not retry',
        code(endsAs),
      ]),
    ),
    '## Who',
    table(
      ['who', 'is'],
      Object.entries(ADVISED).map(([who, meaning]) => [who, meaning]),
    ),
    ...Object.entries(FAILURE_GROUPS).flatMap(([title, group]) => [`## ${title}`, failureTable(group)]),
  ]);
}

function failureTable(group: Readonly<Record<string, FailureRow>>): string {
  return table(
    ['code', 'class', 'what happened', 'what to check', 'then', 'who'],
    Object.entries(group).map(([name, { classes, whatHappened, check, action, who, waitedOut }]) => [
      code(name),
      classes.map(code).join(', '),
      waitedOut ? `${whatHappened} (*)` : whatHappened,
      check,
      code(OPERATOR_ACTIONS[action].verb),
      who,
    ]),
  );
}

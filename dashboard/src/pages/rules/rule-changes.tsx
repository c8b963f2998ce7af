import { ask } from '../../api/client.ts'
import type { RuleText, RuleVersion } from '../../api/operations.ts'
import { confirmChange } from '../../kit/change-dialog.tsx'
import { openAfter } from '../../kit/open-after.tsx'
import { DiffView } from './diff-view.tsx'
import { readActive } from './rules-data.ts'

interface PutOptions {
  /** What is in force now; null: no rules were set through the API yet. */
  readonly active: RuleText | null
  readonly text: string
  readonly onBack?: () => void
  readonly onDone: (made: RuleVersion) => void
}

/** putRules puts a text of rules in force as a new version. Undo puts the version before it in force again. */
export function putRules({ active, text, onBack, onDone }: PutOptions): void {
  const before = active?.version
  confirmChange({
    title: 'Put these rules in force',
    operation: 'putRules',
    asked: { body: { text }, version: before ?? 0 },
    confirm: 'Put in force',
    isWide: true,
    isEffectOnly: true,
    reasonField: 'comment',
    about: (
      <>
        <p>They are in force on every node within a second. Counters of limits that stay the same continue.</p>
        <DiffView before={active?.text ?? ''} after={text} label="What changes in the rules" />
      </>
    ),
    note: before === undefined && 'These are the first rules that are set here: there is no version to go back to.',
    done: `Version ${(before ?? 0) + 1} of the rules is in force.`,
    undo: before === undefined ? undefined : ({ version }) => activate(before, version),
    ...(onBack && { onBack }),
    onDone: ({ body }) => onDone(body),
  })
}

/** activate puts a former version in force, if no other was put in force since. */
function activate(version: number, seen: number | undefined) {
  return ask('rollBackRules', { params: { version }, ...(seen !== undefined && { version: seen }) })
}

/** readBoth reads a former version, and the one in force. */
export async function readBoth(version: number, signal: AbortSignal) {
  const [former, active] = await Promise.all([
    ask('readRuleVersion', { params: { version }, signal }),
    readActive(signal),
  ])
  return { former: former.body, active }
}

/** rollBack puts a former version in force again, if the version in force is still the one that is shown. */
export function rollBack(version: number, reload: () => void): void {
  const title = `Roll back to version ${version}`
  openAfter(
    title,
    (signal) => readBoth(version, signal),
    ({ former, active }) => {
      const seen = active?.version
      const next = (seen ?? 0) + 1
      confirmChange({
        title,
        operation: 'rollBackRules',
        asked: { params: { version }, ...(seen !== undefined && { version: seen }) },
        confirm: 'Roll back',
        isWide: true,
        isEffectOnly: true,
        about: (
          <>
            <p>
              The text of version {version} becomes version {next}, and is in force on every node within a second.
            </p>
            <DiffView before={active?.text ?? ''} after={former.text} label="What changes in the rules" />
          </>
        ),
        done: `The rules of version ${version} are in force again, as version ${next}.`,
        undo: seen === undefined ? undefined : (answer) => activate(seen, answer.version),
        onDone: reload,
      })
    },
  )
}

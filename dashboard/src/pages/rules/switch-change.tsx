import { ask } from '../../api/client.ts'
import type { Switch } from '../../api/operations.ts'
import { confirmChange } from '../../kit/change-dialog.tsx'
import { Notice } from '../../ui/parts.tsx'
import { type Mode, type RuleName, undoOf } from './switch-state.ts'

interface SwitchOptions {
  /** null: every rule. */
  readonly rule: RuleName
  /** What people call it. */
  readonly name: string
  /** The switch that there is now. */
  readonly before: Switch | undefined
  readonly reload: () => void
}

interface ModeWords {
  readonly verb: string
  readonly done: string
  readonly means: string
  readonly allMeans: string
}

const WORDS: Readonly<Record<Mode, ModeWords>> = {
  enforce: {
    verb: 'Enforce',
    done: 'is enforced',
    means: 'It refuses what is over its limit, from the next request on and on every node.',
    allMeans: 'All rules refuse what is over their limits, also in shadow mode.',
  },
  shadow: {
    verb: 'Switch to shadow',
    done: 'is in shadow mode',
    means: 'It continues to count and reports what it would refuse, and refuses no request.',
    allMeans: 'All rules continue to count and report what they would refuse. No request is refused.',
  },
  off: {
    verb: 'Switch off',
    done: 'is off',
    means: 'The rule has no effect: nothing is counted, and no request is refused.',
    allMeans: 'The rules have no effect: nothing is counted, and no caller is limited.',
  },
}

/** switchTo switches one rule, or all, to a mode. */
export function switchTo(mode: Mode, { rule, name, before, reload }: SwitchOptions): void {
  const { verb, done, means, allMeans } = WORDS[mode]
  const isAll = rule === null
  confirmChange({
    title: `${verb}: ${name}`,
    operation: 'putSwitch',
    asked: { body: { rule, mode }, ...(before && { version: before.version }) },
    confirm: isAll ? `${verb} for all rules` : verb,
    isDanger: mode === 'off' || isAll,
    isEffectOnly: true,
    reasonField: 'reason',
    about: (
      <>
        <p>{isAll ? allMeans : means}</p>
        {isAll && (
          <Notice tone="warn">This applies to every rule of every domain. Rules with their own switch keep it.</Notice>
        )}
      </>
    ),
    done: isAll ? `All rules ${done.replace(/^is/, 'are')}.` : `${name} ${done}.`,
    undo: ({ version }) => {
      const step = undoOf(rule, before, version)
      return step.operation === 'putSwitch' ? ask('putSwitch', step.asked) : ask('removeSwitch', step.asked)
    },
    onDone: reload,
  })
}

/** removeSwitch lets the rules decide again. */
export function removeSwitch({ rule, name, before, reload }: SwitchOptions): void {
  confirmChange({
    title: `Remove the switch: ${name}`,
    operation: 'removeSwitch',
    asked: {
      query: rule === null ? {} : { domain: rule.domain, rule: rule.id },
      ...(before && { version: before.version }),
    },
    confirm: 'Remove the switch',
    isEffectOnly: true,
    about: <p>The rules decide again, on every node.</p>,
    done: rule === null ? 'The rules decide again.' : `${name} does again what the rules say.`,
    undo: before && (() => ask('putSwitch', { body: { rule, mode: before.mode, reason: before.reason } })),
    onDone: reload,
  })
}

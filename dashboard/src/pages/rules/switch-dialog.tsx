import { useMemo } from 'preact/hooks'
import { type Asked, ask } from '../../api/client.ts'
import type { Preview, Switch } from '../../api/operations.ts'
import { ChangeDialog } from '../../ui/change-dialog.tsx'
import { Notice } from '../../ui/parts.tsx'
import { PreviewView } from '../../ui/preview-view.tsx'
import { type Mode, type RuleName, undoOf } from './switch-state.ts'

interface SwitchProps {
  /** null: every rule. */
  readonly rule: RuleName
  /** What people call it. */
  readonly name: string
  /** undefined takes the switch away. */
  readonly mode: Mode | undefined
  /** The switch that is there now. */
  readonly before: Switch | undefined
  readonly onClose: () => void
  readonly onDone: () => void
}

const WORDS: Readonly<Record<Mode, { verb: string; said: string; means: string }>> = {
  enforce: {
    verb: 'Enforce',
    said: 'is enforced',
    means: 'It refuses what is over its limit, from the next request on and on every node.',
  },
  shadow: {
    verb: 'Switch to shadow',
    said: 'is in shadow mode',
    means: 'It goes on counting and reports what it would refuse, and refuses nobody.',
  },
  off: {
    verb: 'Switch off',
    said: 'is off',
    means: 'It is as if it were not there: nothing is counted, and nobody is refused.',
  },
}

/** SwitchDialog switches one rule, or all, or takes a switch away. */
export function SwitchDialog(props: SwitchProps) {
  return props.mode === undefined ? <Remove {...props} /> : <Put {...props} mode={props.mode} />
}

function Put({ rule, name, mode, before, onClose, onDone }: SwitchProps & { readonly mode: Mode }) {
  const asked = useMemo<Asked<'putSwitch'>>(
    () => ({ body: { rule, mode }, ...(before && { version: before.version }) }),
    [rule, mode, before],
  )
  const { verb, said, means } = WORDS[mode]
  const isAll = rule === null
  return (
    <ChangeDialog<'putSwitch'>
      title={`${verb}: ${name}`}
      operation="putSwitch"
      asked={asked}
      confirm={isAll ? `${verb} for all rules` : verb}
      isDanger={mode === 'off' || isAll}
      said={isAll ? `All rules ${said.replace(/^is/, 'are')}.` : `${name} ${said}.`}
      withReason={(given, reason) => ({ ...given, body: { ...given.body, reason } })}
      undo={async ({ version }) => {
        const step = undoOf(rule, before, version)
        if (step.operation === 'putSwitch') await ask('putSwitch', step.asked)
        else await ask('removeSwitch', step.asked)
      }}
      show={(preview) => (
        <>
          <p>{isAll ? allMeans(mode) : means}</p>
          {isAll && (
            <Notice tone="warn">
              This is about every rule of every domain. Rules with a switch of their own keep it.
            </Notice>
          )}
          <Effect preview={preview} />
        </>
      )}
      onClose={onClose}
      onDone={onDone}
    />
  )
}

const allMeans = (mode: Mode): string => {
  if (mode === 'off') return 'All rules are as if they were not there: nothing is counted, and nobody is limited.'
  if (mode === 'shadow') return 'All rules go on counting and report what they would refuse. Nobody is refused.'
  return 'All rules refuse what is over their limits, also those that are in shadow mode by themselves.'
}

function Remove({ rule, name, before, onClose, onDone }: SwitchProps) {
  const asked = useMemo<Asked<'removeSwitch'>>(
    () => ({
      query: rule === null ? {} : { domain: rule.domain, rule: rule.id },
      ...(before && { version: before.version }),
    }),
    [rule, before],
  )
  return (
    <ChangeDialog<'removeSwitch'>
      title={`Remove the switch: ${name}`}
      operation="removeSwitch"
      asked={asked}
      confirm="Remove the switch"
      said={rule === null ? 'The rules say again what happens.' : `${name} does again what the rules say.`}
      {...(before && {
        undo: async () => {
          const { mode, reason } = before
          await ask('putSwitch', { body: { rule, mode, reason } })
        },
      })}
      show={(preview) => (
        <>
          <p>The rules say again what happens, on every node.</p>
          <Effect preview={preview} />
        </>
      )}
      onClose={onClose}
      onDone={onDone}
    />
  )
}

/** Effect is what a preview says of those who are affected, without the record. */
export function Effect({ preview }: { readonly preview: Preview }) {
  return <PreviewView preview={{ ...preview, changes: [] }} />
}

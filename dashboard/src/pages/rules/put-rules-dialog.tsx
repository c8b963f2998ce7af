import { useMemo } from 'preact/hooks'
import { type Asked, ask } from '../../api/client.ts'
import type { RuleText, RuleVersion } from '../../api/operations.ts'
import { ChangeDialog } from '../../ui/change-dialog.tsx'
import { Notice } from '../../ui/parts.tsx'
import { DiffView } from './diff-view.tsx'
import { Effect } from './switch-dialog.tsx'

interface PutProps {
  /** What is in force now; null: nothing was put yet. */
  readonly active: RuleText | null
  readonly text: string
  readonly onBack?: () => void
  readonly onClose: () => void
  readonly onDone: (made: RuleVersion) => void
}

/** PutRulesDialog puts a text of rules in force as a new version. Undo puts the one before in force again. */
export function PutRulesDialog({ active, text, onBack, onClose, onDone }: PutProps) {
  const asked = useMemo<Asked<'putRules'>>(() => ({ body: { text }, version: active?.version ?? 0 }), [text, active])
  const before = active?.version
  return (
    <ChangeDialog<'putRules'>
      title="Put these rules in force"
      operation="putRules"
      asked={asked}
      confirm="Put in force"
      isWide
      said={`Version ${(before ?? 0) + 1} of the rules is in force.`}
      {...(before !== undefined && { undo: ({ version }) => rollBack(before, version) })}
      withReason={(given, comment) => ({ ...given, body: { ...given.body, comment } })}
      show={(preview) => (
        <>
          <p>They are in force on every node within a second. Counters of limits that stay the same go on.</p>
          <DiffView before={active?.text ?? ''} after={text} label="What changes in the rules" />
          <Effect preview={preview} />
          {before === undefined && (
            <Notice>These are the first rules that are put here: there is no version before to go back to.</Notice>
          )}
        </>
      )}
      {...(onBack && { onBack })}
      onClose={onClose}
      onDone={({ body }) => onDone(body)}
    />
  )
}

/** rollBack puts a former version in force, if nobody has put another since. */
export async function rollBack(to: number, seen: number | undefined): Promise<void> {
  await ask('rollBackRules', { params: { version: to }, ...(seen !== undefined && { version: seen }) })
}
